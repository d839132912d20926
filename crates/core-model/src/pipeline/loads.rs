//! The execution times of loads, by number.

use crate::calendar::boxed;

/// Number of loads for which times are kept: more than can be in flight.
const LOADS: usize = 1024;

pub(crate) type LoadNumber = u64;
/// For values without a load on their critical path.
pub(crate) const NO_LOAD: LoadNumber = 0;

/// When loads executed. Results carry the number of the load on their critical path.
pub(super) struct Loads {
    /// From execution to data.
    ring: Box<[(u64, u64); LOADS]>,
    newest: LoadNumber,
}

impl Loads {
    pub(super) fn new() -> Self {
        Loads {
            ring: boxed((0, 0)),
            newest: NO_LOAD,
        }
    }

    /// Adds a load that executed at `from` and had its data at `until`.
    #[inline]
    pub(super) fn push(&mut self, from: u64, until: u64) -> LoadNumber {
        self.newest += 1;
        self.ring[self.newest as usize % LOADS] = (from, until);
        self.newest
    }

    /// Returns the start and end of a load's execution, given the low bits of its number. A load
    /// that is no longer kept has retired: to callers, it never existed.
    #[inline]
    pub(super) fn times(&self, load: u32) -> (u64, u64) {
        let is_kept = (self.newest as u32).wrapping_sub(load) < LOADS as u32;
        if load != NO_LOAD as u32 && is_kept {
            self.ring[load as usize % LOADS]
        } else {
            (0, 0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn load_is_known_until_overwritten() {
        let mut loads = Loads::new();
        let first = loads.push(10, 30);
        assert_eq!(loads.times(first as u32), (10, 30));
        assert_eq!(loads.times(NO_LOAD as u32), (0, 0));
        for _ in 1..LOADS {
            loads.push(40, 50);
        }
        assert_eq!(loads.times(first as u32), (10, 30));
        loads.push(40, 50);
        assert_eq!(loads.times(first as u32), (0, 0));
    }
}
