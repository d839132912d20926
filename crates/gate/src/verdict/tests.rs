//! Tests of the verdicts on planted changes.

mod allocations;
mod comparable;
mod disagreement;
mod exact;
mod recorded;
mod same_code;
mod sampled;
mod schedules;
mod slow_launches;
mod time_beside_slots;
mod uncounted_work;
mod warning;

use super::*;
use crate::metric::Metric;
use crate::policy::{AcceptedChange, FailOn, FailOnClass, MarginSetting, Overrides, Subject};
use crate::scenario::{self, Planted, benchmark, modelled, timed, with_functions};
use topdown_run::code_samples::{Sampled, SamplingEngine};
use topdown_run::provenance::{CountedThreads, SourceKind};
use topdown_run::run_file::SlotsValue;

fn suite(size: usize, seed: u64, change: impl Fn(usize) -> Planted) -> Run {
    let benchmarks = (0..size)
        .map(|index| {
            let planted = Planted {
                seed,
                ..change(index)
            };
            benchmark(&format!("b{index:02}"), planted)
        })
        .collect();
    scenario::run(benchmarks)
}

fn unchanged(_: usize) -> Planted {
    Planted::default()
}

fn in_category(category: usize, fraction: f64) -> Planted {
    let mut categories = [0.0; 4];
    categories[category] = fraction;
    Planted {
        categories: categories.into(),
        ..Planted::default()
    }
}

fn judged(baseline: &Run, candidate: &Run) -> Comparison {
    judged_by(baseline, candidate, &Policy::default())
}

fn judged_by(baseline: &Run, candidate: &Run, policy: &Policy) -> Comparison {
    let label = |label, run| LabelledRun { label, run };
    compare(
        label("main", baseline),
        label("the newest run", candidate),
        policy,
    )
}

#[test]
fn unchanged_suite_has_no_findings() {
    let comparison = judged(&suite(30, 1, unchanged), &suite(30, 2, unchanged));
    assert_eq!(comparison.outcome, Outcome::Passed);
    assert_eq!(comparison.exit_code, 0);
    assert_eq!(comparison.counts.unchanged, 30);
    assert_eq!(comparison.suite.tests, 30 * 6);
}

#[test]
fn slower_benchmark_regresses_alone_with_category() {
    for (category, metric) in [
        Metric::Retiring,
        Metric::BadSpeculation,
        Metric::FrontendBound,
        Metric::BackendBound,
    ]
    .into_iter()
    .enumerate()
    {
        let candidate = suite(30, 2, |index| match index {
            7 => in_category(category, 0.08),
            _ => Planted::default(),
        });
        let comparison = judged(&suite(30, 1, unchanged), &candidate);
        assert_eq!(comparison.outcome, Outcome::Failed);
        assert_eq!(comparison.exit_code, 100);
        assert_eq!(comparison.counts.regressed, 1);
        let regressed = &comparison.benchmarks[7];
        assert_eq!(regressed.verdict, Verdict::Regressed);
        let cause = regressed.cause.as_ref().unwrap();
        assert_eq!(cause.kind, CauseKind::Category { category: metric });
        let sum: f64 = cause.parts.iter().map(|part| part.difference).sum();
        assert!((sum - cause.difference).abs() < 1e-12);
        for part in &cause.parts {
            let details: f64 = part.details.iter().map(|detail| detail.difference).sum();
            assert!((details - part.difference).abs() < 1e-12);
        }
    }
}

#[test]
fn faster_benchmark_is_improved_and_fails_nothing() {
    let candidate = suite(30, 2, |_| in_category(3, -0.08));
    let comparison = judged(&suite(30, 1, unchanged), &candidate);
    assert_eq!(comparison.counts.improved, 30);
    assert_eq!(comparison.exit_code, 0);
    assert!(comparison.suite.global_slots_difference.unwrap().difference < -0.07);
}

#[test]
fn shifted_slots_fail_only_by_policy() {
    let candidate = suite(30, 2, |index| match index {
        3 => Planted {
            categories: [-0.08, 0.0, 0.0, 0.08].into(),
            ..Planted::default()
        },
        _ => Planted::default(),
    });
    let baseline = suite(30, 1, unchanged);
    let comparison = judged(&baseline, &candidate);
    assert_eq!(comparison.benchmarks[3].verdict, Verdict::Shifted);
    assert_eq!(comparison.outcome, Outcome::Passed);
    let mut policy = Policy::default();
    policy.fail_on.shifted = true;
    assert_eq!(judged_by(&baseline, &candidate, &policy).exit_code, 100);
}

#[test]
fn longer_time_at_equal_slots_regresses_as_time() {
    let candidate = suite(30, 2, |index| Planted {
        time_per_slot: if index == 5 { 1.12 } else { 1.0 },
        ..Planted::default()
    });
    let comparison = judged(&suite(30, 1, unchanged), &candidate);
    let verdict = &comparison.benchmarks[5];
    assert_eq!(verdict.verdict, Verdict::Regressed);
    let cause = verdict.cause.as_ref().unwrap();
    assert!(matches!(cause.kind, CauseKind::TimePerSlot { difference } if difference > 0.1));
    assert_eq!(comparison.counts.regressed, 1);
}

#[test]
fn slower_clock_is_a_machine_shift() {
    let candidate = suite(30, 2, |_| Planted {
        time_per_slot: 1.3,
        ..Planted::default()
    });
    let comparison = judged(&suite(30, 1, unchanged), &candidate);
    assert_eq!(comparison.counts.unchanged, 30);
    let shift = comparison.suite.machine_shifts[0];
    assert_eq!(shift.basis, ShiftBasis::TimePerSlot);
    assert!(shift.removed && (shift.difference - 0.3).abs() < 0.01);
}

#[test]
fn slower_clock_gates_nothing_beside_slots() {
    let candidate = suite(5, 2, |_| Planted {
        time_per_slot: 1.3,
        ..Planted::default()
    });
    let comparison = judged(&suite(5, 1, unchanged), &candidate);
    assert_eq!(comparison.outcome, Outcome::Passed);
    let wall = comparison.benchmarks[0].effect(Metric::Wall).unwrap();
    assert!(!wall.gated && !wall.is_worse() && wall.difference > 0.25);
}

fn timed_suite(size: usize, seed: u64, time_per_slot: impl Fn(usize) -> f64) -> Run {
    let benchmarks = (0..size)
        .map(|index| {
            let planted = Planted {
                seed,
                time_per_slot: time_per_slot(index),
                ..Planted::default()
            };
            timed(&format!("t{index:02}"), planted)
        })
        .collect();
    scenario::run(benchmarks)
}

#[test]
fn time_is_gated_without_slots() {
    let candidate = timed_suite(4, 2, |index| if index == 2 { 1.15 } else { 1.0 });
    let comparison = judged(&timed_suite(4, 1, |_| 1.0), &candidate);
    assert_eq!(comparison.counts.regressed, 1);
    assert_eq!(comparison.benchmarks[2].verdict, Verdict::Regressed);
    assert_eq!(comparison.suite.tests, 4);
}

#[test]
fn uniformly_slower_time_suite_is_undecided() {
    let candidate = timed_suite(12, 2, |index| if index == 2 { 1.6 } else { 1.2 });
    let comparison = judged(&timed_suite(12, 1, |_| 1.0), &candidate);
    assert_eq!(comparison.counts.regressed, 1);
    assert_eq!(comparison.counts.inconclusive, 11);
    let undecided = comparison.benchmarks[0].undecided.unwrap();
    assert_eq!(undecided.reason, UndecidedReason::MachineOrGlobalChange);
    let shift = comparison.suite.machine_shifts[0];
    assert_eq!(shift.basis, ShiftBasis::Time);
}

#[test]
fn time_unexplained_by_suite_is_not_the_machine() {
    let noisy = |seed, factor: f64| {
        let mut run = timed_suite(12, seed, |_| factor);
        let planted = Planted {
            seed,
            time_per_slot: factor * if factor > 1.0 { 1.3 } else { 1.0 },
            deviation: 0.25,
            ..Planted::default()
        };
        run.benchmarks.push(timed("wild", planted));
        run
    };
    let comparison = judged(&noisy(3, 1.0), &noisy(4, 1.2));
    let wild = comparison.benchmarks.last().unwrap();
    let beyond = wild.effect(Metric::Wall).unwrap().difference;
    assert!(beyond > 0.05, "{beyond}");
    assert_ne!(
        wild.undecided.unwrap().reason,
        UndecidedReason::MachineOrGlobalChange
    );
}

#[test]
fn ungated_longer_time_is_reported() {
    let candidate = suite(6, 2, |index| Planted {
        time_per_slot: if index == 5 { 1.25 } else { 1.0 },
        ..Planted::default()
    });
    let comparison = judged(&suite(6, 1, unchanged), &candidate);
    assert_eq!(comparison.outcome, Outcome::Passed);
    let longer = |b: &BenchmarkVerdict| b.evidence.unwrap().time_disagrees;
    assert!(longer(&comparison.benchmarks[5]));
    assert_eq!(comparison.benchmarks[5].verdict, Verdict::TimeDisagrees);
    assert_eq!(comparison.counts.time_disagrees, 1);
    let policy = Overrides {
        fail_on: Some(vec![FailOnClass::TimeDisagrees]),
        ..Overrides::default()
    };
    let policy = Policy::default().overridden_by(&policy);
    let failed = judged_by(&suite(6, 1, unchanged), &candidate, &policy);
    assert_eq!(failed.exit_code, 100);
    assert!(!comparison.benchmarks[..5].iter().any(longer));
    // Nor if the slots explain it.
    let slower = suite(6, 2, |_| in_category(3, 0.2));
    let comparison = judged(&suite(6, 1, unchanged), &slower);
    assert!(!comparison.benchmarks.iter().any(longer));
}

#[test]
fn ungated_growth_asks_for_no_launches() {
    let candidate = suite(30, 2, |index| match index {
        7 => in_category(3, 0.08),
        _ => Planted::default(),
    });
    let flags = Overrides {
        gate: Some(vec![Subject::Metric(Metric::FrontendBound)]),
        ..Overrides::default()
    };
    let policy = Policy::default().overridden_by(&flags);
    let comparison = judged_by(&suite(30, 1, unchanged), &candidate, &policy);
    let undecided = comparison.benchmarks[7].undecided.unwrap();
    assert_eq!(undecided.reason, UndecidedReason::NotGated);
    assert_eq!(undecided.launches_needed, None);
}

#[test]
fn one_launch_never_fails() {
    let one = |seed, factor: f64| {
        suite(30, seed, |_| Planted {
            launches: 1,
            categories: [0.0, 0.0, 0.0, factor].into(),
            ..Planted::default()
        })
    };
    let comparison = judged(&one(1, 0.0), &one(2, 5.0));
    assert_eq!(comparison.counts.regressed, 0);
    assert_eq!(comparison.counts.inconclusive, 30);
    let undecided = comparison.benchmarks[0].undecided.unwrap();
    assert_eq!(undecided.reason, UndecidedReason::OneLaunch);
    assert!(undecided.launches_needed.is_some());
    assert!(
        comparison
            .warnings
            .contains(&Warning::FewLaunches { launches: 1 })
    );
}

#[test]
fn noise_is_inconclusive_with_launches_needed() {
    let noisy = |seed, deviation| {
        suite(30, seed, |_| Planted {
            deviation,
            launches: 5,
            ..Planted::default()
        })
    };
    // In turn, since drift would not shrink with more launches.
    let label = |run| LabelledRun { label: "run", run };
    let (base, new) = (noisy(1, 0.02), noisy(2, 0.02));
    let comparison = compare_in_turn(label(&base), label(&new), &Policy::default());
    let needed = comparison
        .benchmarks
        .iter()
        .find_map(|b| b.undecided?.launches_needed)
        .unwrap();
    assert!((6..=50).contains(&needed), "{needed}");
    let comparison = judged(&noisy(1, 0.3), &noisy(2, 0.3));
    assert!(comparison.counts.inconclusive > 20);
    assert_eq!(comparison.counts.regressed, 0);
    let undecided = comparison.benchmarks.iter().find_map(|b| b.undecided);
    assert_eq!(undecided.unwrap().launches_needed, None);
    let mut policy = Policy::default();
    policy.fail_on.inconclusive = true;
    let comparison = judged_by(&noisy(1, 0.3), &noisy(2, 0.3), &policy);
    assert_eq!(comparison.outcome, Outcome::Inconclusive);
    assert_eq!(comparison.exit_code, 103);
}

#[test]
fn drift_between_sessions_is_assumed_of_three_benchmarks() {
    let slower = |by: f64| {
        move |index: usize| match index {
            0 => in_category(3, by),
            _ => unchanged(index),
        }
    };
    let baseline = suite(3, 1, unchanged);
    let first = |comparison: &Comparison| comparison.benchmarks[0].clone();
    let candidate = suite(3, 2, slower(0.05));
    let apart = first(&judged(&baseline, &candidate));
    assert_eq!(apart.verdict, Verdict::Inconclusive);
    let reason = apart.undecided.map(|undecided| undecided.reason);
    assert_eq!(reason, Some(UndecidedReason::DriftAssumed));
    let label = |run| LabelledRun { label: "a", run };
    let policy = Policy::default();
    let in_turn = compare_in_turn(label(&baseline), label(&candidate), &policy);
    assert_eq!(first(&in_turn).verdict, Verdict::Regressed);
    let doubled = first(&judged(&baseline, &suite(3, 2, slower(1.0))));
    assert_eq!(doubled.verdict, Verdict::Regressed);
}

#[test]
fn nothing_decided_exits_104_unless_allowed() {
    let launched_once = |seed| {
        suite(8, seed, |_| Planted {
            launches: 1,
            ..Planted::default()
        })
    };
    let (base, new) = (launched_once(1), launched_once(2));
    let exit_code = |policy: &Policy| {
        let comparison = judged_by(&base, &new, policy);
        assert_eq!(comparison.counts.inconclusive, 8);
        comparison.exit_code
    };
    let mut policy = Policy::default();
    assert_eq!(exit_code(&policy), 104);
    policy.allow_nothing_decided = true;
    assert_eq!(exit_code(&policy), 0);
    policy.fail_on.inconclusive = true;
    assert_eq!(exit_code(&policy), 103);
    let mut with_one_decided = [base.clone(), new.clone()];
    for run in &mut with_one_decided {
        run.benchmarks.push(modelled("exact", Planted::default()));
    }
    let [base, new] = &with_one_decided;
    assert_eq!(judged(base, new).exit_code, 0);
}

#[test]
fn only_timed_benchmarks_are_tested_by_time() {
    let suite = |seed, factor: f64| {
        let planted = |index: usize| Planted {
            seed,
            time_per_slot: if index.is_multiple_of(4) { factor } else { 1.0 },
            ..Planted::default()
        };
        let modelled = (0..24).map(|n| modelled(&format!("m{n:02}"), planted(n)));
        let timed = (0..4).map(|n| timed(&format!("t{n}"), planted(n)));
        scenario::run(modelled.chain(timed).collect())
    };
    let comparison = judged(&suite(1, 1.0), &suite(2, 1.3));
    assert_eq!(comparison.suite.tests, 4);
    for verdict in &comparison.benchmarks {
        let is_timed = verdict.source == SourceKind::Time;
        let wall = verdict.effect(Metric::Wall).unwrap();
        assert_eq!(
            (wall.gated, wall.exact),
            (is_timed, false),
            "{}",
            verdict.id
        );
        assert_eq!(verdict.verdict == Verdict::Regressed, wall.is_worse());
        let longer = wall.difference > 0.2;
        assert_eq!(
            verdict.verdict == Verdict::TimeDisagrees,
            longer && !is_timed
        );
    }
    assert_eq!(comparison.counts.regressed, 1);
    assert_eq!(comparison.counts.unchanged, 18);
    // Four show too little of the machine to be called unchanged.
    assert_eq!(comparison.counts.inconclusive, 3);
}

#[test]
fn coarse_categories_are_untested_total_is_tested() {
    let coarse = |seed, be| {
        let mut run = suite(30, seed, |_| in_category(3, be));
        for benchmark in &mut run.benchmarks {
            for launch in benchmark.slots_launches_mut() {
                launch.resolution_fraction = 0.05;
            }
        }
        run
    };
    let comparison = judged(&coarse(1, 0.0), &coarse(2, 0.1));
    let verdict = &comparison.benchmarks[0];
    assert_eq!(verdict.verdict, Verdict::Regressed);
    assert!((verdict.coarse.unwrap().baseline_resolution - 0.05).abs() < 1e-12);
    assert!(!verdict.effect(Metric::BackendBound).unwrap().gated);
    assert_eq!(verdict.cause.as_ref().unwrap().kind, CauseKind::Unknown);
    assert_eq!(comparison.suite.tests, 60);
}

#[test]
fn resolution_of_one_step_is_one_in_255() {
    let comparison = judged(&suite(3, 1, unchanged), &suite(3, 2, unchanged));
    let effects = &comparison.benchmarks[0].effects;
    let [slots, backend] = [Metric::Slots, Metric::BackendBound]
        .map(|metric| effects.iter().find(|e| e.metric == metric).unwrap());
    assert_eq!(slots.resolution, 0.0);
    let expected = 0.5 / 255.0 * (1.0 + slots.candidate / slots.baseline);
    assert!((backend.resolution - expected).abs() < 1e-12);
}

#[test]
fn benchmark_order_changes_no_bit() {
    let baseline = suite(40, 1, unchanged);
    let candidate = suite(40, 2, |index| {
        in_category(index % 4, 0.01 * (index % 7) as f64)
    });
    let straight = judged(&baseline, &candidate);
    let mut shuffled = (baseline, candidate);
    shuffled.0.benchmarks.reverse();
    shuffled.1.benchmarks.rotate_left(13);
    assert_eq!(judged(&shuffled.0, &shuffled.1), straight);
}

#[test]
fn categories_add_up_without_nan() {
    for launches in [1, 2, 5, 10] {
        let candidate = suite(30, 2, |index| Planted {
            launches,
            ..in_category(index % 4, 0.02 * (index % 9) as f64)
        });
        let comparison = judged(&suite(30, 1, unchanged), &candidate);
        for benchmark in &comparison.benchmarks {
            let effect = |metric| benchmark.effect(metric).unwrap();
            let parts: f64 = [
                Metric::Retiring,
                Metric::BadSpeculation,
                Metric::FrontendBound,
                Metric::BackendBound,
            ]
            .map(|category| effect(category).difference)
            .iter()
            .sum();
            assert!((parts - effect(Metric::Slots).difference).abs() < 1e-12);
            for effect in &benchmark.effects {
                let numbers = [
                    effect.difference,
                    effect.p,
                    effect.standard_error,
                    effect.degrees_of_freedom,
                    effect.interval.map_or(0.0, |interval| interval.low),
                    effect.interval.map_or(0.0, |interval| interval.high),
                ];
                assert!(
                    numbers.iter().all(|number| number.is_finite()),
                    "{effect:?}"
                );
                assert!(effect.standard_error > 0.0 && (0.0..=1.0).contains(&effect.p));
            }
        }
    }
}

#[test]
fn rejection_means_interval_clears_margin() {
    let candidate = suite(60, 2, |index| match index % 4 {
        0 => in_category(3, 0.025 + 0.001 * index as f64),
        _ => Planted::default(),
    });
    let comparison = judged(&suite(60, 1, unchanged), &candidate);
    let mut hits = 0;
    for benchmark in &comparison.benchmarks {
        for effect in benchmark.effects.iter().filter(|effect| effect.is_worse()) {
            hits += 1;
            assert!(effect.interval.unwrap().simultaneous);
            assert!(effect.interval.unwrap().low > effect.sure_margin);
        }
    }
    assert!(hits > 10, "{hits}");
}

/// Anything that a run file may contain leads to a verdict without NaN, and always to the same one.
#[test]
fn odd_numbers_make_no_odd_verdicts() {
    let mut rng = fastrand::Rng::with_seed(7);
    let odd = [0.0, 1e-300, 1e-9, 1.0, 1e9, 1e150, 1e308, f64::MAX];
    for round in 0..300 {
        let mut run = || {
            let size = rng.usize(1..30);
            let mut run = suite(size, round, unchanged);
            for benchmark in &mut run.benchmarks {
                let slots = benchmark.slots.as_mut().unwrap();
                slots.launches.truncate(rng.usize(..11));
                benchmark.times.launches.truncate(rng.usize(..11));
                let mut pick = || odd[rng.usize(..odd.len())];
                for launch in &mut slots.launches {
                    match round % 5 {
                        0 => launch.slots = pick(),
                        2 => launch.resolution_fraction = pick(),
                        3 => launch.level1.as_mut().unwrap().slots.backend_bound = -pick(),
                        4 => *launch = SlotsValue::default(),
                        _ => {}
                    }
                }
                if round % 5 == 1 {
                    for time in &mut benchmark.times.launches {
                        time.wall_ns = pick();
                    }
                }
            }
            run
        };
        let (baseline, candidate) = (run(), run());
        let comparison = judged(&baseline, &candidate);
        assert_eq!(judged(&baseline, &candidate), comparison);
        for benchmark in &comparison.benchmarks {
            for effect in &benchmark.effects {
                let numbers = [
                    effect.difference,
                    effect.p,
                    effect.standard_error,
                    effect.degrees_of_freedom,
                    effect.interval.map_or(0.0, |interval| interval.low),
                    effect.interval.map_or(0.0, |interval| interval.high),
                ];
                assert!(numbers.iter().all(|n| !n.is_nan()), "{round}: {effect:?}");
            }
        }
    }
}
