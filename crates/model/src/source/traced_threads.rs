//! Threads whose instructions the models of this thread have counted in the current benchmark.
//!
//! A benchmark may open a measurement of its own, while criterion's says what was measured. So all
//! models of a thread have one account.

use std::cell::Cell;

use topdown_counters::error::OpenError;
use topdown_run::environment;
use topdown_run::provenance::CountedThreads;
use topdown_tracer::ThreadsError;

/// The slots are those of all threads if others execute at least this fraction of the instructions.
/// Less than that is within the gate's margin.
const MIN_OTHERS_FRACTION: f64 = 0.01;

thread_local! {
    /// Instructions of all threads, and of the others.
    static INSTRUCTIONS: Cell<[u64; 2]> = const { Cell::new([0; 2]) };
    static NOT_ALL: Cell<Option<ThreadsError>> = const { Cell::new(None) };
}

/// Begins a benchmark.
pub(super) fn begin_benchmark() {
    INSTRUCTIONS.set([0; 2]);
}

/// Adds the instructions of a window: of all threads, and of the others.
pub(super) fn add(window: [u64; 2]) {
    let [all, others] = INSTRUCTIONS.get();
    INSTRUCTIONS.set([all + window[0], others + window[1]]);
}

/// Returns whose slots the benchmark has.
pub(super) fn counted() -> CountedThreads {
    let [all, others] = INSTRUCTIONS.get().map(|count| count as f64);
    match others > all * MIN_OTHERS_FRACTION {
        true => CountedThreads::All,
        false => CountedThreads::Own,
    }
}

/// Returns the order in which threads take turns.
pub(super) fn schedule() -> Result<u32, OpenError> {
    let Ok(text) = std::env::var(environment::SCHEDULE) else {
        return Ok(0);
    };
    text.parse().map_err(|_| OpenError::Model {
        reason: format!("{} is `{text}`; it must be a number", environment::SCHEDULE),
    })
}

/// From now on no other thread goes on while criterion awaits an answer of its runner. Otherwise
/// the time that this takes would decide how far they get.
pub(super) fn hold_at_runner() {
    let port = std::env::var(environment::RUNNER_PORT).ok();
    if let Some(port) = port.and_then(|text| text.parse().ok()) {
        topdown_tracer::hold_at_port(port);
    }
}

/// From now on only the measured thread is traced.
pub(super) fn give_up(error: ThreadsError) {
    NOT_ALL.set(Some(error));
}

/// Returns why only the measured thread is traced, although all were requested.
pub(super) fn why_not_all() -> Option<ThreadsError> {
    NOT_ALL.get()
}
