//! Which memory holds code that cannot change behind the translator's back.

use std::ffi::{c_int, c_void};

use super::maps::{self, Entry, Owner};

/// Executable memory without gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CodeRange {
    pub start: u64,
    pub end: u64,
    /// Whether it comes from a file (or the kernel's vDSO), thus from a loader.
    pub from_file: bool,
}

/// Why code at an address cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotCode {
    /// No memory there, or not readable and executable.
    Absent,
    /// It can change without a system call.
    Writable,
}

const MAX_RANGES: usize = 128;

/// The ranges that code was found in. A range that is not known is looked up in
/// `/proc/self/maps`, which takes some 50 µs.
pub(crate) struct CodeMap {
    ranges: [CodeRange; MAX_RANGES],
    len: usize,
}

impl CodeMap {
    pub(crate) fn new() -> CodeMap {
        CodeMap {
            ranges: [CodeRange {
                start: 0,
                end: 0,
                from_file: false,
            }; MAX_RANGES],
            len: 0,
        }
    }

    /// The range around `address`. Allocates nothing.
    pub(crate) fn range_at(&mut self, address: u64) -> Result<CodeRange, NotCode> {
        if let Some(range) = self.known(address) {
            return Ok(range);
        }
        let range = look_up(address)?;
        // When the table is full the oldest knowledge goes; it can be looked up again.
        let slot = if self.len < MAX_RANGES {
            self.len += 1;
            self.len - 1
        } else {
            address as usize % MAX_RANGES
        };
        self.ranges[slot] = range;
        Ok(range)
    }

    fn known(&self, address: u64) -> Option<CodeRange> {
        self.ranges[..self.len]
            .iter()
            .copied()
            .find(|range| (range.start..range.end).contains(&address))
    }

    /// Whether a part of `start..end` is known to hold code.
    pub(crate) fn overlaps(&self, start: u64, end: u64) -> bool {
        self.ranges[..self.len]
            .iter()
            .any(|range| range.start < end && start < range.end)
    }

    pub(crate) fn forget(&mut self) {
        self.len = 0;
    }
}

fn look_up(address: u64) -> Result<CodeRange, NotCode> {
    match maps::entry_at(address) {
        Some(Entry {
            readable: true,
            executable: true,
            changeable: false,
            start,
            end,
            owner,
        }) => Ok(CodeRange {
            start,
            end,
            from_file: matches!(owner, Owner::File | Owner::KernelCode),
        }),
        Some(Entry {
            executable: true,
            changeable: true,
            ..
        }) => Err(NotCode::Writable),
        _ => Err(NotCode::Absent),
    }
}

/// How many shared objects were ever unloaded from this process. May take the loader's lock: not
/// for use inside the engine.
pub(crate) fn unloaded_objects() -> u64 {
    unsafe extern "C" fn first(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        result: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader passes a valid description, and `result` is the variable below.
        unsafe { *result.cast::<u64>() = (*info).dlpi_subs };
        1
    }
    let mut unloaded = 0_u64;
    // SAFETY: `first` matches the expected signature and does not unwind; `unloaded` outlives the
    // call.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut unloaded).cast()) };
    unloaded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_function_lies_in_a_file_and_the_stack_is_no_code() {
        let mut map = CodeMap::new();
        let here = this_function_lies_in_a_file_and_the_stack_is_no_code as *const () as u64;
        let range = map.range_at(here).unwrap();
        assert!(range.from_file && range.start <= here && here < range.end);
        assert!(map.overlaps(here, here + 1));
        let variable = 0;
        assert_eq!(
            map.range_at(&raw const variable as u64),
            Err(NotCode::Absent)
        );
        assert_eq!(map.range_at(8), Err(NotCode::Absent));
        map.forget();
        assert!(!map.overlaps(0, u64::MAX));
    }
}
