//! One modelled core, and the state of the benchmark whose windows it models.

mod other_provenance;
mod samples;
mod warmth;

use topdown_core_model::{Capacity, CoreParameters, Counts, Effort, GROUPS};
use topdown_tracer::{Block, Consumer, End, Mapping, ThreadsError, TraceError};

use self::warmth::Warmth;
use super::budget::{ModelBudget, cost_instructions, switching_instructions};
use super::code::{CodeAccount, CodeDetail};
use super::counted::sample_of;
use super::executed::Executed;
use super::not_modelled::NotModelled;
use super::sampled::Sampled;
use super::warmed::Warmed;
use topdown_run::code::{CodeCounts, CodeSlots};
use topdown_run::event::Events;
use topdown_run::provenance::Provenance;
use topdown_run::sample::{Flags, Sample};
use topdown_run::steady::{MIN_SAMPLES, Modelled, Next};

/// Threads that are not traced work if they use more processor time than this. Judgement: those
/// that wait use far less, and the slots of a benchmark whose work is theirs are soon in vain.
const MAX_UNTRACED_NS: u64 = 100_000_000;

/// A modelled core. Between two windows of a benchmark it allocates nothing.
pub(super) struct Core {
    parameters: &'static CoreParameters,
    pub model: topdown_core_model::Model,
    pub code: CodeAccount,
    pub sampled: Sampled,
    warmed: Warmed,
    pub budget: ModelBudget,
    pub benchmark: Benchmark,
    /// The part of the open window that it models.
    looks_at: Part,
    /// The model's counts when the open window began.
    window_began: Counts,
    /// Changes of threads in the open window.
    switches: u64,
    /// What the open window may cost.
    room_instructions: u64,
    /// The estimates of the groups of units, for the last sample that was sampled.
    pub groups: Option<[Sample; GROUPS]>,
    /// The estimate of all units, if they are evenly spread.
    estimated: Option<CodeCounts>,
}

/// A part of a window.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    None,
    /// The rest was more than the core wanted.
    Beginning,
    All,
}

/// State of the current benchmark.
#[derive(Clone, Copy, Default)]
pub(super) struct Benchmark {
    /// What its windows have cost.
    pub cost_instructions: u64,
    /// Their time outside of their own instructions.
    outside_ns: u64,
    /// Processor time that threads which are not traced used in them.
    untraced_ns: u64,
    /// What they had cost when the last sample was kept.
    kept_cost_instructions: u64,
    /// The part of the cost of the current sample that its changes of threads are.
    switching_instructions: u64,
    pub fate: ModelDecision,
    /// Whether a sample after the first one decides how it is modelled.
    decides_again: bool,
    /// Whether its first sample had no windows, and only showed where those of the others lie.
    begins_late: bool,
    /// Whether only a part of the first iteration was modelled.
    first_is_cut_off: bool,
    modelled: Modelled,
    /// Whether modelling is complete.
    is_complete: bool,
    /// Whether some window of the current sample was not modelled to its end.
    has_gap: bool,
    /// Expected instructions of the next sample, if it is sampled.
    expected_instructions: Option<u64>,
    /// The effort for the current sample.
    current: Next,
    /// Whether a sample that warmed up was not modelled to its end.
    is_lost: bool,
    /// The cycles of the last sample that was modelled, and its iterations.
    cycles: (u64, u64),
    /// Number of lines that the model had brought from memory when the benchmark began, and when
    /// the last sample was kept.
    filled_lines: (u64, u64),
    /// Warmth of the iterations that count, once it is known and worth reporting.
    warmth: Option<Warmth>,
    /// Its provenance, if it is not modelled as a whole; set at the first request.
    provenance: Option<&'static Provenance>,
}

/// Whether a benchmark is modelled: its first window decides.
#[derive(Clone, Copy, Default)]
pub(super) enum ModelDecision {
    #[default]
    Open,
    Modelled,
    /// Its samples are estimated from this many units, once that is known.
    Sampled(Option<u64>),
    /// It has only time.
    Timed(NotModelled),
}

impl Core {
    /// Reserves all memory.
    pub(super) fn new(
        parameters: &'static CoreParameters,
        capacity: Capacity,
        budget: ModelBudget,
        detail: CodeDetail,
        further_cores: usize,
    ) -> Core {
        let model = topdown_core_model::Model::with_mappings(parameters, capacity, Mapping::at);
        let mut model = match detail {
            CodeDetail::Blocks => model,
            CodeDetail::Paths => model.following_calls(),
            CodeDetail::Instructions => model.by_instruction(),
        };
        if further_cores > 0 {
            model = model.with_further_cores(further_cores);
        }
        if budget.ends_with_fingerprint {
            model.set_effort(Effort::Counting);
        }
        Core {
            parameters,
            code: CodeAccount::new(model.max_rows(), detail == CodeDetail::Instructions),
            model,
            sampled: Sampled::new(budget.instructions),
            warmed: Warmed::new(capacity.blocks),
            budget,
            benchmark: Benchmark::default(),
            looks_at: Part::None,
            window_began: Counts::default(),
            switches: 0,
            room_instructions: 0,
            groups: None,
            estimated: None,
        }
    }

    /// Begins a window. Returns whether the core wants its trace.
    pub(super) fn begin_window(&mut self) -> bool {
        self.switches = 0;
        let room = self.room();
        if room == 0 {
            self.looks_at = Part::None;
            return false;
        }
        self.looks_at = Part::All;
        self.model.begin_window();
        self.window_began = self.model.counts();
        self.room_instructions = room;
        let is_first = matches!(self.benchmark.fate, ModelDecision::Open);
        self.sampled.allow(is_first && self.budget.samples_long);
        if matches!(self.benchmark.fate, ModelDecision::Sampled(_)) {
            let expected = self.benchmark.expected_instructions;
            self.sampled.sample_rest(&mut self.model, expected);
        }
        true
    }

    /// Returns whether it would model the next window.
    pub(super) fn wants_windows(&self) -> bool {
        self.room() > 0
    }

    fn room(&self) -> u64 {
        let spent = self.benchmark.cost_instructions;
        match self.benchmark.fate {
            ModelDecision::Timed(_) => 0,
            _ if self.benchmark.is_complete => 0,
            ModelDecision::Open if self.benchmark.decides_again => self.budget.instructions,
            ModelDecision::Open => self.budget.largest_window(),
            ModelDecision::Modelled if self.benchmark.current != Next::Model => u64::MAX,
            ModelDecision::Modelled => {
                let samples = self.benchmark.modelled.samples();
                self.budget_for(samples + 1).saturating_sub(spent)
            }
            ModelDecision::Sampled(_) => u64::MAX,
        }
    }

    /// Returns the budget for so many samples. Without the first one, the two that a benchmark
    /// needs have twice as many iterations.
    fn budget_for(&self, samples: usize) -> u64 {
        let is_twice = self.benchmark.begins_late && samples <= 1 + MIN_SAMPLES;
        self.budget.instructions * if is_twice { 2 } else { 1 }
    }

    /// The next blocks are executed by this thread.
    pub(super) fn switch_to(&mut self, thread: usize) {
        self.switches += 1;
        self.model.switch_to(thread);
    }

    /// Models a block of the open window. Returns whether as part of the whole, not of a sample.
    #[inline]
    pub(super) fn block(&mut self, block: &Block<'_>, addresses: &[u64]) -> bool {
        if self.looks_at != Part::All {
            return false;
        }
        self.model.block(block, addresses);
        if self.sampled.advance(&mut self.model, block) {
            return false;
        }
        self.warmed.advance(&mut self.model, block);
        if self.sampled.is_due() && self.is_too_costly() {
            self.sampled.begin_after(&mut self.model, self.window_began);
        }
        true
    }

    /// Returns whether the core wants more blocks of the open window.
    pub(super) fn keeps_looking(&mut self) -> bool {
        if self.looks_at == Part::All {
            let has_room = if self.sampled.is_sampling() {
                let before = self.benchmark.switching_instructions;
                self.sampled
                    .has_room(before.saturating_add(switching_instructions(self.switches)))
            } else if self.warmed.is_functional() {
                self.warmed.has_room()
            } else {
                self.sampled.is_allowed() || !self.is_too_costly()
            };
            if !self.model.keep_tracing() || !has_room {
                self.looks_at = Part::Beginning;
            }
        }
        self.looks_at == Part::All
    }

    /// Returns whether the open window costs more than it may.
    fn is_too_costly(&self) -> bool {
        self.cost_instructions() >= self.room_instructions
    }

    /// Returns what the open window has cost.
    fn cost_instructions(&self) -> u64 {
        cost_instructions(&self.counts()).saturating_add(switching_instructions(self.switches))
    }

    /// Returns what the open window has counted.
    fn counts(&self) -> Counts {
        self.model.counts() - self.window_began
    }

    /// Discards the open window and its benchmark.
    pub(super) fn abandon_window(&mut self) {
        self.looks_at = Part::None;
        self.warmed.begin_benchmark(&mut self.model);
        self.benchmark = self.new_benchmark();
    }

    /// Ends a window, whose trace ended in this way, if there was one, with these calls of the
    /// allocator.
    pub(super) fn end_window(
        &mut self,
        end: Option<Result<End, TraceError>>,
        events: Events<u64>,
    ) -> Sample {
        let end = match std::mem::replace(&mut self.looks_at, Part::None) {
            Part::None => None,
            Part::Beginning => Some(Ok(End::Consumer)),
            Part::All => end,
        };
        let is_whole = end == Some(Ok(End::Detach));
        let is_traced = end.is_some();
        self.model.drain();
        let counts = self.counts();
        let why_not = self.why_not(end, &counts);
        let cost_instructions = self.cost_instructions();
        let benchmark = &mut self.benchmark;
        benchmark.switching_instructions += switching_instructions(self.switches);
        match benchmark.fate {
            ModelDecision::Timed(_) => Sample::EMPTY,
            _ if is_whole && self.sampled.is_sampling() => {
                if !matches!(benchmark.fate, ModelDecision::Sampled(_)) {
                    benchmark.fate = ModelDecision::Sampled(None);
                }
                // The rest is known when the sample is complete.
                Sample {
                    events,
                    ..Sample::EMPTY
                }
            }
            ModelDecision::Modelled if is_whole && benchmark.current != Next::Model => {
                // The rest is known when the sample is complete.
                Sample {
                    events,
                    ..Sample::EMPTY
                }
            }
            _ if is_whole => {
                benchmark.cost_instructions += cost_instructions;
                benchmark.fate = ModelDecision::Modelled;
                sample_of(&counts, events)
            }
            ModelDecision::Open => {
                benchmark.has_gap = true;
                benchmark.fate = ModelDecision::Timed(why_not);
                Sample::EMPTY
            }
            ModelDecision::Modelled | ModelDecision::Sampled(_) => {
                benchmark.has_gap = true;
                // If later iterations are shorter, this one initialised something that costs at
                // least as much.
                let counted = match benchmark.fate {
                    ModelDecision::Modelled if is_traced => counts,
                    _ => Counts::default(),
                };
                Sample {
                    flags: Flags::NOT_COUNTING,
                    ..sample_of(&counted, events)
                }
            }
        }
    }

    /// Adds the time that a window spent outside of its code, and returns its `sample`. A benchmark
    /// that exceeds the limit has only time from now on.
    pub(super) fn limit_outside_time(&mut self, sample: Sample, outside_ns: u64) -> Sample {
        self.benchmark.outside_ns = self.benchmark.outside_ns.saturating_add(outside_ns);
        match self.benchmark.outside_ns <= self.budget.max_outside_ns {
            true => sample,
            false => self.leave_time(sample, NotModelled::Waits),
        }
    }

    /// Adds the processor time of other threads in a window in which they could not be traced, for
    /// this reason. If they work, the benchmark has only time from now on.
    pub(super) fn limit_untraced_work(
        &mut self,
        sample: Sample,
        untraced_ns: u64,
        why: ThreadsError,
    ) -> Sample {
        self.benchmark.untraced_ns = self.benchmark.untraced_ns.saturating_add(untraced_ns);
        match self.benchmark.untraced_ns <= MAX_UNTRACED_NS {
            true => sample,
            false => self.leave_time(sample, NotModelled::OthersNotTraced(why)),
        }
    }

    /// Leaves only time to the benchmark, unless it has no more. Returns the last window's sample.
    fn leave_time(&mut self, sample: Sample, why: NotModelled) -> Sample {
        let benchmark = &mut self.benchmark;
        if matches!(benchmark.fate, ModelDecision::Timed(_)) {
            return sample;
        }
        benchmark.has_gap = true;
        benchmark.fate = ModelDecision::Timed(why);
        benchmark.provenance = None;
        Sample::EMPTY
    }

    /// Returns why a benchmark is not modelled whose first window ended in this way and counted
    /// this much.
    fn why_not(&self, end: Option<Result<End, TraceError>>, counts: &Counts) -> NotModelled {
        match end {
            Some(Err(TraceError::Capacity { .. })) => NotModelled::TooMuchCode,
            Some(Ok(_)) if self.model.is_full() => NotModelled::TooMuchCode,
            Some(Err(error)) => NotModelled::Trace(error),
            Some(Ok(_)) if self.budget.ends_with_fingerprint => NotModelled::TooLongForFingerprint,
            Some(Ok(_)) if self.sampled.is_sampling() => NotModelled::TooLongToSample,
            Some(Ok(_)) if counts.events.instructions < self.budget.largest_window() => {
                NotModelled::TooCostly
            }
            Some(Ok(_)) => NotModelled::TooLong,
            None => NotModelled::NotTraced,
        }
    }

    /// Ends the benchmark and returns where in the code its slots went, if that is known.
    pub(super) fn take_code(
        &mut self,
        executed: &mut Executed,
        works_alone: bool,
    ) -> Option<CodeSlots> {
        let mut code = self.code.take(&self.model, executed)?;
        if !works_alone {
            // What other threads executed is unknown.
            code.first_samples.clear();
        }
        Some(code)
    }

    /// Returns whether all of the benchmark so far was modelled, and in no units.
    pub(super) fn is_modelled_as_a_whole(&self) -> bool {
        matches!(self.benchmark.fate, ModelDecision::Modelled) && !self.benchmark.has_gap
    }

    /// Returns whether anything skimmed, which depends on where the system has put data.
    pub(super) fn has_skimmed(&self) -> bool {
        self.warmed.has_skimmed()
    }

    /// Begins a benchmark.
    pub(super) fn begin_benchmark(&mut self) {
        self.warmed.begin_benchmark(&mut self.model);
        self.benchmark = self.new_benchmark();
        self.sampled.limit(u64::MAX);
        self.groups = None;
        self.estimated = None;
    }

    fn new_benchmark(&self) -> Benchmark {
        let filled_lines = self.model.filled_lines();
        Benchmark {
            filled_lines: (filled_lines, filled_lines),
            ..Benchmark::default()
        }
    }
}
