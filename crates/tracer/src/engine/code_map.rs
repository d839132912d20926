//! Tracks which memory contains translatable code.

use std::ops::Range;

use super::lasting_objects::LastingObjects;
use crate::maps::{self, Entry, Owner};

/// Executable memory without gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CodeRange {
    pub start: u64,
    pub end: u64,
    /// Whether it stays for the life of the process: see
    /// [`lasting_objects`](super::lasting_objects).
    pub lasts: bool,
    /// Whether it may have changed since it was looked up.
    is_stale: bool,
}

impl CodeRange {
    const NONE: CodeRange = CodeRange {
        start: 0,
        end: 0,
        lasts: false,
        is_stale: true,
    };

    fn contains(&self, address: u64) -> bool {
        (self.start..self.end).contains(&address)
    }
}

/// Why code at an address cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnreadableCode {
    /// There is no memory, or it is not readable and executable.
    Absent,
    /// The program can change the code while executing it.
    Writable,
    /// The kernel does not say.
    Unknown,
}

const MAX_RANGES: usize = 128;

/// The ranges in which code was found. Unknown ranges are looked up in `/proc/self/maps`, which
/// takes some 50 µs.
pub(crate) struct CodeMap {
    ranges: [CodeRange; MAX_RANGES],
    len: usize,
    /// Whether there were more ranges than fit.
    is_incomplete: bool,
    lasting: LastingObjects,
}

impl CodeMap {
    pub(crate) fn new() -> CodeMap {
        CodeMap {
            ranges: [CodeRange::NONE; MAX_RANGES],
            len: 0,
            is_incomplete: false,
            lasting: LastingObjects::for_this_process(),
        }
    }

    /// Returns the range around `address`, without allocating.
    pub(crate) fn range_at(&mut self, address: u64) -> Result<CodeRange, UnreadableCode> {
        let known = &self.ranges[..self.len];
        if let Some(range) = known
            .iter()
            .find(|range| !range.is_stale && range.contains(address))
        {
            return Ok(*range);
        }
        let (range, is_file) = look_up(address)?;
        let range = CodeRange {
            start: range.start,
            end: range.end,
            lasts: is_file && self.lasting.contain(&range),
            is_stale: false,
        };
        let same = known
            .iter()
            .position(|known| (known.start, known.end) == (range.start, range.end));
        let slot = same.unwrap_or_else(|| {
            if self.len < MAX_RANGES {
                self.len += 1;
                self.len - 1
            } else {
                // The replaced range can be looked up again.
                self.is_incomplete = true;
                address as usize % MAX_RANGES
            }
        });
        self.ranges[slot] = range;
        Ok(range)
    }

    /// Returns whether a part of `start..end` has contained code.
    pub(crate) fn overlaps(&self, start: u64, end: u64) -> bool {
        self.is_incomplete
            || self.ranges[..self.len]
                .iter()
                .any(|range| range.start < end && start < range.end)
    }

    /// Marks everything known about `start..end` as possibly outdated.
    pub(crate) fn doubt(&mut self, start: u64, end: u64) {
        for range in &mut self.ranges[..self.len] {
            range.is_stale |= range.start < end && start < range.end;
        }
    }

    /// Returns whether all lasting code is still where it was found.
    pub(crate) fn has_lasting_code(&self) -> bool {
        let mut lasting = self.ranges[..self.len].iter().filter(|range| range.lasts);
        !self.is_incomplete
            && lasting.all(|known| {
                let now = look_up(known.start);
                !known.is_stale && now == Ok((known.start..known.end, true))
            })
    }

    pub(crate) fn forget(&mut self) {
        self.len = 0;
        self.is_incomplete = false;
    }
}

/// Returns the memory around `address`, and whether it comes from a file or from the kernel.
fn look_up(address: u64) -> Result<(Range<u64>, bool), UnreadableCode> {
    match maps::entry_at(address).map_err(|_| UnreadableCode::Unknown)? {
        Some(Entry {
            readable: true,
            executable: true,
            changeable: false,
            start,
            end,
            owner,
        }) => Ok((start..end, matches!(owner, Owner::File | Owner::KernelCode))),
        Some(Entry {
            executable: true,
            changeable: true,
            ..
        }) => Err(UnreadableCode::Writable),
        _ => Err(UnreadableCode::Absent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn function_is_program_code_and_stack_is_not() {
        let mut map = CodeMap::new();
        let here = function_is_program_code_and_stack_is_not as *const () as u64;
        let range = map.range_at(here).unwrap();
        assert!(range.lasts && range.contains(here));
        assert!(map.overlaps(here, here + 1));
        let variable = 0;
        assert_eq!(
            map.range_at(&raw const variable as u64),
            Err(UnreadableCode::Absent)
        );
        assert_eq!(map.range_at(8), Err(UnreadableCode::Absent));
        map.forget();
        assert!(!map.overlaps(0, u64::MAX));
    }

    #[test]
    fn doubtful_range_is_looked_up_again() {
        let mut map = CodeMap::new();
        let here = doubtful_range_is_looked_up_again as *const () as u64;
        let range = map.range_at(here).unwrap();
        map.doubt(here, here + 1);
        assert!(map.overlaps(here, here + 1));
        assert_eq!(map.range_at(here), Ok(range));
        assert_eq!(map.len, 1);
    }
}
