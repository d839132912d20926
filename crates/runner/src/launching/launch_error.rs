//! Errors of a launch.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

use thiserror::Error;

use crate::launching::bench_progress::BenchProgress;
use crate::launching::join::JoinError;
use crate::launching::protocol::ProtocolError;
use crate::launching::time_limits::TimeLimits;

/// Why a launch produced nothing.
#[derive(Debug, Error)]
pub enum LaunchError {
    /// The process could not be started, or an operation around it failed.
    #[error("{what}: {error}")]
    Io {
        /// The operation that failed.
        what: String,
        /// What the system says.
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
    /// It exited successfully before it was done.
    #[error(
        "it exited successfully before it was done, {0}, so later benchmarks are missing; let \
         `main` return instead of calling `process::exit`"
    )]
    EndedEarly(BenchProgress),
    /// It hangs, or takes far longer than its first launch.
    #[error(
        "it timed out {progress} (limit: {limits}) and was killed; `--launch-timeout SECONDS` \
             raises the limit"
    )]
    Overdue {
        /// Its time limit.
        limits: TimeLimits,
        /// What it was doing.
        progress: BenchProgress,
    },
    /// The executable is not the one that was built.
    #[error(
        "{} was overwritten after it was built, so it is unknown which code ran; run no other \
         build in its directory during a measurement",
        .0.display()
    )]
    OtherExecutable(PathBuf),
    /// Both sides of a comparison would launch the same file.
    #[error(
        "base and candidate of `{target}` are one file, {}, so there is nothing to compare; look \
         for a compiler wrapper (RUSTC_WRAPPER) or a setting that gives both the same output",
        path.display()
    )]
    SameExecutable {
        /// The bench target.
        target: String,
        /// The executable of both sides.
        path: PathBuf,
    },
    /// It reached its time limit without connecting to the runner.
    #[error(
        "it did not connect to cargo topdown (limit: {limits}) and was killed; `--launch-timeout \
         SECONDS` raises the limit"
    )]
    NeverConnected {
        /// Its time limit.
        limits: TimeLimits,
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
    #[error("the group of `{0}` sets how long it is measured, not the settings")]
    OtherPlan(String),
    /// It measures other benchmarks than requested, or in another way: it has not read the
    /// arguments.
    #[error(
        "`{0}` ignores the arguments of its launch, so its length is unknown; call \
         `configure_from_args()` on `Criterion::default()` in its bench"
    )]
    IgnoresArguments(String),
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

    /// The benchmark that is running ignores its arguments.
    pub fn ignores_arguments(progress: &BenchProgress) -> LaunchError {
        LaunchError::IgnoresArguments(progress.unfinished().unwrap_or("it").to_owned())
    }

    /// Returns whether the bench hung up; then its exit status says more than the error.
    pub fn is_hang_up(&self) -> bool {
        matches!(self, LaunchError::Protocol(ProtocolError::Io(_)))
    }
}
