//! Real recordings of unchanged code with `--source time`: suites of 8 and 16 benchmarks on a
//! virtual machine with two CPUs (AMD EPYC), 10 launches a run, one run after the other (22
//! November 2026). `quiet` had the machine to itself, `loaded` shared it with builds.

use topdown_run::provenance::SourceKind;
use topdown_run::run_file::Run;

use super::{Outcome, Policy, judged_by};
use crate::scenario;
use crate::verdict::{Comparison, LabelledRun, compare_after, compare_in_turn};

const QUIET: [&str; 2] = [
    include_str!("recorded/quiet-eight.csv"),
    include_str!("recorded/quiet-sixteen.csv"),
];
const LOADED: [&str; 2] = [
    include_str!("recorded/loaded-eight.csv"),
    include_str!("recorded/loaded-sixteen.csv"),
];

/// The launches of each benchmark of a run, in nanoseconds.
type Recorded = Vec<Vec<f64>>;

/// Returns the runs of each session, in order.
fn sessions(text: &str) -> Vec<Vec<Recorded>> {
    let mut runs: Vec<((&str, u32), Recorded)> = Vec::new();
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let key = (fields[0], fields[1].parse().unwrap());
        let launches = fields[3].split(' ').map(|ns| ns.parse().unwrap()).collect();
        if runs.last().is_none_or(|(last, _)| *last != key) {
            runs.push((key, Vec::new()));
        }
        runs.last_mut().unwrap().1.push(launches);
    }
    let of_sessions = runs.chunk_by(|a, b| a.0.0 == b.0.0);
    of_sessions
        .map(|session| session.iter().map(|(_, run)| run.clone()).collect())
        .collect()
}

/// Returns consecutive runs.
fn adjacent(text: &str) -> Vec<[Recorded; 2]> {
    let pairs = |session: Vec<Recorded>| -> Vec<[Recorded; 2]> {
        let pairs = session.windows(2);
        pairs
            .map(|pair| [pair[0].clone(), pair[1].clone()])
            .collect()
    };
    sessions(text).into_iter().flat_map(pairs).collect()
}

fn run_of(benchmarks: impl Iterator<Item = Vec<f64>>) -> Run {
    let benchmark = |(index, launches): (usize, Vec<f64>)| {
        let launches = launches
            .into_iter()
            .zip(0..)
            .map(|(wall_ns, launch)| scenario::Launch {
                launch,
                samples_used: 20,
                wall_ns,
                ..scenario::Launch::default()
            });
        scenario::with_launches(&format!("{index:02}"), SourceKind::Time, launches.collect())
    };
    scenario::run(benchmarks.enumerate().map(benchmark).collect())
}

/// The same beside slots of a model, which agree.
fn modelled_run_of(benchmarks: impl Iterator<Item = Vec<f64>>) -> Run {
    let mut run = run_of(benchmarks);
    for timed in &mut run.benchmarks {
        let slots = scenario::modelled(&timed.id.name, scenario::Planted::default());
        let times = std::mem::replace(timed, slots).times;
        timed.times = times;
    }
    run
}

/// Compares every pair in both directions, with `size` of its benchmarks, starting at each of them.
fn compared(
    suites: [&str; 2],
    size: usize,
    launches: [usize; 2],
    factor: f64,
    mut each: impl FnMut(&Comparison),
) {
    for [a, b] in suites.into_iter().flat_map(adjacent) {
        for (base, new) in [(&a, &b), (&b, &a)] {
            let places = (0..base.len())
                .step_by(if base.len() > 8 { 5 } else { 3 })
                .filter(|_| size <= base.len());
            for first in places {
                let side = |run: &Recorded, launches: usize, factor: f64| {
                    let wanted = (0..size).map(|n| &run[(first + n * 5) % run.len()]);
                    let factors = std::iter::once(factor).chain(std::iter::repeat(1.0));
                    let some: Vec<Vec<f64>> = wanted
                        .zip(factors)
                        .map(|(all, factor)| all[..launches].iter().map(|ns| ns * factor).collect())
                        .collect();
                    run_of(some.into_iter())
                };
                each(&judged_by(
                    &side(base, launches[0], 1.0),
                    &side(new, launches[1], factor),
                    &Policy::default(),
                ));
            }
        }
    }
}

#[test]
fn unchanged_suites_fail_at_most_one_in_twenty() {
    for suites in [QUIET, LOADED] {
        for launches in [[10, 10], [10, 5]] {
            for size in [1, 2, 3, 5, 8, 9, 10, 12, 16] {
                let (mut judged, mut failed) = (0, 0);
                compared(suites, size, launches, 1.0, |comparison| {
                    judged += 1;
                    failed += usize::from(comparison.outcome == Outcome::Failed);
                });
                assert!(
                    judged > 20 && 20 * failed <= judged,
                    "{size}: {failed} of {judged}"
                );
            }
        }
    }
}

#[test]
fn eight_quiet_benchmarks_reveal_a_slower_one() {
    let found = |size| {
        let (mut judged, mut found) = (0_u32, 0_u32);
        compared(QUIET, size, [10, 10], 1.3, |comparison| {
            judged += 1;
            found += u32::from(comparison.counts.regressed == 1);
        });
        f64::from(found) / f64::from(judged)
    };
    let of_size = [2, 4, 8, 16].map(found);
    assert_eq!(of_size[0], 0.0);
    assert!(
        of_size.is_sorted() && of_size[2] > 0.5 && of_size[3] > 0.9,
        "{of_size:?}"
    );
}

/// Times of real recordings beside modelled slots, as `bench --source model --launches 2` has them:
/// every pair of launches of every pair of runs, of suites that are large enough for a quarter to
/// fail. Two launches resemble each other by luck.
#[test]
fn two_timed_launches_fail_only_by_doubling() {
    let side = |run: &Recorded, size: usize, first: usize, factor: f64| {
        let two = |all: &Vec<f64>| all[first..first + 2].to_vec();
        let mut some: Vec<Vec<f64>> = (0..size).map(|n| two(&run[n * 5 % run.len()])).collect();
        some[0].iter_mut().for_each(|ns| *ns *= factor);
        modelled_run_of(some.into_iter())
    };
    let (mut judged, mut failed, mut found) = (0, 0, 0);
    for [a, b] in [QUIET[1], LOADED[1]].into_iter().flat_map(adjacent) {
        for (base, new) in [(&a, &b), (&b, &a)] {
            for (size, first) in [10, 12, 16].into_iter().zip([0, 4, 8]) {
                let fails = |factor: f64| {
                    let base = side(base, size, first, 1.0);
                    let new = side(new, size, first, factor);
                    judged_by(&base, &new, &Policy::default()).outcome == Outcome::Failed
                };
                judged += 1;
                failed += usize::from(fails(1.0));
                found += usize::from(fails(10.0));
            }
        }
    }
    assert!(
        judged > 100 && 100 * failed <= judged,
        "{failed} of {judged}"
    );
    assert!(2 * found > judged, "{found} of {judged}");
}

/// Each run's own launches in turn: drift affects both sides.
#[test]
fn interleaved_launches_need_no_other_benchmarks() {
    let halves = |recorded: &Recorded, wanted: [usize; 2]| {
        let half = |all: &Vec<f64>| {
            let of_half = all
                .iter()
                .enumerate()
                .filter(|(n, _)| wanted.contains(&(n % 4)));
            of_half.map(|(_, ns)| *ns).collect()
        };
        run_of(recorded.iter().map(half))
    };
    let (mut judged, mut failed) = (0, 0);
    for [a, b] in QUIET.into_iter().chain(LOADED).flat_map(adjacent) {
        let both: Recorded = a
            .iter()
            .zip(&b)
            .map(|(a, b)| [&a[..], &b[..]].concat())
            .collect();
        let (base, new) = (halves(&both, [0, 3]), halves(&both, [1, 2]));
        let label = |label, run| LabelledRun { label, run };
        let policy = Policy::default();
        let comparison = compare_in_turn(label("base", &base), label("new", &new), &policy);
        judged += 1;
        failed += usize::from(comparison.outcome == Outcome::Failed);
    }
    assert!(judged > 20 && 20 * failed <= judged, "{failed} of {judged}");
}

/// Both rates for a suite too small to show its drift: six or more earlier runs show it.
#[test]
fn earlier_runs_estimate_drift_of_small_suites() {
    let rates = |size: usize, factor: f64| {
        let (mut judged, mut failed) = (0_u32, 0_u32);
        for session in LOADED.into_iter().flat_map(sessions) {
            for first in (0..session[0].len()).step_by(2) {
                let run = |(number, recorded): (usize, &Recorded), factor: f64| {
                    let wanted = (0..size).map(|n| &recorded[(first + n * 5) % recorded.len()]);
                    let all = wanted.map(|all| all.iter().map(|ns| ns * factor).collect());
                    Run {
                        id: format!("run-{number}"),
                        ..run_of(all)
                    }
                };
                let runs: Vec<Run> = (session.iter().enumerate())
                    .map(|recorded| run(recorded, 1.0))
                    .collect();
                for newest in 6..runs.len() {
                    let label = |run| LabelledRun {
                        label: "a run",
                        run,
                    };
                    let candidate = run((newest, &session[newest]), factor);
                    let comparison = compare_after(
                        &runs[..newest],
                        label(&runs[newest - 1]),
                        label(&candidate),
                        &Policy::default(),
                    );
                    judged += 1;
                    failed += u32::from(comparison.outcome == Outcome::Failed);
                }
            }
        }
        (judged, failed)
    };
    let (mut judged, mut failed) = (0, 0);
    for size in [1, 2, 3, 5, 8] {
        let (of_size, fails) = rates(size, 1.0);
        (judged, failed) = (judged + of_size, failed + fails);
    }
    assert!(
        judged > 400 && 20 * failed <= judged,
        "{failed} of {judged}"
    );
    // Without earlier runs, nothing less than a doubling fails.
    let (judged, found) = rates(1, 1.9);
    assert!(4 * found >= judged, "{found} of {judged}");
}
