//! Lines that a core lacks because another one wrote them last.
//!
//! Threads execute one at a time, so a line has one current version, and what matters is which
//! cores have seen it. Only accesses that a thread waits for are looked at: prefetchers bring no
//! such line, and a store that takes a line away from other cores costs nothing itself.

/// Number of lines that are remembered: 4 MiB of memory that was written. A judgement; a line that
/// is forgotten costs what it would without other threads.
const ENTRIES: usize = 1 << 16;

#[derive(Clone, Copy, Default)]
struct Entry {
    /// The line plus one; 0 if there is none.
    tag: u64,
    /// A bit for each core that has the current version.
    seen: u64,
}

/// The lines that threads wrote, and which cores have them.
pub(crate) struct SharedLines {
    entries: Box<[Entry]>,
    /// The core that executes.
    core: u32,
}

impl SharedLines {
    pub(crate) fn new() -> SharedLines {
        SharedLines {
            entries: vec![Entry::default(); ENTRIES].into_boxed_slice(),
            core: 0,
        }
    }

    /// The next accesses are those of this core.
    pub(crate) fn switch_to(&mut self, core: usize) {
        self.core = core as u32 % u64::BITS;
    }

    /// Returns whether the core lacks the current version of a line, which it accesses.
    #[inline]
    pub(crate) fn access(&mut self, line: u64, writes: bool) -> bool {
        // Spreads stacks, which lie a large power of two apart.
        let hash = line.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - ENTRIES.ilog2());
        let entry = &mut self.entries[hash as usize];
        let own = 1 << self.core;
        let is_known = entry.tag == line + 1;
        let lacks_it = is_known && entry.seen & own == 0;
        if writes {
            *entry = Entry {
                tag: line + 1,
                seen: own,
            };
        } else if lacks_it {
            entry.seen |= own;
        }
        lacks_it
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_core_lacks_a_written_line_once() {
        let mut lines = SharedLines::new();
        let mut access = |core, writes| {
            lines.switch_to(core);
            lines.access(7, writes)
        };
        assert!(!access(0, false), "nobody has written it");
        assert!(!access(0, true));
        assert!(!access(0, false));
        assert!(access(1, false));
        assert!(!access(1, false), "now it is there");
        assert!(access(2, true));
        assert!(!access(2, true));
        assert!(access(0, false) && access(1, true));
    }

    #[test]
    fn other_lines_are_not_affected() {
        let mut lines = SharedLines::new();
        for line in 0..1000 {
            lines.access(line, true);
        }
        lines.switch_to(1);
        assert!((1000..3000).all(|line| !lines.access(line, false)));
        let lacking = (0..1000).filter(|&line| lines.access(line, false)).count();
        assert!(lacking > 950, "{lacking}");
    }
}
