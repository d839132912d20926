//! Sampling of a long execution: the instructions that are modelled in detail, and the estimate of
//! the whole.
//!
//! The execution is cut into periods of equally many instructions, and in each one a *unit* is
//! modelled in detail. Before it come functional warming ([`Effort::Warming`]) and a lead in detail
//! that is not counted, in which the pipeline fills. The rest of a short period is followed
//! ([`Effort::Following`]). Of a long one, only what comes just before the warming is; the rest is
//! skipped.
//!
//! The length of the execution need not be known: after a number of units the periods become twice
//! as long. The periods of one length are a *stage*, which counts for as many instructions as it
//! has.
//!
//! Everything depends on instruction counts alone, so the same execution has the same units. The
//! position of a unit in its period is scattered, so that a program that repeats itself does not
//! always show the same side.
//!
//! After Wunderlich et al., "SMARTS: Accelerating Microarchitecture Simulation via Rigorous
//! Statistical Sampling" (ISCA 2003). There, all of the execution is warmed.

use crate::calendar::boxed;
use crate::model::{Effort, Model};
use crate::slots::Counts;

/// Number of groups to which the units are dealt out in turn. Each is a sample of the execution, so
/// their differences show the error of the mean of all.
pub const GROUPS: usize = 10;

/// Enough stages for any execution: the periods of the last one have 2^40 instructions and more.
const STAGES: usize = 40;

/// Maximum number of units in an execution of known length, in units of a stage.
const STAGES_IF_KNOWN: u64 = 4;

/// How an execution is sampled: lengths in instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The length of a unit.
    pub unit: u64,
    /// Instructions modelled in detail before each unit.
    pub lead: u64,
    /// Instructions shown to caches and predictors before that.
    pub warming: u64,
    /// Periods of more instructions are long.
    pub long_period: u64,
    /// Instructions followed before that, but at most half of the rest of the period.
    pub following: u64,
    /// Number of units of a stage.
    pub units_per_stage: u64,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            unit: 8_000,
            lead: 2_000,
            warming: 20_000,
            long_period: 500_000,
            following: 1_000_000,
            units_per_stage: 40 * GROUPS as u64,
        }
    }
}

impl Plan {
    /// Returns the shortest period: in it, all is warmed or modelled.
    fn min_period(&self) -> u64 {
        self.warming + self.lead + self.unit
    }
}

/// Units of one group in one stage.
#[derive(Clone, Copy, Debug, Default)]
struct Units {
    counts: Counts,
    units: u64,
}

/// Periods of one length.
#[derive(Clone, Copy, Debug, Default)]
struct Stage {
    instructions: u64,
    groups: [Units; GROUPS],
}

impl Stage {
    /// Returns all of its units.
    fn all(&self) -> Units {
        let mut all = Units::default();
        for group in &self.groups {
            all.counts += group.counts;
            all.units += group.units;
        }
        all
    }
}

/// The part of a period that is being executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Skipped,
    Before,
    Warming,
    Lead,
    Unit,
    After,
}

/// The units of one execution. All memory is reserved on creation.
#[derive(Clone, Debug)]
pub struct Sampling {
    plan: Plan,
    stages: Box<[Stage; STAGES]>,
    stage: usize,
    /// Units that have begun in the stage, and how many it has.
    units: u64,
    units_per_stage: u64,
    /// Instructions from the beginning of the execution to the end of the current part.
    until: u64,
    /// The instructions until then; negative if the last block went beyond.
    left: i64,
    part: Part,
    /// Number of the period's instructions after the unit.
    after: u64,
    /// Instructions executed when the stage began.
    stage_began: u64,
    /// The model's counts when the unit began.
    unit_began: Counts,
    warmed: u64,
}

/// Estimate of the whole execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// The estimate of each group. The mean of all is the best one.
    pub groups: [Counts; GROUPS],
    /// Number of units.
    pub units: u64,
    /// Whether all periods were equally long, so that what was modelled in detail is a fair sample
    /// of all instructions.
    pub is_even: bool,
}

impl Sampling {
    /// Creates the units of an execution that has not begun.
    pub fn new(plan: Plan) -> Sampling {
        Sampling {
            plan,
            stages: boxed(Stage::default()),
            stage: 0,
            units_per_stage: 0,
            units: 0,
            until: 0,
            left: 0,
            part: Part::After,
            after: 0,
            stage_began: 0,
            unit_began: Counts::default(),
            warmed: 0,
        }
    }

    /// Begins an execution, and forgets the one before. `expected` is how many instructions it will
    /// have, if that is known: then all of its periods are equally long.
    pub fn begin(&mut self, model: &mut Model, expected: Option<u64>) {
        self.stages.fill(Stage::default());
        self.stage = 0;
        self.units_per_stage = self.plan.units_per_stage;
        (self.units, self.until, self.left) = (0, 0, 0);
        (self.stage_began, self.warmed) = (0, 0);
        self.part = Part::After;
        if let Some(expected) = expected {
            self.units_per_stage *= STAGES_IF_KNOWN;
            while self.stage + 1 < STAGES && expected / self.period() > self.units_per_stage {
                self.stage += 1;
            }
        }
        self.turn(model);
    }

    /// Goes on after a block of this many instructions, which `model` has received.
    #[inline]
    pub fn advance(&mut self, model: &mut Model, instructions: u64) {
        self.left -= instructions as i64;
        if self.left <= 0 {
            self.turn(model);
        }
    }

    /// Ends the execution. The model works in detail again.
    pub fn end(&mut self, model: &mut Model) {
        self.end_stage();
        model.set_effort(Effort::Detail);
    }

    /// Returns the number of executed instructions.
    pub fn instructions(&self) -> u64 {
        self.until.wrapping_add_signed(-self.left)
    }

    /// Returns how many of them were shown to caches and predictors only.
    pub fn warmed_instructions(&self) -> u64 {
        self.warmed
    }

    /// Returns the estimate from the units, after the end; `None` if there are none.
    pub fn estimate(&self) -> Option<Estimate> {
        let mut estimate = Estimate {
            groups: [Counts::default(); GROUPS],
            units: 0,
            is_even: true,
        };
        let stages = &self.stages[..=self.stage];
        // Instructions of stages without a unit count for the one before.
        let mut instructions = 0;
        for stage in stages.iter().rev() {
            instructions += stage.instructions;
            let all = stage.all();
            if all.units == 0 {
                continue;
            }
            for (sum, group) in estimate.groups.iter_mut().zip(&stage.groups) {
                let group = if group.units == 0 { &all } else { group };
                *sum += group.counts.scaled_to(instructions);
            }
            estimate.is_even = estimate.units == 0;
            estimate.units += all.units;
            instructions = 0;
        }
        (estimate.units > 0 && instructions == 0).then_some(estimate)
    }

    fn period(&self) -> u64 {
        self.plan.min_period() << self.stage
    }

    fn is_long(&self) -> bool {
        self.period() > self.plan.long_period
    }

    /// Returns how much of a period is neither warmed nor modelled.
    fn rest(&self) -> u64 {
        self.period() - self.plan.min_period()
    }

    /// Returns how much of a long period is followed.
    fn followed(&self) -> u64 {
        self.plan.following.min(self.rest() / 2)
    }

    /// Returns how much of a period lies before or after what belongs to its unit.
    fn movable(&self) -> u64 {
        match self.is_long() {
            true => self.rest() - self.followed(),
            false => self.rest(),
        }
    }

    /// Continues with the next part that has any instructions left.
    #[inline(never)]
    fn turn(&mut self, model: &mut Model) {
        while self.left <= 0 {
            self.part = match self.part {
                Part::Skipped => Part::Before,
                Part::Before => Part::Warming,
                Part::Warming => Part::Lead,
                Part::Lead => Part::Unit,
                Part::Unit => {
                    self.keep_unit(model.counts() - self.unit_began);
                    Part::After
                }
                Part::After => {
                    self.begin_period();
                    Part::Skipped
                }
            };
            let length = match self.part {
                Part::Skipped if self.is_long() => self.movable() - self.after,
                Part::Skipped => 0,
                Part::Before if self.is_long() => self.followed(),
                Part::Before => self.movable() - self.after,
                Part::Warming => self.plan.warming,
                Part::Lead => self.plan.lead,
                Part::Unit => self.plan.unit,
                Part::After => self.after,
            };
            if self.part == Part::Warming {
                self.warmed += length;
            }
            self.until += length;
            self.left += length as i64;
        }
        model.set_effort(match self.part {
            Part::Skipped => Effort::Skipping,
            Part::After if self.is_long() => Effort::Skipping,
            Part::Before | Part::After => Effort::Following,
            Part::Warming => Effort::Warming,
            Part::Lead | Part::Unit => Effort::Detail,
        });
        if self.part == Part::Unit {
            self.unit_began = model.counts();
        }
    }

    fn keep_unit(&mut self, counts: Counts) {
        let stage = &mut self.stages[self.stage];
        let group = &mut stage.groups[(self.units - 1) as usize % GROUPS];
        group.counts += counts;
        group.units += 1;
    }

    fn begin_period(&mut self) {
        if self.units == self.units_per_stage && self.stage + 1 < STAGES {
            self.end_stage();
            self.stage += 1;
            self.units = 0;
        }
        self.units += 1;
        let number = self.units + self.stage as u64 * self.units_per_stage;
        self.after = scattered(number) % (self.movable() + 1);
    }

    fn end_stage(&mut self) {
        let executed = self.instructions();
        self.stages[self.stage].instructions = executed - self.stage_began;
        self.stage_began = executed;
    }
}

/// Returns a number that shows no pattern (the finaliser of SplitMix64: Steele, Lea, Flood, "Fast
/// splittable pseudorandom number generators", OOPSLA 2014).
fn scattered(number: u64) -> u64 {
    let number = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}
