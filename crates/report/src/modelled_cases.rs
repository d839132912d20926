//! Golden text of comparisons of modelled runs: their exact slots, the code that they name, and
//! their allocations.

use topdown_gate::metric::Metric;
use topdown_gate::policy::{Overrides, Policy, Subject};
use topdown_gate::scenario::{
    self, Planted, allocating, modelled, sampled, timed, with_a_grown_function, with_fingerprint,
    with_functions,
};
use topdown_run::event::Events;
use topdown_run::run_file::Benchmark;

use super::examples::{comparison_text, comparison_text_by};

fn text(baseline: Vec<Benchmark>, candidate: Vec<Benchmark>, width: usize) -> String {
    let [baseline, candidate] = [baseline, candidate].map(scenario::run);
    comparison_text(&baseline, &candidate, width)
}

#[test]
fn modelled_suite_is_decided_exactly() {
    let suite = |seed, change: [f64; 4]| -> Vec<Benchmark> {
        ["slower", "shifted", "faster", "same"]
            .iter()
            .zip([change[0], change[1], change[2], change[3]])
            .map(|(name, backend)| {
                let retiring = if *name == "shifted" { -backend } else { 0.0 };
                let planted = Planted {
                    seed,
                    launches: 2,
                    categories: [retiring, 0.0, 0.0, backend].into(),
                    ..Planted::default()
                };
                modelled(name, planted)
            })
            .collect()
    };
    let candidate = suite(2, [0.021, 0.03, -0.04, 0.019]);
    insta::assert_snapshot!(text(suite(1, [0.0; 4]), candidate, 60));
}

#[test]
fn intervals_of_sampled_model_are_explained() {
    let suite = |seed, slower: f64| -> Vec<Benchmark> {
        let planted = |backend| Planted {
            seed,
            categories: [0.0, 0.0, 0.0, backend].into(),
            ..Planted::default()
        };
        let mut suite = vec![modelled("exact", planted(0.0))];
        suite.push(sampled("long/slower", planted(slower)));
        suite.push(sampled("long/same", planted(0.0)));
        suite
    };
    let candidate = suite(2, 0.1);
    let text = text(suite(1, 0.0), candidate, 80);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("functions are unknown"), "{text}");
    insta::assert_snapshot!(text);
}

/// Benchmarks that spend more in the allocator, after a function of the project changed.
fn allocating_more(count: usize, version: u64) -> Vec<Benchmark> {
    let benchmark_at = |n: usize| {
        let more = version * (100 + 20 * n as u64);
        let planted = Planted {
            seed: version,
            launches: 2,
            categories: [0.0, 0.0, 0.0, more as f64 / 1000.0].into(),
            ..Planted::default()
        };
        let name = format!("nearest/uniform/k={n}/10000/f64/euclidean");
        let code = [
            ("alloc::raw_vec::finish_grow", version),
            ("suite::KdTree::add", version),
        ];
        let functions = [
            (
                Some("alloc::raw_vec::finish_grow"),
                None,
                [100, 0, 0, 200 + more],
            ),
            (Some("suite::KdTree::nearest"), None, [300, 100, 150, 144]),
        ];
        with_functions(
            with_fingerprint(modelled(&name, planted), 1, &code),
            &functions,
        )
    };
    (0..count).map(benchmark_at).collect()
}

#[test]
fn eleven_regressions_with_one_cause_are_one_sentence() {
    let text = [80, 200].map(|width| text(allocating_more(11, 0), allocating_more(11, 1), width));
    insta::assert_snapshot!(text.join("\n"));
}

#[test]
fn eleven_regressions_have_table_and_three_sentences() {
    let suite = |version: u64| -> Vec<Benchmark> {
        let benchmark_at = |n: u64| {
            let more = version * (100 + 20 * n);
            let planted = Planted {
                seed: version,
                launches: 2,
                categories: [0.0, 0.0, 0.0, more as f64 / 1000.0].into(),
                ..Planted::default()
            };
            let function = format!("suite::kernel_{n:02}");
            let functions = [(Some(&*function), None, [400, 100, 150, 344 + more])];
            with_functions(modelled(&format!("kernel/{n:02}"), planted), &functions)
        };
        (0..11).map(benchmark_at).collect()
    };
    let text = text(suite(0), suite(1), 80);
    assert!(
        text.contains("… and 8 more regressed; -v lists them"),
        "{text}"
    );
    insta::assert_snapshot!(text);
}

#[test]
fn regression_names_its_functions() {
    let [before, after] = with_a_grown_function("parse");
    insta::assert_snapshot!(text(vec![before], vec![after], 60));
}

#[test]
fn inlined_and_unnamed_functions_are_readable() {
    let side = |backend_bound: u64, seed| {
        let planted = Planted {
            seed,
            categories: [0.0, 0.0, 0.0, backend_bound as f64 / 1000.0].into(),
            ..Planted::default()
        };
        let functions = [
            (
                Some("criterion::bencher::Bencher<M>::iter"),
                None,
                [300, 100, 150, 250 + backend_bound / 2],
            ),
            (None, Some("libc.so.6"), [98, 0, 0, 98 + backend_bound / 2]),
        ];
        with_functions(modelled("b", planted), &functions)
    };
    let candidate = vec![side(100, 2)];
    insta::assert_snapshot!(text(vec![side(0, 1)], candidate, 60));
}

#[test]
fn identical_code_is_unchanged_by_proof() {
    let side = |seed, is_candidate: bool| -> Vec<Benchmark> {
        let benchmark_at = |index: u64| {
            let (time, backend_bound, data, code) = match (is_candidate, index) {
                (true, 0) => (3.0, 0.0, 7, 5),
                (true, 1) => (1.0, 0.1, 7, 6),
                (true, 2) => (1.0, 0.1, 8, 5),
                (true, 3) => (1.0, 0.1, 7, 5),
                _ => (1.0, 0.0, 7, 5),
            };
            let planted = Planted {
                seed,
                time_per_slot: time,
                categories: [0.0, 0.0, 0.0, backend_bound].into(),
                ..Planted::default()
            };
            let cost = 350 + (1000.0 * backend_bound) as u64;
            let functions = [(Some("kernel"), None, [400, 100, 150, cost])];
            let benchmark = with_functions(modelled(&format!("m{index}"), planted), &functions);
            with_fingerprint(benchmark, data, &[("kernel", code), ("memcpy", 3)])
        };
        (0..12).map(benchmark_at).collect()
    };
    let candidate = side(2, true);
    insta::assert_snapshot!(text(side(1, false), candidate, 60));
}

/// As on a published crate: slots −1.8 % exactly, time +758 %.
#[test]
fn modelled_slots_and_time_disagree() {
    let suite = |seed, name, change: &dyn Fn(usize) -> (f64, f64)| -> Vec<Benchmark> {
        (0..12)
            .map(|n| {
                let (backend_bound, time_per_slot) = change(n);
                let planted = Planted {
                    seed,
                    time_per_slot,
                    categories: [0.0, 0.0, 0.0, backend_bound].into(),
                    ..Planted::default()
                };
                // The last one runs the same code as before.
                let name = if n == 11 { "suite::same" } else { name };
                let whole = [400, 100, 150, 350];
                let function = [(Some(name), None, whole)];
                with_functions(modelled(&format!("b{n:02}"), planted), &function)
            })
            .collect()
    };
    let candidate = suite(2, "suite::new", &|n| match n {
        3 => (-0.018, 8.58 / 0.982),
        7 => (0.0, 1.15),
        9 => (0.03, 4.0),
        11 => (0.0, 2.0),
        _ => (0.0, 1.0),
    });
    let baseline = suite(1, "suite::old", &|_| (0.0, 1.0));
    insta::assert_snapshot!(text(baseline, candidate, 60));
}

#[test]
fn grown_allocations_are_reported_and_may_fail() {
    let suite = |seed, slower: f64, times: [f64; 3]| -> Vec<Benchmark> {
        let planted = |backend| Planted {
            seed,
            launches: 2,
            categories: [0.0, 0.0, 0.0, backend].into(),
            ..Planted::default()
        };
        ["slower", "same", "fewer"]
            .into_iter()
            .zip([slower, 0.0, 0.0])
            .zip(times)
            .map(|((name, slower), times)| {
                allocating(modelled(name, planted(slower)), times, 32.0 * times)
            })
            .collect()
    };
    let baseline = scenario::run(suite(1, 0.0, [1.0, 0.0, 2.0]));
    let candidate = scenario::run(suite(2, 0.05, [3.0, 1.0, 1.0]));
    insta::assert_snapshot!(
        "allocations_told",
        comparison_text(&baseline, &candidate, 80)
    );
    let gating = Policy::default().overridden_by(&Overrides {
        gate: Some(vec![Subject::Metric(Metric::Slots), Subject::Allocations]),
        ..Overrides::default()
    });
    let failing = comparison_text_by(&gating, &baseline, &candidate, 80);
    insta::assert_snapshot!("allocations_failing", failing);
    let mut uncounted = candidate.clone();
    for benchmark in uncounted.benchmarks.iter_mut().skip(1) {
        for launch in benchmark.slots_launches_mut() {
            launch.events = Events::NONE.into();
        }
    }
    let unknown = comparison_text_by(&gating, &baseline, &uncounted, 80);
    insta::assert_snapshot!("allocations_unknown", unknown);
    let unknown = comparison_text_by(&gating, &uncounted, &candidate, 60);
    insta::assert_snapshot!("allocations_of_the_baseline_unknown", unknown);
}

/// Nothing counts their allocations, so another gate is all that helps.
#[test]
fn remedy_for_uncounted_allocations_is_given_once() {
    let suite = || {
        scenario::run(
            ["load", "store"]
                .map(|name| timed(name, Planted::default()))
                .to_vec(),
        )
    };
    let gating = Policy::default().overridden_by(&Overrides {
        gate: Some(vec![Subject::Metric(Metric::Wall), Subject::Allocations]),
        ..Overrides::default()
    });
    insta::assert_snapshot!(comparison_text_by(&gating, &suite(), &suite(), 60));
}
