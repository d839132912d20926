//! Golden text of comparisons in which a gate can mislead.
//!
//! `comparison_text` has the text of each verdict and of runs that cannot be compared, and
//! `tests/compare.rs` what depends on files: filters, one launch, zeros.

use criterion_topdown::run_file::Benchmark;
use topdown_gate::scenario::{self, Planted, benchmark, modelled, timed};

use super::examples::comparison_text;

fn text(baseline: Vec<Benchmark>, candidate: Vec<Benchmark>) -> String {
    let [baseline, candidate] = [baseline, candidate].map(scenario::run);
    [60, 120]
        .map(|width| comparison_text(&baseline, &candidate, width))
        .join("\n")
}

/// `size` benchmarks, each with the backend-bound slots that `slower` adds.
fn suite(seed: u64, size: usize, slower: impl Fn(usize) -> f64) -> Vec<Benchmark> {
    let of = |index: usize| {
        let planted = Planted {
            seed,
            categories: [0.0, 0.0, 0.0, slower(index)].into(),
            ..Planted::default()
        };
        benchmark(&format!("b{index:02}"), planted)
    };
    (0..size).map(of).collect()
}

fn unchanged(_: usize) -> f64 {
    0.0
}

#[test]
fn more_than_half_of_the_suite_is_slower() {
    let slower = |index| match index {
        0..7 => 0.05 + 0.04 * index as f64,
        _ => 0.0,
    };
    let candidate = suite(2, 12, slower);
    insta::assert_snapshot!(text(suite(1, 12, unchanged), candidate));
}

#[test]
fn one_is_slower_beside_many_that_are_faster() {
    let change = |index| match index {
        0 => 0.2,
        1..8 => -0.04 * index as f64,
        _ => 0.0,
    };
    let candidate = suite(2, 12, change);
    insta::assert_snapshot!(text(suite(1, 12, unchanged), candidate));
}

#[test]
fn all_nine_of_nothing_but_time_are_slower() {
    let side = |seed, factor| -> Vec<Benchmark> {
        let of = |index| {
            let planted = Planted {
                seed,
                time_per_slot: factor,
                ..Planted::default()
            };
            timed(&format!("t{index}"), planted)
        };
        (0..9).map(of).collect()
    };
    insta::assert_snapshot!(text(side(1, 1.0), side(2, 1.12)));
}

/// What has only time is compared with its like: the machine was faster for all but one of these.
#[test]
fn one_of_nothing_but_time_took_no_longer_while_the_others_took_less() {
    let side = |seed, is_candidate: bool| -> Vec<Benchmark> {
        let of = |index: usize| {
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
        (0..34).map(of).collect()
    };
    insta::assert_snapshot!(text(side(1, false), side(2, true)));
}

/// `benchmarks`, the first of which has a launch that took ten times as long.
fn with_a_wild_launch(mut benchmarks: Vec<Benchmark>) -> Vec<Benchmark> {
    benchmarks[0].slots_launches_mut()[4].slots *= 10.0;
    benchmarks[0].times.launches[4].wall_ns *= 10.0;
    benchmarks
}

#[test]
fn a_launch_of_the_baseline_went_wrong_and_hides_no_change() {
    let baseline = with_a_wild_launch(suite(1, 4, unchanged));
    let doubled = |index| if index == 0 { 1.0 } else { 0.0 };
    insta::assert_snapshot!(text(baseline, suite(2, 4, doubled)));
}

#[test]
fn a_launch_of_the_candidate_went_wrong_and_fails_nothing() {
    let candidate = with_a_wild_launch(suite(2, 4, unchanged));
    insta::assert_snapshot!(text(suite(1, 4, unchanged), candidate));
}

#[test]
fn time_grew_at_flat_slots_in_a_suite_that_gates_it() {
    let side = |seed, is_candidate: bool| -> Vec<Benchmark> {
        let of = |index| {
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
        (0..24).map(of).collect()
    };
    insta::assert_snapshot!(text(side(1, false), side(2, true)));
}

/// Each benchmark has its own noise and change: launches help some and not others.
#[test]
fn launches_are_advised_only_where_they_would_tell() {
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
fn runs_that_drift_far_apart() {
    let drift = |index: usize| 0.025 * ((index * 7 % 12) as f64 - 5.5) / 3.5;
    insta::assert_snapshot!(text(suite(1, 12, unchanged), suite(2, 12, drift)));
}

#[test]
fn benchmarks_that_should_have_run_are_missing() {
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
