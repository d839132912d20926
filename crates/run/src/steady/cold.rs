//! Iterations that initialise something, among samples that are modelled as a whole.
//!
//! A launch does not end with a sample that cost far more than those before it: the next one shows
//! whether an iteration initialised something.

use super::{Modelled, Next, Taken};
use crate::doubling;
use crate::sample::Flags;

/// What the samples so far say about iterations that initialise something.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cold {
    /// What the cheapest sample had.
    cheapest: Option<PerIteration>,
    /// Whether the last sample cost far more than those before it.
    pub rose: bool,
    /// Whether the next sample only shows whether those before it initialised something.
    pub is_probe: bool,
    /// Expected instructions of the next sample, if it is sampled.
    pub expected_instructions: Option<u64>,
    /// Number of instructions sampled after the first iteration.
    pub sampled_instructions: u64,
}

/// What an iteration of a sample has, at least 1.
#[derive(Clone, Copy, Debug)]
struct PerIteration {
    instructions: u64,
    cost_instructions: u64,
}

/// Returns whether `later` is so much less than `before` that what came before initialised
/// something: at most two thirds. Judgement: caches and predictors that warm up do not change the
/// number of instructions, and if one of two iterations initialises something large, their mean is
/// half of it.
pub fn is_far_less(later: u64, before: u64) -> bool {
    later.saturating_mul(3) <= before.saturating_mul(2)
}

impl Cold {
    /// Returns whether the benchmark's next sample, with this index, costs far more than those
    /// before it, or did not fit the budget, while the one before did not.
    pub fn rises_with(&mut self, taken: &Taken<'_>, index: usize) -> bool {
        let iterations = doubling::iterations(index);
        let is_usable = !taken.sample.flags.intersects(Flags::UNUSABLE);
        let now = PerIteration {
            instructions: (taken.instructions / iterations).max(1),
            cost_instructions: (taken.cost_instructions / iterations).max(1),
        };
        self.is_probe = false;
        let rose = self.cheapest.is_some_and(|cheapest| {
            !is_usable || is_far_less(cheapest.instructions, now.instructions)
        });
        if is_usable {
            self.keep_cheapest(now.instructions, now.cost_instructions);
        }
        rose && !std::mem::replace(&mut self.rose, rose)
    }

    /// Remembers what an iteration had, if none before had less.
    pub fn keep_cheapest(&mut self, instructions: u64, cost_instructions: u64) {
        let is_cheapest = |cheapest: PerIteration| instructions < cheapest.instructions;
        if self.cheapest.is_none_or(is_cheapest) {
            self.cheapest = Some(PerIteration {
                instructions,
                cost_instructions,
            });
        }
    }
}

impl Modelled {
    /// Counts a sample that cost far more than those before it as if it had cost what they did.
    pub(super) fn next_after_rise(&mut self, budget_instructions: u64) -> Next {
        let iterations = doubling::iterations(self.samples);
        self.samples += 1;
        let cheapest = self.cold.cheapest;
        let cost = cheapest.map_or(1, |cheapest| cheapest.cost_instructions);
        let cost = cost.saturating_mul(iterations);
        self.cost_instructions = self.cost_instructions.saturating_add(cost);
        let with_next = self
            .cost_instructions
            .saturating_add(cost.saturating_mul(2));
        if with_next <= budget_instructions {
            Next::Model
        } else {
            Next::Nothing
        }
    }
}
