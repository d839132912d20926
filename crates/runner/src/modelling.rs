//! Launches on the model.

pub mod divergence;
pub mod fingerprints;
pub mod model_or_clock;
pub mod model_processes;
pub mod modelled;
pub mod schedules;
pub(crate) mod side_by_side;
