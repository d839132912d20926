//! Why counters cannot be used: what happened, where, and what to do next.

use thiserror::Error;

/// Why a source could not be opened.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// A source was asked for that does not exist.
    #[error("unknown source `{name}`; the sources are auto, hardware and time")]
    UnknownSource {
        /// What was asked for.
        name: String,
    },
    /// This operating system has no `perf_event_open`.
    #[error("hardware counters need Linux; this is {name}")]
    OperatingSystem {
        /// The operating system.
        name: &'static str,
    },
}
