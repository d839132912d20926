//! Benches that go wrong: each is reported by name, and the others are kept.

use std::io::Read;
use std::process::Stdio;
use std::time::{Duration, Instant};

use topdown_run::run_file::{Run, read_samples};

use crate::fixture::{Fixture, Outcome};

/// Runs a sound target and the one in trouble.
fn bench_in(fixture: &Fixture, trouble: &str) -> Outcome {
    bench_with(fixture, trouble, &[])
}

fn bench_with(fixture: &Fixture, trouble: &str, flags: &[&str]) -> Outcome {
    let targets = ["--workspace", "--bench", "mixed", "--bench", "trouble"];
    fixture.bench_with(&[&targets, flags].concat(), &[("FIXTURE_TROUBLE", trouble)])
}

fn names(run: &Run) -> Vec<&str> {
    run.benchmarks.iter().map(|b| b.id.name.as_str()).collect()
}

const SOUND: [&str; 3] = ["first", "wall clock", "second"];

#[test]
fn panic_is_shown_and_other_targets_kept() {
    let fixture = Fixture::new();
    let outcome = bench_in(&fixture, "panics").fails_with(
        101,
        "bench target `trouble::trouble` failed in launch 1: it ended with exit status: 101",
    );
    assert!(
        outcome.stderr.contains("the bench's data is missing"),
        "{}",
        outcome.stderr
    );
    assert!(
        outcome.stderr.contains("a word on standard output"),
        "{}",
        outcome.stderr
    );
    assert_eq!(names(&fixture.newest_run()), SOUND);
}

/// Without the arguments of its launch it would measure everything, each for eight seconds of time
/// and hours of modelling.
#[test]
fn arguments_reach_an_unconfigured_stand_in() {
    let fixture = Fixture::new();
    let trouble = [(
        "FIXTURE_TROUBLE",
        "ignores its arguments, with the stand-in",
    )];
    let words = ["--package", "trouble", "one"];
    let listed = fixture.bench_with(&[&words[..], &["--list"]].concat(), &trouble);
    assert_eq!(listed.succeeds().stdout, "trouble::trouble::bare/one\n");
    fixture.bench_with(&words, &trouble).succeeds();
    assert_eq!(names(&fixture.newest_run()), ["bare/one"]);
    if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        let words = [&words[..], &["--source", "model"]].concat();
        fixture.bench_with(&words, &trouble).succeeds();
        assert_eq!(names(&fixture.newest_run()), ["bare/one"]);
    }
}

#[test]
fn bench_ignoring_its_arguments_has_time_only() {
    let fixture = Fixture::new();
    let trouble = [("FIXTURE_TROUBLE", "ignores its arguments")];
    let bench =
        |words: &[&str]| fixture.bench_with(&[&["--package", "trouble"], words].concat(), &trouble);
    bench(&["--source", "time"]).succeeds();
    assert_eq!(names(&fixture.newest_run()), ["one", "two"]);
    bench(&["--list"]).fails_with(101, "could not list the benchmarks of trouble::trouble");
    if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        bench(&["--source", "model"]).fails_with(
            101,
            "`one` ignores the arguments of its launch, so its length is unknown; call \
             `configure_from_args()` on `Criterion::default()` in its bench",
        );
    }
}

#[test]
fn samples_survive_exhausted_descriptors() {
    let fixture = Fixture::new();
    let outcome = bench_in(&fixture, "uses up the descriptors").succeeds();
    let newest = fixture.newest_run();
    assert!(names(&newest).contains(&"greedy"), "{}", outcome.stderr);
}

#[cfg(target_os = "linux")]
#[test]
fn samples_survive_chroot_and_setuid() {
    if !rustix::process::geteuid().is_root() {
        let reason = "only root may change its root and its user";
        return topdown_skipped::skip(topdown_skipped::Need::System, reason);
    }
    for (trouble, name) in [
        ("changes its root", "elsewhere"),
        ("changes its user", "nobody's"),
    ] {
        let fixture = Fixture::new();
        let outcome = bench_in(&fixture, trouble).succeeds();
        let newest = fixture.newest_run();
        assert!(names(&newest).contains(&name), "{}", outcome.stderr);
    }
}

#[test]
fn later_failure_discards_earlier_launches() {
    let fixture = Fixture::new();
    bench_in(&fixture, "panics in launch 2").fails_with(101, "failed in launch 2");
    assert_eq!(names(&fixture.newest_run()), SOUND);
    let samples = read_samples(&fixture.newest()).unwrap();
    assert!(
        samples
            .iter()
            .all(|sample| sample.benchmark.package == "suite")
    );
}

#[test]
fn failed_run_becomes_no_baseline() {
    let fixture = Fixture::new();
    let outcome = bench_with(&fixture, "panics", &["--save", "main"]);
    outcome.fails_with(101, "baseline `main` was not saved");
    assert!(!fixture.baselines().exists());
}

#[test]
fn fail_fast_keeps_nothing() {
    let fixture = Fixture::new();
    bench_with(&fixture, "panics", &["--fail-fast"]).fails_with(101, "trouble::trouble");
    assert!(!fixture.newest().exists());
}

#[test]
fn failure_before_connecting_fails_the_run() {
    let fixture = Fixture::new();
    bench_in(&fixture, "exits").fails_with(101, "it ended with exit status: 3");
}

#[test]
fn unconnected_bench_is_named_and_excluded() {
    let fixture = Fixture::new();
    let outcome = bench_in(&fixture, "never connects").succeeds();
    assert!(
        outcome
            .stderr
            .contains("bench target `trouble::trouble` is left out"),
        "{}",
        outcome.stderr
    );
    bench_in(&fixture, "connects at first").fails_with(
        101,
        "failed in launch 2: it did not connect to cargo topdown",
    );
}

#[test]
fn duplicate_names_are_reported_and_others_kept() {
    let fixture = Fixture::new();
    let outcome = bench_in(&fixture, "twice").fails_with(
        101,
        "error: 2 names have more than one benchmark each; give each benchmark a name of its own, \
         or leave them out (`--leave-out PATTERN`):\n  trouble::trouble::same\n  \
         trouble::trouble::same, too\n",
    );
    let advice = outcome.stderr.matches("of its own").count();
    assert_eq!(advice, 1, "{}", outcome.stderr);
    let one_of_them = ["--leave-out", "*too"];
    bench_with(&fixture, "twice", &one_of_them).fails_with(
        101,
        "more than one benchmark has the name `trouble::trouble::same`; give each a name of its \
         own, or leave them out: `--leave-out PATTERN`",
    );
    let run = fixture.newest_run();
    assert_eq!(names(&run), [&SOUND[..], &["fine"]].concat());
    let without = ["--leave-out", "same*"];
    let outcome = bench_with(&fixture, "twice", &without).succeeds();
    let note = "`trouble::trouble::same` is left out";
    assert_eq!(
        outcome.stderr.matches(note).count(),
        1,
        "{}",
        outcome.stderr
    );
}

#[test]
fn dropped_benchmark_is_named_and_others_kept() {
    let fixture = Fixture::new();
    bench_in(&fixture, "drops out").fails_with(
        101,
        "benchmark `trouble::trouble::drops out` ran in 1 of 3 launches; it dropped out of \
         launches 2, 3",
    );
    let run = fixture.newest_run();
    assert!(names(&run).contains(&"fine"));
    assert!(!names(&run).contains(&"drops out"));
}

#[test]
fn benchmark_without_usable_samples_is_an_error() {
    let fixture = Fixture::new();
    bench_in(&fixture, "unusable").fails_with(
        101,
        "benchmark `trouble::trouble::loses the PMU` has no launch with 4 usable samples \
         (flags: not-counting)",
    );
}

#[test]
fn launch_without_usable_samples_is_ignored() {
    let fixture = Fixture::new();
    let outcome = bench_in(&fixture, "unusable in launch 2").succeeds();
    assert!(
        outcome
            .stderr
            .contains("launch 2 of `trouble::trouble::loses the PMU once`"),
        "{}",
        outcome.stderr
    );
    let run = fixture.newest_run();
    let benchmark = run
        .benchmarks
        .iter()
        .find(|b| b.id.name == "loses the PMU once");
    let launches: Vec<u32> = benchmark
        .unwrap()
        .slots_launches()
        .iter()
        .map(|v| v.launch)
        .collect();
    assert_eq!(launches, [0, 2]);
}

#[test]
fn launches_of_different_formulas_are_not_mixed() {
    let fixture = Fixture::new();
    bench_in(&fixture, "another formula").fails_with(
        101,
        "benchmark `trouble::trouble::changes` was measured by hardware (scripted/1) in launch 1 \
         and by hardware (scripted/2) in launch 2",
    );
}

#[test]
fn unrecorded_scalars_are_refused() {
    let fixture = Fixture::new();
    bench_in(&fixture, "lies").fails_with(101, "of `lies`, but ");
}

#[test]
fn other_measurement_is_not_taken_for_time() {
    let fixture = Fixture::new();
    let outcome = bench_with(&fixture, "foreign", &["--save", "main"]).succeeds();
    let warning = "benchmark `trouble::trouble::foreign` is left out: it uses its own measurement, \
                   which prints 1 as `1.0000 cache misses`";
    assert_eq!(
        outcome.stderr.matches(warning).count(),
        1,
        "{}",
        outcome.stderr
    );
    // The target's other benchmarks, the other targets and the baseline are kept.
    let mut kept = names(&fixture.newest_run())
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>();
    kept.sort();
    assert_eq!(kept, ["fine", "first", "second", "wall clock"]);
    assert_eq!(fixture.baseline("main").benchmarks.len(), 4);
}

/// Each of these exits successfully.
#[test]
fn early_exit_fails_by_name() {
    let fixture = Fixture::new();
    for (trouble, message) in [
        (
            "exits in a benchmark",
            "failed in launch 1: benchmark `cut short` began but did not complete",
        ),
        (
            "caught",
            "failed in launch 1: benchmark `caught` began but did not complete",
        ),
        (
            "exits between benchmarks",
            "failed in launch 2: it exited successfully before it was done, after benchmark \
             `before`",
        ),
        (
            "exits between benchmarks of a group",
            "launch 1: it exited successfully before it was done, after benchmark \
             `wall clock/before`",
        ),
        (
            "exits before it connects",
            "failed in launch 1: it exited successfully before it was done, before its first",
        ),
    ] {
        let outcome = bench_with(&fixture, trouble, &["--save", "main"]);
        outcome.fails_with(101, message);
        assert!(!fixture.baselines().exists(), "{trouble}");
        let run = fixture.newest_run();
        assert_eq!(names(&run), SOUND, "{trouble}");
        assert_eq!(run.failed, ["trouble::trouble"], "{trouble}");
        fixture
            .plain(&["topdown", "baseline", "save", "main"], &[])
            .fails_with(101, "it is incomplete: `trouble::trouble` failed");
        assert!(!fixture.baselines().exists(), "{trouble}");
    }
}

#[test]
fn unselected_bench_has_not_exited_early() {
    let fixture = Fixture::new();
    let flags = ["--source", "time", "second"];
    bench_with(&fixture, "", &flags).succeeds();
    assert_eq!(names(&fixture.newest_run()), ["second"]);
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn abort_while_tracing_leaves_baseline_alone() {
    use std::collections::BTreeMap;
    use std::path::{Path, PathBuf};

    /// Returns all files in `directory`, with their content.
    fn files_of(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                files.extend(files_of(&path));
            } else {
                let content = std::fs::read(&path).unwrap();
                files.insert(path, content);
            }
        }
        files
    }

    let fixture = Fixture::new();
    bench_with(&fixture, "", &["--save", "main"]).succeeds();
    let before = files_of(&fixture.baselines());
    let flags = ["--source", "model", "--save", "main"];
    let outcome = bench_with(&fixture, "aborts on the model", &flags).fails_with(
        101,
        "bench target `trouble::trouble` failed in launch 1: it ended with signal: 6 (SIGABRT)",
    );
    for text in ["the bench's data is missing", "`main` was not saved"] {
        assert!(outcome.stderr.contains(text), "{}", outcome.stderr);
    }
    assert_eq!(files_of(&fixture.baselines()), before);
}

#[test]
fn benches_get_environment_of_cargo_bench() {
    let fixture = Fixture::new();
    bench_with(&fixture, "environment", &["--source", "time"]).succeeds();
}

/// The signal goes only to the program, as with `kill`. Ctrl-C in a terminal also reaches the
/// bench, which is the easier case.
#[cfg(unix)]
#[test]
fn interrupted_run_leaves_nothing_behind() {
    for signal in ["-INT", "-TERM", "-HUP"] {
        ends_cleanly_at(signal);
    }
}

#[cfg(unix)]
fn ends_cleanly_at(signal: &str) {
    let fixture = Fixture::new();
    let scratch = tempfile::tempdir().unwrap();
    let words = ["bench", "--package", "trouble", "--bench", "trouble"];
    let mut program = fixture
        .command(&words, &[("FIXTURE_TROUBLE", "hangs")])
        .env("TMPDIR", scratch.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begun_at = Instant::now();
    while !fixture.state().exists() {
        assert!(
            begun_at.elapsed() < Duration::from_secs(300),
            "the bench never started"
        );
        assert_eq!(program.try_wait().unwrap(), None, "the program has ended");
        std::thread::sleep(Duration::from_millis(20));
    }
    let kill = std::process::Command::new("kill")
        .args([signal, &program.id().to_string()])
        .status();
    assert!(kill.unwrap().success());
    let mut stderr = String::new();
    // Ends when both the program and the bench have exited: both hold the pipe, or the bench's
    // file.
    program
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut stderr)
        .unwrap();
    assert_eq!(program.wait().unwrap().code(), Some(130), "{stderr}");
    assert!(stderr.contains("interrupted"), "{stderr}");
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0);
    assert!(!fixture.newest().exists());
}
