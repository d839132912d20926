//! Iterations that are alike: each executes as many instructions as the one before, and takes the
//! same slots.
//!
//! What differs between such iterations is only what predictors and caches have learnt. They go on
//! learning without time, so if a sample has only iterations that are alike, it is enough that the
//! core executes the last ones of the next sample.

use super::settled::{Slots, are_equal};
use super::{LONG_INSTRUCTIONS, Modelled, Next, Taken};
use crate::category::PerCategory;
use crate::doubling;

/// This many pairs of iterations in a row show whether they are alike. A sample of four has two
/// that are known from their beginning to their end.
const MIN_PAIRS: u32 = 2;

/// Iterations with as many instructions differ by less than this part of them: what a window takes
/// at its edges, and an allocator that finds its memory elsewhere.
const SAME_PARTS: u64 = 1000;

/// Returns whether iterations execute equally many instructions.
pub fn are_as_long(one: u64, other: u64) -> bool {
    one.abs_diff(other) <= one / SAME_PARTS
}

/// What was counted when an iteration ended.
#[derive(Clone, Copy, Debug)]
struct Counted {
    instructions: u64,
    slots: PerCategory<u64>,
}

/// The iterations of a sample, in their order.
#[derive(Clone, Copy, Debug, Default)]
pub struct Iterations {
    began: Option<Counted>,
    before: Option<(u64, Slots)>,
    pairs: u32,
    differ: bool,
}

impl Iterations {
    /// An iteration ends, and the next one begins, where so much is counted.
    pub fn pass(&mut self, instructions: u64, slots: PerCategory<u64>) {
        let now = Counted {
            instructions,
            slots,
        };
        let Some(began) = self.began.replace(now) else {
            return;
        };
        let length = instructions.saturating_sub(began.instructions);
        let (ends, begins) = (slots.into_array(), began.slots.into_array());
        let own = std::array::from_fn(|n| ends[n].saturating_sub(begins[n]) as f64);
        if let Some((length_before, before)) = self.before.replace((length, own)) {
            self.pairs += 1;
            self.differ |= !are_as_long(length_before, length) || !are_equal(before, own);
        }
    }

    /// Returns whether all of them are alike, as far as they are known.
    pub fn are_alike(&self) -> bool {
        self.pairs >= MIN_PAIRS && !self.differ
    }
}

impl Modelled {
    /// Returns what to do with the sample after `taken` if it needs only a few iterations in
    /// detail.
    pub(super) fn last_of_alike(&self, taken: &Taken<'_>) -> Option<Next> {
        let iterations = doubling::iterations(self.samples);
        let expected_instructions = taken.instructions.saturating_mul(2);
        let per_iteration = (expected_instructions / iterations).max(1);
        let counted = LONG_INSTRUCTIONS
            .div_ceil(per_iteration)
            .next_power_of_two();
        let is_enough = self.samples + 1 >= super::MIN_SETTLED_SAMPLES && counted < iterations;
        let is_steady = !taken.is_cold && !self.repeated.matters();
        (taken.is_alike && is_enough && is_steady).then_some(Next::Last {
            expected_instructions,
            iterations: counted,
            is_alike: true,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns whether iterations are alike that have these instructions and slots.
    fn are_alike(iterations: &[(u64, u64)]) -> bool {
        let mut all = Iterations::default();
        let (mut instructions, mut slots) = (7, 11);
        all.pass(instructions, [slots, 0, 0, 0].into());
        for iteration in iterations {
            instructions += iteration.0;
            slots += iteration.1;
            all.pass(instructions, [slots, 0, 0, 0].into());
        }
        all.are_alike()
    }

    #[test]
    fn equal_iterations_are_alike() {
        assert!(are_alike(&[(500_000, 900_000); 3]));
        assert!(are_alike(&[
            (500_000, 900_000),
            (500_090, 903_000),
            (500_000, 899_000)
        ]));
        assert!(!are_alike(&[(500_000, 900_000); 2]), "one pair");
    }

    #[test]
    fn different_iterations_are_not_alike() {
        let one = (500_000, 900_000);
        assert!(!are_alike(&[one, one, (500_600, 900_000)]), "instructions");
        assert!(!are_alike(&[one, one, (500_000, 906_000)]), "slots");
        assert!(!are_alike(&[one, (500_000, 906_000), one]), "in between");
    }

    #[test]
    fn iterations_of_other_categories_are_not_alike() {
        let mut all = Iterations::default();
        for n in 0..8 {
            let retiring = n * 100_000 + if n == 5 { 2000 } else { 0 };
            all.pass(n * 50_000, [retiring, n * 200_000 - retiring, 0, 0].into());
        }
        assert!(!all.are_alike());
    }
}
