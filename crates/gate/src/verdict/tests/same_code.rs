//! Tests that a benchmark which executed the same code on the same data in the same slots is
//! unchanged, whatever its time.

use super::*;
use scenario::{with_fingerprint, with_functions};
use topdown_run::run_file::{Benchmark, BenchmarkId, Unchanged};

/// The first benchmark: the factor on its time, what is added to its slots, and the hashes of its
/// data and code.
#[derive(Clone, Copy)]
struct First {
    factor: f64,
    backend_bound: f64,
    data: u64,
    code: u64,
}

const BEFORE: First = First {
    factor: 1.0,
    backend_bound: 0.0,
    data: 7,
    code: 5,
};

fn side(seed: u64, first: First) -> Run {
    let benchmark_at = |index: usize| {
        let First {
            factor,
            backend_bound,
            data,
            code,
        } = if index == 0 { first } else { BEFORE };
        let planted = Planted {
            seed,
            time_per_slot: factor,
            categories: [0.0, 0.0, 0.0, backend_bound].into(),
            deviation: 0.02,
            ..Planted::default()
        };
        let benchmark = modelled(&format!("m{index:02}"), planted);
        let cost = 350 + (1000.0 * backend_bound) as u64;
        let benchmark = with_functions(benchmark, &[(Some("f"), None, [400, 100, 150, cost])]);
        with_fingerprint(benchmark, data, &[("kernel", code), ("memcpy", 3)])
    };
    scenario::run((0..12).map(benchmark_at).collect())
}

fn slower(factor: f64) -> First {
    First { factor, ..BEFORE }
}

#[test]
fn slower_time_of_same_code_is_unchanged_by_proof() {
    let comparison = judged(&side(1, BEFORE), &side(2, slower(3.0)));
    let first = &comparison.benchmarks[0];
    assert_eq!(first.verdict, Verdict::Unchanged);
    assert!(!first.suspect && first.is_same_by_proof());
    assert!(first.disagreement.is_some());
    assert_eq!(comparison.exit_code, 0);
}

#[test]
fn failure_required_by_policy_overrides_proof() {
    let mut strict = Policy::default();
    strict.fail_on.time_disagrees = true;
    let comparison = judged_by(&side(1, BEFORE), &side(2, slower(3.0)), &strict);
    assert_eq!(comparison.benchmarks[0].verdict, Verdict::TimeDisagrees);
    assert_eq!(comparison.exit_code, 100);
}

#[test]
fn differing_slots_data_or_code_are_judged() {
    let backend_bound = 0.2;
    for (data, code, change) in [
        (7, 5, CodeChange::Same),
        (8, 5, CodeChange::OtherData),
        (7, 6, CodeChange::Differs),
    ] {
        let first = First {
            backend_bound,
            data,
            code,
            ..BEFORE
        };
        let comparison = judged(&side(1, BEFORE), &side(2, first));
        let first = &comparison.benchmarks[0];
        assert_eq!(first.verdict, Verdict::Regressed, "{data} {code}");
        let executed = first.executed.as_ref().unwrap();
        assert_eq!(executed.change, change);
        let named = usize::from(change == CodeChange::Differs);
        assert_eq!(executed.functions.len(), named);
        assert_eq!(comparison.exit_code, 100);
    }
}

/// Twelve counted or timed benchmarks; the first has this `factor` on everything, and this hash of
/// its code.
fn measured(
    make: fn(&str, Planted) -> Benchmark,
    seed: u64,
    (factor, code): (f64, u64),
    deviation: f64,
) -> Run {
    let planted = |index: usize| {
        let (factor, code) = if index == 0 { (factor, code) } else { (1.0, 5) };
        let planted = Planted {
            seed,
            time_per_slot: if index == 0 { factor } else { 1.0 },
            categories: [0.0, 0.0, 0.0, factor - 1.0].into(),
            deviation,
            ..Planted::default()
        };
        with_fingerprint(
            make(&format!("m{index:02}"), planted),
            7,
            &[("kernel", code)],
        )
    };
    scenario::run((0..12).map(planted).collect())
}

#[test]
fn counted_or_timed_same_code_is_unchanged() {
    for make in [benchmark, timed] {
        let before = measured(make, 1, (1.0, 5), 0.004);
        let slower = measured(make, 2, (1.25, 5), 0.004);
        let comparison = judged(&before, &slower);
        let first = &comparison.benchmarks[0];
        assert!(first.holds(Rule::Slower));
        assert_eq!(first.verdict, Verdict::Unchanged);
        assert!(first.is_same_by_proof() && !first.suspect);
        assert_eq!(comparison.exit_code, 0);

        let mut strict = Policy::default();
        strict.fail_on.same_code = true;
        let comparison = judged_by(&before, &slower, &strict);
        assert_eq!(comparison.benchmarks[0].verdict, Verdict::Regressed);
        assert_eq!(comparison.exit_code, 100);

        let other_code = measured(make, 2, (1.25, 6), 0.004);
        let comparison = judged(&before, &other_code);
        assert_eq!(comparison.benchmarks[0].verdict, Verdict::Regressed);
        assert_eq!(comparison.exit_code, 100);
    }
}

/// Noise does not affect what is proved, in either direction.
#[test]
fn noisy_launches_of_same_code_are_decided() {
    let noisy = |seed| measured(timed, seed, (1.0, 5), 0.3);
    let comparison = judged(&noisy(3), &noisy(4));
    assert_eq!(comparison.counts.unchanged, 12);
    let faster = measured(benchmark, 2, (0.8, 5), 0.004);
    let comparison = judged(&measured(benchmark, 1, (1.0, 5), 0.004), &faster);
    assert_eq!(comparison.benchmarks[0].verdict, Verdict::Unchanged);
}

/// A run of `--changed` that left out everything not in `benchmarks`.
fn changed(since: &Run, benchmarks: Vec<Benchmark>) -> Run {
    let ids = since.benchmarks.iter().map(|b| b.id.clone());
    let is_left_out = |id: &BenchmarkId| benchmarks.iter().all(|b| b.id != *id);
    let left_out = ids.filter(is_left_out).collect();
    let mut run = scenario::run(benchmarks);
    run.selection.unchanged = Some(Unchanged {
        since: since.id.clone(),
        benchmarks: left_out,
    });
    run
}

#[test]
fn proven_exclusion_passes_with_same_baseline_only() {
    let before = measured(timed, 1, (1.0, 5), 0.004);
    let nothing = changed(&before, Vec::new());
    let comparison = judged(&before, &nothing);
    let counts = comparison.counts;
    assert_eq!(
        (counts.not_run, counts.same_code, counts.missing),
        (12, 12, 0)
    );
    assert_eq!(
        (comparison.outcome, comparison.exit_code),
        (Outcome::Passed, 0)
    );

    let mut other = before.clone();
    other.id = "another-run".to_owned();
    let comparison = judged(&other, &nothing);
    assert_eq!(
        (comparison.counts.same_code, comparison.exit_code),
        (0, 102)
    );

    // One is gone, without having been left out.
    let mut gone = nothing.clone();
    let left_out = gone.selection.unchanged.as_mut().unwrap();
    left_out.benchmarks.truncate(11);
    assert_eq!(judged(&before, &gone).exit_code, 100);

    let slower = measured(timed, 2, (1.5, 6), 0.004);
    let one = changed(&before, vec![slower.benchmarks[0].clone()]);
    let comparison = judged(&before, &one);
    assert_eq!(comparison.counts.not_run, 11);
}
