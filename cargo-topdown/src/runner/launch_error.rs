//! Why a launch failed.

use std::io;
use std::process::ExitStatus;

use thiserror::Error;

use super::join::JoinError;
use super::patience::Patience;
use super::place::Place;
use super::protocol::ProtocolError;

/// Why a launch produced nothing.
#[derive(Debug, Error)]
pub enum LaunchError {
    /// The process could not be started, or an operation around it failed.
    #[error("{what}: {error}")]
    Io {
        /// The operation that failed.
        what: String,
        error: io::Error,
    },
    /// The process failed: it panicked, or something that it needs is missing.
    #[error("it ended with {0}")]
    Exited(ExitStatus),
    /// It exited successfully, but a benchmark has no result.
    #[error(
        "benchmark `{0}` began but did not complete, although the bench exited successfully; look \
         for `process::exit` or a caught panic"
    )]
    NotCompleted(String),
    /// It exited successfully, but before it was done.
    #[error(
        "it exited successfully before it was done, {0}, so later benchmarks are missing; let \
         `main` return instead of calling `process::exit`"
    )]
    EndedEarly(Place),
    /// It hangs, or takes far longer than its first launch.
    #[error("{patience}, {place}, and was ended; `--launch-timeout SECONDS` gives it more time")]
    Overdue {
        /// How long it had.
        patience: Patience,
        /// What it was doing.
        place: Place,
    },
    /// The process was a criterion bench in an earlier launch.
    #[error("it did not connect to cargo topdown, although it did in an earlier launch")]
    NotConnected,
    /// The conversation failed.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// criterion's samples do not match ours.
    #[error(transparent)]
    Join(#[from] JoinError),
    /// A group with criterion's own measurement has its own settings, which the launch must not
    /// use.
    #[error("`{0}` is measured for as long as its group sets, not as the settings say")]
    OtherPlan(String),
    /// Doubling samples would be too few for it.
    #[error("`{0}` has criterion's own measurement, which does not support doubling samples")]
    CannotDouble(String),
    /// The user interrupted the run.
    #[error("interrupted")]
    Interrupted,
}

impl LaunchError {
    /// The operation `what` failed.
    pub fn io(what: impl Into<String>, error: io::Error) -> LaunchError {
        LaunchError::Io {
            what: what.into(),
            error,
        }
    }

    /// Returns whether the bench has gone; then its exit status says more than the error.
    pub fn is_hang_up(&self) -> bool {
        matches!(self, LaunchError::Protocol(ProtocolError::Io(_)))
    }
}
