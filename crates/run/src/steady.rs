//! The modelled part of a benchmark, and the samples of a modelled launch that count.
//!
//! The samples of such a launch [double](crate::doubling). Modelling continues until a sample is
//! long enough or the next does not fit the budget. Only the last sample counts: it has about as
//! many iterations as all before it, which warmed up predictors and caches.
//!
//! If these would be too few, or what counts would touch memory for the first time, the samples go
//! on without time: caches and predictors see their iterations at tracing speed, and the core
//! executes only the last ones of the last sample, which count.
//!
//! If all iterations of a sample are alike, the core executes only the last ones of the next, which
//! count (`alike.rs`).
//!
//! Iterations that initialise something cost far more than those after them, and are not the
//! benchmark: `cold.rs` finds them among samples that are modelled as a whole, `sampled.rs` among
//! others. `repeated_initialisation.rs` finds those with which every sample begins. Then, too, only
//! the last iterations of the last sample count.
//!
//! All this depends only on what was counted, not on the clock, unless a benchmark takes so long
//! that it is not modelled.

mod alike;
mod cold;
mod repeated_initialisation;
mod sampled;
mod settled;
mod warm_up;

use crate::doubling;
use crate::sample::{Flags, Sample};
pub use alike::{Iterations, are_as_long};
use cold::Cold;
pub use cold::is_far_less;
use repeated_initialisation::RepeatedInitialisation;
pub use sampled::{NextSampled, SamplingLimits};
pub use settled::Settled;
use warm_up::WarmUp;

/// With fewer samples, a launch on the model is useless: the first only warms it up.
pub const MIN_SAMPLES: usize = 2;

/// With fewer samples, the warm-up was short. 4 samples are 8 iterations after 7.
pub const MIN_SETTLED_SAMPLES: usize = 4;

/// This many samples show whether the first iterations initialised something: the third one has
/// four iterations. If there is no room for it, it is looked at as far as the budget goes.
const MIN_COLD_SAMPLES: usize = 3;

/// The number of samples to model if the budget allows: 32 iterations after 31. Fewer are enough if
/// the slots no longer change (`settled.rs`).
const WANTED_SAMPLES: usize = 6;

/// A sample with this many instructions is long enough: it has at least half a million slots, of
/// which beginning and ending a window take less than a thousandth.
const LONG_INSTRUCTIONS: u64 = 1_000_000;

/// If all iterations have exactly the same slots, a sample with this many instructions is long
/// enough. Judgement: fewer would miss what a benchmark does only once in many iterations.
const LONG_INSTRUCTIONS_OF_REPEATED: u64 = 250_000;

/// Samples with several windows have at most 1024 iterations. Their inputs are made in advance, and
/// we do not know how much memory and time that takes.
const MAX_SAMPLES_OF_WINDOWS: usize = 11;

/// Returns how many of the `usable` samples of a launch count; they are the last ones.
pub fn steady_samples(usable: usize) -> usize {
    usable.min(1)
}

/// What has been modelled of a benchmark so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Modelled {
    samples: usize,
    cost_instructions: u64,
    warm_up: Option<WarmUp>,
    /// What the samples so far say about iterations that initialise something.
    cold: Cold,
    /// What they say about an initialisation in each of them.
    repeated: RepeatedInitialisation,
    /// Whether their slots still change.
    settled: Settled,
}

/// What a launch does with the next sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Next {
    /// Nothing: what was modelled is enough, or there is no room for more.
    Nothing,
    /// Models it as a whole.
    #[default]
    Model,
    /// Warms up: caches and predictors see it.
    WarmUp {
        /// About how many instructions it will have.
        expected_instructions: u64,
    },
    /// Warms up and models the last iterations, which count.
    Last {
        /// About how many instructions it will have.
        expected_instructions: u64,
        /// Number of iterations that count.
        iterations: u64,
        /// Whether it ends the launch only if they have as many instructions as the others.
        is_alike: bool,
    },
}

/// What is known about a sample that was taken.
#[derive(Clone, Copy, Debug)]
pub struct Taken<'a> {
    /// Its counts.
    pub sample: &'a Sample,
    /// Number of its instructions.
    pub instructions: u64,
    /// Instructions of the budget that it cost to model, if it was modelled.
    pub cost_instructions: u64,
    /// Instructions of the budget that its changes of threads cost, modelled or not.
    pub switching_instructions: u64,
    /// Whether memory that it touched for the first time may have cost it time.
    pub is_cold: bool,
    /// Whether iterations inside of a window can be told apart.
    pub is_divisible: bool,
    /// Whether its iterations are alike.
    pub is_alike: bool,
}

impl Modelled {
    /// Returns whether the next sample only shows whether those before it initialised something. If
    /// it is not far shorter, the last one counts.
    pub fn is_probe_next(&self) -> bool {
        self.cold.is_probe
    }

    /// Returns whether a notable part of the last sample initialised something, as in each sample.
    pub fn initialises_each_sample(&self) -> bool {
        self.repeated.matters()
    }

    /// Counts a sample that shows nothing: its iteration was too long even to be sampled, or its
    /// iterations are not alike.
    pub fn skip(&mut self) {
        self.samples += 1;
    }

    /// Returns the number of modelled samples.
    pub fn samples(&self) -> usize {
        self.samples
    }

    /// Counts `sample`, the benchmark's next, which cost as much to model as `cost_instructions`.
    /// Returns whether a sample of twice as many iterations is wanted, given a budget in
    /// instructions.
    pub fn wants_more(
        &mut self,
        sample: &Sample,
        cost_instructions: u64,
        budget_instructions: u64,
    ) -> bool {
        let Some(instructions) = sample.instructions else {
            return false;
        };
        if sample.flags.intersects(Flags::UNUSABLE) {
            return false;
        }
        self.samples += 1;
        self.cost_instructions = self.cost_instructions.saturating_add(cost_instructions);
        let with_next = self
            .cost_instructions
            .saturating_add(cost_instructions.saturating_mul(2));
        let is_long = instructions >= LONG_INSTRUCTIONS
            || (sample.windows > 1 && self.samples >= MAX_SAMPLES_OF_WINDOWS);
        with_next <= budget_instructions && !(is_long && self.samples >= WANTED_SAMPLES)
    }

    /// Counts the benchmark's next sample and returns what to do with the one after it, given a
    /// budget in instructions. The samples have 1, 2, 4, … iterations.
    pub fn next_after(&mut self, taken: &Taken<'_>, budget_instructions: u64) -> Next {
        if let Some(warm_up) = self.warm_up {
            self.samples += 1;
            if taken.is_divisible {
                self.repeated.count(taken.instructions);
            }
            return self.next_of_warm_up(taken, warm_up);
        }
        let is_usable =
            taken.sample.instructions.is_some() && !taken.sample.flags.intersects(Flags::UNUSABLE);
        if is_usable {
            self.repeated.count(taken.instructions);
        }
        let before = *self;
        let rises = self.cold.rises_with(taken, self.samples);
        let next = self.next_if_settled(taken, budget_instructions);
        match next {
            Next::Model => Next::Model,
            _ if before.cold.is_probe && !is_usable => Next::Nothing,
            _ if rises => {
                let cold = self.cold;
                *self = Modelled { cold, ..before };
                self.next_after_rise(budget_instructions)
            }
            Next::Nothing if is_usable && self.samples < MIN_COLD_SAMPLES => {
                self.cold.is_probe = true;
                Next::Model
            }
            next => next,
        }
    }

    /// Returns what to do after a sample that costs as much as those before it.
    fn next_if_settled(&mut self, taken: &Taken<'_>, budget_instructions: u64) -> Next {
        let cost = taken.cost_instructions;
        let slots = taken.sample.level1.map(|level1| level1.slots);
        self.settled.count(slots, self.samples);
        let wants_more =
            self.wants_more(taken.sample, cost, budget_instructions) && !self.is_settled(taken);
        let as_before = if wants_more {
            Next::Model
        } else {
            Next::Nothing
        };
        let is_usable = !taken.sample.flags.intersects(Flags::UNUSABLE);
        if !is_usable || !taken.is_divisible || self.samples < MIN_SAMPLES {
            return as_before;
        }
        let iterations = doubling::iterations(self.samples - 1);
        let per_iteration = (taken.instructions / iterations).max(1);
        let long_iterations = LONG_INSTRUCTIONS
            .div_ceil(per_iteration)
            .next_power_of_two();
        let wanted = long_iterations.max(doubling::iterations(WANTED_SAMPLES - 1));
        let wanted = if taken.sample.windows > 1 {
            wanted.min(doubling::iterations(MAX_SAMPLES_OF_WINDOWS - 1))
        } else {
            wanted
        };
        let cost_per_iteration = (cost / iterations).max(1);
        let reaches = |last: u64| {
            let more = 2 * last.saturating_sub(iterations);
            let cost = cost_per_iteration.saturating_mul(more);
            self.cost_instructions.saturating_add(cost) <= budget_instructions
        };
        let is_short = !reaches(doubling::iterations(MIN_SETTLED_SAMPLES - 1));
        let ends_early = !wants_more || !reaches(wanted);
        let needs_warm_up =
            is_short || (taken.is_cold && ends_early) || (!wants_more && self.repeated.matters());
        if !needs_warm_up {
            return match as_before {
                Next::Model => self.last_of_alike(taken).unwrap_or(Next::Model),
                next => next,
            };
        }
        let warm_up = self.warm_up_before(cost_per_iteration, wanted, budget_instructions);
        match self.next_of_warm_up(taken, warm_up) {
            Next::Nothing => as_before,
            next => next,
        }
    }

    /// Returns whether `taken`, the last sample, is long enough, and its slots no longer change.
    fn is_settled(&self, taken: &Taken<'_>) -> bool {
        let is_long =
            self.samples >= MIN_SETTLED_SAMPLES && taken.instructions >= LONG_INSTRUCTIONS;
        let is_long_if_repeated =
            self.samples >= WANTED_SAMPLES && taken.instructions >= LONG_INSTRUCTIONS_OF_REPEATED;
        let settled = &self.settled;
        !taken.is_cold
            && ((is_long && settled.is_settled()) || (is_long_if_repeated && settled.repeats()))
    }
}

#[cfg(test)]
mod tests;
