//! The samples and the record of `tests/data` as values.

use topdown_run::activity::Activity;
use topdown_run::category::PerCategory;
use topdown_run::code::{CodeBlock, CodeCall, CodeSlots, Trail};
use topdown_run::code_samples::{CodeSamples, EventAddress, EventSamples, SampledAddress};
use topdown_run::event::{Event, Events};
use topdown_run::provenance::SourceKind;
use topdown_run::run_file::{IterationSample, LaunchSamples, Record};
use topdown_run::sample::{Flags, Level1, Sample};

use crate::golden_run::{code_counts, golden_run, golden_sampled};

pub fn golden_samples() -> Vec<LaunchSamples> {
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

pub fn golden_record(mut samples: Vec<LaunchSamples>) -> Record {
    let samples = samples.swap_remove(0).samples;
    Record {
        provenance: golden_run().benchmarks[0].provenance().clone(),
        samples: samples.iter().map(|sample| sample.sample).collect(),
        first: None,
        groups: Vec::new(),
        code: None,
        hits: None,
    }
}

/// Returns two blocks in two files; the first is in both samples.
pub fn golden_code() -> CodeSlots {
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
        events: Vec::new(),
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
            digest: None,
        },
        lock: Vec::new(),
    }
}

pub fn golden_hits() -> CodeSamples {
    CodeSamples {
        modules: vec!["/a user/bench".to_owned(), "[vdso]".to_owned()],
        places: vec![SampledAddress {
            module: 1,
            offset: 0x7fff_0000_1234,
            after: Some((0, 0x1234)),
            hits: 4,
            instructions: 5000,
            slots: 20_000,
            level1_slots: [0.1 + 0.2, -0.5, 1e4, 5.0].into(),
            level2_slots: [0.0, 0.0, 5e3, 0.25].into(),
        }],
        own: Some(EventSamples {
            events: vec!["ls_not_halted_cyc".to_owned(), "ex_ret_ops".to_owned()],
            periods: vec![0, 120_167],
            places: vec![EventAddress {
                module: 0,
                offset: 0x1234,
                hits: 3,
                counts: vec![40_000, 360_501],
            }],
        }),
        sampled: golden_sampled(),
    }
}
