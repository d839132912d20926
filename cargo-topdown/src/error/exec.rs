//! The errors of `cargo topdown exec`.

use thiserror::Error;
use topdown_counters::error::OpenError;

use crate::counted_command::CommandError;

/// Why there is no run.
#[derive(Debug, Error)]
pub enum ExecError {
    /// A launch failed.
    #[error("launch {launch} of {launches}: {error}; nothing was stored")]
    Launch {
        /// The launch's number, from 1.
        launch: u32,
        /// The number of launches.
        launches: u32,
        error: CommandError,
    },
    /// The hardware was requested but cannot be used.
    #[error(transparent)]
    Counters(OpenError),
    /// The model cannot follow a command.
    #[error("the model supports benches, not commands; use `--source hardware` or `--source time`")]
    Model,
    /// Ctrl-C could not be handled.
    #[error("could not handle Ctrl-C: {0}")]
    Interrupt(#[source] std::io::Error),
    /// The user interrupted the run.
    #[error("interrupted; nothing was stored")]
    Interrupted,
}
