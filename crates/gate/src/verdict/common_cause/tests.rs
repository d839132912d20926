use super::*;
use crate::policy::Policy;
use crate::scenario::{self, Planted, modelled, with_fingerprint, with_functions};
use crate::verdict::{LabelledRun, compare};
use topdown_run::run_file::{Benchmark, Run};

const GROW: &str = "alloc::raw_vec::finish_grow";

/// A benchmark whose code differs in `changed`, and that spends `more` slots more in `grown`, which
/// has 300, next to a function that stays.
fn sides(name: &str, changed: &[&str], grown: &str, more: u64) -> [Benchmark; 2] {
    let side = |version: u64, more: u64| {
        let planted = Planted {
            categories: [0.0, 0.0, 0.0, more as f64 / 1000.0].into(),
            ..Planted::default()
        };
        let fingerprints: Vec<(&str, u64)> = changed.iter().map(|name| (*name, version)).collect();
        let benchmark = with_fingerprint(modelled(name, planted), 1, &fingerprints);
        let functions = [
            (Some(grown), None, [100, 0, 0, 200 + more]),
            (Some("suite::stays"), None, [300, 100, 150, 144]),
        ];
        with_functions(benchmark, &functions)
    };
    [side(1, 0), side(2, more)]
}

fn compared(benchmarks: Vec<[Benchmark; 2]>) -> Comparison {
    let run = |side: usize| -> Run {
        let benchmarks = benchmarks.iter().map(|sides| sides[side].clone());
        scenario::run(benchmarks.collect())
    };
    let (base, new) = (run(0), run(1));
    let labelled = |run| LabelledRun { label: "main", run };
    compare(labelled(&base), labelled(&new), &Policy::default())
}

/// Returns each cause of all benchmarks: what changed, where the slots are spent, and of whom.
fn causes(comparison: &Comparison) -> Vec<(Option<&str>, Option<&str>, usize)> {
    let members: Vec<&BenchmarkVerdict> = comparison.benchmarks.iter().collect();
    fn name(function: Option<&FunctionName>) -> Option<&str> {
        function?.name.as_deref()
    }
    let causes = common_causes(&members).into_iter();
    causes
        .map(|cause| {
            (
                name(cause.changed),
                name(cause.spent_in),
                cause.benchmarks.len(),
            )
        })
        .collect()
}

#[test]
fn own_changed_function_precedes_the_allocator() {
    let add = "suite::Tree::add";
    let mut all: Vec<_> = (0..4)
        .map(|n| sides(&format!("a{n}"), &[GROW, add, "serde::de"], GROW, 200))
        .collect();
    all.push(sides("b", &["suite::other"], "suite::other", 100));
    let comparison = compared(all);
    let expected = [(Some(add), Some(GROW), 4), (None, None, 1)];
    assert_eq!(causes(&comparison), expected);
}

#[test]
fn without_an_own_function_the_allocator_is_the_cause() {
    let benchmark_sides = |n| sides(&format!("a{n}"), &[GROW], GROW, 200);
    let comparison = compared((0..3).map(benchmark_sides).collect());
    assert_eq!(causes(&comparison), [(None, Some(GROW), 3)]);
}

#[test]
fn two_benchmarks_have_no_common_cause() {
    let benchmark_sides = |n| sides(&format!("a{n}"), &["suite::f"], "suite::f", 200);
    let comparison = compared((0..2).map(benchmark_sides).collect());
    assert_eq!(causes(&comparison), [(None, None, 1), (None, None, 1)]);
    let comparison = compared((0..3).map(benchmark_sides).collect());
    assert_eq!(causes(&comparison), [(Some("suite::f"), None, 3)]);
}

#[test]
fn the_shared_function_is_in_most_benchmarks() {
    let shared = |count, all| {
        let benchmark_sides = |n| {
            let grown = if n < count { GROW } else { "suite::f" };
            sides(&format!("a{n}"), &[], grown, 200)
        };
        let comparison = compared((0..all).map(benchmark_sides).collect());
        shared_function(&comparison, 0.04)
            .map(|shared| (shared.name.name.unwrap(), shared.benchmarks, shared.of))
    };
    assert_eq!(shared(9, 12), Some((GROW.to_owned(), 9, 12)));
    let comparison = compared(vec![sides("a", &[], GROW, 200)]);
    assert_eq!(shared_function(&comparison, -0.04), None);
}
