//! The GitHub action: executes the steps of `action.yml` and `comment/action.yml` one by one, with
//! the variables that GitHub sets, for the fixture workspace.
//!
//! Only what is not on this machine is replaced: building the program, and GitHub's program `gh`.
//! Each step's decisions are tested where it is, in `command::ci`.

mod composite;

use std::fs;
use std::path::Path;

use topdown_counters::machine::this_machine;
use topdown_report::examples::many_of_each;

use self::composite::{Job, steps};
use crate::fixture::{Fixture, PROGRAM, workspace};

/// Makes `chase` much slower.
const SLOWER: (&str, &str) = ("FIXTURE_BACKEND_BOUND_SLOTS", "300");

/// A job that runs the fixture's benches on a clean machine.
struct Run {
    job: Job,
    fixture: Fixture,
}

impl Run {
    fn new(event: &str, reference: &str) -> Run {
        let fixture = Fixture::new();
        let mut job = job(event, reference);
        for (name, value) in [
            ("CARGO_TARGET_DIR", fixture.target()),
            ("FIXTURE_STATE", fixture.state()),
            ("CARGO_TOPDOWN_NO_FINGERPRINTS", "true".into()),
        ] {
            let value = value.display().to_string();
            job.variables.insert(name.to_owned(), value);
        }
        Run { job, fixture }
    }

    fn pull_request() -> Run {
        Run::new("pull_request", "refs/pull/7/merge")
    }

    fn push_to_main() -> Run {
        Run::new("push", "refs/heads/main")
    }

    fn set(mut self, (name, value): (&str, &str)) -> Run {
        self.job.variables.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Executes the action with these inputs and the bench target `kernels`.
    fn execute(&mut self, inputs: &[(&str, &str)]) -> i32 {
        self.execute_target("kernels", inputs)
    }

    fn execute_target(&mut self, target: &str, inputs: &[(&str, &str)]) -> i32 {
        let build = Fixture::build_arguments().join("\n");
        let arguments = format!("{build}\n\n--bench\n{target}\n");
        let inputs = [&[("bench-args", &*arguments)], inputs].concat();
        self.job.execute(".", &workspace(), &inputs)
    }

    fn report(&self, name: &str) -> String {
        fs::read_to_string(Path::new(&self.job.outputs["report"]).join(name)).unwrap_or_default()
    }

    fn used(&self) -> Vec<&str> {
        let used = self.job.used.iter();
        used.map(|(name, _)| &**name).collect()
    }
}

/// A job whose `gh` answers from files and records what it is told to write.
fn job(event: &str, reference: &str) -> Job {
    let job = Job::new(&[
        ("github.event_name", event),
        ("github.ref", reference),
        ("github.event.repository.default_branch", "main"),
        (
            "github.event.before",
            "0000000000000000000000000000000000000000",
        ),
        ("github.event.pull_request.number", "7"),
        ("github.event.pull_request.author_association", "MEMBER"),
        // As on a push: the commit that is checked out.
        ("github.event.pull_request.head.sha", ""),
        ("github.server_url", "https://github.com"),
        ("github.repository", "owner/name"),
        ("github.action_repository", "owner/name"),
        ("github.run_id", "100"),
        ("github.run_attempt", "1"),
        ("github.token", "TOKEN"),
    ]);
    let cargo = env!("CARGO");
    job.program(
        "cargo",
        &format!(
            r#"case $1 in
install)
    while [ "$1" != --root ]; do shift; done
    ln '{PROGRAM}' "$2/bin/cargo-topdown" 2>/dev/null || cp '{PROGRAM}' "$2/bin/cargo-topdown"
    ;;
# Not one that is installed on this machine, where cargo looks first.
topdown) exec cargo-topdown "$@" ;;
*) exec '{cargo}' "$@" ;;
esac
"#
        ),
    );
    let root = job.path("").display().to_string();
    job.program(
        "gh",
        &format!(
            r#"printf '%s ' "$@" >>'{root}/gh-calls'; echo >>'{root}/gh-calls'
printf %s "$GH_TOKEN" >'{root}/gh-token'
printf 'HTTP/2.0 200 OK\nContent-Type: application/json\r\n\r\n'
case "$*" in
    *PATCH*|*POST*) cat >'{root}/gh-body' ;;
    */pulls\ *) cat '{root}/pulls' ;;
    */comments*) cat '{root}/comments' ;;
esac
"#
        ),
    );
    fs::write(job.path("comments"), "[]").unwrap();
    job
}

/// Returns the body of the comment that was posted.
fn posted(job: &Job) -> String {
    let request: serde_json::Value = serde_json::from_str(&job.text("gh-body")).unwrap();
    request["body"].as_str().unwrap().to_owned()
}

const RESTORE: &str = "actions/cache/restore";
const UPLOAD: &str = "actions/upload-artifact";
const CACHE: &str = "actions/cache/save";

/// The default branch makes the baseline and shares it; a pull request is compared with it on
/// another machine. As in `docs/ci/fleet.yml`, with a directory instead of the branch.
#[test]
fn every_action_step_runs() {
    let fleet = tempfile::tempdir().unwrap();
    let store = fleet.path().join("store").display().to_string();
    let inputs = [("store", &*store)];

    let mut renews = Run::push_to_main();
    assert_eq!(renews.execute(&inputs), 0, "{}", renews.job.log);
    assert_eq!(renews.job.outputs["outcome"], "not-comparable");
    assert_eq!(renews.job.outputs["exit-code"], "0");
    let summary = renews.job.text("summary");
    assert!(
        summary.starts_with("## TopDown: new baseline\n") && summary.contains("becomes the base"),
        "{summary}"
    );
    let log = &renews.job.log;
    let says = "::notice title=cargo topdown::there is no baseline `main` yet, so nothing was";
    assert!(log.contains(says), "{log}");
    assert!(
        !log.contains("error"),
        "a first push is not an error: {log}"
    );
    assert!(log.contains("1 of 1 runs were new to"), "{log}");
    assert_eq!(renews.used(), [RESTORE, UPLOAD, CACHE]);
    let machine = this_machine().key();
    let (restore, cache) = (&renews.job.used[0].1, &renews.job.used[2].1);
    let key = format!("topdown-main-{machine}-");
    assert_eq!(restore["restore-keys"], key);
    assert_eq!(cache["key"], format!("{key}100-1"));
    assert_eq!(cache["path"], restore["path"]);
    let baseline = Path::new(&cache["path"]).join("main").join(&machine);
    assert!(baseline.join("run.json").exists());

    let mut compares = Run::pull_request().set(SLOWER);
    let inputs = [("store", &*store), ("comment", "true")];
    assert_eq!(compares.execute(&inputs), 100, "{}", compares.job.log);
    assert_eq!(compares.job.outputs["outcome"], "regressed");
    assert_eq!(compares.job.outputs["exit-code"], "100");
    let summary = compares.job.text("summary");
    assert!(summary.starts_with("## TopDown: regressed\n"), "{summary}");
    assert!(summary.contains("<code>chase</code> is "), "{summary}");
    let log = &compares.job.log;
    let says = "::error title=regressed%3A suite%3A%3Akernels%3A%3Achase::`chase` is ";
    assert!(log.contains(says), "{log}");
    assert!(
        compares
            .report("comment.md")
            .starts_with("<!-- cargo-topdown: news -->\n## TopDown")
    );
    let run = format!("runs/candidate/{machine}/run.json");
    for name in [
        "junit.xml",
        "report.html",
        "comparison.json",
        "doctor.txt",
        &run,
    ] {
        assert!(!compares.report(name).is_empty(), "{name}");
    }
    // A pull request's run never becomes the baseline.
    assert_eq!(compares.used(), [RESTORE, UPLOAD]);
    assert_eq!(
        compares.job.used[1].1["path"],
        compares.job.outputs["report"]
    );
    let says = "posted a comment on pull request 7\n";
    assert!(compares.job.log.contains(says), "{}", compares.job.log);
    let body = posted(&compares.job);
    assert!(
        body.starts_with("<!-- cargo-topdown: topdown-report -->\n## TopDown: failed\n"),
        "{body}"
    );
    assert!(
        compares
            .job
            .text("gh-calls")
            .contains("--method POST repos/owner/name/issues/7/comments"),
        "{}",
        compares.job.text("gh-calls")
    );
    assert_eq!(compares.job.ran.last().unwrap(), "Gate");

    let ran = [&*renews.job.ran, &*compares.job.ran].concat();
    for step in steps(".") {
        assert!(ran.contains(&step), "{step}");
    }
    comments_on_a_fork(&compares.report("comparison.json"));
}

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
fn comments_on_a_fork(comparison: &str) {
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
    assert!(body.contains(" of the 10000 benchmarks do not fit into this comment. The run's reports have all of them.\n"));
    let link = "\n[Reports and raw data](https://github.com/owner/name/actions/runs/100)";
    assert!(body.ends_with(link), "{body}");
}

/// A push with a newer compiler than that of the stored baseline, which is retaken.
#[test]
fn newer_compiler_passes_if_run_becomes_baseline() {
    let mut run = Run::push_to_main();
    let baselines = run.fixture.baselines().display().to_string();
    let inputs = [("cache", "false"), ("baselines", &*baselines)];
    assert_eq!(run.execute(&inputs), 0, "{}", run.job.log);
    let stored = run.fixture.baselines().join("main");
    let stored = stored.join(this_machine().key());
    let stored = stored.join("run.json");
    let newer = fs::read_to_string(&stored).unwrap();
    let older = newer.replace("\"rustc 1.", "\"rustc 0.");
    assert_ne!(older, newer);
    fs::write(&stored, older).unwrap();
    run.job.log.clear();
    assert_eq!(run.execute(&inputs), 0, "{}", run.job.log);
    assert_eq!(run.job.outputs["outcome"], "not-comparable");
    assert_eq!(run.job.outputs["exit-code"], "0");
    let log = &run.job.log;
    let says = "::notice title=TopDown%3A NEW BASELINE::nothing failed; ";
    assert!(log.contains(says), "{log}");
    assert_eq!(log.matches("::notice").count(), 1, "{log}");
    for failure in ["NOT COMPARABLE", "::error", "::warning"] {
        assert!(!log.contains(failure), "{failure} in {log}");
    }
    assert!(
        run.report("summary.md")
            .starts_with("## TopDown: new baseline\n")
    );
    let retaken = fs::read_to_string(&stored).unwrap();
    assert!(!retaken.contains("\"rustc 0."), "{retaken}");
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

/// As in `docs/ci/hosted.yml`.
#[test]
fn missing_base_fails_with_reason_in_summary() {
    let mut run = Run::push_to_main();
    let against = [("against", "no-such-commit")];
    assert_eq!(run.execute(&against), 102, "{}", run.job.log);
    assert_eq!(run.job.outputs["outcome"], "not-comparable");
    let summary = run.job.text("summary");
    assert!(
        summary.starts_with(
            "## TopDown: not comparable\n\n`cargo topdown bench` ended with exit code 102:\n\n<pre>"
        ),
        "{summary}"
    );
    assert!(summary.contains("no-such-commit"), "{summary}");
    // Nothing is restored or saved.
    assert_eq!(run.used(), [UPLOAD]);
}

#[test]
fn build_failure_exits_101_and_saves_nothing() {
    let mut run = Run::push_to_main();
    let target = "$(touch pwned) `touch pwned`; touch pwned";
    assert_eq!(run.execute_target(target, &[]), 101, "{}", run.job.log);
    assert_eq!(run.job.outputs["outcome"], "bench-failed");
    let summary = run.job.text("summary");
    assert!(
        summary.starts_with("## TopDown: bench failed\n"),
        "{summary}"
    );
    // Inputs stay text.
    assert!(
        summary.contains("$(touch pwned) `touch pwned`; touch pwned"),
        "{summary}"
    );
    assert!(!workspace().join("pwned").exists());
    let comment = run.report("comment.md");
    assert_eq!(comment, format!("<!-- cargo-topdown: news -->\n{summary}"));
    assert_eq!(run.used(), [RESTORE, UPLOAD]);
    // Without a verdict, `fail` changes nothing.
    assert_eq!(run.execute_target("none", &[("fail", "false")]), 101);
}

/// Both sides in one job, from two checkouts.
#[test]
fn one_job_can_measure_both_sides() {
    let mut run = Run::pull_request();
    let baselines = run.fixture.baselines().display().to_string();
    let side = [
        ("baseline", "base"),
        ("cache", "false"),
        ("baselines", &*baselines),
    ];
    let base = [&side[..], &[("save", "always"), ("compare", "false")]].concat();
    assert_eq!(run.execute(&base), 0, "{}", run.job.log);
    assert_eq!(run.job.outputs["outcome"], "measured");
    let summary = run.job.text("summary");
    assert_eq!(summary, "TopDown: measured, not compared\n");
    assert_eq!(run.used(), [UPLOAD]);

    let mut run = run.set(SLOWER);
    let head = [&side[..], &[("save", "never"), ("fail", "false")]].concat();
    assert_eq!(run.execute(&head), 0, "{}", run.job.log);
    assert_eq!(run.job.outputs["outcome"], "regressed");
    assert_eq!(run.job.outputs["exit-code"], "100");
    let says = "::warning title=cargo topdown::the gate failed with 100";
    assert!(run.job.log.contains(says), "{}", run.job.log);
}

/// A push of five commits, of which the fourth is slower and the second does not build.
#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn slow_commit_of_a_push_is_named() {
    let project = crate::bisect::project();
    let baselines = tempfile::tempdir().unwrap();
    let baselines = baselines.path().display().to_string();
    let build = Fixture::build_arguments();
    let push = |commit: &str, before: &str| {
        project.git(&["checkout", "--quiet", "--detach", commit]);
        let mut run = Run::push_to_main();
        run.job.variables.remove("CARGO_TOPDOWN_NO_FINGERPRINTS");
        let target = project.path("target").display().to_string();
        for (name, value) in [
            ("CARGO_TARGET_DIR", &*target),
            ("CARGO_BUILD_BUILD_DIR", build[3]),
        ] {
            run.job.variables.insert(name.to_owned(), value.to_owned());
        }
        let context = &mut run.job.context;
        context.insert("github.event.before".to_owned(), before.to_owned());
        let inputs = [
            ("cache", "false"),
            ("baselines", &*baselines),
            ("source", "model"),
            ("bench-args", &*build.join("\n")),
        ];
        let code = run.job.execute(".", &project.path(""), &inputs);
        (code, run)
    };
    let head = project.commit("HEAD");
    let (code, run) = push("HEAD~5", &"0".repeat(40));
    assert_eq!(code, 0, "{}", run.job.log);
    let before = project.commit("HEAD");
    let (code, run) = push(&head, &before);
    assert_eq!(code, 100, "{}", run.job.log);
    let summary = run.job.text("summary");
    let (_, found) = summary.split_once("### Since which commit").unwrap();
    assert!(
        found.contains(" Sum up more numbers\n`sum` is 2"),
        "{found}"
    );
    assert!(found.contains("the benches could not be built"), "{found}");
    assert!(run.report("bisect.txt").contains("Sum up more numbers"));
}

/// A pull request measures what differs from the baseline; a push to the default branch, all.
#[test]
fn pull_request_leaves_out_what_is_unchanged() {
    let baselines = tempfile::tempdir().unwrap();
    let baselines = baselines.path().display().to_string();
    let inputs = [
        ("cache", "false"),
        ("baselines", &*baselines),
        // The fixture's two launches decide nothing.
        ("compare-args", "--allow-nothing-decided"),
    ];
    let traced = |mut run: Run| {
        run.job.variables.remove("CARGO_TOPDOWN_NO_FINGERPRINTS");
        run
    };
    let left_out = |run: &Run| run.job.log.contains("execute the same code as in `main`");
    let mut push = traced(Run::push_to_main());
    assert_eq!(push.execute(&inputs), 0, "{}", push.job.log);

    let mut whole = traced(Run::pull_request());
    let all = [&inputs[..], &[("changed", "false")]].concat();
    assert_eq!(whole.execute(&all), 0, "{}", whole.job.log);
    assert!(!left_out(&whole), "{}", whole.job.log);

    let mut unchanged = traced(Run::pull_request());
    assert_eq!(unchanged.execute(&inputs), 0, "{}", unchanged.job.log);
    assert_eq!(unchanged.job.outputs["outcome"], "passed");
    assert!(left_out(&unchanged), "{}", unchanged.job.log);

    let mut push = traced(Run::push_to_main());
    assert_eq!(push.execute(&inputs), 0, "{}", push.job.log);
    assert!(!left_out(&push), "{}", push.job.log);
}

#[test]
fn invalid_input_ends_the_job_before_measuring() {
    let mut run = Run::pull_request();
    assert_eq!(run.execute(&[("save", "maybe")]), 2, "{}", run.job.log);
    let says = "::error title=cargo topdown::the input `save` must be auto, always or never\n";
    assert!(run.job.log.contains(says), "{}", run.job.log);
    assert_eq!(run.job.ran, ["Install cargo topdown", "Plan"]);
}

/// Each input as somebody would write it who can choose it: it is text, and no shell reads it.
#[test]
fn inputs_with_shell_metacharacters_execute_nothing() {
    for name in [
        "baseline",
        "against",
        "save",
        "baselines",
        "bench-args",
        "packages",
        "source",
        "model-core",
        "launches",
        "store",
        "compare-args",
        "accept-from",
        "artifact",
        "version",
        "tool-sha256",
        "cache",
        "compare",
        "comment",
        "fail",
        "working-directory",
        "token",
    ] {
        let mut run = match name {
            "token" => Run::pull_request(),
            _ => Run::push_to_main(),
        };
        let mark = run.job.path("executed");
        let touch = format!("touch '{}'", mark.display());
        let hostile = format!("x\"$({touch})`{touch}`;{touch};'\"|{touch}&&{touch}\n{touch} #");
        let hostile = match name {
            // Paths and addresses have one line, which is refused earlier otherwise.
            "artifact" => hostile.replace('\n', " "),
            // Made in the job's own directory.
            "baselines" | "store" => {
                let root = run.job.path("").display().to_string();
                format!("{root}/{}", hostile.replace('\n', " "))
            }
            // A name has no slash.
            "working-directory" => {
                let link = run.job.path(&hostile.replace('/', "\\"));
                std::os::unix::fs::symlink(workspace(), &link).unwrap();
                link.display().to_string()
            }
            _ => hostile,
        };
        let few = ["--launches=1", "--sample-size=10", "--warm-up-time=0.01"].join("\n");
        let code = if name == "bench-args" {
            run.job.execute(".", &workspace(), &[(name, &hostile)])
        } else {
            let build = Fixture::build_arguments().join("\n");
            let arguments = format!("{build}\n--bench\nkernels\n{few}\n");
            let mut inputs = vec![("bench-args", &*arguments), (name, &*hostile)];
            inputs.extend((name == "token").then_some(("comment", "true")));
            run.job.execute(".", &workspace(), &inputs)
        };
        let log = &run.job.log;
        assert!(!mark.exists(), "{name} ended with {code}:\n{log}");
        match name {
            // Neither true nor false, which is said before anything is measured.
            "cache" | "compare" | "comment" | "fail" | "save" => assert_eq!(code, 2, "{log}"),
            "working-directory" => assert_eq!(run.job.outputs["outcome"], "not-comparable"),
            "token" => {
                assert!(run.job.ran.iter().any(|step| step == "Comment"), "{log}");
                // `gh` gets it as the variable that it is.
                assert_eq!(run.job.text("gh-token"), hostile, "{log}");
            }
            _ => {}
        }
    }
}
