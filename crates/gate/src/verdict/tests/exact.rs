//! Tests of modelled launches that agree with each other, and of those that do not.

use super::*;

/// In an exact suite nothing is tested, and many times are noisy.
#[test]
fn noisy_time_beside_exact_slots_is_no_disagreement() {
    let modelled_suite = |seed| {
        let benchmark_at = |index| {
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
            benchmark.times.launches = noise.times.launches;
            benchmark
        };
        scenario::run((0..100).map(benchmark_at).collect())
    };
    let longer = |b: &&BenchmarkVerdict| b.evidence.unwrap().time_disagrees;
    let comparison = judged(&modelled_suite(1), &modelled_suite(2));
    assert_eq!(comparison.suite.tests, 0);
    assert_eq!(comparison.benchmarks.iter().filter(longer).count(), 0);
}

fn modelled_run(launches: u32, categories: [f64; 4]) -> Run {
    let planted = Planted {
        launches,
        categories: categories.into(),
        ..Planted::default()
    };
    scenario::run(vec![modelled("m", planted)])
}

#[test]
fn exact_model_decides_exactly_at_its_margin() {
    let baseline = modelled_run(2, [0.0; 4]);
    // The margin is 2 %; a category alone fails what grew by a third of it.
    for (categories, expected) in [
        ([0.0; 4], Verdict::Unchanged),
        ([0.0, 0.0, 0.0, 0.0199], Verdict::Unchanged),
        ([0.0, 0.0, 0.0, 0.02], Verdict::Regressed),
        ([0.005, 0.005, 0.005, 0.004], Verdict::Unchanged),
        ([0.005, 0.005, 0.005, 0.006], Verdict::Regressed),
        ([-0.0141, 0.0, 0.0, 0.0208], Verdict::Regressed),
        ([-0.0143, 0.0, 0.0, 0.0208], Verdict::Shifted),
        ([-0.03, 0.0, 0.0, 0.03], Verdict::Shifted),
        ([0.0, 0.0, 0.0, -0.0199], Verdict::Unchanged),
        ([0.0, 0.0, 0.0, -0.02], Verdict::Improved),
        ([-0.05, 0.0, 0.0, 0.03], Verdict::Improved),
    ] {
        let comparison = judged(&baseline, &modelled_run(2, categories));
        let verdict = &comparison.benchmarks[0];
        assert_eq!(verdict.verdict, expected, "{categories:?}");
        assert_eq!(verdict.evidence.unwrap().method, Method::Exact);
        assert!(!verdict.suspect && verdict.undecided.is_none());
        let slots = verdict.effect(Metric::Slots).unwrap();
        assert_eq!(slots.interval, Some(Interval::point(slots.difference)));
        // Neither a share of the error probability nor a warning about few launches.
        assert_eq!(comparison.suite.tests, 0);
        assert_eq!(comparison.warnings, []);
    }
}

/// As numbers, 123456.789 × 1.02 is 1.9999999999999928 % more than 123456.789.
#[test]
fn exact_margin_is_a_change_for_any_total() {
    for total in [123_456.789, 1000.0, 3.0, 0.7] {
        for percent in [1_u32, 2, 3, 7, 29] {
            let margin: MarginSetting = format!("model={percent}%").parse().unwrap();
            let policy = Policy::default().overridden_by(&Overrides {
                margins: vec![margin],
                ..Overrides::default()
            });
            let run = |slots: f64| {
                let mut run = modelled_run(2, [0.0; 4]);
                for launch in run.benchmarks[0].slots_launches_mut() {
                    let scale = slots / launch.slots;
                    launch.slots = slots;
                    let level1 = launch.level1.as_mut().unwrap();
                    level1.slots = level1.slots.map(|category| category * scale);
                    launch.instructions = launch.instructions.map(|count| count * scale);
                    launch.cycles = launch.cycles.map(|count| count * scale);
                }
                for time in &mut run.benchmarks[0].times.launches {
                    time.wall_ns = slots / 24.0;
                }
                run
            };
            let grown = total * (1.0 + f64::from(percent) / 100.0);
            let verdict = |from, to| judged_by(&run(from), &run(to), &policy).benchmarks[0].verdict;
            assert_eq!(
                verdict(total, grown),
                Verdict::Regressed,
                "{total} {percent}"
            );
            let shrunk = total * (1.0 - f64::from(percent) / 100.0);
            assert_eq!(
                verdict(total, shrunk),
                Verdict::Improved,
                "{total} {percent}"
            );
            assert_eq!(verdict(total, grown * (1.0 - 1e-12)), Verdict::Unchanged);
        }
    }
}

#[test]
fn exact_rule_has_own_margin_and_follows_gate() {
    let (baseline, candidate) = (
        modelled_run(2, [0.0; 4]),
        modelled_run(2, [0.0, 0.0, 0.0, 0.04]),
    );
    let with = |setting: &str| {
        let workspace = Overrides {
            margins: vec![setting.parse().unwrap()],
            ..Default::default()
        };
        let policy = Policy::default().overridden_by(&workspace);
        judged_by(&baseline, &candidate, &policy).benchmarks[0].verdict
    };
    assert_eq!(with("model=5%"), Verdict::Unchanged);
    assert_eq!(with("slots=5%"), Verdict::Regressed);
    let gate = |metric| {
        let workspace = Overrides {
            gate: Some(vec![Subject::Metric(metric)]),
            ..Default::default()
        };
        let policy = Policy::default().overridden_by(&workspace);
        judged_by(&baseline, &candidate, &policy).benchmarks[0].verdict
    };
    assert_eq!(gate(Metric::BackendBound), Verdict::Regressed);
    assert_eq!(gate(Metric::Retiring), Verdict::Unchanged);
}

#[test]
fn inexact_model_is_judged_by_statistics() {
    let baseline = modelled_run(10, [0.0; 4]);
    let mut candidate = modelled_run(10, [0.0, 0.0, 0.0, 0.021]);
    let rule = |candidate: &Run| {
        judged(&baseline, candidate).benchmarks[0]
            .evidence
            .unwrap()
            .method
    };
    assert_eq!(rule(&candidate), Method::Exact);
    candidate.benchmarks[0].slots_launches_mut()[1].slots *= 1.0 + f64::EPSILON;
    assert_eq!(rule(&candidate), Method::Statistics);
    // A single launch always agrees with itself.
    assert_eq!(
        rule(&modelled_run(1, [0.0, 0.0, 0.0, 5.0])),
        Method::Statistics
    );
    // Counters that agree bit for bit are suspicious, not exact.
    let counted = || {
        let mut run = modelled_run(10, [0.0; 4]);
        run.benchmarks[0].provenance_mut().source = SourceKind::Hardware;
        run
    };
    let comparison = judged(&counted(), &counted());
    let rule = comparison.benchmarks[0].evidence.unwrap().method;
    assert_eq!(rule, Method::Statistics);
}

/// An exact benchmark is timed in two launches of ten: the others were not dropped.
#[test]
fn unneeded_launches_are_not_called_dropped() {
    let run = |times: usize| {
        let mut run = modelled_run(2, [0.0; 4]);
        run.launch_settings.launches = 10;
        run.benchmarks[0].times.launches.truncate(times);
        run
    };
    let dropped = |times| {
        judged(&run(2), &run(times)).benchmarks[0]
            .candidate_launches
            .dropped
    };
    assert_eq!([2, 1].map(dropped), [0, 1]);
}

/// From varint-simd, whose windows held 102 iterations of three instructions: in code that nobody
/// had touched, four branches of ten windows were predicted otherwise.
#[test]
fn change_within_window_edges_is_undecided() {
    let side = |window_fraction, backend_bound| {
        let mut run = modelled_run(2, [0.0, 0.0, 0.0, backend_bound]);
        for launch in &mut run.benchmarks[0].slots.as_mut().unwrap().launches {
            launch.window_fraction = Some(window_fraction);
        }
        run
    };
    for (window_fraction, change, expected) in [
        (0.25, 0.036, Verdict::Inconclusive),
        (0.25, -0.036, Verdict::Inconclusive),
        (0.25, 0.111, Verdict::Inconclusive),
        (0.25, 0.112, Verdict::Regressed),
        (0.25, -0.112, Verdict::Improved),
        (0.25, 0.019, Verdict::Unchanged),
        (0.25, 0.0, Verdict::Unchanged),
        (0.05, 0.02, Verdict::Regressed),
        (0.001, 0.02, Verdict::Regressed),
        (0.51, 0.6, Verdict::Inconclusive),
    ] {
        let comparison = judged(&side(window_fraction, 0.0), &side(window_fraction, change));
        let verdict = &comparison.benchmarks[0];
        assert_eq!(verdict.verdict, expected, "{window_fraction} {change}");
        let reason = verdict.undecided.map(|undecided| undecided.reason);
        let is_undecided = expected == Verdict::Inconclusive;
        let costly = is_undecided.then_some(UndecidedReason::CostlyWindows);
        assert_eq!(reason, costly, "{window_fraction} {change}");
        assert!(!verdict.suspect);
    }
}
