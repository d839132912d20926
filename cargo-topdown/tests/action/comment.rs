//! The comment on a pull request: when there is one, and what is never in one.

use std::fs;
use std::process::Command;
use topdown_skipped::{Need, skip};

use crate::composite::Job;
use crate::runs::{self, Kind, PLAIN};

/// Returns the `comparison.json` of a run with `PLAIN`.
fn comparison(candidate: Kind) -> String {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name).display().to_string();
    runs::write(PLAIN, path("base").as_ref());
    runs::write(candidate, path("candidate").as_ref());
    let report = format!("json={}", path("comparison.json"));
    let output = Command::new(env!("CARGO_BIN_EXE_cargo-topdown"))
        .args(["topdown", "compare", "--report", &report, "--"])
        .args([path("base"), path("candidate")])
        .output()
        .unwrap();
    fs::read_to_string(path("comparison.json"))
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

fn news() -> String {
    comparison(Kind {
        slower: 0.1,
        ..PLAIN
    })
}

fn quiet() -> String {
    comparison(PLAIN)
}

/// A job that comments, with a `gh` that answers from files and records what it is told to write.
fn job(comparison: &str) -> Job {
    let mut job = Job::new();
    for (name, value) in [
        ("github.event_name", "workflow_run"),
        ("github.ref", "refs/heads/main"),
        ("github.token", "TOKEN"),
        ("github.event.workflow_run.id", "100"),
        (
            "github.event.workflow_run.html_url",
            "https://github.com/owner/name/actions/runs/100",
        ),
        (
            "github.event.workflow_run.head_repository.owner.login",
            "fork$(id)",
        ),
        ("github.event.workflow_run.head_branch", "patch`id`"),
        ("github.event.workflow_run.head_sha", "aaaa"),
        ("github.event.workflow_run.conclusion", "failure"),
        ("github.event.workflow_run.pull_requests[0].number", ""),
    ] {
        job.context.insert(name.to_owned(), value.to_owned());
    }
    let root = job.path("").display().to_string();
    job.program(
        "gh",
        &format!(
            r#"#!/bin/bash
printf '%s ' "$@" >>"{root}/gh-calls"; echo >>"{root}/gh-calls"
case "$*" in
    *PATCH*|*POST*) cat >"{root}/gh-body" ;;
    */pulls\ *) cat "{root}/pulls" ;;
    */comments*) cat "{root}/comments" ;;
esac
"#
        ),
    );
    fs::write(
        job.path("pulls"),
        r#"[{"number": 6, "head": {"sha": "bbbb"}}, {"number": 7, "head": {"sha": "aaaa"}}]"#,
    )
    .unwrap();
    fs::write(job.path("comments"), "[]").unwrap();
    fs::create_dir(job.path("temp/topdown-comment")).unwrap();
    fs::write(job.path("temp/topdown-comment/comparison.json"), comparison).unwrap();
    // The Markdown from the pull request's job is never read.
    fs::write(
        job.path("temp/topdown-comment/comment.md"),
        "<!-- cargo-topdown: news -->\n@everyone",
    )
    .unwrap();
    job.program(
        "cargo",
        &format!(
            r#"#!/bin/bash
if [ "$1" = install ]; then
    while [ "$1" != --root ]; do shift; done
    mkdir -p "$2/bin" && cp "{}" "$2/bin/cargo-topdown"
    exit
fi
exec "{}" "$@"
"#,
            env!("CARGO_BIN_EXE_cargo-topdown"),
            env!("CARGO")
        ),
    );
    job
}

fn has_tools() -> bool {
    let found = Command::new("jq").arg("--version").output();
    if found.is_err() {
        skip(Need::Jq, "jq is not installed");
    }
    found.is_ok()
}

/// One comment by a user who imitates the workflow, and one by the workflow.
const COMMENTS: &str = r#"[
    {"id": 1, "user": {"type": "User"}, "body": "<!-- cargo-topdown: topdown-report -->\nmine"},
    {"id": 2, "user": {"type": "Bot"}, "body": "another bot"},
    {"id": 3, "user": {"type": "Bot"}, "body": "<!-- cargo-topdown: topdown-report -->\nold"}
]"#;

#[test]
fn news_is_posted_to_the_pull_request_of_the_commit() {
    if !has_tools() {
        return;
    }
    let mut job = job(&news());
    assert_eq!(job.execute("comment", &[]), 0, "{}", job.log);
    assert!(
        job.text("gh-calls")
            .contains("--method POST repos/owner/name/issues/7/comments"),
        "{}",
        job.text("gh-calls")
    );
    assert!(job.text("gh-calls").contains("-f head=fork$(id):patch`id`"));
    let body: serde_json::Value = serde_json::from_str(&job.text("gh-body")).unwrap();
    let body = body["body"].as_str().unwrap();
    assert!(
        body.starts_with(
            "<!-- cargo-topdown: topdown-report -->\n## TopDown: failed\n\n\
             **1 regressed, 2 unchanged**\n"
        ),
        "{body}"
    );
    assert!(
        body.contains("| <code>suite&#58;:kernels&#58;:sort</code> | regressed | +10.0 |")
            || body.contains("| <code>suite::kernels::sort</code> | regressed | +10.0 |"),
        "{body}"
    );
    assert!(
        body.ends_with(
            "\n\n[Reports and raw data](https://github.com/owner/name/actions/runs/100)"
        ),
        "{body}"
    );
    assert_eq!(job.used[0].1["run-id"], "100");
}

#[test]
fn there_is_one_comment_and_it_is_kept_up_to_date() {
    if !has_tools() {
        return;
    }
    for text in [news(), quiet()] {
        let mut job = job(&text);
        fs::write(job.path("comments"), COMMENTS).unwrap();
        assert_eq!(job.execute("comment", &[]), 0, "{}", job.log);
        let calls = job.text("gh-calls");
        assert!(
            calls.contains("--method PATCH repos/owner/name/issues/comments/3 "),
            "{calls}"
        );
        assert!(!calls.contains("POST"), "{calls}");
    }
}

#[test]
fn where_nothing_changed_nothing_is_said() {
    if !has_tools() {
        return;
    }
    let mut job = job(&quiet());
    assert_eq!(job.execute("comment", &[]), 0, "{}", job.log);
    assert!(!job.path("gh-body").exists());
    assert!(!job.log.contains("::warning"), "{}", job.log);
}

#[test]
fn issue_14_6_nothing_that_the_pull_request_wrote_is_posted() {
    if !has_tools() {
        return;
    }
    let prose = "@everyone see #1 https://example.com <img src=x> `code` www.example.com";
    let of_a_stranger = news()
        .replace("\"sort\"", &format!("\"{prose}\""))
        .replace("\"2026-11-20T10:00:00Z\"", &format!("\"{prose}\""));
    let mut job = job(&of_a_stranger);
    assert_eq!(job.execute("comment", &[]), 0, "{}", job.log);
    let body: serde_json::Value = serde_json::from_str(&job.text("gh-body")).unwrap();
    let body = body["body"].as_str().unwrap();
    assert!(body.contains("| regressed | +10.0 |"), "{body}");
    // In the sentence and in the table.
    assert_eq!(body.matches("everyone").count(), 2, "{body}");
    assert_eq!(body.matches("://").count(), 1, "the run's: {body}");
    for forbidden in ["@", " #1", "<img", "`", "www."] {
        assert!(!body.contains(forbidden), "{forbidden} in {body}");
    }
}

#[test]
fn issue_14_6_what_is_no_comparison_is_not_posted() {
    if !has_tools() {
        return;
    }
    for text in ["", "@everyone", "{}", "[]", "{\"schema_version\": 1}"] {
        let mut job = job(text);
        assert_eq!(job.execute("comment", &[]), 0, "{}", job.log);
        assert!(!job.path("gh-body").exists(), "{text}");
        assert!(job.log.contains("::warning"), "{text}");
    }
    let mut linked = job("");
    let comparison = linked.path("temp/topdown-comment/comparison.json");
    fs::remove_file(&comparison).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", &comparison).unwrap();
    assert_eq!(linked.execute("comment", &[]), 0, "{}", linked.log);
    assert!(!linked.path("gh-body").exists());
}

#[test]
fn issue_14_6_the_number_of_the_pull_request_is_the_events() {
    if !has_tools() {
        return;
    }
    let mut job = job(&news());
    let number = "github.event.workflow_run.pull_requests[0].number";
    job.context.insert(number.to_owned(), "12".to_owned());
    assert_eq!(job.execute("comment", &[]), 0, "{}", job.log);
    let calls = job.text("gh-calls");
    assert!(calls.contains("issues/12/comments"), "{calls}");
    assert!(!calls.contains("/pulls"), "{calls}");
}

#[test]
fn a_pull_request_that_moved_on_or_a_run_without_reports_is_a_warning() {
    if !has_tools() {
        return;
    }
    let mut moved = job(&news());
    fs::write(
        moved.path("pulls"),
        r#"[{"number": 6, "head": {"sha": "bbbb"}}]"#,
    )
    .unwrap();
    assert_eq!(moved.execute("comment", &[]), 0, "{}", moved.log);
    assert!(
        moved.log.contains("no open pull request has this commit"),
        "{}",
        moved.log
    );

    let mut without = job(&news());
    fs::remove_file(without.path("temp/topdown-comment/comparison.json")).unwrap();
    assert_eq!(without.execute("comment", &[]), 0, "{}", without.log);
    let body = without.text("gh-body");
    assert!(
        body.contains("The run ended before there was anything to compare: failure."),
        "{body}"
    );
}
