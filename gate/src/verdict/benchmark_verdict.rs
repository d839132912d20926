//! The judgement on one benchmark: the verdict, the effect on every metric, and what explains it.
//!
//! Part of the JSON of a [`Comparison`](super::Comparison), which documents what fractions and
//! differences refer to.

use criterion_topdown::activity::Elsewhere;
use criterion_topdown::provenance::SourceKind;
use criterion_topdown::run_file::{Benchmark, BenchmarkId};
use serde::{Deserialize, Serialize};

use super::code_change::ExecutedChange;
use super::disagreement::Disagreement;
use super::functions::FunctionChange;
use super::rules::{self, CheckedRule, Evidence, Rule, RuleState};
use crate::comparability::Difference;
use crate::event_rates::EventRates;
use crate::metric::Metric;
use crate::summary::Summary;

/// The verdict on a benchmark, in the order of reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The time surely grew, the slots do not explain it, and time does not gate: one of the two is
    /// not about the work.
    TimeDisagrees,
    /// Certainly slower, by enough to matter.
    Regressed,
    /// The two sides cannot be compared.
    NotComparable,
    /// Slower like a regression, but by no more than what the user accepted with a reason.
    Accepted,
    /// A category grew but the total did not.
    Shifted,
    /// Too few launches, or too noisy, for any other verdict.
    Inconclusive,
    /// Certainly faster, by enough to matter.
    Improved,
    /// Certainly, any difference is below the margin.
    Unchanged,
}

impl Verdict {
    /// Returns the words that reports use.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::TimeDisagrees => "time disagrees",
            Verdict::Regressed => "regressed",
            Verdict::NotComparable => "not comparable",
            Verdict::Accepted => "accepted",
            Verdict::Shifted => "shifted",
            Verdict::Inconclusive => "inconclusive",
            Verdict::Improved => "improved",
            Verdict::Unchanged => "unchanged",
        }
    }

    /// Returns whether it is a decision about the benchmark.
    pub fn is_decided(self) -> bool {
        !matches!(
            self,
            Verdict::TimeDisagrees | Verdict::NotComparable | Verdict::Inconclusive
        )
    }
}

/// The judgement on one benchmark.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BenchmarkVerdict {
    /// The benchmark.
    pub id: BenchmarkId,
    /// Where its numbers come from (for the candidate, if the two differ).
    pub source: SourceKind,
    /// The verdict.
    pub verdict: Verdict,
    /// The rule that gave it; absent if not comparable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<Rule>,
    /// All rules in order, as they were checked; empty if not comparable.
    #[serde(skip)]
    pub rules: Vec<CheckedRule>,
    /// Where its work is, if it is not in the slots of one side or both; then only its time was
    /// judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<Elsewhere>,
    /// Whether it looks slower but not with certainty, so that more launches are worthwhile.
    pub suspect: bool,
    /// Which look the verdict is from: 1, or 2 if the benchmark was launched again.
    pub look: u32,
    /// The baseline's launches.
    pub baseline_launches: LaunchCount,
    /// The candidate's launches.
    pub candidate_launches: LaunchCount,
    /// What the verdict is based on; absent if not comparable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// One entry per metric that both sides have; empty if not comparable.
    pub effects: Vec<Effect>,
    /// The split of the slots, for information only: shares are never tested.
    pub shares: Vec<Share>,
    /// What both sides counted besides slots, for information only: events are never tested. Absent
    /// if neither counted any, and if not comparable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<EventSides>,
    /// Why the user expects the change, if it is accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted: Option<String>,
    /// Whether an iteration executed the same code as before; absent if either side does not know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub executed: Option<ExecutedChange>,
    /// How time and slots disagree, if they do. With modelled slots, a regression of the slots may
    /// also have one, if time grew by far more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disagreement: Option<Disagreement>,
    /// The cause, if something changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// What would decide, if nothing was decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undecided: Option<Undecided>,
    /// Why its categories were not tested, if they were not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coarse: Option<Coarse>,
    /// How its functions changed, if both sides know them: at most ten, those that changed most
    /// first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<FunctionChange>,
    /// Why it is not comparable.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<Difference>,
}

impl BenchmarkVerdict {
    /// Returns the effect on one metric.
    pub fn effect(&self, metric: Metric) -> Option<&Effect> {
        self.effects.iter().find(|effect| effect.metric == metric)
    }

    /// Gives the verdict by the first of `rules` that holds. Does nothing if the sides are not
    /// comparable.
    pub fn decide(&mut self, rules: &[(Rule, Verdict)]) {
        let Some(evidence) = &self.evidence else {
            return;
        };
        self.rules = rules::check(rules, evidence);
        let mut checked = self.rules.iter();
        if let Some(applied) = checked.find(|rule| rule.state == RuleState::Applies) {
            self.verdict = applied.verdict;
            self.rule = Some(applied.rule);
        }
    }

    /// Returns whether `rule` holds, even if one before it gave the verdict.
    pub fn holds(&self, rule: Rule) -> bool {
        let mut checked = self.rules.iter();
        checked.any(|checked| checked.rule == rule && checked.state != RuleState::DoesNotHold)
    }

    /// Returns whether it is unchanged because the same machine code did the same, whatever the
    /// time.
    pub fn is_same_by_proof(&self) -> bool {
        self.rule == Some(Rule::SameCode)
    }

    /// Returns whether it fails a comparison because its time disagrees with its slots.
    pub fn fails_by_time(&self) -> bool {
        self.verdict == Verdict::TimeDisagrees && self.disagreement.is_some_and(|d| d.fails)
    }

    /// Returns the effect on the metric that decides whether it got slower: slots, or time without
    /// slots.
    pub fn main_effect(&self) -> Option<&Effect> {
        self.effect(Metric::Slots)
            .or_else(|| self.effect(Metric::Wall))
    }
}

/// How many launches a verdict is based on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LaunchCount {
    /// Launches with a time.
    pub times: u32,
    /// Launches with slots: those of the times, or others on the model. Absent if there are no
    /// slots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slots: Option<u32>,
    /// Requested launches without a time.
    pub dropped: u32,
    /// Samples that were dropped in the launches with a value.
    pub samples_dropped: u64,
}

impl LaunchCount {
    /// Returns how many launches the benchmark is judged by: those with slots, or those with times
    /// if there are no slots.
    pub fn used(&self) -> u32 {
        self.slots.unwrap_or(self.times)
    }
}

/// The difference in one metric.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Effect {
    /// The metric.
    pub metric: Metric,
    /// Whether it could fail the benchmark.
    pub gated: bool,
    /// Whether the difference has no noise ([`Method::Exact`]): its interval is a point.
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
    /// How far off the difference of this metric may be, however many launches there are: the
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
    pub fn is_hit(&self) -> bool {
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

/// A category's share of the slots.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Share {
    /// The category.
    pub category: Metric,
    /// The fraction of the baseline's slots.
    pub baseline_fraction: f64,
    /// The fraction of the candidate's slots.
    pub candidate_fraction: f64,
}

/// What both sides of a comparison counted besides slots.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EventSides {
    /// The baseline's events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<EventRates>,
    /// The candidate's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub candidate: Option<EventRates>,
}

impl EventSides {
    /// Returns `None` if neither side counts any.
    pub fn of(baseline: &Benchmark, candidate: &Benchmark) -> Option<EventSides> {
        let rates = |benchmark| Summary::of(benchmark).as_ref().and_then(EventRates::of);
        let (baseline, candidate) = (rates(baseline), rates(candidate));
        (baseline.is_some() || candidate.is_some()).then_some(EventSides {
            baseline,
            candidate,
        })
    }
}

/// Why a benchmark changed: the parts of its difference.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cause {
    /// The metric that is explained.
    pub metric: Metric,
    /// Its difference.
    pub difference: f64,
    /// What kind of cause it is.
    pub kind: CauseKind,
    /// The categories, from the largest part of the difference to the smallest; they add up to it.
    pub parts: Vec<CausePart>,
}

/// What the parts of a difference show.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum CauseKind {
    /// One category is at least half of the difference, and surely contributed to it.
    Category {
        /// The category.
        category: Metric,
    },
    /// No single category is.
    Spread,
    /// Slots moved between categories at about the same total.
    Moved,
    /// The slots did not change but each took longer: clock, steal, kernel or blocking, not the
    /// pipeline.
    TimePerSlot {
        /// Candidate over baseline, minus 1.
        difference: f64,
    },
    /// There are no categories to explain it with.
    Unknown,
}

/// A category's part of a difference.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CausePart {
    /// The category.
    pub category: Metric,
    /// Its difference.
    pub difference: f64,
    /// Its own parts, if level 2 was measured; they add up to it.
    pub details: Vec<CauseDetail>,
}

/// A level-2 category's part of a difference. Coarser than level 1, and never tested.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CauseDetail {
    /// The level-2 category.
    pub name: &'static str,
    /// Its difference.
    pub difference: f64,
}

/// Why a benchmark is inconclusive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Undecided {
    /// The reason.
    pub reason: UndecidedReason,
    /// Launches per side that decide one in two of such benchmarks; `None` if more than 50.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub launches_needed: Option<u32>,
    /// Launches per side that decide about three in four; `None` if more than 50.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub launches_enough: Option<u32>,
    /// The probability that 50 launches per side decide; only if they decide fewer than one in two,
    /// but more than next to none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by_most_fraction: Option<f64>,
    /// The standard deviation between launches, as a fraction of the total.
    pub launch_deviation: f64,
}

/// Why a benchmark is inconclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum UndecidedReason {
    /// One launch does not show how much launches differ.
    OneLaunch,
    /// The launches differ too much for their number.
    Noise,
    /// The difference is about as large as the margin, and no number of launches is likely to show
    /// on which side of it.
    Margin,
    /// The two runs drift too far apart for any number of launches.
    Drift,
    /// The total looks worse, but the policy does not let it fail the benchmark.
    NotGated,
    /// The slots did not change, but the time looks longer.
    TimeLooksLonger,
    /// With only the time of so few benchmarks, a change cannot be distinguished from the drift of
    /// the machine between the two runs.
    DriftUnknown,
    /// All benchmarks took longer, and without slots the machine cannot be distinguished from a
    /// change.
    MachineOrGlobalChange,
    /// The windows themselves cost more than half of a side's slots.
    MostlyWindows,
}

/// Categories that are too coarse to be tested.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Coarse {
    /// The baseline's mean resolution, as a fraction of its slots.
    pub baseline_resolution: f64,
    /// The candidate's mean resolution, as a fraction of its slots.
    pub candidate_resolution: f64,
    /// The coarsest resolution that is tested.
    pub limit: f64,
}
