//! `cargo topdown bisect`: real commits of a small repository are built, modelled and compared.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::against::{CRITERION, Project};
use crate::fixture::Outcome;
use topdown_published_schema::check;

/// A history in which `sum` takes a quarter more from the fifth commit on.
pub fn project() -> Project {
    let project = Project::new();
    let commit = |subject: &str| {
        project.git(&["add", "."]);
        project.git(&["commit", "--quiet", "--message", subject]);
    };
    commit("Measure slots");
    fs::write(project.path("README.md"), "Sums.\n").unwrap();
    commit("A readme");
    fs::write(project.path("src/lib.rs"), "does not build\n").unwrap();
    commit("Forget a semicolon");
    fs::write(project.path("src/lib.rs"), "//! Sums.\n").unwrap();
    commit("Remember the semicolon");
    project.sum_up_to(125);
    commit("Sum up more numbers");
    fs::write(project.path("README.md"), "Sums, and more.\n").unwrap();
    commit("A longer readme");
    project
}

fn bisect(project: &Project, words: &[&str]) -> Outcome {
    let mut command = project.command_of("bisect", words);
    command.env("COLUMNS", "100");
    Outcome::new(command)
}

#[test]
fn planted_change_is_found_after_an_interruption() {
    let project = project();
    let words = ["HEAD~5", "--source", "model"];
    let mut command = project.command_of("bisect", &words);
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut all = Vec::new();
    for line in stderr.by_ref().map(Result::unwrap) {
        all.push(line);
        // The second try: the last commit is known.
        if all.iter().filter(|line| line.contains("Trying")).count() == 2 {
            kill_process(Pid::from_child(&child), Signal::INT).unwrap();
            break;
        }
    }
    all.extend(stderr.map(Result::unwrap));
    let all = all.join("\n");
    assert_eq!(child.wait().unwrap().code(), Some(130), "{all}");
    assert!(
        all.contains("goes on after 1 result, which is kept"),
        "{all}"
    );

    let found = bisect(&project, &[&words[..], &["--json"]].concat()).succeeds();
    assert!(
        found.stderr.contains("going on after 1 result"),
        "{}",
        found.stderr
    );
    let json: Value = serde_json::from_str(&found.stdout).unwrap();
    check("bisection", &json);
    let result = &json["results"][0];
    let point = usize::try_from(result["outcome"]["point"].as_u64().unwrap()).unwrap();
    assert_eq!(json["points"][point]["title"], "Sum up more numbers");
    assert_eq!(result["error_bound"], 0.0);
    // The commit has the code of the last one, which was launched.
    let tried = json["tried"].as_array().unwrap();
    let at = tried.iter().find(|tried| tried["point"] == point).unwrap();
    assert_eq!(at["rows"][0]["same_code_as"], 5);
    let skipped = tried.iter().find(|tried| tried["point"] == 2).unwrap();
    assert_eq!(skipped["skipped"], "the benches could not be built");
    assert!(tried.len() <= 4, "{tried:?}");

    // What was found is not measured again, and the user's tree was never touched.
    let again = bisect(&project, &words).succeeds();
    assert!(!again.stderr.contains("Modelling"), "{}", again.stderr);
    assert!(
        again.stdout.contains("Sum up more numbers\n`sum` is 2"),
        "{}",
        again.stdout
    );
    assert!(
        again.stdout.contains(" benches/sums.rs | 2 +-\n"),
        "{}",
        again.stdout
    );
    assert_eq!(
        fs::read_to_string(project.path("src/lib.rs")).unwrap(),
        "//! Sums.\n"
    );
}

/// A history with two merges: the second commit of the first branch sums up more numbers, and so
/// does the second of the other branch, which does not build.
fn merged_project() -> Project {
    let project = Project::new();
    let commit = |file: &str, text: &str, subject: &str| {
        fs::write(project.path(file), text).unwrap();
        project.git(&["add", "."]);
        project.git(&["commit", "--quiet", "--message", subject]);
    };
    let merge = |branch: &str| {
        let subject = format!("Merge {branch}");
        project.git(&["checkout", "--quiet", "trunk"]);
        project.git(&["merge", "--quiet", "--no-ff", "--message", &subject, branch]);
    };
    let sum = |length: u64| {
        format!(
            "//! Sums.\npub fn sum() -> u64 {{\n    (0..std::hint::black_box({length})).map(|n| n ^ \
             3).sum()\n}}\n"
        )
    };
    let bench = fs::read_to_string(project.path("benches/sums.rs")).unwrap();
    let bench = bench.replace(
        "(0..black_box(100)).map(|n| n ^ 3).sum::<u64>()",
        "summing::sum()",
    );
    let bench = bench.replace("use std::hint::black_box;\n", "");
    fs::write(project.path("benches/sums.rs"), bench).unwrap();
    project.git(&["checkout", "--quiet", "-b", "trunk"]);
    commit("src/lib.rs", &sum(100), "Sum up");
    project.git(&["checkout", "--quiet", "-b", "more"]);
    commit("more.md", "More.\n", "Announce more");
    commit("src/lib.rs", &sum(125), "Sum up more numbers");
    commit("more.md", "More numbers.\n", "Describe more");
    project.git(&["checkout", "--quiet", "trunk"]);
    commit("README.md", "Sums.\n", "A readme");
    merge("more");
    project.git(&["checkout", "--quiet", "-b", "most"]);
    commit("most.md", "Most.\n", "Announce most");
    commit(
        "src/lib.rs",
        &sum(200).replace("pub", "pib"),
        "Sum up most, and misspell",
    );
    commit("src/lib.rs", &sum(200), "Spell");
    merge("most");
    project
}

#[test]
fn commits_of_merged_branches_are_searched_on_request() {
    let project = merged_project();
    let model = ["--source", "model"];
    let search = |words: &[&str]| bisect(&project, &[words, &model].concat());
    let found = search(&["HEAD~2", "HEAD~1"]).succeeds().stdout;
    assert!(found.contains("Merge more\n`sum` is 2"), "{found}");
    let found = search(&["HEAD~3", "HEAD~1", "--all-parents"]).succeeds();
    let found = found.stdout;
    assert!(
        found.contains(" Sum up more numbers\n`sum` is 2"),
        "{found}"
    );

    // One of two, of which the first does not build.
    let range = search(&["HEAD~1", "HEAD", "--all-parents", "--json"]);
    assert_eq!(range.code, Some(103), "{}", range.stdout);
    let json: Value = serde_json::from_str(&range.stdout).unwrap();
    let outcome = &json["results"][0]["outcome"];
    assert_eq!(outcome["kind"], "range");
    let suspects = outcome["points"].as_array().unwrap().iter();
    let titles = suspects.map(|point| &json["points"][point.as_u64().unwrap() as usize]["title"]);
    let titles: Vec<&Value> = titles.collect();
    assert_eq!(titles, ["Sum up most, and misspell", "Spell"]);

    let same = search(&["HEAD~3", "HEAD~2"]);
    assert_eq!(same.code, Some(103), "{}", same.stdout);

    a_bench_of_the_work_tree_is_measured_at_commits_without_it(&project);
}

fn a_bench_of_the_work_tree_is_measured_at_commits_without_it(project: &Project) {
    let bench = fs::read_to_string(project.path("benches/sums.rs")).unwrap();
    let bench = bench.replace("\"sum\"", "\"newer\"");
    fs::write(project.path("benches/newer.rs"), bench).unwrap();
    let manifest = fs::read_to_string(project.path("Cargo.toml")).unwrap();
    let target = "[[bench]]\nname = \"newer\"\nharness = false\n\n[workspace.meta";
    let manifest = manifest.replace("[workspace.meta", target);
    fs::write(project.path("Cargo.toml"), manifest).unwrap();
    let words = ["HEAD~2", "HEAD~1", "--bench", "newer", "--source", "model"];
    bisect(project, &words).fails_with(101, "could not measure");
    let overlay = ["--overlay", "benches", "--overlay", "Cargo.toml"];
    let found = bisect(project, &[&words[..], &overlay].concat()).succeeds();
    assert!(
        found.stdout.contains("Merge more\n`newer` is 2"),
        "{}",
        found.stdout
    );
    for path in ["no-such", "target", "Cargo.lock"] {
        let message = format!("`--overlay {path}` has no files that git does not ignore");
        bisect(project, &[&words[..], &["--overlay", path]].concat()).fails_with(2, &message);
    }
}

/// Launches of this bench differ by up to 2 % from each other.
const NOISY_BENCH: &str = r#"
use std::time::SystemTime;

use criterion::{Criterion, criterion_group, criterion_main};
use criterion_topdown::TopDown;
use topdown_counters::scripted::{Scripted, Work, spend};

fn sums(c: &mut Criterion<TopDown>) {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let noise = (now.subsec_nanos() / 1000 % 1000) as f64 / 1000.0;
    let mut work = Work::default();
    work.level1.slots.retiring = SLOTS * (1.0 + 0.02 * noise);
    c.bench_function("sum", |b| b.iter(|| spend(&work)));
}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(TopDown::with_source(Box::new(Scripted::new())));
    targets = sums
}
criterion_main!(benches);
"#;

#[test]
fn counted_commit_is_found_with_bounded_error() {
    let project = Project::new();
    let manifest = fs::read_to_string(project.path("Cargo.toml")).unwrap();
    let (before, after) = manifest.split_once("[dev-dependencies]").unwrap();
    let (_, after) = after.split_once("[[bench]]").unwrap();
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let dependencies = format!(
        "[dev-dependencies]\ncriterion = {CRITERION}\ncriterion-topdown = {{ path = {root:?} \
         }}\ntopdown-counters = {{ path = \"{root}/crates/counters\", features = [\"scripted\"] \
         }}\n\n[[bench]]"
    );
    fs::write(
        project.path("Cargo.toml"),
        format!("{before}{dependencies}{after}"),
    )
    .unwrap();
    let commit = |slots: &str, subject: &str| {
        let bench = NOISY_BENCH.replace("SLOTS", slots);
        fs::write(project.path("benches/sums.rs"), bench).unwrap();
        project.git(&["add", "."]);
        project.git(&["commit", "--quiet", "--message", subject]);
    };
    commit("1000.0", "Count slots");
    commit("1001.0", "Sum up one number more");
    commit("1250.0", "Sum up a quarter more");
    commit("1251.0", "Sum up yet another number");
    let found = bisect(&project, &["HEAD~3", "--launches", "4", "--json"]).succeeds();
    let json: Value = serde_json::from_str(&found.stdout).unwrap();
    check("bisection", &json);
    let result = &json["results"][0];
    assert_eq!(result["outcome"]["point"], 2, "{json:#}");
    // Three points were tried, each with an error probability of its own.
    let bound = result["error_bound"].as_f64().unwrap();
    assert!(bound > 0.0 && bound <= 0.05, "{bound}");
    // Such launches cannot show at once that a commit is not slower.
    assert!(
        found.stderr.contains("Launching 1 benchmark again"),
        "{}",
        found.stderr
    );
}

/// A rustup that has three toolchains, two of which are one compiler.
const RUSTUP: &str = r#"#!/bin/sh
case "$*" in
"toolchain list")
    echo stable-x86_64-unknown-linux-gnu '(active, default)'
    echo 1.90.0-x86_64-unknown-linux-gnu
    echo nightly-2026-01-01-x86_64-unknown-linux-gnu
    echo 1.95.0-x86_64-unknown-linux-gnu ;;
"run nightly-2026-01-01-"*) printf 'rustc 1.94.0-nightly\nhost: x86_64-unknown-linux-gnu\ncommit-date: 2025-12-31\n' ;;
"run 1.90"*) printf 'rustc 1.90.0\nhost: x86_64-unknown-linux-gnu\ncommit-date: 2025-09-14\n' ;;
"run "*) printf 'rustc 1.95.0\nhost: x86_64-unknown-linux-gnu\ncommit-date: 2026-04-14\n' ;;
*) echo "no $*" >&2; exit 1 ;;
esac
"#;

#[test]
fn wrong_toolchains_are_usage_errors() {
    let project = project();
    let programs = tempfile::tempdir().unwrap();
    let rustup = programs.path().join("rustup");
    fs::write(&rustup, RUSTUP).unwrap();
    fs::set_permissions(&rustup, fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", programs.path().display());
    for (range, code, text) in [
        ("1.90.0", 2, "`--toolchain 1.90.0` needs two toolchains"),
        ("..1.95.0", 2, "needs two toolchains"),
        (
            "1.9..1.95.0",
            2,
            "the toolchain `1.9` is not installed; installed are 1.90.0-x86_64",
        ),
        (
            "nightly..stable",
            2,
            "the toolchain `nightly` is not installed",
        ),
        (
            "1.95.0..nightly-2026-01-01",
            2,
            "the toolchain `1.95.0` is newer than `nightly-2026-",
        ),
        (
            "stable..1.95.0",
            2,
            "`stable` and `1.95.0` are the same, rustc 1.95.0",
        ),
        (
            "1.90.0..stable",
            101,
            "`rustup which --toolchain 1.90.0-x86_64-unknown-linux-gnu rustc`",
        ),
    ] {
        let mut command = project.command_of("bisect", &["--toolchain", range]);
        command.env("PATH", &path);
        Outcome::new(command).fails_with(code, text);
    }
}

#[test]
fn wrong_points_are_usage_errors() {
    let project = project();
    for (words, code, text) in [
        (&["HEAD"][..], 2, "`HEAD` and `HEAD` are the same"),
        (
            &["HEAD", "HEAD~2"],
            2,
            "HEAD is not an ancestor of HEAD~2; name an earlier commit",
        ),
        (
            &["no-such"],
            102,
            "`no-such` is neither a commit that git knows",
        ),
        (&["HEAD~1", "no-such"], 102, "`no-such` is neither a commit"),
        (
            &[],
            102,
            "or name the good commit: `cargo topdown bisect GOOD`",
        ),
        (&["HEAD~1", "--no-run"], 2, "leave out `--no-run`"),
        (&["HEAD~1", "--toolchain", "a..b"], 2, "cannot be used with"),
        (&["HEAD~1", "-E", "name("], 2, "name("),
    ] {
        bisect(&project, words).fails_with(code, text);
    }
}
