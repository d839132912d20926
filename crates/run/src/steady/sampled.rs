//! Iterations that initialise something, among samples that are too long to be modelled as a whole.
//!
//! If the first iteration is that long, so may be all others, or it initialised something. The
//! second sample shows which. Its two iterations find warm caches and count if they are as long. A
//! third one is then looked at, but not for longer than one iteration: is it over by then, the
//! first three initialised something.

use super::{Modelled, is_far_less};
use crate::doubling;

/// Maximum instructions within a budget.
#[derive(Clone, Copy, Debug)]
pub struct SamplingLimits {
    /// In an iteration that is modelled as a whole.
    pub whole_iteration: u64,
    /// In all that is modelled as a whole.
    pub modelled_instructions: u64,
    /// In a sample that is sampled, after one that warmed caches up, and in all of these.
    pub warm_instructions: u64,
}

/// What a launch does with the sample after one that was sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextSampled {
    /// Nothing: the last one that was looked at to its end counts.
    Nothing,
    /// Samples it.
    Sample {
        /// About how many instructions it will have.
        expected_instructions: u64,
        /// It is looked at no further than this.
        max_instructions: u64,
    },
    /// Models it as a whole, unless that turns out to be too long.
    Decide,
}

impl Modelled {
    /// Counts the benchmark's next sample, which was sampled and had so many `instructions`, or as
    /// many as were looked at if it was `cut_off`. Returns what to do with the one after it.
    pub fn next_when_sampled(
        &mut self,
        instructions: u64,
        cut_off: bool,
        limits: SamplingLimits,
    ) -> NextSampled {
        let iterations = doubling::iterations(self.samples);
        self.samples += 1;
        let was_probe = std::mem::take(&mut self.cold.is_probe);
        let had_risen = std::mem::take(&mut self.cold.rose);
        let per_iteration = instructions / iterations;
        let next = instructions.saturating_mul(2);
        let cold = &mut self.cold;
        if !cut_off {
            self.repeated.count(instructions);
            cold.keep_cheapest(per_iteration.max(1), per_iteration.max(1));
        }
        if self.samples > 1 {
            cold.sampled_instructions = cold.sampled_instructions.saturating_add(instructions);
        }
        let is_long = cold.sampled_instructions > limits.warm_instructions;
        match cold.expected_instructions.replace(next) {
            Some(_) if cut_off || is_long => NextSampled::Nothing,
            None if next <= limits.warm_instructions => NextSampled::whole(next),
            // Long enough for an iteration after the same initialisation.
            None if instructions / 3 * 4 <= limits.warm_instructions => {
                self.probe(next, instructions / 3 * 4)
            }
            None => self.probe(next, instructions / 3 * 2),
            Some(expected) if is_far_less(instructions, expected) => {
                match settled(per_iteration, next, limits) {
                    // Each sample may initialise the same. The next one shows it.
                    NextSampled::Nothing if instructions >= expected / 2 => {
                        self.probe(instructions, instructions / 3 * 4)
                    }
                    next => next,
                }
            }
            Some(expected) if is_far_less(expected, instructions) && !had_risen => {
                self.cold.rose = true;
                let next = expected.saturating_mul(2);
                self.cold.expected_instructions = Some(next);
                settled(expected / iterations, next, limits)
            }
            Some(_) if was_probe => NextSampled::Nothing,
            Some(_) => self.probe(next, per_iteration / 3 * 2),
        }
    }

    /// Looks at a part of the next sample.
    fn probe(&mut self, expected_instructions: u64, max_instructions: u64) -> NextSampled {
        self.cold.is_probe = true;
        NextSampled::Sample {
            expected_instructions,
            max_instructions,
        }
    }
}

impl NextSampled {
    fn whole(expected_instructions: u64) -> NextSampled {
        NextSampled::Sample {
            expected_instructions,
            max_instructions: u64::MAX,
        }
    }
}

/// Returns what to do with a sample of so many `instructions`, after one that initialised
/// something.
fn settled(per_iteration: u64, instructions: u64, limits: SamplingLimits) -> NextSampled {
    if per_iteration <= limits.whole_iteration && instructions <= limits.modelled_instructions {
        NextSampled::Decide
    } else if instructions <= limits.warm_instructions {
        NextSampled::whole(instructions)
    } else {
        NextSampled::Nothing
    }
}
