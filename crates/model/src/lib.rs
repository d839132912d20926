//! Counts issue slots on a modelled core, for machines without a PMU.
//!
//! [`open`] gives the source `model`. It exists on x86-64 Linux alone.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod source;

use topdown_counters::Source;
use topdown_counters::error::OpenError;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use source::{DEFAULT_BUDGET_SECONDS, MIN_ITERATIONS, Model, forks};

/// Opens the model of the requested core on the calling thread.
///
/// # Errors
/// Returns [`OpenError::Model`] if code cannot be traced or the budget in the environment is not a
/// positive number, or [`OpenError::UnknownChoice`] if the environment names an unknown core.
pub fn open() -> Result<Box<dyn Source>, OpenError> {
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    return Ok(Box::new(Model::open()?));
    #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
    Err(OpenError::Model {
        reason: "it needs x86-64 Linux".to_owned(),
    })
}
