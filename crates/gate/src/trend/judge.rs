//! Selects the runs and benchmarks of a history, and judges what they have in common.

use std::cmp::Reverse;
use std::collections::HashMap;

use topdown_run::run_file::{Benchmark, BenchmarkId, Run};

use super::series::History;
use super::{
    BenchmarkTrend, ChangeKind, GlobalChange, LeftOut, TREND_SCHEMA_VERSION, Trend, TrendRun,
};
use crate::comparability::{self, Difference};
use crate::schedules;
use crate::statistics::change_points::MIN_SEGMENT;

/// Nothing can be found in a shorter history.
pub const MIN_RUNS: usize = 2 * MIN_SEGMENT;

/// Looks for changes in `runs`, oldest first, which the user calls `label`; `unreadable` says why
/// others could not be read. `alpha` is the probability of finding any change point in a suite that
/// never changed. Returns `None` without runs.
pub fn trend(label: &str, runs: &[Run], unreadable: Vec<String>, alpha: f64) -> Option<Trend> {
    let newest = runs.last()?;
    let mut left_out = Vec::new();
    let mut comparable = Vec::new();
    for run in runs {
        // Another compiler may explain a change, so it is not excluded but reported with the
        // change.
        let differences = comparability::forbidding(run, newest, true);
        if differences.is_empty() {
            comparable.push(run);
        } else {
            left_out.push(LeftOut {
                run: run_of(run),
                benchmark: None,
                differences,
            });
        }
    }
    let by_id: Vec<HashMap<&BenchmarkId, &Benchmark>> = comparable
        .iter()
        .map(|run| run.benchmarks.iter().map(|b| (&b.id, b)).collect())
        .collect();
    let mut ids: Vec<&Benchmark> = newest.benchmarks.iter().collect();
    ids.sort_by(|a, b| a.id.cmp(&b.id));
    let cpus: Vec<Vec<Difference>> = comparable
        .iter()
        .map(|run| comparability::of_cpus(&run.machine, &newest.machine))
        .collect();
    let found = topdown_parallel::map(&ids, |reference| {
        let mut of_runs: Vec<(usize, &Benchmark, Vec<Difference>)> = Vec::new();
        for (index, benchmarks) in by_id.iter().enumerate() {
            if let Some(benchmark) = benchmarks.get(&reference.id) {
                let [provenance, other] = [*benchmark, reference].map(Benchmark::provenance);
                let differences = comparability::of_benchmark(provenance, other, &cpus[index]);
                of_runs.push((index, benchmark, differences));
            }
        }
        let comparable_ones = of_runs.iter().filter(|(_, _, it)| it.is_empty());
        let schedules =
            schedules::further_of_all(comparable_ones.map(|(_, benchmark, _)| *benchmark));
        let mut history = History::new(reference, schedules)?;
        let mut left_out = Vec::new();
        for (index, benchmark, differences) in of_runs {
            if !differences.is_empty() || !history.add(index, benchmark) {
                left_out.push(LeftOut {
                    run: run_of(comparable[index]),
                    benchmark: Some(reference.id.clone()),
                    differences,
                });
            }
        }
        Some((history, left_out))
    });
    let mut histories = Vec::new();
    for (history, lacking) in found.into_iter().flatten() {
        histories.push(history);
        left_out.extend(lacking);
    }
    let series = histories.iter().map(|history| history.metrics.len()).sum();
    let alpha_per_series = alpha / f64::max(1.0, series as f64);
    let benchmarks: Vec<BenchmarkTrend> = topdown_parallel::map(&histories, |history| {
        history.judged(&comparable, alpha_per_series)
    });
    Some(Trend {
        schema_version: TREND_SCHEMA_VERSION,
        label: label.to_owned(),
        alpha,
        series,
        runs: comparable.iter().map(|run| run_of(run)).collect(),
        left_out,
        unreadable,
        global_changes: global_changes(&benchmarks, comparable.len()),
        benchmarks,
    })
}

/// Returns changes of one kind in neighbouring runs that affect at least half of the benchmarks. A
/// place is only known to within a run, so neighbours count.
fn global_changes(benchmarks: &[BenchmarkTrend], runs: usize) -> Vec<GlobalChange> {
    /// With fewer benchmarks, half of them say nothing about the others.
    const MIN_BENCHMARKS: usize = 4;
    let mut found: Vec<GlobalChange> = Vec::new();
    if benchmarks.len() < MIN_BENCHMARKS {
        return found;
    }
    for kind in [ChangeKind::Slower, ChangeKind::Faster] {
        let mut changing = vec![0; runs];
        let changes = benchmarks.iter().flat_map(|benchmark| &benchmark.changes);
        for change in changes.filter(|change| change.kind == kind) {
            changing[change.run] += 1;
        }
        // Changes of one benchmark are farther apart than neighbours, so none counts twice. The run
        // with most changes, including its neighbours, represents them.
        let near = |run: usize| &changing[run.saturating_sub(1)..runs.min(run + 2)];
        let mut at: Vec<(usize, usize, usize)> = (0..runs)
            .map(|run| (near(run).iter().sum(), changing[run], run))
            .collect();
        at.sort_by_key(|&(near, exactly, run)| (Reverse(near), Reverse(exactly), run));
        for (count, _, run) in at {
            let is_near = |f: &GlobalChange| f.kind == kind && f.run.abs_diff(run) <= MIN_SEGMENT;
            if 2 * count >= benchmarks.len() && !found.iter().any(is_near) {
                found.push(GlobalChange {
                    kind,
                    run,
                    benchmarks: count,
                });
            }
        }
    }
    found.sort_by_key(|change| change.run);
    found
}

/// Summarizes a run.
pub fn run_of(run: &Run) -> TrendRun {
    TrendRun {
        id: run.id.clone(),
        started_at: run.started_at.clone(),
        git_commit: run.build.git_commit.clone(),
        git_dirty: run.build.git_dirty,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::Metric;
    use crate::scenario::{self, Planted, benchmark, timed};

    /// Makes `count` runs of these benchmarks, which depend on the run's number.
    fn runs(count: usize, benchmarks: impl Fn(usize) -> Vec<Benchmark>) -> Vec<Run> {
        (0..count)
            .map(|number| Run {
                id: format!("run-{number}"),
                ..scenario::run(benchmarks(number))
            })
            .collect()
    }

    fn planted(number: usize, categories: [f64; 4]) -> Planted {
        Planted {
            seed: number as u64 + 1,
            categories: categories.into(),
            ..Planted::default()
        }
    }

    fn judged(runs: &[Run]) -> Trend {
        trend("main", runs, Vec::new(), 0.05).unwrap()
    }

    fn late(number: usize, size: f64) -> f64 {
        if number >= 10 { size } else { 0.0 }
    }

    #[test]
    fn categories_of_a_change_add_up() {
        let trend = judged(&runs(20, |n| {
            let size = late(n, 0.03);
            vec![benchmark("a", planted(n, [0.0, 0.0, size, size]))]
        }));
        let [change] = &trend.benchmarks[0].changes[..] else {
            panic!("{:?}", trend.benchmarks[0].changes);
        };
        assert_eq!((change.kind, change.run), (ChangeKind::Slower, 10));
        assert!((change.difference - 0.06).abs() < 0.005, "{change:?}");
        let sum: f64 = change.categories.iter().map(|c| c.difference).sum();
        assert!((sum - change.difference).abs() < 1e-9);
        assert!(change.found_in.contains(&Metric::Slots));
        assert!(change.found_in.contains(&Metric::FrontendBound));
    }

    #[test]
    fn time_is_judged_without_slots() {
        let trend = judged(&runs(20, |n| {
            let planted = Planted {
                time_per_slot: 1.0 + late(n, 0.1),
                ..planted(n, [0.0; 4])
            };
            vec![timed("read", planted)]
        }));
        let benchmark = &trend.benchmarks[0];
        assert_eq!(benchmark.metric, Metric::Wall);
        assert_eq!(benchmark.changes.len(), 1);
        assert_eq!(benchmark.changes[0].found_in, [Metric::Wall]);
        assert_eq!(trend.series, 1);
    }

    /// Returns a benchmark with these slots in the orders of its threads, as multiples of 1000.
    fn in_orders(slots: &[f64]) -> Benchmark {
        let benchmark = scenario::modelled("a", planted(0, [0.0; 4]));
        let mut benchmark = scenario::in_schedules(benchmark, slots);
        let first = benchmark.schedules()[0].clone();
        benchmark.slots_launches_mut().fill(first);
        benchmark
    }

    #[test]
    fn lucky_order_is_no_change_over_time() {
        let changed = |orders: &dyn Fn(f64) -> [f64; 4], counts: usize| {
            let mut all = runs(20, |n| vec![in_orders(&orders(late(n, 0.05)))]);
            if let Some(schedules) = &mut all[3].benchmarks[0].schedules {
                schedules.launches.truncate(counts);
            }
            let trend = judged(&all);
            let changes = trend.benchmarks[0].changes.iter();
            changes.map(|it| (it.kind, it.run)).collect::<Vec<_>>()
        };
        let slower = [(ChangeKind::Slower, 10)];
        let of_all = [1.0, 1.02, 0.97, 1.03];
        for lucky in 0..4 {
            let one = |size| {
                let mut orders = of_all;
                orders[lucky] += size;
                orders
            };
            assert_eq!(changed(&one, 4), [], "order {lucky}");
        }
        // As without schedules.
        let first = |size| [1.0 + size, 1.02, 0.97, 1.03];
        assert_eq!(changed(&first, 1), slower);
        let but_one = |size| [1.0 + size, 1.02 + size, 0.97, 1.03 + size];
        assert_eq!(changed(&but_one, 4), []);
        assert_eq!(changed(&|size| of_all.map(|slots| slots + size), 4), slower);
    }

    /// Returns how often a history of as many `schedules` has a step to slower where an edit makes
    /// the benchmark slower by `change`, and gives its orders other slots by chance, with a
    /// standard deviation of 2 %.
    fn steps(schedules: usize, change: f64) -> f64 {
        const ROUNDS: u64 = 200;
        let mut rng = fastrand::Rng::with_seed(1);
        let mut orders = |change: f64| -> Vec<f64> {
            let slots = (0..schedules).map(|_| 1.0 + change + 0.02 * scenario::normal(&mut rng));
            slots.collect()
        };
        let has_step = |[before, after]: [Vec<f64>; 2]| {
            let trend = judged(&runs(20, |n| {
                let slots = if n < 10 { &before } else { &after };
                vec![in_orders(slots)]
            }));
            !trend.slower_over_time().is_empty()
        };
        let found = (0..ROUNDS).filter(|_| has_step([orders(0.0), orders(change)]));
        found.count() as f64 / ROUNDS as f64
    }

    #[test]
    fn lucky_orders_are_seldom_a_step_and_change_is_found() {
        // Without other schedules: P(N(0, 0.02 √2) ≥ 0.01) = 36 %.
        assert!(steps(1, 0.0) > 0.25);
        assert!(steps(8, 0.0) < 0.01);
        assert!(steps(8, 0.15) > 0.99);
    }

    #[test]
    fn incomparable_runs_are_excluded_and_named() {
        let mut all = runs(20, |n| vec![benchmark("a", planted(n, [0.0; 4]))]);
        all[0].machine.model = 207;
        all[1].benchmarks[0].provenance_mut().formula = "another/1".to_owned();
        all[2].benchmarks[0].slots = None;
        all[2].benchmarks[0].times.launches.clear();
        all[3].benchmarks.clear();
        let trend = judged(&all);
        assert_eq!(trend.runs.len(), 19);
        assert_eq!(trend.benchmarks[0].points.len(), 16);
        let named: Vec<(&str, bool, Option<&str>)> = trend
            .left_out
            .iter()
            .map(|left_out| {
                let field = left_out.differences.first().map(|d| d.field.as_str());
                (
                    left_out.run.id.as_str(),
                    left_out.benchmark.is_some(),
                    field,
                )
            })
            .collect();
        assert_eq!(
            named,
            [
                ("run-0", false, Some("CPU model")),
                ("run-1", true, Some("formula")),
                ("run-2", true, None),
            ]
        );
    }

    #[test]
    fn new_compiler_is_named_at_its_change() {
        let mut all = runs(20, |n| {
            vec![benchmark("a", planted(n, [late(n, 0.05), 0.0, 0.0, 0.0]))]
        });
        for run in &mut all[10..] {
            run.build.rustc = "rustc 1.92.0".to_owned();
        }
        let trend = judged(&all);
        assert_eq!(trend.left_out, []);
        let change = &trend.benchmarks[0].changes[0];
        assert_eq!(change.differences[0].field, "rustc");
    }

    #[test]
    fn change_of_most_benchmarks_is_named() {
        let suite = |changed: usize| {
            judged(&runs(20, |n| {
                (0..6)
                    .map(|index| {
                        let size = if index < changed { late(n, 0.05) } else { 0.0 };
                        benchmark(&format!("b{index}"), planted(n, [size, 0.0, 0.0, 0.0]))
                    })
                    .collect()
            }))
        };
        let expected = GlobalChange {
            kind: ChangeKind::Slower,
            run: 10,
            benchmarks: 4,
        };
        assert_eq!(suite(4).global_changes, [expected]);
        assert_eq!(suite(2).global_changes, []);
    }

    #[test]
    fn benchmark_order_changes_nothing() {
        let mut all = runs(20, |n| {
            let changing = benchmark("b", planted(n, [0.0, 0.0, 0.0, late(n, 0.05)]));
            vec![benchmark("a", planted(n, [0.0; 4])), changing]
        });
        let one = judged(&all);
        for run in all.iter_mut().step_by(2) {
            run.benchmarks.reverse();
        }
        assert_eq!(judged(&all), one);
    }

    #[test]
    fn no_runs_are_no_history() {
        assert_eq!(trend("main", &[], Vec::new(), 0.05), None);
    }
}
