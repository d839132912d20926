//! A record's allocations depend neither on the clock nor on what was executed: on the model, the
//! heap's layout affects slots.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::BufWriter;

use topdown_counters::Source;
use topdown_model::Model;
use topdown_run::activity::Activity;
use topdown_run::code::CodeSlots;
use topdown_run::provenance::{EmptyWindow, Provenance, SourceKind};
use topdown_run::record::Record;
use topdown_run::sample::{Level1, Sample};

thread_local! {
    /// Number of allocations and deallocations, and the sum of their sizes. Order is ignored,
    /// because module names are freed in the order of their use.
    static REQUESTS: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

struct Counted;

impl Counted {
    fn request(bytes: usize) {
        let (count, sum) = REQUESTS.get();
        REQUESTS.set((count + 1, sum.wrapping_add(bytes.wrapping_mul(bytes))));
    }
}

// SAFETY: forwards everything to the system's allocator.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Counted::request(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        Counted::request(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counted = Counted;

fn record(ns: u64) -> Record {
    let sample = Sample {
        windows: 10,
        wall_ns: ns,
        slots: Some(4000),
        level1: Some(Level1::default()),
        activity: Some(Activity {
            windows: 2,
            wall_ns: ns,
            own_ns: ns,
            ..Activity::default()
        }),
        ..Sample::EMPTY
    };
    Record {
        provenance: Provenance {
            slots_per_cycle: Some(8),
            empty_window: Some(EmptyWindow {
                slots: Some(352),
                cycles: None,
                instructions: None,
                wall_ns: ns,
            }),
            ..Provenance::new(SourceKind::Model, "model-zen-5/8", "a model")
        },
        samples: vec![sample; 100],
        first: None,
        groups: Vec::new(),
        code: Some(CodeSlots::default()),
        hits: None,
    }
}

#[test]
fn allocations_of_a_record_do_not_depend_on_time() {
    let requests_for = |ns| {
        let record = record(ns);
        let before = REQUESTS.replace((0, 0));
        let mut out = BufWriter::new(std::io::sink());
        record.write_line(&mut out).unwrap();
        drop(out);
        REQUESTS.replace(before)
    };
    let short = requests_for(9);
    assert_eq!(short, requests_for(u64::MAX));
    assert!(short.0 > 0, "the allocator counts");
    // In contrast, a line in memory grows with its numbers.
    let in_memory = |ns| {
        let record = record(ns);
        let before = REQUESTS.replace((0, 0));
        drop(record.to_line());
        REQUESTS.replace(before)
    };
    assert_ne!(in_memory(9), in_memory(u64::MAX));
}

/// Takes a record of one sample of `work`, and returns the number of code blocks in it, with the
/// requests.
fn taken(model: &Model, work: impl FnOnce()) -> (usize, (usize, usize)) {
    model.benchmark_boundary();
    model.sample_boundary();
    let start = model.start();
    work();
    model.end(&start);
    model.sample_kept();
    let before = REQUESTS.replace((0, 0));
    let code = model.take_code().expect("it was traced");
    let blocks = code.blocks.len();
    drop(code);
    (blocks, REQUESTS.replace(before))
}

#[test]
fn allocations_of_a_modelled_record_are_constant() {
    let Ok(model) = Model::open() else {
        eprintln!("skipped: code cannot be traced on this machine");
        return;
    };
    let (few, requests) = taken(&model, || {
        std::hint::black_box(1 + std::hint::black_box(2));
    });
    let (many, same_requests) = taken(&model, || {
        let mut text: Vec<String> = (0..1000).map(|n| (n * 7 % 100).to_string()).collect();
        text.sort();
        std::hint::black_box(text.join(", "));
    });
    assert!(many > few + 20, "{few} {many}");
    assert_eq!(requests, same_requests);
}
