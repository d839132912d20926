//! How change points are judged: `docs/history.md` in code.

use std::cmp::Reverse;
use std::collections::HashMap;

use criterion_topdown::run_file::{Benchmark, BenchmarkId, Run};

use super::{
    BenchmarkTrend, CategoryAmount, CategoryDifference, ChangeKind, GlobalChange, LeftOut,
    TREND_SCHEMA_VERSION, Trend, TrendChange, TrendPoint, TrendRun,
};
use crate::statistics::change_points::{
    ChangePoint, Criterion, LEAST_SEGMENT, change_points, differences_of_levels,
};
use crate::statistics::{mean, median, variance};
use crate::verdict::comparison::Warning;
use crate::verdict::{Metric, comparability};

/// In a shorter history nothing can be found.
pub const LEAST_RUNS: usize = 2 * LEAST_SEGMENT;

/// Smaller changes of slots are not told from what a recompilation or another session does: the
/// margin of the gate that a change must surely be above.
const LEAST_SLOTS_CHANGE: f64 = 0.01;
/// The same of time.
const LEAST_TIME_CHANGE: f64 = 0.02;
/// No history is less noisy than this (standard deviation, a fraction of the total), as in the gate.
const LEAST_DEVIATION: f64 = 0.001;
/// What a change of the total must be below by itself, where a category made it known.
const DIRECTION_ALPHA: f64 = 0.05;

/// Looks for changes in `runs`, oldest first, which the user calls `label`; `unreadable` says why
/// others could not be read. `alpha` is the probability of any change point in a suite that never
/// changed. `None` without runs.
pub fn trend(label: &str, runs: &[Run], unreadable: Vec<String>, alpha: f64) -> Option<Trend> {
    let newest = runs.last()?;
    let mut left_out = Vec::new();
    let mut comparable = Vec::new();
    for run in runs {
        // Another compiler is a reason for a change, not for silence: it is told where it matters.
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
    let histories: Vec<History> = ids
        .into_iter()
        .filter_map(|reference| {
            let mut history = History::of(reference)?;
            for (index, benchmarks) in by_id.iter().enumerate() {
                let Some(benchmark) = benchmarks.get(&reference.id) else {
                    continue;
                };
                let differences =
                    comparability::of_benchmark(&benchmark.provenance, &reference.provenance);
                if !differences.is_empty() || !history.add(index, benchmark) {
                    left_out.push(LeftOut {
                        run: run_of(comparable[index]),
                        benchmark: Some(reference.id.clone()),
                        differences,
                    });
                }
            }
            Some(history)
        })
        .collect();
    let series = histories.iter().map(|history| history.metrics.len()).sum();
    let alpha_per_series = alpha / f64::max(1.0, series as f64);
    let benchmarks: Vec<BenchmarkTrend> = histories
        .into_iter()
        .map(|history| history.judged(&comparable, alpha_per_series))
        .collect();
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

/// Changes of one kind in neighbouring runs, of at least half of the benchmarks. A place is known
/// to a run or so, hence the neighbours.
fn global_changes(benchmarks: &[BenchmarkTrend], runs: usize) -> Vec<GlobalChange> {
    /// Of fewer benchmarks, half of them say nothing about the others.
    const LEAST_BENCHMARKS: usize = 4;
    let mut found: Vec<GlobalChange> = Vec::new();
    if benchmarks.len() < LEAST_BENCHMARKS {
        return found;
    }
    for kind in [ChangeKind::Slower, ChangeKind::Faster] {
        let changing = |run: usize, within: usize| {
            let changes_there = |b: &&BenchmarkTrend| {
                let mut changes = b.changes.iter();
                changes.any(|c| c.kind == kind && c.run.abs_diff(run) <= within)
            };
            benchmarks.iter().filter(changes_there).count()
        };
        // The run with the most, and the most in itself, stands for its neighbours.
        let mut at: Vec<(usize, usize, usize)> = (0..runs)
            .map(|run| (changing(run, 1), changing(run, 0), run))
            .collect();
        at.sort_by_key(|&(near, exactly, run)| (Reverse(near), Reverse(exactly), run));
        for (count, _, run) in at {
            let is_near = |f: &GlobalChange| f.kind == kind && f.run.abs_diff(run) <= LEAST_SEGMENT;
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

fn run_of(run: &Run) -> TrendRun {
    TrendRun {
        id: run.id.clone(),
        started_at: run.started_at.clone(),
        git_commit: run.build.git_commit.clone(),
        git_dirty: run.build.git_dirty,
    }
}

/// One benchmark's values, run by run.
struct History<'a> {
    reference: &'a Benchmark,
    /// The total first.
    metrics: Vec<Metric>,
    /// Which run each value is of.
    runs: Vec<usize>,
    /// For each metric the means of the runs.
    means: Vec<Vec<f64>>,
    /// For each metric and run the variance of that mean, as far as the launches show it.
    variances: Vec<Vec<f64>>,
    /// For each run, how far off its categories can be, as a fraction of the slots.
    resolutions: Vec<f64>,
}

impl<'a> History<'a> {
    /// Without values yet; `None` if the benchmark has none itself.
    fn of(reference: &'a Benchmark) -> Option<History<'a>> {
        let first = reference.launches.first()?;
        let total = match Metric::Slots.of(first) {
            Some(_) => Metric::Slots,
            None => Metric::Wall,
        };
        let categories = Metric::ALL.into_iter().filter(|metric| {
            total == Metric::Slots && metric.is_category() && metric.of(first).is_some()
        });
        let metrics: Vec<Metric> = std::iter::once(total).chain(categories).collect();
        Some(History {
            reference,
            runs: Vec::new(),
            means: vec![Vec::new(); metrics.len()],
            variances: vec![Vec::new(); metrics.len()],
            resolutions: Vec::new(),
            metrics,
        })
    }

    /// Adds a run's values; false if it has not all of them.
    fn add(&mut self, run: usize, benchmark: &Benchmark) -> bool {
        let launches = &benchmark.launches;
        let values: Option<Vec<Vec<f64>>> = self
            .metrics
            .iter()
            .map(|metric| launches.iter().map(|launch| metric.of(launch)).collect())
            .collect();
        let Some(values) = values.filter(|_| !launches.is_empty()) else {
            return false;
        };
        self.runs.push(run);
        for (metric, values) in values.iter().enumerate() {
            self.means[metric].push(mean(values));
            self.variances[metric].push(variance(values) / values.len() as f64);
        }
        let resolutions: Vec<f64> = launches.iter().map(|l| l.resolution_fraction).collect();
        self.resolutions.push(mean(&resolutions));
        true
    }

    fn judged(self, runs: &[&Run], alpha: f64) -> BenchmarkTrend {
        let changes = self
            .borders(alpha)
            .map_or(Vec::new(), |found| self.changes(&found, runs));
        BenchmarkTrend {
            id: self.reference.id.clone(),
            source: self.reference.provenance.source,
            metric: self.metrics[0],
            points: (0..self.runs.len())
                .map(|point| TrendPoint {
                    run: self.runs[point],
                    value: self.means[0][point],
                    categories: (1..self.metrics.len())
                        .map(|metric| CategoryAmount {
                            metric: self.metrics[metric],
                            slots: self.means[metric][point],
                        })
                        .collect(),
                })
                .collect(),
            overall_difference: match (changes.first(), changes.last()) {
                (Some(first), Some(last)) => Some(last.after / first.before - 1.0),
                _ => None,
            },
            changes,
        }
    }

    /// What all metrics are divided by, so that differences of categories add up.
    fn scale(&self) -> Option<f64> {
        median(self.means[0].clone()).filter(|total| *total > 0.0)
    }

    /// A metric's values as fractions of the benchmark's typical total.
    fn scaled(&self, metric: usize, scale: f64) -> Vec<f64> {
        self.means[metric].iter().map(|mean| mean / scale).collect()
    }

    /// The variance that a run's value has at least: that of its launches.
    fn least_variance(&self, metric: usize, scale: f64) -> f64 {
        let of_launches = mean(&self.variances[metric]) / scale.powi(2);
        of_launches.max(LEAST_DEVIATION.powi(2))
    }

    fn least_change(&self, metric: usize) -> f64 {
        match self.metrics[metric] {
            Metric::Wall => LEAST_TIME_CHANGE,
            Metric::Slots => LEAST_SLOTS_CHANGE,
            // Either level can be off by it.
            _ => LEAST_SLOTS_CHANGE + 2.0 * self.resolutions.iter().copied().fold(0.0, f64::max),
        }
    }

    /// The change points of all metrics, those of several metrics in the same place as one: a place
    /// is known to [`LEAST_SEGMENT`] runs only, and the most certain one says it best.
    fn borders(&self, alpha: f64) -> Option<Vec<Found>> {
        let scale = self.scale()?;
        let mut points: Vec<(Metric, ChangePoint)> = Vec::new();
        for (index, &metric) in self.metrics.iter().enumerate() {
            let criterion = Criterion {
                alpha,
                least_change: self.least_change(index),
                least_variance: self.least_variance(index, scale),
            };
            let found = change_points(&self.scaled(index, scale), &criterion);
            points.extend(found.into_iter().map(|point| (metric, point)));
        }
        points.sort_by(|(_, a), (_, b)| a.p_value.total_cmp(&b.p_value));
        let mut found: Vec<Found> = Vec::new();
        for (metric, point) in points {
            let same = found
                .iter_mut()
                .find(|found| found.index.abs_diff(point.index) < LEAST_SEGMENT);
            match same {
                Some(same) if same.metrics.contains(&metric) => {}
                Some(same) => same.metrics.push(metric),
                None => found.push(Found {
                    index: point.index,
                    p_value: point.p_value,
                    metrics: vec![metric],
                }),
            }
        }
        found.sort_by_key(|found| found.index);
        for found in &mut found {
            found.metrics.sort_unstable();
        }
        Some(found)
    }

    fn changes(&self, found: &[Found], runs: &[&Run]) -> Vec<TrendChange> {
        let ends: Vec<usize> = std::iter::once(0)
            .chain(found.iter().map(|found| found.index))
            .chain([self.runs.len()])
            .collect();
        let scale = self.scale().unwrap_or(1.0);
        let of_total =
            differences_of_levels(&self.scaled(0, scale), &ends, self.least_variance(0, scale));
        found
            .iter()
            .zip(ends.windows(3))
            .zip(of_total)
            .map(|((found, ends), of_total)| {
                let [from, at, to] = [ends[0], ends[1], ends[2]];
                let level = |metric: usize, range| mean(&self.means[metric][range]);
                let (before, after) = (level(0, from..at), level(0, at..to));
                let difference = after / before - 1.0;
                let total_found = found.metrics.contains(&self.metrics[0])
                    || difference.abs() >= self.least_change(0)
                        && of_total.p_value < DIRECTION_ALPHA;
                TrendChange {
                    kind: match (total_found, difference > 0.0) {
                        (false, _) => ChangeKind::Shifted,
                        (true, true) => ChangeKind::Slower,
                        (true, false) => ChangeKind::Faster,
                    },
                    run: self.runs[at],
                    runs_before: at - from,
                    runs_after: to - at,
                    before,
                    after,
                    difference,
                    categories: (1..self.metrics.len())
                        .map(|metric| CategoryDifference {
                            metric: self.metrics[metric],
                            difference: (level(metric, at..to) - level(metric, from..at)) / before,
                        })
                        .collect(),
                    found_in: found.metrics.clone(),
                    p_value: found.p_value,
                    differences: differing(runs[self.runs[at - 1]], runs[self.runs[at]]),
                }
            })
            .collect()
    }
}

/// A border between two levels, and the metrics that show it.
struct Found {
    index: usize,
    p_value: f64,
    metrics: Vec<Metric>,
}

fn differing(before: &Run, after: &Run) -> Vec<crate::verdict::Difference> {
    comparability::worrying(before, after, true)
        .into_iter()
        .filter_map(|warning| match warning {
            Warning::Differs(difference) => Some(difference),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::scenario::{self, Planted, benchmark, timed};

    /// So many runs of these benchmarks, each given its number.
    fn runs(count: usize, of: impl Fn(usize) -> Vec<Benchmark>) -> Vec<Run> {
        (0..count)
            .map(|number| Run {
                id: format!("run-{number}"),
                ..scenario::run(of(number))
            })
            .collect()
    }

    fn planted(number: usize, categories: [f64; 4]) -> Planted {
        Planted {
            seed: number as u64 + 1,
            categories,
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
    fn the_categories_of_a_change_add_up_to_it() {
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
    fn time_is_judged_where_there_are_no_slots() {
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

    #[test]
    fn what_is_not_comparable_is_left_out_and_named() {
        let mut all = runs(20, |n| vec![benchmark("a", planted(n, [0.0; 4]))]);
        all[0].machine.model = 207;
        all[1].benchmarks[0].provenance.formula = "another/1".to_owned();
        all[2].benchmarks[0].launches.clear();
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
    fn another_compiler_is_told_at_the_change_that_came_with_it() {
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
    fn a_change_of_most_benchmarks_at_once_is_named() {
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
    fn the_order_of_benchmarks_changes_nothing() {
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
