//! The history of a suite: where each benchmark's slots changed for good.
//!
//! A comparison asks whether the newest run is slower than a baseline, and a slowdown of 1 % is
//! below its margin, even ten times in a row. This module looks at all runs of a name together. The
//! unit is the run, since sessions drift; runs differ at least as much as their launches suggest.
//! `docs/history.md` describes the procedure, which `judge` and `series` implement.
//!
//! The JSON of `cargo topdown history --json` is [`Trend`], field by field.

mod judge;
mod series;
mod since;

use serde::{Deserialize, Serialize};
use topdown_run::provenance::SourceKind;
use topdown_run::run_file::BenchmarkId;

use crate::comparability::Difference;
use crate::metric::Metric;
pub use judge::{MIN_RUNS, run_of, trend};
pub use since::{NEWEST_RUNS, SlowerOverTime};

/// The version of the JSON format.
pub const TREND_SCHEMA_VERSION: u32 = 1;

/// The runs of a name, and where the benchmarks of the newest one changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trend {
    /// The version of this format.
    #[cfg_attr(feature = "schema", schemars(extend("const" = TREND_SCHEMA_VERSION)))]
    pub schema_version: u32,
    /// The name under which the user requested it.
    pub label: String,
    /// The probability of finding any change point in a suite that never changed.
    pub alpha: f64,
    /// The number of series that were searched for change points; `alpha` is divided among them.
    pub series: usize,
    /// The runs that can be compared with the newest, oldest first; the newest is the last.
    pub runs: Vec<TrendRun>,
    /// The runs that cannot be compared, oldest first.
    pub left_out: Vec<LeftOut>,
    /// Why files of the history could not be read.
    pub unreadable: Vec<String>,
    /// Changes of at least half of the benchmarks at once.
    pub global_changes: Vec<GlobalChange>,
    /// The benchmarks of the newest run, in the order of their ids.
    pub benchmarks: Vec<BenchmarkTrend>,
}

/// A change of at least half of the benchmarks at once, which says little about any of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GlobalChange {
    /// The kind of change.
    pub kind: ChangeKind,
    /// The first run of the new levels, give or take one: an index into `runs`.
    pub run: usize,
    /// Number of benchmarks that changed.
    pub benchmarks: usize,
}

/// A short description of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrendRun {
    /// Its id.
    pub id: String,
    /// When it started, RFC 3339 in UTC.
    pub started_at: String,
    /// The commit that was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git_commit: Option<String>,
    /// Whether the work tree differed from that commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git_dirty: Option<bool>,
}

/// A run, or one benchmark of it, that cannot be compared with the newest run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftOut {
    /// The run.
    pub run: TrendRun,
    /// The benchmark; absent if all are left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub benchmark: Option<BenchmarkId>,
    /// The fields that differ; `candidate` is the value in the newest run. Empty if the run has no
    /// value of the benchmark.
    pub differences: Vec<Difference>,
}

/// The history of one benchmark.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BenchmarkTrend {
    /// The benchmark.
    pub id: BenchmarkId,
    /// Where its numbers come from.
    pub source: SourceKind,
    /// Slots, or time if there are none.
    pub metric: Metric,
    /// One for each run that has it, oldest first.
    pub points: Vec<TrendPoint>,
    /// Where it changed, oldest first.
    pub changes: Vec<TrendChange>,
    /// The newest level over the oldest, minus 1; absent without a change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overall_difference: Option<f64>,
}

/// A benchmark in one run: means over the run's launches, per iteration.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrendPoint {
    /// An index into `runs`.
    pub run: usize,
    /// The benchmark's metric: slots, or nanoseconds.
    pub value: f64,
    /// The time in nanoseconds, beside slots; absent where the metric is the time itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_ns: Option<f64>,
    /// The categories, which add up to the slots; empty without them.
    pub categories: Vec<CategoryAmount>,
}

/// A category in slots per iteration.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CategoryAmount {
    /// The category.
    pub metric: Metric,
    /// Its slots per iteration.
    pub slots: f64,
}

/// A change point, from which another level holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrendChange {
    /// The kind of change.
    pub kind: ChangeKind,
    /// The first run of the new level: an index into `runs`.
    pub run: usize,
    /// Runs on the level before, and on the level after.
    pub runs_before: usize,
    /// See `runs_before`.
    pub runs_after: usize,
    /// The mean of the benchmark's metric on the level before.
    pub before: f64,
    /// The mean on the level after.
    pub after: f64,
    /// After over before, minus 1.
    pub difference: f64,
    /// Each category's part of it, as fractions of the total before: they add up to `difference`.
    pub categories: Vec<CategoryDifference>,
    /// The metrics whose own history changes here.
    pub found_in: Vec<Metric>,
    /// The probability of such a change in the history of one metric without changes.
    pub p_value: f64,
    /// What else differs between the runs on both sides: compiler, kernel, settings.
    pub differences: Vec<Difference>,
}

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// More slots, or more time.
    Slower,
    /// Fewer slots, or less time.
    Faster,
    /// Certainly other categories, but the same total within what can be detected.
    Shifted,
}

impl ChangeKind {
    /// Returns the word that reports use.
    pub fn name(self) -> &'static str {
        match self {
            ChangeKind::Slower => "slower",
            ChangeKind::Faster => "faster",
            ChangeKind::Shifted => "shifted",
        }
    }
}

/// A category's part of a change.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CategoryDifference {
    /// The category.
    pub metric: Metric,
    /// Its slots after minus those before, as a fraction of all slots before.
    pub difference: f64,
}

impl Trend {
    /// Keeps the benchmarks that `wanted` accepts; judges nothing again.
    pub fn retain(&mut self, wanted: impl Fn(&BenchmarkId) -> bool) {
        self.benchmarks.retain(|benchmark| wanted(&benchmark.id));
    }

    /// Returns the history of a benchmark.
    pub fn of(&self, id: &BenchmarkId) -> Option<&BenchmarkTrend> {
        let index = self.benchmarks.binary_search_by(|b| b.id.cmp(id)).ok()?;
        Some(&self.benchmarks[index])
    }

    /// Returns the benchmarks that became slower within the newest `runs` runs.
    pub fn slower_within(&self, runs: usize) -> impl Iterator<Item = &BenchmarkTrend> {
        let first = self.runs.len().saturating_sub(runs);
        self.benchmarks.iter().filter(move |benchmark| {
            let mut changes = benchmark.changes.iter();
            changes.any(|change| change.kind == ChangeKind::Slower && change.run >= first)
        })
    }

    /// Returns whether any benchmark has enough runs for a change point.
    pub fn is_long_enough(&self) -> bool {
        self.benchmarks.iter().any(|b| b.points.len() >= MIN_RUNS)
    }
}
