//! Tests of allocations that grew.

use super::*;
use crate::allocated::Allocated;
use crate::scenario::allocating;

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
fn growth_is_told_and_fails_only_where_the_policy_says_so() {
    let before = suite_of([0.0; 4], 1.0, 96.0);
    let after = suite_of([0.0; 4], 3.0, 192.0);
    let told = judged(&before, &after);
    let verdict = &told.benchmarks[0];
    assert_eq!((verdict.verdict, told.exit_code), (Verdict::Unchanged, 0));
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

#[test]
fn what_either_side_does_not_know_is_not_compared_and_the_reader_is_warned() {
    let known = suite_of([0.0; 4], 0.0, 0.0);
    let unknown = scenario::run(vec![modelled("a", Planted::default())]);
    let warned = |before, after, words: &[&str]| {
        let comparison = judged_by(before, after, &gating(words));
        assert_eq!(comparison.benchmarks[0].allocations, None);
        assert_eq!(comparison.exit_code, 0);
        let is_of_them = |of: &&Warning| matches!(of, Warning::AllocationsUnknown { .. });
        let texts = (comparison.warnings.iter().filter(is_of_them)).map(Warning::to_string);
        texts.collect::<Vec<_>>()
    };
    let text = |side| format!("allocations of a are not compared: they were not counted {side}");
    for gate in [["slots"], ["allocations"]] {
        assert_eq!(warned(&unknown, &known, &gate), [text("in the baseline")]);
        assert_eq!(warned(&known, &unknown, &gate), [text("in the candidate")]);
    }
    assert_eq!(
        warned(&unknown, &unknown, &["allocations"]),
        [text("on either side")]
    );
    // Nobody asked for them.
    assert_eq!(warned(&unknown, &unknown, &["slots"]), [""; 0]);
    // Time never has any.
    let of_time = scenario::run(vec![timed("a", Planted::default())]);
    assert_eq!(warned(&of_time, &of_time, &["slots"]), [""; 0]);
    assert_eq!(
        warned(&of_time, &of_time, &["allocations"]),
        [text("on either side")]
    );
}

#[test]
fn they_are_compared_where_slots_are_not() {
    let before = suite_of([0.0; 4], 1.0, 96.0);
    let mut after = suite_of([0.0; 4], 3.0, 192.0);
    after.benchmarks[0].provenance_mut().formula = "model-golden-cove/999".to_owned();
    let comparison = judged(&before, &after);
    let verdict = &comparison.benchmarks[0];
    assert_eq!(verdict.verdict, Verdict::NotComparable);
    assert!(verdict.grown_allocations().is_some());
}

#[test]
fn accepted_growth_passes_up_to_what_was_accepted() {
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
    let of = |times, bytes| Some(Allocated { times, bytes });
    assert_eq!(accepted(of(3.0, 192.0)), Verdict::Accepted);
    assert_eq!(accepted(of(3.0, 191.0)), Verdict::Regressed);
    assert_eq!(accepted(of(2.0, 192.0)), Verdict::Regressed);
    assert_eq!(accepted(None), Verdict::Regressed);
}
