//! Changes that the user expects.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::allocated::Allocated;
use crate::metric::Metric;

/// The accepted changes of one baseline, by the full id of the benchmark.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Accepted {
    changes: BTreeMap<String, AcceptedChange>,
}

/// An expected change of one benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AcceptedChange {
    /// Why it is expected.
    pub reason: String,
    /// The observed differences, as fractions of the baseline's total.
    pub differences: BTreeMap<Metric, f64>,
    /// What an iteration allocated, if that had grown and failed the benchmark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocations: Option<Allocated>,
}

impl Accepted {
    /// Returns the accepted change of `id`.
    pub fn get(&self, id: &str) -> Option<&AcceptedChange> {
        self.changes.get(id)
    }

    /// Accepts a change, replacing any earlier one of the benchmark.
    pub fn insert(&mut self, id: String, change: AcceptedChange) {
        self.changes.insert(id, change);
    }

    /// Returns all accepted changes.
    pub fn changes(&self) -> &BTreeMap<String, AcceptedChange> {
        &self.changes
    }
}

impl From<BTreeMap<String, AcceptedChange>> for Accepted {
    fn from(changes: BTreeMap<String, AcceptedChange>) -> Accepted {
        Accepted { changes }
    }
}
