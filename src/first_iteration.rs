//! The first iteration of a benchmark whose slots the hardware counts. criterion runs it by itself,
//! at the beginning of its warm-up, and keeps nothing of it.

use std::cell::RefCell;

use topdown_run::provenance::{CountedThreads, SourceKind};
use topdown_run::sample::Sample;

/// What is known about the first iteration of the current benchmark.
pub(crate) struct FirstIteration {
    state: RefCell<State>,
}

#[allow(
    clippy::large_enum_variant,
    reason = "one exists per measurement, and a box would be allocated between windows"
)]
enum State {
    /// The source keeps all iterations, or counts no slots.
    NotWanted,
    /// It has not run yet.
    Awaited,
    /// Its window, and the threads whose slots that counted.
    Counted(Sample, CountedThreads),
    /// It had other windows too.
    Unknown,
}

impl FirstIteration {
    /// Returns the state before the first benchmark that `source` measures.
    pub(crate) fn of(source: SourceKind) -> FirstIteration {
        let state = match source {
            SourceKind::Hardware => State::Awaited,
            _ => State::NotWanted,
        };
        FirstIteration {
            state: RefCell::new(state),
        }
    }

    /// Keeps `window` if it is the first one. Called after every window.
    pub(crate) fn keep(&self, window: &Sample, threads: impl FnOnce() -> CountedThreads) {
        let mut state = self.state.borrow_mut();
        if let State::Awaited = *state {
            *state = State::Counted(*window, threads());
        }
    }

    /// Forgets the window: this benchmark's iterations have several that criterion does not add up.
    pub(crate) fn set_unknown(&self) {
        let mut state = self.state.borrow_mut();
        if !matches!(*state, State::NotWanted) {
            *state = State::Unknown;
        }
    }

    /// Returns the window if it counted the slots of these threads. The next benchmark begins.
    pub(crate) fn take(&self, threads: CountedThreads) -> Option<Sample> {
        let mut state = self.state.borrow_mut();
        if matches!(*state, State::NotWanted) {
            return None;
        }
        match std::mem::replace(&mut *state, State::Awaited) {
            State::Counted(window, counted) if counted == threads => Some(window),
            _ => None,
        }
    }
}
