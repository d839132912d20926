//! Golden text of comparisons in which a gate can mislead.
//!
//! `comparison_text` has the text of each verdict and of runs that cannot be compared,
//! `modelled_cases` what only modelled runs say, and `tests/compare.rs` what depends on files:
//! filters, one launch, zeros.

use topdown_gate::scenario::{self, Planted, benchmark, modelled, timed, with_fingerprint};
use topdown_run::run_file::Benchmark;

use super::examples::comparison_text;

fn text(baseline: Vec<Benchmark>, candidate: Vec<Benchmark>) -> String {
    [60, 120]
        .map(|width| text_in(width, baseline.clone(), candidate.clone()))
        .join("\n")
}

fn text_in(width: usize, baseline: Vec<Benchmark>, candidate: Vec<Benchmark>) -> String {
    let [baseline, candidate] = [baseline, candidate].map(scenario::run);
    comparison_text(&baseline, &candidate, width)
}

/// `size` benchmarks, each with the backend-bound slots that `slower` adds.
fn suite(seed: u64, size: usize, slower: impl Fn(usize) -> f64) -> Vec<Benchmark> {
    let benchmark_at = |index: usize| {
        let planted = Planted {
            seed,
            categories: [0.0, 0.0, 0.0, slower(index)].into(),
            ..Planted::default()
        };
        benchmark(&format!("b{index:02}"), planted)
    };
    (0..size).map(benchmark_at).collect()
}

/// A benchmark of nothing but time, which takes `factor` times as long for a slot.
fn of_time(name: &str, seed: u64, factor: f64) -> Benchmark {
    let planted = Planted {
        seed,
        time_per_slot: factor,
        ..Planted::default()
    };
    timed(name, planted)
}

/// `size` of them, each as long as `factor` says.
fn timed_suite(seed: u64, size: usize, factor: impl Fn(usize) -> f64) -> Vec<Benchmark> {
    let benchmark_at = |index| of_time(&format!("t{index}"), seed, factor(index));
    (0..size).map(benchmark_at).collect()
}

fn unchanged(_: usize) -> f64 {
    0.0
}

#[test]
fn renamed_benchmark_is_found_by_its_code() {
    let of_code = |name: &str, code| {
        with_fingerprint(modelled(name, Planted::default()), code, &[("f", code)])
    };
    let names = ["a", "b", "c", "d", "e"];
    let suite = |prefix: &str| -> Vec<Benchmark> {
        let renamed = names.iter().zip(1..);
        renamed
            .map(|(name, code)| of_code(&format!("{prefix}/{name}"), code))
            .chain([
                of_code("stays", 10),
                of_code(&format!("{prefix}/own"), prefix.len() as u64 + 20),
            ])
            .collect()
    };
    let (baseline, candidate) = (suite("parse"), suite("parsing_of_text"));
    let one = |suite: &[Benchmark]| suite[4..6].to_vec();
    let texts = [60, 100].map(|width| text_in(width, one(&baseline), one(&candidate)));
    assert!(texts[1].contains("`parse/e` is probably now `parsing_of_text/e`: same code"));
    insta::assert_snapshot!(texts.join("\n"));
    insta::assert_snapshot!("five_have_a_new_name", text_in(100, baseline, candidate));
}

#[test]
fn most_of_the_suite_is_slower() {
    let slower = |index| match index {
        0..7 => 0.05 + 0.04 * index as f64,
        _ => 0.0,
    };
    let candidate = suite(2, 12, slower);
    insta::assert_snapshot!(text(suite(1, 12, unchanged), candidate));
}

#[test]
fn one_slower_benchmark_among_faster_ones() {
    let change = |index| match index {
        0 => 0.2,
        1..8 => -0.04 * index as f64,
        _ => 0.0,
    };
    let candidate = suite(2, 12, change);
    insta::assert_snapshot!(text(suite(1, 12, unchanged), candidate));
}

#[test]
fn all_nine_time_only_benchmarks_are_slower() {
    let candidate = timed_suite(2, 9, |_| 1.12);
    insta::assert_snapshot!(text(timed_suite(1, 9, |_| 1.0), candidate));
}

#[test]
fn two_time_only_benchmarks_get_advice() {
    let side = |seed, factor| {
        ["parse", "sort"]
            .map(|name| of_time(name, seed, factor))
            .to_vec()
    };
    insta::assert_snapshot!(text_in(60, side(1, 1.0), side(2, 1.12)));
}

#[test]
fn time_only_suite_on_a_slower_machine() {
    let slower = |index| if index == 3 { 1.2 * 1.2 } else { 1.2 };
    let candidate = timed_suite(2, 12, slower);
    insta::assert_snapshot!(text_in(60, timed_suite(1, 12, |_| 1.0), candidate));
}

/// What has only time is compared with its like: the machine was faster for all but one of these.
#[test]
fn one_time_only_benchmark_lags_behind_faster_ones() {
    let side = |seed, is_candidate: bool| -> Vec<Benchmark> {
        let benchmark_at = |index: usize| {
            let time_per_slot = match (is_candidate, index) {
                (false, _) | (true, 0) => 1.0,
                (true, 1..12) => 0.8,
                (true, _) => 0.7,
            };
            let planted = Planted {
                seed,
                time_per_slot,
                ..Planted::default()
            };
            match index {
                0..12 => timed(&format!("t{index:02}"), planted),
                _ => modelled(&format!("m{index:02}"), planted),
            }
        };
        (0..34).map(benchmark_at).collect()
    };
    insta::assert_snapshot!(text(side(1, false), side(2, true)));
}

/// `benchmarks`, of which one has a launch that took ten times as long.
fn with_a_wild_launch(index: usize, mut benchmarks: Vec<Benchmark>) -> Vec<Benchmark> {
    let benchmark = &mut benchmarks[index];
    benchmark.slots_launches_mut()[4].slots *= 10.0;
    benchmark.times.launches[4].wall_ns *= 10.0;
    benchmarks
}

#[test]
fn wild_baseline_launch_hides_no_change() {
    let baseline = with_a_wild_launch(0, suite(1, 4, unchanged));
    let doubled = |index| if index == 0 { 1.0 } else { 0.0 };
    insta::assert_snapshot!(text(baseline, suite(2, 4, doubled)));
}

#[test]
fn wild_candidate_launch_fails_nothing() {
    let candidate = with_a_wild_launch(0, suite(2, 4, unchanged));
    insta::assert_snapshot!(text(suite(1, 4, unchanged), candidate));
}

#[test]
fn all_slower_with_a_wild_baseline_launch() {
    let baseline = with_a_wild_launch(11, suite(1, 12, unchanged));
    let slower = |index| 0.1 * index as f64 / 11.0;
    insta::assert_snapshot!(text_in(60, baseline, suite(2, 12, slower)));
}

#[test]
fn time_regression_at_equal_slots_fails_if_gated() {
    let side = |seed, is_candidate: bool| -> Vec<Benchmark> {
        let benchmark_at = |index| {
            let time_per_slot = match (is_candidate, index) {
                (true, 3) => 1.12,
                (true, 7) => 1.04,
                _ => 1.0,
            };
            let planted = Planted {
                seed,
                time_per_slot,
                ..Planted::default()
            };
            benchmark(&format!("b{index:02}"), planted)
        };
        (0..24).map(benchmark_at).collect()
    };
    insta::assert_snapshot!(text(side(1, false), side(2, true)));
}

/// Each benchmark has its own noise and change: launches help some and not others.
#[test]
fn launches_are_advised_only_if_useful() {
    const CASES: [(&str, f64, f64); 4] = [
        ("a change behind noise", 0.03, 0.05),
        ("at the margin", 0.001, 0.0285),
        ("nothing behind noise", 0.03, 0.0),
        ("noise alone", 0.2, 0.0),
    ];
    let side = |seed, is_candidate: bool| -> Vec<Benchmark> {
        let asking = CASES.map(|(name, deviation, change)| {
            let planted = Planted {
                seed,
                deviation,
                categories: [0.0, 0.0, 0.0, if is_candidate { change } else { 0.0 }].into(),
                ..Planted::default()
            };
            benchmark(name, planted)
        });
        asking
            .into_iter()
            .chain(suite(seed, 12, unchanged))
            .collect()
    };
    insta::assert_snapshot!(text(side(1, false), side(2, true)));
}

#[test]
fn runs_with_large_drift() {
    let drift = |index: usize| 0.025 * ((index * 7 % 12) as f64 - 5.5) / 3.5;
    insta::assert_snapshot!(text(suite(1, 12, unchanged), suite(2, 12, drift)));
}

#[test]
fn missing_benchmarks_are_listed() {
    let mut candidate = suite(2, 12, unchanged);
    candidate.drain(3..5);
    insta::assert_snapshot!(text(suite(1, 12, unchanged), candidate));
}

/// Many launches of steady benchmarks, whose changes are next to the margin: some are below it by
/// luck, and launches do not tell.
#[test]
fn a_change_at_the_margin() {
    let side = |seed, is_candidate: bool| -> Vec<Benchmark> {
        let at_the_margin = |number: usize| {
            let change = 0.0295 + 0.0002 * number as f64;
            let planted = Planted {
                seed,
                deviation: 0.01,
                launches: 40,
                categories: [0.0, 0.0, 0.0, if is_candidate { change } else { 0.0 }].into(),
                ..Planted::default()
            };
            benchmark(&format!("near {number}"), planted)
        };
        let steady = |number| {
            let planted = Planted {
                seed,
                deviation: 0.01,
                launches: 40,
                ..Planted::default()
            };
            benchmark(&format!("steady {number:02}"), planted)
        };
        (0..3)
            .map(at_the_margin)
            .chain((0..12).map(steady))
            .collect()
    };
    insta::assert_snapshot!(text(side(1, false), side(2, true)));
}

#[test]
fn small_suite_with_one_slower_at_equal_slots() {
    let suite = |seed, last: f64| -> Vec<Benchmark> {
        (0..6)
            .map(|n| {
                let planted = Planted {
                    seed,
                    time_per_slot: if n == 5 { last } else { 1.0 },
                    ..Planted::default()
                };
                benchmark(&format!("b{n}"), planted)
            })
            .collect()
    };
    let candidate = suite(2, 1.25);
    insta::assert_snapshot!(text_in(60, suite(1, 1.0), candidate));
}

#[test]
fn partly_identical_suite_has_not_shifted() {
    let suite = |seed, backend| -> Vec<Benchmark> {
        (0..17)
            .map(|n| {
                let planted = Planted {
                    seed,
                    launches: 2,
                    categories: [0.0, 0.0, 0.0, if n < 10 { backend } else { 0.0 }].into(),
                    ..Planted::default()
                };
                modelled(&format!("benchmark {n:02}"), planted)
            })
            .collect()
    };
    let text = text_in(100, suite(1, 0.0), suite(2, 0.6));
    assert!(text.contains("10 regressed, 7 unchanged"), "{text}");
    assert!(!text.contains("the whole suite moved"), "{text}");
}

#[test]
fn mostly_undecided_suite_has_not_simply_passed() {
    let suite = |seed, noisy: usize| -> Vec<Benchmark> {
        (0..16)
            .map(|n| {
                // The noisy ones are identical on both sides, so they show no drift.
                let (seed, deviation) = if n < noisy { (1, 0.15) } else { (seed, 0.004) };
                let planted = Planted {
                    seed,
                    deviation,
                    ..Planted::default()
                };
                benchmark(&format!("b{n:02}"), planted)
            })
            .collect()
    };
    let first_line = |noisy| {
        let text = text_in(100, suite(1, noisy), suite(2, noisy));
        text.lines().next().unwrap_or_default().to_owned()
    };
    assert_eq!(
        first_line(14),
        "MOSTLY UNDECIDED: nothing regressed, but only 2 of 16 benchmarks (12 %) are decided"
    );
    assert_eq!(
        first_line(3),
        "PASSED: nothing regressed in 13 of 16 benchmarks (81 %) since `main`; 3 undecided"
    );
    assert_eq!(
        first_line(0),
        "PASSED: nothing regressed in 16 benchmarks since `main`"
    );
}
