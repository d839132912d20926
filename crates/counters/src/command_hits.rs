//! Result of sampling a command; empty where unsupported.

use std::path::PathBuf;

use crate::error::OpenError;
use topdown_run::hits::CodeHits;

/// Where the slots of one launch of a command went.
#[derive(Debug)]
pub struct CommandHits {
    /// What was hit, in all threads that were sampled.
    pub hits: CodeHits,
    /// The program that the command executed first.
    pub executable: Option<PathBuf>,
    /// All slots that the groups counted, also those after each thread's last hit.
    pub counted_slots: f64,
    /// The number of threads, of all processes.
    pub threads: u64,
    /// How many of them could not be sampled, and why the first could not.
    pub unsampled: Option<(u64, OpenError)>,
}
