//! The difference in one metric, and whether it got worse.

use serde::Serialize;

use crate::metric::Metric;

/// The difference in one metric.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Effect {
    /// The metric.
    pub metric: Metric,
    /// Whether it could fail the benchmark.
    pub gated: bool,
    /// Whether the difference has no noise ([`Method::Exact`](super::Method::Exact)): its interval
    /// is a point.
    pub exact: bool,
    /// The mean over launches, per iteration: slots, or nanoseconds.
    pub baseline: f64,
    /// The same for the candidate. Wall-clock time without the machine shift, if one was removed.
    pub candidate: f64,
    /// Candidate minus baseline, as a fraction of the baseline's total.
    pub difference: f64,
    /// Where the true difference is; absent if a side has a single launch, which does not show how
    /// much launches differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
    /// The least measured difference that matters.
    pub point_margin: f64,
    /// What the true difference must surely be above.
    pub sure_margin: f64,
    /// The p-value against "the true difference is at most `limit`".
    pub p: f64,
    /// Whether it got worse, and if not, why not.
    pub outcome: TestOutcome,
    /// Whether it is gated and looks worse by the measured difference, for this benchmark alone. If
    /// it is not hit, more launches may decide.
    pub looks_worse: bool,
    /// Maximum error of the difference of this metric, however many launches there are: the
    /// resolution of 8-bit ratios. Included in `interval` and `p`.
    pub resolution: f64,
    /// The standard error of the difference; 0 if exact.
    pub standard_error: f64,
    /// The degrees of freedom of the standard error; 0 if exact.
    pub degrees_of_freedom: f64,
    /// What `p` tests: the sure margin plus the resolution, by how much launches differ, or only
    /// the resolution, if sessions drift as well; whichever is less certain.
    pub limit: f64,
    /// The standard error that belongs to it.
    pub limit_standard_error: f64,
    /// The baseline's own standard deviation between launches, as a fraction of the total; 0 for a
    /// single launch.
    pub baseline_own_deviation: f64,
    /// The same for the candidate.
    pub candidate_own_deviation: f64,
    /// The baseline's standard deviation between launches, after borrowing from the suite.
    pub baseline_launch_deviation: f64,
    /// The same for the candidate.
    pub candidate_launch_deviation: f64,
}

impl Effect {
    /// Returns whether the metric got worse.
    pub fn is_worse(&self) -> bool {
        self.outcome == TestOutcome::Hit
    }
}

/// Whether a metric got worse, and if not, the first reason why it is not hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TestOutcome {
    /// The measured difference reaches the point margin and `p` is below the level per test.
    Hit,
    /// It cannot fail the benchmark.
    NotGated,
    /// One launch decides nothing.
    OneLaunch,
    /// The measured difference is below the point margin.
    BelowMargin,
    /// It reaches it only because the machine's part was removed: the benchmark took no longer, but
    /// the others took less time.
    OthersFaster,
    /// Not every schedule shows it, by the sure margin.
    DependsOnOrder,
    /// `p` is not below the level per test.
    NotSure,
}

/// A confidence interval of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// Whether it holds for all tests of the suite at once (as for a hit), or only for this one.
    pub simultaneous: bool,
    /// Its confidence (1 if exact); for a simultaneous interval, that of its lower end over the
    /// suite.
    pub confidence: f64,
}

impl Interval {
    /// Makes an interval around the difference of a quantity, which cannot shrink by more than all
    /// of it.
    pub fn around(difference: f64, half: f64) -> Interval {
        Interval {
            low: (difference - half).max(-1.0),
            high: difference + half,
            simultaneous: false,
            confidence: 1.0,
        }
    }

    /// Makes the interval of a difference without noise.
    pub fn point(difference: f64) -> Interval {
        Interval {
            low: difference,
            high: difference,
            simultaneous: false,
            confidence: 1.0,
        }
    }
}
