//! Launches bench targets as criterion's runner and gathers what they measure.
#![forbid(unsafe_code)]

pub mod event;
pub mod functions;
pub mod gathering;
pub mod launching;
pub mod modelling;
pub mod progress;
pub mod record;
mod rounds;
pub mod sampling;
pub mod settings;
mod side;
pub mod targets;

pub use self::gathering::outcome::{OtherMeasurement, Outcome, TargetFailure};
pub use self::modelling::side_by_side::run_side_by_side;
pub use self::rounds::{check_apart, run, run_in_pairs};
