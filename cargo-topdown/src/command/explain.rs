//! `cargo topdown explain`: launches one benchmark for level 1, then once for each metric group
//! that the decision tree names for the category that loses most slots.

mod against;
mod latencies;
mod run;
mod sampled;

pub use run::run;
