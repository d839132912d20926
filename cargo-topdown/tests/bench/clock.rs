//! Clocks that are set while a bench runs: a library stands between the program and the clock.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::fixture::Fixture;

/// Until the bench has made its file, the clock is off by this many seconds.
const LIBRARY: &str = r#"
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = syscall(SYS_clock_gettime, clock, time);
    const char *bench = getenv("FIXTURE_STATE"), *off = getenv("CLOCK_IS_OFF_BY");
    if (clock == CLOCK_REALTIME && bench && off && access(bench, F_OK) != 0)
        time->tv_sec += atol(off);
    return result;
}
"#;

const DAY: i64 = 24 * 60 * 60;

/// Compiles the library into the fixture's directory.
fn library(fixture: &Fixture) -> PathBuf {
    let source = fixture.target().join("clock.c");
    let library = source.with_extension("so");
    fs::write(&source, LIBRARY).unwrap();
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .status();
    assert!(compiled.unwrap().success());
    library
}

#[test]
fn clock_set_during_launch_costs_no_run() {
    // Set back: the run began in the future. Set forward: it began long ago.
    for off_by in [2 * DAY, -2 * DAY] {
        let fixture = Fixture::new();
        let library = library(&fixture).display().to_string();
        let off_by_text = off_by.to_string();
        let environment = [
            ("FIXTURE_TROUBLE", "leaves a process behind"),
            ("LD_PRELOAD", &*library),
            ("CLOCK_IS_OFF_BY", &off_by_text),
        ];
        let words = ["--package", "trouble", "--launches", "2", "--save", "main"];
        let outcome = fixture.bench_with(&words, &environment);
        let run = fixture.newest_run();
        for time in &run.benchmarks[0].times.launches {
            assert!(time.wall_ns > 0.0 && time.wall_ns < 1e9, "{time:?}");
        }
        if off_by < 0 {
            outcome.succeeds();
            assert_eq!(fixture.baseline("main").id, run.id);
            continue;
        }
        let refused = "was not saved as `main`: this machine's clock says";
        let outcome = outcome.fails_with(101, refused);
        assert!(
            outcome.stderr.contains("or measure again"),
            "{}",
            outcome.stderr
        );
        assert!(!fixture.baselines().exists());
        fixture.bench_with(&words, &environment).succeeds();
        assert_ne!(fixture.baseline("main").id, run.id);
    }
}
