//! `compare --relaunch`: the second look at a stored run.

use std::fs;

use topdown_run::run_file::copy_run;

use crate::fixture::{Fixture, Outcome};

/// 7 % more slots: with four launches against two, enough for a suspicion but no verdict.
const PLANTED: (&str, &str) = ("FIXTURE_BACKEND_BOUND_SLOTS", "32.8");

const CHASE: [&str; 5] = ["--bench", "kernels", "--launches", "2", "chase"];

/// Saves `chase` as baseline `main`, then makes a newest run in which it looks slower.
fn suspicion() -> Fixture {
    let fixture = Fixture::new();
    let save = ["--bench", "kernels", "--launches", "4", "--save", "main"];
    fixture.bench(&[&save[..], &["chase"]].concat()).succeeds();
    fixture.bench_with(&CHASE, &[PLANTED]).succeeds();
    fixture
}

fn compare(fixture: &Fixture, words: &[&str], environment: &[(&str, &str)]) -> Outcome {
    fixture.plain(&[&["compare"], words].concat(), environment)
}

fn launches(fixture: &Fixture) -> usize {
    fixture.newest_run().benchmarks[0].launches()
}

#[test]
fn confirmed_suspicion_always_fails() {
    let fixture = suspicion();
    let once = compare(&fixture, &["main"], &[]).fails_with(104, "");
    assert!(once.stdout.contains("1 inconclusive") || once.stdout.contains("NOTHING DECIDED"));
    assert!(
        once.stderr
            .contains("`cargo topdown compare main --relaunch`"),
        "{}",
        once.stderr
    );

    let twice = compare(&fixture, &["main", "--relaunch"], &[PLANTED]);
    let twice = twice.fails_with(100, "1 benchmark may be slower");
    assert!(
        twice.stdout.contains("ran again, up to 4/20 launches"),
        "{}",
        twice.stdout
    );
    // The stored run is unchanged. Without the planted slots, launching again would show.
    assert_eq!(launches(&fixture), 2);
    let again = compare(&fixture, &["main"], &[("CARGO_TOPDOWN_RELAUNCH", "true")]);
    assert_eq!(again.code, Some(100));
    // A second look is not advised again.
    assert!(!again.stderr.contains("note: "), "{}", again.stderr);
    assert_eq!(again.stdout, twice.stdout);
    compare(&fixture, &["main", "--relaunch=false"], &[]).fails_with(104, "");

    let accept = ["baseline", "accept", "main", "chase", "--reason", "known"];
    fixture.plain(&accept, &[]).succeeds();
    let accepted = compare(&fixture, &["main", "--relaunch"], &[]).succeeds();
    assert!(
        accepted.stdout.contains("accepted: known"),
        "{}",
        accepted.stdout
    );
}

#[test]
fn unconfirmed_suspicion_passes() {
    let fixture = suspicion();
    let outcome = compare(&fixture, &["main", "--relaunch"], &[]).fails_with(104, "");
    assert!(
        outcome.stdout.contains("ran again, up to 4/20 launches"),
        "{}",
        outcome.stdout
    );
}

#[test]
fn baseline_with_executables_is_relaunched() {
    let fixture = suspicion();
    let other = tempfile::tempdir().unwrap();
    let other = other.path();
    copy_run(&fixture.newest(), other).unwrap();
    fs::copy(
        fixture.newest().join("launches.json"),
        other.join("launches.json"),
    )
    .unwrap();
    let slower = [("FIXTURE_BACKEND_BOUND_SLOTS", "36.0")];
    fixture.bench_with(&CHASE, &slower).succeeds();
    let words = [other.to_str().unwrap(), "--relaunch"];
    // The two launches of the first look stay slower than all others.
    let outcome = compare(&fixture, &words, &[]).fails_with(104, "");
    assert!(
        outcome.stdout.contains("ran again, up to 20/20 launches"),
        "{}",
        outcome.stdout
    );
    assert!(
        outcome.stdout.contains("may be slower in some launches"),
        "{}",
        outcome.stdout
    );
}

#[test]
fn impossible_relaunch_is_judged_once_with_reason() {
    let fixture = suspicion();
    let once = compare(&fixture, &["main"], &[]).fails_with(104, "");
    let says = |words: &[&str], why: &str| {
        let outcome = compare(&fixture, words, &[]).fails_with(104, why);
        assert_eq!(outcome.stdout, once.stdout);
    };
    let record = fixture.newest().join("launches.json");
    let whole = fs::read_to_string(&record).unwrap();
    let relaunch = ["main", "--relaunch"];
    fs::write(&record, whole.replace("\"bytes\":", "\"bytes\":1")).unwrap();
    says(&relaunch, "has since been rebuilt or removed");
    fs::write(&record, whole.replace("\"launches\":2", "\"launches\":20")).unwrap();
    says(&relaunch, "it already has 20 launches");
    fs::write(&record, &whole[..whole.len() / 2]).unwrap();
    says(&relaunch, "could not read ");
    fs::remove_file(&record).unwrap();
    says(&relaunch, "does not record how it was launched");
}

#[test]
fn time_only_relaunch_needs_its_baseline() {
    let fixture = Fixture::new();
    let clock = ["--bench", "mixed", "--launches", "2", "wall clock"];
    fixture
        .bench(&[&clock[..], &["--save", "main"]].concat())
        .succeeds();
    fixture.bench(&clock).succeeds();
    let outcome = compare(&fixture, &["main", "--relaunch"], &[]);
    // What is decided depends on how busy the machine was in either run.
    let told = outcome.stderr;
    assert!(told.contains("launches both in turn"), "{told}");
}
