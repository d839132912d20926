//! The interface of all sources of slot counts, and the cost of their windows.

use std::marker::PhantomData;

use crate::clock;
use crate::cpu::{CpuTable, LatencyTable, MODELLED};
use crate::error::OpenError;
use crate::hardware;
#[cfg(any(test, feature = "scripted"))]
use crate::scripted;
use topdown_run::code::CodeSlots;
use topdown_run::code_samples::CodeSamples;
use topdown_run::provenance::{EmptyWindow, Provenance, SourceKind};
use topdown_run::sample::Sample;

/// The number of counters that a window can hold: the most that any CPU table in `cpu` needs.
pub const MAX_COUNTERS: usize = 12;

/// The beginning of a window. It is small, because copying it is measured: the source that began
/// the window keeps what it counted.
///
/// A reading belongs to the thread that took it: another thread has its own counters, so it cannot
/// end a window that this one began.
///
/// ```compile_fail,E0277
/// let begun = topdown_counters::Reading::from_clock();
/// std::thread::spawn(move || drop(begun));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// The monotonic clock.
    pub at_ns: u64,
    /// Names the window to its source.
    #[cfg_attr(
        not(target_os = "linux"),
        allow(dead_code, reason = "no source has several windows there")
    )]
    pub(crate) ticket: u32,
    /// Neither `Send` nor `Sync`.
    bound_to_thread: PhantomData<*const ()>,
}

impl Reading {
    /// Reads only the clock, now.
    pub fn from_clock() -> Reading {
        Reading::from_window(0, clock::now_ns())
    }

    /// `ticket` names the window.
    pub(crate) fn from_window(ticket: u32, at_ns: u64) -> Reading {
        Reading {
            at_ns,
            ticket,
            bound_to_thread: PhantomData,
        }
    }
}

/// Receives what the clock showed, in nanoseconds, and the address on the stack to which it was
/// written.
pub type ClockWatcher = fn(u64, usize);

/// Reports where the slots between two instants went.
///
/// A source belongs to the thread that opened it. Between [`start`](Source::start) and
/// [`end`](Source::end), an implementation must not allocate, lock, log or make an avoidable
/// syscall: all of that would be measured.
pub trait Source {
    /// Returns the source of the numbers.
    fn provenance(&self) -> &Provenance;

    /// Called between samples, outside every window: the next window is the first of a sample.
    fn sample_boundary(&self) {}

    /// Says whether the windows that follow are empty ones, which only show what a window costs.
    fn set_calibrating(&self, _calibrating: bool) {}

    /// Called outside every window, when a sample has all its windows. Returns it with the values
    /// that are known only then: a window of plain counters has no slots of its own.
    fn completed(&self, sample: &Sample) -> Sample {
        *sample
    }

    /// Called outside every window: the windows since the last boundary form a sample that is kept.
    fn sample_kept(&self) {}

    /// Called after [`sample_kept`](Source::sample_kept) if samples
    /// [double](topdown_run::doubling). Returns whether to measure the next sample too, which has
    /// twice as many iterations.
    fn wants_more(&self, _sample: &Sample) -> bool {
        false
    }

    /// Called outside every window, when code of the benchmark follows: what comes before its first
    /// window, between two, and after the last one.
    fn between_windows(&self) {}

    /// Called in place of [`wants_more`](Source::wants_more) if the sample had no windows, but
    /// showed where those of the next one lie.
    fn skip_sample(&self) {}

    /// From now on calls `watcher` when this thread has looked at the monotonic clock, if the
    /// source can. Its own looks do not count.
    fn watch_clock(&self, _watcher: Option<ClockWatcher>) {}

    /// Called when a benchmark has all its samples. Returns the estimates of the groups of units
    /// for the last one that counts, if the source sampled it.
    fn take_groups(&self) -> Vec<Sample> {
        Vec::new()
    }

    /// Called when a benchmark has all its samples. Returns their slots by code, if the source
    /// knows them for every sample kept.
    fn take_code(&self) -> Option<CodeSlots> {
        None
    }

    /// Called when a benchmark has all its samples. Returns the sampled code of those kept, if
    /// the source takes PMU samples.
    fn take_code_samples(&self) -> Option<CodeSamples> {
        None
    }

    /// Called when a benchmark has all its samples.
    fn benchmark_boundary(&self) {}

    /// Opens a window. Work that must not be measured (a reset) comes before the reading.
    fn start(&self) -> Reading;

    /// Closes the window that `start` opened.
    fn end(&self, start: &Reading) -> Sample;
}

/// Returns the table of the cores described by `provenance`, on this machine or modelled.
///
/// # Errors
/// Returns [`OpenError::UnsupportedCpu`] if no table knows them, or an error if the core that the
/// user described is wrong.
#[inline]
pub fn table_of_provenance(provenance: &Provenance) -> Result<&'static CpuTable, OpenError> {
    match provenance.source {
        SourceKind::Model => Ok(&MODELLED),
        #[cfg(any(test, feature = "scripted"))]
        _ if provenance.formula == scripted::FORMULA => Ok(&scripted::TABLE),
        _ => hardware::table(provenance.core_type.as_deref()),
    }
}

/// Returns the retire latencies of the cores described by `provenance`, if a table has them.
#[inline]
pub fn latencies_of_provenance(provenance: &Provenance) -> Option<&'static LatencyTable> {
    match provenance.source {
        SourceKind::Model => None,
        #[cfg(any(test, feature = "scripted"))]
        _ if provenance.formula == scripted::FORMULA => Some(&scripted::LATENCIES),
        _ => hardware::latencies(provenance.core_type.as_deref()),
    }
}

/// Returns the median cost of an empty window of `source`.
pub fn empty_window_of(source: &dyn Source) -> EmptyWindow {
    let mut windows = empty_windows_by(&|| empty_window(source));
    for window in &mut windows {
        *window = source.completed(window);
    }
    median_window(&windows)
}

/// Takes an empty window of `source`.
pub fn empty_window(source: &dyn Source) -> Sample {
    source.sample_boundary();
    let start = source.start();
    source.end(&start)
}

/// Returns the cost of some empty windows that `window` takes.
pub fn empty_windows_by(window: &dyn Fn() -> Sample) -> Vec<Sample> {
    some_windows(101, window)
}

/// Returns the cost of some empty windows that `window` takes on a modelled core. There, all cost
/// the same once predictors know them, which takes a dozen.
pub fn empty_modelled_windows_by(window: &dyn Fn() -> Sample) -> Vec<Sample> {
    some_windows(31, window)
}

fn some_windows(number: usize, window: &dyn Fn() -> Sample) -> Vec<Sample> {
    let mut samples = Vec::with_capacity(number);
    for _ in 0..number {
        samples.push(window());
    }
    samples
}

/// Returns the median of the windows' costs.
pub fn median_window(samples: &[Sample]) -> EmptyWindow {
    let median_of = |quantity: fn(&Sample) -> Option<u64>| {
        let mut values = Vec::with_capacity(samples.len());
        for sample in samples {
            if let Some(value) = quantity(sample) {
                values.push(value);
            }
        }
        median(values)
    };
    EmptyWindow {
        slots: median_of(|sample| sample.slots),
        instructions: median_of(|sample| sample.instructions),
        cycles: median_of(|sample| sample.cycles),
        wall_ns: median_of(|sample| Some(sample.wall_ns)).unwrap_or(0),
    }
}

fn median(mut values: Vec<u64>) -> Option<u64> {
    // Every bench would compile a sorting algorithm for these few values.
    for end in 1..values.len() {
        for at in (0..end).rev() {
            if values[at] <= values[at + 1] {
                break;
            }
            values.swap(at, at + 1);
        }
    }
    values.get(values.len() / 2).copied()
}
