//! The GitHub action: executes the steps of `action.yml` and `comment/action.yml` one by one, with
//! the variables that GitHub sets, for the fixture workspace.
//!
//! Only what is not on this machine is replaced: building the program, and GitHub's program `gh`.
//! Each step's decisions are tested where it is, in `command::ci`.

mod comments;
mod composite;
mod inputs;

use std::fs;
use std::path::Path;

use topdown_counters::machine::this_machine;

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
    comments::comments_on_a_fork(&compares.report("comparison.json"));
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
