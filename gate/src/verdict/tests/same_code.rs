//! What executed the same code on the same data in the same slots is unchanged, whatever the clock says.

use super::*;
use scenario::{with_fingerprint, with_functions};

/// The first benchmark: the factor on its time, what it adds to its slots, and the hashes of its data
/// and of its code.
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
    let of = |index: usize| {
        let First {
            factor,
            backend_bound,
            data,
            code,
        } = if index == 0 { first } else { BEFORE };
        let planted = Planted {
            seed,
            time_per_slot: factor,
            categories: [0.0, 0.0, 0.0, backend_bound],
            deviation: 0.02,
            ..Planted::default()
        };
        let benchmark = modelled(&format!("m{index:02}"), planted);
        let cost = 350 + (1000.0 * backend_bound) as u64;
        let benchmark = with_functions(benchmark, &[(Some("f"), None, [400, 100, 150, cost])]);
        with_fingerprint(benchmark, data, &[("kernel", code), ("memcpy", 3)])
    };
    scenario::run((0..12).map(of).collect())
}

fn slower(factor: f64) -> First {
    First { factor, ..BEFORE }
}

#[test]
fn the_same_code_that_took_longer_is_unchanged_by_proof() {
    let comparison = judged(&side(1, BEFORE), &side(2, slower(3.0)));
    let first = &comparison.benchmarks[0];
    assert_eq!(first.class, Class::Unchanged);
    assert!(!first.suspect && first.is_same_by_proof());
    assert!(first.disagreement.is_some());
    assert_eq!(comparison.exit_code, 0);
}

#[test]
fn what_the_policy_wants_to_fail_fails_all_the_same() {
    let mut strict = Policy::default();
    strict.fail_on.time_disagrees = true;
    let comparison = judged_by(&side(1, BEFORE), &side(2, slower(3.0)), &strict);
    assert_eq!(comparison.benchmarks[0].class, Class::TimeDisagrees);
    assert_eq!(comparison.exit_code, 100);
}

#[test]
fn slots_that_differ_are_judged_as_ever_and_so_are_other_data_and_other_code() {
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
        assert_eq!(first.class, Class::Regressed, "{data} {code}");
        let executed = first.executed.as_ref().unwrap();
        assert_eq!(executed.change, change);
        let named = usize::from(change == CodeChange::Differs);
        assert_eq!(executed.functions.len(), named);
        assert_eq!(comparison.exit_code, 100);
    }
}
