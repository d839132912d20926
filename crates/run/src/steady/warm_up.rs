//! Samples that only warm up, up to the one whose last iterations count.

use super::{LONG_INSTRUCTIONS, MAX_SAMPLES_OF_WINDOWS, Modelled, Next, Taken};
use crate::doubling;

/// Number of instructions that warm up functionally in the time in which one is modelled.
const WARMED_PER_MODELLED: u64 = 10;

/// Warming up continues for this many iterations, if the budget allows, even if nothing is touched
/// for the first time any more: predictors learn from repetition.
const WANTED_WARM_UP: u64 = 31;

/// What is left for functional warming.
#[derive(Clone, Copy, Debug)]
pub(super) struct WarmUp {
    instructions_left: u64,
    counted_iterations: u64,
}

impl Modelled {
    /// Returns the warm-up that the rest of the budget allows, if `wanted` iterations should count.
    pub(super) fn warm_up_before(
        &self,
        cost_per_iteration: u64,
        wanted: u64,
        budget_instructions: u64,
    ) -> WarmUp {
        let left = budget_instructions
            .saturating_sub(self.cost_instructions)
            .max(budget_instructions / 2);
        let affordable = (left / 2 / cost_per_iteration).max(1);
        let counted_iterations = (affordable.min(wanted) / 2 + 1).next_power_of_two();
        let counted_cost = cost_per_iteration.saturating_mul(counted_iterations);
        WarmUp {
            instructions_left: left
                .saturating_sub(counted_cost)
                .saturating_mul(WARMED_PER_MODELLED),
            counted_iterations,
        }
    }

    /// Returns what to do with the sample after `taken`, of twice as many iterations.
    pub(super) fn next_of_warm_up(&mut self, taken: &Taken<'_>, warm_up: WarmUp) -> Next {
        let iterations = doubling::iterations(self.samples);
        let initialisation = self.repeated.initialisation();
        let own = taken.instructions.saturating_sub(initialisation);
        let per_iteration = own / (iterations / 2).max(1);
        let expected_instructions = per_iteration
            .saturating_mul(iterations)
            .saturating_add(initialisation);
        let wanted = match initialisation {
            0 => warm_up.counted_iterations,
            // The budget is for samples whose mean is mostly the initialisation.
            _ => LONG_INSTRUCTIONS
                .div_ceil(per_iteration.max(1))
                .next_power_of_two(),
        };
        let counted_iterations = wanted.min(iterations / 2);
        let counted_instructions = per_iteration.saturating_mul(counted_iterations);
        // Threads change no faster while it warms up.
        let switching_instructions =
            (2 * WARMED_PER_MODELLED).saturating_mul(taken.switching_instructions);
        let cost = expected_instructions.saturating_add(switching_instructions);
        let if_last = cost.saturating_sub(counted_instructions);
        let are_enough = initialisation == 0 || counted_iterations == wanted;
        let is_warm = !taken.is_cold && iterations / 2 > WANTED_WARM_UP / 2 && are_enough;
        let with_next = if_last.saturating_add(cost.saturating_mul(2));
        let may_be_followed =
            taken.sample.windows <= 1 || self.samples + 1 < MAX_SAMPLES_OF_WINDOWS;
        let has_place = taken.sample.windows <= 1 || self.samples < MAX_SAMPLES_OF_WINDOWS;
        if !has_place || if_last > warm_up.instructions_left {
            self.warm_up = None;
            return Next::Nothing;
        }
        if is_warm || !may_be_followed || with_next > warm_up.instructions_left {
            self.warm_up = None;
            return Next::Last {
                expected_instructions,
                iterations: counted_iterations,
                is_alike: false,
            };
        }
        self.warm_up = Some(WarmUp {
            instructions_left: warm_up.instructions_left - cost,
            ..warm_up
        });
        Next::WarmUp {
            expected_instructions,
        }
    }
}
