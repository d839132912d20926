//! The verdicts on planted changes.

use super::scenario::{self, Planted, benchmark, modelled, timed};
use super::*;
use crate::cli::PolicyArgs;
use criterion_topdown::provenance::SourceKind;
use criterion_topdown::run_file::LaunchValue;

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
        categories,
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
fn nothing_planted_is_nothing_found() {
    let comparison = judged(&suite(30, 1, unchanged), &suite(30, 2, unchanged));
    assert_eq!(comparison.outcome, Outcome::Passed);
    assert_eq!(comparison.exit_code, 0);
    assert_eq!(comparison.counts.unchanged, 30);
    assert_eq!(comparison.suite.tests, 30 * 6);
}

#[test]
fn a_slower_benchmark_regresses_alone_and_its_category_is_named() {
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
        assert_eq!(regressed.class, Class::Regressed);
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
fn a_faster_benchmark_is_improved_and_fails_nothing() {
    let candidate = suite(30, 2, |_| in_category(3, -0.08));
    let comparison = judged(&suite(30, 1, unchanged), &candidate);
    assert_eq!(comparison.counts.improved, 30);
    assert_eq!(comparison.exit_code, 0);
    assert!(comparison.suite.global_slots_difference.unwrap() < -0.07);
}

#[test]
fn slots_that_only_move_are_shifted_and_fail_if_the_policy_says_so() {
    let candidate = suite(30, 2, |index| match index {
        3 => Planted {
            categories: [-0.08, 0.0, 0.0, 0.08],
            ..Planted::default()
        },
        _ => Planted::default(),
    });
    let baseline = suite(30, 1, unchanged);
    let comparison = judged(&baseline, &candidate);
    assert_eq!(comparison.benchmarks[3].class, Class::Shifted);
    assert_eq!(comparison.outcome, Outcome::Passed);
    let mut policy = Policy::default();
    policy.fail_on.shifted = true;
    assert_eq!(judged_by(&baseline, &candidate, &policy).exit_code, 100);
}

#[test]
fn time_at_flat_slots_is_no_matter_of_the_pipeline() {
    let candidate = suite(30, 2, |index| Planted {
        time_per_slot: if index == 5 { 1.12 } else { 1.0 },
        ..Planted::default()
    });
    let comparison = judged(&suite(30, 1, unchanged), &candidate);
    let verdict = &comparison.benchmarks[5];
    assert_eq!(verdict.class, Class::Regressed);
    let cause = verdict.cause.as_ref().unwrap();
    assert!(matches!(cause.kind, CauseKind::TimePerSlot { difference } if difference > 0.1));
    assert_eq!(comparison.counts.regressed, 1);
}

#[test]
fn a_slower_clock_is_the_machines_and_not_a_benchmarks() {
    let candidate = suite(30, 2, |_| Planted {
        time_per_slot: 1.3,
        ..Planted::default()
    });
    let comparison = judged(&suite(30, 1, unchanged), &candidate);
    assert_eq!(comparison.counts.unchanged, 30);
    let shift = comparison.suite.machine_shift.unwrap();
    assert_eq!(shift.basis, ShiftBasis::TimePerSlot);
    assert!(shift.removed && (shift.difference - 0.3).abs() < 0.01);
}

#[test]
fn a_clock_that_slows_a_few_benchmarks_gates_nothing_beside_slots() {
    let candidate = suite(5, 2, |_| Planted {
        time_per_slot: 1.3,
        ..Planted::default()
    });
    let comparison = judged(&suite(5, 1, unchanged), &candidate);
    assert_eq!(comparison.outcome, Outcome::Passed);
    let wall = comparison.benchmarks[0].effect(Metric::Wall).unwrap();
    assert!(!wall.gated && !wall.hit && wall.difference > 0.25);
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
fn without_slots_time_is_gated() {
    let candidate = timed_suite(4, 2, |index| if index == 2 { 1.15 } else { 1.0 });
    let comparison = judged(&timed_suite(4, 1, |_| 1.0), &candidate);
    assert_eq!(comparison.counts.regressed, 1);
    assert_eq!(comparison.benchmarks[2].class, Class::Regressed);
    assert_eq!(comparison.suite.tests, 4);
}

#[test]
fn a_suite_of_time_that_slows_as_a_whole_is_undecided() {
    let candidate = timed_suite(12, 2, |index| if index == 2 { 1.6 } else { 1.2 });
    let comparison = judged(&timed_suite(12, 1, |_| 1.0), &candidate);
    assert_eq!(comparison.counts.regressed, 1);
    assert_eq!(comparison.counts.inconclusive, 11);
    let undecided = comparison.benchmarks[0].undecided.unwrap();
    assert_eq!(undecided.reason, UndecidedReason::MachineOrGlobalChange);
    let shift = comparison.suite.machine_shift.unwrap();
    assert_eq!(shift.basis, ShiftBasis::Time);
}

#[test]
fn time_that_grows_without_gating_is_told() {
    let candidate = suite(6, 2, |index| Planted {
        time_per_slot: if index == 5 { 1.25 } else { 1.0 },
        ..Planted::default()
    });
    let comparison = judged(&suite(6, 1, unchanged), &candidate);
    assert_eq!(comparison.outcome, Outcome::Passed);
    let longer = |b: &BenchmarkVerdict| b.evidence.unwrap().longer_at_flat_slots;
    assert!(longer(&comparison.benchmarks[5]));
    assert!(!comparison.benchmarks[..5].iter().any(longer));
    // Nor where the slots explain it.
    let slower = suite(6, 2, |_| in_category(3, 0.2));
    let comparison = judged(&suite(6, 1, unchanged), &slower);
    assert!(!comparison.benchmarks.iter().any(longer));
}

/// Nothing is tested in a suite that is exact, and many clocks wobble.
#[test]
fn time_beside_exact_slots_is_not_cried_over() {
    let modelled_suite = |seed| {
        let of = |index| {
            let planted = Planted {
                seed,
                ..Planted::default()
            };
            let mut benchmark = modelled(&format!("b{index:02}"), planted);
            let noise = scenario::benchmark(
                &format!("t{index}"),
                Planted {
                    deviation: 0.1,
                    ..planted
                },
            );
            for (launch, noisy) in benchmark.launches.iter_mut().zip(&noise.launches) {
                launch.wall_ns = noisy.wall_ns;
            }
            benchmark
        };
        scenario::run((0..100).map(of).collect())
    };
    let longer = |b: &&BenchmarkVerdict| b.evidence.unwrap().longer_at_flat_slots;
    let comparison = judged(&modelled_suite(1), &modelled_suite(2));
    assert_eq!(comparison.suite.tests, 0);
    assert_eq!(comparison.benchmarks.iter().filter(longer).count(), 0);
}

#[test]
fn what_grows_without_being_gated_is_not_said_to_need_launches() {
    let candidate = suite(30, 2, |index| match index {
        7 => in_category(3, 0.08),
        _ => Planted::default(),
    });
    let flags = PolicyArgs {
        gate: Some(vec![Metric::FrontendBound]),
        ..PolicyArgs::default()
    };
    let policy = Policy::resolve(None, &flags).unwrap();
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
            categories: [0.0, 0.0, 0.0, factor],
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
fn a_thread_that_waits_is_a_warning_since_its_slots_are_not_about_the_work() {
    let waiting = || {
        let mut run = suite(3, 1, unchanged);
        for launch in &mut run.benchmarks[0].launches {
            launch.cycles = Some(0.05 * launch.wall_ns);
        }
        run
    };
    let warning = Warning::MostlyWaiting { benchmarks: 1 };
    assert!(judged(&waiting(), &waiting()).warnings.contains(&warning));
    let busy = suite(3, 1, unchanged);
    assert!(!judged(&waiting(), &busy).warnings.contains(&warning));
    assert!(
        warning
            .to_string()
            .starts_with("one benchmark mostly waits: ")
    );
}

#[test]
fn noise_is_inconclusive_and_says_how_many_launches_it_takes() {
    let noisy = |seed, deviation| {
        suite(30, seed, |_| Planted {
            deviation,
            launches: 5,
            ..Planted::default()
        })
    };
    let comparison = judged(&noisy(1, 0.02), &noisy(2, 0.02));
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

fn modelled_run(launches: u32, categories: [f64; 4]) -> Run {
    let planted = Planted {
        launches,
        categories,
        ..Planted::default()
    };
    scenario::run(vec![modelled("m", planted)])
}

#[test]
fn a_model_that_agrees_with_itself_decides_exactly_on_both_sides_of_its_margin() {
    let baseline = modelled_run(2, [0.0; 4]);
    // The margin is 2 %; a category alone fails what grew by a third of it.
    for (categories, class) in [
        ([0.0; 4], Class::Unchanged),
        ([0.0, 0.0, 0.0, 0.0199], Class::Unchanged),
        ([0.0, 0.0, 0.0, 0.02], Class::Regressed),
        ([0.005, 0.005, 0.005, 0.004], Class::Unchanged),
        ([0.005, 0.005, 0.005, 0.006], Class::Regressed),
        ([-0.0141, 0.0, 0.0, 0.0208], Class::Regressed),
        ([-0.0143, 0.0, 0.0, 0.0208], Class::Shifted),
        ([-0.03, 0.0, 0.0, 0.03], Class::Shifted),
        ([0.0, 0.0, 0.0, -0.0199], Class::Unchanged),
        ([0.0, 0.0, 0.0, -0.02], Class::Improved),
        ([-0.05, 0.0, 0.0, 0.03], Class::Improved),
    ] {
        let comparison = judged(&baseline, &modelled_run(2, categories));
        let verdict = &comparison.benchmarks[0];
        assert_eq!(verdict.class, class, "{categories:?}");
        assert_eq!(verdict.evidence.unwrap().rule, Rule::Exact);
        assert!(!verdict.suspect && verdict.undecided.is_none());
        let slots = verdict.effect(Metric::Slots).unwrap();
        assert_eq!(slots.interval, Interval::point(slots.difference));
        // Neither a share of the error probability nor a warning of few launches.
        assert_eq!(comparison.suite.tests, 0);
        assert_eq!(comparison.warnings, []);
    }
}

#[test]
fn the_exact_rule_has_a_margin_of_its_own_and_heeds_the_gate() {
    let (baseline, candidate) = (
        modelled_run(2, [0.0; 4]),
        modelled_run(2, [0.0, 0.0, 0.0, 0.04]),
    );
    let with = |setting: &str| {
        let workspace = PolicyArgs {
            margins: vec![setting.parse().unwrap()],
            ..Default::default()
        };
        let policy = Policy::resolve(None, &workspace).unwrap();
        judged_by(&baseline, &candidate, &policy).benchmarks[0].class
    };
    assert_eq!(with("model=5%"), Class::Unchanged);
    assert_eq!(with("slots=5%"), Class::Regressed);
    let gate = |metric| {
        let workspace = PolicyArgs {
            gate: Some(vec![metric]),
            ..Default::default()
        };
        let policy = Policy::resolve(None, &workspace).unwrap();
        judged_by(&baseline, &candidate, &policy).benchmarks[0].class
    };
    assert_eq!(gate(Metric::BackendBound), Class::Regressed);
    assert_eq!(gate(Metric::Retiring), Class::Unchanged);
}

#[test]
fn a_model_that_disagrees_with_itself_is_judged_by_statistics() {
    let baseline = modelled_run(10, [0.0; 4]);
    let mut candidate = modelled_run(10, [0.0, 0.0, 0.0, 0.021]);
    let rule = |candidate: &Run| {
        judged(&baseline, candidate).benchmarks[0]
            .evidence
            .unwrap()
            .rule
    };
    assert_eq!(rule(&candidate), Rule::Exact);
    let last = candidate.benchmarks[0].launches[9].slots.as_mut().unwrap();
    *last *= 1.0 + f64::EPSILON;
    assert_eq!(rule(&candidate), Rule::Statistics);
    // One launch agrees with itself whatever it says.
    assert_eq!(
        rule(&modelled_run(1, [0.0, 0.0, 0.0, 5.0])),
        Rule::Statistics
    );
    // Counters that agree bit for bit are suspicious, not exact.
    let counted = || {
        let mut run = modelled_run(10, [0.0; 4]);
        run.benchmarks[0].provenance.source = SourceKind::Hardware;
        run
    };
    let comparison = judged(&counted(), &counted());
    let rule = comparison.benchmarks[0].evidence.unwrap().rule;
    assert_eq!(rule, Rule::Statistics);
}

#[test]
fn time_never_fails_what_is_modelled_and_what_is_timed_is_still_tested() {
    let suite = |seed, factor: f64| {
        let of = |index: usize| Planted {
            seed,
            time_per_slot: if index.is_multiple_of(4) { factor } else { 1.0 },
            ..Planted::default()
        };
        let modelled = (0..24).map(|n| modelled(&format!("m{n:02}"), of(n)));
        let timed = (0..4).map(|n| timed(&format!("t{n}"), of(n)));
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
        assert_eq!(verdict.class == Class::Regressed, wall.hit);
    }
    assert_eq!(comparison.counts.regressed, 1);
    assert_eq!(comparison.counts.unchanged, 27);
}

#[test]
fn coarse_categories_are_not_tested_and_the_total_is() {
    let coarse = |seed, be| {
        let mut run = suite(30, seed, |_| in_category(3, be));
        for benchmark in &mut run.benchmarks {
            for launch in &mut benchmark.launches {
                launch.resolution_fraction = 0.05;
            }
        }
        run
    };
    let comparison = judged(&coarse(1, 0.0), &coarse(2, 0.1));
    let verdict = &comparison.benchmarks[0];
    assert_eq!(verdict.class, Class::Regressed);
    assert!((verdict.coarse.unwrap().baseline_resolution - 0.05).abs() < 1e-12);
    assert!(!verdict.effect(Metric::BackendBound).unwrap().gated);
    assert_eq!(verdict.cause.as_ref().unwrap().kind, CauseKind::Unknown);
    assert_eq!(comparison.suite.tests, 60);
}

#[test]
fn the_resolution_of_one_step_is_that_of_the_eight_bits() {
    let comparison = judged(&suite(3, 1, unchanged), &suite(3, 2, unchanged));
    let effects = &comparison.benchmarks[0].effects;
    let [slots, backend] = [Metric::Slots, Metric::BackendBound]
        .map(|metric| effects.iter().find(|e| e.metric == metric).unwrap());
    assert_eq!(slots.resolution, 0.0);
    let expected = 0.5 / 255.0 * (1.0 + slots.candidate / slots.baseline);
    assert!((backend.resolution - expected).abs() < 1e-12);
}

#[test]
fn another_machine_or_build_is_refused_by_the_field() {
    let baseline = suite(3, 1, unchanged);
    type Change = fn(&mut Run);
    let changes: [(Change, &str); 10] = [
        (
            |run| run.machine.architecture = "arm".to_owned(),
            "architecture",
        ),
        (
            |run| run.machine.vendor = "AuthenticAMD".to_owned(),
            "CPU vendor",
        ),
        (|run| run.machine.family = 7, "CPU family"),
        (|run| run.machine.model = 1, "CPU model"),
        (|run| run.machine.stepping = 9, "CPU stepping"),
        (
            |run| run.machine.hypervisor = Some("kvm".to_owned()),
            "hypervisor",
        ),
        (|run| run.machine.smt_active = Some(false), "SMT"),
        (
            |run| run.build.target = "x86_64-unknown-linux-musl".to_owned(),
            "target",
        ),
        (|run| run.build.profile = "release".to_owned(), "profile"),
        (|run| run.build.rustc = "rustc 1.92.0".to_owned(), "rustc"),
    ];
    for (change, field) in changes {
        let mut candidate = suite(3, 2, unchanged);
        change(&mut candidate);
        let comparison = judged(&baseline, &candidate);
        assert_eq!(comparison.exit_code, 102, "{field}");
        assert_eq!(comparison.differences[0].field, field);
        assert_eq!(comparison.counts.not_comparable, 3);
    }
    let mut candidate = suite(3, 2, unchanged);
    candidate.build.rustflags = "-C target-cpu=native".to_owned();
    assert_eq!(judged(&baseline, &candidate).exit_code, 102);
    let mut across = Policy::default();
    across.compare_across_builds = true;
    let comparison = judged_by(&baseline, &candidate, &across);
    assert_eq!(comparison.exit_code, 0);
    assert!(matches!(&comparison.warnings[0], Warning::Differs(d) if d.field == "RUSTFLAGS"));
}

#[test]
fn another_source_formula_or_core_is_refused_for_its_benchmark_alone() {
    let baseline = suite(3, 1, unchanged);
    type Change = fn(&mut criterion_topdown::run_file::Benchmark);
    let changes: [(Change, &str); 6] = [
        (|b| *b = timed("b01", Planted::default()), "source"),
        (|b| b.provenance.formula = "other/1".to_owned(), "formula"),
        (
            |b| b.provenance.core_type = Some("cpu_core".to_owned()),
            "core type",
        ),
        (
            |b| b.provenance.slots_per_cycle = Some(4),
            "slots per cycle",
        ),
        (|b| b.launches.clear(), "launches"),
        (
            |b| b.launches.iter_mut().for_each(|l| l.level1 = None),
            "metrics",
        ),
    ];
    for (change, field) in changes {
        let mut candidate = suite(3, 2, unchanged);
        change(&mut candidate.benchmarks[1]);
        let comparison = judged(&baseline, &candidate);
        assert_eq!(comparison.exit_code, 102, "{field}");
        assert_eq!(comparison.counts.not_comparable, 1);
        assert_eq!(comparison.benchmarks[1].differences[0].field, field);
    }
}

/// A run of these on an AMD machine.
fn on_another_cpu(benchmarks: Vec<criterion_topdown::run_file::Benchmark>) -> Run {
    let mut run = scenario::run(benchmarks);
    run.machine.vendor = "AuthenticAMD".to_owned();
    run.machine.family = 26;
    run
}

#[test]
fn modelled_slots_are_compared_across_cpus_with_a_warning_and_without_time() {
    let baseline = scenario::run(vec![modelled("a", Planted::default())]);
    for (planted, exit_code) in [(Planted::default(), 0), (in_category(3, 0.08), 100)] {
        let candidate = on_another_cpu(vec![modelled("a", planted)]);
        let comparison = judged(&baseline, &candidate);
        assert_eq!(comparison.exit_code, exit_code);
        assert!(comparison.differences.is_empty());
        let verdict = &comparison.benchmarks[0];
        assert!(verdict.effect(Metric::Slots).is_some());
        assert!(verdict.effect(Metric::Wall).is_none());
        let [warning] = &comparison.warnings[..] else {
            panic!("{:?}", comparison.warnings);
        };
        let warning = warning.to_string();
        for part in [
            "CPU vendor: `GenuineIntel` in the baseline, `AuthenticAMD`",
            "is_x86_feature_detected",
        ] {
            assert!(warning.contains(part), "{warning}");
        }
    }
}

#[test]
fn what_was_timed_beside_modelled_slots_is_not_compared_across_cpus() {
    let benchmarks = || {
        let planted = Planted::default();
        vec![modelled("a", planted), timed("t", planted)]
    };
    let baseline = scenario::run(benchmarks());
    let comparison = judged(&baseline, &on_another_cpu(benchmarks()));
    assert_eq!(comparison.exit_code, 102);
    assert_eq!(comparison.benchmarks[0].class, Class::Unchanged);
    let of_time = &comparison.benchmarks[1];
    assert_eq!(of_time.class, Class::NotComparable);
    assert_eq!(of_time.differences[0].field, "CPU vendor");
    assert_eq!(judged(&baseline, &baseline).exit_code, 0);
    // Counted slots are not those of a model.
    let counted = |run: fn(Vec<_>) -> Run| run(vec![benchmark("a", Planted::default())]);
    let comparison = judged(&counted(scenario::run), &counted(on_another_cpu));
    assert_eq!(comparison.differences[0].field, "CPU vendor");
}

#[test]
fn another_modelled_core_version_architecture_or_compiler_is_refused() {
    let baseline = scenario::run(vec![modelled("a", Planted::default())]);
    let with = |change: fn(&mut Run)| {
        let mut candidate = on_another_cpu(vec![modelled("a", Planted::default())]);
        change(&mut candidate);
        let comparison = judged(&baseline, &candidate);
        assert_eq!(comparison.exit_code, 102);
        comparison
    };
    for (comparison, field) in [
        (
            with(|run| run.benchmarks[0].provenance.formula = "model-zen-5/1".to_owned()),
            "modelled core",
        ),
        (
            with(|run| run.benchmarks[0].provenance.formula = "model-golden-cove/2".to_owned()),
            "version of the model",
        ),
    ] {
        assert_eq!(comparison.benchmarks[0].differences[0].field, field);
    }
    for (comparison, field) in [
        (
            with(|run| run.machine.architecture = "aarch64".to_owned()),
            "architecture",
        ),
        (
            with(|run| run.build.rustc = "rustc 1.92.0".to_owned()),
            "rustc",
        ),
    ] {
        assert_eq!(comparison.differences[0].field, field);
    }
}

#[test]
fn a_baseline_of_no_slots_is_not_comparable() {
    let zero = || {
        let mut run = suite(2, 1, unchanged);
        for launch in &mut run.benchmarks[0].launches {
            launch.slots = Some(0.0);
        }
        run
    };
    let comparison = judged(&zero(), &zero());
    assert_eq!(comparison.benchmarks[0].class, Class::NotComparable);
    assert_eq!(comparison.benchmarks[0].differences[0].field, "total");
}

#[test]
fn another_host_kernel_or_microcode_is_a_warning() {
    let mut candidate = suite(3, 2, unchanged);
    candidate.machine.host = Some("b".to_owned());
    candidate.machine.kernel = Some("6.13".to_owned());
    candidate.machine.microcode = Some("0x2".to_owned());
    candidate.machine.governor = Some("powersave".to_owned());
    candidate.launch_settings.sample_size = 50;
    let mut baseline = suite(3, 1, unchanged);
    baseline.build.git_dirty = Some(true);
    let comparison = judged(&baseline, &candidate);
    assert_eq!(comparison.outcome, Outcome::Passed);
    assert_eq!(comparison.warnings.len(), 6);
    assert!(comparison.warnings.contains(&Warning::UncommittedBaseline));
}

#[test]
fn no_benchmark_in_common_is_not_a_pass() {
    let comparison = judged(
        &scenario::run(vec![benchmark("a", Planted::default())]),
        &scenario::run(vec![benchmark("b", Planted::default())]),
    );
    assert_eq!(comparison.outcome, Outcome::NotComparable);
    assert_eq!(comparison.new, [scenario::id("b")]);
    assert_eq!(comparison.removed, [scenario::id("a")]);
}

#[test]
fn a_removed_benchmark_fails_if_the_policy_says_so() {
    let candidate = scenario::run(suite(3, 2, unchanged).benchmarks[..2].to_vec());
    let baseline = suite(3, 1, unchanged);
    let comparison = judged(&baseline, &candidate);
    assert_eq!((comparison.exit_code, comparison.counts.removed), (0, 1));
    let mut policy = Policy::default();
    policy.fail_on.removed = true;
    assert_eq!(judged_by(&baseline, &candidate, &policy).exit_code, 100);
}

#[test]
fn the_order_of_benchmarks_changes_no_bit() {
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
fn the_categories_add_up_to_the_change_and_nothing_is_nan() {
    for launches in [1, 2, 5, 10] {
        let candidate = suite(30, 2, |index| Planted {
            launches,
            ..in_category(index % 4, 0.02 * (index % 9) as f64)
        });
        let comparison = judged(&suite(30, 1, unchanged), &candidate);
        for benchmark in &comparison.benchmarks {
            let of = |metric| benchmark.effect(metric).unwrap();
            let parts: f64 = [
                Metric::Retiring,
                Metric::BadSpeculation,
                Metric::FrontendBound,
                Metric::BackendBound,
            ]
            .map(|category| of(category).difference)
            .iter()
            .sum();
            assert!((parts - of(Metric::Slots).difference).abs() < 1e-12);
            for effect in &benchmark.effects {
                let numbers = [
                    effect.difference,
                    effect.p,
                    effect.standard_error,
                    effect.degrees_of_freedom,
                    effect.interval.low,
                    effect.interval.high,
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
fn the_interval_of_a_hit_clears_the_sure_margin_exactly_when_the_test_rejects() {
    let candidate = suite(60, 2, |index| match index % 4 {
        0 => in_category(3, 0.025 + 0.001 * index as f64),
        _ => Planted::default(),
    });
    let comparison = judged(&suite(60, 1, unchanged), &candidate);
    let mut hits = 0;
    for benchmark in &comparison.benchmarks {
        for effect in benchmark.effects.iter().filter(|effect| effect.hit) {
            hits += 1;
            assert!(effect.interval.simultaneous);
            assert!(effect.interval.low > effect.sure_margin);
        }
    }
    assert!(hits > 10, "{hits}");
}

/// Whatever a run file may hold leads to a verdict without NaN, and twice to the same.
#[test]
fn odd_numbers_make_no_odd_verdicts() {
    let mut rng = fastrand::Rng::with_seed(7);
    let odd = [0.0, 1e-300, 1e-9, 1.0, 1e9, 1e150, 1e308, f64::MAX];
    for round in 0..300 {
        let mut run = || {
            let size = rng.usize(1..30);
            let mut run = suite(size, round, unchanged);
            for benchmark in &mut run.benchmarks {
                benchmark.launches.truncate(rng.usize(..11));
                for launch in &mut benchmark.launches {
                    let mut pick = || odd[rng.usize(..odd.len())];
                    match round % 5 {
                        0 => launch.slots = Some(pick()),
                        1 => launch.wall_ns = pick(),
                        2 => launch.resolution_fraction = pick(),
                        3 => launch.level1.as_mut().unwrap().backend_bound_slots = -pick(),
                        _ => *launch = LaunchValue::default(),
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
                    effect.interval.low,
                    effect.interval.high,
                ];
                assert!(numbers.iter().all(|n| !n.is_nan()), "{round}: {effect:?}");
            }
        }
    }
}
