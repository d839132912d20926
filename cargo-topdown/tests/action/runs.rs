//! Runs of this machine with a known number of slots.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use criterion_topdown::category::PerCategory;
use criterion_topdown::machine::Machine;
use criterion_topdown::provenance::{Provenance, SourceKind};
use criterion_topdown::run_file::{
    Benchmark, BenchmarkId, Build, LaunchSettings, LaunchValue, Run, Selection, SlotsValue,
    TimeValue, write_run,
};
use criterion_topdown::sample::Level1;

/// What a run of three benchmarks looks like.
#[derive(Clone, Copy)]
pub struct Kind {
    /// Additional backend-bound slots of the benchmark `sort`, as a fraction of all slots.
    pub slower: f64,
    /// The spread of launches, as a fraction.
    pub noise: f64,
    pub rustc: &'static str,
}

pub const PLAIN: Kind = Kind {
    slower: 0.0,
    noise: 0.001,
    rustc: "rustc 1.91.0",
};

/// How many runs this process has written.
static WRITTEN: AtomicU32 = AtomicU32::new(0);

/// Stores the run in `directory`.
pub fn write(kind: Kind, directory: &Path) {
    let benchmark = |name: &str, slower: f64| {
        Benchmark::of_launches(
            BenchmarkId {
                package: "suite".to_owned(),
                target: "kernels".to_owned(),
                name: name.to_owned(),
            },
            Provenance {
                source: SourceKind::Hardware,
                formula: "test/1".to_owned(),
                core_type: None,
                slots_per_cycle: Some(6),
                reason: "a test".to_owned(),
                empty_window: None,
                threads: Default::default(),
                elsewhere: None,
            },
            (0..10).map(|launch| {
                // Evenly spread around the mean.
                let offset = kind.noise * (f64::from(launch) - 4.5) / 4.5;
                let backend_bound_slots = 400.0 + 1000.0 * (slower + offset);
                let slots = 600.0 + backend_bound_slots;
                LaunchValue {
                    time: TimeValue {
                        launch,
                        samples_used: 20,
                        wall_ns: slots / 20.0,
                        ..TimeValue::default()
                    },
                    slots: Some(SlotsValue {
                        launch,
                        samples_used: 20,
                        slots,
                        level1: Some(Level1 {
                            slots: PerCategory {
                                retiring: 400.0,
                                bad_speculation: 50.0,
                                frontend_bound: 150.0,
                                backend_bound: backend_bound_slots,
                            },
                            smt_contention_slots: None,
                        }),
                        ..SlotsValue::default()
                    }),
                }
            }),
        )
    };
    let run = Run {
        // A run cannot be its own baseline.
        id: format!("20261120-{}", WRITTEN.fetch_add(1, Ordering::Relaxed)),
        started_at: "2026-11-20T10:00:00Z".to_owned(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        machine: Machine::of_this_machine(),
        build: Build {
            rustc: kind.rustc.to_owned(),
            profile: "bench".to_owned(),
            target: "x86_64-unknown-linux-gnu".to_owned(),
            ..Build::default()
        },
        launch_settings: LaunchSettings {
            launches: 10,
            sample_size: 20,
            warm_up_ms: 100,
            measurement_ms: 250,
        },
        shard: None,
        failed: Vec::new(),
        selection: Selection::default(),
        benchmarks: vec![
            benchmark("copy", 0.0),
            benchmark("parse", 0.0),
            benchmark("sort", kind.slower),
        ],
    };
    write_run(directory, &run, []).unwrap();
}
