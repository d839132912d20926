//! The protocol of two looks, for callers that can launch again what looks slower without being
//! certain.

use topdown_run::provenance::SourceKind;
use topdown_run::run_file::{BenchmarkId, Run};

use super::benchmark_verdict::BenchmarkVerdict;
use super::comparison::{Comparison, Counts};
use super::judge::Judge;
use super::measured::Measured;
use super::suite::{Sessions, SuiteTest};
use super::{LabelledRun, PairedBenchmarks, count, look, outcome};
use crate::comparability;
use crate::metric::Metric;
use crate::policy::Policy;

/// The first of two looks, which uses half of the error probability.
#[derive(Clone, Debug)]
pub struct FirstLook {
    comparison: Comparison,
    suspects: Vec<BenchmarkId>,
}

impl FirstLook {
    /// Judges `candidate` against `baseline` for the first time. `candidate_alone` is whether only
    /// the candidate can be launched again.
    pub fn new(
        baseline: LabelledRun<'_>,
        candidate: LabelledRun<'_>,
        policy: &Policy,
        sessions: Sessions<'_>,
        candidate_alone: bool,
    ) -> FirstLook {
        let comparison = look(baseline, candidate, policy, 2, sessions);
        FirstLook {
            suspects: suspects(&comparison, candidate_alone),
            comparison,
        }
    }

    /// Returns the benchmarks to launch again before the [second look](FirstLook::second).
    pub fn suspects(&self) -> &[BenchmarkId] {
        &self.suspects
    }

    /// Returns the comparison after the first look, for callers that launch nothing again.
    pub fn into_comparison(self) -> Comparison {
        self.comparison
    }

    /// Takes the second look. Both runs hold all launches of the suspects. Benchmarks that they
    /// lack keep their verdicts. There is no third look: looking until a benchmark passes would
    /// invalidate the error probability.
    pub fn second(self, baseline: &Run, candidate: &Run, policy: &Policy) -> Comparison {
        second_look(self.comparison, baseline, candidate, policy)
    }
}

/// Returns the benchmarks that further launches may decide, which excludes modelled ones. If only
/// the candidate can be launched again, benchmarks that look slower only in time are excluded: time
/// from another minute says nothing about the code.
pub fn suspects(comparison: &Comparison, candidate_alone: bool) -> Vec<BenchmarkId> {
    let in_slots = |benchmark: &BenchmarkVerdict| {
        let mut worse = benchmark.effects.iter().filter(|e| e.looks_worse);
        worse.any(|effect| effect.metric != Metric::Wall)
    };
    comparison
        .benchmarks
        .iter()
        .filter(|b| b.suspect && b.source != SourceKind::Model)
        .filter(|b| !candidate_alone || in_slots(b))
        .map(|benchmark| benchmark.id.clone())
        .collect()
}

fn second_look(
    mut first: Comparison,
    baseline: &Run,
    candidate: &Run,
    policy: &Policy,
) -> Comparison {
    let test = SuiteTest::second_look(&first.suite);
    let judge = Judge::new(&test, policy, baseline, candidate);
    let pairs = PairedBenchmarks::new(baseline, candidate);
    let cpus = comparability::of_cpus(&baseline.machine, &candidate.machine);
    for verdict in first.benchmarks.iter_mut().filter(|b| b.suspect) {
        let pair = pairs
            .both
            .binary_search_by(|(benchmark, _)| benchmark.id.cmp(&verdict.id))
            .map(|index| pairs.both[index]);
        // A suspect that was not launched again keeps its verdict.
        if let Ok((a, b)) = pair
            && b.times.launches.len() > verdict.candidate_launches.times as usize
            && let Ok(measured) = Measured::new(a, b, policy, &cpus)
        {
            *verdict = judge.verdict(&measured, Some(verdict));
        }
    }
    let counts = Counts {
        new: first.counts.new,
        missing: first.counts.missing,
        not_run: first.counts.not_run,
        same_code: first.counts.same_code,
        ..count(&first.benchmarks)
    };
    let outcome = outcome(&first.differences, &counts, &first.benchmarks, policy);
    Comparison {
        outcome,
        exit_code: outcome.exit_code(),
        counts,
        ..first
    }
}
