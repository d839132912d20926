//! What the first iterations of a benchmark cost, apart from those that count.

use serde::{Deserialize, Serialize};

#[cfg(feature = "files")]
use super::{columns::Rows, error::RunFileProblem};

/// The first iterations of a benchmark: the first one, or all up to the last that executes far more
/// instructions than those that count, because they initialise something. Quantities are per
/// iteration, one for each launch on the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Cold {
    /// How many iterations: 1, 3, 7, …
    pub iterations: u64,
    /// Issue slots.
    pub slots: Vec<f64>,
    /// Retired instructions.
    pub instructions: Vec<f64>,
}

#[cfg(feature = "files")]
impl Cold {
    /// Checks every length and every number.
    pub(super) fn check(&self) -> Result<(), RunFileProblem> {
        let rows = Rows {
            count: self.slots.len(),
            what: "launches",
        };
        if self.iterations == 0 || self.slots.is_empty() {
            let what = "has no iterations or no launches".to_owned();
            return Err(RunFileProblem::field("iterations", what));
        }
        rows.length("instructions", &self.instructions)?;
        rows.unsigned("slots", &self.slots)?;
        rows.unsigned("instructions", &self.instructions)
    }
}
