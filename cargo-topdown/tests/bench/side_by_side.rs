//! Modelled launches that run side by side.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::fs;
use std::path::Path;
use std::process::Stdio;

use topdown_run::run_file::{Run, read_samples};

use crate::ends::number_in;
use crate::fixture::{Fixture, Outcome};
use crate::other_processes::{is_running, send};

/// Two launches of each benchmark, on the model.
fn bench(fixture: &Fixture, trouble: &str, flags: &[&str]) -> Outcome {
    let words = ["--package", "trouble", "--source", "model"];
    fixture.bench_with(&[&words, flags].concat(), &[("FIXTURE_TROUBLE", trouble)])
}

fn names(run: &Run) -> Vec<&str> {
    run.benchmarks.iter().map(|b| &*b.id.name).collect()
}

#[test]
fn modelled_launches_run_side_by_side() {
    let fixture = Fixture::new();
    bench(&fixture, "wants company on the model", &["--jobs", "2"]).succeeds();
    let run = fixture.newest_run();
    assert_eq!(names(&run), ["a", "b"]);
    for benchmark in &run.benchmarks {
        assert_eq!(benchmark.slots_launches().len(), 2, "{benchmark:?}");
    }
}

#[test]
fn concurrent_failures_are_launched_alone() {
    let fixture = Fixture::new();
    let trouble = "fails beside others on the model";
    let outcome = bench(&fixture, trouble, &["--jobs", "2"]).succeeds();
    let note = "note: a launch of `trouble::trouble` failed while others ran; repeating it alone";
    assert!(outcome.stderr.contains(note), "{}", outcome.stderr);
    assert_eq!(names(&fixture.newest_run()), ["a", "b"]);
    // With one job, nothing runs beside it.
    let fixture = Fixture::new();
    fs::write(fixture.state().with_extension("refused"), "").unwrap();
    let outcome = bench(&fixture, trouble, &["--jobs", "1"]).succeeds();
    assert!(!outcome.stderr.contains("alone"), "{}", outcome.stderr);
}

/// `b` is still being measured while what `a` left behind is ended.
#[test]
fn only_leftovers_of_the_launch_are_ended() {
    let fixture = Fixture::new();
    let trouble = "leaves a process behind, in company";
    let outcome = bench(&fixture, trouble, &["--jobs", "2", "--launches", "1"]).succeeds();
    for name in ["a", "b"] {
        let left = fs::read_to_string(fixture.state().with_extension(name)).unwrap();
        let note = format!(
            "`trouble::trouble` left processes running, which were killed: `sleep` ({})",
            left.trim()
        );
        assert!(outcome.stderr.contains(&note), "{}", outcome.stderr);
        assert!(!Path::new("/proc").join(left.trim()).exists());
    }
}

#[test]
fn ctrl_c_ends_all_launches() {
    let fixture = Fixture::new();
    let words = [
        "bench",
        "--package",
        "trouble",
        "--source",
        "model",
        "--jobs",
        "2",
    ];
    let mut program = fixture
        .command(&words, &[("FIXTURE_TROUBLE", "hangs on the model")])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let hanging = ["a", "b"].map(|name| number_in(&fixture.state().with_extension(name)));
    send("-INT", &program);
    assert_eq!(program.wait().unwrap().code(), Some(130));
    for bench in hanging {
        assert!(!is_running(&bench));
    }
}

#[test]
fn concurrency_changes_nothing_in_a_run() {
    let modelled = ["1", "2"].map(|jobs| {
        let fixture = Fixture::new();
        bench(&fixture, "two on the model", &["--jobs", jobs]).succeeds();
        let benchmarks = fixture.newest_run().benchmarks.into_iter();
        let slots = benchmarks.map(|b| (b.slots_launches().to_vec(), b.functions, b.id));
        let slots: Vec<_> = slots.collect();
        let order = read_samples(&fixture.newest()).unwrap().into_iter();
        let order: Vec<_> = order
            .map(|launch| (launch.benchmark, launch.source, launch.launch))
            .collect();
        (slots, order)
    });
    assert_eq!(modelled[0], modelled[1]);
}

/// It would not be in the second either. Two jobs may both be on it before that is known.
#[test]
fn too_long_benchmark_is_modelled_once() {
    let fixture = Fixture::new();
    let flags = ["--jobs", "1", "--launches", "2", "--model-budget", "0.001"];
    let events = ["--message-format", "json"];
    let outcome = bench(&fixture, "is long", &[&flags[..], &events].concat()).succeeds();
    let launches = outcome.stdout.matches("\"launch-started\"").count();
    assert_eq!(launches, 2 + 1, "{}", outcome.stdout);
    let run = fixture.newest_run();
    let reason = &run.benchmarks[0].provenance().reason;
    assert!(reason.contains("million instructions"), "{reason}");
    assert_eq!(run.benchmarks[0].times.launches.len(), 2);
}
