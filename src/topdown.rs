//! The criterion `Measurement`.

use std::cell::Cell;
use std::marker::PhantomData;
use std::time::Duration;

use criterion::measurement::{Measurement, ValueFormatter};

use crate::choose::choose;
use crate::completion_marker::CompletionMarker;
use crate::first_iteration::FirstIteration;
use crate::formatter::SlotsFormatter;
use crate::message;
use crate::recorder::{Parts, Recorder};
use crate::self_timed::{self, Shown, Step};
use crate::windows;
use topdown_counters::error::OpenError;
use topdown_counters::{ClockWatcher, Reading, Source, empty_modelled_windows_by, median_window};
use topdown_run::doubling;
use topdown_run::provenance::{EmptyWindow, Provenance, SourceKind};
use topdown_run::sample::{Flags, Sample};
use topdown_run::setting::{Setting, SourceChoice};

/// Measures where the issue slots of a benchmark went.
///
/// criterion sees the duration of each window, and one number per sample: slots, or nanoseconds if
/// slots cannot be counted. The whole [`Sample`] is recorded as well, for `cargo topdown` and for
/// the line that plain `cargo bench` prints after each benchmark.
///
/// Counters belong to the thread that opened them, so a `TopDown` cannot be sent to another thread.
/// The other threads of benchmarks in which they work count, too
/// ([`Threads`](topdown_run::setting::Threads)).
pub struct TopDown {
    source: Box<dyn Source>,
    recorder: Recorder,
    first_iteration: FirstIteration,
    /// The minimum number of samples of a benchmark, if they [double](topdown_run::doubling).
    min_doubling: Option<usize>,
    /// Whether the current benchmark needs no further sample.
    has_enough: Cell<bool>,
    /// What an empty window costs, if that is not what the source says.
    empty_window: Cell<Option<EmptyWindow>>,
    /// The open window of a benchmark that times itself.
    self_timed: Cell<Option<Reading>>,
    _last_word: CompletionMarker,
    /// Makes the type neither `Send` nor `Sync`, regardless of the source.
    bound_to_thread: PhantomData<*const ()>,
}

impl TopDown {
    /// Uses the hardware counters if possible, otherwise the clock. Prints which, and why, to
    /// standard error once per process.
    ///
    /// The environment variable `CARGO_TOPDOWN_SOURCE` (`auto`, `hardware`, `model`, `time`)
    /// overrides the choice. An unavailable source ends the process with a message and code 101,
    /// since a benchmark that measures something other than requested must not look like a success.
    /// `model` is available only under `cargo topdown bench`: plain criterion plans far more
    /// iterations than can be modelled.
    pub fn new() -> TopDown {
        match TopDown::open() {
            Ok(measurement)
                if measurement.provenance().source == SourceKind::Model
                    && !Recorder::is_wanted() =>
            {
                message::print(
                    "error: the model needs `cargo topdown bench --source model`: plain criterion \
                     plans far more iterations than can be modelled",
                );
                std::process::exit(101);
            }
            Ok(measurement) => {
                announce(measurement.provenance());
                measurement.source.between_windows();
                measurement
            }
            Err(error) => {
                message::print(format_args!("error: {error}"));
                std::process::exit(101);
            }
        }
    }

    /// Like [`new`](TopDown::new), but silent.
    ///
    /// # Errors
    /// Returns an error if `CARGO_TOPDOWN_SOURCE` names no source, or one that cannot be used here.
    pub fn open() -> Result<TopDown, OpenError> {
        Ok(TopDown::with_source(choose(
            SourceChoice::from_environment()?,
        )?))
    }

    /// Measures with `source`.
    pub fn with_source(source: Box<dyn Source>) -> TopDown {
        TopDown {
            first_iteration: FirstIteration::of(source.provenance().source),
            recorder: Recorder::from_environment(source.provenance().source),
            source,
            _last_word: CompletionMarker::announce(),
            min_doubling: doubling::min_samples(),
            has_enough: Cell::new(false),
            empty_window: Cell::new(None),
            self_timed: Cell::new(None),
            bound_to_thread: PhantomData,
        }
    }

    /// Returns what the numbers are and how they are obtained.
    pub fn provenance(&self) -> &Provenance {
        self.source.provenance()
    }

    /// Measures one window and returns its duration. For criterion's `iter_custom`, whose closure
    /// returns the measured value itself; a sum of such durations has the slots of all its windows.
    ///
    /// ```no_run
    /// # use criterion_topdown::TopDown;
    /// # fn bench(c: &mut criterion::Criterion<TopDown>, work: fn()) {
    /// c.bench_function("work", |b| {
    ///     let topdown = TopDown::new();
    ///     b.iter_custom(|iterations| {
    ///         topdown.measure(|| {
    ///             for _ in 0..iterations {
    ///                 work();
    ///             }
    ///         })
    ///     })
    /// });
    /// # }
    /// ```
    pub fn measure<T>(&self, work: impl FnOnce() -> T) -> Duration {
        let duration = windows::add(&self.window(work));
        self.source.between_windows();
        duration
    }

    /// Measures one window by itself, without criterion.
    pub fn sample<T>(&self, work: impl FnOnce() -> T) -> Sample {
        self.source.completed(&self.window(work))
    }

    fn window<T>(&self, work: impl FnOnce() -> T) -> Sample {
        let start = self.begin_window();
        let result = work();
        let sample = self.source.end(&start);
        drop(result);
        sample
    }

    /// Completes a benchmark, and returns how its values are formatted.
    pub(crate) fn complete(&self) -> &'static SlotsFormatter {
        let mut provenance = self.provenance().clone();
        let first = self.first_iteration.take(provenance.threads);
        let parts = Parts {
            first: first.map(|window| self.source.completed(&window)),
            groups: self.source.take_groups(),
            code: self.source.take_code(),
            hits: self.source.take_code_samples(),
        };
        if let Some(cost) = self.empty_window.get() {
            set_cost(&mut provenance, cost);
        }
        self.recorder.seal(&provenance, parts);
        self.source.benchmark_boundary();
        self.has_enough.set(false);
        let formatter = SlotsFormatter::new(self.recorder.measured());
        // The set-up of the next group may start threads.
        self.source.between_windows();
        formatter
    }

    /// Measures the cost of empty windows that `window` begins and ends. On the model alone, which
    /// counts every instruction: elsewhere it is that of the source's own windows.
    pub(crate) fn calibrate(&self, window: impl Fn() -> Duration) {
        if self.provenance().source != SourceKind::Model {
            return;
        }
        self.source.set_calibrating(true);
        let samples = empty_modelled_windows_by(&|| {
            self.zero();
            windows::take(window())
        });
        self.source.set_calibrating(false);
        self.empty_window.set(Some(median_window(&samples)));
        self.source.benchmark_boundary();
    }

    /// Code of benchmarks follows.
    pub(crate) fn between_windows(&self) {
        self.source.between_windows();
    }

    /// Begins a window, and no other in this benchmark with a look at the clock.
    fn begin_window(&self) -> Reading {
        if self_timed::give_up() {
            self.source.watch_clock(None);
        }
        self.source.start()
    }

    /// Ends the window that `start` began, which lasted `wall_ns` if that is given.
    fn end_window(&self, start: &Reading, wall_ns: Option<u64>) -> Duration {
        let mut window = self.source.end(start);
        window.wall_ns = wall_ns.unwrap_or(window.wall_ns);
        self.first_iteration
            .keep(&window, || self.provenance().threads);
        let duration = windows::add(&window);
        self.source.between_windows();
        duration
    }

    /// Lets benchmarks that time themselves have windows, if the source tells `watcher` of each
    /// look at the clock, which passes it to [`look_at_clock`](TopDown::look_at_clock).
    pub(crate) fn watch_clock(&self, watcher: ClockWatcher) {
        self_timed::begin_benchmark();
        self.source.watch_clock(Some(watcher));
    }

    /// Begins or ends a window of a benchmark that times itself, if this look at the clock does.
    pub(crate) fn look_at_clock(&self, shown_ns: u64, frame: usize) {
        match self_timed::look(shown_ns, frame) {
            Step::Nothing => {}
            Step::Begin => self.self_timed.set(Some(self.source.start())),
            Step::End { ns } => {
                if let Some(start) = self.self_timed.take() {
                    self.end_window(&start, Some(ns));
                }
            }
        }
    }

    /// Returns the slots of an empty window.
    #[cfg(all(
        test,
        feature = "launches",
        target_os = "linux",
        target_arch = "x86_64"
    ))]
    pub(crate) fn cost_slots(&self) -> Option<u64> {
        let own = self.empty_window.get();
        own.or(self.provenance().empty_window)?.slots
    }

    fn keep(&self, sample: &Sample) {
        self.recorder.keep(sample);
        self.source.sample_kept();
        self.source.sample_boundary();
    }

    /// Keeps a sample and returns the scalar to report to criterion. A skipped sample only showed
    /// where the windows of the next one lie.
    fn keep_doubling(&self, sample: &Sample, min_samples: usize, is_skipped: bool) -> f64 {
        let index = self.recorder.kept();
        self.keep(sample);
        if is_skipped {
            self.source.skip_sample();
        } else if !self.has_enough.get() {
            self.has_enough.set(!self.source.wants_more(sample));
        }
        let is_enough = self.has_enough.get() && index + 1 >= min_samples;
        self.source.between_windows();
        doubling::scalar(index, is_enough)
    }
}

impl Default for TopDown {
    fn default() -> TopDown {
        TopDown::new()
    }
}

impl std::fmt::Debug for TopDown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TopDown")
            .field("provenance", self.provenance())
            .finish_non_exhaustive()
    }
}

impl Measurement for TopDown {
    type Intermediate = Reading;
    /// The duration of windows, which stands for everything else that they counted.
    type Value = Duration;

    fn start(&self) -> Reading {
        self.begin_window()
    }

    fn end(&self, start: Reading) -> Duration {
        self.end_window(&start, None)
    }

    fn add(&self, left: &Duration, right: &Duration) -> Duration {
        *left + *right
    }

    /// criterion calls this before the first window of a warm-up, of a measurement, and of every
    /// sample of `iter_batched`.
    fn zero(&self) -> Duration {
        self.source.sample_boundary();
        windows::forget();
        self_timed::begin_sample();
        self.source.between_windows();
        Duration::ZERO
    }

    /// Records the sample: criterion calls this exactly once for every sample it keeps, and never
    /// during warm-up.
    fn to_f64(&self, value: &Duration) -> f64 {
        let windows = windows::count();
        let shown = self_timed::end_sample(value.as_nanos() as u64, windows::explain(*value));
        let mut sample = windows::take(*value);
        if sample.windows != windows {
            self.first_iteration.set_unknown();
        }
        let is_skipped = shown == Shown::Windows;
        if is_skipped {
            sample.flags |= Flags::NOT_COUNTING;
        }
        let sample = self.source.completed(&sample);
        match self.min_doubling {
            Some(least) => self.keep_doubling(&sample, least, is_skipped),
            None => {
                self.keep(&sample);
                sample.scalar()
            }
        }
    }

    /// criterion calls this once per benchmark when its samples are complete, and once more for a
    /// group's summary, when nothing is left to complete.
    fn formatter(&self) -> &dyn ValueFormatter {
        self.complete()
    }
}

/// Sets what an empty window costs, where the model counted.
fn set_cost(provenance: &mut Provenance, cost: EmptyWindow) {
    if provenance.source == SourceKind::Model && provenance.empty_window.is_some() {
        provenance.empty_window = Some(cost);
    }
}

fn announce(provenance: &Provenance) {
    static ONCE: std::sync::Once = std::sync::Once::new();
    // `cargo topdown` prints it itself, once for all launches.
    if Recorder::is_wanted() {
        return;
    }
    ONCE.call_once(|| match provenance.source {
        SourceKind::Time => message::print(format_args!(
            "topdown: measuring time only ({})",
            provenance.reason
        )),
        source => message::print(format_args!(
            "topdown: source {source}, {} ({})",
            provenance.formula, provenance.reason
        )),
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use topdown_counters::scripted::{Scripted, Work, spend};
    use topdown_run::category::PerCategory;
    use topdown_run::sample::Level1;

    #[test]
    fn the_value_is_time_and_the_scalar_is_slots() {
        let measurement = TopDown::with_source(Box::new(Scripted::new()));
        let work = Work {
            level1: Level1 {
                slots: PerCategory {
                    retiring: 30.0,
                    backend_bound: 10.0,
                    ..PerCategory::default()
                },
                ..Level1::default()
            },
            ..Work::default()
        };
        let zero = measurement.zero();
        let first = measurement.measure(|| spend(&work));
        let second = measurement.measure(|| spend(&work));
        let sum = measurement.add(&measurement.add(&zero, &first), &second);
        assert_eq!(sum, first + second);
        assert_eq!(measurement.to_f64(&sum), 80.0);
    }

    /// As with an `iter_custom` closure that returns a `Duration`.
    #[test]
    fn self_timed_benchmark_is_shown_in_time() {
        let measurement = TopDown::with_source(Box::new(Scripted::new()));
        measurement.to_f64(&Duration::from_nanos(7));
        assert_eq!(measurement.formatter().format_value(1.0), "1.0000 ns");
        let work = Work {
            level1: Level1 {
                slots: PerCategory {
                    retiring: 30.0,
                    ..PerCategory::default()
                },
                ..Level1::default()
            },
            ..Work::default()
        };
        measurement.to_f64(&measurement.measure(|| spend(&work)));
        assert_eq!(measurement.formatter().format_value(1.0), "1.0000 slots");
    }
}
