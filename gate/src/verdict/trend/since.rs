//! Finds what became slower since an earlier run, in steps that comparisons of two runs pass.
//!
//! Each merge that saves its run as the next baseline moves the reference of the next comparison.
//! The change points of the history do not move. A steady slope has none that a short history could
//! show, but its two ends differ, so the candidate is also judged against the run from ten runs
//! ago.

use criterion_topdown::run_file::{BenchmarkId, Run};
use serde::{Deserialize, Serialize};

use super::judge::{run_of, trend};
use super::series::least_change_of;
use super::{BenchmarkTrend, ChangeKind, Trend, TrendRun};
use crate::policy::{Accepted, Policy};
use crate::verdict::{Comparison, LabelledRun, Metric, Verdict, compare};

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
    /// How many change points are in between; 0 if only the earlier run shows it.
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
        (difference >= least_change_of(benchmark.metric)).then(|| SlowerOverTime {
            id: benchmark.id.clone(),
            metric: benchmark.metric,
            since: self.runs[before.run].clone(),
            difference,
            changes: changes.len() - first,
        })
    }
}

/// Returns the benchmarks that are slower in the last of `runs` than some runs ago, in steps that
/// each comparison passed. A step that its own run's comparison reported was seen by the user who
/// saved that run, so what came before it is history.
pub fn slower_over_time(runs: &[Run], policy: &Policy) -> Vec<SlowerOverTime> {
    let told = told_by(runs, policy);
    if told.is_empty() {
        return told;
    }
    let regressed: Vec<Vec<BenchmarkId>> = runs[..runs.len() - 1]
        .windows(2)
        .map(|pair| regressed_of(&pair[0], &pair[1], policy))
        .collect();
    let seen = |slower: &SlowerOverTime| {
        let step = regressed.iter().rposition(|ids| ids.contains(&slower.id));
        step.map_or(0, |step| step + 1)
    };
    let mut starts: Vec<usize> = told.iter().map(seen).collect();
    starts.sort_unstable();
    starts.dedup();
    let again: Vec<(usize, Vec<SlowerOverTime>)> = starts
        .into_iter()
        .filter(|start| *start > 0)
        .map(|start| (start, told_by(&runs[start..], policy)))
        .collect();
    told.into_iter()
        .filter_map(|slower| match seen(&slower) {
            0 => Some(slower),
            start => {
                let (_, since) = again.iter().find(|(at, _)| *at == start)?;
                since.iter().find(|since| since.id == slower.id).cloned()
            }
        })
        .collect()
}

/// Returns what the change points of `runs` show about the last of them, and a comparison of it
/// with the run from ten runs before, or the oldest.
fn told_by(runs: &[Run], policy: &Policy) -> Vec<SlowerOverTime> {
    let Some((candidate, before)) = runs.split_last() else {
        return Vec::new();
    };
    let trend = trend("the history", runs, Vec::new(), policy.alpha);
    let mut told = trend.map_or(Vec::new(), |trend| trend.slower_over_time());
    // If there is only one, it is the baseline itself.
    if before.len() > 1 {
        let earlier = &before[before.len().saturating_sub(NEWEST_RUNS)];
        add_slower_than(&mut told, earlier, &compared(earlier, candidate, policy));
    }
    told
}

fn compared(before: &Run, after: &Run, policy: &Policy) -> Comparison {
    let label = |run| LabelledRun {
        label: "a run of the history",
        run,
    };
    compare(label(before), label(after), policy)
}

fn regressed_of(before: &Run, after: &Run, policy: &Policy) -> Vec<BenchmarkId> {
    // The run was not judged with the changes that are accepted now.
    let mut policy = policy.clone();
    policy.accepted = Accepted::default();
    let benchmarks = compared(before, after, &policy).benchmarks.into_iter();
    let regressed = benchmarks.filter(|b| b.verdict == Verdict::Regressed);
    regressed.map(|benchmark| benchmark.id).collect()
}

/// Adds what regressed since `run`, according to the comparison `earlier` of the candidate with it.
/// If change points already report a benchmark, the larger difference stays.
fn add_slower_than(all: &mut Vec<SlowerOverTime>, run: &Run, earlier: &Comparison) {
    let regressed = earlier.benchmarks.iter();
    for verdict in regressed.filter(|b| b.verdict == Verdict::Regressed) {
        let Some(effect) = verdict.main_effect() else {
            continue;
        };
        let slower = SlowerOverTime {
            id: verdict.id.clone(),
            metric: effect.metric,
            since: run_of(run),
            difference: effect.difference,
            changes: 0,
        };
        match all.iter_mut().find(|known| known.id == slower.id) {
            Some(known) if known.difference >= slower.difference => {}
            Some(known) => *known = slower,
            None => all.push(slower),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{self, Planted, benchmark};

    /// Returns what is reported after the last of `runs` runs, each slower by `size`.
    fn told(runs: usize, size: impl Fn(usize) -> f64) -> Vec<SlowerOverTime> {
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
    fn many_small_steps_are_told_together_with_where_they_began() {
        let told = told(11, |run| 0.005 * run as f64);
        let [slower] = &told[..] else {
            panic!("{told:?}");
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
    fn what_is_unchanged_undone_or_long_known_is_not_told() {
        assert_eq!(told(11, |_| 0.0), []);
        assert_eq!(
            told(12, |run| if (4..8).contains(&run) { 0.05 } else { 0.0 }),
            []
        );
        assert_eq!(told(20, |run| if run >= 5 { 0.05 } else { 0.0 }), []);
        assert_eq!(told(12, |run| if run >= 5 { 0.05 } else { 0.0 }).len(), 1);
    }
}
