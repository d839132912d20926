//! Summary of a comparison for the suite as a whole.

use serde::Serialize;

use crate::metric::Metric;

/// Results for the suite as a whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Suite {
    /// The probability that an unchanged suite fails.
    pub alpha: f64,
    /// Benchmarks that were compared.
    pub benchmarks: usize,
    /// Launches that show how often one is slow by accident: all of the baseline, and those of the
    /// candidate where at most one of a benchmark is slow.
    pub launches: usize,
    /// Those of them that are far slower than the others of their benchmark.
    pub slow_launches: usize,
    /// Gated metrics times benchmarks.
    pub tests: usize,
    /// Number of looks at the suite: 2 if suspects are launched again, and `alpha` is split.
    pub looks: u32,
    /// What a p-value must be below: `alpha` divided by the looks and the tests.
    pub alpha_per_test: f64,
    /// Whether wall-clock time gates benchmarks that have slots: only in a suite large enough to
    /// show the machine's share of it.
    pub wall_beside_slots_is_gated: bool,
    /// Whether time gates benchmarks that have nothing else: only if the drift of the machine
    /// between two sessions can be distinguished from a change.
    pub time_alone_is_gated: bool,
    /// Change of the machine's speed: at most one shift per basis.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub machine_shifts: Vec<MachineShift>,
    /// What the slots of all benchmarks have in common, if at least half of the suite moved in the
    /// same direction by at least 1 %: a change of the compiler, its flags, a common dependency or
    /// the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub global_slots_difference: Option<CommonPart>,
    /// The change of the suite's time per slot; absent if fewer than three benchmarks have slots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_per_slot: Option<TimePerSlot>,
    /// Drift of slots for each backend-bound slot; absent without two sessions, or if fewer
    /// than 15 benchmarks are backend bound by a fifth of their slots or more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend_drift: Option<BackendBoundDrift>,
    /// The noise of each metric that was compared.
    pub noise: Vec<MetricNoise>,
}

/// A change of the wall-clock time of many benchmarks, which says nothing about a single one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MachineShift {
    /// Candidate over baseline, minus 1.
    pub difference: f64,
    /// The quantity whose median it is.
    pub basis: ShiftBasis,
    /// The number of benchmarks.
    pub benchmarks: usize,
    /// Whether it was removed from the candidate's times before they were tested.
    pub removed: bool,
}

impl MachineShift {
    /// Returns what is removed from the times of a benchmark that has slots or has not. Without
    /// slots, it is the shift of the benchmarks like it, or else that of the time per slot.
    pub fn removed_from(shifts: &[MachineShift], has_slots: bool) -> Option<f64> {
        let shift_by = |basis| shifts.iter().find(|shift| shift.basis == basis);
        let per_slot = shift_by(ShiftBasis::TimePerSlot);
        let shift = if has_slots {
            per_slot
        } else {
            shift_by(ShiftBasis::Time).or(per_slot)
        };
        shift
            .filter(|shift| shift.removed)
            .map(|shift| shift.difference)
    }
}

/// How a machine shift was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ShiftBasis {
    /// The time per slot of benchmarks with slots, which does not depend on what they execute.
    TimePerSlot,
    /// The time of benchmarks that have only time. A change of all of them at once cannot be
    /// distinguished from one of the machine.
    Time,
}

/// The change of the suite's time per slot.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimePerSlot {
    /// Candidate over baseline, minus 1: the median over benchmarks.
    pub difference: f64,
    /// The number of benchmarks.
    pub benchmarks: usize,
}

/// How noisy a metric was; see `docs/gate.md`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MetricNoise {
    /// The metric.
    pub metric: Metric,
    /// The number of benchmarks that it was learned from.
    pub benchmarks: usize,
    /// The typical standard deviation between launches, as a fraction of the total.
    pub prior_deviation: f64,
    /// Weight of that estimate, in launches.
    pub prior_degrees_of_freedom: f64,
    /// Whether it was learned from the suite; otherwise it was assumed, since the suite is small.
    pub prior_fitted: bool,
    /// The correlation of consecutive launches, as far as it is certain. It makes their mean less
    /// certain.
    pub autocorrelation: f64,
    /// What differs between the two sessions but not between launches; absent if there are not two
    /// sessions, or too few benchmarks to show it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drift: Option<DriftBetween>,
    /// What the benchmarks have in common; absent for fewer than ten.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub common: Option<CommonPart>,
}

/// Drift of benchmarks between two sessions; see `docs/gate.md`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DriftBetween {
    /// The standard deviation over benchmarks, as a fraction of the total.
    pub deviation: f64,
    /// Degrees of freedom of that estimate.
    pub degrees_of_freedom: f64,
    /// Whether it multiplies, like the drift of time: what takes r times as long has √r times as
    /// much drift.
    pub is_factor: bool,
    /// The number of earlier runs of the machine that also contributed.
    #[serde(skip_serializing_if = "is_zero")]
    pub earlier_runs: usize,
    /// The number of benchmarks that surely did not change, if these showed it.
    #[serde(skip_serializing_if = "is_zero")]
    pub unchanged_benchmarks: usize,
    /// Whether it was assumed, since neither the suite nor earlier runs could show it. Left out if
    /// it was learned.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_assumed: bool,
}

/// Drift of slots for each backend-bound slot of the baseline, as beside a neighbour on the
/// shared cache; see `docs/gate.md`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BackendBoundDrift {
    /// What all benchmarks drift by.
    pub slope: f64,
    /// The standard error of the slope.
    pub slope_error: f64,
    /// The standard deviation over benchmarks about it, beyond the drift of their slots.
    pub deviation: f64,
    /// Degrees of freedom of that estimate.
    pub degrees_of_freedom: f64,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// The common part of a suite's differences.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommonPart {
    /// The median of their differences.
    pub difference: f64,
    /// The lower end of its 95 % interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The centre of the densest 40 % of them.
    pub densest: f64,
}
