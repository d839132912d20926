//! Tests of time that grew although modelled slots did not.

use super::*;
use scenario::with_functions;

/// The slots of the only function of every benchmark here.
const WHOLE: [u64; 4] = [400, 100, 150, 350];

/// Modelled benchmarks, the first of which takes `factor` times as long per slot, in a function
/// with that name and with slots that differ by `backend_bound`.
fn modelled_suite(size: usize, seed: u64, factor: f64, function: &str, backend_bound: f64) -> Run {
    let benchmark_at = |index: usize| {
        let is_first = index == 0;
        let planted = Planted {
            seed,
            time_per_slot: if is_first { factor } else { 1.0 },
            categories: [0.0, 0.0, 0.0, if is_first { backend_bound } else { 0.0 }].into(),
            deviation: 0.02,
            ..Planted::default()
        };
        let benchmark = modelled(&format!("m{index:02}"), planted);
        with_functions(benchmark, &[(Some(function), None, WHOLE)])
    };
    scenario::run((0..size).map(benchmark_at).collect())
}

fn baseline(size: usize) -> Run {
    modelled_suite(size, 1, 1.0, "before", 0.0)
}

#[test]
fn far_longer_time_at_improved_slots_fails() {
    // As found on a published crate: slots −19.6 %, time +80 %, passed as "improved, exact".
    let candidate = modelled_suite(12, 2, 1.8 / 0.804, "after", -0.196);
    let comparison = judged(&baseline(12), &candidate);
    let first = &comparison.benchmarks[0];
    assert_eq!(first.verdict, Verdict::TimeDisagrees);
    let disagreement = first.disagreement.unwrap();
    assert!(disagreement.fails && disagreement.code == CodeChange::Differs);
    assert!((disagreement.time_difference - 0.8).abs() < 0.1);
    assert_eq!(comparison.counts.time_disagrees, 1);
    assert_eq!(comparison.counts.unchanged, 11);
    assert_eq!(comparison.exit_code, 100);
    assert!(comparison.fails(first) && !comparison.fails(&comparison.benchmarks[1]));
}

#[test]
fn time_explained_by_load_is_no_disagreement() {
    // On 8 CPUs, 17 threads leave a bench 8 of 18 turns.
    let busy = |mut run: Run, threads| {
        run.competing_threads = Some(threads);
        run
    };
    let judged = |longer, threads| {
        let candidate = modelled_suite(12, 2, longer, "after", 0.0);
        let comparison = judged(&busy(baseline(12), threads), &busy(candidate, threads));
        let reported = comparison.warnings.into_iter();
        let is_busy = |warning: &Warning| matches!(warning, Warning::BusyMachine { .. });
        let warnings = reported.filter(is_busy).count();
        (comparison.counts.time_disagrees, warnings)
    };
    assert_eq!(judged(1.9, 0.0), (1, 0));
    assert_eq!(judged(1.9, 17.0), (0, 2));
    assert_eq!(judged(8.58, 17.0), (1, 2));
}

#[test]
fn slower_time_of_same_code_fails_nothing() {
    let candidate = modelled_suite(12, 2, 8.58, "before", 0.0);
    let comparison = judged(&baseline(12), &candidate);
    let disagreement = comparison.benchmarks[0].disagreement.unwrap();
    assert_eq!(disagreement.code, CodeChange::Same);
    assert!(!disagreement.fails);
    assert_eq!(comparison.benchmarks[0].verdict, Verdict::TimeDisagrees);
    assert_eq!(comparison.outcome, Outcome::Passed);
}

#[test]
fn time_explained_by_machine_is_no_disagreement() {
    let slower = |size, seed, factor: f64| {
        let mut run = modelled_suite(size, seed, 1.0, "after", 0.0);
        let benchmarks = run.benchmarks.iter_mut();
        for time in benchmarks.flat_map(|b| &mut b.times.launches) {
            time.wall_ns *= factor;
        }
        run
    };
    for size in [5, 12, 30] {
        let comparison = judged(&baseline(size), &slower(size, 2, 2.5));
        assert_eq!(comparison.counts.time_disagrees, 0, "{size}");
        assert_eq!(comparison.counts.unchanged, size);
        let machine = comparison.suite.time_per_slot.unwrap();
        assert!((machine.difference - 1.5).abs() < 0.1);
    }
}

/// A small suite cannot show the drift of single benchmarks between sessions.
#[test]
fn fewer_benchmarks_need_more_time_to_fail() {
    for (size, factor, expected, fails) in [
        (30, 1.04, Verdict::Unchanged, false),
        (30, 1.2, Verdict::TimeDisagrees, false),
        (30, 1.4, Verdict::TimeDisagrees, true),
        (6, 1.4, Verdict::TimeDisagrees, false),
        (6, 2.5, Verdict::TimeDisagrees, true),
        // The machine cannot be distinguished from the code.
        (1, 8.0, Verdict::TimeDisagrees, false),
    ] {
        let comparison = judged(
            &baseline(size),
            &modelled_suite(size, 2, factor, "after", 0.0),
        );
        let first = &comparison.benchmarks[0];
        assert_eq!(first.verdict, expected, "{size} {factor}");
        assert_eq!(comparison.fails(first), fails, "{size} {factor}");
        assert_eq!(comparison.exit_code == 100, fails);
    }
}

#[test]
fn regression_with_far_longer_time_is_noted() {
    let candidate = modelled_suite(12, 2, 5.0, "after", 0.03);
    let first = &judged(&baseline(12), &candidate).benchmarks[0];
    assert_eq!(first.verdict, Verdict::Regressed);
    assert!(first.disagreement.is_some());
    // If slots explain the time, they do not disagree.
    let candidate = modelled_suite(12, 2, 1.0, "after", 0.5);
    let first = &judged(&baseline(12), &candidate).benchmarks[0];
    assert_eq!(
        (first.verdict, first.disagreement),
        (Verdict::Regressed, None)
    );
}

#[test]
fn excluded_time_and_accepted_changes_do_not_fail() {
    let candidate = modelled_suite(12, 2, 3.0, "after", 0.0);
    let flags = Overrides {
        gate: Some(vec![Subject::Metric(Metric::Slots)]),
        ..Overrides::default()
    };
    let policy = Policy::default().overridden_by(&flags);
    let comparison = judged_by(&baseline(12), &candidate, &policy);
    assert_eq!(comparison.counts.time_disagrees, 1);
    assert_eq!(comparison.exit_code, 0);
    let accepted = |difference| {
        let change = AcceptedChange {
            reason: "waits for the disk now".to_owned(),
            differences: [(Metric::Wall, difference)].into(),
            allocations: None,
        };
        let mut policy = Policy::default();
        let id = candidate.benchmarks[0].id.to_string();
        policy.accepted.insert(id, change);
        judged_by(&baseline(12), &candidate, &policy)
    };
    assert_eq!(accepted(2.0).benchmarks[0].verdict, Verdict::Accepted);
    assert_eq!(accepted(2.0).exit_code, 0);
    assert_eq!(accepted(1.0).exit_code, 100);
}

/// With counters, and in a suite large enough to know the machine's part, time gates.
#[test]
fn certainly_slower_time_is_not_unchanged() {
    let noisy = |seed, factor: f64| {
        suite(40, seed, |index| Planted {
            time_per_slot: if index == 0 { factor } else { 1.0 },
            deviation: 0.02,
            ..Planted::default()
        })
    };
    let quiet_slots = |mut run: Run, quiet: &Run| {
        for (noisy, quiet) in run.benchmarks.iter_mut().zip(&quiet.benchmarks) {
            noisy.slots = quiet.slots.clone();
        }
        run
    };
    let side = |seed, factor| quiet_slots(noisy(seed, factor), &suite(40, seed, unchanged));
    let comparison = judged(&side(1, 1.0), &side(2, 1.055));
    let first = &comparison.benchmarks[0];
    assert!(first.evidence.unwrap().total_within_margin && first.evidence.unwrap().took_longer);
    assert_eq!(first.verdict, Verdict::Inconclusive);
    let undecided = first.undecided.unwrap();
    assert_eq!(undecided.reason, UndecidedReason::TimeLooksLonger);
    assert!(undecided.launches_needed.is_some_and(|needed| needed > 10));
}
