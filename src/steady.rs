//! How much of a benchmark is modelled, and which samples of a launch on the model count.
//!
//! The samples of such a launch [double](crate::doubling). Modelling continues until a sample is
//! long enough or the next does not fit the budget. Only the last sample counts: it has about as
//! many iterations as all before it, which warmed up predictors and caches. This depends only on
//! what was counted, never on the clock.

use crate::sample::{Flags, Sample};

/// With fewer samples, a launch on the model is useless: the first only warms it up.
pub const LEAST_SAMPLES: usize = 2;

/// With fewer samples, the warm-up was short. 4 samples are 8 iterations after 7.
pub const ENOUGH_SAMPLES: usize = 4;

/// The number of samples to model if the budget allows: 32 iterations after 31.
const WANTED_SAMPLES: usize = 6;

/// A sample with this many instructions is long enough: it has at least half a million slots, of
/// which beginning and ending a window take less than a thousandth.
const LONG_INSTRUCTIONS: u64 = 1_000_000;

/// Samples with several windows have at most 1024 iterations. Their inputs are made in advance, and
/// we do not know how much memory and time that takes.
const MOST_SAMPLES_OF_WINDOWS: usize = 11;

/// Returns how many of the `usable` samples of a launch count; they are the last ones.
pub fn steady_samples(usable: usize) -> usize {
    usable.min(1)
}

/// What has been modelled of a benchmark so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Modelled {
    samples: usize,
    cost_instructions: u64,
}

impl Modelled {
    /// Returns the number of modelled samples.
    pub fn samples(&self) -> usize {
        self.samples
    }

    /// Counts `sample`, the benchmark's next, which cost as much to model as `cost_instructions`.
    /// Returns whether a sample of twice as many iterations is wanted, given a budget in
    /// instructions.
    pub fn wants_more_after(
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
            || (sample.windows > 1 && self.samples >= MOST_SAMPLES_OF_WINDOWS);
        with_next <= budget_instructions && !(is_long && self.samples >= WANTED_SAMPLES)
    }

    /// Counts `sample`, the benchmark's next, which was sampled: a second one, to which the first
    /// has warmed caches up, is wanted if its two iterations have at most this many instructions.
    pub fn wants_more_when_sampled(&mut self, sample: &Sample, most_instructions: u64) -> bool {
        self.samples += 1;
        let with_next = sample.instructions.map(|count| count.saturating_mul(2));
        self.samples == 1 && with_next.is_some_and(|count| count <= most_instructions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of iterations in the sample that counts, for a benchmark with
    /// `per_iteration` instructions and a fixed number of iterations per window, each of whose
    /// instructions costs as much to model as `cost` ordinary ones.
    fn counted_at(cost: u64, per_iteration: u64, windows: impl Fn(u64) -> u64) -> u64 {
        let mut modelled = Modelled::default();
        let samples = (0..).map(|index| {
            let iterations = crate::doubling::iterations(index);
            Sample {
                windows: windows(iterations),
                instructions: Some(iterations * per_iteration + windows(iterations) * 83),
                ..Sample::EMPTY
            }
        });
        let more = samples.take_while(|sample| {
            let cost = cost * sample.instructions.unwrap();
            modelled.wants_more_after(sample, cost, 30_000_000)
        });
        crate::doubling::iterations(more.count())
    }

    fn counted(per_iteration: u64, windows: impl Fn(u64) -> u64) -> u64 {
        counted_at(1, per_iteration, windows)
    }

    #[test]
    fn short_benchmarks_are_modelled_for_thousands_of_iterations() {
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
    fn what_costs_more_to_model_is_modelled_for_fewer_iterations() {
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
    fn inputs_are_made_for_a_thousand_iterations_at_most() {
        assert_eq!(counted(3, |iterations| iterations), 1024);
        assert_eq!(counted(100, |iterations| iterations.min(10)), 1024);
        assert_eq!(counted(10_000, |iterations| iterations.min(10)), 128);
    }

    #[test]
    fn what_was_not_modelled_asks_for_no_more() {
        let mut modelled = Modelled::default();
        assert!(!modelled.wants_more_after(&Sample::EMPTY, 0, u64::MAX));
        let not_traced = Sample {
            instructions: Some(1),
            flags: Flags::NOT_COUNTING,
            ..Sample::EMPTY
        };
        assert!(!modelled.wants_more_after(&not_traced, 1, u64::MAX));
    }
}
