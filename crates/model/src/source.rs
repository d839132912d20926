//! The source `model`: slots on one or two modelled cores.
//!
//! The window's instructions are traced while they execute ([`topdown_tracer`]) and run through a
//! model of each core ([`topdown_core_model`]). Tracing is several hundred times slower than the
//! code itself, so a modelled window's time is meaningless: to get both, measure time in separate
//! launches.
//!
//! Which windows are traced does not depend on the clock (`budget.rs`). If its first window alone
//! is so long that the budget would not cover [`MIN_ITERATIONS`], a benchmark is sampled from
//! then on. If it is too long for that, its samples have only time, and its provenance says so.
//!
//! Two cores receive the same trace. Each decides by itself when it has enough of a window or of
//! the benchmark, and tracing goes on until both have. So a core counts what it would count alone.

mod allocations;
mod allocator;
mod before_main;
mod budget;
mod chosen;
mod code;
mod content;
mod core;
mod counted;
mod executed;
mod not_modelled;
mod observer;
mod outside_time;
mod program_symbols;
mod sampled;
mod trail;
mod warmed;

use topdown_core_model::{CoreParameters, cores};
use topdown_tracer::{Config, Tracer};

use self::budget::{Budget, budget_seconds};
pub use self::budget::{DEFAULT_BUDGET_SECONDS, MIN_ITERATIONS};
use self::chosen::{number_of, second_core};
use self::core::Core;
use self::observer::Observer;
use self::outside_time::OutsideTime;
use topdown_counters::error::OpenError;
use topdown_counters::{
    OnSecondCore, Reading, Source, clock, empty_windows_of, median_window, modules,
};
use topdown_run::code::CodeSlots;
use topdown_run::doubling::FINGERPRINT_SAMPLES;
use topdown_run::environment;
use topdown_run::event::Events;
use topdown_run::provenance::Provenance;
use topdown_run::provenance::SourceKind;
use topdown_run::sample::{Flags, Sample};
use topdown_run::setting::{ModelCore, Setting};

/// Twice the minimum time for which criterion takes doubling samples.
const CRITERIONS_LEAST_NS: u64 = 200_000_000;

/// The modelled cores, for the thread that opened them.
pub struct Model {
    tracer: Tracer<Observer>,
    /// What the numbers of benchmarks are that are modelled as a whole, by the number of the core.
    modelled: Vec<Provenance>,
    /// The number of the first core.
    first: usize,
    outside_time: OutsideTime,
}

impl Model {
    /// Opens a tracer for the calling thread, and the model of the requested core, or of two.
    ///
    /// # Errors
    /// Returns [`OpenError::Model`] if code cannot be traced or [`environment::MODEL_BUDGET`] is
    /// not a positive number, or [`OpenError::UnknownChoice`] if the environment names an unknown
    /// core.
    pub fn open() -> Result<Model, OpenError> {
        let first = number_of(ModelCore::from_environment()?);
        let second = second_core()?.map(number_of);
        Model::of_cores(first, second, Budget::of_seconds(budget_seconds()?)?)
    }

    fn of_cores(first: usize, second: Option<usize>, budget: Budget) -> Result<Model, OpenError> {
        let stretches = std::env::var(environment::STRETCHES).unwrap_or_default();
        let follows_calls = std::env::var(environment::PATHS).is_ok_and(|wanted| wanted == "1");
        // Of all cores, for the reason that `Observer` gives.
        let mut modelled = Vec::with_capacity(cores::ALL.len());
        for core in cores::ALL {
            modelled.push(provenance_of(core));
        }
        let wanted = [Some(first), second];
        let observer = Observer::new(wanted, budget, follows_calls, &stretches);
        let tracer =
            Tracer::new(Config::default(), observer).map_err(|error| OpenError::Model {
                reason: error.to_string(),
            })?;
        let mut model = Model {
            tracer,
            modelled,
            first,
            outside_time: OutsideTime::default(),
        };
        let mut windows = empty_windows_of(&model);
        for number in wanted.into_iter().flatten() {
            model.modelled[number].empty_window = Some(median_window(&windows));
            for window in &mut windows {
                *window = window.of_second_core();
            }
        }
        model.benchmark_boundary();
        Ok(model)
    }

    /// Calls `work` for each core with its part of a sample, and returns the sample of what it
    /// returns.
    fn of_each_core(
        &self,
        sample: &Sample,
        mut work: impl FnMut(&mut Core, &Sample) -> Sample,
    ) -> Option<Sample> {
        self.tracer.with_consumer(|observer| {
            let mut cores = observer.cores.iter_mut();
            let first = cores.next().map_or(*sample, |core| work(core, sample));
            match cores.next() {
                None => first,
                Some(core) => first.with_second_core(&work(core, &sample.of_second_core())),
            }
        })
    }

    /// Forgets all blocks if they take more than half of the room, so that a benchmark that
    /// executes ever new code does not cost the next one its slots.
    fn make_room(&self) {
        let is_full_for_one = |observer: &mut Observer| {
            let mut cores = observer.cores.iter();
            cores.any(|core| core.model.is_half_full())
        };
        let is_half_full =
            self.tracer.is_half_full() || self.tracer.with_consumer(is_full_for_one) == Some(true);
        if is_half_full && self.tracer.forget_translations() {
            self.tracer.with_consumer(Observer::forget_blocks);
        }
    }

    /// Ends a window that was never closed: its code panicked, or another window lies inside it.
    /// Discards the window and its benchmark.
    #[inline(never)]
    fn abandon_open_window(&self) {
        if self.tracer.is_attached() {
            let _ = self.tracer.detach();
            self.tracer.with_consumer(|observer| {
                let cores = observer.cores.iter_mut();
                cores.for_each(Core::abandon_window);
            });
        }
    }

    /// Returns what is known of the code of core `index`, the first or the second.
    fn take_code_of(&self, index: usize) -> Option<CodeSlots> {
        let works_alone = !self.tracer.has_started_threads() && modules::threads() == Some(1);
        let take = |Observer {
                        cores, executed, ..
                    }: &mut Observer| {
            cores.get_mut(index)?.take_code(executed, works_alone)
        };
        self.tracer.with_consumer(take).flatten()
    }

    /// Returns what the groups of units say on core `index`.
    fn take_groups_of(&self, index: usize) -> Vec<Sample> {
        let take = |observer: &mut Observer| observer.cores.get_mut(index)?.groups.take();
        let groups = self.tracer.with_consumer(take).flatten();
        groups.map_or_else(Vec::new, Vec::from)
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
        let modelled = &self.modelled[self.first];
        let other = |observer: &mut Observer| {
            let first = observer.cores.first_mut()?;
            first.other_provenance(modelled)
        };
        self.tracer
            .with_consumer(other)
            .flatten()
            .unwrap_or(modelled)
    }

    fn sample_boundary(&self) {
        self.abandon_open_window();
        self.tracer.with_consumer(|observer| {
            observer.cores.iter_mut().for_each(Core::begin_sample);
            if observer.kept_samples() == 0 {
                observer.executed.begin_data();
            }
        });
    }

    fn completed(&self, sample: &Sample) -> Sample {
        let completed = self.of_each_core(sample, Core::completed);
        completed.unwrap_or(*sample)
    }

    fn take_groups(&self) -> Vec<Sample> {
        self.take_groups_of(0)
    }

    fn sample_kept(&self) {
        self.tracer.with_consumer(|observer| {
            observer.cores.iter_mut().for_each(Core::keep_sample);
            if observer.kept_samples() >= FINGERPRINT_SAMPLES {
                observer.executed.end_data();
            }
        });
    }

    fn wants_more_after(&self, sample: &Sample) -> bool {
        let mut wants_more = false;
        let mut had_enough = true;
        self.of_each_core(sample, |core, of_core| {
            had_enough &= core.has_enough();
            wants_more |= core.wants_more_after(of_core);
            *of_core
        });
        if !wants_more && !had_enough {
            // criterion would go on for 100 ms. The clock would decide how many samples that takes,
            // and their allocations where the next benchmark's data lies.
            topdown_tracer::pass_time(CRITERIONS_LEAST_NS);
        }
        wants_more
    }

    fn take_code(&self) -> Option<CodeSlots> {
        self.take_code_of(0)
    }

    fn take_on_second_core(&self) -> Option<OnSecondCore> {
        let provenance = |observer: &mut Observer| {
            let second = observer.cores.get_mut(1)?;
            let modelled = &self.modelled[second.number];
            let other = second.other_provenance(modelled);
            Some(other.unwrap_or(modelled).clone())
        };
        Some(OnSecondCore {
            provenance: self.tracer.with_consumer(provenance).flatten()?,
            groups: self.take_groups_of(1),
            code: self.take_code_of(1),
        })
    }

    fn benchmark_boundary(&self) {
        self.make_room();
        self.tracer.with_consumer(|observer| {
            observer.cores.iter_mut().for_each(Core::begin_benchmark);
            observer.executed.begin_benchmark();
        });
    }

    #[inline(never)]
    fn start(&self) -> Reading {
        self.abandon_open_window();
        let wanted = self.tracer.with_consumer(Observer::begin_window) == Some(true);
        self.outside_time.before_window();
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
        let wall_ns = clock::elapsed_ns(start.at_ns);
        let outside_ns = self.outside_time.after_window(wall_ns);
        // criterion plans by its clock, and a group can set a time limit; hide the model's time
        // from both.
        if end.is_some() {
            topdown_tracer::hide_time(wall_ns);
        }
        let allocations = |observer: &mut Observer| observer.allocations.events();
        let allocations = self.tracer.with_consumer(allocations);
        let allocations = allocations.unwrap_or(Events::NONE);
        let counted = self.of_each_core(&Sample::EMPTY, |core, _| {
            let sample = core.end_window(end, allocations);
            core.limit_outside_time(sample, outside_ns)
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

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Model")
            .field("core", &cores::ALL[self.first].name)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
