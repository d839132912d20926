//! Learns from a machine's earlier runs how far times and slots drift between sessions. A small
//! suite cannot show that by itself.

use std::collections::HashMap;

use topdown_run::run_file::{Benchmark, BenchmarkId, Run};

use super::measured::Measured;
use crate::comparability;
use crate::metric::Metric;
use crate::policy::Policy;
use crate::statistics::contrast::Contrast;
use crate::statistics::densest::Deviating;
use crate::statistics::drift::Drift;
use crate::statistics::median;
use crate::statistics::noise::Noise;

/// Fewer benchmarks with only time cannot show how the machine drifted between two sessions.
pub const MIN_TIMED_BENCHMARKS: usize = 3;
/// Fewer do not take the median out of their differences if earlier runs show how far times drift:
/// the median of three or four is mostly one benchmark's own change, which would hide it.
pub const MIN_BENCHMARKS_WITH_MEDIAN: usize = 5;
/// Standard deviations between launches that are assumed if a suite is too small to show them.
pub const ASSUMED_WALL_DEVIATION: f64 = 0.02;
pub const ASSUMED_DEVIATION: f64 = 0.01;

/// Returns the drift of the times of `suite` between consecutive `earlier` runs; `None` if there
/// are too few. A change from one run to the next looks like drift, so many unchanged pairs are
/// needed.
pub fn drift_of_time<'a>(
    suite: impl Iterator<Item = &'a Measured<'a>>,
    earlier: &[Run],
    policy: &Policy,
) -> Option<Drift> {
    let of_time = suite.filter(|measured| !measured.has_slots());
    let pairs = pairs(of_time, earlier, policy, Metric::Wall);
    Drift::between_earlier(&pairs, MIN_BENCHMARKS_WITH_MEDIAN)
}

/// Returns the drift of the slots of `suite` between consecutive `earlier` runs; `None` if there
/// are too few. What all benchmarks have in common stays in it, since slots are never corrected.
pub fn drift_of_slots<'a>(
    suite: impl Iterator<Item = &'a Measured<'a>>,
    earlier: &[Run],
    policy: &Policy,
) -> Option<Drift> {
    let counted = suite.filter(|measured| !measured.is_exact(Metric::Slots));
    let pairs = pairs(counted, earlier, policy, Metric::Slots);
    let drift = Drift::between_earlier(&pairs, usize::MAX)?;
    Some(Drift {
        is_factor: false,
        ..drift
    })
}

/// Returns how `suite` differs between consecutive runs, without pairs that show nothing.
fn pairs<'a>(
    suite: impl Iterator<Item = &'a Measured<'a>>,
    earlier: &[Run],
    policy: &Policy,
    metric: Metric,
) -> Vec<Vec<Deviating>> {
    let wanted: Vec<&BenchmarkId> = suite.map(|measured| &measured.candidate.id).collect();
    if wanted.is_empty() {
        return Vec::new();
    }
    earlier
        .windows(2)
        .map(|pair| deviating(&pair[0], &pair[1], &wanted, policy, metric))
        .filter(|pair| !pair.is_empty())
        .collect()
}

fn by_id(run: &Run) -> HashMap<&BenchmarkId, &Benchmark> {
    run.benchmarks.iter().map(|b| (&b.id, b)).collect()
}

/// Returns the benchmarks of two runs, without what they have in common if there are enough to show
/// that.
fn deviating(
    before: &Run,
    after: &Run,
    wanted: &[&BenchmarkId],
    policy: &Policy,
    metric: Metric,
) -> Vec<Deviating> {
    let cpus = comparability::of_cpus(&before.machine, &after.machine);
    if !cpus.is_empty() || !comparability::forbidding(before, after, true).is_empty() {
        return Vec::new();
    }
    let [before, after] = [by_id(before), by_id(after)];
    let contrasts: Vec<Contrast> = wanted
        .iter()
        .filter_map(|id| {
            let measured = Measured::new(before.get(id)?, after.get(id)?, policy, &[]).ok()?;
            measured.raw(metric)
        })
        .collect();
    let (assumed, has_common_part) = match metric {
        Metric::Wall => (ASSUMED_WALL_DEVIATION, true),
        _ => (ASSUMED_DEVIATION, false),
    };
    let of_launches = Noise::new(&contrasts, assumed, None, None);
    let logarithms: Vec<f64> = contrasts.iter().map(|c| c.difference.ln_1p()).collect();
    let common = if has_common_part && contrasts.len() >= MIN_BENCHMARKS_WITH_MEDIAN {
        median(logarithms).map_or(1.0, f64::exp)
    } else {
        1.0
    };
    contrasts
        .iter()
        .map(|contrast| Deviating {
            difference: (1.0 + contrast.difference) / common - 1.0,
            standard_error: of_launches.estimate(contrast).whole.standard_error / common,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{self, Planted, benchmark, modelled};
    use fastrand::Rng;

    /// Returns runs of `size` benchmarks, in each of which every benchmark is somewhere else by a
    /// standard deviation of `drift`.
    fn runs(count: u64, size: usize, drift: f64, rng: &mut Rng) -> Vec<Run> {
        (0..count)
            .map(|seed| {
                let benchmark_at = |index: usize| {
                    let planted = Planted {
                        seed: seed + 1,
                        categories: [0.0, 0.0, 0.0, drift * scenario::normal(rng)].into(),
                        ..Planted::default()
                    };
                    benchmark(&format!("b{index}"), planted)
                };
                scenario::run((0..size).map(benchmark_at).collect())
            })
            .collect()
    }

    fn drift_between(runs: &[Run]) -> Option<Drift> {
        let policy = Policy::default();
        let [baseline, candidate] = [0, 1].map(|from_end| &runs[runs.len() - 1 - from_end]);
        let pairs = baseline.benchmarks.iter().zip(&candidate.benchmarks);
        let suite: Vec<Measured<'_>> = pairs
            .map(|(a, b)| Measured::new(a, b, &policy, &[]).ok().unwrap())
            .collect();
        drift_of_slots(suite.iter(), runs, &policy)
    }

    #[test]
    fn six_runs_show_the_drift_of_slots() {
        let mut rng = Rng::with_seed(20261128);
        for drift in [0.0, 0.01, 0.03] {
            let found: Vec<f64> = (0..40)
                .map(|_| {
                    let drift = drift_between(&runs(6, 4, drift, &mut rng)).unwrap();
                    assert!(!drift.is_factor && !drift.is_assumed);
                    assert_eq!(drift.earlier_runs, 6);
                    drift.deviation
                })
                .collect();
            // Both runs of a pair are elsewhere.
            let expected = drift * std::f64::consts::SQRT_2;
            let typical = median(found).unwrap();
            assert!(
                (typical - expected).abs() < 0.002 + 0.2 * expected,
                "{drift}: {typical}"
            );
        }
    }

    #[test]
    fn common_change_of_slots_is_drift() {
        let mut rng = Rng::with_seed(20261128);
        let mut all = runs(8, 6, 0.0, &mut rng);
        for (number, run) in all.iter_mut().enumerate() {
            for launch in run
                .benchmarks
                .iter_mut()
                .flat_map(Benchmark::slots_launches_mut)
            {
                launch.slots *= [1.0, 1.02][number % 2];
            }
        }
        let drift = drift_between(&all).unwrap();
        assert!((0.018..0.025).contains(&drift.deviation), "{drift:?}");
    }

    #[test]
    fn five_runs_and_exact_slots_show_nothing() {
        let mut rng = Rng::with_seed(20261128);
        assert_eq!(drift_between(&runs(5, 4, 0.01, &mut rng)), None);
        let exact: Vec<Run> = (0..8)
            .map(|_| scenario::run(vec![modelled("m", Planted::default())]))
            .collect();
        assert_eq!(drift_between(&exact), None);
        let mut other_cpus = runs(8, 4, 0.01, &mut rng);
        for run in other_cpus.iter_mut().step_by(2) {
            run.machine.model = 207;
        }
        assert_eq!(drift_between(&other_cpus), None);
    }
}
