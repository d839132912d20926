//! Where slots would go on a modelled core: for machines without a PMU.
//!
//! The window's instructions are traced while they execute ([`topdown_tracer`]) and run through a
//! model of a core ([`topdown_core_model`]). Tracing is several hundred times slower than the code
//! itself, so a modelled window's time is meaningless: to get both, measure time in separate
//! launches.
//!
//! Which windows are traced does not depend on the clock: all of them, until a sample is long
//! enough or the benchmark has used up its budget of instructions ([`crate::steady`]), which those
//! that are costly to model use up faster. If its first window alone is so long that the budget
//! would not cover [`LEAST_ITERATIONS`], a benchmark is sampled from then on. If it is too long for
//! that, its samples have only time, and its provenance says so.

mod allocations;
mod allocator;
mod before_main;
mod code;
mod content;
mod executed;
mod program_symbols;
mod sampled;
mod trail;

use std::cell::{Cell, RefCell};
use std::time::Instant;

use topdown_core_model::{Capacity, CoreParameters, Counts, GROUPS, Slots, cores};
use topdown_tracer::{Block, Config, Consumer, End, Mapping, TraceError, Tracer};

use self::allocations::Allocations;
use self::code::CodeAccount;
use self::executed::Executed;
use self::sampled::Sampled;
use super::{Provenance, Reading, Source, empty_window_of, modules};
use crate::category::PerCategory;
use crate::code::{CodeCounts, CodeSlots};
use crate::doubling::FINGERPRINT_SAMPLES;
use crate::environment;
use crate::error::OpenError;
use crate::event::{Event, Events};
use crate::machine::Machine;
use crate::provenance::{SourceKind, TOO_LONG};
use crate::sample::{Flags, Level1, Sample};
use crate::setting::{ModelCore, Sampling, Setting};
use crate::steady::Modelled;

/// Roughly how long a benchmark is modelled in each launch.
pub const DEFAULT_BUDGET_SECONDS: f64 = 2.0;

/// Instructions per second of budget: a fixed number, so that the modelled work does not depend on
/// the clock. Most programs are modelled at twice this speed.
const INSTRUCTIONS_PER_SECOND: u64 = 15_000_000;

/// Twice the minimum time for which criterion takes doubling samples.
const CRITERIONS_LEAST_NS: u64 = 200_000_000;

/// A benchmark is modelled if its budget covers this many iterations: one sample of one iteration
/// to warm up, and one of two.
pub const LEAST_ITERATIONS: u64 = 3;

/// Why a benchmark is not modelled that fills the translation space. The next one has the space to
/// itself, unless traced code has started threads.
const TOO_MUCH_CODE: &str = "this benchmark, or those before it, executed more distinct code than \
                             there is room for; move it to its own bench target";

/// The modelled core, for the thread that opened it.
pub struct Model {
    tracer: Tracer<Budgeted>,
    core: &'static CoreParameters,
    benchmark: Cell<Benchmark>,
    code: RefCell<CodeAccount>,
    /// The number of instructions to model per benchmark, if none of them is costly.
    budget_instructions: u64,
    /// What the groups of units say about the last sample that was sampled.
    groups: Cell<Option<[Sample; GROUPS]>>,
    /// What the units say about it, if they are evenly spread.
    estimated: Cell<Option<CodeCounts>>,
    /// Whether to stop once there are enough samples for a fingerprint.
    ends_with_fingerprint: bool,
    /// Whether to sample what is too long. Otherwise criterion's plan could be so many samples of
    /// it that nobody would wait for them.
    samples_long: bool,
    modelled: Provenance,
}

/// What is known about the current benchmark.
#[derive(Clone, Copy, Default)]
struct Benchmark {
    /// What its windows have cost.
    cost_instructions: u64,
    /// What they had cost when the last sample was kept.
    kept_cost_instructions: u64,
    fate: Fate,
    modelled: Modelled,
    /// Whether tracing is complete.
    has_enough: bool,
    /// Whether some window of the current sample was not traced to its end.
    has_gap: bool,
    /// How many instructions the next sample will have, if it is sampled.
    expected_instructions: Option<u64>,
}

/// Whether a benchmark is modelled: its first window decides.
#[derive(Clone, Copy, Default)]
enum Fate {
    #[default]
    Open,
    Modelled,
    /// Its samples are estimated from units. What says in how many, once that is known.
    Sampled(Option<&'static Provenance>),
    /// It has only time, for this reason.
    Timed(&'static Provenance),
}

/// The model, and how much of a window it still accepts.
struct Budgeted {
    model: topdown_core_model::Model,
    executed: Executed,
    allocations: Allocations,
    /// The model's counts when the open window began.
    window_began: Counts,
    /// What the open window may cost.
    room_instructions: u64,
    sampled: Sampled,
}

impl Budgeted {
    fn begin_window(&mut self, room_instructions: u64) {
        self.model.begin_window();
        self.allocations.begin_window();
        self.window_began = self.model.counts();
        self.room_instructions = room_instructions;
    }

    /// Returns whether the open window costs more than it may.
    fn is_too_costly(&self) -> bool {
        cost_instructions(&self.counts()) >= self.room_instructions
    }

    /// Returns what the open window has counted.
    fn counts(&self) -> Counts {
        self.model.counts() - self.window_began
    }
}

/// Returns how many instructions of the budget it takes to model what was counted: as many as were
/// executed, but more where one takes longer than the budget allows for.
fn cost_instructions(counts: &Counts) -> u64 {
    const INSTRUCTIONS_PER_US: u64 = INSTRUCTIONS_PER_SECOND / 1_000_000;
    let cost = counts.modelling_ns().saturating_mul(INSTRUCTIONS_PER_US) / 1000;
    cost.max(counts.events.instructions)
}

impl Consumer for Budgeted {
    fn translated(&mut self, block: &Block<'_>) {
        self.model.translated(block);
        self.executed.translated(block);
    }

    fn wants_arguments_at(&self, ip: u64) -> bool {
        self.allocations.is_entry(ip)
    }

    fn block(&mut self, block: &Block<'_>, addresses: &[u64]) {
        self.model.block(block, addresses);
        self.allocations.block(block, addresses);
        if self.sampled.advance(&mut self.model, block) {
            return;
        }
        self.executed.block(block, addresses);
        if self.sampled.is_due() && self.is_too_costly() {
            self.sampled.begin_after(&mut self.model, self.window_began);
        }
    }

    fn keep_tracing(&self) -> bool {
        let has_room = if self.sampled.is_sampling() {
            self.sampled.has_room()
        } else {
            self.sampled.is_allowed() || !self.is_too_costly()
        };
        self.model.keep_tracing() && has_room
    }
}

impl Model {
    /// Opens a tracer for the calling thread, and the model of the requested core.
    ///
    /// # Errors
    /// Returns [`OpenError::Model`] if code cannot be traced or [`environment::MODEL_BUDGET`] is
    /// not a positive number, or [`OpenError::UnknownChoice`] if the environment names an unknown
    /// core.
    pub fn open() -> Result<Model, OpenError> {
        let core = parameters(ModelCore::from_environment()?);
        Model::of_core(core, budget_seconds()?)
    }

    fn of_core(core: &'static CoreParameters, seconds: f64) -> Result<Model, OpenError> {
        let capacity = Capacity::default();
        let stretches = std::env::var(environment::STRETCHES).unwrap_or_default();
        let model = topdown_core_model::Model::with_mappings(core, capacity, Mapping::at);
        let model = match std::env::var(environment::PATHS) {
            Ok(wanted) if wanted == "1" => model.following_calls(),
            _ => model,
        };
        let rows = model.most_rows();
        let budget_instructions = (seconds * INSTRUCTIONS_PER_SECOND as f64) as u64;
        let wanted = Sampling::from_environment()?;
        let budgeted = Budgeted {
            model,
            executed: Executed::new(capacity.blocks, &stretches),
            allocations: Allocations::as_the_environment_wants(),
            window_began: Counts::default(),
            room_instructions: u64::MAX,
            sampled: Sampled::new(budget_instructions),
        };
        let tracer =
            Tracer::new(Config::default(), budgeted).map_err(|error| OpenError::Model {
                reason: error.to_string(),
            })?;
        let mut model = Model {
            tracer,
            core,
            benchmark: Cell::default(),
            code: RefCell::new(CodeAccount::new(rows)),
            budget_instructions,
            groups: Cell::new(None),
            estimated: Cell::new(None),
            ends_with_fingerprint: wanted == Sampling::FirstTwo,
            samples_long: wanted == Sampling::Doubling,
            modelled: Provenance {
                source: SourceKind::Model,
                formula: format!("model-{}/{}", core.name, core.version),
                core_type: None,
                slots_per_cycle: Some(core.width),
                reason: format!("modelled on {}", title(core.name)),
                empty_window: None,
                threads: Default::default(),
                elsewhere: None,
                sampled_units: None,
            },
        };
        model.modelled.empty_window = Some(empty_window_of(&model));
        model.benchmark_boundary();
        Ok(model)
    }

    /// Returns `None` inside a window, when the tracer owns the model.
    fn with_account<R>(
        &self,
        work: impl FnOnce(&mut CodeAccount, &mut Budgeted) -> R,
    ) -> Option<R> {
        self.tracer
            .with_consumer(|consumer| work(&mut self.code.borrow_mut(), consumer))
    }

    /// Forgets all blocks if they take more than half of the room, so that a benchmark that
    /// executes ever new code does not cost the next one its slots.
    fn make_room(&self) {
        let model_is_half_full = |consumer: &mut Budgeted| consumer.model.is_half_full();
        let is_half_full = self.tracer.is_half_full()
            || self.tracer.with_consumer(model_is_half_full) == Some(true);
        if is_half_full && self.tracer.forget_translations() {
            self.tracer.with_consumer(|consumer| {
                consumer.model.forget_blocks();
                consumer.executed.forget_blocks();
            });
        }
    }

    /// Ends a window that was never closed: its code panicked, or another window lies inside it.
    /// Discards the window and its benchmark.
    #[inline(never)]
    fn abandon_open_window(&self) {
        if self.tracer.is_attached() {
            let _ = self.tracer.detach();
            self.benchmark.take();
        }
    }

    fn largest_window(&self) -> u64 {
        self.budget_instructions / LEAST_ITERATIONS
    }

    /// Returns how many instructions of the budget the new window may cost.
    fn room_for(&self, benchmark: &Benchmark) -> u64 {
        let left = self
            .budget_instructions
            .saturating_sub(benchmark.cost_instructions);
        match benchmark.fate {
            Fate::Timed(_) => 0,
            _ if benchmark.has_enough => 0,
            Fate::Open => self.largest_window(),
            Fate::Modelled => left,
            Fate::Sampled(_) => u64::MAX,
        }
    }

    /// Returns the provenance that says why a benchmark is not modelled, whose first window has
    /// counted this much.
    fn timed(
        &self,
        end: Option<Result<End, TraceError>>,
        counts: Option<&Counts>,
    ) -> &'static Provenance {
        let is_full = self
            .tracer
            .with_consumer(|consumer| consumer.model.is_full());
        let not_modelled = |why: &str| format!("not modelled: {why}");
        let reason = match end {
            Some(Err(TraceError::Capacity { .. })) => not_modelled(TOO_MUCH_CODE),
            Some(Ok(_)) if is_full == Some(true) => not_modelled(TOO_MUCH_CODE),
            Some(Err(error)) => not_modelled(&error.to_string()),
            Some(Ok(_)) if self.ends_with_fingerprint => {
                "no fingerprint: an iteration is too long to be modelled as a whole".to_owned()
            }
            Some(Ok(_)) if self.is_sampling() => format!(
                "{TOO_LONG} more than {} million instructions; raise the limit with \
                 `--model-budget`",
                sampled::most_instructions(self.budget_instructions) as f64 / 1e6
            ),
            Some(Ok(_)) => {
                let largest = self.largest_window();
                let is_costly = counts.is_some_and(|counts| counts.events.instructions < largest);
                let more_than = if is_costly {
                    "as costly to model as"
                } else {
                    "more than"
                };
                format!(
                    "{TOO_LONG} {more_than} {} million instructions; raise the limit with \
                     `--model-budget`",
                    largest as f64 / 1e6
                )
            }
            None => not_modelled(
                "its window was not traced: another lies inside it, or it ran on another thread \
                 or in another process",
            ),
        };
        // Leaked once per benchmark that cannot be modelled, because `provenance` returns a
        // reference.
        Box::leak(Box::new(Provenance::of_clock(reason)))
    }

    fn is_sampling(&self) -> bool {
        let is_sampling = |consumer: &mut Budgeted| consumer.sampled.is_sampling();
        self.tracer.with_consumer(is_sampling) == Some(true)
    }

    /// Returns the provenance of a benchmark that was sampled in so many units. Leaked, as that of
    /// one that cannot be modelled.
    fn sampled_in(&self, units: u64) -> &'static Provenance {
        Box::leak(Box::new(Provenance {
            // Without the number: benchmarks with the same reason share a line above the table.
            reason: format!("{}, iterations sampled", self.modelled.reason),
            sampled_units: Some(units),
            ..self.modelled.clone()
        }))
    }

    /// Returns the sample of a window that was traced to its end.
    fn sample(&self, counts: &Counts, allocations: Events<u64>) -> Sample {
        let slots = &counts.slots;
        Sample {
            slots: Some(slots.total()),
            level1: Some(Level1 {
                slots: level1_slots(slots).map(|slots| slots as f64),
                smt_contention_slots: None,
            }),
            level2: Some(level2_slots(slots).map(|slots| slots as f64)),
            instructions: Some(counts.events.instructions),
            cycles: Some(counts.cycles),
            events: events(&counts.events)
                .into_iter()
                .chain(allocations.iter())
                .collect(),
            ..Sample::EMPTY
        }
    }
}

/// `Golden Cove` for `golden-cove`.
fn title(core: &str) -> String {
    let mut title = String::new();
    for word in core.split('-') {
        if !title.is_empty() {
            title.push(' ');
        }
        let mut letters = word.chars();
        if let Some(first) = letters.next() {
            title.push(first.to_ascii_uppercase());
        }
        title += letters.as_str();
    }
    title
}

fn budget_seconds() -> Result<f64, OpenError> {
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

/// Returns the model's slots by category.
fn level1_slots(slots: &Slots) -> PerCategory<u64> {
    PerCategory {
        retiring: slots.retiring(),
        bad_speculation: slots.bad_speculation(),
        frontend_bound: slots.frontend_bound(),
        backend_bound: slots.backend_bound(),
    }
}

/// Returns the slots of each category's measured part.
fn level2_slots(slots: &Slots) -> PerCategory<u64> {
    PerCategory {
        retiring: slots.heavy_operations,
        bad_speculation: slots.branch_mispredicts,
        frontend_bound: slots.fetch_latency,
        backend_bound: slots.memory_bound,
    }
}

/// Maps the model's events to the names that all sources share.
fn events(counts: &topdown_core_model::Events) -> [(Event, u64); 12] {
    [
        (Event::Branches, counts.branches),
        (Event::BranchMispredicts, counts.mispredicted_branches),
        (Event::MachineClears, counts.machine_clears),
        (Event::L1iMisses, counts.l1i_misses),
        (Event::L1dMisses, counts.l1d_misses),
        (Event::L2Misses, counts.l2_misses),
        (Event::L3Misses, counts.l3_misses),
        (Event::DtlbWalks, counts.dtlb_walks),
        (Event::ItlbWalks, counts.itlb_walks),
        (Event::MemoryReadBytes, counts.memory_read_bytes),
        (Event::MemoryWriteBytes, counts.memory_write_bytes),
        (Event::UnknownInstructions, counts.unknown_instructions),
    ]
}

fn parameters(core: ModelCore) -> &'static CoreParameters {
    match core {
        ModelCore::Nearest => nearest_core(&Machine::cpuid_vendor()),
        ModelCore::GoldenCove => &cores::GOLDEN_COVE,
        ModelCore::Zen5 => &cores::ZEN_5,
    }
}

/// Returns the core of a CPU of `vendor`, or else the best described one.
fn nearest_core(vendor: &str) -> &'static CoreParameters {
    if vendor == "AuthenticAMD" {
        &cores::ZEN_5
    } else {
        &cores::GOLDEN_COVE
    }
}

impl Source for Model {
    fn provenance(&self) -> &Provenance {
        match self.benchmark.get().fate {
            Fate::Timed(provenance) | Fate::Sampled(Some(provenance)) => provenance,
            Fate::Open | Fate::Modelled | Fate::Sampled(None) => &self.modelled,
        }
    }

    fn sample_boundary(&self) {
        self.abandon_open_window();
        self.benchmark.set(Benchmark {
            has_gap: false,
            ..self.benchmark.get()
        });
        self.with_account(|code, consumer| {
            consumer.sampled.end(&mut consumer.model);
            code.begin_sample(&consumer.model);
            if code.kept_samples() == 0 {
                consumer.executed.begin_data();
            }
        });
    }

    fn completed(&self, sample: &Sample) -> Sample {
        let mut benchmark = self.benchmark.get();
        if !matches!(benchmark.fate, Fate::Sampled(_)) {
            return *sample;
        }
        let estimate = self.tracer.with_consumer(|consumer| {
            let Budgeted { sampled, model, .. } = consumer;
            sampled.end(model)
        });
        let Some(estimate) = estimate.flatten() else {
            return *sample;
        };
        let of = |counts: &Counts| {
            let estimated = self.sample(counts, sample.events);
            Sample {
                windows: sample.windows,
                wall_ns: sample.wall_ns,
                flags: sample.flags,
                ..estimated
            }
        };
        if benchmark.has_gap {
            return of(&Counts::default());
        }
        self.groups
            .set(Some(estimate.groups.map(|group| of(&group))));
        benchmark.expected_instructions = Some(2 * estimate.mean.events.instructions);
        benchmark.fate = Fate::Sampled(Some(self.sampled_in(estimate.units)));
        self.benchmark.set(benchmark);
        let code = estimate.is_even.then(|| CodeCounts {
            instructions: estimate.mean.events.instructions,
            level1_slots: level1_slots(&estimate.mean.slots),
            level2_slots: level2_slots(&estimate.mean.slots),
        });
        self.estimated.set(code);
        of(&estimate.mean)
    }

    fn take_groups(&self) -> Vec<Sample> {
        self.groups.take().map_or_else(Vec::new, Vec::from)
    }

    fn sample_kept(&self) {
        let benchmark = self.benchmark.get();
        let is_usable = !benchmark.has_gap;
        self.with_account(|code, consumer| {
            code.keep_sample(&consumer.model, is_usable);
            if matches!(benchmark.fate, Fate::Sampled(_)) && is_usable {
                code.scale_last(self.estimated.take());
            }
            if code.kept_samples() >= FINGERPRINT_SAMPLES {
                consumer.executed.end_data();
            }
        });
    }

    fn wants_more_after(&self, sample: &Sample) -> bool {
        let mut benchmark = self.benchmark.get();
        let cost = benchmark.cost_instructions - benchmark.kept_cost_instructions;
        benchmark.kept_cost_instructions = benchmark.cost_instructions;
        let wants_more = match benchmark.fate {
            Fate::Sampled(_) => benchmark.modelled.wants_more_when_sampled(
                sample,
                sampled::most_instructions(self.budget_instructions),
            ),
            _ => benchmark
                .modelled
                .wants_more_after(sample, cost, self.budget_instructions),
        } && !(self.ends_with_fingerprint
            && benchmark.modelled.samples() >= FINGERPRINT_SAMPLES);
        if !wants_more && !benchmark.has_enough {
            // criterion would go on for 100 ms. The clock would decide how many samples that takes,
            // and their allocations where the next benchmark's data lies.
            topdown_tracer::pass_time(CRITERIONS_LEAST_NS);
        }
        benchmark.has_enough = !wants_more;
        self.benchmark.set(benchmark);
        wants_more
    }

    fn take_code(&self) -> Option<CodeSlots> {
        let works_alone = !self.tracer.has_started_threads() && modules::threads() == Some(1);
        let mut code = self
            .with_account(|code, consumer| code.take(&consumer.model, &mut consumer.executed))
            .flatten()?;
        if !works_alone {
            // What other threads executed is unknown.
            code.first_samples.clear();
        }
        Some(code)
    }

    fn benchmark_boundary(&self) {
        self.benchmark.take();
        self.groups.take();
        self.estimated.take();
        self.make_room();
        self.tracer
            .with_consumer(|consumer| consumer.executed.begin_benchmark());
    }

    #[inline(never)]
    fn start(&self) -> Reading {
        self.abandon_open_window();
        let benchmark = self.benchmark.get();
        let room = self.room_for(&benchmark);
        let wanted = room > 0;
        if wanted {
            self.tracer.with_consumer(|consumer| {
                consumer.begin_window(room);
                let is_first = matches!(benchmark.fate, Fate::Open);
                consumer.sampled.allow(is_first && self.samples_long);
                if matches!(benchmark.fate, Fate::Sampled(_)) {
                    let expected = benchmark.expected_instructions;
                    consumer.sampled.go_on(&mut consumer.model, expected);
                }
            });
        }
        let reading = Reading::of_clock();
        if wanted {
            // If that fails, `end` notices the missing trace.
            let _ = self.tracer.attach();
        }
        reading
    }

    #[inline(never)]
    fn end(&self, start: &Reading) -> Sample {
        let end = self.tracer.is_attached().then(|| self.tracer.detach());
        let was_traced = end.is_some();
        let wall_ns = Instant::now().duration_since(start.at).as_nanos() as u64;
        let mut benchmark = self.benchmark.get();
        let counts = self.tracer.with_consumer(|consumer| {
            consumer.model.drain();
            (consumer.counts(), consumer.allocations.events())
        });
        // criterion plans by its clock, and a group can set a time limit; hide the model's time
        // from both.
        if was_traced {
            topdown_tracer::hide_time(wall_ns);
        }
        let sample = match (benchmark.fate, counts) {
            (Fate::Timed(_), _) => Sample::EMPTY,
            (_, Some((_, allocations)))
                if matches!(end, Some(Ok(End::Detach))) && self.is_sampling() =>
            {
                if !matches!(benchmark.fate, Fate::Sampled(_)) {
                    benchmark.fate = Fate::Sampled(None);
                }
                // The rest is known when the sample is complete.
                Sample {
                    events: allocations,
                    ..Sample::EMPTY
                }
            }
            (_, Some((counts, allocations))) if matches!(end, Some(Ok(End::Detach))) => {
                benchmark.cost_instructions += cost_instructions(&counts);
                benchmark.fate = Fate::Modelled;
                self.sample(&counts, allocations)
            }
            (Fate::Open, counts) => {
                let counts = counts.as_ref().map(|(counts, _)| counts);
                // Its first instructions alone do not identify it.
                benchmark.has_gap = true;
                benchmark.fate = Fate::Timed(self.timed(end, counts));
                Sample::EMPTY
            }
            (Fate::Modelled | Fate::Sampled(_), _) => {
                benchmark.has_gap = true;
                let allocations = counts.map_or(Events::NONE, |(_, allocations)| allocations);
                Sample {
                    flags: Flags::NOT_COUNTING,
                    ..self.sample(&Counts::default(), allocations)
                }
            }
        };
        self.benchmark.set(benchmark);
        Sample {
            windows: 1,
            wall_ns,
            ..sample
        }
    }
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Model")
            .field("core", &self.core.name)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
