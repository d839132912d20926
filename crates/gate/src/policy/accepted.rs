//! Changes that the user expects.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use topdown_run::run_file::BenchmarkId;

use crate::allocated::Allocated;
use crate::metric::Metric;

/// What is accepted: changes of one baseline, by the full id of the benchmark, and benchmarks for
/// one comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Accepted {
    changes: BTreeMap<String, AcceptedChange>,
    benchmarks: Vec<AcceptedBenchmark>,
}

/// A benchmark whose change is expected in one comparison, however large it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedBenchmark {
    /// Its name, or its full id.
    pub benchmark: String,
    /// Why the change is expected.
    pub reason: String,
}

impl FromStr for AcceptedBenchmark {
    type Err = String;

    /// Parses `BENCH: REASON`.
    fn from_str(text: &str) -> Result<AcceptedBenchmark, String> {
        let parts = text.split_once(": ").map(|(a, b)| (a.trim(), b.trim()));
        match parts {
            Some((benchmark, reason)) if !benchmark.is_empty() && !reason.is_empty() => {
                Ok(AcceptedBenchmark {
                    benchmark: benchmark.to_owned(),
                    reason: reason.to_owned(),
                })
            }
            _ => Err(format!("`{text}` is not `BENCH: REASON`")),
        }
    }
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

    /// Adds the changes of a baseline.
    pub fn add_changes(&mut self, of_baseline: Accepted) {
        self.changes.extend(of_baseline.changes);
    }

    /// Accepts whatever change these benchmarks have.
    pub fn add_benchmarks(&mut self, benchmarks: &[AcceptedBenchmark]) {
        self.benchmarks.extend_from_slice(benchmarks);
    }

    /// Returns why a benchmark is accepted however large its change is, if it is.
    pub fn reason_of(&self, id: &BenchmarkId) -> Option<&str> {
        let mut benchmarks = self.benchmarks.iter();
        let is_named = |accepted: &&AcceptedBenchmark| {
            accepted.benchmark == id.name || accepted.benchmark == id.to_string()
        };
        benchmarks.find(is_named).map(|accepted| &*accepted.reason)
    }

    /// Returns all accepted changes.
    pub fn changes(&self) -> &BTreeMap<String, AcceptedChange> {
        &self.changes
    }
}

impl From<BTreeMap<String, AcceptedChange>> for Accepted {
    fn from(changes: BTreeMap<String, AcceptedChange>) -> Accepted {
        Accepted {
            changes,
            benchmarks: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn benchmark_and_reason_are_separated_by_the_first_colon_and_space() {
        let parsed = |text: &str| text.parse::<AcceptedBenchmark>();
        let accepted = parsed("a::b::parse/1k: checks more: see #7").unwrap();
        assert_eq!(accepted.benchmark, "a::b::parse/1k");
        assert_eq!(accepted.reason, "checks more: see #7");
        for text in ["", "parse", "parse:", "parse: ", ": reason", "parse:reason"] {
            assert!(parsed(text).is_err(), "{text}");
        }
    }
}
