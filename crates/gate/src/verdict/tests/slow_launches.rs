//! Tests of launches on a slow path.

use super::*;

/// Makes the launches at these places 60 % slower.
fn slower_in(mut benchmark: Benchmark, indices: &[usize]) -> Benchmark {
    for &index in indices {
        benchmark.slots_launches_mut()[index].slots *= 1.6;
        benchmark.times.launches[index].wall_ns *= 1.6;
    }
    benchmark
}

/// Returns a suite whose benchmark 0 has slow launches at these places.
fn suite_with(size: usize, seed: u64, indices: &[usize]) -> Run {
    let mut run = suite(size, seed, unchanged);
    run.benchmarks[0] = slower_in(run.benchmarks[0].clone(), indices);
    run
}

fn judged_with(size: usize, base: &[usize], new: &[usize]) -> Comparison {
    judged(&suite_with(size, 1, base), &suite_with(size, 2, new))
}

#[test]
fn two_slow_launches_are_a_verdict_that_passes() {
    let comparison = judged_with(12, &[], &[2, 6]);
    let verdict = &comparison.benchmarks[0];
    assert_eq!(verdict.verdict, Verdict::SometimesSlower);
    let slow = verdict.slow_launches.unwrap();
    assert_eq!((slow.baseline, slow.baseline_launches), (0, 10));
    assert_eq!((slow.candidate, slow.candidate_launches), (2, 10));
    assert!((slow.difference - 0.6).abs() < 0.05, "{slow:?}");
    assert_eq!(comparison.counts.sometimes_slower, 1);
    assert_eq!(
        (comparison.outcome, comparison.exit_code),
        (Outcome::Passed, 0)
    );
}

#[test]
fn policy_fails_slow_launches() {
    let mut policy = Policy::default();
    policy.fail_on = FailOn::new(&[FailOnClass::SometimesSlower]);
    let (baseline, candidate) = (suite_with(12, 1, &[]), suite_with(12, 2, &[2, 6]));
    let comparison = judged_by(&baseline, &candidate, &policy);
    assert_eq!(comparison.exit_code, 100);
    assert!(comparison.fails(&comparison.benchmarks[0]));
}

#[test]
fn one_slow_launch_and_slow_launches_of_the_baseline_are_no_finding() {
    for (base, new) in [(&[][..], &[3][..]), (&[1, 5], &[2, 6]), (&[1], &[2, 6, 8])] {
        let verdict = &judged_with(12, base, new).benchmarks[0];
        assert_eq!(verdict.slow_launches, None, "{base:?} {new:?}");
        assert_ne!(verdict.verdict, Verdict::SometimesSlower);
    }
}

#[test]
fn slow_launches_that_the_suite_explains_are_undecided() {
    let scattered = |seed: u64| {
        let mut run = suite(12, seed, unchanged);
        for (index, benchmark) in run.benchmarks.iter_mut().enumerate().skip(1) {
            let index = (index * 7 + seed as usize) % 10;
            *benchmark = slower_in(benchmark.clone(), &[index]);
        }
        run
    };
    let mut candidate = scattered(2);
    candidate.benchmarks[0] = slower_in(candidate.benchmarks[0].clone(), &[2, 6]);
    let comparison = judged(&scattered(1), &candidate);
    let verdict = &comparison.benchmarks[0];
    assert_eq!(verdict.verdict, Verdict::Inconclusive);
    assert_eq!(verdict.rule, Some(Rule::MaybeSlowLaunches));
    let undecided = verdict.undecided.unwrap();
    assert_eq!(undecided.reason, UndecidedReason::SlowLaunches);
    // A single benchmark cannot show how often launches are slow by accident.
    let alone = &judged_with(1, &[], &[2, 6]).benchmarks[0];
    assert_eq!(alone.rule, Some(Rule::MaybeSlowLaunches));
}

#[test]
fn regression_is_reported_before_slow_launches() {
    let slower = |index| match index {
        0 => in_category(3, 0.3),
        _ => Planted::default(),
    };
    let mut candidate = suite(12, 2, slower);
    candidate.benchmarks[0] = slower_in(candidate.benchmarks[0].clone(), &[2, 6]);
    let comparison = judged(&suite(12, 1, unchanged), &candidate);
    assert_eq!(comparison.benchmarks[0].verdict, Verdict::Regressed);
    assert!(comparison.benchmarks[0].slow_launches.is_some());
}

#[test]
fn exact_and_proven_benchmarks_have_no_slow_launches() {
    let side = |seed, indices: &[usize]| {
        let planted = Planted {
            seed,
            ..Planted::default()
        };
        let code = |b| scenario::with_fingerprint(b, 1, &[("f", 1)]);
        let proven = code(slower_in(benchmark("a", planted), indices));
        scenario::run(vec![proven, modelled("m", planted)])
    };
    let comparison = judged(&side(1, &[]), &side(2, &[2, 6]));
    assert_eq!(comparison.benchmarks[0].verdict, Verdict::Unchanged);
    assert_eq!(comparison.benchmarks[1].slow_launches, None);
}
