//! Slowdowns since an earlier run, according to the change points of the history.

use serde::{Deserialize, Serialize};
use topdown_run::run_file::BenchmarkId;

use super::series::min_change_of;
use super::{BenchmarkTrend, ChangeKind, Trend, TrendRun};
use crate::metric::Metric;
use crate::statistics::margin::reaches;

/// A change is reported while it is within this many of the newest runs.
pub const NEWEST_RUNS: usize = 10;

/// A benchmark that is slower than some runs ago.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SlowerOverTime {
    /// The benchmark.
    pub id: BenchmarkId,
    /// Slots, or time if there are none.
    pub metric: Metric,
    /// The last run before the first of its changes, or the earlier run that it was judged against.
    pub since: TrendRun,
    /// The level of the newest runs over the level that ended with `since`, minus 1; or the
    /// difference from the earlier run.
    pub difference: f64,
    /// Number of change points in between; 0 if only the earlier run shows it.
    pub changes: usize,
}

impl Trend {
    /// Returns the benchmarks with a change to slower within the newest runs, each with all changes
    /// to slower that led up to it. Benchmarks that became faster again since are not included.
    pub fn slower_over_time(&self) -> Vec<SlowerOverTime> {
        let slower = self.benchmarks.iter();
        slower.filter_map(|b| self.slower_since(b)).collect()
    }

    fn slower_since(&self, benchmark: &BenchmarkTrend) -> Option<SlowerOverTime> {
        let newest = self.runs.len().saturating_sub(NEWEST_RUNS);
        let changes = &benchmark.changes;
        let is_slower = |index: &usize| changes[*index].kind == ChangeKind::Slower;
        let recent = (0..changes.len()).rfind(|i| is_slower(i) && changes[*i].run >= newest)?;
        let first = (0..=recent).rev().take_while(is_slower).last()?;
        let difference = changes.last()?.after / changes[first].before - 1.0;
        let before = (benchmark.points.iter()).rfind(|point| point.run < changes[first].run)?;
        reaches(difference, min_change_of(benchmark.metric)).then(|| SlowerOverTime {
            id: benchmark.id.clone(),
            metric: benchmark.metric,
            since: self.runs[before.run].clone(),
            difference,
            changes: changes.len() - first,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::trend;
    use super::*;
    use crate::scenario::{self, Planted, benchmark};

    /// Returns what is reported after the last of `runs` runs, each slower by `size`.
    fn reported(runs: usize, size: impl Fn(usize) -> f64) -> Vec<SlowerOverTime> {
        let runs: Vec<_> = (0..runs)
            .map(|number| {
                let planted = Planted {
                    seed: number as u64 + 1,
                    categories: [size(number), 0.0, 0.0, 0.0].into(),
                    ..Planted::default()
                };
                let mut run = scenario::run(vec![benchmark("a", planted)]);
                run.id = format!("run-{number}");
                run
            })
            .collect();
        let trend = trend("main", &runs, Vec::new(), 0.05).unwrap();
        trend.slower_over_time()
    }

    #[test]
    fn creep_is_reported_with_its_start() {
        let reported = reported(11, |run| 0.005 * run as f64);
        let [slower] = &reported[..] else {
            panic!("{reported:?}");
        };
        // Levels are means of runs, so both ends of a slope count half.
        assert!(
            slower.difference > 0.02 && slower.difference < 0.05,
            "{slower:?}"
        );
        let since: usize = slower.since.id["run-".len()..].parse().unwrap();
        assert!(since < 8, "{slower:?}");
    }

    #[test]
    fn unchanged_undone_and_old_steps_are_not_reported() {
        assert_eq!(reported(11, |_| 0.0), []);
        assert_eq!(
            reported(12, |run| if (4..8).contains(&run) { 0.05 } else { 0.0 }),
            []
        );
        assert_eq!(reported(20, |run| if run >= 5 { 0.05 } else { 0.0 }), []);
        assert_eq!(
            reported(12, |run| if run >= 5 { 0.05 } else { 0.0 }).len(),
            1
        );
    }
}
