//! Finds what became slower since an earlier run, in steps that comparisons of two runs pass.
//!
//! Each merge that saves its run as the next baseline moves the reference of the next comparison.
//! The change points of the history do not move. A steady slope has none that a short history could
//! show, but its two ends differ, so the candidate is also judged against the run from ten runs
//! ago.

use topdown_run::run_file::{BenchmarkId, Run};

use super::{Comparison, LabelledRun, Verdict, compare};
use crate::policy::{Accepted, Policy};
use crate::trend::{self, NEWEST_RUNS, SlowerOverTime};

/// Returns the benchmarks that are slower in the last of `runs` than some runs ago, in steps that
/// each comparison passed. A step that its own run's comparison reported was seen by the user who
/// saved that run, so what came before it is history.
pub fn slower_after(runs: &[Run], policy: &Policy) -> Vec<SlowerOverTime> {
    let reported = slower_by_change_points(runs, policy);
    if reported.is_empty() {
        return reported;
    }
    let regressed: Vec<Vec<BenchmarkId>> = runs[..runs.len() - 1]
        .windows(2)
        .map(|pair| regressed_of(&pair[0], &pair[1], policy))
        .collect();
    let seen = |slower: &SlowerOverTime| {
        let step = regressed.iter().rposition(|ids| ids.contains(&slower.id));
        step.map_or(0, |step| step + 1)
    };
    let mut starts: Vec<usize> = reported.iter().map(seen).collect();
    starts.sort_unstable();
    starts.dedup();
    let again: Vec<(usize, Vec<SlowerOverTime>)> = starts
        .into_iter()
        .filter(|start| *start > 0)
        .map(|start| (start, slower_by_change_points(&runs[start..], policy)))
        .collect();
    reported
        .into_iter()
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
fn slower_by_change_points(runs: &[Run], policy: &Policy) -> Vec<SlowerOverTime> {
    let Some((candidate, before)) = runs.split_last() else {
        return Vec::new();
    };
    let trend = trend::trend("the history", runs, Vec::new(), policy.alpha);
    let mut reported = trend.map_or(Vec::new(), |trend| trend.slower_over_time());
    // If there is only one, it is the baseline itself.
    if before.len() > 1 {
        let earlier = &before[before.len().saturating_sub(NEWEST_RUNS)];
        add_regressed_since(
            &mut reported,
            earlier,
            &compared(earlier, candidate, policy),
        );
    }
    reported
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
fn add_regressed_since(all: &mut Vec<SlowerOverTime>, run: &Run, earlier: &Comparison) {
    let regressed = earlier.benchmarks.iter();
    for verdict in regressed.filter(|b| b.verdict == Verdict::Regressed) {
        let Some(effect) = verdict.main_effect() else {
            continue;
        };
        let slower = SlowerOverTime {
            id: verdict.id.clone(),
            metric: effect.metric,
            since: trend::run_of(run),
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
