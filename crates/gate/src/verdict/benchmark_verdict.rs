//! The judgement on one benchmark: the verdict, the effect on every metric, and what explains it.
//!
//! Part of the JSON of a [`Comparison`](super::Comparison), which documents what fractions and
//! differences refer to.

use serde::Serialize;
use topdown_run::activity::UncountedWork;
use topdown_run::provenance::SourceKind;
use topdown_run::run_file::{Benchmark, BenchmarkId};

use super::allocations::{AllocationChange, Uncounted};
use super::cause::Cause;
use super::code_change::ExecutedChange;
use super::disagreement::Disagreement;
use super::effect::Effect;
use super::function_parts::{self, FunctionPart};
use super::functions::{self, FunctionChange};
use super::measured::CoarseCategories;
use super::rules::{self, CheckedRule, Evidence, Rule, RuleState, Verdict};
use super::slow_launches::SlowLaunches;
use crate::comparability::Difference;
use crate::event_rates::EventRates;
use crate::metric::Metric;
use crate::schedules::ScheduleChanges;
use crate::statistics::agreement::is_sampled;
use crate::summary::Summary;

/// At most this many functions of a benchmark are kept in a comparison.
const MAX_FUNCTIONS: usize = 10;

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
    /// The rule that gave it; absent if neither slots nor time were compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<Rule>,
    /// All rules in order, as they were checked; empty if neither slots nor time were compared.
    #[serde(skip)]
    pub rules: Vec<CheckedRule>,
    /// Where its work is, if it is not in the slots of one side or both; then only its time was
    /// judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<UncountedWork>,
    /// Whether it looks slower but not with certainty, so that more launches are worthwhile.
    pub suspect: bool,
    /// Which look the verdict is from: 1, or 2 if the benchmark was launched again.
    pub look: u32,
    /// The baseline's launches.
    pub baseline_launches: LaunchCount,
    /// The candidate's launches.
    pub candidate_launches: LaunchCount,
    /// What the verdict is based on; absent if neither slots nor time were compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// One entry per metric that both sides have; empty if neither slots nor time were compared.
    pub effects: Vec<Effect>,
    /// The split of the slots, for information only: shares are never tested.
    pub shares: Vec<Share>,
    /// What both sides counted besides slots, for information only: events are never tested, except
    /// for allocations. Absent if neither counted any, and if neither slots nor time were compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<EventSides>,
    /// Allocations of an iteration, and their bytes; absent if either side does not know.
    /// Compared even if slots are not comparable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allocations: Option<AllocationChange>,
    /// The sides that did not count allocations, if the policy lets these fail the benchmark.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allocations_uncounted: Option<Uncounted>,
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
    /// The slow launches of both sides, if the candidate may have a slow path that the baseline
    /// lacks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slow_launches: Option<SlowLaunches>,
    /// Changes of the slots by schedule, if both sides have several in common.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedules: Option<ScheduleChanges>,
    /// The cause, if something changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// What would decide, if nothing was decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undecided: Option<Undecided>,
    /// Why its categories were not tested, if they were not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coarse: Option<CoarseCategories>,
    /// How its functions changed, if both sides know them: at most ten, those that changed most
    /// first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<FunctionChange>,
    /// The parts of its change by function: at most two that explain it, largest first, then code
    /// that only moved. Empty without a cause.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub function_parts: Vec<FunctionPart>,
    /// Why no function explains the change of a sampled benchmark, if none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_function: Option<NoFunction>,
    /// Why it is not comparable; empty if the reason is `allocations_uncounted`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<Difference>,
}

impl BenchmarkVerdict {
    /// Returns the effect on one metric.
    pub fn effect(&self, metric: Metric) -> Option<&Effect> {
        self.effects.iter().find(|effect| effect.metric == metric)
    }

    /// Sets all functions that changed, those that changed most first.
    pub(super) fn set_functions(&mut self, baseline: &Benchmark, candidate: &Benchmark) {
        let mut changes = functions::changes(baseline, candidate);
        self.function_parts = match &self.cause {
            Some(cause) if cause.is_of_slots() => function_parts::parts(&changes, cause.difference),
            _ => Vec::new(),
        };
        let has_cause = self.cause.as_ref().is_some_and(Cause::is_of_slots);
        self.no_function = if has_cause && self.explaining_parts().next().is_none() {
            NoFunction::of([baseline, candidate], &changes)
        } else {
            None
        };
        changes.truncate(MAX_FUNCTIONS);
        self.functions = changes;
    }

    /// Returns the parts of its change by function that explain it.
    pub fn explaining_parts(&self) -> impl Iterator<Item = &FunctionPart> {
        self.function_parts.iter().filter(|part| part.explains)
    }

    /// Returns whether slots or time were compared.
    pub fn is_compared(&self) -> bool {
        self.evidence.is_some()
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

    /// Returns how its allocations grew, if they did.
    pub fn grown_allocations(&self) -> Option<&AllocationChange> {
        self.allocations.as_ref().filter(|change| change.grew)
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

/// Why no function explains the change of a benchmark that was sampled, or whose functions were.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum NoFunction {
    /// A side has no functions, since the model sampled a single iteration of it.
    OneIteration,
    /// The sampled functions differ by less than chance explains.
    Uncertain,
    /// Each function changed by only a small part of the whole.
    Spread,
}

impl NoFunction {
    fn of(sides: [&Benchmark; 2], changes: &[FunctionChange]) -> Option<NoFunction> {
        let is_sampled = sides.into_iter().any(is_sampled);
        let is_unknown = |side: &Benchmark| side.functions.is_none();
        let has_margins = changes.iter().any(|change| change.margin.is_some());
        match () {
            () if is_sampled && sides.into_iter().any(is_unknown) => Some(NoFunction::OneIteration),
            () if has_margins && !changes.iter().any(FunctionChange::is_certain) => {
                Some(NoFunction::Uncertain)
            }
            () if is_sampled || has_margins => Some(NoFunction::Spread),
            () => None,
        }
    }
}

/// Number of launches that a verdict is based on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LaunchCount {
    /// Launches with a time.
    pub times: u32,
    /// Launches with slots: those of the times, or others on the model. Absent if there are no
    /// slots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slots: Option<u32>,
    /// Requested launches without a time. An exact benchmark needs only two.
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
    pub fn new(baseline: &Benchmark, candidate: &Benchmark) -> Option<EventSides> {
        let rates = |benchmark| Summary::new(benchmark).as_ref().and_then(EventRates::new);
        let (baseline, candidate) = (rates(baseline), rates(candidate));
        (baseline.is_some() || candidate.is_some()).then_some(EventSides {
            baseline,
            candidate,
        })
    }
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
    /// Some of the candidate's launches are far slower, and the suite's launches may explain it.
    SlowLaunches,
    /// The slots did not change, but the time looks longer.
    TimeLooksLonger,
    /// With only the time of so few benchmarks, a change cannot be distinguished from the drift of
    /// the machine between the two runs.
    DriftUnknown,
    /// Its launches show the change, but it may be drift between the two sessions, which was
    /// assumed since neither so few benchmarks nor earlier runs show it.
    DriftAssumed,
    /// All benchmarks took longer, and without slots the machine cannot be distinguished from a
    /// change.
    MachineOrGlobalChange,
    /// The benchmark took no longer, but others took less time, and without slots it is not known
    /// whether the machine became faster for this one too.
    OthersFaster,
    /// The windows themselves cost more than half of a side's slots, or so much that what happens
    /// at their edges may be the reason for a difference of modelled slots.
    CostlyWindows,
    /// The slots changed in some orders of its threads, but not in all.
    DependsOnOrder,
    /// The model sampled too few units, which are the same in further launches.
    FewUnits,
}
