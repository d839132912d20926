//! Measures how long it takes to read a large run: `cargo run --release --example read_large_run`.
//!
//! `cargo topdown compare` reads two of them before it can print anything.

use std::time::Instant;

use topdown_counters::machine::this_machine;
use topdown_run::category::PerCategory;
use topdown_run::event::LaunchEvents;
use topdown_run::provenance::{Provenance, SourceKind};
use topdown_run::run_file::{
    Benchmark, BenchmarkId, Build, LaunchSettings, LaunchValue, Run, Selection, SlotsValue,
    TimeValue, read_run, write_run,
};
use topdown_run::sample::Level1;

const BENCHMARKS: u32 = 10_000;
const LAUNCHES: u32 = 10;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    write_run(directory.path(), &large_run(), &[])?;
    let bytes = std::fs::metadata(directory.path().join("run.json"))?.len();
    println!(
        "{BENCHMARKS} benchmarks x {LAUNCHES} launches: {:.1} MB",
        bytes as f64 / 1e6
    );
    for _ in 0..5 {
        let start = Instant::now();
        let run = read_run(directory.path())?;
        println!("read in {:.3} s", start.elapsed().as_secs_f64());
        assert_eq!(run.benchmarks.len(), BENCHMARKS as usize);
    }
    Ok(())
}

/// Fills every column, with full-precision numbers like measured ones.
fn large_run() -> Run {
    let value = |benchmark: u32, launch: u32| {
        let slots = 1000.0 * (1.0 + f64::from(benchmark)).sqrt() + f64::from(launch) / 7.0;
        LaunchValue {
            time: TimeValue {
                launch,
                samples_used: 20,
                samples_dropped: 0,
                wall_ns: slots / 18.1,
            },
            slots: Some(SlotsValue {
                launch,
                samples_used: 20,
                samples_dropped: 0,
                slots,
                level1: Some(Level1 {
                    slots: PerCategory {
                        retiring: slots * 0.41,
                        bad_speculation: slots * 0.09,
                        frontend_bound: slots * 0.17,
                        backend_bound: slots * 0.33,
                    },
                    smt_contention_slots: None,
                }),
                level2: Some(PerCategory {
                    retiring: slots * 0.03,
                    bad_speculation: slots * 0.07,
                    frontend_bound: slots * 0.11,
                    backend_bound: slots * 0.23,
                }),
                instructions: Some(slots * 0.37),
                cycles: Some(slots / 6.0),
                events: LaunchEvents::default(),
                resolution_fraction: 0.00390625,
                window_fraction: None,
            }),
        }
    };
    let benchmark = |index: u32| {
        Benchmark::of_launches(
            BenchmarkId {
                package: "package".to_owned(),
                target: "target".to_owned(),
                name: format!("group/function/{index}"),
            },
            Provenance {
                slots_per_cycle: Some(6),
                ..Provenance::new(
                    SourceKind::Hardware,
                    "intel-perf-metrics/1",
                    "the counters work",
                )
            },
            (0..LAUNCHES).map(|launch| value(index, launch)),
        )
    };
    Run {
        id: "large".to_owned(),
        started_at: "2026-11-21T02:30:00Z".to_owned(),
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
        benchmarks: (0..BENCHMARKS).map(benchmark).collect(),
    }
}
