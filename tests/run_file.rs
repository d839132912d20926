//! Run files from the outside: everything written can be read back, in every later version.

use std::fs;
use std::path::Path;

use criterion_topdown::activity::{Activity, Elsewhere};
use criterion_topdown::category::PerCategory;
use criterion_topdown::code::{CodeBlock, CodeCall, CodeCounts, CodeSlots, Trail};
use criterion_topdown::event::{Event, Events};
use criterion_topdown::hits::{CodeHits, HitEngine, HitPlace, OwnHits, OwnPlace, Sampled};
use criterion_topdown::machine::Machine;
use criterion_topdown::provenance::{CountedThreads, EmptyWindow, Provenance, SourceKind};
use criterion_topdown::run_file::{
    Benchmark, BenchmarkId, Build, Filter, Fingerprint, Function, FunctionFingerprint, Functions,
    Hash, IterationSample, LaunchSamples, LaunchSettings, LaunchValue, LeftOut, OtherFunctions,
    Record, Run, Selection, Series, Shard, SlotsValue, TargetId, Throughput, TimeValue, Unchanged,
    copy_run, read_run, read_samples, remove_run, write_run, write_run_without_samples,
};
use criterion_topdown::sample::{Flags, GroupCounts, Level1, Sample};

const V1: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/run-v1");
const V1_PART: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/run-v1-part");
const RECORD_V1: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/record-v1.jsonl");

/// Returns the run of `tests/data/run-v1`, with every field set somewhere and every optional one
/// missing somewhere.
fn golden_run() -> Run {
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
    let time = Provenance::of_clock("measured with criterion's wall clock");
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
        shard: None,
        failed: Vec::new(),
        selection: Selection::default(),
        benchmarks: vec![
            Benchmark {
                throughput: Some(Throughput {
                    per_iteration: 1024,
                    unit: "bytes".to_owned(),
                }),
                functions: Some(golden_functions()),
                fingerprint: Some(golden_fingerprint()),
                ..Benchmark::of_launches(
                    id("parser", "throughput", "json/twitter/1024"),
                    hardware.clone(),
                    [full_value(0, 1.0), full_value(1, 1.0 / 3.0)],
                )
            },
            Benchmark {
                functions: Some(Functions {
                    iterations: 1,
                    largest: vec![function(None, None, code_counts(1))],
                    others: None,
                    sampled: None,
                }),
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
                    elsewhere: Some(Elsewhere::Waiting { fraction: 0.75 }),
                    ..time.clone()
                },
                [timed_value(0, 123456.78901234567)],
            ),
            // Modelled twice and timed three times.
            Benchmark {
                slots: Some(Series {
                    provenance: model,
                    launches: vec![modelled_value(0), modelled_value(1)],
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
fn golden_part() -> Run {
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
    }
}

fn golden_sampled() -> Sampled {
    Sampled {
        engine: HitEngine::OwnPeriods,
        period_cycles: 40_023,
        hits: 20_000,
        effective_hits: 19_000,
        lost: 7,
        throttled: 1,
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
                .with(Event::MemoryReadBytes, 64.0),
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
            events: Events::NONE,
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

fn code_counts(factor: u64) -> CodeCounts {
    CodeCounts {
        instructions: 70 * factor,
        level1_slots: PerCategory::in_order([80, 10, 20, 50]).map(|slots| slots * factor),
        level2_slots: PerCategory::in_order([4, 9, 15, 50]).map(|slots| slots * factor),
    }
}

/// Returns two blocks in two files; the first is in both samples.
fn golden_hits() -> CodeHits {
    CodeHits {
        modules: vec!["/a user/bench".to_owned(), "[vdso]".to_owned()],
        places: vec![HitPlace {
            module: 1,
            offset: 0x7fff_0000_1234,
            after: Some((0, 0x1234)),
            hits: 4,
            instructions: 5000,
            slots: 20_000,
            level1_slots: [0.1 + 0.2, -0.5, 1e4, 5.0].into(),
            level2_slots: [0.0, 0.0, 5e3, 0.25].into(),
        }],
        own: Some(OwnHits {
            events: vec!["ls_not_halted_cyc".to_owned(), "ex_ret_ops".to_owned()],
            periods: vec![0, 120_167],
            places: vec![OwnPlace {
                module: 0,
                offset: 0x1234,
                hits: 3,
                counts: vec![40_000, 360_501],
            }],
        }),
        sampled: golden_sampled(),
    }
}

fn golden_code() -> CodeSlots {
    let block = |module, offset, bytes| CodeBlock {
        module,
        offset,
        bytes,
        content: offset << 40 | 7,
        call: 0,
    };
    CodeSlots {
        modules: vec!["/a user/bench".to_owned(), "[vdso]".to_owned()],
        calls: vec![CodeCall {
            caller: 0,
            module: 0,
            offset: 0x201e,
        }],
        blocks: vec![
            block(0, 0x2010, 15),
            CodeBlock {
                call: 1,
                ..block(1, 0x7fff_f7fc_1000, 3)
            },
        ],
        samples: vec![
            vec![(0, code_counts(3))],
            vec![(0, code_counts(2)), (1, code_counts(1))],
        ],
        first_samples: vec![(0, 210)],
        first_samples_data: 0xffff_0000_ffff_0000,
        trail: Trail {
            number: 1,
            blocks: 5,
            hash: u64::MAX,
            every_blocks: 2,
            hashes: vec![3, u64::MAX],
            stretch_from: 4,
            stretch: vec![1],
        },
    }
}

fn golden_samples() -> Vec<LaunchSamples> {
    let run = golden_run();
    let counted = Sample {
        activity: None,
        windows: 1,
        wall_ns: 1_000_250,
        slots: Some(4_000_000),
        level1: Some(Level1 {
            slots: PerCategory {
                retiring: 1_600_000.0,
                bad_speculation: -8000.5,
                frontend_bound: 400_000.0,
                backend_bound: 2_008_000.5,
            },
            smt_contention_slots: None,
        }),
        level2: Some(PerCategory {
            backend_bound: 1_500_000.25,
            ..PerCategory::default()
        }),
        instructions: Some(3_600_000),
        cycles: Some(666_667),
        events: Events::NONE
            .with(Event::Branches, 95_238)
            .with(Event::MemoryReadBytes, 256_000),
        group_counts: None,
        resolution_slots: 7843.137254901961,
        flags: Flags::NONE,
        second_core: None,
    };
    let doubtful = Sample {
        windows: 3,
        flags: Flags::SWITCHED | Flags::MIGRATED,
        // Not every sample has a window that was watched.
        activity: Some(Activity {
            windows: 2,
            wall_ns: 900_000,
            own_ns: 90_000,
            others_ns: 1_600_000,
            blocked: 7,
        }),
        ..counted
    };
    let contended = Sample {
        level1: Some(Level1 {
            smt_contention_slots: Some(50_000.0),
            ..counted.level1.unwrap()
        }),
        level2: None,
        events: Events::NONE,
        resolution_slots: 0.0,
        ..counted
    };
    let timed = Sample {
        windows: 1,
        wall_ns: 123_457,
        ..Sample::EMPTY
    };
    let with = |iterations, sample| IterationSample { iterations, sample };
    let modelled = Sample {
        resolution_slots: 0.0,
        ..counted
    };
    let line = |index: usize, source, launch, samples| LaunchSamples {
        benchmark: run.benchmarks[index].id.clone(),
        source,
        launch,
        samples,
        groups: Vec::new(),
    };
    let (hardware, time) = (SourceKind::Hardware, SourceKind::Time);
    vec![
        line(
            0,
            hardware,
            0,
            vec![with(4000, counted), with(4000, doubtful)],
        ),
        line(1, hardware, 0, vec![with(4000, contended)]),
        line(2, time, 0, vec![with(1, timed)]),
        line(3, time, 0, vec![with(3, timed)]),
        line(0, hardware, 1, vec![with(4000, counted)]),
        line(3, time, 1, vec![with(3, timed)]),
        line(3, time, 2, vec![with(3, timed)]),
        line(3, SourceKind::Model, 0, vec![with(8, modelled)]),
        line(3, SourceKind::Model, 1, vec![with(8, modelled)]),
    ]
}

#[test]
fn version_1_is_read_for_ever() {
    assert_eq!(read_run(Path::new(V1)).unwrap(), golden_run());
    assert_eq!(read_samples(Path::new(V1)).unwrap(), golden_samples());
    assert_eq!(read_run(Path::new(V1_PART)).unwrap(), golden_part());
}

fn golden_record(mut samples: Vec<LaunchSamples>) -> Record {
    let samples = samples.swap_remove(0).samples;
    Record {
        provenance: golden_run().benchmarks[0].provenance().clone(),
        samples: samples.iter().map(|sample| sample.sample).collect(),
        groups: Vec::new(),
        code: None,
        hits: None,
    }
}

#[test]
fn a_record_carries_the_counts_of_a_metric_group() {
    let mut record = golden_record(golden_samples());
    for (sample, count) in record.samples.iter_mut().zip(1..) {
        sample.group_counts = GroupCounts::new(&[1000, count, 0]);
    }
    let line = record.to_line();
    assert_eq!(Record::from_line(&line).unwrap(), record);
    let json: serde_json::Value = serde_json::from_str(&line).unwrap();
    let mut wide = json.clone();
    let samples = json["samples"]["windows"].as_array().unwrap().len();
    let column = serde_json::json!(vec![0; samples]);
    wide["samples"]["group_counts"] = serde_json::json!(vec![column; 13]);
    let error = Record::from_line(&wide.to_string())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("13 events, more than a group can have"),
        "{error}"
    );
    let mut short = json;
    short["samples"]["group_counts"] = serde_json::json!([[1]]);
    assert!(Record::from_line(&short.to_string()).is_err());
}

#[test]
fn a_record_of_version_1_is_read_for_ever_and_written_again() {
    let line = fs::read_to_string(RECORD_V1).unwrap();
    let record = Record::from_line(&line).unwrap();
    let golden = Record {
        code: Some(golden_code()),
        hits: Some(golden_hits()),
        ..golden_record(golden_samples())
    };
    assert_eq!(record, golden);
    assert_eq!(record.to_line(), line);
}

#[test]
fn the_total_of_the_functions_has_the_others_in_it() {
    let run = golden_run();
    let functions = run.benchmarks[0].functions.as_ref().unwrap();
    assert_eq!(functions.total(), code_counts(9 + 5 + 2 + 1));
}

#[test]
fn what_is_read_is_written_again_byte_by_byte() {
    let directory = tempfile::tempdir().unwrap();
    let golden = Path::new(V1);
    let samples = read_samples(golden).unwrap();
    write_run(directory.path(), &read_run(golden).unwrap(), &samples).unwrap();
    for file in fs::read_dir(golden).unwrap() {
        let file = file.unwrap();
        let written = directory.path().join(file.file_name());
        assert_eq!(
            fs::read_to_string(written).unwrap(),
            fs::read_to_string(file.path()).unwrap()
        );
    }
}

fn files_in(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn run_called(id: &str) -> Run {
    Run {
        id: id.to_owned(),
        ..golden_run()
    }
}

#[test]
fn a_run_replaces_the_one_before_and_its_samples() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    write_run(directory, &run_called("first"), &golden_samples()).unwrap();
    assert_eq!(files_in(directory), ["run.json", "samples-first.jsonl"]);
    write_run(directory, &run_called("second"), &golden_samples()).unwrap();
    assert_eq!(files_in(directory), ["run.json", "samples-second.jsonl"]);
    assert_eq!(read_run(directory).unwrap().id, "second");
    copy_run(Path::new(V1), directory).unwrap();
    assert_eq!(files_in(directory), files_in(Path::new(V1)));
    // Copying onto itself loses nothing.
    copy_run(directory, directory).unwrap();
    assert_eq!(read_samples(directory).unwrap(), golden_samples());
    remove_run(directory).unwrap();
    assert!(!directory.exists());
}

#[test]
fn a_run_without_its_samples_can_be_kept_and_compared() {
    let directory = tempfile::tempdir().unwrap();
    let alone = directory.path().join("downloaded.json");
    fs::copy(Path::new(V1).join("run.json"), &alone).unwrap();
    let kept = directory.path().join("kept");
    copy_run(&alone, &kept).unwrap();
    assert_eq!(read_run(&kept).unwrap(), golden_run());
    let error = read_samples(&kept).unwrap_err().to_string();
    assert!(
        error.contains("samples-20261121T023000Z-4f2a.jsonl"),
        "{error}"
    );
}

#[test]
fn what_a_killed_writer_left_is_ignored_and_cleared_away_when_it_is_old() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    write_run(directory, &run_called("first"), &golden_samples()).unwrap();
    let hours_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(2 * 60 * 60);
    for (name, is_old) in [
        ("run.json.4711.tmp", true),
        ("samples-killed.jsonl.4711.tmp", true),
        ("samples-killed.jsonl", true),
        ("samples-other-writer.jsonl", false),
        ("README.md", true),
    ] {
        let file = fs::File::create(directory.join(name)).unwrap();
        if is_old {
            file.set_modified(hours_ago).unwrap();
        }
    }
    assert_eq!(read_run(directory).unwrap().id, "first");
    assert_eq!(read_samples(directory).unwrap(), golden_samples());
    write_run(directory, &run_called("second"), &golden_samples()).unwrap();
    assert_eq!(
        files_in(directory),
        [
            "README.md",
            "run.json",
            "samples-other-writer.jsonl",
            "samples-second.jsonl"
        ]
    );
}

#[test]
fn a_run_that_cannot_be_written_leaves_the_one_before() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    write_run(directory, &run_called("first"), &golden_samples()).unwrap();
    let before = files_in(directory);
    // Directories in place of files: this also works for root, who ignores permissions.
    fs::create_dir(directory.join("samples-second.jsonl")).unwrap();
    let error = write_run(directory, &run_called("second"), &golden_samples()).unwrap_err();
    assert!(error.path.ends_with("samples-second.jsonl"), "{error}");
    fs::remove_dir(directory.join("samples-second.jsonl")).unwrap();
    let error = write_run(directory, &run_called("../second"), &golden_samples()).unwrap_err();
    assert!(error.to_string().contains("field `id`"), "{error}");
    assert_eq!(files_in(directory), before);
    assert_eq!(read_run(directory).unwrap().id, "first");
}

#[test]
fn a_run_says_which_shard_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let shard = |number| Run {
        shard: Some(Shard {
            number,
            of: 4,
            benchmarks: 2,
            suite: "0123456789abcdef".to_owned(),
        }),
        ..golden_run()
    };
    write_run_without_samples(directory.path(), &shard(2)).unwrap();
    assert_eq!(read_run(directory.path()).unwrap(), shard(2));
    assert_eq!(files_in(directory.path()), ["run.json"]);
    write_run_without_samples(directory.path(), &shard(5)).unwrap();
    let error = read_run(directory.path()).unwrap_err().to_string();
    assert!(
        error.ends_with("field `shard.number` is 5; it must be 1 to 4"),
        "{error}"
    );
}
