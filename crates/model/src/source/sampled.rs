//! Samples that are too long to be modelled as a whole: units of them are, from which the rest is
//! estimated.
//!
//! The part that was modelled before the sample turned out to be too long counts as it is; units
//! stand for the rest. The next sample consists of units alone, since its length is known.

use topdown_core_model::{Counts, GROUPS, Model, Plan, Sampling};
use topdown_tracer::Block;

/// An iteration may have this many times the instructions of the budget. Most of a long one is only
/// traced, at several hundred million instructions per second.
const MAX_TIMES_BUDGET: u64 = 300;

/// The same for two iterations in which caches are warm. Sampling is only two to five times as fast
/// as modelling, so the longest of these iterations take more than the budget.
const WARM_PER_MODELLED: u64 = 10;

/// While nothing is modelled, so many times as many instructions are traced in the same time.
/// Judgement: their number depends on the code.
const TRACED_PER_MODELLED: u64 = 30;

/// A window's cost is checked after this many blocks.
const BLOCKS_BETWEEN_LOOKS: u32 = 4096;

/// Instructions of the budget for each unit of a stage.
const INSTRUCTIONS_PER_UNIT: u64 = 75_000;

/// Returns the default plan for the default budget, and one with more units for a larger one.
fn plan(budget_instructions: u64) -> Plan {
    let least = Plan::default().units_per_stage;
    let units = (budget_instructions / INSTRUCTIONS_PER_UNIT).next_multiple_of(GROUPS as u64);
    Plan {
        units_per_stage: units.max(least),
        ..Plan::default()
    }
}

/// Returns the longest sample, in instructions, with this budget for modelling.
pub(super) fn max_instructions(budget_instructions: u64) -> u64 {
    budget_instructions.saturating_mul(MAX_TIMES_BUDGET)
}

/// Returns the longest sample, in instructions, that follows another one, with this budget for
/// modelling.
pub(super) fn max_warm_instructions(budget_instructions: u64) -> u64 {
    budget_instructions.saturating_mul(WARM_PER_MODELLED)
}

/// Sampling of the current sample. All memory is reserved on creation.
pub(super) struct Sampled {
    sampling: Sampling,
    is_sampling: bool,
    /// Whether the open window may be sampled if it is too long.
    is_allowed: bool,
    blocks_until_look: u32,
    /// What was modelled as a whole before.
    head: Counts,
    /// Maximum instructions of any sample, and of the current one.
    max_instructions: u64,
    limit_instructions: u64,
}

/// Estimate of a sample from its units.
pub(super) struct SampleEstimate {
    /// Estimates of the groups of units.
    pub groups: [Counts; GROUPS],
    /// Estimate of all units.
    pub mean: Counts,
    /// Their number.
    pub units: u64,
    /// Whether they are spread evenly over all of it.
    pub is_even: bool,
}

impl Sampled {
    /// Reserves memory, for this budget.
    pub(super) fn new(budget_instructions: u64) -> Sampled {
        Sampled {
            sampling: Sampling::new(plan(budget_instructions)),
            is_sampling: false,
            is_allowed: false,
            blocks_until_look: BLOCKS_BETWEEN_LOOKS,
            head: Counts::default(),
            max_instructions: max_instructions(budget_instructions),
            limit_instructions: u64::MAX,
        }
    }

    /// Sets how many instructions the next sample may have.
    pub(super) fn limit(&mut self, instructions: u64) {
        self.limit_instructions = instructions;
    }

    /// Returns how many instructions the last sample had.
    pub(super) fn instructions(&self) -> u64 {
        self.head.events.instructions + self.sampling.instructions()
    }

    /// Sets whether the window that begins may be sampled if it is too long.
    pub(super) fn allow(&mut self, is_allowed: bool) {
        self.is_allowed = is_allowed;
        self.blocks_until_look = BLOCKS_BETWEEN_LOOKS;
    }

    /// Returns whether the open window may be sampled if it is too long.
    pub(super) fn is_allowed(&self) -> bool {
        self.is_allowed
    }

    /// Returns whether the current sample is being sampled.
    pub(super) fn is_sampling(&self) -> bool {
        self.is_sampling
    }

    /// Returns whether the current sample may continue, in which changes of threads cost so many
    /// instructions of the budget.
    pub(super) fn has_room(&self, switching_instructions: u64) -> bool {
        let switching = switching_instructions.saturating_mul(TRACED_PER_MODELLED);
        let instructions = self.sampling.instructions().saturating_add(switching);
        instructions < self.max_instructions.min(self.limit_instructions)
    }

    /// Goes on after a block, which `model` has received. Returns whether it is sampled.
    #[inline]
    pub(super) fn advance(&mut self, model: &mut Model, block: &Block<'_>) -> bool {
        if self.is_sampling {
            let instructions = block.instructions.len() as u64;
            self.sampling.advance(model, instructions);
        }
        self.is_sampling
    }

    /// Returns whether to check now if the open window, which may be sampled, is too long.
    #[inline]
    pub(super) fn is_due(&mut self) -> bool {
        self.blocks_until_look -= 1;
        if self.blocks_until_look > 0 {
            return false;
        }
        self.blocks_until_look = BLOCKS_BETWEEN_LOOKS;
        self.is_allowed
    }

    /// Samples the rest of the current sample, whose only window began with the counts
    /// `window_began`.
    #[inline(never)]
    pub(super) fn begin_after(&mut self, model: &mut Model, window_began: Counts) {
        self.head = model.counts() - window_began;
        self.begin(model, None);
    }

    /// Samples the current sample from here on, if it is not sampled already: it begins with this
    /// window and will have `expected` instructions.
    pub(super) fn sample_rest(&mut self, model: &mut Model, expected: Option<u64>) {
        if !self.is_sampling {
            self.head = Counts::default();
            self.begin(model, expected);
        }
    }

    fn begin(&mut self, model: &mut Model, expected: Option<u64>) {
        self.sampling.begin(model, expected);
        self.is_sampling = true;
    }

    /// Ends the current sample and returns what the units say about it, if there are any.
    pub(super) fn end(&mut self, model: &mut Model) -> Option<SampleEstimate> {
        if !std::mem::take(&mut self.is_sampling) {
            return None;
        }
        self.sampling.end(model);
        let estimate = self.sampling.estimate()?;
        let groups = estimate.groups.map(|group| group + self.head);
        Some(SampleEstimate {
            groups,
            mean: Counts::mean(&groups),
            units: estimate.units,
            is_even: estimate.is_even && self.head == Counts::default(),
        })
    }
}
