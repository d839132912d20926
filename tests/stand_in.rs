//! A bench file as users write it for criterion, compiled against this package instead: if this
//! compiles and runs, their sources need no change.

extern crate criterion_topdown as criterion;

use std::time::{Duration, Instant};

use criterion::TopDown;
use criterion::measurement::{Measurement, WallTime};
use criterion::{
    BatchSize, Bencher, BenchmarkGroup, BenchmarkId, Criterion, SamplingMode, Throughput,
    black_box, criterion_group,
};

fn plain(c: &mut Criterion) {
    c.bench_function("plain", |b| b.iter(|| black_box(1) + 1))
        .bench_function("chained", named);
}

fn named(b: &mut Bencher) {
    b.iter_batched(|| vec![1, 2, 3], |v| v.len(), BatchSize::SmallInput);
}

fn grouped(c: &mut Criterion) {
    let mut group = c.benchmark_group("group");
    in_group(&mut group);
    group.finish();
}

fn in_group(group: &mut BenchmarkGroup<WallTime>) {
    group
        .throughput(Throughput::Elements(3))
        .sampling_mode(SamplingMode::Flat);
    for n in [1, 2] {
        group.bench_with_input(BenchmarkId::new("with_input", n), &n, |b, n| {
            b.iter(|| n + 1)
        });
    }
}

fn generic<M: Measurement + 'static>(c: &mut Criterion<M>) {
    c.bench_function("generic", |b| b.iter(|| black_box(2)));
}

fn custom(c: &mut Criterion) {
    c.bench_function("custom", |b| {
        b.iter_custom(|n| Duration::from_nanos(10 * n))
    });
    let mut group = c.benchmark_group("customs");
    group
        .sample_size(10)
        .bench_function("timed", |b: &mut Bencher<'_>| {
            b.iter_custom(|n| {
                let start = Instant::now();
                for _ in 0..n {
                    black_box(1);
                }
                start.elapsed()
            })
        })
        .bench_with_input(BenchmarkId::from_parameter(3), &3, with_input);
    group.bench_function(format!("{} text", "owned"), |b| {
        let topdown = TopDown::new();
        b.iter_custom(|n| topdown.measure(|| (0..n).map(black_box).sum::<u64>()))
    });
    called_as_requested(&mut group, "told");
    group.finish();
}

fn with_input(b: &mut Bencher<'_, WallTime>, factor: &u64) {
    b.iter_custom(|n| Duration::from_nanos(factor * n));
}

fn called_as_requested<S: Into<String>>(group: &mut BenchmarkGroup<'_, WallTime>, name: S) {
    group.bench_function(name, |b| {
        b.iter_batched_ref(|| vec![1], |v| v.pop(), BatchSize::LargeInput)
    });
}

fn quick() -> Criterion {
    Criterion::default().sample_size(10).without_plots()
}

criterion_group!(defaults, plain, grouped);
criterion_group! {
    name = configured;
    config = quick();
    targets = generic, custom
}

/// Without a `--bench` argument criterion runs each benchmark once. It would misread libtest's own
/// arguments, so the test runs this executable again without them.
#[test]
fn sources_written_for_criterion_compile_and_run() {
    if std::env::var_os("RUN_THE_GROUPS").is_some() {
        defaults();
        configured();
        return;
    }
    let output = run_the_groups("time");
    assert!(output.status.success(), "{output:?}");
}

/// Plain criterion plans more than can be modelled, and half a model is a wrong number.
#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn plain_criterion_refuses_the_model() {
    if std::env::var_os("RUN_THE_GROUPS").is_some() {
        return;
    }
    let output = run_the_groups("model");
    assert_eq!(output.status.code(), Some(101), "{output:?}");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("the model "), "{message}");
}

/// A bench's standard error may be a file on a full disk.
#[test]
#[cfg(target_os = "linux")]
fn unwritable_message_does_not_end_the_bench() {
    if std::env::var_os("RUN_THE_GROUPS").is_some() {
        return;
    }
    let full = std::fs::File::options().write(true).open("/dev/full");
    let output = the_groups("time")
        .stderr(full.expect("Linux has /dev/full"))
        .output()
        .expect("this executable starts");
    assert!(output.status.success(), "{output:?}");
}

/// Runs this executable again, without arguments that criterion would take for a filter.
fn run_the_groups(source: &str) -> std::process::Output {
    the_groups(source).output().expect("this executable starts")
}

fn the_groups(source: &str) -> std::process::Command {
    let executable = std::env::current_exe().expect("this executable");
    let mut command = std::process::Command::new(executable);
    command
        // Understood by both libtest and criterion. Without it, the error would be captured for a
        // report.
        .arg("--nocapture")
        .env("RUN_THE_GROUPS", "yes")
        .env("CARGO_TOPDOWN_SOURCE", source);
    command
}
