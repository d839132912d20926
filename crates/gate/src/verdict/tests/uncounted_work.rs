//! Tests of benchmarks whose work is not in the slots of the measured thread.

use topdown_run::activity::UncountedWork;

use super::*;

const ON_OTHERS: UncountedWork = UncountedWork::OtherThreads { fraction: 0.9 };

/// Its time is `factor` times that of the scenario.
fn handed_on(seed: u64, factor: f64) -> Run {
    let planted = Planted {
        seed,
        time_per_slot: factor,
        ..Planted::default()
    };
    let mut benchmark = timed("b", planted);
    *benchmark.provenance_mut() = benchmark.provenance().with_work(ON_OTHERS);
    scenario::run(vec![benchmark])
}

/// As a launch on the model that only sees the measured thread.
fn modelled_with_slots(seed: u64, slots_factor: f64) -> Run {
    let planted = Planted {
        seed,
        ..Planted::default()
    };
    let mut benchmark = modelled("b", planted);
    for launch in benchmark.slots_launches_mut() {
        launch.slots *= slots_factor;
    }
    scenario::run(vec![benchmark])
}

/// `par_sum` made slower: time +837 %, slots of the waiting thread -39.9 %.
#[test]
fn slots_of_a_waiting_thread_decide_nothing() {
    for baseline in [handed_on(1, 1.0), modelled_with_slots(1, 1.0)] {
        let comparison = judged(&baseline, &handed_on(2, 9.37));
        let verdict = &comparison.benchmarks[0];
        assert_eq!(verdict.verdict, Verdict::Regressed);
        assert_eq!(verdict.elsewhere, Some(ON_OTHERS));
        assert_eq!(verdict.source, SourceKind::Time);
        let metrics: Vec<Metric> = verdict.effects.iter().map(|e| e.metric).collect();
        assert_eq!(metrics, [Metric::Wall]);
        let difference = verdict.main_effect().unwrap().difference;
        assert!((difference - 8.37).abs() < 0.1, "{difference}");
        let benchmarks = vec![verdict.id.clone()];
        let warning = Warning::JudgedByTime { benchmarks };
        assert!(comparison.warnings.contains(&warning));
        assert_eq!(
            warning.to_string(),
            "judged by time alone, since other threads do the work, or the measured one waits: b"
        );
    }
}

#[test]
fn waiting_on_one_side_is_enough() {
    let own = modelled_with_slots(2, 0.6);
    for (baseline, candidate) in [(handed_on(1, 1.0), own.clone()), (own, handed_on(1, 1.0))] {
        let comparison = judged(&baseline, &candidate);
        let verdict = &comparison.benchmarks[0];
        assert_eq!(verdict.verdict, Verdict::Unchanged, "{verdict:?}");
        assert_eq!(verdict.elsewhere, Some(ON_OTHERS));
    }
}

#[test]
fn times_of_different_cpus_are_not_compared() {
    let mut other = handed_on(2, 1.0);
    other.machine.model += 1;
    let comparison = judged(&modelled_with_slots(1, 1.0), &other);
    assert_eq!(comparison.outcome, Outcome::NotComparable);
}

#[test]
fn slots_of_all_threads_and_of_one_do_not_compare() {
    let baseline = suite(1, 1, unchanged);
    let mut candidate = suite(1, 2, unchanged);
    candidate.benchmarks[0].provenance_mut().threads = CountedThreads::All;
    let comparison = judged(&baseline, &candidate);
    assert_eq!(comparison.outcome, Outcome::NotComparable);
    assert_eq!(
        comparison.benchmarks[0].differences[0].to_string(),
        "counted threads: `own` in the baseline, `all` in the candidate"
    );
    assert_eq!(judged(&candidate, &candidate).outcome, Outcome::Passed);
}

/// A report once said "improved -96.1 % [-115.2, -77.0]".
#[test]
fn interval_never_exceeds_minus_100_percent() {
    let noisy = |times_ns: [f64; 4]| {
        let launches = times_ns
            .iter()
            .zip(0..)
            .map(|(wall_ns, launch)| scenario::Launch {
                launch,
                wall_ns: *wall_ns,
                ..scenario::Launch::default()
            });
        let launches = launches.collect();
        scenario::run(vec![scenario::with_launches(
            "b",
            SourceKind::Time,
            launches,
        )])
    };
    let baseline = noisy([50.0, 150.0, 60.0, 140.0]);
    let comparison = judged(&baseline, &noisy([1.0, 39.0, 5.0, 35.0]));
    let effect = comparison.benchmarks[0].main_effect().unwrap();
    let interval = effect.interval.unwrap();
    let mirrored = 2.0 * effect.difference - interval.high;
    assert!(mirrored < -1.0, "{effect:?}");
    assert_eq!(interval.low, -1.0);
}
