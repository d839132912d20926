//! Gathering of a benchmark's launches.

pub mod benchmark_error;
pub mod collect;
pub(crate) mod counted_threads;
pub(crate) mod one_choice;
pub(crate) mod outcome;
pub mod relaunch;
pub(crate) mod residual;
pub(crate) mod short_windows;
