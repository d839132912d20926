//! Comments on pull requests.

use std::fs;

use topdown_report::examples::many_of_each;

use super::composite::{Job, steps};
use super::{Run, job, posted};

/// The other workflow, for the pull request of a fork with this comparison. There is one comment by
/// a user who imitates the workflow, and one by the workflow.
fn fork(comparison: &str) -> Job {
    let mut job = job("workflow_run", "refs/heads/main");
    for (name, value) in [
        ("id", "100"),
        ("html_url", "https://github.com/owner/name/actions/runs/100"),
        ("head_repository.owner.login", "fork$(id)"),
        ("head_branch", "patch`id`"),
        ("head_sha", "aaaa"),
        ("conclusion", "failure"),
        ("pull_requests[0].number", ""),
    ] {
        let name = format!("github.event.workflow_run.{name}");
        job.context.insert(name, value.to_owned());
    }
    fs::write(
        job.path("pulls"),
        r#"[{"number": 6, "head": {"sha": "bbbb"}}, {"number": 9, "head": {"sha": "aaaa"}}]"#,
    )
    .unwrap();
    fs::write(
        job.path("comments"),
        r#"[{"id": 1, "user": {"type": "User"}, "body": "<!-- cargo-topdown: topdown-report -->"},
            {"id": 3, "user": {"type": "Bot"}, "body": "<!-- cargo-topdown: topdown-report -->"}]"#,
    )
    .unwrap();
    let uploaded = job.path("temp/topdown-comment");
    fs::create_dir(&uploaded).unwrap();
    fs::write(uploaded.join("comparison.json"), comparison).unwrap();
    // The Markdown from the pull request's job is never read.
    fs::write(uploaded.join("comment.md"), "@someone").unwrap();
    job
}

/// The other workflow posts what the first one uploaded.
pub fn comments_on_a_fork(comparison: &str) {
    let prose = "@everyone see #1 https://example.com <img src=x> `code` www.example.com";
    // In the sentence and in the table.
    let forged = comparison.replace("\"chase\"", &format!("\"{prose}\""));
    assert_ne!(forged, comparison);
    let mut job = fork(&forged);

    let workspace = tempfile::tempdir().unwrap();
    assert_eq!(
        job.execute("comment", workspace.path(), &[]),
        0,
        "{}",
        job.log
    );
    assert_eq!(job.ran, steps("comment"));
    assert_eq!(job.used[0].1["run-id"], "100");
    let calls = job.text("gh-calls");
    assert!(calls.contains("-f head=fork$(id):patch`id` "), "{calls}");
    assert!(
        calls.contains("repos/owner/name/issues/9/comments"),
        "{calls}"
    );
    assert!(
        calls.contains("--method PATCH repos/owner/name/issues/comments/3 "),
        "{calls}"
    );
    let body = posted(&job);
    assert_eq!(body.matches("everyone").count(), 2, "{body}");
    assert_eq!(body.matches("://").count(), 1, "the run's: {body}");
    for forbidden in ["@", " #1", "<img", "`", "www.", "someone"] {
        assert!(!body.contains(forbidden), "{forbidden} in {body}");
    }

    // What GitHub refuses is a warning with its reason.
    job.program(
        "gh",
        "printf 'HTTP/2.0 401 Unauthorized\\n\\r\\n{}'; echo 'gh: Bad credentials' >&2; exit 1\n",
    );
    let ended = job.execute("comment", workspace.path(), &[]);
    assert_eq!(ended, 0, "{}", job.log);
    let says = "no comment: could not read the pull requests of owner/name: gh: Bad credentials";
    assert!(job.log.contains(says), "{}", job.log);
    assert!(job.log.contains("Check the input `token`."), "{}", job.log);

    // A pull request that moved on gets no comment, and a warning.
    job.program("gh", "echo '[]'\n");
    fs::remove_file(job.path("gh-body")).unwrap();
    assert_eq!(
        job.execute("comment", workspace.path(), &[]),
        0,
        "{}",
        job.log
    );
    assert!(!job.path("gh-body").exists());
    let says = "::warning title=cargo topdown::no comment: no open pull request has this commit";
    assert!(job.log.contains(says), "{}", job.log);
}

/// GitHub takes 65,536 characters.
#[test]
fn comment_on_ten_thousand_benchmarks_fits() {
    let mut json = Vec::new();
    topdown_report::comparison_json::write_file(&many_of_each(400), &mut json).unwrap();
    let mut job = fork(std::str::from_utf8(&json).unwrap());
    let workspace = tempfile::tempdir().unwrap();
    let code = job.execute("comment", workspace.path(), &[]);
    assert_eq!(code, 0, "{}", job.log);
    let body = posted(&job);
    assert!(body.chars().count() <= 65_536, "{}", body.chars().count());
    let worst = "\n- <code>suite::bench::sort/random/00399</code> is 23.3 % slower";
    assert!(body.contains(worst), "{body}");
    let omitted = " of the 10000 benchmarks do not fit into this comment. The run's reports have \
                   all of them.\n";
    assert!(body.contains(omitted), "{body}");
    let link = "\n[Reports and raw data](https://github.com/owner/name/actions/runs/100)";
    assert!(body.ends_with(link), "{body}");
}

#[test]
fn comment_has_missing_baseline_and_next_step() {
    let mut run = Run::pull_request();
    let inputs = [("comment", "true")];
    assert_eq!(run.execute(&inputs), 102, "{}", run.job.log);
    assert_eq!(
        posted(&run.job),
        "<!-- cargo-topdown: topdown-report -->\n## TopDown: no baseline\n\nThere is no baseline \
         <code>main</code> yet, so nothing was compared.\n\nThe next run of this workflow on the \
         default branch stores it. To compare without a stored baseline, set the input \
         `against`.\n\n[Reports and raw data](https://github.com/owner/name/actions/runs/100)"
    );
}
