//! The comment on a pull request: when there is one, and what never becomes one.

use std::fs;

use crate::composite::Job;

/// A job that comments, with a `gh` that answers from files and records what it is asked to write.
fn job(comment: &str) -> Job {
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
    fs::write(job.path("temp/topdown-comment/comment.md"), comment).unwrap();
    job
}

fn has_tools() -> bool {
    let found = std::process::Command::new("jq").arg("--version").output();
    if found.is_err() {
        eprintln!("skipped: jq is not installed");
    }
    found.is_ok()
}

const NEWS: &str = "<!-- cargo-topdown: news -->\n## TopDown: regressed\n\n**<code>a@b</code>**\n";
const QUIET: &str = "<!-- cargo-topdown: quiet -->\n## TopDown: passed\n";
/// By somebody who wants to be taken for the workflow, and by the workflow.
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
    let mut job = job(NEWS);
    assert_eq!(job.execute("comment", &[]), 0, "{}", job.log);
    assert!(
        job.text("gh-calls")
            .contains("--method POST repos/owner/name/issues/7/comments"),
        "{}",
        job.text("gh-calls")
    );
    assert!(job.text("gh-calls").contains("-f head=fork$(id):patch`id`"));
    let body: serde_json::Value = serde_json::from_str(&job.text("gh-body")).unwrap();
    assert_eq!(
        body["body"],
        "<!-- cargo-topdown: topdown-report -->\n## TopDown: regressed\n\n**<code>a@b</code>**\n\n\
         [Reports and raw data](https://github.com/owner/name/actions/runs/100)"
    );
    assert_eq!(job.used[0].1["run-id"], "100");
}

#[test]
fn there_is_one_comment_and_it_is_kept_up_to_date() {
    if !has_tools() {
        return;
    }
    for text in [NEWS, QUIET] {
        let mut job = job(text);
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
    let mut job = job(QUIET);
    assert_eq!(job.execute("comment", &[]), 0, "{}", job.log);
    assert!(!job.path("gh-body").exists());
    assert!(!job.log.contains("::warning"), "{}", job.log);
}

#[test]
fn what_the_program_does_not_write_is_not_posted() {
    if !has_tools() {
        return;
    }
    for added in [
        "[x](y)",
        "<img src=x>",
        "<a href='x'>y</a>",
        "https://example.com",
        "www.example.com",
        "WWW.example.com",
        "@everyone",
        "&#64;everyone",
        "&#x0040;everyone",
        "&commat;everyone",
        "<code onclick=x>",
        "</code>@everyone<code>",
        "<!-- x -->",
        "![x]",
    ] {
        let mut job = job(&format!("{NEWS}{added}\n"));
        assert_eq!(job.execute("comment", &[]), 0, "{}", job.log);
        assert!(!job.path("gh-body").exists(), "{added}");
        assert!(job.log.contains("::warning"), "{added}");
    }
    let long = format!("{NEWS}{}", "x".repeat(65_536));
    for text in ["", "hello\n", &long] {
        let mut job = job(text);
        assert_eq!(job.execute("comment", &[]), 0, "{}", job.log);
        assert!(!job.path("gh-body").exists());
    }
}

#[test]
fn a_pull_request_that_moved_on_or_a_run_without_reports_is_a_warning() {
    if !has_tools() {
        return;
    }
    let mut moved = job(NEWS);
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

    let mut without = job(NEWS);
    fs::remove_file(without.path("temp/topdown-comment/comment.md")).unwrap();
    assert_eq!(without.execute("comment", &[]), 0, "{}", without.log);
    assert!(
        without.log.contains("the reports have no comment.md"),
        "{}",
        without.log
    );
    assert!(!without.path("gh-body").exists());
}
