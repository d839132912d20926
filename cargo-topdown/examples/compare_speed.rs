//! Measures how long `cargo topdown compare` takes on a huge suite, including reading the files.
//!
//! ```text
//! cargo build --release -p cargo-topdown
//! cargo run --release -p cargo-topdown --example compare_speed [BENCHMARKS]
//! ```
//!
//! Writes two runs of 10 000 benchmarks with 10 launches and 6 metrics each, compares them five
//! times as a user would, and prints the time of each and the largest memory that any took.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use topdown_run::category::PerCategory;
use topdown_run::event::Events;
use topdown_run::machine::Machine;
use topdown_run::provenance::{Provenance, SourceKind};
use topdown_run::run_file::{
    Benchmark, BenchmarkId, Build, LaunchSettings, LaunchValue, Run, Selection, SlotsValue,
    TimeValue, write_run,
};
use topdown_run::sample::Level1;

const LAUNCHES: u32 = 10;
const REPETITIONS: usize = 5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let benchmarks: usize = match std::env::args().nth(1) {
        Some(count) => count.parse()?,
        None => 10_000,
    };
    let program = program()?;
    let directory = tempfile::tempdir()?;
    let sides = [directory.path().join("a"), directory.path().join("b")];
    for (seed, side) in [1, 2].into_iter().zip(&sides) {
        write_run(side, &run(benchmarks, seed), [])?;
        let size = std::fs::metadata(side.join("run.json"))?.len();
        println!("{}: {:.1} MB", side.display(), size as f64 / 1e6);
    }
    for _ in 0..REPETITIONS {
        let (time, memory_kib) = compare(&program, &sides)?;
        let memory = memory_kib.map_or("unknown".to_owned(), |kib| format!("{} MB", kib / 1024));
        println!("{benchmarks} benchmarks: {time:.3?}, memory {memory}");
    }
    Ok(())
}

/// Returns the path of the program, two directories above this example.
fn program() -> io::Result<PathBuf> {
    let example = std::env::current_exe()?;
    let name = format!("cargo-topdown{}", std::env::consts::EXE_SUFFIX);
    let program = example
        .ancestors()
        .nth(2)
        .unwrap_or(Path::new("."))
        .join(name);
    if program.is_file() {
        Ok(program)
    } else {
        let what = format!("{} is not built", program.display());
        Err(io::Error::new(io::ErrorKind::NotFound, what))
    }
}

/// Returns the time and, on Linux, the peak memory in KiB.
fn compare(program: &Path, sides: &[PathBuf; 2]) -> io::Result<(Duration, Option<u64>)> {
    let start = Instant::now();
    let mut child = Command::new(program)
        .arg("compare")
        .args(sides)
        .stdout(Stdio::null())
        .spawn()?;
    let status = format!("/proc/{}/status", child.id());
    let mut memory = None;
    while child.try_wait()?.is_none() {
        let line = std::fs::read_to_string(&status).unwrap_or_default();
        let peak = line
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))
            .and_then(|rest| rest.split_whitespace().next()?.parse().ok());
        memory = memory.max(peak);
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok((start.elapsed(), memory))
}

fn run(benchmarks: usize, seed: u64) -> Run {
    let mut random = fastrand::Rng::with_seed(seed);
    let benchmarks = (0..benchmarks)
        .map(|index| {
            let launches: Vec<LaunchValue> =
                (0..LAUNCHES).map(|n| launch(n, &mut random)).collect();
            Benchmark::of_launches(
                BenchmarkId {
                    package: "suite".to_owned(),
                    target: "bench".to_owned(),
                    name: format!("group/function/{index:05}"),
                },
                Provenance {
                    slots_per_cycle: Some(6),
                    ..Provenance::new(
                        SourceKind::Hardware,
                        "intel-perf-metrics/1",
                        "the counters of this CPU",
                    )
                },
                launches,
            )
        })
        .collect();
    Run {
        id: format!("speed-{seed}"),
        started_at: "2026-01-01T00:00:00Z".to_owned(),
        tool_version: "0.1.0".to_owned(),
        machine: Machine::default(),
        build: Build::default(),
        launch_settings: LaunchSettings {
            launches: LAUNCHES,
            sample_size: 20,
            warm_up_ms: 100,
            measurement_ms: 250,
        },
        competing_threads: None,
        shard: None,
        failed: Vec::new(),
        selection: Selection::default(),
        benchmarks,
    }
}

fn launch(launch: u32, random: &mut fastrand::Rng) -> LaunchValue {
    let mut about = |mean: f64| mean * (0.98 + 0.04 * random.f64());
    let level1 = Level1 {
        slots: PerCategory {
            retiring: about(4321.0),
            bad_speculation: about(987.0),
            frontend_bound: about(1234.0),
            backend_bound: about(3456.0),
        },
        smt_contention_slots: None,
    };
    LaunchValue {
        time: TimeValue {
            launch,
            samples_used: 20,
            samples_dropped: 0,
            wall_ns: about(420.0),
        },
        slots: Some(SlotsValue {
            launch,
            samples_used: 20,
            samples_dropped: 0,
            slots: level1.total_slots(),
            level1: Some(level1),
            level2: Some(PerCategory {
                retiring: about(321.0),
                bad_speculation: about(900.0),
                frontend_bound: about(800.0),
                backend_bound: about(2345.0),
            }),
            instructions: Some(about(4000.0)),
            cycles: Some(about(1666.0)),
            events: Events::NONE,
            resolution_fraction: 1.0 / 255.0,
            window_fraction: None,
        }),
    }
}
