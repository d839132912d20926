//! Tests of allocations that grew.

use super::*;
use crate::allocated::Allocated;
use crate::scenario::{allocating, with_fingerprint};

fn suite_of(categories: [f64; 4], times: f64, bytes: f64) -> Run {
    let planted = Planted {
        categories: categories.into(),
        ..Planted::default()
    };
    scenario::run(vec![allocating(modelled("a", planted), times, bytes)])
}

fn gating(words: &[&str]) -> Policy {
    let gate: Vec<Subject> = words.iter().map(|word| word.parse().unwrap()).collect();
    Policy::default().overridden_by(&Overrides {
        gate: Some(gate),
        ..Overrides::default()
    })
}

#[test]
fn growth_is_reported_and_fails_by_policy() {
    let before = suite_of([0.0; 4], 1.0, 96.0);
    let after = suite_of([0.0; 4], 3.0, 192.0);
    let reported = judged(&before, &after);
    let verdict = &reported.benchmarks[0];
    assert_eq!(
        (verdict.verdict, reported.exit_code),
        (Verdict::Unchanged, 0)
    );
    let grown = verdict.grown_allocations().unwrap();
    assert_eq!((grown.baseline.times, grown.candidate.times), (1.0, 3.0));
    assert_eq!(grown.candidate.bytes, 192.0);
    let comparison = judged_by(&before, &after, &gating(&["slots", "allocations"]));
    let verdict = &comparison.benchmarks[0];
    assert_eq!(verdict.rule, Some(Rule::AllocatesMore));
    assert_eq!(verdict.cause, None);
    assert_eq!(
        (verdict.verdict, comparison.exit_code),
        (Verdict::Regressed, 100)
    );
    // Fewer or the same are fine.
    for (before, after) in [(&after, &before), (&after, &after)] {
        let comparison = judged_by(before, after, &gating(&["allocations"]));
        assert_eq!(comparison.exit_code, 0);
        assert_eq!(comparison.benchmarks[0].grown_allocations(), None);
    }
    // Alone, it lets nothing else fail.
    let slower = suite_of([0.0, 0.0, 0.0, 0.5], 1.0, 96.0);
    assert_eq!(
        judged_by(&before, &slower, &gating(&["allocations"])).exit_code,
        0
    );
}

#[test]
fn slots_come_first() {
    let before = suite_of([0.0; 4], 1.0, 96.0);
    let after = suite_of([0.0, 0.0, 0.0, 0.5], 3.0, 192.0);
    let comparison = judged_by(&before, &after, &gating(&["slots", "allocations"]));
    let verdict = &comparison.benchmarks[0];
    assert_eq!(verdict.rule, Some(Rule::Slower));
    assert!(verdict.cause.is_some() && verdict.grown_allocations().is_some());
}

/// Returns the verdict, its rule and the exit code, and the warnings about allocations.
fn on_unknown(before: &Run, after: &Run, words: &[&str]) -> (BenchmarkVerdict, u8, Vec<String>) {
    let comparison = judged_by(before, after, &gating(words));
    let is_of_them = |warning: &&Warning| matches!(warning, Warning::AllocationsUnknown { .. });
    let texts = (comparison.warnings.iter().filter(is_of_them)).map(Warning::to_string);
    let texts = texts.collect();
    let verdict = comparison.benchmarks.into_iter().next().unwrap();
    assert_eq!(verdict.allocations, None);
    (verdict, comparison.exit_code, texts)
}

#[test]
fn one_sided_allocations_are_a_warning() {
    let known = suite_of([0.0; 4], 0.0, 0.0);
    let unknown = scenario::run(vec![modelled("a", Planted::default())]);
    let warned = |before, after| {
        let (verdict, exit_code, warnings) = on_unknown(before, after, &["slots"]);
        assert_eq!((verdict.allocations_uncounted, exit_code), (None, 0));
        warnings
    };
    let text = |side| format!("allocations of a are not compared: they were not counted {side}");
    assert_eq!(warned(&unknown, &known), [text("in the baseline")]);
    assert_eq!(warned(&known, &unknown), [text("in the candidate")]);
    assert_eq!(warned(&unknown, &unknown), [""; 0]);
    // Time never has any.
    let of_time = scenario::run(vec![timed("a", Planted::default())]);
    assert_eq!(warned(&of_time, &of_time), [""; 0]);
}

#[test]
fn uncounted_allocations_do_not_pass_their_gate() {
    let known = suite_of([0.0; 4], 0.0, 0.0);
    let unknown = scenario::run(vec![modelled("a", Planted::default())]);
    let of_time = scenario::run(vec![timed("a", Planted::default())]);
    for (before, after, sides) in [
        (&unknown, &known, Uncounted::Baseline),
        (&known, &unknown, Uncounted::Candidate),
        (&unknown, &unknown, Uncounted::Both),
        (&of_time, &of_time, Uncounted::Both),
    ] {
        for gate in [&["allocations"][..], &["slots", "wall", "allocations"]] {
            let (verdict, exit_code, warnings) = on_unknown(before, after, gate);
            assert_eq!(verdict.rule, Some(Rule::AllocationsUnknown));
            assert_eq!((verdict.verdict, exit_code), (Verdict::NotComparable, 102));
            assert_eq!(verdict.allocations_uncounted, Some(sides));
            // Its own sentence says so.
            assert_eq!(warnings, [""; 0]);
        }
    }
    // The other benchmarks of the suite are judged as ever.
    let two = |categories| {
        let mut run = suite_of(categories, 0.0, 0.0);
        run.benchmarks.push(modelled("b", Planted::default()));
        run
    };
    let policy = gating(&["slots", "allocations"]);
    let comparison = judged_by(&two([0.0; 4]), &two([0.0, 0.0, 0.0, 0.5]), &policy);
    let verdicts: Vec<Verdict> = comparison.benchmarks.iter().map(|b| b.verdict).collect();
    assert_eq!(verdicts, [Verdict::Regressed, Verdict::NotComparable]);
    assert_eq!(comparison.exit_code, 100);
}

#[test]
fn slower_benchmark_fails_with_unknown_allocations() {
    let run = |backend| {
        let planted = Planted {
            categories: [0.0, 0.0, 0.0, backend].into(),
            ..Planted::default()
        };
        scenario::run(vec![modelled("a", planted)])
    };
    let (before, after) = (run(0.0), run(0.5));
    let (verdict, exit_code, warnings) = on_unknown(&before, &after, &["slots", "allocations"]);
    assert_eq!((verdict.rule, exit_code), (Some(Rule::Slower), 100));
    assert_eq!(warnings.len(), 1);
    // Accepting the slots accepts no allocations that nobody counted.
    let mut policy = gating(&["slots", "allocations"]);
    let change = AcceptedChange {
        reason: "a safer parser".to_owned(),
        differences: [(Metric::Slots, 0.5)].into(),
        allocations: None,
    };
    policy.accepted.insert(verdict.id.to_string(), change);
    let comparison = judged_by(&before, &after, &policy);
    assert_eq!(
        comparison.benchmarks[0].rule,
        Some(Rule::AllocationsUnknown)
    );
    assert_eq!(comparison.benchmarks[0].accepted, None);
    assert_eq!(comparison.exit_code, 102);
}

#[test]
fn same_code_has_same_allocations() {
    let run = |data| {
        let benchmark = modelled("a", Planted::default());
        let benchmark = with_functions(benchmark, &[(Some("f"), None, [400, 100, 150, 350])]);
        scenario::run(vec![with_fingerprint(benchmark, data, &[("kernel", 5)])])
    };
    let (verdict, exit_code, _) = on_unknown(&run(7), &run(7), &["allocations"]);
    assert_eq!((verdict.rule, exit_code), (Some(Rule::SameCode), 0));
    let (verdict, exit_code, _) = on_unknown(&run(7), &run(8), &["allocations"]);
    assert_eq!(
        (verdict.rule, exit_code),
        (Some(Rule::AllocationsUnknown), 102)
    );
}

#[test]
fn allocations_are_compared_without_slots() {
    let before = suite_of([0.0; 4], 1.0, 96.0);
    let mut after = suite_of([0.0; 4], 3.0, 192.0);
    after.benchmarks[0].provenance_mut().formula = "model-golden-cove/999".to_owned();
    let comparison = judged(&before, &after);
    let verdict = &comparison.benchmarks[0];
    assert_eq!(verdict.verdict, Verdict::NotComparable);
    assert!(verdict.grown_allocations().is_some());
}

#[test]
fn accepted_growth_passes_up_to_its_limit() {
    let before = suite_of([0.0; 4], 1.0, 96.0);
    let after = suite_of([0.0; 4], 3.0, 192.0);
    let accepted = |allocations| {
        let mut policy = gating(&["slots", "allocations"]);
        let change = AcceptedChange {
            reason: "keeps a copy now".to_owned(),
            differences: Default::default(),
            allocations,
        };
        let id = after.benchmarks[0].id.to_string();
        policy.accepted.insert(id, change);
        judged_by(&before, &after, &policy).benchmarks[0].verdict
    };
    let allocated = |times, bytes| Some(Allocated { times, bytes });
    assert_eq!(accepted(allocated(3.0, 192.0)), Verdict::Accepted);
    assert_eq!(accepted(allocated(3.0, 191.0)), Verdict::Regressed);
    assert_eq!(accepted(allocated(2.0, 192.0)), Verdict::Regressed);
    assert_eq!(accepted(None), Verdict::Regressed);
}
