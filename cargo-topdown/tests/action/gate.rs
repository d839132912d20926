//! The action itself: exit code, summary, comment and stored files, depending on the benches.

use criterion_topdown::machine::Machine;

use crate::composite::Job;
use crate::runs::{self, Kind, PLAIN};

const SLOWER: Kind = Kind {
    slower: 0.1,
    ..PLAIN
};

/// A pull request's job whose benches produce `candidate`.
fn pull_request(candidate: Kind) -> Job {
    job("pull_request", "refs/pull/7/merge", candidate)
}

fn push_to_main(candidate: Kind) -> Job {
    job("push", "refs/heads/main", candidate)
}

fn job(event: &str, reference: &str, candidate: Kind) -> Job {
    let mut job = Job::new();
    let context = [
        ("github.event_name", event),
        ("github.ref", reference),
        ("github.event.repository.default_branch", "main"),
        ("github.event.pull_request.number", "7"),
        ("github.server_url", "https://github.com"),
        ("github.repository", "owner/name"),
        ("github.action_repository", "owner/name"),
        ("github.run_id", "100"),
        ("github.run_attempt", "1"),
        ("github.token", "TOKEN"),
    ];
    for (name, value) in context {
        job.context.insert(name.to_owned(), value.to_owned());
    }
    runs::write(candidate, &job.path("prepared"));
    let prepared = job.path("prepared").display().to_string();
    let record = job.path("bench-arguments").display().to_string();
    let environment = job.path("bench-environment").display().to_string();
    let tool = job.path("fake-cargo-topdown").display().to_string();
    let program = env!("CARGO_BIN_EXE_cargo-topdown");
    job.program(
        "cargo",
        &format!(
            r#"#!/bin/bash
if [ "$1" = install ]; then
    while [ "$1" != --root ]; do shift; done
    mkdir -p "$2/bin" && cp "{tool}" "$2/bin/cargo-topdown"
    exit
fi
exec "{}" "$@"
"#,
            env!("CARGO")
        ),
    );
    job.program(
        "../fake-cargo-topdown",
        &format!(
            r#"#!/bin/bash
case $2 in
    bench)
        printf '%s\n' "${{@:3}}" >"{record}"
        env >"{environment}"
        if [ -n "${{BENCH_FAILS:-}}" ]; then
            echo 'error: could not compile `suite` <b>@user</b> https://example.com [x](y)' >&2
            exit "$BENCH_FAILS"
        fi
        if [ -n "${{AGAINST:-}}" ]; then
            # What it writes is what `compare` writes.
            mapfile -t reports < <(printf '%s\n' "${{@:3}}" | grep -A1 -x -e --report | grep -v -x -e --)
            exec "{program}" topdown compare "${{reports[@]}}" -- "$AGAINST" "{prepared}"
        fi
        mkdir -p target/topdown && cp -r "{prepared}" target/topdown/newest
        ;;
    compare)
        "{program}" "$@"
        code=$?
        exit "${{COMPARE_ENDS:-$code}}"
        ;;
    *) exec "{program}" "$@" ;;
esac
"#
        ),
    );
    job
}

/// Adds the baseline `main` of this machine, where the action keeps it.
fn with_baseline(job: Job, kind: Kind) -> Job {
    let key = Machine::of_this_machine().key();
    runs::write(kind, &job.path("temp/topdown-baselines/main").join(key));
    job
}

fn baseline_of(job: &Job) -> String {
    let key = Machine::of_this_machine().key();
    job.text(&format!("temp/topdown-baselines/main/{key}/run.json"))
}

/// Reads one of the reports.
fn report(job: &Job, name: &str) -> String {
    std::fs::read_to_string(std::path::Path::new(&job.outputs["report"]).join(name))
        .unwrap_or_default()
}

fn used(job: &Job) -> Vec<String> {
    let name = |action: &'_ str| action.split_once('@').unwrap().0.to_owned();
    job.used.iter().map(|(action, _)| name(action)).collect()
}

const RESTORE: &str = "actions/cache/restore";
const UPLOAD: &str = "actions/upload-artifact";
const CACHE: &str = "actions/cache/save";

#[test]
fn a_regression_ends_with_100_after_everything_is_kept() {
    let mut job = with_baseline(pull_request(SLOWER), PLAIN);
    assert_eq!(job.execute(".", &[]), 100, "{}", job.log);
    assert_eq!(job.outputs["outcome"], "regressed");
    assert_eq!(job.outputs["exit-code"], "100");
    let summary = job.text("github_step_summary");
    assert!(
        summary.starts_with("## TopDown: regressed\n\n**1 of 3 benchmarks is slower than"),
        "{summary}"
    );
    assert!(
        summary.contains("<code>sort</code> is 10.0 % slower"),
        "{summary}"
    );
    assert!(
        job.log.contains(
            "::error title=regressed%3A suite%3A%3Akernels%3A%3Asort::`sort` is 10.0 %25 slower"
        ),
        "{}",
        job.log
    );
    assert!(
        report(&job, "comment.md").starts_with("<!-- cargo-topdown: news -->\n## TopDown: reg")
    );
    for name in ["junit.xml", "report.html", "comparison.json", "doctor.txt"] {
        assert!(!report(&job, name).is_empty(), "{name}");
    }
    let key = Machine::of_this_machine().key();
    assert!(!report(&job, &format!("runs/candidate/{key}/run.json")).is_empty());
    // A pull request's run never becomes the baseline.
    assert_eq!(used(&job), [RESTORE, UPLOAD]);
    assert_eq!(job.ran.last().unwrap(), "Gate");
    assert_eq!(job.used[1].1["path"], job.outputs["report"]);
}

#[test]
fn a_pass_ends_with_0_and_has_nothing_to_say() {
    let mut job = with_baseline(pull_request(PLAIN), PLAIN);
    assert_eq!(job.execute(".", &[]), 0, "{}", job.log);
    assert_eq!(job.outputs["outcome"], "passed");
    assert!(
        job.text("github_step_summary")
            .starts_with("## TopDown: passed\n")
    );
    assert!(report(&job, "comment.md").starts_with("<!-- cargo-topdown: quiet -->\n"));
    assert!(!job.log.contains("::error"), "{}", job.log);
}

#[test]
fn inconclusive_passes_by_default_and_ends_with_103_where_the_policy_fails_it() {
    let noisy = Kind {
        noise: 0.3,
        ..PLAIN
    };
    let mut job = with_baseline(pull_request(noisy), noisy);
    assert_eq!(job.execute(".", &[]), 0, "{}", job.log);
    assert!(job.text("github_step_summary").contains("3 inconclusive"));

    let mut job = with_baseline(pull_request(noisy), noisy);
    job.variables
        .insert("COMPARE_ENDS".to_owned(), "103".to_owned());
    assert_eq!(job.execute(".", &[]), 103, "{}", job.log);
    assert_eq!(job.outputs["outcome"], "inconclusive");
    assert!(job.text("github_step_summary").contains("3 inconclusive"));
}

#[test]
fn a_pull_request_without_a_baseline_ends_with_102_and_says_what_to_do() {
    let mut job = pull_request(PLAIN);
    assert_eq!(job.execute(".", &[]), 102, "{}", job.log);
    assert_eq!(job.outputs["outcome"], "not-comparable");
    let summary = job.text("github_step_summary");
    assert!(
        summary.starts_with("## TopDown: not comparable\n"),
        "{summary}"
    );
    assert!(
        summary.contains("no baseline or run file `main`"),
        "{summary}"
    );
    let comment = report(&job, "comment.md");
    assert_eq!(comment, format!("<!-- cargo-topdown: news -->\n{summary}"));
}

#[test]
fn the_first_run_of_the_default_branch_becomes_the_baseline() {
    let mut job = push_to_main(PLAIN);
    assert_eq!(job.execute(".", &[]), 0, "{}", job.log);
    assert_eq!(job.outputs["outcome"], "not-comparable");
    assert!(
        job.text("github_step_summary")
            .contains("This run becomes the baseline")
    );
    assert!(!baseline_of(&job).is_empty());
    assert_eq!(used(&job), [RESTORE, UPLOAD, CACHE]);
    let key = format!("topdown-main-{}-", Machine::of_this_machine().key());
    let (restore, save) = (&job.used[0].1, &job.used[2].1);
    assert_eq!(restore["restore-keys"], key);
    assert_eq!(save["key"], format!("{key}100-1"));
    assert_eq!(save["path"], restore["path"]);
}

#[test]
fn another_compiler_on_the_default_branch_renews_the_baseline() {
    let newer = Kind {
        rustc: "rustc 1.92.0",
        ..PLAIN
    };
    let mut job = with_baseline(push_to_main(newer), PLAIN);
    assert_eq!(job.execute(".", &[]), 0, "{}", job.log);
    assert!(
        job.text("github_step_summary")
            .starts_with("## TopDown: not comparable\n")
    );
    assert!(baseline_of(&job).contains("1.92.0"));

    let mut job = with_baseline(pull_request(newer), PLAIN);
    assert_eq!(job.execute(".", &[]), 102, "{}", job.log);
    assert!(!baseline_of(&job).contains("1.92.0"));
}

#[test]
fn a_regression_on_the_default_branch_fails_and_becomes_the_baseline() {
    let mut job = with_baseline(push_to_main(SLOWER), PLAIN);
    let before = baseline_of(&job);
    assert_eq!(job.execute(".", &[]), 100, "{}", job.log);
    assert_ne!(baseline_of(&job), before);
    assert_eq!(used(&job), [RESTORE, UPLOAD, CACHE]);
}

#[test]
fn benches_that_fail_end_with_101_and_are_never_saved() {
    let mut job = push_to_main(PLAIN);
    job.variables
        .insert("BENCH_FAILS".to_owned(), "101".to_owned());
    assert_eq!(job.execute(".", &[]), 101, "{}", job.log);
    assert_eq!(job.outputs["outcome"], "bench-failed");
    assert!(!job.ran.iter().any(|name| name == "Compare"));
    assert_eq!(used(&job), [RESTORE, UPLOAD]);
    assert_eq!(baseline_of(&job), "");
    let summary = job.text("github_step_summary");
    assert_eq!(
        summary,
        "## TopDown: bench failed\n\n`cargo topdown bench` ended with exit code 101:\n\n<pre>\n\
         error&#58; could not compile `suite` &lt;b&gt;@user&lt;/b&gt; https&#58;//example&#46;com \
         &#91;x](y)\n</pre>\n"
    );
}

#[test]
fn inputs_stay_text() {
    let mut job = pull_request(PLAIN);
    let arguments =
        "--workspace\n\n  \n--\n$(touch pwned) `touch pwned`; touch pwned\n\"two words\"";
    let code = job.execute(
        ".",
        &[("bench-args", arguments), ("baseline", "$(touch pwned)")],
    );
    assert_eq!(code, 102, "{}", job.log);
    assert_eq!(
        job.text("bench-arguments"),
        "--workspace\n--\n$(touch pwned) `touch pwned`; touch pwned\n\"two words\"\n"
    );
    assert!(
        job.log.contains("no baseline or run file `$(touch pwned)`"),
        "{}",
        job.log
    );
    assert!(!job.path("workspace/pwned").exists());
}

#[test]
fn an_input_that_makes_no_sense_is_a_usage_error() {
    for (name, message) in [
        ("save", "the input `save` must be auto, always or never"),
        ("cache", "the input `cache` must be true or false"),
        ("comment", "the input `comment` must be true or false"),
    ] {
        let mut job = pull_request(PLAIN);
        assert_eq!(job.execute(".", &[(name, "maybe")]), 2, "{}", job.log);
        assert!(job.log.contains(message), "{}", job.log);
        assert_eq!(job.ran, ["Plan"]);
    }
}

/// As in `docs/ci/hosted.yml`.
#[test]
fn against_a_commit_nothing_is_stored() {
    for (candidate, code, outcome) in [(SLOWER, 100, "regressed"), (PLAIN, 0, "passed")] {
        let mut job = push_to_main(candidate);
        runs::write(PLAIN, &job.path("base"));
        let base = job.path("base").display().to_string();
        job.variables.insert("AGAINST".to_owned(), base);
        let inputs = [
            ("against", "HEAD^1"),
            ("bench-args", "--workspace"),
            ("compare-args", "--fail-on\nshifted"),
        ];
        assert_eq!(job.execute(".", &inputs), code, "{}", job.log);
        assert_eq!(job.outputs["outcome"], outcome);
        let arguments = job.text("bench-arguments");
        assert!(
            arguments.starts_with("--against=HEAD^1\n--report\ngithub\n"),
            "{arguments}"
        );
        assert!(
            arguments.ends_with("\n--fail-on\nshifted\n--workspace\n"),
            "{arguments}"
        );
        assert!(
            job.text("github_step_summary")
                .starts_with(&format!("## TopDown: {outcome}\n"))
        );
        assert!(!report(&job, "report.html").is_empty());
        assert_eq!(used(&job), [UPLOAD]);
        assert_eq!(baseline_of(&job), "");
    }
}

/// The base cannot be built or found.
#[test]
fn against_a_commit_that_fails_says_why() {
    let mut job = pull_request(PLAIN);
    job.variables
        .insert("BENCH_FAILS".to_owned(), "101".to_owned());
    assert_eq!(
        job.execute(".", &[("against", "HEAD^1")]),
        101,
        "{}",
        job.log
    );
    assert_eq!(job.outputs["outcome"], "bench-failed");
    assert!(
        job.text("github_step_summary")
            .contains("could not compile")
    );
}

/// As in `docs/ci/fleet.yml`, with a directory instead of the branch.
#[test]
fn machines_share_baselines_through_a_store() {
    let fleet = tempfile::tempdir().unwrap();
    let store = fleet.path().join("store").display().to_string();
    let inputs = [("cache", "false"), ("store", &*store)];
    let mut renews = push_to_main(PLAIN);
    assert_eq!(renews.execute(".", &inputs), 0, "{}", renews.log);
    assert!(
        renews.log.contains("1 of 1 runs were new to"),
        "{}",
        renews.log
    );
    assert!(renews.ran.iter().any(|step| step == "Share the baseline"));

    for (candidate, code) in [(SLOWER, 100), (PLAIN, 0)] {
        let mut compares = pull_request(candidate);
        assert_eq!(compares.execute(".", &inputs), code, "{}", compares.log);
        assert!(compares.log.contains("has a new run"), "{}", compares.log);
        assert!(!compares.ran.iter().any(|step| step == "Share the baseline"));
    }
    let key = Machine::of_this_machine().key();
    let runs = std::fs::read_dir(fleet.path().join("store/main").join(key));
    assert_eq!(runs.unwrap().count(), 1);

    let file = fleet.path().join("file");
    std::fs::write(&file, "").unwrap();
    let mut lost = pull_request(PLAIN);
    let inputs = [("cache", "false"), ("store", file.to_str().unwrap())];
    assert_eq!(lost.execute(".", &inputs), 102, "{}", lost.log);
    assert!(
        lost.log.contains("could not read the store"),
        "{}",
        lost.log
    );
}

/// Both sides in one job, from two checkouts.
#[test]
fn one_job_can_measure_both_sides() {
    let shared = |job: &Job| job.path("temp/shared").display().to_string();
    let mut job = pull_request(PLAIN);
    let baselines = shared(&job);
    let side = [
        ("baseline", "base"),
        ("cache", "false"),
        ("baselines", &*baselines),
    ];
    let base = [side.as_slice(), &[("save", "always"), ("compare", "false")]].concat();
    assert_eq!(job.execute(".", &base), 0, "{}", job.log);
    assert_eq!(job.outputs["outcome"], "measured");
    assert_eq!(
        job.text("github_step_summary"),
        "TopDown: measured, not compared\n"
    );
    assert_eq!(used(&job), [UPLOAD]);

    std::fs::remove_dir_all(job.path("prepared")).unwrap();
    runs::write(SLOWER, &job.path("prepared"));
    std::fs::remove_dir_all(job.path("workspace/target")).unwrap();
    let head = [side.as_slice(), &[("save", "never")]].concat();
    assert_eq!(job.execute(".", &head), 100, "{}", job.log);
    assert_eq!(job.outputs["outcome"], "regressed");
}

/// Returns the SHA-256 of what `cargo install` installs in these tests.
fn sha256_of_tool(job: &Job) -> String {
    use sha2::{Digest, Sha256};
    let bytes = std::fs::read(job.path("fake-cargo-topdown")).unwrap();
    let digest = Sha256::digest(&bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Removes the toolchain that could build the program.
fn without_compiler(job: &Job) {
    job.program(
        "cargo",
        &format!(
            "#!/bin/bash\n[ \"$1\" != install ] || exit 9\nexec \"{}\" \"$@\"\n",
            env!("CARGO")
        ),
    );
    std::fs::remove_dir_all(job.path("workspace/target")).unwrap();
}

/// With a digest, each version is built once, and the runner's next job finds it.
#[test]
fn the_program_is_installed_once_where_its_digest_is_known() {
    let mut job = with_baseline(pull_request(PLAIN), PLAIN);
    let sha256 = sha256_of_tool(&job);
    let inputs = [("tool-sha256", &*sha256)];
    assert_eq!(job.execute(".", &inputs), 0, "{}", job.log);
    without_compiler(&job);
    assert_eq!(job.execute(".", &inputs), 0, "{}", job.log);
}

#[test]
fn issue_14_7_a_program_that_another_job_left_in_the_tool_cache_is_not_trusted() {
    let mut job = with_baseline(pull_request(PLAIN), PLAIN);
    let sha256 = sha256_of_tool(&job);
    let inputs = [("tool-sha256", &*sha256)];
    assert_eq!(job.execute(".", &inputs), 0, "{}", job.log);
    // As a benchmark of another pull request could leave it.
    let cached = job.path(&format!("tools/cargo-topdown/{sha256}/cargo-topdown"));
    std::fs::write(
        &cached,
        "#!/bin/bash\necho owned >\"$RUNNER_TEMP/../owned\"\n",
    )
    .unwrap();
    std::fs::remove_dir_all(job.path("workspace/target")).unwrap();
    assert_eq!(job.execute(".", &inputs), 0, "{}", job.log);
    assert!(!job.path("owned").exists());
    assert!(
        job.log.contains("was changed; it is built again"),
        "{}",
        job.log
    );
    // The rebuilt program replaces it and is reused.
    without_compiler(&job);
    assert_eq!(job.execute(".", &inputs), 0, "{}", job.log);
    // Without a digest, nothing in the cache is used.
    std::fs::remove_dir_all(job.path("workspace/target")).unwrap();
    assert_eq!(job.execute(".", &[]), 9, "{}", job.log);

    let mut other = pull_request(PLAIN);
    let wrong = "0".repeat(64);
    assert_eq!(
        other.execute(".", &[("tool-sha256", &wrong)]),
        101,
        "{}",
        other.log
    );
    assert!(
        other
            .log
            .contains(&format!("its SHA-256 is {}", sha256_of_tool(&other))),
        "{}",
        other.log
    );
    assert_eq!(
        other.execute(".", &[("tool-sha256", "abc")]),
        2,
        "{}",
        other.log
    );
}

#[test]
fn issue_14_7_benches_do_not_get_what_steers_the_job() {
    let mut job = with_baseline(pull_request(PLAIN), PLAIN);
    for name in [
        "ACTIONS_RUNTIME_TOKEN",
        "GITHUB_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
    ] {
        job.variables.insert(name.to_owned(), "secret".to_owned());
    }
    assert_eq!(job.execute(".", &[]), 0, "{}", job.log);
    let seen = job.text("bench-environment");
    assert!(seen.contains("PATH="), "{seen}");
    for name in [
        "GITHUB_ENV",
        "GITHUB_PATH",
        "GITHUB_OUTPUT",
        "TOKEN",
        "AWS_",
        "GITHUB_STEP",
    ] {
        assert!(!seen.contains(name), "{name} in {seen}");
    }
}

#[test]
fn the_guide_names_every_input_and_its_default() {
    let guide = std::fs::read_to_string(format!("{}/docs/ci.md", crate::composite::REPOSITORY));
    let guide = guide.unwrap();
    for (name, default) in crate::composite::inputs(".") {
        let default = match default.as_str() {
            "" => " ".to_owned(),
            default if default.starts_with("${{") => " the job's ".to_owned(),
            default => format!(" `{default}` "),
        };
        let row = format!("| `{name}` |{default}|");
        assert!(guide.contains(&row), "{row}");
    }
}

#[test]
fn issue_17_6_inputs_become_flags() {
    let mut job = with_baseline(pull_request(PLAIN), PLAIN);
    let inputs = [
        ("source", "model"),
        ("model-core", "zen-5"),
        ("launches", "3"),
        ("packages", "one\n\ntwo\n"),
        ("bench-args", "--locked\n"),
    ];
    assert_eq!(job.execute(".", &inputs), 0, "{}", job.log);
    assert_eq!(
        job.text("bench-arguments"),
        "--source=model\n--model-core=zen-5\n--launches=3\n--package=one\n--package=two\n--locked\n"
    );
}

#[test]
fn issue_17_6_a_regression_only_warns_if_that_is_asked_for() {
    let mut job = with_baseline(pull_request(SLOWER), PLAIN);
    assert_eq!(job.execute(".", &[("fail", "false")]), 0, "{}", job.log);
    assert_eq!(job.outputs["outcome"], "regressed");
    assert!(
        job.log
            .contains("::warning title=cargo topdown::the gate failed")
    );
    // A bench that fails is no verdict.
    let mut job = with_baseline(pull_request(PLAIN), PLAIN);
    let fails = ("BENCH_FAILS".to_owned(), "101".to_owned());
    job.variables.extend([fails]);
    assert_eq!(job.execute(".", &[("fail", "false")]), 101, "{}", job.log);
}

#[test]
fn issue_17_6_what_no_release_has_is_built() {
    let mut job = with_baseline(pull_request(PLAIN), PLAIN);
    job.program("curl", "#!/bin/sh\necho \"curl $*\" >&2\nexit 22\n");
    assert_eq!(job.execute(".", &[("version", "1.2.3")]), 0, "{}", job.log);
    assert!(
        job.log.contains("releases/download/v1.2.3/cargo-topdown-"),
        "{}",
        job.log
    );
    assert!(
        job.log.contains("no program for this runner; building it"),
        "{}",
        job.log
    );
    let mut job = pull_request(PLAIN);
    assert_eq!(job.execute(".", &[("version", "main")]), 2, "{}", job.log);
}

/// GitHub's marketplace takes no longer ones.
#[test]
fn issue_17_6_descriptions_are_short() {
    for file in ["action.yml", "comment/action.yml"] {
        let path = format!("{}/../{file}", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        let action: serde_json::Value = serde_saphyr::from_str(&text).unwrap();
        let description = action["description"].as_str().unwrap().trim();
        assert!(description.len() < 125, "{file}: {}", description.len());
    }
}
