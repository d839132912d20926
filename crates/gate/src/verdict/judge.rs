//! Judges one benchmark.

use topdown_run::provenance::SourceKind;
use topdown_run::run_file::{Benchmark, Run};

use super::allocations::{AllocationChange, Uncounted};
use super::benchmark_verdict::{BenchmarkVerdict, EventSides, LaunchCount, Share};
use super::cause;
use super::code_change::{self, ExecutedChange};
use super::disagreement;
use super::effect::{Effect, Interval, TestOutcome};
use super::measured::Measured;
use super::rules::{Evidence, Method, RULES, Rule, Verdict};
use super::suite::SuiteTest;
use super::tested::{ONE_SIDED_ERROR, Tested};
use super::undecided::Outlooks;
use super::windows;
use crate::comparability;
use crate::comparability::Difference;
use crate::metric::Metric;
use crate::policy::Policy;
use crate::statistics::agreement::{MIN_AGREEING_LAUNCHES, is_exact, is_sampled};
use crate::statistics::margin::{exceeds, reaches};
use crate::statistics::noise::{Estimate, Uncertainty};
use crate::statistics::student::Quantiles;

/// Judges the benchmarks of one suite.
pub struct Judge<'a> {
    test: &'a SuiteTest,
    policy: &'a Policy,
    planned_launches: [u32; 2],
    /// Upper bound of the factor by which other work lengthened the candidate's launches.
    load_factor: f64,
    two_sided: Quantiles,
    outlooks: Outlooks<'a>,
}

impl<'a> Judge<'a> {
    pub fn new(test: &'a SuiteTest, policy: &'a Policy, baseline: &Run, candidate: &Run) -> Self {
        Judge {
            test,
            policy,
            planned_launches: [baseline, candidate].map(|run| run.launch_settings.launches),
            load_factor: candidate.load_factor(),
            two_sided: Quantiles::for_tail(ONE_SIDED_ERROR / 2.0),
            outlooks: Outlooks::new(test),
        }
    }

    /// Returns the verdict on a benchmark whose sides are not comparable.
    pub fn not_comparable(
        &self,
        baseline: &Benchmark,
        candidate: &Benchmark,
        differences: Vec<Difference>,
    ) -> BenchmarkVerdict {
        let mut verdict = self.empty(baseline, candidate);
        verdict.differences = differences;
        verdict
    }

    /// Judges a benchmark that can be compared; `first` is its first verdict if it was launched
    /// again.
    pub fn verdict(
        &self,
        measured: &Measured<'_>,
        first: Option<&BenchmarkVerdict>,
    ) -> BenchmarkVerdict {
        let main = measured.main_metric();
        let min_launches = measured.min_launches(main);
        let mut tested: Vec<Tested> = Metric::ALL
            .into_iter()
            .filter_map(|metric| self.tested(measured, metric, first))
            .collect();
        mark_suspicious(&mut tested, main);
        let mut verdict = self.empty(measured.baseline, measured.candidate);
        verdict.look = if first.is_some() { 2 } else { 1 };
        verdict.coarse = measured.coarse;
        let point = measured.margins(main).point;
        verdict.schedules = (measured.schedules.as_ref()).map(|all| all.summary(point));
        verdict.shares = shares(&tested);
        verdict.events = EventSides::new(measured.baseline, measured.candidate);
        let Some(total) = tested.iter().find(|t| t.metric == main) else {
            return verdict;
        };
        let policy_gates_time = self.policy.rules_of(&verdict.id).gates(Metric::Wall);
        verdict.disagreement = (min_launches.min(measured.min_launches(Metric::Wall)) > 1)
            .then(|| {
                let load = self.load_factor;
                disagreement::detect(self.test, measured, &tested, policy_gates_time, load)
            })
            .flatten();
        verdict.executed = code_change::executed(measured.baseline, measured.candidate);
        verdict.slow_launches =
            (self.test.slow_launches(measured)).filter(|_| self.test.is_gated(measured, main));
        let evidence = Evidence {
            sometimes_slower: verdict.slow_launches.is_some_and(|slow| slow.is_certain),
            may_be_sometimes_slower: verdict.slow_launches.is_some(),
            time_disagrees: verdict.disagreement.is_some(),
            allocates_more: verdict.allocations.is_some_and(|change| change.may_fail()),
            ..self.evidence(measured, &tested, total, min_launches)
        };
        verdict.evidence = Some(evidence);
        verdict.decide(&RULES);
        let accepted = self.accepted(&verdict, &tested);
        verdict.evidence = Some(Evidence {
            same_code: self.is_the_machines(&verdict, &evidence),
            accepted: accepted.is_some(),
            // Only now: the same code allocates the same, whether counted or not.
            allocations_unknown: verdict.allocations_uncounted.is_some(),
            ..evidence
        });
        verdict.decide(&RULES);
        verdict.accepted = accepted.filter(|_| verdict.verdict == Verdict::Accepted);
        verdict.suspect = !verdict.holds(Rule::Slower)
            && !verdict.is_same_by_proof()
            && tested.iter().any(|t| t.effect.looks_worse);
        if verdict.verdict == Verdict::Inconclusive {
            let took_longer = tested.iter().find(|t| {
                evidence.took_longer && !evidence.depends_on_order && t.metric == Metric::Wall
            });
            verdict.undecided = Some(match took_longer {
                Some(wall) => self.outlooks.undecided_time(measured, wall),
                None => self.outlooks.undecided_total(measured, total, &evidence),
            });
        }
        if verdict.verdict == Verdict::Improved && evidence.method == Method::Statistics {
            let estimate = total.estimate;
            let interval = self.simultaneous_interval(&estimate, total.effect.sure_margin, 0.0);
            if let Some(total) = tested.iter_mut().find(|t| t.metric == main) {
                total.effect.interval = Some(interval);
            }
        }
        if verdict.rule != Some(Rule::AllocatesMore) {
            verdict.cause = cause::explain(verdict.verdict, measured, &tested);
        }
        verdict.set_functions(measured.baseline, measured.candidate);
        verdict.effects = tested.into_iter().map(|t| t.effect).collect();
        verdict
    }

    fn empty(&self, baseline: &Benchmark, candidate: &Benchmark) -> BenchmarkVerdict {
        let elsewhere =
            comparability::uncounted_work(baseline.provenance(), candidate.provenance());
        let gates_allocations = self.policy.rules_of(&baseline.id).gates_allocations();
        BenchmarkVerdict {
            id: baseline.id.clone(),
            // If only time judges the benchmark, its source is time on both sides.
            source: match elsewhere {
                Some(_) => SourceKind::Time,
                None => candidate.provenance().source,
            },
            verdict: Verdict::NotComparable,
            rule: None,
            rules: Vec::new(),
            elsewhere,
            suspect: false,
            look: 1,
            baseline_launches: launch_count(baseline, self.planned_launches[0]),
            candidate_launches: launch_count(candidate, self.planned_launches[1]),
            evidence: None,
            effects: Vec::new(),
            shares: Vec::new(),
            events: None,
            allocations: AllocationChange::new(baseline, candidate, gates_allocations),
            allocations_uncounted: Uncounted::allocations_of(baseline, candidate)
                .filter(|_| gates_allocations),
            accepted: None,
            executed: None,
            disagreement: None,
            slow_launches: None,
            schedules: None,
            cause: None,
            undecided: None,
            coarse: None,
            functions: Vec::new(),
            function_parts: Vec::new(),
            no_function: None,
            differences: Vec::new(),
        }
    }

    fn tested(
        &self,
        measured: &Measured<'_>,
        metric: Metric,
        first: Option<&BenchmarkVerdict>,
    ) -> Option<Tested> {
        let contrast = self.test.contrast(measured, metric)?;
        let min_launches = measured.min_launches(metric);
        let exact = measured.is_exact(metric);
        let margins = measured.margins(metric);
        let estimate = if exact {
            Estimate::exact(contrast.difference)
        } else {
            self.test.estimate(measured, metric, &contrast)?
        };
        // Time next to slots is one more chance to err, and drifts most.
        let estimate = if metric == Metric::Wall && measured.has_slots() {
            estimate.added_up()
        } else {
            estimate
        };
        let gated = self.test.is_gated(measured, metric)
            && !(metric != Metric::Wall
                && windows::explain(measured, estimate.difference, margins.point))
            && !(metric == Metric::Wall && has_only_candidate_relaunches(measured, first));
        let resolution = if metric.is_category() {
            measured.resolution
        } else {
            0.0
        };
        let test = estimate.is_certainly_slower(margins.sure, resolution);
        let outcome = if !gated {
            TestOutcome::NotGated
        } else if min_launches <= 1 {
            TestOutcome::OneLaunch
        } else if !reaches(estimate.difference, margins.point) {
            TestOutcome::BelowMargin
        } else if is_only_relatively_slower(measured, metric, margins.point) {
            TestOutcome::OthersFaster
        } else if exact && !measured.shows_in_all_schedules(metric, estimate.difference) {
            TestOutcome::DependsOnOrder
        } else if !exact && test.p >= self.test.alpha_per_test {
            TestOutcome::NotSure
        } else {
            TestOutcome::Hit
        };
        let interval = if exact {
            Interval::point(estimate.difference)
        } else if outcome == TestOutcome::Hit {
            self.simultaneous_interval(&estimate, margins.sure, resolution)
        } else {
            let Uncertainty {
                standard_error,
                degrees_of_freedom,
            } = estimate.measured();
            let half = self.two_sided.at(degrees_of_freedom) * standard_error;
            Interval {
                confidence: 1.0 - ONE_SIDED_ERROR,
                ..Interval::around(estimate.difference, half + resolution)
            }
        };
        Some(Tested {
            metric,
            estimate,
            effect: Effect {
                metric,
                gated,
                exact,
                baseline: contrast.baseline_mean,
                candidate: contrast.candidate_mean,
                difference: estimate.difference,
                interval: (min_launches > 1).then_some(interval),
                p: test.p,
                outcome,
                looks_worse: false,
                point_margin: margins.point,
                sure_margin: margins.sure,
                resolution,
                standard_error: estimate.whole.standard_error,
                degrees_of_freedom: estimate.whole.degrees_of_freedom,
                limit: test.limit,
                limit_standard_error: test.uncertainty.standard_error,
                baseline_own_deviation: contrast.baseline.variance.sqrt(),
                candidate_own_deviation: contrast.candidate.variance.sqrt(),
                baseline_launch_deviation: estimate.baseline_deviation,
                candidate_launch_deviation: estimate.candidate_deviation,
            },
        })
    }

    /// Returns the interval whose lower end is above the sure margin exactly if the test rejects.
    fn simultaneous_interval(&self, estimate: &Estimate, sure: f64, resolution: f64) -> Interval {
        let half = estimate.half_beyond(sure, self.test.alpha_per_test) + resolution;
        Interval {
            simultaneous: true,
            confidence: 1.0 - self.policy.alpha,
            ..Interval::around(estimate.difference, half)
        }
    }

    fn evidence(
        &self,
        measured: &Measured<'_>,
        tested: &[Tested],
        total: &Tested,
        min_launches: usize,
    ) -> Evidence {
        let margins = measured.margins(total.metric);
        let Estimate { difference, .. } = total.estimate;
        let enough_launches = min_launches > 1;
        let p_slower = total.estimate.p_above(0.0);
        let p_faster = total.estimate.is_certainly_faster(margins.sure).p;
        let within = total.estimate.measured();
        let p_not_faster = within.p(difference + margins.point);
        let p_not_slower = within.p(margins.point - difference);
        let hit = |of_category: bool| {
            tested
                .iter()
                .any(|t| t.effect.is_worse() && t.metric.is_category() == of_category)
        };
        Evidence {
            method: measured.method,
            same_code: false,
            accepted: false,
            whole_hit: hit(false),
            category_hit: hit(true),
            allocates_more: false,
            allocations_unknown: false,
            p_slower,
            slower: reaches(difference, margins.sure)
                && p_slower < ONE_SIDED_ERROR
                && measured.shows_in_all_schedules(total.metric, difference),
            p_faster,
            faster: enough_launches
                && self.test.separates_drift(measured)
                && reaches(-difference, margins.point)
                && (measured.method == Method::Exact || p_faster < self.test.alpha_per_test),
            p_not_faster,
            p_not_slower,
            total_within_margin: measured.method == Method::Exact
                || p_not_faster < ONE_SIDED_ERROR && p_not_slower < ONE_SIDED_ERROR,
            costly_windows: total.metric != Metric::Wall
                && windows::explain(measured, difference, margins.point),
            depends_on_order: (measured.schedules.as_ref())
                .is_some_and(|all| all.disagree(difference, margins.point, margins.sure)),
            suite_wide_slowdown: !reaches(difference, margins.point)
                && self.suite_wide_slowdown(measured),
            time_disagrees: false,
            sometimes_slower: false,
            may_be_sometimes_slower: false,
            took_longer: enough_launches && took_longer(tested),
        }
    }

    /// Returns whether the verdict `alone` says nothing about the benchmark, because the same
    /// machine code did the same. Verdicts that the policy fails stay: time that disagrees if it
    /// fails that, and all others if it fails the same code. Modelled slots that changed stay too:
    /// then something differs, and only a doubt about their time can be the machine's.
    fn is_the_machines(&self, alone: &BenchmarkVerdict, evidence: &Evidence) -> bool {
        let is_open = match (evidence.method, alone.verdict) {
            (_, Verdict::Unchanged) => true,
            (_, Verdict::TimeDisagrees) => !self.policy.fail_on.time_disagrees,
            (Method::Exact, Verdict::Inconclusive) => evidence.took_longer,
            (Method::Exact, _) => false,
            // Noise, the machine, or where the code is in memory.
            (Method::Statistics, _) => !self.policy.fail_on.same_code,
        };
        let executed = alone.executed.as_ref();
        let is_doubtful = evidence.costly_windows || evidence.depends_on_order;
        is_open && !is_doubtful && executed.is_some_and(ExecutedChange::is_proof)
    }

    /// Returns why the change is expected, if it is: the benchmark is accepted in this comparison,
    /// or every metric that is hit was accepted, and grew by no more than was seen then plus the
    /// margin; and so were its allocations.
    fn accepted(&self, verdict: &BenchmarkVerdict, tested: &[Tested]) -> Option<String> {
        if let Some(reason) = self.policy.accepted.reason_of(&verdict.id) {
            return Some(reason.to_owned());
        }
        let change = self.policy.accepted.get(&verdict.id.to_string())?;
        if let Some(grown) = verdict.allocations.filter(AllocationChange::may_fail) {
            let accepted = change.allocations?;
            if grown.candidate.exceeds(&accepted) {
                return None;
            }
        }
        let time_alone = verdict.evidence.is_some_and(|e| e.time_disagrees)
            && !tested.iter().any(|t| t.effect.is_worse());
        tested
            .iter()
            .filter(|t| t.effect.is_worse() || time_alone && t.metric == Metric::Wall)
            .all(|t| {
                change.differences.get(&t.metric).is_some_and(|accepted| {
                    !exceeds(t.estimate.difference, accepted + t.effect.point_margin)
                })
            })
            .then(|| change.reason.clone())
    }

    /// Returns whether this benchmark took longer only as much as all of them did, with only time
    /// to go by.
    fn suite_wide_slowdown(&self, measured: &Measured<'_>) -> bool {
        !measured.has_slots()
            && self.test.shift_of(measured).is_some()
            && measured
                .raw(Metric::Wall)
                .is_some_and(|wall| reaches(wall.difference, measured.margins(Metric::Wall).point))
    }
}

fn launch_count(benchmark: &Benchmark, planned: u32) -> LaunchCount {
    let count = |launches: usize| u32::try_from(launches).unwrap_or(u32::MAX);
    let needed = if is_exact(benchmark) || is_sampled(benchmark) {
        planned.min(count(MIN_AGREEING_LAUNCHES))
    } else {
        planned
    };
    let times = count(benchmark.times.launches.len());
    let of_times = benchmark
        .times
        .launches
        .iter()
        .map(|launch| launch.samples_dropped);
    let slots = benchmark.slots.as_ref();
    let dropped: Vec<u32> = match slots {
        Some(slots) => slots
            .launches
            .iter()
            .map(|launch| launch.samples_dropped)
            .collect(),
        None => of_times.collect(),
    };
    LaunchCount {
        times,
        slots: slots.map(|slots| count(slots.launches.len())),
        dropped: needed.saturating_sub(times),
        samples_dropped: dropped.into_iter().map(u64::from).sum(),
    }
}

/// Marks the gated metrics that look worse, by the measured difference and for this benchmark
/// alone.
fn mark_suspicious(tested: &mut [Tested], main: Metric) {
    // A category does not fail a benchmark that did not get slower.
    let slower = tested
        .iter()
        .any(|t| t.metric == main && reaches(t.estimate.difference, t.effect.sure_margin));
    for t in tested {
        // Further launches have the same schedules.
        t.effect.looks_worse = t.effect.gated
            && t.effect.outcome != TestOutcome::DependsOnOrder
            && t.looks_worse()
            && (!t.metric.is_category() || slower);
    }
}

/// Returns whether a benchmark that has only time took less than `margin` longer, as it was
/// measured. What made others faster need not have done the same to it.
fn is_only_relatively_slower(measured: &Measured<'_>, metric: Metric, margin: f64) -> bool {
    metric == Metric::Wall
        && !measured.has_slots()
        && measured
            .raw(Metric::Wall)
            .is_some_and(|as_measured| !reaches(as_measured.difference, margin))
}

/// Returns whether gated time was not hit but surely grew, for this benchmark alone.
fn took_longer(tested: &[Tested]) -> bool {
    let find = |metric| tested.iter().find(|t| t.metric == metric);
    let (Some(slots), Some(wall)) = (find(Metric::Slots), find(Metric::Wall)) else {
        return false;
    };
    wall.effect.gated
        && !wall.effect.is_worse()
        && wall.effect.p < ONE_SIDED_ERROR
        && cause::only_wall_regressed(slots, wall, tested)
}

/// Returns whether only the candidate has further launches since `first`. If the baseline has no
/// launches from that minute, the candidate's time then says nothing about the code.
fn has_only_candidate_relaunches(
    measured: &Measured<'_>,
    first: Option<&BenchmarkVerdict>,
) -> bool {
    first.is_some_and(|first| {
        measured.baseline.times.launches.len() == first.baseline_launches.times as usize
    })
}

fn shares(tested: &[Tested]) -> Vec<Share> {
    let Some(slots) = tested.iter().find(|t| t.metric == Metric::Slots) else {
        return Vec::new();
    };
    tested
        .iter()
        .filter(|t| t.metric.is_category())
        .map(|t| Share {
            category: t.metric,
            baseline_fraction: t.effect.baseline / slots.effect.baseline,
            candidate_fraction: t.effect.candidate / slots.effect.candidate,
        })
        .collect()
}
