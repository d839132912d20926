//! A comparison that a pull request may have written: the parts that are read, and their checks.
//!
//! A pull request's benches can write anything into the `comparison.json` that their job uploads.
//! So only numbers within bounds, the words of verdicts, ids and source lines are taken from it;
//! the last two are shown as code.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use thiserror::Error;
use topdown_run::run_file::stored_file;
use topdown_run::run_file::{BenchmarkId, RunFileProblem};
use topdown_run::visible::visible_json;

use super::comparison_json::MAX_FILE_BYTES;
use topdown_gate::metric::Metric;
use topdown_gate::verdict::{COMPARISON_SCHEMA_VERSION, ChangedLine, Outcome, Verdict};

/// Larger changes are not measurements.
const LARGEST_CHANGE: f64 = 1e6;

/// More slots per iteration are not either: a day at ten slots and four cycles a nanosecond.
const MAX_SLOTS: f64 = 4e15;

/// The parts of a comparison that are read.
#[derive(Debug, Deserialize)]
pub struct ForeignComparison {
    schema_version: u32,
    pub(super) outcome: Outcome,
    pub(super) differences: Vec<Differing>,
    pub(super) benchmarks: Vec<Benchmark>,
    pub(super) missing: Vec<BenchmarkId>,
    #[serde(default)]
    pub(super) lines: Vec<ChangedLine>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Differing {
    pub field: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Benchmark {
    pub id: BenchmarkId,
    pub verdict: Verdict,
    pub effects: Vec<Change>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Change {
    pub metric: Metric,
    pub difference: f64,
}

impl Benchmark {
    /// Returns the change of a metric, if it was compared.
    pub fn change(&self, metric: Metric) -> Option<f64> {
        let change = self.effects.iter().find(|change| change.metric == metric);
        change.map(|change| change.difference)
    }
}

impl ForeignComparisonError {
    /// Returns whether the file is longer than any that this program writes.
    pub fn is_too_long(&self) -> bool {
        matches!(self.problem, Problem::File(RunFileProblem::TooLong { .. }))
    }
}

/// A comparison that cannot be read.
#[derive(Debug, Error)]
#[error("{} is not a comparison: {problem}", path.display())]
pub struct ForeignComparisonError {
    path: PathBuf,
    #[source]
    problem: Problem,
}

#[derive(Debug, Error)]
enum Problem {
    #[error("{0}")]
    File(#[source] RunFileProblem),
    // The content is not quoted: it may be anything.
    #[error("line {} is not in the format of this release", .0.line())]
    Json(#[source] serde_json::Error),
    #[error("schema version {0} is not known to this release")]
    SchemaVersion(u32),
    #[error("a number is too large to be a measurement")]
    Change,
}

impl ForeignComparison {
    /// Reads and checks a comparison.
    ///
    /// # Errors
    /// Returns an error if it is not a valid comparison.
    pub fn read(path: &Path) -> Result<ForeignComparison, ForeignComparisonError> {
        ForeignComparison::checked(path).map_err(|problem| ForeignComparisonError {
            path: path.to_owned(),
            problem,
        })
    }

    fn checked(path: &Path) -> Result<ForeignComparison, Problem> {
        let json = stored_file::read(path, MAX_FILE_BYTES).map_err(Problem::File)?;
        ForeignComparison::from_json(&json)
    }

    fn from_json(json: &[u8]) -> Result<ForeignComparison, Problem> {
        let read: ForeignComparison =
            serde_json::from_slice(&visible_json(json)).map_err(Problem::Json)?;
        if read.schema_version != COMPARISON_SCHEMA_VERSION {
            return Err(Problem::SchemaVersion(read.schema_version));
        }
        let mut changes = read.benchmarks.iter().flat_map(|b| &b.effects);
        let slots = |line: &ChangedLine| [line.baseline_slots, line.candidate_slots];
        let mut slots = read.lines.iter().flat_map(slots);
        if changes.any(|change| change.difference.abs() > LARGEST_CHANGE)
            || slots.any(|slots| !(0.0..MAX_SLOTS).contains(&slots))
        {
            Err(Problem::Change)
        } else {
            Ok(read)
        }
    }

    /// Returns the comment for the comparison in `json`, if it is one.
    #[cfg(any(test, fuzzing, feature = "examples"))]
    pub fn comment_of(json: &[u8]) -> Option<String> {
        let read = ForeignComparison::from_json(json).ok()?;
        Some(read.to_string())
    }

    /// Returns whether the two runs could be compared.
    pub fn is_comparable(&self) -> bool {
        self.outcome != Outcome::NotComparable
    }

    /// Returns the names of the benchmarks that regressed.
    pub fn regressed(&self) -> Vec<String> {
        let regressed = self.benchmarks.iter();
        let regressed = regressed.filter(|benchmark| benchmark.verdict == Verdict::Regressed);
        let names = regressed.map(|benchmark| benchmark.id.name.clone());
        names.collect()
    }

    /// Returns whether there is anything to report.
    pub fn has_news(&self) -> bool {
        let is_told =
            |b: &Benchmark| !matches!(b.verdict, Verdict::Unchanged | Verdict::Inconclusive);
        self.outcome != Outcome::Passed
            || !self.missing.is_empty()
            || self.benchmarks.iter().any(is_told)
    }
}
