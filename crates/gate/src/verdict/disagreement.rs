//! Time that surely grew by more than the slots.
//!
//! Slots are about the work. If time disagrees, either the time is not the code's (clock, steal,
//! other tenants), or the slots do not see what the code waits for.

use serde::Serialize;
use topdown_run::provenance::SourceKind;

use super::cause;
use super::code_change::{self, CodeChange};
use super::measured::Measured;
use super::suite::SuiteTest;
use super::tested::Tested;
use crate::metric::Metric;
use crate::statistics::margin::reaches;

/// With modelled slots, time that grew by less does not fail: single benchmarks differ by as much
/// between sessions on a shared machine.
const MIN_FAILING_GROWTH: f64 = 0.25;
/// The same in a suite that is too small to show how much its benchmarks drift between sessions, or
/// with too few timed launches to show how much they differ.
const MIN_FAILING_IN_DOUBT: f64 = 1.0;
const SMALL_SUITE: usize = 10;
/// Two launches that happen to resemble each other make any difference look certain.
const MIN_TIMED_LAUNCHES: usize = 3;

/// Time that surely grew although slots do not explain it, and that does not gate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Disagreement {
    /// Growth of the benchmark's time, without the machine's part.
    pub time_difference: f64,
    /// The machine's part: the median growth of the time per slot over the suite. Absent if the
    /// suite has fewer than three benchmarks with slots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_difference: Option<f64>,
    /// Whether the benchmark ran the same code as before.
    pub code: CodeChange,
    /// The least `time_difference` that fails, if it can fail.
    pub least_failing: f64,
    /// Whether it fails the comparison: with modelled slots, if the machine's part is known, time
    /// grew by at least `least_failing`, the code is not the same, and the policy gates time.
    pub fails: bool,
}

/// Returns how time and slots disagree about a benchmark, if they do. Nothing is claimed from time
/// that grew by less than `load_factor`: a few launches of some seconds may all have waited for a
/// CPU, and those of the baseline for none, even where both machines are equally busy.
pub fn detect(
    test: &SuiteTest,
    measured: &Measured<'_>,
    tested: &[Tested],
    policy_gates_time: bool,
    load_factor: f64,
) -> Option<Disagreement> {
    let find = |metric| tested.iter().find(|t| t.metric == metric);
    let (slots, wall) = (find(Metric::Slots)?, find(Metric::Wall)?);
    let surely_grew = |difference: f64| {
        let mut estimate = wall.estimate;
        estimate.difference = difference;
        reaches(difference, wall.effect.point_margin)
            && estimate.is_certainly_slower(wall.effect.sure_margin, 0.0).p < test.alpha_per_time()
    };
    let as_measured = wall.estimate.difference;
    let machine = test.time_per_slot;
    let not_yet_removed = match test.shift_of(measured) {
        Some(_) => 0.0,
        None => machine.map_or(0.0, |machine| machine.difference),
    };
    let time_difference = (1.0 + as_measured) / (1.0 + not_yet_removed) - 1.0;
    if wall.effect.gated
        || !surely_grew(as_measured)
        || !surely_grew(time_difference)
        || 1.0 + as_measured <= load_factor
        || cause::slots_explain(slots, wall)
    {
        return None;
    }
    let code = code_change::classify(measured.baseline, measured.candidate);
    let enough_launches = measured.min_launches(Metric::Wall) >= MIN_TIMED_LAUNCHES;
    let least_failing = match machine {
        Some(machine) if enough_launches && machine.benchmarks >= SMALL_SUITE => MIN_FAILING_GROWTH,
        _ => MIN_FAILING_IN_DOUBT,
    };
    Some(Disagreement {
        time_difference,
        machine_difference: machine.map(|machine| machine.difference),
        code,
        least_failing,
        fails: policy_gates_time
            && measured.candidate.provenance().source == SourceKind::Model
            && machine.is_some()
            && reaches(time_difference, least_failing)
            && matches!(code, CodeChange::Differs | CodeChange::Unknown),
    })
}
