//! The runs of `tests/data` as values.

use topdown_run::activity::UncountedWork;
use topdown_run::category::PerCategory;
use topdown_run::code::CodeCounts;
use topdown_run::code_samples::{Sampled, SamplingEngine};
use topdown_run::event::{Event, Events, LaunchEvents};
use topdown_run::machine::Machine;
use topdown_run::provenance::{CountedThreads, EmptyWindow, Provenance, SourceKind};
use topdown_run::run_file::{
    Benchmark, BenchmarkId, Build, Cold, Filter, Fingerprint, Function, FunctionFingerprint,
    Functions, Hash, LaunchSettings, LaunchValue, LeftOut, OtherFunctions, Run, Selection, Series,
    Shard, SlotsValue, TargetId, Throughput, TimeValue, Unchanged,
};
use topdown_run::sample::Level1;

/// Returns the run of `tests/data/run-v1`, with every field set somewhere and every optional one
/// missing somewhere.
pub fn golden_run() -> Run {
    let hardware = Provenance {
        core_type: Some("cpu_core".to_owned()),
        slots_per_cycle: Some(6),
        empty_window: Some(EmptyWindow {
            slots: Some(210),
            wall_ns: 41,
            ..EmptyWindow::default()
        }),
        ..Provenance::new(
            SourceKind::Hardware,
            "intel-perf-metrics/1",
            "the counters work",
        )
    };
    let time = Provenance::for_clock("measured with criterion's wall clock");
    let model = Provenance {
        slots_per_cycle: Some(6),
        ..Provenance::new(
            SourceKind::Model,
            "model-golden-cove/1",
            "no counters; modelled",
        )
    };
    let id = |package: &str, target: &str, name: &str| BenchmarkId {
        package: package.to_owned(),
        target: target.to_owned(),
        name: name.to_owned(),
    };
    Run {
        id: "20261121T023000Z-4f2a".to_owned(),
        started_at: "2026-11-21T02:30:00Z".to_owned(),
        tool_version: "0.1.0".to_owned(),
        machine: Machine {
            architecture: "x86_64".to_owned(),
            vendor: "GenuineIntel".to_owned(),
            family: 6,
            model: 143,
            stepping: 8,
            name: "Intel(R) Xeon(R) Platinum 8481C".to_owned(),
            hypervisor: Some("kvm".to_owned()),
            smt_active: Some(true),
            cores: None,
            cpus: 8,
            kernel: Some("6.12.1-amd64".to_owned()),
            microcode: Some("0x2b000603".to_owned()),
            governor: Some("performance".to_owned()),
            host: Some("runner-7".to_owned()),
        },
        build: Build {
            rustc: "rustc 1.95.0 (59807616e 2026-04-14)".to_owned(),
            profile: "bench".to_owned(),
            target: "x86_64-unknown-linux-gnu".to_owned(),
            debug_information: Some(true),
            rustflags: "-C target-cpu=native".to_owned(),
            git_commit: Some("9405cb7d0c3b1f0a6f0c1e7f1a2b3c4d5e6f7081".to_owned()),
            git_dirty: Some(false),
        },
        launch_settings: LaunchSettings {
            launches: 2,
            sample_size: 20,
            warm_up_ms: 100,
            measurement_ms: 500,
        },
        competing_threads: None,
        shard: None,
        failed: Vec::new(),
        selection: Selection::default(),
        benchmarks: vec![
            Benchmark {
                throughput: Some(Throughput {
                    per_iteration: 1024,
                    unit: "bytes".to_owned(),
                }),
                functions: Some(golden_functions().into()),
                fingerprint: Some(golden_fingerprint()),
                launches_differ: Some("they execute different instructions".to_owned()),
                cold: Some(Box::new(Cold {
                    iterations: 3,
                    slots: vec![1e6, 1.0 / 3.0],
                    instructions: vec![2e5, 0.0],
                })),
                ..Benchmark::of_launches(
                    id("parser", "throughput", "json/twitter/1024"),
                    hardware.clone(),
                    [full_value(0, 1.0), full_value(1, 1.0 / 3.0)],
                )
            },
            Benchmark {
                functions: Some(Box::new(Functions {
                    iterations: 1,
                    largest: vec![function(None, None, code_counts(1))],
                    others: None,
                    sampled: None,
                    lock: None,
                })),
                ..Benchmark::of_launches(
                    id("parser", "contended", "lock \"quoted\" größe"),
                    Provenance {
                        threads: CountedThreads::All,
                        ..hardware
                    },
                    [contended_value()],
                )
            },
            Benchmark::of_launches(
                id("storage", "io", "read"),
                Provenance {
                    elsewhere: Some(UncountedWork::Waiting { fraction: 0.75 }),
                    ..time.clone()
                },
                [timed_value(0, 123456.78901234567)],
            ),
            // Modelled twice and timed three times, and modelled in three schedules.
            Benchmark {
                slots: Some(Series {
                    provenance: model.clone().into(),
                    launches: vec![modelled_value(0), modelled_value(1)],
                }),
                schedules: Some(Series {
                    provenance: model.into(),
                    launches: [0, 1, 2].map(modelled_value).to_vec(),
                }),
                ..Benchmark::of_launches(
                    id("storage", "io", "hash"),
                    time,
                    [
                        timed_value(0, 40.5),
                        timed_value(1, 41.0),
                        timed_value(2, 40.25),
                    ],
                )
            },
        ],
    }
}

/// Returns the run of `tests/data/run-v1-part`: the same as a part of a suite, of which a target
/// failed.
pub fn golden_part() -> Run {
    Run {
        shard: Some(Shard {
            number: 2,
            of: 4,
            benchmarks: 4,
            suite: "0123456789abcdef".to_owned(),
        }),
        failed: vec!["parser::latency".to_owned()],
        selection: golden_selection(),
        ..golden_run()
    }
}

fn golden_selection() -> Selection {
    let id = |name: &str| BenchmarkId {
        package: "parser".to_owned(),
        target: "throughput".to_owned(),
        name: name.to_owned(),
    };
    let target = |name: &str| TargetId {
        package: "parser".to_owned(),
        target: name.to_owned(),
    };
    Selection {
        filter: Some(Filter {
            expression: "json|lock".to_owned(),
            exact: true,
        }),
        expression: None,
        only_targets: Some(vec![target("throughput")]),
        without_targets: vec![target("latency")],
        left_out: vec![LeftOut {
            package: Some("parser".to_owned()),
            pattern: "slow/*".to_owned(),
        }],
        only_benchmarks: Some(vec![id("json/twitter/1024")]),
        unchanged: Some(Unchanged {
            since: "20261119T080000Z-8c1e".to_owned(),
            benchmarks: vec![id("json/citm/1024")],
        }),
    }
}

fn golden_fingerprint() -> Fingerprint {
    Fingerprint {
        code: Hash(0xc0de),
        data: Hash(u64::MAX),
        functions: vec![
            FunctionFingerprint {
                name: None,
                module: Some("libc.so.6".to_owned()),
                code: Hash(1),
            },
            FunctionFingerprint {
                name: Some("suite::walk".to_owned()),
                module: None,
                code: Hash(2),
            },
        ],
    }
}

fn golden_functions() -> Functions {
    Functions {
        iterations: 8,
        largest: vec![
            function(Some("parser::json::Größe<T>::read"), None, code_counts(9)),
            function(Some("malloc"), Some("libc.so.6"), code_counts(5)),
            function(None, Some("libc.so.6"), code_counts(2)),
        ],
        others: Some(OtherFunctions {
            functions: 12,
            counts: code_counts(1),
        }),
        sampled: Some(golden_sampled()),
        lock: None,
    }
}

fn function(name: Option<&str>, module: Option<&str>, counts: CodeCounts) -> Function {
    Function {
        name: name.map(str::to_owned),
        module: module.map(str::to_owned),
        counts,
        category_hits: Some(400),
        category_margin: Some(0.0625),
    }
}

fn timed_value(launch: u32, wall_ns: f64) -> LaunchValue {
    LaunchValue {
        time: TimeValue {
            launch,
            samples_used: 19,
            samples_dropped: 1,
            wall_ns,
        },
        slots: None,
    }
}

fn full_value(launch: u32, factor: f64) -> LaunchValue {
    let cycles = 1000.0 / 6.0 * factor;
    LaunchValue {
        time: TimeValue {
            launch,
            samples_used: 20,
            samples_dropped: launch,
            wall_ns: 250.5 * factor,
        },
        slots: Some(SlotsValue {
            launch,
            samples_used: 20,
            samples_dropped: launch,
            slots: 1000.0 * factor,
            level1: Some(Level1 {
                slots: PerCategory {
                    retiring: 400.25 * factor,
                    bad_speculation: -0.25 * factor,
                    frontend_bound: 100.0 * factor,
                    backend_bound: 500.0 * factor,
                },
                smt_contention_slots: None,
            }),
            level2: Some(PerCategory {
                retiring: 5e-7 * factor,
                bad_speculation: 0.0,
                frontend_bound: 60.0 * factor,
                backend_bound: 450.0 * factor,
            }),
            instructions: Some(900.0 * factor),
            cycles: Some(cycles),
            events: Events::NONE
                .with(Event::Branches, cycles / 7.0)
                .with(Event::MemoryReadBytes, 64.0)
                .into(),
            resolution_fraction: 0.00390625,
            window_fraction: Some(0.21),
        }),
    }
}

fn contended_value() -> LaunchValue {
    let full = full_value(0, 1.0);
    let slots = full.slots.unwrap();
    LaunchValue {
        slots: Some(SlotsValue {
            level1: Some(Level1 {
                slots: PerCategory {
                    backend_bound: 487.5,
                    ..slots.level1.unwrap().slots
                },
                smt_contention_slots: Some(12.5),
            }),
            level2: None,
            events: LaunchEvents::default(),
            resolution_fraction: 0.0,
            window_fraction: None,
            ..slots
        }),
        ..full
    }
}

fn modelled_value(launch: u32) -> SlotsValue {
    SlotsValue {
        launch,
        samples_used: 4,
        samples_dropped: 0,
        resolution_fraction: 0.0,
        window_fraction: None,
        ..full_value(0, 1.0).slots.unwrap()
    }
}

pub fn code_counts(factor: u64) -> CodeCounts {
    CodeCounts {
        instructions: 70 * factor,
        level1_slots: PerCategory::in_order([80, 10, 20, 50]).map(|slots| slots * factor),
        level2_slots: PerCategory::in_order([4, 9, 15, 50]).map(|slots| slots * factor),
    }
}

pub fn golden_sampled() -> Sampled {
    Sampled {
        engine: SamplingEngine::OwnPeriods,
        period_cycles: 40_023,
        hits: 20_000,
        effective_hits: 19_000,
        lost: 7,
        throttled: 1,
    }
}
