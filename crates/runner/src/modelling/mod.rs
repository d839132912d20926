//! Launches on the model.

pub mod fingerprints;
pub mod model_or_clock;
pub mod model_processes;
pub mod modelled;
pub mod parting;
pub(crate) mod side_by_side;
