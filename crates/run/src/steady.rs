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
//! Iterations that initialise something cost far more than those after them, and are not the
//! benchmark: `cold.rs` finds them among samples that are modelled as a whole, `sampled.rs` among
//! others. `repeated_initialisation.rs` finds those with which every sample begins. Then, too, only
//! the last iterations of the last sample count.
//!
//! All this depends only on what was counted, not on the clock, unless a benchmark takes so long
//! that it is not modelled.

mod cold;
mod repeated_initialisation;
mod sampled;
mod settled;

use crate::doubling;
use crate::sample::{Flags, Sample};
use cold::Cold;
pub use cold::is_far_less;
use repeated_initialisation::RepeatedInitialisation;
pub use sampled::{NextSampled, SamplingLimits};
pub use settled::Settled;

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

/// Number of instructions that warm up functionally in the time in which one is modelled.
const WARMED_PER_MODELLED: u64 = 10;

/// Warming up continues for this many iterations, if the budget allows, even if nothing is touched
/// for the first time any more: predictors learn from repetition.
const WANTED_WARM_UP: u64 = 31;

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
    /// Whether memory that it touched for the first time may have cost it time.
    pub is_cold: bool,
    /// Whether iterations inside of a window can be told apart.
    pub is_divisible: bool,
}

/// What is left for functional warming.
#[derive(Clone, Copy, Debug)]
struct WarmUp {
    instructions_left: u64,
    counted_iterations: u64,
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
            return as_before;
        }
        let left = budget_instructions
            .saturating_sub(self.cost_instructions)
            .max(budget_instructions / 2);
        let affordable = (left / 2 / cost_per_iteration).max(1);
        let counted_iterations = (affordable.min(wanted) / 2 + 1).next_power_of_two();
        let counted_cost = cost_per_iteration.saturating_mul(counted_iterations);
        let warm_up = WarmUp {
            instructions_left: left
                .saturating_sub(counted_cost)
                .saturating_mul(WARMED_PER_MODELLED),
            counted_iterations,
        };
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

    /// Returns what to do with the sample after `taken`, of twice as many iterations.
    fn next_of_warm_up(&mut self, taken: &Taken<'_>, warm_up: WarmUp) -> Next {
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
        let if_last = expected_instructions.saturating_sub(counted_instructions);
        let are_enough = initialisation == 0 || counted_iterations == wanted;
        let is_warm = !taken.is_cold && iterations / 2 > WANTED_WARM_UP / 2 && are_enough;
        let with_next = if_last.saturating_add(expected_instructions.saturating_mul(2));
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
            };
        }
        self.warm_up = Some(WarmUp {
            instructions_left: warm_up.instructions_left - expected_instructions,
            ..warm_up
        });
        Next::WarmUp {
            expected_instructions,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Level1;

    const BUDGET: u64 = 30_000_000;

    /// Returns the number of iterations in the sample that counts, for a benchmark with
    /// `per_iteration` instructions and a fixed number of iterations per window, each of whose
    /// instructions costs as much to model as `cost` ordinary ones.
    fn counted_at(cost: u64, per_iteration: u64, windows: impl Fn(u64) -> u64) -> u64 {
        let mut modelled = Modelled::default();
        let samples = (0..).map(|index| {
            let iterations = doubling::iterations(index);
            Sample {
                windows: windows(iterations),
                instructions: Some(iterations * per_iteration + windows(iterations) * 83),
                ..Sample::EMPTY
            }
        });
        let more = samples.take_while(|sample| {
            let cost = cost * sample.instructions.unwrap();
            modelled.wants_more(sample, cost, BUDGET)
        });
        doubling::iterations(more.count())
    }

    fn counted(per_iteration: u64, windows: impl Fn(u64) -> u64) -> u64 {
        counted_at(1, per_iteration, windows)
    }

    #[test]
    fn short_benchmarks_are_modelled_for_thousands() {
        let of_one_window = |instructions| counted(instructions, |_| 1);
        assert_eq!(of_one_window(3), 1 << 19);
        assert_eq!(of_one_window(100), 1 << 14);
        assert_eq!(of_one_window(10_000), 128);
        assert_eq!(of_one_window(100_000), 32);
        // Limited by the budget: 31, 7 and 3 iterations.
        assert_eq!(of_one_window(900_000), 16);
        assert_eq!(of_one_window(1_900_000), 8);
        assert_eq!(of_one_window(4_000_000), 4);
        assert_eq!(of_one_window(9_900_000), 2);
    }

    #[test]
    fn costly_benchmarks_are_modelled_less_often() {
        let of_one_window = |cost, instructions| counted_at(cost, instructions, |_| 1);
        // A million instructions fit the budget four times as often as needed.
        assert_eq!(of_one_window(4, 10_000), 128);
        assert_eq!(of_one_window(3, 100_000), 32);
        assert_eq!(of_one_window(9, 100_000), 16);
        // One instruction that copies half a megabyte.
        assert_eq!(of_one_window(1_000, 20), 512);
        assert_eq!(of_one_window(40_000, 200), 1);
    }

    #[test]
    fn inputs_are_made_for_up_to_1000_iterations() {
        assert_eq!(counted(3, |iterations| iterations), 1024);
        assert_eq!(counted(100, |iterations| iterations.min(10)), 1024);
        assert_eq!(counted(10_000, |iterations| iterations.min(10)), 128);
    }

    /// Returns what happens to each sample after the first, for a benchmark whose first `cold`
    /// samples touch memory for the first time.
    fn plan(per_iteration: u64, cold: usize, is_divisible: bool) -> Vec<Next> {
        let mut modelled = Modelled::default();
        let mut plan = Vec::new();
        let mut spent = 0;
        loop {
            let instructions = doubling::iterations(plan.len()) * per_iteration;
            spent += instructions;
            let sample = Sample {
                windows: 1,
                instructions: Some(instructions),
                flags: match plan.last() {
                    None | Some(Next::Model) if spent > BUDGET => Flags::NOT_COUNTING,
                    _ => Flags::NONE,
                },
                ..Sample::EMPTY
            };
            let taken = Taken {
                sample: &sample,
                instructions,
                cost_instructions: instructions,
                is_cold: plan.len() < cold,
                is_divisible,
            };
            let next = modelled.next_after(&taken, BUDGET);
            if next != Next::Nothing {
                plan.push(next);
            }
            if sample.flags.intersects(Flags::UNUSABLE) {
                plan.pop();
            }
            if !matches!(next, Next::Model | Next::WarmUp { .. }) {
                return plan;
            }
        }
    }

    /// Returns how many samples are modelled as a whole, how many only warm up, and how many
    /// iterations count of the last one, if it warms up, too.
    fn summary(per_iteration: u64, cold: usize) -> (usize, usize, Option<u64>) {
        let plan = plan(per_iteration, cold, true);
        let count = |is: fn(&Next) -> bool| plan.iter().filter(|next| is(next)).count();
        let last = plan.last().and_then(|next| match next {
            Next::Last { iterations, .. } => Some(*iterations),
            _ => None,
        });
        (
            1 + count(|next| *next == Next::Model),
            count(|next| matches!(next, Next::WarmUp { .. })),
            last,
        )
    }

    #[test]
    fn warm_benchmark_with_enough_iterations_is_whole() {
        for per_iteration in [3, 100, 10_000, 100_000, 900_000, 1_900_000] {
            let (modelled, warm_ups, last) = summary(per_iteration, 1);
            let counts = doubling::iterations(modelled - 1);
            assert_eq!(counts, counted(per_iteration, |_| 1), "{per_iteration}");
            assert_eq!((warm_ups, last), (0, None), "{per_iteration}");
        }
    }

    #[test]
    fn fewer_than_eight_iterations_are_warmed_up() {
        // 59, 13 and 6 iterations before those that count.
        assert_eq!(summary(2_100_000, 1), (2, 3, Some(4)));
        assert_eq!(summary(4_000_000, 1), (2, 1, Some(2)));
        assert_eq!(summary(9_900_000, 1), (2, 0, Some(1)));
    }

    #[test]
    fn new_memory_is_warmed_up_until_budget_ends() {
        assert_eq!(summary(10_000, 8), (8, 1, Some(128)));
        assert_eq!(summary(10_000, 11), (8, 4, Some(128)));
        assert_eq!(summary(10_000, 99), (8, 5, Some(128)));
        assert_eq!(summary(900_000, 99), (2, 4, Some(8)));
    }

    #[test]
    fn indivisible_samples_are_modelled_unchanged() {
        for per_iteration in [10_000, 900_000, 4_000_000, 9_900_000] {
            let plan = plan(per_iteration, 99, false);
            let counts = doubling::iterations(plan.len());
            assert_eq!(counts, counted(per_iteration, |_| 1));
            assert!(plan.iter().all(|next| *next == Next::Model));
        }
    }

    #[test]
    fn unmodelled_sample_asks_for_no_more() {
        let mut modelled = Modelled::default();
        assert!(!modelled.wants_more(&Sample::EMPTY, 0, u64::MAX));
        let not_traced = Sample {
            instructions: Some(1),
            flags: Flags::NOT_COUNTING,
            ..Sample::EMPTY
        };
        assert!(!modelled.wants_more(&not_traced, 1, u64::MAX));
    }

    /// Returns how many iterations count of a benchmark with `per_iteration` instructions, whose
    /// samples have this share of their slots in one category.
    fn counted_with_share(per_iteration: u64, is_cold: bool, share: fn(usize) -> f64) -> u64 {
        let mut modelled = Modelled::default();
        for index in 0.. {
            let iterations = doubling::iterations(index);
            let instructions = iterations * per_iteration;
            let (all, part) = (instructions as f64, share(index));
            let sample = Sample {
                windows: 1,
                instructions: Some(instructions),
                level1: Some(Level1 {
                    slots: [all * (1.0 - part), all * part, 0.0, 0.0].into(),
                    smt_contention_slots: None,
                }),
                ..Sample::EMPTY
            };
            let taken = Taken {
                sample: &sample,
                instructions,
                cost_instructions: instructions,
                is_cold,
                is_divisible: false,
            };
            if modelled.next_after(&taken, BUDGET) == Next::Nothing {
                return iterations;
            }
        }
        unreachable!("every launch ends")
    }

    #[test]
    fn settled_launch_ends_after_eight_iterations() {
        let settled = |per_iteration| counted_with_share(per_iteration, false, |_| 0.3);
        assert_eq!(settled(400_000), 8);
        assert_eq!(settled(100_000), 16);
        let learns = |index| 0.3 - 0.01 * index as f64;
        assert_eq!(counted_with_share(400_000, false, learns), 32);
        assert_eq!(counted_with_share(400_000, true, |_| 0.3), 32, "cold");
        let stops_learning = |index: usize| if index < 4 { 0.3 } else { 0.2 };
        assert_eq!(counted_with_share(100_000, false, stops_learning), 32);
    }

    #[test]
    fn launch_of_equal_iterations_ends_sooner() {
        let equal = |per_iteration| counted_with_share(per_iteration, false, |_| 0.25);
        assert_eq!(equal(10_000), 32);
        assert_eq!(equal(1_000), 256);
        assert_eq!(equal(4), 1 << 16);
        // Each sample has less of one category, by less than matters.
        let nearly = |index| 0.25 - 0.001 * index as f64;
        assert_eq!(counted_with_share(10_000, false, nearly), 128);
        assert_eq!(counted_with_share(10_000, true, |_| 0.25), 128, "cold");
    }

    /// Returns the samples that a launch takes, and how many iterations the one has that counts,
    /// for a benchmark whose iterations have this many instructions, by their number from 0.
    fn counted_of(instructions_of: impl Fn(u64) -> u64) -> (usize, u64) {
        let mut modelled = Modelled::default();
        let (mut spent, mut counted, mut samples) = (0, 0, 0);
        loop {
            let iterations = doubling::iterations(samples);
            samples += 1;
            let instructions: u64 = (iterations - 1..2 * iterations - 1)
                .map(&instructions_of)
                .sum();
            let fits = spent + instructions <= BUDGET;
            let sample = Sample {
                windows: 1,
                instructions: Some(instructions),
                flags: if fits {
                    Flags::NONE
                } else {
                    Flags::NOT_COUNTING
                },
                ..Sample::EMPTY
            };
            if fits {
                (spent, counted) = (spent + instructions, iterations);
            }
            let taken = Taken {
                sample: &sample,
                instructions,
                cost_instructions: instructions,
                is_cold: false,
                is_divisible: false,
            };
            if modelled.next_after(&taken, BUDGET) == Next::Nothing {
                return (samples, counted);
            }
        }
    }

    #[test]
    fn launch_does_not_end_with_initialisation() {
        let counted_if = |initialises: fn(u64) -> u64| counted_of(move |n| initialises(n) + 10_000);
        let settled = (8, 128);
        assert_eq!(counted_if(|_| 0), settled);
        assert_eq!(counted_if(|n| if n == 0 { 9_000_000 } else { 0 }), settled);
        assert_eq!(counted_if(|n| if n == 1 { 21_000_000 } else { 0 }), settled);
        assert_eq!(counted_if(|n| if n == 2 { 90_000_000 } else { 0 }), settled);
        assert_eq!(counted_if(|n| if n < 3 { 8_000_000 } else { 0 }), settled);
        assert_eq!(
            counted_if(|n| if n == 100 { 20_000_000 } else { 0 }),
            settled
        );
        assert_eq!(
            counted_if(|n| if n == 200 { 20_000_000 } else { 0 }),
            (9, 256)
        );
    }

    #[test]
    fn growing_iterations_end_the_launch() {
        let (samples, counted) = counted_of(|n| 10_000 << n.min(20));
        assert!(samples <= 6 && counted >= 2, "{samples} {counted}");
    }
}
