//! `compare` samples the functions of what became slower. Needs Linux, where code has a place in a
//! file.

use std::path::Path;

use topdown_run::run_file::read_run;

use crate::fixture::{Fixture, Outcome};

const CHASE: [&str; 5] = ["--bench", "kernels", "--launches", "8", "chase"];

/// `wait` waits 50 % longer.
const PLANTED: (&str, &str) = ("FIXTURE_BACKEND_BOUND_SLOTS", "45.0");

/// The scripted machine can interrupt.
const HITS: (&str, &str) = ("FIXTURE_HITS", "1");

/// Saves `chase` as baseline `main`, measured with these further `words`, then makes a newest run
/// in which `wait` waits longer.
fn regression(words: &[&str]) -> Fixture {
    let fixture = Fixture::new();
    let save = [&CHASE[..], &["--save", "main"], words].concat();
    fixture.bench_with(&save, &[HITS]).succeeds();
    fixture.bench_with(&CHASE, &[PLANTED]).succeeds();
    fixture
}

fn compare(fixture: &Fixture, words: &[&str], environment: &[(&str, &str)]) -> Outcome {
    let words = [&["compare", "main"], words].concat();
    fixture.plain(&words, &[&[PLANTED], environment].concat())
}

const LAUNCHING: &str = "launching 1 benchmark of the newest run to sample functions";

#[test]
fn counted_regression_is_sampled_once() {
    let fixture = regression(&["--functions"]);
    let forbidden = compare(&fixture, &["--functions=false"], &[HITS]);
    let forbidden = forbidden.fails_with(100, "the candidate does not know the functions");
    assert!(!forbidden.stdout.contains("kernels::wait"), "{forbidden:?}");
    assert!(!forbidden.stderr.contains(LAUNCHING), "{forbidden:?}");

    let sampled = compare(&fixture, &[], &[HITS]).fails_with(100, LAUNCHING);
    let sentence = "+37.5 points in `kernels::wait` (backend bound)";
    let words = sampled.stdout.split_whitespace().collect::<Vec<_>>();
    assert!(
        words.join(" ").contains(&sentence[1..]),
        "{}",
        sampled.stdout
    );
    // The stored run is unchanged, and nothing is launched a second time, not even without hits.
    assert_eq!(fixture.newest_run().benchmarks[0].functions, None);
    let again = compare(&fixture, &[], &[]);
    assert_eq!(again.code, Some(100));
    assert_eq!(
        (again.stdout, again.stderr),
        (sampled.stdout, String::new())
    );
    let json = compare(&fixture, &["--json"], &[]);
    assert!(
        json.stdout.contains("\"name\": \"kernels::wait\""),
        "{}",
        json.stdout
    );
}

#[test]
fn candidate_functions_are_shown_alone() {
    let fixture = regression(&[]);
    let sampled = compare(&fixture, &[], &[HITS]).fails_with(100, LAUNCHING);
    let table = "functions of chase in the candidate";
    let table = sampled.stdout.split_once(table).expect(&sampled.stdout).1;
    assert!(table.contains("kernels::wait"), "{table}");
    let why = "the baseline does not know the functions of `chase`";
    assert!(sampled.stderr.contains(why), "{}", sampled.stderr);
}

#[test]
fn failed_sampling_is_reported_and_judged() {
    let fixture = regression(&["--functions"]);
    let unknown = "functions of chase are unknown in the candidate: the bench recorded no PMU \
                   samples";
    let outcome = compare(&fixture, &[], &[]).fails_with(100, LAUNCHING);
    assert!(outcome.stdout.contains(unknown), "{}", outcome.stdout);
    // The command that it advises elsewhere would fail in the same way.
    assert!(
        !outcome.stderr.contains("bench --functions"),
        "{}",
        outcome.stderr
    );
    std::fs::remove_file(fixture.newest().join("launches.json")).unwrap();
    let outcome = compare(&fixture, &[], &[HITS]).fails_with(100, "measure it with");
    assert!(
        !outcome.stderr.contains("cannot be launched"),
        "{}",
        outcome.stderr
    );
    let wanted = compare(&fixture, &["--functions"], &[HITS]);
    wanted.fails_with(100, "cannot be launched to sample functions: ");
}

#[test]
fn unchanged_functions_are_sampled_on_request() {
    let fixture = regression(&["--functions"]);
    let same = ["--bench", "kernels", "--launches", "20", "chase"];
    fixture.bench(&same).succeeds();
    let unasked = fixture.plain(&["compare", "main"], &[HITS]).succeeds();
    assert!(!unasked.stderr.contains(LAUNCHING), "{}", unasked.stderr);
    // 20 launches decide all there is to decide, but functions are another matter.
    let asked = fixture.plain(&["compare", "main", "--functions"], &[HITS]);
    assert!(asked.succeeds().stderr.contains(LAUNCHING));
    let sampled = read_run(&fixture.newest().join("functions")).unwrap();
    assert!(sampled.benchmarks[0].functions.is_some());
    assert!(
        !Path::new(&fixture.baselines())
            .join("main/functions")
            .exists()
    );
}
