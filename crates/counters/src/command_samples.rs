//! Result of sampling a command; empty where unsupported.

use std::path::PathBuf;

use crate::error::OpenError;
use topdown_run::code_samples::CodeSamples;

/// Slots of one launch of a command by code.
#[derive(Debug)]
pub struct CommandSamples {
    /// The PMU samples of all threads that were sampled.
    pub hits: CodeSamples,
    /// The program that the command executed first.
    pub executable: Option<PathBuf>,
    /// All slots that the groups counted, also those after each thread's last PMU sample.
    pub counted_slots: f64,
    /// The number of threads, of all processes.
    pub threads: u64,
    /// Number of them that could not be sampled, and the reason for the first.
    pub unsampled: Option<(u64, OpenError)>,
}
