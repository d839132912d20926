//! Attributes a benchmark's slots to functions.
//!
//! The bench process reports the cost of each block of its code by module and offset, and
//! `symbols` and `inlined` know the names. [`attribute`] combines both for the samples of one
//! launch, and [`functions_of`] sums over the samples that make up the launch values. For slots
//! that the hardware counted, [`attribute_hits`] and [`functions_of_hits`] do the same with hits,
//! and [`group_functions`] for the events of a metric group.

mod code_place;
mod event_hits;
mod fingerprint;
mod group_event;
mod hits;
mod inlined;
mod own_counts;
mod paths;
mod slots;
mod symbols;

pub use code_place::CodePlace;
pub use event_hits::group_functions;
pub use fingerprint::fingerprint_of;
pub use hits::{HitFunctions, attribute_hits, functions_of_hits};
pub use paths::{SamplePaths, attribute_paths, call_paths_of};
pub use slots::{SampleFunctions, attribute, functions_of};
pub use symbols::Symbols;
