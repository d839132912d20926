//! One benchmark over all runs, and the changes in it.

use topdown_run::run_file::{Benchmark, Run};

use super::{
    BenchmarkTrend, CategoryAmount, CategoryDifference, ChangeKind, TrendChange, TrendPoint,
};
use crate::comparability::{self, Difference};
use crate::metric::Metric;
use crate::schedules::values_in;
use crate::statistics::change_points::{
    ChangePoint, Criterion, MIN_SEGMENT, change_points, differences_of_levels,
};
use crate::statistics::{mean, median, variance};

/// Smaller changes of slots may come from a recompilation or another session. This is the gate's
/// sure margin.
const MIN_SLOTS_CHANGE: f64 = 0.01;
/// The same for time.
const MIN_TIME_CHANGE: f64 = 0.02;
/// No history is less noisy than this (standard deviation, as a fraction of the total), as in the
/// gate.
const MIN_DEVIATION: f64 = 0.001;
/// If a category revealed a change, the total's own p-value must be below this.
const DIRECTION_ALPHA: f64 = 0.05;

/// One benchmark's values, run by run.
pub struct History<'a> {
    reference: &'a Benchmark,
    /// The schedules that all runs have besides the first, which gives their values.
    schedules: Vec<u32>,
    /// The metrics to search; the total comes first.
    pub metrics: Vec<Metric>,
    /// The run of each value.
    runs: Vec<usize>,
    /// For each metric, the means of the runs.
    means: Vec<Vec<f64>>,
    /// For each run, its time beside slots.
    times_ns: Vec<Option<f64>>,
    /// For each metric and each of the schedules, the values of the runs.
    further: Vec<Vec<Vec<f64>>>,
    /// For each metric and run, the variance of that mean, as shown by the launches.
    variances: Vec<Vec<f64>>,
    /// For each run, how far off its categories can be, as a fraction of the slots.
    resolutions: Vec<f64>,
}

impl<'a> History<'a> {
    /// Starts without values of runs that all have these `schedules` besides the first; `None` if
    /// the benchmark has no values itself.
    pub fn new(reference: &'a Benchmark, schedules: Vec<u32>) -> Option<History<'a>> {
        let total = match reference.slots {
            Some(_) => Metric::Slots,
            None => Metric::Wall,
        };
        total.values(reference)?;
        let categories = Metric::ALL
            .into_iter()
            .filter(|metric| metric.is_category() && metric.values(reference).is_some());
        let metrics: Vec<Metric> = std::iter::once(total).chain(categories).collect();
        Some(History {
            reference,
            further: vec![vec![Vec::new(); schedules.len()]; metrics.len()],
            schedules,
            runs: Vec::new(),
            times_ns: Vec::new(),
            means: vec![Vec::new(); metrics.len()],
            variances: vec![Vec::new(); metrics.len()],
            resolutions: Vec::new(),
            metrics,
        })
    }

    /// Adds a run's values; returns false if any are missing.
    pub fn add(&mut self, run: usize, benchmark: &Benchmark) -> bool {
        let metrics = self.metrics.iter();
        let values: Option<Vec<_>> = metrics.clone().map(|it| it.values(benchmark)).collect();
        let in_schedules = metrics.map(|it| values_in(&self.schedules, benchmark, *it));
        let further: Option<Vec<_>> = in_schedules.collect();
        let (Some(values), Some(further)) = (values, further) else {
            return false;
        };
        for (all, more) in self.further.iter_mut().zip(further) {
            all.iter_mut().zip(more).for_each(|(all, it)| all.push(it));
        }
        self.runs.push(run);
        let times = Metric::Wall.values(benchmark);
        let times = times.filter(|_| self.metrics[0] != Metric::Wall);
        self.times_ns.push(times.map(|times| mean(&times)));
        for (metric, values) in values.iter().enumerate() {
            self.means[metric].push(mean(values));
            self.variances[metric].push(variance(values) / values.len() as f64);
        }
        let launches = benchmark.slots_launches().iter();
        let resolutions: Vec<f64> = launches.map(|l| l.resolution_fraction).collect();
        self.resolutions.push(if resolutions.is_empty() {
            0.0
        } else {
            mean(&resolutions)
        });
        true
    }

    pub fn judged(&self, runs: &[&Run], alpha: f64) -> BenchmarkTrend {
        let changes = self
            .borders(alpha)
            .map_or(Vec::new(), |found| self.changes(&found, runs));
        BenchmarkTrend {
            id: self.reference.id.clone(),
            source: self.reference.provenance().source,
            metric: self.metrics[0],
            points: (0..self.runs.len())
                .map(|point| TrendPoint {
                    run: self.runs[point],
                    value: self.means[0][point],
                    wall_ns: self.times_ns[point],
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

    /// Returns a metric's values as fractions of the benchmark's typical total.
    fn scaled(&self, metric: usize, scale: f64) -> Vec<f64> {
        self.means[metric].iter().map(|mean| mean / scale).collect()
    }

    /// Returns a metric's values in each further schedule, as fractions of the typical total there.
    fn scaled_further(&self, metric: usize) -> Vec<Vec<f64>> {
        let schedules = self.further[metric].iter().zip(&self.further[0]);
        let scaled = schedules.map(|(values, totals)| {
            let scale = scale(totals).unwrap_or(1.0);
            values.iter().map(|value| value / scale).collect()
        });
        scaled.collect()
    }

    /// Returns the minimum variance of a run's value: that of its launches.
    fn min_variance(&self, metric: usize, scale: f64) -> f64 {
        let of_launches = mean(&self.variances[metric]) / scale.powi(2);
        of_launches.max(MIN_DEVIATION.powi(2))
    }

    fn min_change(&self, metric: usize) -> f64 {
        let metric = self.metrics[metric];
        let resolution = if metric.is_category() {
            // Either level can be off by it.
            2.0 * self.resolutions.iter().copied().fold(0.0, f64::max)
        } else {
            0.0
        };
        min_change_of(metric) + resolution
    }

    /// Returns what a change of a metric is, with its values in `further` schedules.
    fn criterion<'f>(
        &self,
        metric: usize,
        alpha: f64,
        scale: f64,
        further: &'f [Vec<f64>],
    ) -> Criterion<'f> {
        Criterion {
            alpha,
            min_change: self.min_change(metric),
            min_variance: self.min_variance(metric, scale),
            further,
        }
    }

    /// Returns the change points of all metrics. Those of several metrics at the same place become
    /// one: a place is only known to within [`MIN_SEGMENT`] runs, and the most certain metric
    /// locates it best.
    fn borders(&self, alpha: f64) -> Option<Vec<Found>> {
        let scale = scale(&self.means[0])?;
        let mut points: Vec<(Metric, ChangePoint)> = Vec::new();
        for (index, &metric) in self.metrics.iter().enumerate() {
            let further = self.scaled_further(index);
            let criterion = self.criterion(index, alpha, scale, &further);
            let found = change_points(&self.scaled(index, scale), &criterion);
            points.extend(found.into_iter().map(|point| (metric, point)));
        }
        points.sort_by(|(_, a), (_, b)| a.p_value.total_cmp(&b.p_value));
        let mut found: Vec<Found> = Vec::new();
        for (metric, point) in points {
            let same = found
                .iter_mut()
                .find(|found| found.index.abs_diff(point.index) < MIN_SEGMENT);
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
        let scale = scale(&self.means[0]).unwrap_or(1.0);
        let further = self.scaled_further(0);
        let criterion = self.criterion(0, DIRECTION_ALPHA, scale, &further);
        let values = self.scaled(0, scale);
        let of_total = differences_of_levels(&values, &ends, criterion.min_variance);
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
                    || criterion.is_change(difference, ends)
                        && of_total.p_value() < criterion.alpha;
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

/// Returns what all metrics of a benchmark with these totals are divided by, so that differences of
/// categories add up.
fn scale(totals: &[f64]) -> Option<f64> {
    median(totals.to_vec()).filter(|total| *total > 0.0)
}

/// Returns the least difference between two levels of `metric` that counts as a change.
pub fn min_change_of(metric: Metric) -> f64 {
    match metric {
        Metric::Wall => MIN_TIME_CHANGE,
        _ => MIN_SLOTS_CHANGE,
    }
}

/// A border between two levels, and the metrics that show it.
struct Found {
    index: usize,
    p_value: f64,
    metrics: Vec<Metric>,
}

fn differing(before: &Run, after: &Run) -> Vec<Difference> {
    let mut differences = comparability::worrying(before, after, true);
    differences.extend(comparability::modelled_on_other_cpus(before, after));
    differences
}
