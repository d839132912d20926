//! Measuring a suite: from a command line to benchmarks.
//!
//! A [`Session`] holds what all of its steps share: the workspace with its settings, the scratch
//! directory, the launcher, and the guard against Ctrl-C. `bench`, `bench --against`, `explain` and
//! `doctor --noise` are combinations of its steps: build, leave out, take fingerprints, launch on
//! the clock, launch on the model, and join. [`runner`](topdown_runner) below it knows single
//! launches.

pub mod build_identity;
pub mod changed;
mod criterion_arguments;
mod error;
mod jobs;
pub mod listing;
mod missed_variables;
mod model;
pub mod pairs;
pub mod problems;
mod request;
mod run;
pub mod sampling;
mod selection;
mod session;
pub mod shards;
mod side;
mod time;

pub use error::MeasureError;
pub use request::Request;
pub use run::{on_its_cores, run_id};
pub use session::Session;
pub use side::Side;
