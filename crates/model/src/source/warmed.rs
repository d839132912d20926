//! Functional warming: caches, TLBs and predictors see iterations at tracing speed, before a few
//! that the core executes and that count.
//!
//! Each sample has twice as many iterations as the one before. So the last one begins with
//! iterations that only warm up, and the part that counts begins inside its window. That part has a
//! whole number of iterations, because it begins and ends at a block that each iteration executes
//! exactly once. The first samples show which blocks do.

use topdown_core_model::{Counts, Effort, Model};
use topdown_tracer::{Block, BlockId};

use super::counted::level1_slots;
use topdown_run::steady::{Iterations, Next};

/// This many samples, of 1 to 16 iterations, show which blocks an iteration executes once, and
/// whether iterations are alike. After more, a launch ends in any case, or the iterations are too
/// short to leave any out.
const SAMPLES_TO_LEARN: usize = 5;

/// At least this many instructions are shown to the predictors just before those that count.
/// Earlier ones change caches and TLBs only, which is faster.
const PREDICTORS_SEE: u64 = 10_000_000;

/// The same in iterations, if all of them are alike: predictors hardly learn any more.
const PREDICTORS_SEE_OF_ALIKE: u64 = 1;

/// A window may have this many times as many instructions as expected.
const MAX_TIMES_EXPECTED: u64 = 4;

/// By how much the executions of a block that divides iterations may be fewer than the iterations
/// of a sample: a loop entered in its middle passes its beginning once less.
const MISSING: [u64; 2] = [0, 1];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// All of them in detail.
    Detail,
    /// All of them without time.
    Warming,
    /// Without time, until those that count begin.
    Before,
    /// In detail, and counted.
    Counted,
    /// Without time, until the sample ends.
    After,
}

/// A block that each iteration executes once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Divider {
    block: BlockId,
    /// One of [`MISSING`].
    missing: u64,
}

/// Counts of the last sample's iterations that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counted {
    /// Their counts.
    pub counts: Counts,
    /// Number of lines that came from memory for them.
    pub filled_lines: u64,
}

/// Which part of a benchmark only warms up. All memory is reserved on creation.
pub(super) struct Warmed {
    part: Part,
    samples: usize,
    /// Executions of each block in the current sample, while that is learnt.
    executions: Vec<u64>,
    /// Whether each block may be a divider, for each of [`MISSING`].
    may_divide: Vec<[bool; MISSING.len()]>,
    divider: Option<Divider>,
    /// Iterations in the current sample, and how many of the last ones count.
    iterations: u64,
    counted_iterations: u64,
    /// The iterations of the current sample, if it is modelled as a whole.
    whole: Iterations,
    /// What a sample that warms up does without time.
    effort: Effort,
    /// Executions of the divider in the current sample.
    passed: u64,
    /// Number of executions until the next step.
    turn_after: u64,
    /// Iterations just before those that count, which the predictors also see.
    seen_iterations: u64,
    instructions: u64,
    max_instructions: u64,
    began: Counted,
    counted: Option<Counted>,
    /// Whether some sample skimmed, at least in part, since the process began.
    has_skimmed: bool,
}

impl Warmed {
    /// Reserves memory for a model of this many blocks.
    pub(super) fn new(blocks: usize) -> Warmed {
        Warmed {
            part: Part::Detail,
            samples: 0,
            executions: vec![0; blocks],
            may_divide: vec![[true; MISSING.len()]; blocks],
            divider: None,
            iterations: 0,
            counted_iterations: 0,
            whole: Iterations::default(),
            effort: Effort::Skimming,
            passed: 0,
            turn_after: 0,
            seen_iterations: 0,
            instructions: 0,
            max_instructions: 0,
            began: Counted::at(&Counts::default(), 0),
            counted: None,
            has_skimmed: false,
        }
    }

    /// Returns whether some sample skimmed, at least in part, since the process began.
    pub(super) fn has_skimmed(&self) -> bool {
        self.has_skimmed
    }

    /// Begins a benchmark.
    pub(super) fn begin_benchmark(&mut self, model: &mut Model) {
        if self.is_functional() {
            model.set_effort(Effort::Detail);
        }
        self.part = Part::Detail;
        self.samples = 0;
        self.executions.fill(0);
        self.may_divide.fill([true; MISSING.len()]);
        self.divider = None;
        self.whole = Iterations::default();
        self.counted = None;
    }

    /// Returns whether the current sample warms up, at least in part.
    pub(super) fn is_functional(&self) -> bool {
        self.part != Part::Detail
    }

    /// Returns whether the current sample may continue.
    pub(super) fn has_room(&self) -> bool {
        self.instructions <= self.max_instructions
    }

    /// Returns the number of instructions of the current sample, if it warms up.
    pub(super) fn instructions(&self) -> u64 {
        self.instructions
    }

    /// Ends a sample of this many iterations in this many windows.
    pub(super) fn learn(&mut self, iterations: u64, windows: u64) {
        self.samples += 1;
        if self.samples > SAMPLES_TO_LEARN {
            return;
        }
        for (may_divide, executions) in self.may_divide.iter_mut().zip(&mut self.executions) {
            let executions = std::mem::take(executions);
            for (may, missing) in may_divide.iter_mut().zip(MISSING) {
                // The iterations at the edge of two windows would be taken for one.
                let is_divided = missing == 0 || windows == 1;
                *may &= is_divided && executions + missing == iterations;
            }
        }
        let may_divide = &self.may_divide;
        let remains = |it: &Divider| may_divide[it.block.index()][it.missing as usize];
        self.divider = self.divider.filter(remains);
    }

    /// Returns whether some block is known that each iteration executes once.
    pub(super) fn can_divide(&mut self) -> bool {
        let divider = |(index, &missing): (usize, &u64)| {
            let block = self.may_divide.iter().position(|may| may[index])?;
            Some(Divider {
                block: BlockId(block as u32),
                missing,
            })
        };
        if self.samples >= 2 && self.divider.is_none() {
            self.divider = MISSING.iter().enumerate().find_map(divider);
        }
        self.divider.is_some()
    }

    /// Returns whether the iterations of the current sample, which was modelled as a whole, are
    /// alike.
    pub(super) fn are_iterations_alike(&self) -> bool {
        self.whole.are_alike()
    }

    /// An iteration of a sample that is modelled as a whole ends, and the next one begins.
    fn pass_whole(&mut self, model: &Model) {
        let counts = model.counts();
        let slots = level1_slots(&counts.slots);
        self.whole.pass(counts.events.instructions, slots);
    }

    /// Begins a sample of this many iterations.
    pub(super) fn begin_sample(&mut self, model: &mut Model, iterations: u64, what: Next) {
        let (expected_instructions, counted_iterations, is_alike) = match what {
            Next::Nothing | Next::Model => {
                if std::mem::replace(&mut self.part, Part::Detail) != Part::Detail {
                    model.set_effort(Effort::Detail);
                }
                self.whole = Iterations::default();
                if self.divider.is_some_and(|divider| divider.missing == 1) {
                    self.pass_whole(model);
                }
                return;
            }
            Next::WarmUp {
                expected_instructions,
            } => (expected_instructions, 0, false),
            Next::Last {
                expected_instructions,
                iterations,
                is_alike,
            } => (expected_instructions, iterations, is_alike),
        };
        self.has_skimmed |= !is_alike;
        self.iterations = iterations;
        self.counted_iterations = counted_iterations;
        self.passed = 0;
        self.instructions = 0;
        self.max_instructions = expected_instructions.saturating_mul(MAX_TIMES_EXPECTED);
        self.counted = None;
        let per_iteration = (expected_instructions / iterations.max(1)).max(1);
        self.seen_iterations = match is_alike {
            true => PREDICTORS_SEE_OF_ALIKE,
            false => PREDICTORS_SEE.div_ceil(per_iteration),
        };
        self.effort = match is_alike {
            true => Effort::Following,
            false => Effort::Skimming,
        };
        model.set_effort(self.effort);
        if counted_iterations == 0 {
            self.part = Part::Warming;
            self.turn_after = u64::MAX;
            return;
        }
        self.part = Part::Before;
        let before = self.executions_before();
        self.turn_after = before.saturating_sub(self.seen_iterations).max(1);
    }

    /// Returns how many executions of the divider come before those iterations that count.
    fn executions_before(&self) -> u64 {
        let missing = self.divider.map_or(0, |divider| divider.missing);
        self.iterations - missing - self.counted_iterations
    }

    /// Returns whether each iteration executes this block once.
    #[inline]
    fn is_divider(&self, block: BlockId) -> bool {
        self.divider.is_some_and(|divider| divider.block == block)
    }

    /// Goes on after a block, which `model` has received.
    #[inline]
    pub(super) fn advance(&mut self, model: &mut Model, block: &Block<'_>) {
        let learns = self.samples < SAMPLES_TO_LEARN;
        if learns {
            if let Some(executions) = self.executions.get_mut(block.id.index()) {
                *executions += 1;
            }
        }
        if self.part == Part::Detail {
            if learns && self.is_divider(block.id) {
                self.pass_whole(model);
            }
            return;
        }
        self.instructions += block.instructions.len() as u64;
        if self.is_divider(block.id) {
            self.passed += 1;
            if self.passed == self.turn_after {
                self.turn(model);
            }
        }
    }

    #[inline(never)]
    fn turn(&mut self, model: &mut Model) {
        let before = self.executions_before();
        match self.part {
            Part::Before if self.passed < before => {
                model.set_effort(Effort::Warming);
                self.turn_after = before;
            }
            Part::Before => {
                self.part = Part::Counted;
                model.set_effort(Effort::Detail);
                self.began = Counted::at(&model.counts(), model.filled_lines());
                self.turn_after = before + self.counted_iterations;
            }
            Part::Counted => {
                self.part = Part::After;
                model.drain();
                let now = Counted::at(&model.counts(), model.filled_lines());
                self.counted = Some(Counted {
                    counts: now.counts - self.began.counts,
                    filled_lines: now.filled_lines - self.began.filled_lines,
                });
                model.set_effort(self.effort);
            }
            Part::Detail | Part::Warming | Part::After => {}
        }
    }

    /// Ends the current sample, which warmed up in this many windows. Returns the counts of the
    /// iterations that count, if there are any and the sample had as many iterations as expected.
    pub(super) fn end_sample(&mut self, windows: u64) -> Option<Counted> {
        let is_divided = |it: &Divider| self.passed + it.missing == self.iterations;
        let divider = self.divider.filter(is_divided);
        if let (Some(wrong), None) = (self.divider, divider) {
            self.may_divide[wrong.block.index()] = [false; MISSING.len()];
            self.divider = None;
        }
        self.learn(self.iterations, windows);
        self.counted.take().filter(|_| divider.is_some())
    }
}

impl Counted {
    fn at(counts: &Counts, filled_lines: u64) -> Counted {
        Counted {
            counts: *counts,
            filled_lines,
        }
    }
}
