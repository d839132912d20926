//! Tests of benchmarks that were modelled in several orders of their threads.

use super::*;
use crate::scenario::{in_schedules, normal};

/// A run of one benchmark with these slots in its schedules, as multiples of 1000.
fn run_of(slots: &[f64]) -> Run {
    let planted = Planted {
        launches: 2,
        ..Planted::default()
    };
    let mut benchmark = modelled("m", planted);
    let first = slots.first().copied().unwrap_or(1.0);
    for launch in benchmark.slots_launches_mut() {
        launch.slots *= first;
        if let Some(level1) = &mut launch.level1 {
            level1.slots = level1.slots.map(|slots| slots * first);
        }
    }
    let relative: Vec<f64> = slots.iter().map(|slots| slots / first).collect();
    scenario::run(vec![in_schedules(benchmark, &relative)])
}

fn verdict_of(baseline: &[f64], candidate: &[f64]) -> BenchmarkVerdict {
    let comparison = judged(&run_of(baseline), &run_of(candidate));
    comparison.benchmarks.into_iter().next().unwrap()
}

#[test]
fn change_counts_only_if_all_schedules_show_it() {
    let depends = Some(UndecidedReason::DependsOnOrder);
    let before = [1.0; 4];
    for (after, expected, reason) in [
        ([1.0; 4], Verdict::Unchanged, None),
        ([1.1; 4], Verdict::Regressed, None),
        ([1.1, 1.3, 1.01, 1.05], Verdict::Regressed, None),
        ([1.1, 1.3, 1.0, 1.05], Verdict::Inconclusive, depends),
        ([1.1, 1.1, 1.1, 0.9], Verdict::Inconclusive, depends),
        // The first one decides how much it is, and the others whether it is real.
        ([1.0, 1.1, 1.1, 1.1], Verdict::Inconclusive, depends),
        ([1.019, 1.019, 1.0, 1.0], Verdict::Unchanged, None),
        ([0.9; 4], Verdict::Improved, None),
        ([0.9, 0.9, 0.9, 1.0], Verdict::Inconclusive, depends),
        ([1.0, 1.0, 1.0, 0.9], Verdict::Inconclusive, depends),
    ] {
        let verdict = verdict_of(&before, &after);
        assert_eq!(verdict.verdict, expected, "{after:?}");
        let undecided = verdict.undecided.map(|undecided| undecided.reason);
        assert_eq!(undecided, reason, "{after:?}");
        // Further launches would have the same schedules.
        assert!(!verdict.suspect, "{after:?}");
        assert_eq!(verdict.schedules.unwrap().schedules, 4);
    }
}

#[test]
fn only_common_schedules_are_compared() {
    let lucky = [1.1, 1.0, 1.0, 1.0];
    assert_eq!(verdict_of(&[1.0; 4], &lucky).verdict, Verdict::Inconclusive);
    assert_eq!(verdict_of(&[1.0; 2], &lucky).verdict, Verdict::Inconclusive);
    // As without schedules.
    for before in [&[][..], &[1.0]] {
        let verdict = verdict_of(before, &lucky);
        assert_eq!(verdict.verdict, Verdict::Regressed);
        assert_eq!(verdict.schedules, None);
    }
}

#[test]
fn category_of_one_schedule_fails_nothing() {
    let (baseline, mut candidate) = (run_of(&[1.0; 3]), run_of(&[1.0; 3]));
    let benchmark = &mut candidate.benchmarks[0];
    let grow = |value: &mut SlotsValue| {
        value.slots += 10.0;
        let level1 = value.level1.as_mut().unwrap();
        level1.slots.backend_bound += 30.0;
        level1.slots.retiring -= 20.0;
    };
    benchmark.slots_launches_mut().iter_mut().for_each(grow);
    let alone = Run {
        benchmarks: vec![Benchmark {
            schedules: None,
            ..benchmark.clone()
        }],
        ..candidate.clone()
    };
    let verdict = |run: &Run| judged(&baseline, run).benchmarks[0].verdict;
    assert_eq!(verdict(&alone), Verdict::Regressed);
    let schedules = &mut candidate.benchmarks[0].schedules.as_mut().unwrap().launches;
    grow(&mut schedules[0]);
    assert_eq!(verdict(&candidate), Verdict::Unchanged);
    let schedules = &mut candidate.benchmarks[0].schedules.as_mut().unwrap().launches;
    schedules[1..].iter_mut().for_each(grow);
    assert_eq!(verdict(&candidate), Verdict::Regressed);
}

/// Returns how often a change fails in this many schedules, whose slots depend on the order with
/// this standard deviation.
fn failures(schedules: usize, deviation: f64, change: f64) -> f64 {
    const ROUNDS: u64 = 400;
    let mut rng = fastrand::Rng::with_seed(1);
    let mut side = |change: f64| -> Vec<f64> {
        let slots = (0..schedules).map(|_| (1.0 + change) * (1.0 + deviation * normal(&mut rng)));
        slots.collect()
    };
    let fails = (0..ROUNDS).filter(|_| {
        let verdict = verdict_of(&side(0.0), &side(change));
        verdict.verdict == Verdict::Regressed
    });
    fails.count() as f64 / ROUNDS as f64
}

/// Each edit of the code gives another order the fewest slots, by chance.
#[test]
fn lucky_order_seldom_fails_and_change_is_found() {
    // Without other schedules: P(N(0, 0.02 √2) ≥ 0.02) = 24 %.
    assert!(failures(1, 0.02, 0.0) > 0.15);
    assert!(failures(8, 0.02, 0.0) < 0.005);
    assert!(failures(8, 0.05, 0.0) < 0.01);
    assert!(failures(8, 0.02, 0.15) > 0.99);
    assert!(failures(8, 0.005, 0.04) > 0.99);
}
