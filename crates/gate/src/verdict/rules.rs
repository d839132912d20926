//! The rules that give a benchmark its verdict, in order, and the evidence that they look at.
//!
//! They exist once: the judge applies them, and reports print them as they were checked.

use serde::{Deserialize, Serialize};

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
    /// The two sides cannot be compared, or not in what was asked for.
    NotComparable,
    /// Slower like a regression, but by no more than what the user accepted with a reason.
    Accepted,
    /// Some launches are far slower, as those of the baseline are not; the others are as before.
    SometimesSlower,
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
            Verdict::SometimesSlower => "sometimes slower",
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

/// How differences become evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// By tests on launches that differ.
    Statistics,
    /// By the difference alone: the launches of the model agree bit for bit on each side, or both
    /// sides were sampled and all units agree. The margins are the model's, and nothing is
    /// inconclusive except because of its windows' cost.
    Exact,
}

/// What a verdict is based on. The p-values are one-sided and for this benchmark alone; by the
/// exact method they are 0 or 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evidence {
    /// How the differences were judged.
    pub method: Method,
    /// Whether the same machine code did the same, and the policy lets that decide.
    pub same_code: bool,
    /// Whether slots or time are hit.
    pub whole_hit: bool,
    /// Whether a category is hit.
    pub category_hit: bool,
    /// Against "the total did not grow".
    pub p_slower: f64,
    /// Whether an iteration allocates more, and the policy lets that fail.
    pub allocates_more: bool,
    /// Whether the policy lets allocations fail it, but a side did not count them.
    pub allocations_unknown: bool,
    /// Whether the total grew: by at least the sure margin, with `p_slower` below 5 %. A category
    /// alone only fails a benchmark that did.
    pub slower: bool,
    /// Whether the user accepted as much as every metric that is hit grew.
    pub accepted: bool,
    /// Against "the total shrank by at most the sure margin".
    pub p_faster: f64,
    /// Whether it shrank by at least the point margin, with `p_faster` below the level per test.
    pub faster: bool,
    /// Against "the total shrank by the point margin or more".
    pub p_not_faster: f64,
    /// Against "the total grew by the point margin or more".
    pub p_not_slower: f64,
    /// Whether both are below 5 %: any change of the total is below the margin, even if a category
    /// is hit. Always true by the exact method: whatever has no other verdict is unchanged.
    pub total_within_margin: bool,
    /// Whether it took longer only as much as the whole suite did, with only time to go by.
    pub suite_wide_slowdown: bool,
    /// Whether beginning and ending windows costs more than half of a side's slots, or may be the
    /// reason for the difference of modelled slots. Then slots decide nothing.
    pub costly_windows: bool,
    /// Whether a schedule shows a change of the slots by the point margin, but the first one does
    /// not, or not all do by the sure margin. Then the order of threads decides, and not the code.
    pub depends_on_order: bool,
    /// Whether it surely took longer by the margin of time, although slots and machine do not
    /// explain it, and time does not gate it.
    pub time_disagrees: bool,
    /// Whether some of the candidate's launches are far slower than the others, more than of the
    /// baseline, and more than the suite's launches explain.
    pub sometimes_slower: bool,
    /// The same, whether the suite's launches explain it or not.
    pub may_be_sometimes_slower: bool,
    /// Whether time gates it, is not hit, and surely grew by more than the sure margin for this
    /// benchmark alone, although slots do not explain it: it is not unchanged.
    pub took_longer: bool,
}

/// A rule of the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// The same machine code did the same.
    SameCode,
    /// The policy gates allocations that a side did not count, and the benchmark is not slower, or
    /// only by what the user accepted.
    AllocationsUnknown,
    /// It got slower, or took longer, by no more than the user accepted.
    Accepted,
    /// Slots or time are hit, or a category is and the total grew.
    Slower,
    /// An iteration allocates more often or more bytes, and the policy fails that.
    AllocatesMore,
    /// Time surely grew, does not gate, and the slots do not explain it.
    TimeDisagrees,
    /// Beginning and ending windows is most of the slots, or may be the reason for a difference.
    CostlyWindows,
    /// The slots changed in some schedules, but not in all.
    DependsOnOrder,
    /// Time surely grew for this benchmark alone, and the slots do not explain it.
    TookLonger,
    /// It took longer only as much as the whole suite did, with only time to go by.
    SuiteWideSlowdown,
    /// Some launches are far slower, more than of the baseline or than the suite explains.
    SlowLaunches,
    /// Some launches are far slower, more than of the baseline.
    MaybeSlowLaunches,
    /// The total surely shrank.
    Faster,
    /// A category is hit, and the total did not grow.
    CategoryHit,
    /// Any change of the total is surely below the margin.
    TotalWithinMargin,
    /// None of the others.
    NoOther,
}

/// The rules in order, each with the verdict that it gives.
pub const RULES: [(Rule, Verdict); 16] = [
    (Rule::SameCode, Verdict::Unchanged),
    (Rule::AllocationsUnknown, Verdict::NotComparable),
    (Rule::Accepted, Verdict::Accepted),
    (Rule::Slower, Verdict::Regressed),
    (Rule::AllocatesMore, Verdict::Regressed),
    (Rule::TimeDisagrees, Verdict::TimeDisagrees),
    (Rule::CostlyWindows, Verdict::Inconclusive),
    (Rule::DependsOnOrder, Verdict::Inconclusive),
    (Rule::TookLonger, Verdict::Inconclusive),
    (Rule::SuiteWideSlowdown, Verdict::Inconclusive),
    (Rule::SlowLaunches, Verdict::SometimesSlower),
    (Rule::MaybeSlowLaunches, Verdict::Inconclusive),
    (Rule::Faster, Verdict::Improved),
    (Rule::CategoryHit, Verdict::Shifted),
    (Rule::TotalWithinMargin, Verdict::Unchanged),
    (Rule::NoOther, Verdict::Inconclusive),
];

impl Rule {
    fn holds(self, evidence: &Evidence) -> bool {
        // Doubt about the time only matters to a benchmark that would be decided.
        let decided = evidence.faster || evidence.total_within_margin;
        match self {
            Rule::SameCode => evidence.same_code,
            // What is surely slower fails whatever it allocates.
            Rule::AllocationsUnknown => {
                evidence.allocations_unknown && (evidence.accepted || !Rule::Slower.holds(evidence))
            }
            Rule::Accepted => {
                let is_worse = Rule::Slower.holds(evidence)
                    || evidence.allocates_more
                    || evidence.time_disagrees;
                evidence.accepted && is_worse
            }
            Rule::Slower => evidence.whole_hit || evidence.category_hit && evidence.slower,
            Rule::AllocatesMore => evidence.allocates_more,
            Rule::TimeDisagrees => evidence.time_disagrees,
            Rule::CostlyWindows => evidence.costly_windows,
            Rule::DependsOnOrder => evidence.depends_on_order,
            Rule::TookLonger => evidence.took_longer && decided,
            Rule::SuiteWideSlowdown => evidence.suite_wide_slowdown && decided,
            Rule::SlowLaunches => evidence.sometimes_slower,
            Rule::MaybeSlowLaunches => evidence.may_be_sometimes_slower,
            Rule::Faster => evidence.faster,
            Rule::CategoryHit => evidence.category_hit,
            Rule::TotalWithinMargin => evidence.total_within_margin,
            Rule::NoOther => true,
        }
    }
}

/// A rule as it was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckedRule {
    /// The rule.
    pub rule: Rule,
    /// The verdict that it gives.
    pub verdict: Verdict,
    /// Whether it gave it.
    pub state: RuleState,
}

/// Whether a rule gave the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleState {
    /// It is the first that holds.
    Applies,
    /// It holds, but one before it does too.
    Overruled,
    /// It does not hold.
    DoesNotHold,
}

/// Checks `rules` in order; the first that holds applies.
pub(super) fn check(rules: &[(Rule, Verdict)], evidence: &Evidence) -> Vec<CheckedRule> {
    let mut applied = false;
    let checked = |&(rule, verdict): &(Rule, Verdict)| {
        let state = match (rule.holds(evidence), applied) {
            (false, _) => RuleState::DoesNotHold,
            (true, false) => RuleState::Applies,
            (true, true) => RuleState::Overruled,
        };
        applied |= state == RuleState::Applies;
        CheckedRule {
            rule,
            verdict,
            state,
        }
    };
    rules.iter().map(checked).collect()
}
