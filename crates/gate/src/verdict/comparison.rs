//! A finished comparison: everything that reports print. They compute nothing themselves.
//!
//! The JSON of `cargo topdown compare --json` is this type, field by field. Fractions are 0 to 1;
//! differences are fractions of the baseline's total slots per iteration (for wall-clock time: of
//! the baseline's wall-clock time), so that those of the categories add up to that of the slots.

use serde::{Deserialize, Serialize};
use topdown_run::run_file::BenchmarkId;

use super::benchmark_verdict::BenchmarkVerdict;
use super::renamed::Renamed;
use super::rules::Verdict;
use super::suite_summary::Suite;
use super::warning::Warning;
use crate::cold::ColdChange;
use crate::comparability::Difference;
use crate::launches_made::LaunchesMade;
use crate::selection::Exclusion;
use crate::trend::SlowerOverTime;

/// The version of the JSON format.
pub const COMPARISON_SCHEMA_VERSION: u32 = 1;

/// The judgement on a candidate run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// The version of this format.
    #[cfg_attr(feature = "schema", schemars(extend("const" = COMPARISON_SCHEMA_VERSION)))]
    pub schema_version: u32,
    /// The overall result.
    pub outcome: Outcome,
    /// The exit code for the outcome under the policy.
    pub exit_code: u8,
    /// The verdicts that fail a comparison. A benchmark whose time disagrees may also fail it: see
    /// its `disagreement`.
    pub failing: Vec<Verdict>,
    /// Whether a benchmark that is missing in the candidate fails the comparison too.
    pub missing_fails: bool,
    /// Whether a benchmark that became slower over time fails it too.
    pub slower_over_time_fails: bool,
    /// Whether the candidate takes the place of a baseline that it cannot be compared with, so that
    /// nothing failed. Left out if it does not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub becomes_baseline: bool,
    /// The number of benchmarks for each verdict.
    pub counts: Counts,
    /// The run that the candidate was compared with.
    pub baseline: RunSummary,
    /// The run that was judged.
    pub candidate: RunSummary,
    /// Why the two runs cannot be compared at all; empty if they can.
    pub differences: Vec<Difference>,
    /// What a reader should know before trusting this.
    pub warnings: Vec<Warning>,
    /// Results for the suite as a whole.
    pub suite: Suite,
    /// One verdict for every benchmark that both runs have, in the order of their ids.
    pub benchmarks: Vec<BenchmarkVerdict>,
    /// Benchmarks that only the candidate has.
    pub new: Vec<BenchmarkId>,
    /// Benchmarks of the baseline that the candidate was asked for but does not have.
    pub missing: Vec<BenchmarkId>,
    /// Those of `missing` that execute the same code as one of `new`, which is probably the same
    /// benchmark under another name. No verdict depends on it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub renamed: Vec<Renamed>,
    /// Benchmarks of the baseline that the candidate was not asked for.
    pub not_run: Vec<NotRun>,
    /// Benchmarks that became slower since an earlier run of the baseline's history, in steps that
    /// each comparison passed. Empty if there is no history, or a short one.
    pub slower_over_time: Vec<SlowerOverTime>,
    /// Benchmarks whose first iterations initialise something on either side, which is no part of
    /// what is judged, and how that changed. It fails nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub first_iterations: Vec<ColdChange>,
    /// The source lines that tell most of a benchmark's change, if `--annotate` asked for them.
    /// They change no verdict.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<ChangedLine>,
}

/// A source line whose slots changed, or that was edited.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangedLine {
    /// The benchmark.
    pub benchmark: BenchmarkId,
    /// Its file and number, and its text if that is known.
    pub line: String,
    /// The function that it is in; empty if it executes nothing.
    pub function: String,
    /// Whether its text was edited or is new.
    pub is_edited: bool,
    /// Slots per iteration of the baseline, with those of code outside of the workspace that it
    /// calls.
    pub baseline_slots: f64,
    /// The same of the candidate.
    pub candidate_slots: f64,
}

/// A benchmark that a run was not asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NotRun {
    /// The benchmark.
    pub id: BenchmarkId,
    /// What left it out.
    pub by: Exclusion,
}

impl Comparison {
    /// Takes the candidate for the next baseline: it fails nothing that it cannot be compared with
    /// the one before, as after a new compiler.
    #[must_use]
    pub fn of_next_baseline(mut self) -> Comparison {
        if self.outcome == Outcome::NotComparable {
            self.becomes_baseline = true;
            self.exit_code = Outcome::Passed.exit_code();
            self.failing
                .retain(|class| *class != Verdict::NotComparable);
        }
        self
    }

    /// Returns whether the verdict on this benchmark fails the comparison.
    pub fn fails(&self, benchmark: &BenchmarkVerdict) -> bool {
        self.failing.contains(&benchmark.verdict) || benchmark.fails_by_time()
    }
}

/// The overall result of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Nothing regressed.
    Passed,
    /// A benchmark regressed, or has another verdict that the policy counts as a failure.
    Failed,
    /// There was nothing to compare, or something that could not be compared.
    NotComparable,
    /// Nothing regressed, but a benchmark is inconclusive, and the policy counts that as a failure.
    Inconclusive,
    /// No benchmark was decided, and the policy counts that as a failure.
    NothingDecided,
}

impl Outcome {
    /// Returns the program's exit code for this outcome, which files of comparisons contain too.
    pub fn exit_code(self) -> u8 {
        match self {
            Outcome::Passed => 0,
            Outcome::Failed => 100,
            Outcome::NotComparable => 102,
            Outcome::Inconclusive => 103,
            Outcome::NothingDecided => 104,
        }
    }
}

/// The number of benchmarks for each verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counts {
    /// With the verdict `time_disagrees`.
    pub time_disagrees: usize,
    /// With the verdict `regressed`.
    pub regressed: usize,
    /// With the verdict `accepted`.
    pub accepted: usize,
    /// With the verdict `improved`.
    pub improved: usize,
    /// With the verdict `sometimes_slower`.
    pub sometimes_slower: usize,
    /// With the verdict `shifted`.
    pub shifted: usize,
    /// With the verdict `unchanged`.
    pub unchanged: usize,
    /// With the verdict `inconclusive`.
    pub inconclusive: usize,
    /// With the verdict `not_comparable`.
    pub not_comparable: usize,
    /// Those that were decided: all but `inconclusive`, `not_comparable` and `time_disagrees`.
    pub decided: usize,
    /// Only in the candidate.
    pub new: usize,
    /// Only in the baseline, although the candidate was asked for them.
    pub missing: usize,
    /// Only in the baseline, since the candidate was not asked for them.
    pub not_run: usize,
    /// Those of `not_run` that execute the same machine code as in the baseline.
    pub same_code: usize,
    /// Slower than some runs ago, according to the baseline's history.
    pub slower_over_time: usize,
}

impl Counts {
    /// Returns whether nothing at all is known about the code: no benchmark was decided, and none
    /// was left out because it executes the same machine code.
    pub fn has_no_evidence(&self) -> bool {
        self.decided + self.same_code == 0
    }
}

/// A short description of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunSummary {
    /// The name or path under which the user requested it.
    pub label: String,
    /// The run's id.
    pub id: String,
    /// When it started, RFC 3339 in UTC.
    pub started_at: String,
    /// The machine's name for people.
    pub machine: String,
    /// The commit that was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git_commit: Option<String>,
    /// Whether the work tree differed from that commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git_dirty: Option<bool>,
    /// Whether its benches have debug information; `None` if unknown.
    #[serde(skip)]
    pub debug_information: Option<bool>,
    /// Number of its launches.
    #[serde(flatten)]
    pub launches: LaunchesMade,
    /// Which part of the suite was requested, in words; absent for all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selection: Option<String>,
}
