//! Counts where a CPU's issue slots go, by TopDown category.
//!
//! A [`Source`] takes a [`Reading`] at the start of a window and turns it into a
//! [`Sample`](topdown_run::sample::Sample) at the end. [`hardware`] reads the CPU's counters with
//! RDPMC, as the tables in [`cpu`] say; [`time`] reads only the clock; `scripted`, for tests only,
//! plays back predefined counts. Errors at opening say what is missing and what to do: [`error`].

#![warn(clippy::incompatible_msrv)]
// Only programs need some functions, and unused ones cost benches nothing.
#![cfg_attr(not(feature = "commands"), allow(dead_code))]

// Every bench compiles this crate. Functions called only by the program are `#[inline]`, so that
// benches need not compile them. Steps taken once, such as opening counters, are
// `#[inline(never)]`: merged into their callers, they would be optimized again at each level. Loops
// fill lists there, because each chain of iterators is compiled by itself.

pub mod clock;
mod command_samples;
pub mod cpu;
pub mod error;
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
pub mod hardware;
#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
#[path = "hardware_elsewhere.rs"]
pub mod hardware;
pub mod machine;
#[cfg(target_os = "linux")]
pub mod modules;
pub mod processor_time;
#[cfg(feature = "proof")]
pub mod proof;
#[cfg(any(test, feature = "scripted"))]
pub mod scripted;
mod source;
pub mod survey;
pub mod time;
mod wanted;

pub use command_samples::CommandSamples;
pub use source::{
    ClockWatcher, MAX_COUNTERS, Reading, Source, empty_modelled_windows_by, empty_window,
    empty_window_of, empty_windows_by, latencies_of_provenance, median_window, table_of_provenance,
};
pub use wanted::Wanted;
