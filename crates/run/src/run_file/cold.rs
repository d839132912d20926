//! Cost of a benchmark's first iterations, apart from those that count.

use serde::{Deserialize, Serialize};

/// The first iterations of a benchmark: the first one, or all up to the last that executes far more
/// instructions than those that count, because they initialise something. Quantities are per
/// iteration, one for each launch on the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Cold {
    /// Number of iterations: 1, 3, 7, …
    pub iterations: u64,
    /// Issue slots.
    pub slots: Vec<f64>,
    /// Retired instructions.
    pub instructions: Vec<f64>,
}
