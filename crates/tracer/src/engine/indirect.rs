//! The tables in which translated indirect branches find their target.
//!
//! The generated code must preserve the flags, so it cannot compare. Instead it adds the negated
//! address of the candidate to the target with `lea`, and tests the sum for zero with `jrcxz`. A
//! table is two arrays of 2^16 words:
//!
//! ```text
//! base + 8 * key(target)                 minus the target in this entry
//! base + CODES + 8 * place(target)       the address of its code
//! ```
//!
//! In the first table, the key is the low 16 bits of the target. Its second array is indexed with
//! the low 16 bits of minus the target, which is what the first array contained: the target itself
//! is consumed by then. A branch that misses tries the second table, whose key is the 16 bits
//! starting at bit 8, for both arrays. Otherwise, two targets that share an entry in the first
//! table would go through the engine on every branch, which takes a thousand times as long.
//!
//! `base` is a multiple of 2^19: the lowest sixteen bits of `base / 8` are zero, so a 16-bit move
//! can put the index there.

use std::io;

use super::memory::{Mapping, Protection};

const ENTRIES: usize = 1 << 16;
const ARRAY_BYTES: usize = ENTRIES * 8;

/// The distance between the two arrays.
pub(crate) const CODES: i32 = ARRAY_BYTES as i32;

/// Distance of the second table's key from the target's lowest byte.
pub(crate) const SECOND_KEY_BYTE: u64 = 1;

pub(crate) struct IndirectTable {
    _mapping: Mapping,
    base: *mut u64,
}

impl IndirectTable {
    pub(crate) fn new() -> io::Result<IndirectTable> {
        let mapping = Mapping::new(5 * ARRAY_BYTES, Protection::ReadWrite, 0)?;
        let offset = mapping.address().next_multiple_of(ARRAY_BYTES) - mapping.address();
        // SAFETY: `offset` is less than one array, and there is room for five.
        let base = unsafe { mapping.start().add(offset) }.cast();
        let mut table = IndirectTable {
            _mapping: mapping,
            base,
        };
        // The rest is zero, and takes no memory yet.
        table.free_first_entries();
        Ok(table)
    }

    /// Returns the address of the first table.
    pub(crate) fn first(&self) -> u64 {
        self.base as u64
    }

    /// Returns the address of the second table.
    pub(crate) fn second(&self) -> u64 {
        self.first() + 2 * ARRAY_BYTES as u64
    }

    /// Makes branches to `target` go to `code` from now on.
    pub(crate) fn insert(&mut self, target: u64, code: u64) {
        let negated = target.wrapping_neg();
        let [targets, codes, second_targets, second_codes] = self.arrays();
        targets[usize::from(target as u16)] = negated;
        codes[usize::from(negated as u16)] = code;
        let key = second_key(target);
        second_targets[key] = negated;
        second_codes[key] = code;
    }

    pub(crate) fn forget(&mut self) {
        for array in self.arrays() {
            array.fill(0);
        }
        self.free_first_entries();
    }

    /// A free entry looks like the target 0, which belongs in the first one and must not be found.
    fn free_first_entries(&mut self) {
        let [targets, _, second_targets, _] = self.arrays();
        targets[0] = 1;
        second_targets[0] = 1;
    }

    fn arrays(&mut self) -> [&mut [u64]; 4] {
        // SAFETY: the four arrays are contiguous in the mapping; the generated code, which reads
        // them, does not run while the engine does.
        let all = unsafe { std::slice::from_raw_parts_mut(self.base, 4 * ENTRIES) };
        let (first, second) = all.split_at_mut(2 * ENTRIES);
        let (targets, codes) = first.split_at_mut(ENTRIES);
        let (second_targets, second_codes) = second.split_at_mut(ENTRIES);
        [targets, codes, second_targets, second_codes]
    }
}

fn second_key(target: u64) -> usize {
    usize::from((target >> (8 * SECOND_KEY_BYTE)) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Does what the generated code does.
    fn look_up(table: &mut IndirectTable, target: u64) -> Option<u64> {
        let [targets, codes, second_targets, second_codes] = table.arrays();
        let candidate = targets[usize::from(target as u16)];
        if target.wrapping_add(candidate) == 0 {
            return Some(codes[usize::from(candidate as u16)]);
        }
        let key = second_key(target);
        (target.wrapping_add(second_targets[key]) == 0).then(|| second_codes[key])
    }

    #[test]
    fn two_targets_with_the_same_low_bits_are_both_found() {
        let mut table = IndirectTable::new().unwrap();
        let (one, other) = (0x5555_0001_2340, 0x5555_0007_2340);
        table.insert(one, 1);
        table.insert(other, 2);
        assert_eq!(look_up(&mut table, one), Some(1));
        assert_eq!(look_up(&mut table, other), Some(2));
        assert_eq!(look_up(&mut table, one + 0x100_0000), None);
        table.forget();
        assert_eq!(look_up(&mut table, one), None);
    }

    #[test]
    fn null_pointer_is_never_found() {
        let mut table = IndirectTable::new().unwrap();
        assert_eq!(look_up(&mut table, 0), None);
    }
}
