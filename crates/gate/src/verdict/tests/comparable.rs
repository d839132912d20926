//! Tests which runs and benchmarks are compared at all.

use topdown_run::run_file::{Filter, Selection};

use super::*;
use crate::selection::Exclusion;

#[test]
fn other_machine_or_build_is_refused_by_field() {
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
fn other_source_is_refused_per_benchmark() {
    let baseline = suite(3, 1, unchanged);
    type Change = fn(&mut Benchmark);
    let changes: [(Change, &str); 6] = [
        (|b| *b = timed("b01", Planted::default()), "source"),
        (
            |b| b.provenance_mut().formula = "other/1".to_owned(),
            "formula",
        ),
        (
            |b| b.provenance_mut().core_type = Some("cpu_core".to_owned()),
            "core type",
        ),
        (
            |b| b.provenance_mut().slots_per_cycle = Some(4),
            "slots per cycle",
        ),
        (|b| b.slots.as_mut().unwrap().launches.clear(), "launches"),
        (
            |b| {
                b.slots_launches_mut()
                    .iter_mut()
                    .for_each(|l| l.level1 = None)
            },
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

/// A slower benchmark can become too long for the model, as four of base64's did.
#[test]
fn other_source_hides_its_consequences() {
    let baseline = scenario::run(vec![modelled("a", Planted::default())]);
    let mut candidate = scenario::run(vec![timed("a", Planted::default())]);
    candidate.benchmarks[0].provenance_mut().reason = "an iteration is too long".to_owned();
    let comparison = judged(&baseline, &candidate);
    assert_eq!(comparison.exit_code, 102);
    let differences = &comparison.benchmarks[0].differences;
    let text: Vec<String> = differences.iter().map(ToString::to_string).collect();
    assert_eq!(
        text,
        ["source: `model` in the baseline, `time` (an iteration is too long) in the candidate"]
    );
}

/// A run of these benchmarks on an AMD machine.
fn on_another_cpu(benchmarks: Vec<Benchmark>) -> Run {
    let mut run = scenario::run(benchmarks);
    run.machine.vendor = "AuthenticAMD".to_owned();
    run.machine.family = 26;
    run
}

#[test]
fn modelled_slots_compare_across_cpus_without_time() {
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
            "code that detects CPU features",
        ] {
            assert!(warning.contains(part), "{warning}");
        }
    }
}

#[test]
fn times_beside_modelled_slots_need_same_cpu() {
    let benchmarks = || {
        let planted = Planted::default();
        vec![modelled("a", planted), timed("t", planted)]
    };
    let baseline = scenario::run(benchmarks());
    let comparison = judged(&baseline, &on_another_cpu(benchmarks()));
    assert_eq!(comparison.exit_code, 102);
    assert_eq!(comparison.benchmarks[0].verdict, Verdict::Unchanged);
    let of_time = &comparison.benchmarks[1];
    assert_eq!(of_time.verdict, Verdict::NotComparable);
    assert_eq!(of_time.differences[0].field, "CPU vendor");
    assert_eq!(judged(&baseline, &baseline).exit_code, 0);
    // Counted slots are not those of a model.
    let counted = |run: fn(Vec<_>) -> Run| run(vec![benchmark("a", Planted::default())]);
    let comparison = judged(&counted(scenario::run), &counted(on_another_cpu));
    assert_eq!(comparison.differences[0].field, "CPU vendor");
}

#[test]
fn other_modelled_core_or_compiler_is_refused() {
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
            with(|run| run.benchmarks[0].provenance_mut().formula = "model-zen-5/1".to_owned()),
            "modelled core",
        ),
        (
            with(|run| {
                run.benchmarks[0].provenance_mut().formula = "model-golden-cove/2".to_owned()
            }),
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
fn baseline_of_zero_slots_is_not_comparable() {
    let zero = || {
        let mut run = suite(2, 1, unchanged);
        for launch in run.benchmarks[0].slots_launches_mut() {
            launch.slots = 0.0;
        }
        run
    };
    let comparison = judged(&zero(), &zero());
    assert_eq!(comparison.benchmarks[0].verdict, Verdict::NotComparable);
    assert_eq!(comparison.benchmarks[0].differences[0].field, "total");
}

#[test]
fn other_host_kernel_or_microcode_is_a_warning() {
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
fn no_common_benchmark_is_not_a_pass() {
    let comparison = judged(
        &scenario::run(vec![benchmark("a", Planted::default())]),
        &scenario::run(vec![benchmark("b", Planted::default())]),
    );
    assert_eq!(comparison.outcome, Outcome::NotComparable);
    assert_eq!(comparison.new, [scenario::id("b")]);
    assert_eq!(comparison.missing, [scenario::id("a")]);
}

#[test]
fn missing_benchmark_fails_unless_policy_allows() {
    let candidate = scenario::run(suite(3, 2, unchanged).benchmarks[..2].to_vec());
    let baseline = suite(3, 1, unchanged);
    let comparison = judged(&baseline, &candidate);
    assert_eq!((comparison.exit_code, comparison.counts.missing), (100, 1));
    let mut policy = Policy::default();
    policy.allow_missing = true;
    let comparison = judged_by(&baseline, &candidate, &policy);
    assert_eq!((comparison.exit_code, comparison.counts.missing), (0, 1));
}

/// The first of three benchmarks, from a run with this selection.
fn one_of_three(selection: Selection) -> Run {
    Run {
        selection,
        ..scenario::run(suite(3, 2, unchanged).benchmarks[..1].to_vec())
    }
}

#[test]
fn unselected_benchmarks_fail_nothing() {
    let baseline = suite(3, 1, unchanged);
    let names: Vec<BenchmarkId> = baseline.benchmarks.iter().map(|b| b.id.clone()).collect();
    let filter = |expression: &str| Selection {
        filter: Some(Filter {
            expression: expression.to_owned(),
            exact: false,
        }),
        ..Selection::default()
    };
    let comparison = judged(&baseline, &one_of_three(filter(&names[0].name)));
    assert_eq!((comparison.exit_code, comparison.counts.not_run), (0, 2));
    assert_eq!(comparison.missing, []);
    assert!(comparison.not_run.iter().all(|n| n.by == Exclusion::Filter));

    let shard = Selection {
        only_benchmarks: Some(names[..2].to_vec()),
        ..Selection::default()
    };
    let comparison = judged(&baseline, &one_of_three(shard));
    assert_eq!(comparison.exit_code, 100, "the second is of the shard");
    assert_eq!(comparison.missing, names[1..2]);
    assert_eq!(comparison.not_run[0].by, Exclusion::Shard);

    // Nothing that was asked for is there.
    let comparison = judged(
        &baseline,
        &Run {
            benchmarks: Vec::new(),
            ..one_of_three(filter("no such"))
        },
    );
    assert_eq!((comparison.exit_code, comparison.counts.not_run), (102, 3));
}

#[test]
fn partial_baseline_names_unguarded_benchmarks() {
    let selection = Selection {
        filter: Some(Filter {
            expression: "b00".to_owned(),
            exact: false,
        }),
        ..Selection::default()
    };
    let comparison = judged(&one_of_three(selection), &suite(3, 1, unchanged));
    assert_eq!((comparison.exit_code, comparison.counts.new), (0, 2));
    let warning = Warning::PartialBaseline {
        selection: "filter `b00`".to_owned(),
        benchmarks: 2,
    };
    assert_eq!(comparison.warnings, [warning]);
}
