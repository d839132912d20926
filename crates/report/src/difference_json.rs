//! JSON of the difference of one benchmark between two runs.

use std::io::{self, Write};

use serde::Serialize;
use topdown_gate::verdict::{Cause, FunctionChange, RunSummary, Verdict};
use topdown_run::run_file::BenchmarkId;

use super::verdict_sentence::sentence;
use topdown_explain::difference::{Difference, LaunchDifference, Moved};

/// The version of this format.
pub const DIFFERENCE_SCHEMA_VERSION: u32 = 1;

/// Writes `difference` as one JSON object and a line end.
///
/// # Errors
/// Returns an error if writing to `out` fails.
pub fn write(out: &mut impl Write, difference: &Difference<'_>) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &DifferenceReport::new(difference))?;
    out.write_all(b"\n")
}

/// How one benchmark differs between two runs: the JSON of `cargo topdown explain --against
/// --json`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DifferenceReport<'a> {
    /// The version of this format.
    #[cfg_attr(feature = "schema", schemars(extend("const" = DIFFERENCE_SCHEMA_VERSION)))]
    schema_version: u32,
    /// The benchmark.
    benchmark: &'a BenchmarkId,
    /// The run that was compared with.
    baseline: &'a RunSummary,
    /// The run that was judged.
    candidate: &'a RunSummary,
    /// How modelled launches of either side differ; absent if they do not.
    #[serde(skip_serializing_if = "LaunchDifference::is_empty")]
    launches_differ: LaunchDifference<'a>,
    /// The verdict.
    verdict: Verdict,
    /// The verdict in one sentence, for people.
    sentence: String,
    /// The parts of the difference; absent if nothing changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'a Cause>,
    /// The category that changed most; absent if the slots do not explain the difference.
    #[serde(skip_serializing_if = "Option::is_none")]
    explained: Option<&'static str>,
    /// The part of it that has nearly all of its change; absent if both have some, and without
    /// level 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<&'static str>,
    /// The metrics that moved with it.
    moved: &'a [Moved],
    /// The functions that changed most first; differences are fractions of the baseline's slots.
    functions: &'a [FunctionChange],
    /// What did not change enough to be the cause.
    ruled_out: &'a [&'static str],
}

impl<'a> DifferenceReport<'a> {
    fn new(difference: &'a Difference<'a>) -> DifferenceReport<'a> {
        let verdict = difference.verdict;
        DifferenceReport {
            schema_version: DIFFERENCE_SCHEMA_VERSION,
            benchmark: &verdict.id,
            baseline: difference.baseline,
            candidate: difference.candidate,
            launches_differ: difference.launches_differ,
            verdict: verdict.verdict,
            sentence: sentence(verdict, &verdict.id.name),
            cause: verdict.cause.as_ref(),
            explained: difference.dominant.map(|part| part.category.name()),
            part: difference.part,
            moved: &difference.moved,
            functions: &verdict.functions,
            ruled_out: &difference.ruled_out,
        }
    }
}
