//! How much of a benchmark is modelled, and which samples of a launch on the model count.
//!
//! The samples of such a launch [double](crate::doubling). They are modelled until one is long
//! enough, or the next does not fit into the budget, and the last of them counts: about as many
//! iterations as all before it, which warmed predictors and caches up. That depends on the numbers of
//! instructions and windows and on nothing else.

use crate::sample::{Flags, Sample};

/// With fewer samples a launch on the model says nothing: the first only warms it up.
pub const LEAST_SAMPLES: usize = 2;

/// With fewer samples the warm-up was short: of 8 iterations after 7.
pub const ENOUGH_SAMPLES: usize = 4;

/// How many samples are modelled where the budget has room for them: 32 iterations after 31.
const WANTED_SAMPLES: usize = 6;

/// A sample of so many instructions is long enough: of the half a million slots that it has at least,
/// beginning and ending a window take less than a thousandth.
const LONG_INSTRUCTIONS: u64 = 1_000_000;

/// The samples of a benchmark with several windows in each are no longer than 1024 iterations. Their
/// inputs are made beforehand: nothing is known of how much memory and time that takes.
const MOST_SAMPLES_OF_WINDOWS: usize = 11;

/// How many samples count of a launch that has `usable` of them; they are the last ones.
pub fn steady_samples(usable: usize) -> usize {
    usable.min(1)
}

/// What has been modelled of a benchmark.
#[derive(Clone, Copy, Debug, Default)]
pub struct Modelled {
    samples: usize,
    instructions: u64,
}

impl Modelled {
    /// How many samples have been modelled.
    pub fn samples(&self) -> usize {
        self.samples
    }

    /// Counts `sample`, the next of the benchmark. Says whether one of twice as many iterations is
    /// wanted, with a budget of so many instructions.
    pub fn wants_more_after(&mut self, sample: &Sample, budget_instructions: u64) -> bool {
        let Some(instructions) = sample.instructions else {
            return false;
        };
        if sample.flags.intersects(Flags::UNUSABLE) {
            return false;
        }
        self.samples += 1;
        self.instructions = self.instructions.saturating_add(instructions);
        let with_next = self
            .instructions
            .saturating_add(instructions.saturating_mul(2));
        let is_long = instructions >= LONG_INSTRUCTIONS
            || (sample.windows > 1 && self.samples >= MOST_SAMPLES_OF_WINDOWS);
        with_next <= budget_instructions && !(is_long && self.samples >= WANTED_SAMPLES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The iterations of the sample that counts, of a benchmark with so many instructions in each
    /// iteration and a fixed number in each window.
    fn counted(per_iteration: u64, windows: impl Fn(u64) -> u64) -> u64 {
        let mut modelled = Modelled::default();
        let samples = (0..).map(|index| {
            let iterations = crate::doubling::iterations(index);
            Sample {
                windows: windows(iterations),
                instructions: Some(iterations * per_iteration + windows(iterations) * 83),
                ..Sample::EMPTY
            }
        });
        let more = samples.take_while(|sample| modelled.wants_more_after(sample, 30_000_000));
        crate::doubling::iterations(more.count())
    }

    #[test]
    fn short_benchmarks_are_modelled_for_thousands_of_iterations() {
        let of_one_window = |instructions| counted(instructions, |_| 1);
        assert_eq!(of_one_window(3), 1 << 19);
        assert_eq!(of_one_window(100), 1 << 14);
        assert_eq!(of_one_window(10_000), 128);
        assert_eq!(of_one_window(100_000), 32);
        // By the budget: 31, 7 and 3 iterations.
        assert_eq!(of_one_window(900_000), 16);
        assert_eq!(of_one_window(1_900_000), 8);
        assert_eq!(of_one_window(4_000_000), 4);
        assert_eq!(of_one_window(9_900_000), 2);
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
        assert!(!modelled.wants_more_after(&Sample::EMPTY, u64::MAX));
        let not_traced = Sample {
            instructions: Some(1),
            flags: Flags::NOT_COUNTING,
            ..Sample::EMPTY
        };
        assert!(!modelled.wants_more_after(&not_traced, u64::MAX));
    }
}
