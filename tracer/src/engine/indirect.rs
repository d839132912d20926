//! The table through which translated indirect branches find their target.
//!
//! Flags must not change, so the generated code cannot compare. It adds the negated address of the
//! candidate to the target with `lea` and asks `jrcxz` whether the sum is zero. The table is two
//! arrays of 2^16 words:
//!
//! ```text
//! base + 8 * low16(target)               minus the target that has this place
//! base + CODES + 8 * low16(-target)      the address of its code
//! ```
//!
//! The second is found from what the first held, since the target itself is used up by then. `base`
//! is a multiple of 2^19: `base / 8` has sixteen zero bits at its lower end, into which a 16-bit
//! move puts the index.

use std::io;

use super::memory::{Mapping, Protection};

const ENTRIES: usize = 1 << 16;
const ARRAY_BYTES: usize = ENTRIES * 8;

/// The distance between the two arrays.
pub(crate) const CODES: i32 = ARRAY_BYTES as i32;

pub(crate) struct IndirectTable {
    _mapping: Mapping,
    base: *mut u64,
}

impl IndirectTable {
    pub(crate) fn new() -> io::Result<IndirectTable> {
        let mapping = Mapping::new(3 * ARRAY_BYTES, Protection::ReadWrite, 0)?;
        let offset = mapping.address().next_multiple_of(ARRAY_BYTES) - mapping.address();
        // SAFETY: `offset` is less than one array, and there is room for three.
        let base = unsafe { mapping.start().add(offset) }.cast();
        let mut table = IndirectTable {
            _mapping: mapping,
            base,
        };
        table.forget();
        Ok(table)
    }

    pub(crate) fn base(&self) -> u64 {
        self.base as u64
    }

    /// From now on a branch to `target` goes to `code`.
    pub(crate) fn insert(&mut self, target: u64, code: u64) {
        let negated = target.wrapping_neg();
        let (targets, codes) = self.arrays();
        targets[usize::from(target as u16)] = negated;
        codes[usize::from(negated as u16)] = code;
    }

    pub(crate) fn forget(&mut self) {
        let (targets, codes) = self.arrays();
        targets.fill(0);
        codes.fill(0);
        // A free place looks like the target 0, which would have the first one: that must not be
        // found.
        targets[0] = 1;
    }

    fn arrays(&mut self) -> (&mut [u64], &mut [u64]) {
        // SAFETY: the two arrays lie behind each other in the mapping; the generated code, which
        // reads them, does not run while the engine does.
        let both = unsafe { std::slice::from_raw_parts_mut(self.base, 2 * ENTRIES) };
        both.split_at_mut(ENTRIES)
    }
}
