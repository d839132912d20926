//! The part of a benchmark that a launch models.
//!
//! It does not depend on the clock: windows are modelled until a sample is long enough or the
//! benchmark has used up its budget of instructions ([`topdown_run::steady`]); costly instructions
//! count for more. Only a benchmark that waits, or for which the system works, far longer than its
//! budget is ended by the clock, and has time alone.

use topdown_core_model::Counts;

use super::sampled;
use topdown_counters::error::OpenError;
use topdown_run::environment;
use topdown_run::setting::{Sampling, Setting};
use topdown_run::steady::SamplingLimits;

/// Default of the model budget.
pub const DEFAULT_BUDGET_SECONDS: f64 = 2.0;

/// Instructions per second of budget: a fixed number, so that the modelled work does not depend on
/// the clock. Most programs are modelled at twice this speed.
const INSTRUCTIONS_PER_SECOND: u64 = 15_000_000;

/// A benchmark is modelled if its budget covers this many iterations: one sample of one iteration
/// to warm up, and one of two.
pub const MIN_ITERATIONS: u64 = 3;

/// The limits of what a launch models of a benchmark.
#[derive(Clone, Copy)]
pub(super) struct ModelBudget {
    /// The number of instructions to model, if none of them is costly.
    pub instructions: u64,
    /// Whether to stop once there are enough samples for a fingerprint.
    pub ends_with_fingerprint: bool,
    /// Whether to sample what is too long. Only if samples double: criterion's own plan could have
    /// far too many.
    pub samples_long: bool,
    /// Maximum time of a benchmark's windows without executing their own instructions.
    pub max_outside_ns: u64,
}

/// A benchmark's windows may spend this many times its budget outside of its code. Judgement:
/// beyond it a benchmark mostly waits, which the model does not see.
const MAX_OUTSIDE_PER_BUDGET: f64 = 10.0;

/// Windows may always spend this long: a small budget does not make the system faster.
const MIN_OUTSIDE_SECONDS: f64 = 5.0;

impl ModelBudget {
    /// Returns the budget of this many seconds.
    ///
    /// # Errors
    /// Returns an error if the environment names an unknown kind of sampling.
    pub(super) fn from_seconds(seconds: f64) -> Result<ModelBudget, OpenError> {
        let wanted = Sampling::from_environment()?;
        Ok(ModelBudget {
            instructions: (seconds * INSTRUCTIONS_PER_SECOND as f64) as u64,
            ends_with_fingerprint: wanted == Sampling::FirstTwo,
            samples_long: wanted == Sampling::Doubling,
            max_outside_ns: (MIN_OUTSIDE_SECONDS.max(MAX_OUTSIDE_PER_BUDGET * seconds) * 1e9)
                as u64,
        })
    }

    /// Returns what the first window may cost.
    pub(super) fn largest_window(&self) -> u64 {
        self.instructions / MIN_ITERATIONS
    }

    /// Returns the longest sample, in instructions, that is sampled.
    pub(super) fn max_sampled_instructions(&self) -> u64 {
        sampled::max_instructions(self.instructions)
    }

    /// Returns how much a sample after one that was sampled may have.
    pub(super) fn sampling_limits(&self) -> SamplingLimits {
        SamplingLimits {
            whole_iteration: self.largest_window(),
            modelled_instructions: self.instructions,
            warm_instructions: self.max_warm_instructions(),
        }
    }

    /// Returns the longest sample, in instructions, that is sampled after another one.
    pub(super) fn max_warm_instructions(&self) -> u64 {
        sampled::max_warm_instructions(self.instructions)
    }
}

const INSTRUCTIONS_PER_US: u64 = INSTRUCTIONS_PER_SECOND / 1_000_000;

/// A change of threads, whatever they execute: the kernel wakes one and puts the other to sleep.
const SWITCH_US: u64 = 10;

/// Returns how many instructions of the budget it takes to model what was counted: as many as were
/// executed, but more where one takes longer than the budget allows for.
pub(super) fn cost_instructions(counts: &Counts) -> u64 {
    let cost = counts.modelling_ns().saturating_mul(INSTRUCTIONS_PER_US) / 1000;
    cost.max(counts.events.instructions)
}

/// Returns how many instructions of the budget so many changes of threads take.
pub(super) fn switching_instructions(switches: u64) -> u64 {
    switches.saturating_mul(SWITCH_US * INSTRUCTIONS_PER_US)
}

/// Returns the seconds that the environment sets.
///
/// # Errors
/// Returns [`OpenError::Model`] if that is not a positive number.
pub(super) fn budget_seconds() -> Result<f64, OpenError> {
    let Ok(text) = std::env::var(environment::MODEL_BUDGET) else {
        return Ok(DEFAULT_BUDGET_SECONDS);
    };
    match text.parse() {
        Ok(seconds) if seconds > 0.0 => Ok(seconds),
        _ => Err(OpenError::Model {
            reason: format!(
                "{} is `{text}`; it must be a number of seconds",
                environment::MODEL_BUDGET
            ),
        }),
    }
}
