//! The gate: what is a regression, and what is not.
//!
//! This is the only place that decides "regressed". The procedure is that of `docs/gate.md`, the
//! arithmetic is in [`statistics`](crate::statistics), and the result is a [`Comparison`], which
//! reports print without computing anything.

mod allocations;
mod benchmark_verdict;
mod budget;
mod cause;
mod code_change;
mod common_cause;
pub mod comparison;
mod disagreement;
mod earlier;
mod effect;
mod function_parts;
mod functions;
mod judge;
mod left_out;
mod machine_part;
mod measured;
mod noise;
mod renamed;
pub mod rules;
mod slow_launches;
mod slower_over_time;
mod suite;
mod suite_summary;
mod tested;
#[cfg(test)]
mod tests;
mod two_looks;
mod undecided;
mod warning;
mod windows;

use std::collections::{HashMap, HashSet};

pub use crate::statistics::agreement::is_exact;
pub use allocations::{AllocationChange, Uncounted};
pub use benchmark_verdict::*;
pub use budget::{BudgetCheck, BudgetResult, BudgetStatus, check_budgets};
pub use cause::{Cause, CauseDetail, CauseKind, CausePart};
pub use code_change::{CodeChange, ExecutedChange, FunctionName};
pub use common_cause::{CommonCause, SharedFunction, common_causes, shared_function};
pub use comparison::*;
pub use disagreement::Disagreement;
pub use effect::{Effect, Interval, TestOutcome};
pub use function_parts::FunctionPart;
pub use functions::FunctionChange;
pub use left_out::{named, wild_launches};
pub use measured::CoarseCategories;
pub use noise::{BenchmarkNoise, MetricNoiseLevel, NoiseReport, noise_of};
pub use renamed::Renamed;
use topdown_run::run_file::{Benchmark, BenchmarkId, Run};

use crate::cold::ColdChange;
use crate::comparability::{self, Difference};
use crate::launches_made::LaunchesMade;
use crate::policy::Policy;
use crate::selection::{self, Exclusion, RunSelection};
use judge::Judge;
use measured::Measured;
pub use rules::{CheckedRule, Evidence, Method, Rule, RuleState, Verdict};
pub use slow_launches::SlowLaunches;
pub use suite::Sessions;
use suite::SuiteTest;
pub use suite_summary::{
    BackendBoundDrift, CommonPart, DriftBetween, MachineShift, MetricNoise, ShiftBasis, Suite,
    TimePerSlot,
};
pub use two_looks::{FirstLook, suspects};
pub use warning::{MIN_REPORTED_LOAD_FACTOR, Warning};

/// A run, and the name or path under which the user requested it.
#[derive(Clone, Copy, Debug)]
pub struct LabelledRun<'a> {
    /// The name or path.
    pub label: &'a str,
    /// The run.
    pub run: &'a Run,
}

/// Judges `candidate` against `baseline`. Does not depend on the order of benchmarks in either.
pub fn compare(
    baseline: LabelledRun<'_>,
    candidate: LabelledRun<'_>,
    policy: &Policy,
) -> Comparison {
    compare_after(&[], baseline, candidate, policy)
}

/// Like [`compare`], with `earlier` runs of the machine, oldest first, that show how far it drifts
/// between two sessions.
pub fn compare_after(
    earlier: &[Run],
    baseline: LabelledRun<'_>,
    candidate: LabelledRun<'_>,
    policy: &Policy,
) -> Comparison {
    look(baseline, candidate, policy, 1, Sessions::Apart { earlier })
}

/// Like [`compare`], for runs whose launches were made in turn.
pub fn compare_in_turn(
    baseline: LabelledRun<'_>,
    candidate: LabelledRun<'_>,
    policy: &Policy,
) -> Comparison {
    look(baseline, candidate, policy, 1, Sessions::RoundRobin)
}

/// Adds what became slower in steps that each comparison passed, by `runs`, oldest first, the last
/// of which is the candidate.
pub fn with_history(comparison: Comparison, runs: &[Run], policy: &Policy) -> Comparison {
    let mut slower_over_time = slower_over_time::slower_after(runs, policy);
    let others = (comparison.benchmarks.iter()).filter(|b| b.verdict != Verdict::Regressed);
    let others: HashSet<&BenchmarkId> = others.map(|b| &b.id).collect();
    slower_over_time.retain(|slower| others.contains(&slower.id));
    let counts = Counts {
        slower_over_time: slower_over_time.len(),
        ..comparison.counts
    };
    let (differences, benchmarks) = (&comparison.differences, &comparison.benchmarks);
    let outcome = outcome(differences, &counts, benchmarks, policy);
    Comparison {
        outcome,
        exit_code: outcome.exit_code(),
        counts,
        slower_over_time,
        ..comparison
    }
}

/// Puts the functions into `comparison` that both runs know by now, and why others are unknown of
/// the baseline and of the candidate. Launches that sample them come after the judgement, which
/// does not depend on functions.
pub fn with_functions(
    comparison: Comparison,
    [baseline, candidate]: [&Run; 2],
    unknown: [&[(BenchmarkId, String)]; 2],
) -> Comparison {
    let pairs = PairedBenchmarks::new(baseline, candidate);
    let functions_of = |mut verdict: BenchmarkVerdict| {
        let nth = (pairs.both).binary_search_by(|(old, _)| old.id.cmp(&verdict.id));
        if let Ok(nth) = nth
            && verdict.is_compared()
        {
            let (old, new) = pairs.both[nth];
            verdict.set_functions(old, new);
        }
        verdict
    };
    let is_of_functions = |warning: &Warning| matches!(warning, Warning::SampledOtherwise { .. });
    let mut warnings = comparison.warnings;
    warnings.retain(|warning| !is_of_functions(warning));
    warnings.extend(warning::sampled_otherwise(&pairs));
    let [of_baseline, of_candidate] = unknown;
    warnings.extend(warning::functions_unknown(of_baseline, true));
    warnings.extend(warning::functions_unknown(of_candidate, false));
    Comparison {
        warnings,
        benchmarks: (comparison.benchmarks.into_iter().map(functions_of)).collect(),
        ..comparison
    }
}

fn look(
    baseline: LabelledRun<'_>,
    candidate: LabelledRun<'_>,
    policy: &Policy,
    looks: u32,
    sessions: Sessions<'_>,
) -> Comparison {
    let (base, new) = (baseline.run, candidate.run);
    let differences = comparability::forbidding(base, new, policy.compare_across_builds);
    let cpus = comparability::of_cpus(&base.machine, &new.machine);
    let pairs = PairedBenchmarks::new(base, new);
    let measured: Vec<Result<Measured<'_>, Vec<Difference>>> = pairs
        .both
        .iter()
        .map(|(a, b)| {
            if differences.is_empty() {
                Measured::new(a, b, policy, &cpus)
            } else {
                Err(differences.clone())
            }
        })
        .collect();
    let first_iterations = (measured.iter().flatten())
        .filter_map(|measured| ColdChange::new(measured.baseline, measured.candidate))
        .collect();
    let test = SuiteTest::new(measured.iter().flatten(), policy, looks, sessions);
    let judge = Judge::new(&test, policy, base, new);
    let benchmarks: Vec<BenchmarkVerdict> = pairs
        .both
        .iter()
        .zip(&measured)
        .map(|((a, b), measured)| match measured {
            Ok(measured) => judge.verdict(measured, None),
            Err(differences) => judge.not_comparable(a, b, differences.clone()),
        })
        .collect();
    let warnings = warning::warnings([base, new], &pairs, &benchmarks, policy);
    let counts = Counts {
        new: pairs.new.len(),
        missing: pairs.missing.len(),
        not_run: pairs.not_run.len(),
        same_code: same_code(base, new, &pairs),
        ..count(&benchmarks)
    };
    let outcome = outcome(&differences, &counts, &benchmarks, policy);
    Comparison {
        schema_version: COMPARISON_SCHEMA_VERSION,
        outcome,
        exit_code: outcome.exit_code(),
        failing: failing(policy),
        missing_fails: !policy.allow_missing,
        slower_over_time_fails: policy.fail_on.slower_over_time,
        becomes_baseline: false,
        counts,
        baseline: summary(baseline),
        candidate: summary(candidate),
        differences,
        warnings,
        suite: test.findings(),
        benchmarks,
        new: pairs.new,
        missing: pairs.missing,
        renamed: pairs.renamed,
        not_run: pairs.not_run,
        slower_over_time: Vec::new(),
        first_iterations,
        lines: Vec::new(),
    }
}

fn failing(policy: &Policy) -> Vec<Verdict> {
    [
        (Verdict::Regressed, true),
        (Verdict::NotComparable, true),
        (Verdict::TimeDisagrees, policy.fail_on.time_disagrees),
        (Verdict::SometimesSlower, policy.fail_on.sometimes_slower),
        (Verdict::Shifted, policy.fail_on.shifted),
        (Verdict::Inconclusive, policy.fail_on.inconclusive),
    ]
    .into_iter()
    .filter_map(|(verdict, fails)| fails.then_some(verdict))
    .collect()
}

/// The benchmarks of two runs, each list in the order of ids. Sums over benchmarks use this order,
/// so that the order in the files cannot change the last bit of a result.
struct PairedBenchmarks<'a> {
    /// Sorted by id.
    both: Vec<(&'a Benchmark, &'a Benchmark)>,
    new: Vec<BenchmarkId>,
    missing: Vec<BenchmarkId>,
    renamed: Vec<Renamed>,
    not_run: Vec<NotRun>,
}

impl<'a> PairedBenchmarks<'a> {
    fn new(baseline: &'a Run, candidate: &'a Run) -> PairedBenchmarks<'a> {
        let mut new: HashMap<&BenchmarkId, _> =
            candidate.benchmarks.iter().map(|b| (&b.id, b)).collect();
        let mut both = Vec::new();
        let selection = RunSelection::new(&candidate.selection);
        let (mut missing, mut not_run) = (Vec::new(), Vec::new());
        for benchmark in &baseline.benchmarks {
            match new.remove(&benchmark.id) {
                Some(other) => both.push((benchmark, other)),
                None => match selection.left_out(&benchmark.id) {
                    None => missing.push(benchmark),
                    Some(by) => not_run.push(NotRun {
                        id: benchmark.id.clone(),
                        by,
                    }),
                },
            }
        }
        let new: Vec<&Benchmark> = new.into_values().collect();
        let renamed = renamed::renamed(&missing, &new);
        let ids = |benchmarks: Vec<&Benchmark>| -> Vec<BenchmarkId> {
            let mut ids: Vec<_> = benchmarks.into_iter().map(|b| b.id.clone()).collect();
            ids.sort();
            ids
        };
        let (new, missing) = (ids(new), ids(missing));
        both.sort_by(|a, b| a.0.id.cmp(&b.0.id));
        not_run.sort_by(|a, b| a.id.cmp(&b.id));
        PairedBenchmarks {
            both,
            new,
            missing,
            renamed,
            not_run,
        }
    }
}

/// Returns how many benchmarks were not run because they execute the same code as in `baseline`,
/// rather than in some other run.
fn same_code(baseline: &Run, candidate: &Run, pairs: &PairedBenchmarks<'_>) -> usize {
    let unchanged = candidate.selection.unchanged.as_ref();
    if unchanged.is_some_and(|unchanged| unchanged.since == baseline.id) {
        (pairs.not_run.iter())
            .filter(|not_run| not_run.by == Exclusion::SameCode)
            .count()
    } else {
        0
    }
}

fn count(benchmarks: &[BenchmarkVerdict]) -> Counts {
    let mut counts = Counts::default();
    for benchmark in benchmarks {
        *match benchmark.verdict {
            Verdict::TimeDisagrees => &mut counts.time_disagrees,
            Verdict::Regressed => &mut counts.regressed,
            Verdict::NotComparable => &mut counts.not_comparable,
            Verdict::Accepted => &mut counts.accepted,
            Verdict::SometimesSlower => &mut counts.sometimes_slower,
            Verdict::Shifted => &mut counts.shifted,
            Verdict::Inconclusive => &mut counts.inconclusive,
            Verdict::Improved => &mut counts.improved,
            Verdict::Unchanged => &mut counts.unchanged,
        } += 1;
        counts.decided += usize::from(benchmark.verdict.is_decided());
    }
    counts
}

/// A certain regression outweighs what is not comparable, which outweighs what is inconclusive. No
/// data is never a pass, unless everything was left out as the same machine code.
fn outcome(
    differences: &[Difference],
    counts: &Counts,
    benchmarks: &[BenchmarkVerdict],
    policy: &Policy,
) -> Outcome {
    let compared = benchmarks.len() - counts.not_comparable;
    if !differences.is_empty() {
        Outcome::NotComparable
    } else if counts.regressed > 0
        || benchmarks.iter().any(BenchmarkVerdict::fails_by_time)
        || policy.fail_on.time_disagrees && counts.time_disagrees > 0
        || policy.fail_on.sometimes_slower && counts.sometimes_slower > 0
        || policy.fail_on.shifted && counts.shifted > 0
        || policy.fail_on.slower_over_time && counts.slower_over_time > 0
    {
        Outcome::Failed
    } else if compared == 0 && (counts.same_code == 0 || counts.not_comparable > 0) {
        Outcome::NotComparable
    } else if !policy.allow_missing && counts.missing > 0 {
        Outcome::Failed
    } else if counts.not_comparable > 0 {
        Outcome::NotComparable
    } else if policy.fail_on.inconclusive && counts.inconclusive > 0 {
        Outcome::Inconclusive
    } else if !policy.allow_nothing_decided && compared > 0 && counts.has_no_evidence() {
        Outcome::NothingDecided
    } else {
        Outcome::Passed
    }
}

/// Describes a run shortly.
pub(crate) fn summary(side: LabelledRun<'_>) -> RunSummary {
    RunSummary {
        label: side.label.to_owned(),
        id: side.run.id.clone(),
        started_at: side.run.started_at.clone(),
        machine: side.run.machine.to_string(),
        git_commit: side.run.build.git_commit.clone(),
        git_dirty: side.run.build.git_dirty,
        debug_information: side.run.build.debug_information,
        launches: LaunchesMade::new(side.run),
        selection: selection::in_words(side.run),
    }
}
