//! Measures how long `cargo topdown compare` and `history` take on huge suites and long histories,
//! including reading the files. Needs `/usr/bin/time`.
//!
//! ```text
//! cargo build --release -p cargo-topdown
//! cargo run --release -p cargo-topdown --example speed compare [BENCHMARKS]
//! cargo run --release -p cargo-topdown --example speed history [RUNS] [BENCHMARKS]
//! ```
//!
//! Runs have 10 launches and 6 metrics. Each command is executed three times, as a user would.

use std::error::Error;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sha2::{Digest, Sha256};
use topdown_counters::machine::this_machine;
use topdown_run::category::PerCategory;
use topdown_run::event::LaunchEvents;
use topdown_run::provenance::{Provenance, SourceKind};
use topdown_run::run_file::{
    Benchmark, BenchmarkId, Build, LaunchSettings, LaunchValue, Run, Selection, SlotsValue,
    TimeValue, write_run,
};
use topdown_run::sample::Level1;

const LAUNCHES: u32 = 10;
const REPETITIONS: usize = 3;
const USAGE: &str = "speed compare [BENCHMARKS], or speed history [RUNS] [BENCHMARKS]";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let count = |place: usize, usual: usize| match arguments.get(place) {
        Some(count) => count.parse(),
        None => Ok(usual),
    };
    match arguments.first().map(String::as_str) {
        Some("compare") => compare(count(1, 10_000)?),
        Some("history") => history(count(1, 2_000)?, count(2, 100)?),
        _ => Err(USAGE.into()),
    }
}

fn compare(benchmarks: usize) -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let sides = ["a", "b"].map(|side| directory.path().join(side));
    for (seed, side) in [1, 2].into_iter().zip(&sides) {
        write_run(side, &run(benchmarks, seed), [])?;
        let size = fs::metadata(side.join("run.json"))?.len();
        println!("{}: {:.1} MB", side.display(), size as f64 / 1e6);
    }
    println!("{benchmarks} benchmarks");
    measure([OsStr::new("compare"), sides[0].as_ref(), sides[1].as_ref()])
}

fn history(runs: usize, benchmarks: usize) -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let key = run(1, 1).key();
    let baseline = directory.path().join("main").join(&key);
    for seed in 1..=runs as u64 {
        write_run(&baseline, &run(benchmarks, seed), [])?;
        let json = fs::read(baseline.join("run.json"))?;
        let history = baseline.join("history");
        fs::create_dir_all(&history)?;
        let at = jiff::Timestamp::UNIX_EPOCH + jiff::SignedDuration::from_hours(24 * seed as i64);
        let stamp = at.strftime("%Y%m%dT%H%M%SZ");
        let digest = Sha256::digest(&json);
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let name = format!("{stamp}-{digest}.json");
        fs::write(history.join(name), json)?;
    }
    println!("{runs} runs of {benchmarks} benchmarks");
    let baselines = directory.path().as_os_str();
    measure(
        ["history", "main", "--baselines"]
            .map(OsStr::new)
            .into_iter()
            .chain([baselines]),
    )
}

/// Executes the program and prints what it needed.
fn measure<'a>(
    arguments: impl IntoIterator<Item = &'a OsStr> + Clone,
) -> Result<(), Box<dyn Error>> {
    for _ in 0..REPETITIONS {
        Command::new("/usr/bin/time")
            .args(["-f", "%e s elapsed, %U s user, %S s system, %M KiB"])
            .arg(program()?)
            .arg("topdown")
            .args(arguments.clone())
            .stdout(Stdio::null())
            .status()?;
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

fn run(benchmarks: usize, seed: u64) -> Run {
    let day = jiff::Timestamp::UNIX_EPOCH + jiff::SignedDuration::from_hours(24 * seed as i64);
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
        started_at: day.to_string(),
        tool_version: "0.1.0".to_owned(),
        machine: this_machine(),
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
            events: LaunchEvents::default(),
            resolution_fraction: 1.0 / 255.0,
            window_fraction: None,
        }),
    }
}
