//! Budgets: limits that need no baseline.
//!
//! A budget is exceeded if the mean over launches is beyond the limit and, for all budgets of the
//! run at once, surely so: they share the same error probability as a comparison. The slots of a
//! model whose launches agree bit for bit either are beyond the limit or not. If threads were
//! modelled in several orders, all of these must be.

use serde::Serialize;
use topdown_run::run_file::{Benchmark, BenchmarkId, Run, SlotsValue};

use super::comparison::{Outcome, RunSummary};
use super::{LabelledRun, summary};
use crate::allocated::Allocated;
use crate::metric::Metric;
use crate::policy::{Budget, BudgetBound, BudgetQuantity, Policy};
use crate::statistics::agreement::is_exact;
use crate::statistics::margin::exceeds;
use crate::statistics::noise::Estimate;
use crate::statistics::prior::Prior;
use crate::statistics::spread::Spread;
use crate::statistics::student::upper_tail;
use crate::statistics::{mean, variance};

/// The standard deviation between launches that is assumed in addition to the measured one, as in a
/// small suite.
const ASSUMED_DEVIATION: f64 = 0.01;
const ASSUMED_TIME_DEVIATION: f64 = 0.02;

/// The judgement on a run by its budgets.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BudgetCheck {
    /// The version of this format.
    #[cfg_attr(feature = "schema", schemars(extend("const" = super::COMPARISON_SCHEMA_VERSION)))]
    pub schema_version: u32,
    /// The overall result.
    pub outcome: Outcome,
    /// The exit code for the outcome.
    pub exit_code: u8,
    /// The run that was judged.
    pub run: RunSummary,
    /// One entry per benchmark and matching budget, in the order of the budgets.
    pub results: Vec<BudgetResult>,
    /// The patterns of budgets that match no benchmark of the run.
    pub unmatched: Vec<String>,
}

/// The judgement on one benchmark by one budget.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BudgetResult {
    /// The benchmark.
    pub id: BenchmarkId,
    /// The budget.
    pub budget: Budget,
    /// The verdict.
    pub status: BudgetStatus,
    /// The mean over launches, or over schedules if there are several, in the budget's unit; absent
    /// if not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// The p-value against "within the budget"; absent if not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    /// The number of launches.
    pub launches: usize,
}

/// A verdict by a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BudgetStatus {
    /// Certainly beyond the limit.
    Exceeded,
    /// The source does not measure it.
    NotMeasured,
    /// Beyond the limit, but by less than the launches can show.
    Uncertain,
    /// Within the limit.
    Kept,
}

/// Judges `run` by the budgets of `policy`. Does not depend on the order of its benchmarks.
pub fn check_budgets(run: LabelledRun<'_>, policy: &Policy) -> BudgetCheck {
    let mut benchmarks: Vec<&Benchmark> = run.run.benchmarks.iter().collect();
    benchmarks.sort_by(|a, b| a.id.cmp(&b.id));
    let mut wanted = Vec::new();
    let mut unmatched = Vec::new();
    for (pattern, budget) in &policy.budgets {
        let before = wanted.len();
        let matching = benchmarks.iter().filter(|b| pattern.matches(&b.id));
        wanted.extend(matching.map(|benchmark| (*benchmark, *budget)));
        if wanted.len() == before {
            unmatched.push(pattern.to_string());
        }
    }
    let alpha_per_test = policy.alpha / wanted.len().max(1) as f64;
    let results: Vec<BudgetResult> = wanted
        .into_iter()
        .map(|(benchmark, budget)| judge(benchmark, budget, alpha_per_test))
        .collect();
    let outcome = outcome(run.run, &results, &unmatched, policy);
    BudgetCheck {
        schema_version: super::COMPARISON_SCHEMA_VERSION,
        outcome,
        exit_code: outcome.exit_code(),
        run: summary(run),
        results,
        unmatched,
    }
}

/// A budget that matches nothing is an error in the manifest, or its benchmark has disappeared:
/// never a pass.
fn outcome(run: &Run, results: &[BudgetResult], unmatched: &[String], policy: &Policy) -> Outcome {
    let any = |status| results.iter().any(|result| result.status == status);
    if any(BudgetStatus::Exceeded) {
        Outcome::Failed
    } else if any(BudgetStatus::NotMeasured) || !unmatched.is_empty() || run.benchmarks.is_empty() {
        Outcome::NotComparable
    } else if policy.fail_on.inconclusive && any(BudgetStatus::Uncertain) {
        Outcome::Inconclusive
    } else {
        Outcome::Passed
    }
}

fn judge(benchmark: &Benchmark, budget: Budget, alpha_per_test: f64) -> BudgetResult {
    let mut result = BudgetResult {
        id: benchmark.id.clone(),
        budget,
        status: BudgetStatus::NotMeasured,
        value: None,
        p: None,
        launches: match budget.quantity {
            BudgetQuantity::WallNs => benchmark.times.launches.len(),
            _ => benchmark.launches(),
        },
    };
    let Some(values) = values_of(benchmark, budget.quantity) else {
        return result;
    };
    let sign = match budget.bound {
        BudgetBound::AtMost => 1.0,
        BudgetBound::AtLeast => -1.0,
    };
    let limit = budget.limit;
    let is_beyond = |value: f64| exceeds(sign * value, sign * limit);
    let in_schedules = values_in(benchmark.schedules(), budget.quantity);
    if let Some(values) = in_schedules.filter(|values| values.len() > 1) {
        let all = values.iter().all(|value| is_beyond(*value));
        result.value = Some(mean(&values));
        result.p = Some(if all { 0.0 } else { 1.0 });
        result.status = if all {
            BudgetStatus::Exceeded
        } else if values.into_iter().any(is_beyond) {
            BudgetStatus::Uncertain
        } else {
            BudgetStatus::Kept
        };
        return result;
    }
    // Calls of the allocator are counted, whatever the slots are.
    let are_counts = matches!(
        budget.quantity,
        BudgetQuantity::Allocations | BudgetQuantity::AllocatedBytes
    );
    let exact = are_counts && values.iter().all(|value| *value == values[0])
        || is_exact(benchmark) && budget.quantity != BudgetQuantity::WallNs;
    // The mean of equal numbers can differ from them in the last bit.
    let value = mean(if exact { &values[..1] } else { &values });
    let beyond = sign * (value - limit);
    let sure = beyond - resolution(benchmark.slots_launches(), budget.quantity);
    let p = if exact {
        Estimate::exact(beyond).p_above(0.0)
    } else {
        p_beyond(&values, value, sure, budget.quantity)
    };
    result.value = Some(value);
    result.p = Some(p);
    result.status = if !is_beyond(value) {
        BudgetStatus::Kept
    } else if (values.len() > 1 || are_counts) && p < alpha_per_test {
        BudgetStatus::Exceeded
    } else {
        BudgetStatus::Uncertain
    };
    result
}

/// Returns the p-value against "not beyond the limit" if the mean over launches, `value`, is beyond
/// it by `sure`.
fn p_beyond(values: &[f64], value: f64, sure: f64, quantity: BudgetQuantity) -> f64 {
    let unit = if value > 0.0 { value } else { 1.0 };
    let relative: Vec<f64> = values.iter().map(|v| v / unit).collect();
    let assumed = match quantity {
        BudgetQuantity::WallNs => ASSUMED_TIME_DEVIATION,
        _ => ASSUMED_DEVIATION,
    };
    let spread = Spread {
        launches: relative.len(),
        variance: variance(&relative),
        autocorrelation: None,
    };
    let prior = Prior::fit(std::iter::empty(), assumed);
    let standard_error = unit * (prior.moderate(spread) / relative.len() as f64).sqrt();
    upper_tail(
        sure / standard_error,
        prior.degrees_of_freedom + spread.degrees_of_freedom(),
    )
}

/// Returns the quantity of each launch; `None` if it was not measured.
fn values_of(benchmark: &Benchmark, quantity: BudgetQuantity) -> Option<Vec<f64>> {
    match quantity {
        BudgetQuantity::WallNs => Metric::Wall.values(benchmark),
        _ => values_in(benchmark.slots_launches(), quantity),
    }
}

/// Returns a quantity other than time in each launch or schedule; `None` if it was not measured.
fn values_in(launches: &[SlotsValue], quantity: BudgetQuantity) -> Option<Vec<f64>> {
    let allocated = |launch: &SlotsValue| Allocated::from_events(&launch.events);
    let value = |launch: &SlotsValue| match quantity {
        BudgetQuantity::Slots(metric) => metric.value(launch),
        BudgetQuantity::Share(metric) => {
            let part = metric.value(launch)?;
            (launch.slots > 0.0).then(|| part / launch.slots)
        }
        BudgetQuantity::WallNs => None,
        BudgetQuantity::Allocations => Some(allocated(launch)?.times),
        BudgetQuantity::AllocatedBytes => Some(allocated(launch)?.bytes),
    };
    let values: Vec<f64> = launches.iter().map(value).collect::<Option<_>>()?;
    (!values.is_empty()).then_some(values)
}

/// Returns how far off a category may be, however many launches there are, in the quantity's unit.
fn resolution(launches: &[SlotsValue], quantity: BudgetQuantity) -> f64 {
    let largest = |resolution: fn(&SlotsValue) -> f64| {
        let values: Vec<f64> = launches.iter().map(resolution).collect();
        0.5 * mean(&values)
    };
    match quantity {
        BudgetQuantity::Share(_) => largest(|launch| launch.resolution_fraction),
        BudgetQuantity::Slots(metric) if metric != Metric::Slots => {
            largest(|launch| launch.resolution_fraction * launch.slots)
        }
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::Pattern;
    use crate::policy::Subject;
    use crate::scenario::{self, Planted, benchmark, modelled, timed};

    fn policy(budgets: &[(&str, Metric, &str)]) -> Policy {
        let mut policy = Policy::default();
        policy.budgets = budgets
            .iter()
            .map(|(pattern, metric, text)| {
                let budget = Budget::parse(Subject::Metric(*metric), text).unwrap();
                (Pattern::new(pattern), budget)
            })
            .collect();
        policy
    }

    fn checked(run: &Run, policy: &Policy) -> BudgetCheck {
        check_budgets(LabelledRun { label: "new", run }, policy)
    }

    /// 1000 slots per iteration, 40 % retiring, 35 % backend bound, 41.7 ns.
    fn run() -> Run {
        scenario::run(vec![
            benchmark("b", Planted::default()),
            benchmark("a", Planted::default()),
        ])
    }

    #[test]
    fn value_within_budget_passes() {
        let policy = policy(&[
            ("*", Metric::Retiring, ">= 38 %"),
            ("*", Metric::BackendBound, "<= 380 slots"),
            ("a", Metric::Wall, "<= 50 ns"),
            ("suite::*", Metric::Slots, "<= 1100 slots"),
        ]);
        let check = checked(&run(), &policy);
        assert_eq!(check.outcome, Outcome::Passed);
        assert_eq!(check.results.len(), 7);
        assert!(check.results.iter().all(|r| r.status == BudgetStatus::Kept));
    }

    /// 0.1 + 0.2 is more than 0.3 as a number.
    #[test]
    fn exact_limit_is_within_budget() {
        let mut run = scenario::run(vec![modelled("a", Planted::default())]);
        for launch in run.benchmarks[0].slots_launches_mut() {
            launch.slots = (0.1 + 0.2) * 1000.0;
        }
        for (text, expected) in [
            ("<= 300 slots", BudgetStatus::Kept),
            (">= 300 slots", BudgetStatus::Kept),
            ("<= 299.999999999 slots", BudgetStatus::Exceeded),
            (">= 300.000000001 slots", BudgetStatus::Exceeded),
        ] {
            let check = checked(&run, &policy(&[("a", Metric::Slots, text)]));
            assert_eq!(check.results[0].status, expected, "{text}");
        }
    }

    #[test]
    fn value_certainly_beyond_budget_fails() {
        for (metric, text) in [
            (Metric::Retiring, ">= 43 %"),
            (Metric::BackendBound, "<= 320 slots"),
            (Metric::Wall, "<= 35 ns"),
        ] {
            let check = checked(&run(), &policy(&[("b", metric, text)]));
            assert_eq!(check.exit_code, 100, "{text}");
            assert_eq!(check.results[0].status, BudgetStatus::Exceeded);
        }
    }

    #[test]
    fn unresolved_budget_is_uncertain() {
        // Half of 1/255 of the slots is 0.2 %.
        let tight = policy(&[("a", Metric::Retiring, ">= 40.1 %")]);
        let check = checked(&run(), &tight);
        assert_eq!(check.results[0].status, BudgetStatus::Uncertain);
        assert_eq!(check.outcome, Outcome::Passed);
        let mut strict = tight;
        strict.fail_on.inconclusive = true;
        assert_eq!(checked(&run(), &strict).exit_code, 103);
        let one = Planted {
            launches: 1,
            ..Planted::default()
        };
        let one = scenario::run(vec![benchmark("a", one)]);
        let check = checked(&one, &policy(&[("a", Metric::Slots, "<= 10 slots")]));
        assert_eq!(check.results[0].status, BudgetStatus::Uncertain);
    }

    #[test]
    fn modelled_slots_are_beyond_a_budget_or_not() {
        let two = Planted {
            launches: 2,
            ..Planted::default()
        };
        let run = scenario::run(vec![modelled("a", two)]);
        for (text, code) in [("<= 999.99 slots", 100), ("<= 1000 slots", 0)] {
            let check = checked(&run, &policy(&[("a", Metric::Slots, text)]));
            assert_eq!(check.exit_code, code, "{text}");
        }
        let check = checked(&run, &policy(&[("a", Metric::Wall, "<= 41.5 ns")]));
        assert_ne!(check.results[0].status, BudgetStatus::Exceeded);
    }

    #[test]
    fn all_schedules_must_be_beyond_a_budget() {
        let benchmark = modelled("a", Planted::default());
        let status = |slots: &[f64], text: &str| {
            let benchmark = scenario::in_schedules(benchmark.clone(), slots);
            let run = scenario::run(vec![benchmark]);
            let check = checked(&run, &policy(&[("a", Metric::Slots, text)]));
            check.results[0].status
        };
        let some = [1.0, 0.9, 1.1];
        assert_eq!(status(&some, "<= 899 slots"), BudgetStatus::Exceeded);
        // The first one is beyond.
        assert_eq!(status(&some, "<= 950 slots"), BudgetStatus::Uncertain);
        assert_eq!(status(&[1.0], "<= 950 slots"), BudgetStatus::Exceeded);
        // The first one is within.
        assert_eq!(status(&some, "<= 1050 slots"), BudgetStatus::Uncertain);
        assert_eq!(status(&some, "<= 1100 slots"), BudgetStatus::Kept);
        assert_eq!(status(&some, ">= 1050 slots"), BudgetStatus::Uncertain);
        assert_eq!(status(&some, ">= 1101 slots"), BudgetStatus::Exceeded);
    }

    #[test]
    fn one_launch_decides_a_budget_of_allocations() {
        for launches in [1, 3] {
            let planted = Planted {
                launches,
                ..Planted::default()
            };
            let check = |benchmark: Benchmark, text: &str| {
                let mut policy = Policy::default();
                let budget = Budget::parse(Subject::Allocations, text).unwrap();
                policy.budgets = vec![(Pattern::new("*"), budget)];
                checked(&scenario::run(vec![benchmark]), &policy).exit_code
            };
            let allocating = |times| scenario::allocating(modelled("a", planted), times, 96.0);
            assert_eq!(check(allocating(1.0), "<= 1 allocation"), 0);
            assert_eq!(check(allocating(2.0), "<= 1 allocation"), 100);
            assert_eq!(check(allocating(0.0), "<= 0 allocations"), 0);
            assert_eq!(check(allocating(1.0), "<= 95 bytes"), 100);
            assert_eq!(check(allocating(1.0), "<= 96 bytes"), 0);
            // What is not known is not 0.
            let unknown = modelled("a", planted);
            assert_eq!(check(unknown, "<= 0 allocations"), 102);
        }
    }

    #[test]
    fn budget_without_benchmark_is_not_a_pass() {
        let check = checked(&run(), &policy(&[("c", Metric::Slots, "<= 1 slots")]));
        assert_eq!((check.exit_code, check.unmatched.len()), (102, 1));
        let time = scenario::run(vec![timed("a", Planted::default())]);
        let check = checked(&time, &policy(&[("a", Metric::Retiring, ">= 1 %")]));
        assert_eq!(check.exit_code, 102);
        assert_eq!(check.results[0].status, BudgetStatus::NotMeasured);
    }
}
