//! Fingerprints of what benchmarks execute, and their uses. Needs x86-64 Linux, where code can be
//! traced.

use topdown_run::provenance::SourceKind;
use topdown_run::run_file::{Benchmark, Run};

use crate::fixture::{Fixture, Outcome};

const WORDS: [&str; 12] = [
    "--bench",
    "changed",
    "--features",
    "changed",
    "--launches",
    "2",
    "--sample-size",
    "10",
    "--warm-up-time",
    "0.005",
    "--measurement-time",
    "0.01",
];

/// Every launch of these has a fingerprint.
const CERTAIN: [&str; 5] = [
    "same",
    "slow to set up",
    "allocates",
    "worked on",
    "ordered",
];

fn bench(fixture: &Fixture, change: &str, more: &[&str]) -> Outcome {
    let environment = [
        ("FIXTURE_CHANGE", change),
        ("CARGO_TOPDOWN_NO_FINGERPRINTS", "false"),
    ];
    let words = [&WORDS, more].concat();
    fixture.bench_with(&words, &environment).succeeds()
}

fn names(run: &Run) -> Vec<&str> {
    run.benchmarks.iter().map(|b| b.id.name.as_str()).collect()
}

fn named<'a>(run: &'a Run, name: &str) -> &'a Benchmark {
    run.benchmarks.iter().find(|b| b.id.name == name).unwrap()
}

#[test]
fn timed_and_modelled_runs_have_the_same_fingerprints() {
    let fixture = Fixture::new();
    let budget = ["--model-budget", "0.2"];
    bench(&fixture, "", &[&["--source", "time"][..], &budget].concat());
    let timed = fixture.newest_run();
    let traced = bench(
        &fixture,
        "",
        &[&["--source", "model"][..], &budget].concat(),
    );
    let modelled = fixture.newest_run();
    for name in CERTAIN {
        let [timed, modelled] = [&timed, &modelled].map(|run| named(run, name));
        assert_eq!(timed.provenance().source, SourceKind::Time);
        assert_eq!(modelled.provenance().source, SourceKind::Model);
        assert!(timed.fingerprint.is_some(), "{name}");
        // Without fixed addresses, each launch's data is elsewhere.
        if !traced.stderr.contains("addresses cannot be fixed") {
            assert_eq!(timed.fingerprint, modelled.fingerprint, "{name}");
        }
    }
    let has_fingerprint = |run, name| named(run, name).fingerprint.is_some();
    for (run, follows_threads) in [(&timed, false), (&modelled, true)] {
        assert!(!has_fingerprint(run, "too long"));
        let has_it = has_fingerprint(run, "with a thread");
        assert_eq!(has_it, follows_threads);
    }
    assert_eq!(named(&modelled, "alternating").fingerprint, None);
}

#[test]
fn nothing_is_traced_without_fingerprints() {
    let fixture = Fixture::new();
    let words = [
        &WORDS[..],
        &["--source", "time", "--no-fingerprints", "same"],
    ]
    .concat();
    let outcome = fixture.bench(&words).succeeds();
    assert!(!outcome.stderr.contains("Tracing"), "{}", outcome.stderr);
    assert_eq!(fixture.newest_run().benchmarks[0].fingerprint, None);
}

/// The whole workflow: a baseline, a change, a launch of only what changed, a comparison.
#[test]
fn only_changed_and_uncertain_benchmarks_run() {
    let fixture = Fixture::new();
    let filter = "same|allocates|worked|ordered|thread";
    let time = |change, more: &[&str]| {
        bench(
            &fixture,
            change,
            &[&["--source", "time", filter], more].concat(),
        )
    };
    let compare = || fixture.plain(&["topdown", "compare", "main", "--json"], &[]);
    time("", &["--save", "main"]);
    let main = fixture.newest_run();

    let told = time("", &["--changed", "main"]).stderr;
    let summary = "4 of 5 benchmarks execute the same code as in `main` and are left out; \
                   differing: 0, new: 0, uncertain: 1";
    assert!(told.contains(summary), "{told}");
    assert!(
        told.contains("note: left out: `suite::changed::same`"),
        "{told}"
    );
    assert_eq!(names(&fixture.newest_run()), ["with a thread"]);

    time("twice", &["--changed", "main"]);
    let newest = fixture.newest_run();
    assert_eq!(names(&newest), ["worked on", "with a thread"]);
    let unchanged = newest.selection.unchanged.unwrap();
    assert_eq!(unchanged.since, main.id);
    let left_out: Vec<&str> = unchanged.benchmarks.iter().map(|id| &*id.name).collect();
    assert_eq!(left_out, ["allocates", "ordered", "same"]);
    let compared = compare();
    let json: serde_json::Value = serde_json::from_str(&compared.stdout).unwrap();
    assert_eq!(json["counts"]["not_run"], 3, "{json:#}");
    assert_eq!(json["counts"]["missing"], 0, "{json:#}");
    let benchmarks = json["benchmarks"].as_array().unwrap();
    let worked_on = benchmarks.iter().find(|b| b["id"]["name"] == "worked on");
    let executed = &worked_on.unwrap()["executed"];
    assert_eq!(executed["change"], "differs", "{executed:#}");
    assert_eq!(
        executed["functions"][0]["name"], "changed::multiply",
        "{executed:#}"
    );
}

/// The same functions, called as often but in another order: the data differs, in the order of
/// execution.
#[test]
fn reordered_code_counts_as_other_data() {
    let fixture = Fixture::new();
    let time = |change, more: &[&str]| {
        bench(
            &fixture,
            change,
            &[&["--source", "time", "ordered"], more].concat(),
        )
    };
    time("", &["--save", "main"]);
    time("backwards", &["--changed", "main"]);
    let newest = fixture.newest_run();
    assert_eq!(names(&newest), ["ordered"]);
    let before = fixture.baseline("main");
    let [before, after] =
        [&before, &newest].map(|run| named(run, "ordered").fingerprint.as_ref().unwrap());
    assert_eq!(before.code, after.code);
    assert_eq!(before.functions, after.functions);
    assert_ne!(before.data, after.data);
}

#[test]
fn unchanged_code_launches_nothing_and_passes() {
    let fixture = Fixture::new();
    let words = ["--source", "time", "same|worked"];
    bench(&fixture, "", &[&words[..], &["--save", "main"]].concat());
    bench(&fixture, "", &[&words[..], &["--changed", "main"]].concat());
    assert_eq!(names(&fixture.newest_run()), [""; 0]);
    let compared = fixture.plain(&["topdown", "compare", "main"], &[]);
    assert_eq!(compared.code, Some(0), "{}", compared.stdout);
    let passed =
        "PASSED: nothing to launch: 2 benchmarks execute the same machine code as in `main`";
    assert!(compared.stdout.contains(passed), "{}", compared.stdout);

    let missing = fixture.bench(&["--changed", "no-such-run"]);
    missing.fails_with(102, "no-such-run");
}

/// Every other launch takes another path. The output has the function and line where they part, the
/// run file also the instruction.
#[test]
fn divergence_of_modelled_launches_is_reported() {
    let fixture = Fixture::new();
    let words = ["--source", "model", "--model-budget", "0.2", "alternating"];
    let words = [&words[..], &["--launches", "4"]].concat();
    let environment = [("CARGO_TOPDOWN_NO_FINGERPRINTS", "true")];
    let words = [&WORDS[..4], &WORDS[6..], &words].concat();
    let told = fixture.bench_with(&words, &environment).succeeds().stderr;
    let further = "   Modelling 1 benchmark again, up to 4 times: launches differ\n";
    assert!(told.contains(further), "{told}");
    let run = fixture.newest_run();
    let divergence = run.benchmarks[0].launches_differ.as_ref();
    let divergence = divergence.unwrap_or_else(|| panic!("{told}"));
    assert!(divergence.contains("they diverge after "), "{divergence}");
    // After the branch, and in each of its arms, which are on the next lines.
    let source = include_str!("../fixture/suite/benches/changed.rs");
    let line = (1..)
        .zip(source.lines())
        .find(|(_, text)| text.contains("black_box(is_odd)"));
    let branch: u32 = line.unwrap().0;
    let note = format!("  `alternating`: behind `alternating` (benches/changed.rs:{branch})\n");
    assert!(told.contains(&note), "{told}");
    let places: Vec<&str> = divergence
        .split("`changed::alternating::")
        .skip(1)
        .collect();
    let line_of = |place: &&str| -> u32 {
        let number = place.split("benches/changed.rs:").nth(1).unwrap();
        number.split(',').next().unwrap().parse().unwrap()
    };
    let mut lines: Vec<u32> = places.iter().map(line_of).collect();
    lines[1..].sort_unstable();
    assert_eq!(lines, [branch, branch + 1, branch + 3], "{divergence}");
    // The instruction's position in the executable: two of them differ.
    let positions: Vec<&str> = places
        .iter()
        .filter_map(|place| place.split("+0x").nth(1))
        .collect();
    assert_ne!(positions[1], positions[2], "{divergence}");
    // The explanation has what the run file has.
    let words = ["topdown", "explain", "alternating", "--source", "model"];
    let words = [&words[..], &WORDS[..4], &WORDS[6..]].concat();
    let explained = fixture.run(&words, &environment);
    let text = explained.succeeds().stdout.replace('\n', " ");
    let differ = "two launches for all Its launches differ: they diverge after ";
    assert!(text.contains(differ), "{text}");
    assert!(text.contains("`changed::alternating::"), "{text}");
    // The build has the names of inlined functions.
    assert!(!told.contains("for the names of"), "{told}");
    // What is not exact is judged by its launches, on the clock too.
    assert_eq!(run.benchmarks[0].slots_launches().len(), 4);
    assert_eq!(run.benchmarks[0].times.launches.len(), 4);
}
