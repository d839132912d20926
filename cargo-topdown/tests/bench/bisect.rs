//! `cargo topdown bisect`: real commits of a small repository are built, modelled and compared.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::against::Project;
use crate::fixture::Outcome;
use topdown_published_schema::check;

/// A history in which `sum` takes a quarter more from the fifth commit on.
fn project() -> Project {
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
