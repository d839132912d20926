//! The source `model`: slots on a modelled core.
//!
//! The window's instructions are traced while they execute ([`topdown_tracer`]) and run through a
//! model of a core ([`topdown_core_model`]). That is several hundred times slower than the code
//! itself, so time is measured in separate launches.
//!
//! The choice of traced windows does not depend on the clock (`budget.rs`). A benchmark whose first
//! window is so long that the budget would not cover [`MIN_ITERATIONS`] is sampled from then on. If
//! it is too long for that, its samples have only time, and its provenance says so.

mod allocations;
mod allocator;
mod before_main;
mod between;
mod budget;
mod chosen;
mod code;
mod content;
mod core;
mod counted;
mod digest;
mod executed;
pub mod forks;
mod meetings;
mod not_modelled;
mod observer;
mod outside_time;
mod program_symbols;
mod sampled;
mod traced_threads;
mod trail;
mod warmed;

use std::cell::{Cell, OnceCell};
use std::rc::Rc;

use topdown_core_model::CoreParameters;
use topdown_tracer::{AttachError, Config, Tracer};

use self::before_main::place_on_one_cpu;
pub use self::budget::{DEFAULT_BUDGET_SECONDS, MIN_ITERATIONS};
use self::budget::{ModelBudget, budget_seconds};
use self::chosen::chosen_core;
use self::code::CodeDetail;
use self::observer::Observer;
use self::outside_time::OutsideTime;
use topdown_counters::error::OpenError;
use topdown_counters::{
    ClockWatcher, Reading, Source, clock, empty_modelled_windows_by, empty_window, median_window,
    modules,
};
use topdown_run::code::CodeSlots;
use topdown_run::doubling::FINGERPRINT_SAMPLES;
use topdown_run::environment;
use topdown_run::provenance::{Provenance, SourceKind};
use topdown_run::sample::{Flags, Sample};
use topdown_run::setting::{ModelCore, Setting, Threads};

/// Twice the minimum time for which criterion takes doubling samples.
const MIN_DOUBLING_NS: u64 = 200_000_000;

/// A modelled core, for the thread that opened it.
pub struct Model {
    tracer: Rc<Tracer<Observer>>,
    /// The provenance of benchmarks that are modelled as a whole.
    modelled: Provenance,
    outside_time: OutsideTime,
    /// Whether windows are empty ones, of which no fingerprint is taken.
    calibrating: Cell<bool>,
    /// Whether all threads are traced, as far as they let themselves be stopped.
    traces_all: Cell<bool>,
    /// Whether the order of threads is kept between windows, too.
    orders_between: bool,
    /// Whether windows begin and end where the benchmark looks at the clock, in the middle of what
    /// it lets threads do.
    times_itself: Cell<bool>,
    /// What the clock hid when the open window began.
    hidden_ns: Cell<u64>,
    /// The provenance of benchmarks since only the measured one could be traced.
    modelled_alone: OnceCell<Provenance>,
}

impl Model {
    /// Opens a tracer for the calling thread, and the model of the requested core.
    ///
    /// # Errors
    /// Returns [`OpenError::Model`] if code cannot be traced or [`environment::MODEL_BUDGET`] is
    /// not a positive number or [`environment::SCHEDULE`] no number, or
    /// [`OpenError::UnknownChoice`] if the environment names an unknown core.
    pub fn open() -> Result<Model, OpenError> {
        traced_threads::hold_at_runner();
        let core = chosen_core(ModelCore::from_environment()?);
        let budget = ModelBudget::from_seconds(budget_seconds()?)?;
        let all_threads = Threads::from_environment()? != Threads::Own;
        let config = Config {
            all_threads,
            schedule: traced_threads::schedule()?,
            ..Config::default()
        };
        let model = Model::with_config(core, budget, CodeDetail::from_environment(), config)?;
        if std::env::var_os(environment::SHARED_LINES).is_some_and(|value| value == "1") {
            model.share_lines();
        }
        Ok(model)
    }

    /// From now on, lines that another thread wrote last come from its core.
    fn share_lines(&self) {
        self.tracer
            .with_consumer(|observer| observer.core.model.share_lines());
    }

    fn with_config(
        core: &'static CoreParameters,
        budget: ModelBudget,
        detail: CodeDetail,
        config: Config,
    ) -> Result<Model, OpenError> {
        between::end();
        let all_threads = config.all_threads;
        let stretches = std::env::var(environment::STRETCHES).unwrap_or_default();
        let observer = Observer::new(core, budget, detail, &stretches, all_threads);
        let tracer = Tracer::new(config, observer).map_err(|error| OpenError::Model {
            reason: error.to_string(),
        })?;
        let mut model = Model {
            tracer: Rc::new(tracer),
            modelled: provenance_of(core),
            outside_time: OutsideTime::default(),
            calibrating: Cell::new(true),
            traces_all: Cell::new(all_threads),
            orders_between: all_threads && place_on_one_cpu().is_some(),
            times_itself: Cell::new(false),
            hidden_ns: Cell::new(0),
            modelled_alone: OnceCell::new(),
        };
        let empty = empty_modelled_windows_by(&|| empty_window(&model));
        model.modelled.empty_window = Some(median_window(&empty));
        model.calibrating.set(false);
        model.benchmark_boundary();
        Ok(model)
    }

    /// Ends a trace between windows, and calls `work` with the observer unless a window is open.
    fn with_observer<R>(&self, work: impl FnOnce(&mut Observer) -> R) -> Option<R> {
        between::end();
        self.tracer.with_consumer(work)
    }

    /// Forgets all blocks if they take more than half of the room, so that a benchmark that
    /// executes ever new code does not cost the next one its slots.
    fn make_room(&self) {
        let is_full_for_core = |observer: &mut Observer| observer.core.model.is_half_full();
        let is_half_full =
            self.with_observer(is_full_for_core) == Some(true) || self.tracer.is_half_full();
        if is_half_full && self.tracer.forget_translations() {
            self.with_observer(Observer::forget_blocks);
        }
    }

    /// Begins the trace of a window. From the first time that a thread cannot be stopped, only this
    /// one is traced: the processor time of the others says whether that is enough.
    #[inline(always)]
    fn attach(&self) {
        // If it fails otherwise, `end` notices the missing trace.
        if self.traces_all.get() {
            let Err(AttachError::Threads(error)) = self.tracer.attach() else {
                return;
            };
            self.traces_all.set(false);
            traced_threads::give_up(error);
        }
        let _ = self.tracer.attach_own();
    }

    /// Returns whether other threads stay where they are when a window begins or ends. Elsewhere
    /// they go on until they wait, so that windows begin alike.
    fn halts_threads(&self) -> bool {
        self.times_itself.get() && self.orders_between
    }

    /// Ends a window that was never closed: its code panicked, or another window lies inside it.
    /// Discards the window and its benchmark.
    #[inline(never)]
    fn abandon_open_window(&self) {
        between::end();
        if self.tracer.is_attached() {
            let _ = self.tracer.detach();
            self.tracer.with_consumer(Observer::abandon_window);
        }
    }
}

fn provenance_of(core: &CoreParameters) -> Provenance {
    Provenance {
        slots_per_cycle: Some(core.width),
        ..Provenance::new(
            SourceKind::Model,
            format!("model-{}/{}", core.name, core.version),
            format!("modelled on {}", title(core.name)),
        )
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

impl Source for Model {
    fn provenance(&self) -> &Provenance {
        let modelled = traced_threads::why_not_all().map_or(&self.modelled, |error| {
            let alone = || self.modelled.without_others(&error.to_string());
            self.modelled_alone.get_or_init(alone)
        });
        let other = |observer: &mut Observer| observer.other_provenance(modelled);
        let other = self.with_observer(other).flatten();
        other.unwrap_or(modelled)
    }

    fn sample_boundary(&self) {
        self.abandon_open_window();
        self.with_observer(|observer| {
            if let Some(samples) = forks::take_repeats() {
                observer.repeat(Some(samples));
            }
            observer.core.begin_sample();
            if observer.core.code.kept_samples() == 0 && !self.calibrating.get() {
                observer.executed.begin_data();
            }
        });
    }

    fn between_windows(&self) {
        let is_wanted = self.orders_between && !self.calibrating.get();
        let is_open = is_wanted && between::begin(&self.tracer);
        if self.halts_threads() && !is_open {
            topdown_tracer::release_threads();
        }
    }

    fn set_calibrating(&self, calibrating: bool) {
        self.calibrating.set(calibrating);
    }

    fn completed(&self, sample: &Sample) -> Sample {
        let completed = |observer: &mut Observer| match observer.repeats() {
            true => *sample,
            false => observer.core.completed(sample),
        };
        let completed = self.with_observer(completed);
        completed.unwrap_or(*sample)
    }

    fn take_groups(&self) -> Vec<Sample> {
        let take = |observer: &mut Observer| observer.core.groups.take();
        let groups = self.with_observer(take).flatten();
        groups.map_or_else(Vec::new, Vec::from)
    }

    fn sample_kept(&self) {
        self.with_observer(|observer| {
            observer.keep_sample();
            if observer.core.code.kept_samples() >= FINGERPRINT_SAMPLES {
                observer.executed.end_data();
            }
        });
    }

    fn wants_more(&self, sample: &Sample) -> bool {
        let (wants_more, had_enough) = self
            .with_observer(|observer| {
                let had_enough = observer.core.is_complete();
                (observer.wants_more(sample), had_enough)
            })
            .unwrap_or((false, true));
        if !wants_more && !had_enough {
            // criterion would continue for 100 ms: the clock would decide the number of samples,
            // and their allocations the place of the next benchmark's data.
            topdown_tracer::pass_time(MIN_DOUBLING_NS);
        }
        wants_more
    }

    fn skip_sample(&self) {
        self.with_observer(Observer::skip_sample);
    }

    fn watch_clock(&self, watcher: Option<ClockWatcher>) {
        self.times_itself.set(watcher.is_some());
        topdown_tracer::watch_clock(watcher);
    }

    fn take_code(&self) -> Option<CodeSlots> {
        let works_alone = !self.tracer.has_started_threads() && modules::threads() == Some(1);
        let works_alone = works_alone || self.traces_all.get();
        let take = |observer: &mut Observer| observer.take_code(works_alone);
        self.with_observer(take).flatten()
    }

    fn benchmark_boundary(&self) {
        self.make_room();
        self.with_observer(Observer::begin_benchmark);
    }

    #[inline(never)]
    fn start(&self) -> Reading {
        if self.halts_threads() {
            between::halt();
        }
        self.abandon_open_window();
        let wanted = self.with_observer(Observer::begin_window) == Some(true);
        self.outside_time.before_window();
        self.hidden_ns.set(topdown_tracer::hidden_ns());
        let reading = Reading::from_clock();
        if wanted {
            self.attach();
        } else {
            topdown_tracer::release_threads();
        }
        reading
    }

    #[inline(never)]
    fn end(&self, start: &Reading) -> Sample {
        let end = self
            .tracer
            .is_attached()
            .then(|| match self.halts_threads() {
                true => self.tracer.halt(),
                false => self.tracer.detach(),
            });
        let shown_ns = clock::elapsed_ns(start.at_ns);
        let hidden_ns = topdown_tracer::hidden_ns().wrapping_sub(self.hidden_ns.get());
        let wall_ns = shown_ns.saturating_add_signed(hidden_ns as i64);
        let works_alone = self.tracer.with_consumer(|observer| observer.works_alone());
        let works_alone = works_alone != Some(false);
        let outside_ns = self.outside_time.after_window(wall_ns, works_alone);
        // criterion plans by its clock, and a group can set a time limit; hide the model's time
        // from both. What ran natively took its time: criterion would double the iterations for
        // ever.
        let traced_ns = |observer: &mut Observer| observer.traced_ns(end, start.at_ns, shown_ns);
        topdown_tracer::hide_time(self.tracer.with_consumer(traced_ns).unwrap_or(0));
        let counted = self.tracer.with_consumer(|observer| {
            let sample = observer.end_window(end);
            if observer.repeats() {
                return sample;
            }
            let sample = observer.core.limit_outside_time(sample, outside_ns);
            let Some(why) = traced_threads::why_not_all() else {
                return sample;
            };
            let untraced_ns = self.outside_time.others_ns();
            observer.core.limit_untraced_work(sample, untraced_ns, why)
        });
        let nothing = Sample {
            flags: Flags::NOT_COUNTING,
            ..Sample::EMPTY
        };
        Sample {
            windows: 1,
            wall_ns,
            ..counted.unwrap_or(nothing)
        }
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        between::end();
    }
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Model")
            .field("formula", &self.modelled.formula)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
