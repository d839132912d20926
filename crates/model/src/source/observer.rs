//! Receiver of the traced instructions: a modelled core, and core-independent counts.

use topdown_core_model::{Capacity, CoreParameters};
use topdown_tracer::{Block, Consumer, End, Meeting, TraceError};

use super::allocations::Allocations;
use super::between::Between;
use super::budget::ModelBudget;
use super::code::CodeDetail;
use super::core::Core;
use super::digest::Digest;
use super::executed::Executed;
use super::meetings::Meetings;
use super::traced_threads;
use topdown_counters::clock;
use topdown_run::code::CodeSlots;
use topdown_run::environment;
use topdown_run::provenance::Provenance;
use topdown_run::sample::Sample;

/// The receiver of a trace.
pub(super) struct Observer {
    /// The modelled core, which decides how much of the trace it models.
    pub core: Core,
    pub executed: Executed,
    pub allocations: Allocations,
    meetings: Meetings,
    digest: Digest,
    pub between: Between,
    /// If set, nothing is modelled: the launch repeats this many samples of an earlier one.
    repeated_samples: Option<u32>,
    /// Whether the open window belongs to the digest.
    is_digested: bool,
    /// The thread that executes the blocks: 0 is the measured one.
    thread: usize,
    /// Instructions of all threads in the open window, and of the others.
    window_instructions: [u64; 2],
    /// When the open window's trace was no longer wanted, if it was not wanted to the end.
    unwanted_since_ns: Option<u64>,
}

/// Number of modelled cores besides that of the measured thread. Judgement: as many as pools of
/// threads often have; with more threads, some share a core.
const FURTHER_CORES: usize = 15;

/// Returns how many samples to repeat, if the environment says so.
fn repeated_samples() -> Option<u32> {
    let samples = std::env::var(environment::REPEATS).ok()?;
    samples.parse().ok().filter(|samples| *samples > 0)
}

impl Observer {
    /// Reserves all memory. A launch that repeats another one reserves as much as one that models,
    /// so that the data of both lies at the same addresses.
    pub(super) fn new(
        core: &'static CoreParameters,
        budget: ModelBudget,
        detail: CodeDetail,
        stretches: &str,
        all_threads: bool,
    ) -> Observer {
        let capacity = Capacity::default();
        Observer {
            core: Core::new(
                core,
                capacity,
                budget,
                detail,
                if all_threads { FURTHER_CORES } else { 0 },
            ),
            executed: Executed::new(capacity.blocks, stretches),
            allocations: Allocations::from_environment(),
            meetings: Meetings::new(),
            digest: Digest::new(capacity.blocks),
            between: Between::new(),
            repeated_samples: repeated_samples(),
            is_digested: false,
            thread: 0,
            window_instructions: [0; 2],
            unwanted_since_ns: None,
        }
    }

    /// Returns for how long the last window, of `shown_ns` from `began_ns` on, was traced, if its
    /// trace ended in this way.
    pub(super) fn traced_ns(
        &self,
        end: Option<Result<End, TraceError>>,
        began_ns: u64,
        shown_ns: u64,
    ) -> u64 {
        match (end, self.unwanted_since_ns) {
            (Some(Ok(End::Detach)), _) => shown_ns,
            (Some(Ok(End::Consumer)), Some(since_ns)) => {
                since_ns.saturating_sub(began_ns).min(shown_ns)
            }
            _ => 0,
        }
    }

    /// Returns whether no other thread executed anything in the last window.
    pub(super) fn works_alone(&self) -> bool {
        self.window_instructions[1] == 0
    }

    /// Returns the provenance of the benchmark, or `None` if it is `modelled` as a whole, with only
    /// the measured thread.
    pub(super) fn other_provenance(
        &mut self,
        modelled: &Provenance,
    ) -> Option<&'static Provenance> {
        self.core
            .other_provenance(modelled, traced_threads::counted())
    }

    /// Repeats this many samples from now on, or models.
    pub(super) fn repeat(&mut self, samples: Option<u32>) {
        self.repeated_samples = samples;
    }

    /// Returns whether it models nothing.
    pub(super) fn repeats(&self) -> bool {
        self.repeated_samples.is_some()
    }

    /// Begins a trace between windows. Returns whether it is wanted.
    pub(super) fn begin_between(&mut self) -> bool {
        let is_wanted = match self.repeats() {
            true => !self.is_complete(),
            false => self.core.wants_windows(),
        };
        is_wanted && self.between.begin()
    }

    /// Begins a window. Returns whether its trace is wanted.
    pub(super) fn begin_window(&mut self) -> bool {
        self.between.begin_window();
        self.allocations.begin_window();
        self.meetings.begin_window();
        self.window_instructions = [0; 2];
        self.unwanted_since_ns = None;
        self.is_digested = !self.is_complete();
        let is_wanted = if self.repeats() {
            self.is_digested
        } else {
            self.core.begin_window()
        };
        if self.is_digested {
            self.digest.begin_window();
        }
        is_wanted
    }

    /// Ends a window, whose trace ended in this way, if there was one.
    pub(super) fn end_window(&mut self, end: Option<Result<End, TraceError>>) -> Sample {
        let meetings = self.meetings.end_window(!self.works_alone());
        let allocations = self.allocations.events();
        let events = allocations.iter().chain(meetings.iter()).collect();
        traced_threads::add(self.window_instructions);
        let is_traced = end == Some(Ok(End::Detach));
        let (sample, is_whole) = if self.repeats() {
            let nothing = Sample {
                instructions: Some(0),
                events,
                ..Sample::EMPTY
            };
            (nothing, is_traced)
        } else {
            let sample = self.core.end_window(end, events);
            (sample, is_traced && self.core.is_modelled_as_a_whole())
        };
        if std::mem::take(&mut self.is_digested) {
            self.digest.end_window(is_whole, events);
        }
        sample
    }

    /// Discards the open window and its benchmark.
    pub(super) fn abandon_window(&mut self) {
        self.core.abandon_window();
        self.digest.lose();
    }

    /// Keeps the sample.
    pub(super) fn keep_sample(&mut self) {
        if !self.is_complete() {
            self.digest.end_sample();
        }
        self.core.keep_sample();
    }

    /// Returns whether no further sample is wanted.
    pub(super) fn is_complete(&self) -> bool {
        match self.repeated_samples {
            Some(samples) => self.digest.samples() >= samples,
            None => self.core.is_complete(),
        }
    }

    /// Returns whether a sample of twice as many iterations is wanted after this one, which was
    /// kept.
    pub(super) fn wants_more(&mut self, sample: &Sample) -> bool {
        if self.repeats() {
            !self.is_complete()
        } else {
            self.core.wants_more(sample)
        }
    }

    /// The sample that was kept shows nothing.
    pub(super) fn skip_sample(&mut self) {
        if !self.repeats() {
            self.core.skip_sample();
        }
    }

    /// Ends the benchmark and returns what is known of its code.
    pub(super) fn take_code(&mut self, works_alone: bool) -> Option<CodeSlots> {
        self.executed.note_lock(self.meetings.lock_blocks());
        let mut code = self.core.take_code(&mut self.executed, works_alone)?;
        let is_known = self.repeats() || self.core.is_modelled_as_a_whole();
        let depends_on_moves = self.repeats() || self.core.has_skimmed();
        code.trail.digest = self.digest.get(depends_on_moves).filter(|_| is_known);
        Some(code)
    }

    /// Begins a benchmark.
    pub(super) fn begin_benchmark(&mut self) {
        self.core.begin_benchmark();
        self.executed.begin_benchmark();
        self.meetings.begin_benchmark();
        self.digest.begin_benchmark();
        self.between.begin_benchmark(&self.core.budget);
        traced_threads::begin_benchmark();
    }

    /// Forgets all translated blocks, whose numbers are assigned from 0 again.
    pub(super) fn forget_blocks(&mut self) {
        self.core.model.forget_blocks();
        self.executed.forget_blocks();
        self.digest.forget_blocks();
    }
}

impl Consumer for Observer {
    fn translated(&mut self, block: &Block<'_>) {
        self.digest.translated(block);
        self.executed.translated(block);
        if !self.repeats() {
            self.core.model.translated(block);
        }
    }

    fn wants_arguments_at(&self, ip: u64) -> bool {
        self.allocations.is_entry(ip)
    }

    fn switch_to(&mut self, thread: usize) {
        self.thread = thread;
        self.between.switch_to(thread);
        self.allocations.switch_to(thread);
        self.meetings.switch_to(thread);
        self.digest.switch_to(thread);
        if !self.repeats() {
            self.core.switch_to(thread);
        }
    }

    fn block(&mut self, block: &Block<'_>, addresses: &[u64]) {
        let count = block.instructions.len() as u64;
        if self.between.is_open() {
            self.between.advance(count);
            return;
        }
        self.window_instructions[0] += count;
        self.window_instructions[1] += if self.thread == 0 { 0 } else { count };
        self.allocations.block(block, addresses);
        self.meetings.block(block, addresses);
        if self.repeats() || self.core.block(block, addresses) {
            self.executed.block(block, addresses);
            self.digest.block(block, addresses);
        }
    }

    fn met(&mut self, thread: usize, meeting: Meeting) {
        if !self.between.is_open() {
            self.meetings.met(thread, meeting);
        }
    }

    fn keep_tracing(&mut self) -> bool {
        if self.between.is_open() {
            return self.between.keep_tracing();
        }
        let is_wanted = self.repeats() || self.core.keeps_looking();
        if !is_wanted {
            self.unwanted_since_ns = Some(clock::now_ns());
        }
        is_wanted
    }
}
