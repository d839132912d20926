//! `cargo topdown bisect`: real commits of a small repository are built, modelled and compared.

use std::fs;
use std::io::{BufRead, BufReader};
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
        (&["--toolchain", "1.90.0"], 2, "needs two toolchains"),
        (&["HEAD~1", "--toolchain", "a..b"], 2, "cannot be used with"),
        (&["HEAD~1", "-E", "name("], 2, "name("),
    ] {
        bisect(&project, words).fails_with(code, text);
    }
}
