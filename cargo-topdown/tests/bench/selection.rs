//! Runs of part of the suite: what they record about it, and what happens to the rest.

use topdown_run::run_file::{Benchmark, Selection, TargetId};

use crate::fixture::{Fixture, Outcome};

/// One launch decides nothing; these tests only check which benchmarks are expected.
const WHOLE: [&str; 3] = ["--bench=kernels", "--bench=mixed", "--launches=1"];

fn bench(fixture: &Fixture, more: &[&str]) -> Outcome {
    fixture.bench(&[&WHOLE[..], more].concat())
}

/// Returns the output of `compare main`, which must exit with `code`.
fn compared(fixture: &Fixture, code: i32) -> String {
    let outcome = fixture.plain(&["topdown", "compare", "main"], &[]);
    assert_eq!(outcome.code, Some(code), "{}", outcome.stdout);
    outcome.stdout
}

#[test]
fn filtered_out_benchmarks_do_not_run() {
    let fixture = Fixture::new();
    bench(&fixture, &["--save=main"]).succeeds();
    for words in [&["^chase$"][..], &["--exact", "chase"], &["--", "^chase$"]] {
        bench(&fixture, words).succeeds();
        let text = compared(&fixture, 104);
        assert!(text.contains("left out by the filter"), "{text}");
        assert!(!text.contains("missing"), "{text}");
    }
}

#[test]
fn unselected_targets_do_not_run() {
    let fixture = Fixture::new();
    bench(&fixture, &["--save=main"]).succeeds();
    fixture.bench(&["--bench=mixed", "--launches=1"]).succeeds();
    let text = compared(&fixture, 104);
    assert!(
        text.contains("in bench targets that were not selected"),
        "{text}"
    );
    let of_suite = |target: &str| TargetId {
        package: "suite".to_owned(),
        target: target.to_owned(),
    };
    let only_mixed = Selection {
        only_targets: Some(vec![of_suite("mixed")]),
        ..Selection::default()
    };
    assert_eq!(fixture.newest_run().selection, only_mixed);

    // From the whole workspace, without `trouble`, which fails by default.
    let words = ["--exclude=trouble", "--workspace", "--launches=1", "first"];
    fixture.bench(&words).succeeds();
    let selection = fixture.newest_run().selection;
    assert_eq!(selection.only_targets, None);
    let not_built = selection.without_targets;
    assert!(not_built.contains(&of_suite("ordered")), "{not_built:?}");
    let packages: Vec<&str> = not_built.iter().map(|t| t.package.as_str()).collect();
    assert!(packages.contains(&"trouble"), "{not_built:?}");
}

#[test]
fn excluded_benchmarks_are_reported_not_launched() {
    let fixture = Fixture::new();
    bench(&fixture, &["--save=main"]).succeeds();
    let outcome = bench(&fixture, &["--leave-out=cha*,*::mixed"]).succeeds();
    for name in ["suite::kernels::chase", "suite::mixed"] {
        let note = format!("note: `{name}` is left out by the settings");
        assert!(outcome.stderr.contains(&note), "{}", outcome.stderr);
    }
    let run = fixture.newest_run();
    let of_mixed = |b: &&Benchmark| b.id.target == "mixed";
    assert_eq!(run.benchmarks.iter().filter(of_mixed).count(), 0);
    assert!(!run.benchmarks.iter().any(|b| b.id.name == "chase"));
    assert!(!run.benchmarks.is_empty());
    let text = compared(&fixture, 104);
    assert!(text.contains("4 left out by the settings"), "{text}");
    assert!(!text.contains("missing"), "{text}");
    // The filter still applies to the others.
    let patterns = [("CARGO_TOPDOWN_LEAVE_OUT", "*::mixed::s*")];
    let words = [&WHOLE[..], &["first|second"]].concat();
    fixture.bench_with(&words, &patterns).succeeds();
    let run = fixture.newest_run();
    let names: Vec<&str> = run.benchmarks.iter().map(|b| &*b.id.name).collect();
    assert_eq!(names, ["first"]);
    bench(&fixture, &["--leave-out=*"]).fails_with(101, "leave out every benchmark");
}

/// A failing target has no effect once it is left out.
#[test]
fn failing_target_can_be_excluded() {
    let fixture = Fixture::new();
    let words = [
        "--workspace",
        "--bench=mixed",
        "--bench=trouble",
        "--launches=1",
        "--save=main",
    ];
    let trouble = [("FIXTURE_TROUBLE", "exits")];
    fixture
        .bench_with(&words, &trouble)
        .fails_with(101, "was not saved");
    let words = [&words[..], &["--leave-out=trouble::trouble"]].concat();
    fixture.bench_with(&words, &trouble).succeeds();
    assert_eq!(fixture.baseline("main").benchmarks.len(), 3);
}

#[test]
fn missing_benchmark_is_reported() {
    let fixture = Fixture::new();
    bench(&fixture, &["--save=main"]).succeeds();
    bench(&fixture, &[]).succeeds();
    // As if the code no longer had the benchmark `chase`.
    let path = fixture.newest().join("run.json");
    let mut run: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let benchmarks = run["benchmarks"].as_array_mut().unwrap();
    benchmarks.retain(|benchmark| benchmark["id"]["name"] != "chase");
    std::fs::write(&path, run.to_string()).unwrap();
    let text = compared(&fixture, 100);
    assert!(text.contains("1 benchmark of `main` is missing"), "{text}");
}

#[test]
fn partial_run_does_not_replace_fuller_baseline() {
    let fixture = Fixture::new();
    bench(&fixture, &["--save=main"]).succeeds();
    let before = fixture.baseline("main");
    let outcome = bench(&fixture, &["--save=main", "chase"]);
    let outcome = outcome.fails_with(2, "this run did not select");
    assert!(!outcome.stderr.contains("Launch"), "{}", outcome.stderr);
    bench(&fixture, &["chase"]).succeeds();
    let save = ["topdown", "baseline", "save", "main"];
    fixture.plain(&save, &[]).fails_with(2, "add --partial");
    assert_eq!(fixture.baseline("main"), before);

    // Under another name, and again under that: nothing is lost.
    for _ in 0..2 {
        bench(&fixture, &["--save=part", "chase"]).succeeds();
    }
    bench(&fixture, &["--save=main", "--partial", "chase"]).succeeds();
    assert_eq!(fixture.baseline("main").benchmarks.len(), 1);
    bench(&fixture, &[]).succeeds();
    let text = compared(&fixture, 104);
    assert!(text.contains("the baseline is partial"), "{text}");
}

#[test]
fn filter_expression_selects_and_is_recorded() {
    let fixture = Fixture::new();
    bench(&fixture, &["--save=main"]).succeeds();
    let words = ["-E", "test(=chase) or binary(mixed)", "--skip", "second"];
    bench(&fixture, &words).succeeds();
    let run = fixture.newest_run();
    let names: Vec<&str> = run.benchmarks.iter().map(|b| &*b.id.name).collect();
    assert_eq!(names, ["chase", "first", "wall clock"]);
    let expression = run.selection.expression.expect("an expression").text;
    assert_eq!(
        expression,
        "(test(=chase) or binary(mixed)) and not (test(~second) or id(=second))"
    );
    let text = compared(&fixture, 104);
    assert!(text.contains("left out by the filter"), "{text}");
    assert!(!text.contains("missing"), "{text}");
    // What is wrong is found before the build.
    let outcome = bench(&fixture, &["-E", "test(chase"]).fails_with(2, "expected `)`");
    assert!(!outcome.stderr.contains("Finished"), "{}", outcome.stderr);
    bench(&fixture, &["-E", "test(chasse)"]).fails_with(101, "no benchmark matches");
}

#[test]
fn list_shows_planned_launches() {
    let fixture = Fixture::new();
    let listed = |words: &[&str]| {
        bench(&fixture, &[&["--list"], words].concat())
            .succeeds()
            .stdout
    };
    assert_eq!(
        listed(&["first|chase"]),
        "suite::kernels::chase\nsuite::mixed::first\n"
    );
    assert_eq!(
        listed(&["--leave-out=f*", "first|chase"]),
        "suite::kernels::chase\n"
    );
    let json: serde_json::Value = serde_json::from_str(&listed(&["--json", "chase"])).unwrap();
    assert_eq!(json[0]["target"], "kernels");
    assert!(!fixture.newest().exists(), "nothing was launched");
    let outcome = bench(&fixture, &["chasse"]);
    outcome.fails_with(101, "lists them; did you mean `chase`?");
}

#[test]
fn bench_writes_requested_reports() {
    let fixture = Fixture::new();
    let page = fixture.baselines().with_extension("html");
    let report = format!("--report=html={}", page.display());
    let outcome = bench(&fixture, &["chase", "--json", &report]).succeeds();
    let run = topdown_run::run_file::parse_run(outcome.stdout.as_bytes()).unwrap();
    assert_eq!(run.benchmarks, fixture.newest_run().benchmarks);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("chase"), "{page}");
    // A report of a comparison is refused before the build.
    let outcome = bench(&fixture, &["chase", "--report=junit=x.xml"]);
    let outcome = outcome.fails_with(2, "needs a comparison");
    assert!(!outcome.stderr.contains("Finished"), "{}", outcome.stderr);
    // As is a run to compare code with that does not exist.
    let outcome = bench(&fixture, &["--changed=nope"]).fails_with(102, "no baseline or run file");
    assert!(!outcome.stderr.contains("Finished"), "{}", outcome.stderr);
}
