//! The banks of the L1, each of which serves few loads of a cycle.

use crate::calendar::boxed;

/// Number of cycles that are kept: loads that are further apart seldom execute together.
const CYCLES: usize = 256;
/// Bits of the number of loads of a bank, and of those of all eight.
const BITS: u32 = 2;
const ALL_BITS: u32 = 8 * BITS;

/// Number of loads that each bank serves, by cycle.
pub(crate) struct LoadBanks {
    /// A cycle in the upper bits, its loads of each bank in the others.
    loads: Box<[u64; CYCLES]>,
    per_bank: u64,
}

impl LoadBanks {
    /// Creates banks that serve so many loads in a cycle, or `None` if they serve all.
    pub(crate) fn new(per_bank: u32) -> Option<Self> {
        (per_bank > 0).then(|| LoadBanks {
            loads: boxed(0),
            per_bank: u64::from(per_bank).min((1 << BITS) - 1),
        })
    }

    /// Serves a load of `address` in this `cycle`, and returns whether its bank could.
    #[inline]
    pub(crate) fn serve(&mut self, address: u64, cycle: u64) -> bool {
        let entry = &mut self.loads[cycle as usize % CYCLES];
        let mut loads = *entry;
        if loads >> ALL_BITS != cycle {
            loads = cycle << ALL_BITS;
        }
        let shift = (address >> 3) as u32 % 8 * BITS;
        let is_free = loads >> shift & ((1 << BITS) - 1) < self.per_bank;
        *entry = loads + (u64::from(is_free) << shift);
        is_free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bank_serves_two_loads_of_a_cycle() {
        let mut banks = LoadBanks::new(2).unwrap();
        assert!(banks.serve(0x1000, 7) && banks.serve(0x1040, 7));
        assert!(!banks.serve(0x1004, 7));
        assert!(banks.serve(0x1008, 7), "another bank");
        assert!(banks.serve(0x1000, 8), "another cycle");
    }
}
