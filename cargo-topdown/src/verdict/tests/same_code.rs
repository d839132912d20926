//! What executed the same code on the same data is unchanged, whatever was measured.

use super::*;
use scenario::with_fingerprint;

/// Counted benchmarks of which the first is slower by `backend_bound`; all executed this.
fn side(seed: u64, backend_bound: f64, data: u64, code: u64) -> Run {
    let of = |index: usize| {
        let planted = Planted {
            seed: seed * 100 + index as u64,
            categories: [0.0, 0.0, 0.0, if index == 0 { backend_bound } else { 0.0 }],
            ..Planted::default()
        };
        let benchmark = benchmark(&format!("b{index:02}"), planted);
        match index {
            0 => with_fingerprint(benchmark, data, &[("kernel", code), ("memcpy", 3)]),
            _ => benchmark,
        }
    };
    scenario::run((0..20).map(of).collect())
}

#[test]
fn a_regression_of_the_same_code_is_the_machines_and_fails_nothing() {
    let comparison = judged(&side(1, 0.0, 7, 5), &side(2, 0.2, 7, 5));
    let first = &comparison.benchmarks[0];
    assert_eq!(first.class, Class::Unchanged);
    assert!(!first.suspect && first.is_same_by_proof());
    assert!(first.main_effect().unwrap().difference > 0.15);
    assert_eq!(comparison.exit_code, 0);
}

#[test]
fn other_data_and_other_code_are_judged_as_ever() {
    for (data, code, functions) in [(8, 5, 0), (7, 6, 1)] {
        let comparison = judged(&side(1, 0.0, 7, 5), &side(2, 0.2, data, code));
        let first = &comparison.benchmarks[0];
        assert_eq!(first.class, Class::Regressed, "{data} {code}");
        assert_eq!(first.executed.as_ref().unwrap().functions.len(), functions);
        assert_eq!(comparison.exit_code, 100);
    }
}
