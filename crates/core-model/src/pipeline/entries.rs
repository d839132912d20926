//! Reading entries of the cache of decoded operations.
//!
//! An entry begins at the target of a taken branch, or where the entry before it is full, and goes
//! on across the end of a line of code. A cycle looks up one line and reads two of the entries that
//! begin in it; the next two of the same line come some cycles later. So the time depends on where
//! in its line the code lies. The model takes the average over all 64 positions, so that a function
//! that the linker moves is not slower.

use crate::memory::LINE_BYTES;
use crate::parameters::DecodedEntries as Parameters;

/// Parts of a cycle: as many as positions of code in a line, so that each costs one.
const PARTS: u64 = LINE_BYTES;
/// Number of entries before the current one that may begin in the same line.
const EARLIER: usize = 5;
/// In no line with any entry.
const FAR: u64 = 1 << 63;

/// When entries are read.
pub(super) struct Entries {
    parameters: Parameters,
    /// When the current entry is read, in parts of a cycle.
    read: u64,
    /// Instructions for which the current entry has room.
    room: u32,
    /// Where the current entry begins, and those before it, the latest first.
    starts: [u64; EARLIER],
    /// Where the block begins: the code since the last taken branch.
    block: u64,
    /// Number of entries of the block.
    count: u64,
    /// In how many of 64 positions the first entry of the block was read together with the last one
    /// of the block before.
    shared: u64,
    /// In how many of 64 positions the current entry is read alone.
    alone: u64,
    /// Parts of cycles without a lookup, since the block began, that may serve the next block.
    idle: u64,
}

impl Entries {
    pub(super) fn new(parameters: &Parameters) -> Self {
        Entries {
            parameters: parameters.clone(),
            read: 0,
            room: 0,
            starts: [FAR; EARLIER],
            block: 0,
            count: 0,
            shared: 0,
            alone: 0,
            idle: 0,
        }
    }

    /// Continues after a taken branch.
    #[inline]
    pub(super) fn jump(&mut self) {
        self.room = 0;
        self.count = 0;
    }

    /// Continues after reading was stopped.
    pub(super) fn restart(&mut self) {
        self.jump();
        self.alone = 0;
        self.idle = 0;
    }

    /// Reads the instruction at `ip`, which takes this many slots of an entry, in `cycle` or later.
    /// Returns the cycle.
    #[inline]
    pub(super) fn read(&mut self, ip: u64, slots: u32, cycle: u64) -> u64 {
        if slots <= self.room {
            self.room -= slots;
            return cycle;
        }
        self.read_entry(ip, slots, cycle)
    }

    #[inline(never)]
    fn read_entry(&mut self, ip: u64, slots: u32, cycle: u64) -> u64 {
        self.room = self.parameters.instructions.saturating_sub(slots);
        let cost = if self.count == 0 {
            self.begin_block(ip)
        } else {
            self.continue_block(ip)
        };
        self.count += 1;
        self.starts.copy_within(..EARLIER - 1, 1);
        self.starts[0] = ip;
        self.read = (self.read + cost).max(cycle * PARTS);
        self.read / PARTS
    }

    /// Returns what the first entry of a block costs, in parts of a cycle.
    fn begin_block(&mut self, ip: u64) -> u64 {
        self.block = ip;
        self.starts = [FAR; EARLIER];
        self.shared = self.alone * u64::from(self.parameters.shared_of_64) / 64;
        self.alone = PARTS - self.shared;
        let idle = std::mem::take(&mut self.idle);
        self.alone.saturating_sub(idle)
    }

    /// Returns what a further entry costs.
    #[inline]
    fn continue_block(&mut self, ip: u64) -> u64 {
        let again = u64::from(self.parameters.again_cycles).max(1);
        // In how many positions both are in one line.
        let with = |start: u64| PARTS.saturating_sub(ip.wrapping_sub(start));
        let [one, two, three, four, five] = self.starts;
        let first = PARTS - with(one);
        let mut third = with(two);
        if third > 0 {
            // Execution may continue elsewhere without a branch, such as in a signal handler.
            third = third.saturating_sub(with(three)) + with(four).saturating_sub(with(five));
        }
        self.idle += third * (again - 1) * u64::from(self.parameters.idle_used_of_64) / 64;
        let mut cost = first + again * third;
        let mut alone = first + third;
        // If the first entry was shared, the others of its line are read one lookup earlier.
        let moved = with(self.block) * self.shared / PARTS;
        if moved > 0 {
            if self.count % 2 == 0 {
                cost = cost.saturating_sub(again * moved);
                alone = alone.saturating_sub(moved);
            } else {
                cost += moved * if self.count == 1 { 1 } else { again };
                alone = (alone + moved).min(PARTS);
            }
        }
        self.alone = alone;
        cost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cores::ZEN_5;
    use crate::parameters::UopCacheReads;

    fn parameters() -> Parameters {
        match &ZEN_5.frontend.uop_cache_reads {
            UopCacheReads::Entries(entries) => entries.clone(),
            UopCacheReads::Operations(_) => panic!("Zen 5 reads entries"),
        }
    }

    /// Returns the cycles per pass over blocks of code, each this many instructions of this many
    /// bytes, at the average over all positions.
    fn cycles(blocks: &[(u64, u64)], idle_used_of_64: u32, shared_of_64: u32) -> f64 {
        const PASSES: u64 = 1000;
        let mut entries = Entries::new(&Parameters {
            idle_used_of_64,
            shared_of_64,
            ..parameters()
        });
        let mut last = 0;
        for _ in 0..PASSES {
            for (number, &(instructions, bytes)) in blocks.iter().enumerate() {
                entries.jump();
                let start = number as u64 * 0x1000;
                for instruction in 0..instructions {
                    last = last.max(entries.read(start + instruction * bytes, 1, 0));
                }
            }
        }
        last as f64 / PASSES as f64
    }

    #[test]
    fn two_entries_of_a_line_take_a_cycle() {
        // 200 entries of 36 bytes: one or two begin in a line, and each line takes a cycle.
        let lines = 1.0 + 199.0 * 36.0 / 64.0;
        assert!((cycles(&[(1200, 6)], 0, 0) - lines).abs() < 0.1);
    }

    #[test]
    fn denser_code_waits_for_the_third_entry() {
        // Entries of 24 bytes: a third one begins in a line in two of three cases.
        let cycles_per_line = cycles(&[(6000, 4)], 0, 0) / (6000.0 * 4.0 / 64.0);
        assert!(
            (cycles_per_line - 7.0 / 3.0).abs() < 0.01,
            "{cycles_per_line}"
        );
    }

    #[test]
    fn block_takes_a_cycle_unless_shared() {
        assert_eq!(cycles(&[(4, 4), (4, 4)], 0, 0), 2.0);
        assert_eq!(cycles(&[(4, 4), (4, 4)], 0, 64), 1.0);
        // One entry and two make three, two of which are read in a cycle.
        assert_eq!(cycles(&[(4, 0), (12, 0)], 0, 64), 1.5);
    }

    #[test]
    fn block_is_read_while_another_waits() {
        // All entries of the first block begin in one line.
        let blocks = [(13, 0), (4, 4)];
        assert_eq!(cycles(&blocks, 0, 0), 4.0);
        assert_eq!(cycles(&blocks, 64, 0), 3.0);
    }

    #[test]
    fn code_address_has_no_effect() {
        let parameters = parameters();
        let at = |start: u64| {
            let mut entries = Entries::new(&parameters);
            (0..1000).map(|n| entries.read(start + n * 3, 1, 0)).last()
        };
        for place in 0..64 {
            assert_eq!(at(0x1000 + place), at(0x1000));
        }
    }
}
