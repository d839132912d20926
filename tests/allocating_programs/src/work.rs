//! Allocating work, and the model's counts of it: a line for each.

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, realloc};
use std::collections::HashMap;
use std::hint::black_box;
use std::panic::{catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use topdown_counters::Source;
use topdown_model::Model;
use topdown_run::event::Event;

/// The counts, in order.
pub const NAMES: [&str; 6] = [
    "allocations",
    "allocated_bytes",
    "reallocations",
    "reallocated_bytes",
    "frees",
    "freed_bytes",
];

const WORK: [(&str, fn()); 13] = [
    ("nothing", nothing),
    ("boxes", boxes),
    ("vector", vector),
    ("format", format),
    ("zeroed", zeroed),
    ("aligned", aligned),
    ("reallocated", reallocated::<1>),
    ("reallocated aligned", reallocated::<64>),
    ("map", map),
    ("panic", panic),
    ("recursive", recursive),
    ("beside", allocating_thread),
    ("c", c),
];

fn nothing() {
    let mut sum = 0_u64;
    for n in 0..black_box(1000) {
        sum = sum.wrapping_mul(31).wrapping_add(n);
    }
    black_box(sum);
}

fn boxes() {
    for n in 0..10_u64 {
        black_box(Box::new(n));
    }
}

fn vector() {
    let mut all = Vec::new();
    for n in 0..100_u64 {
        all.push(black_box(n));
    }
    black_box(&all);
}

fn format() {
    let mut text = String::new();
    for n in 0..10 {
        text += &format!("{} {:?}, ", black_box(n), black_box("words"));
    }
    black_box(&text);
}

fn zeroed() {
    black_box(vec![0_u8; black_box(1000)]);
    black_box(vec![0_u64; black_box(40_000)]);
}

fn aligned() {
    #[repr(align(64))]
    struct Line([u8; 100]);
    for _ in 0..3 {
        black_box(Box::new(Line([black_box(1); 100])).0[0]);
    }
    let layout = Layout::from_size_align(black_box(4096), 4096).unwrap();
    // SAFETY: the size is not 0, and the memory is given back as it was asked for.
    unsafe {
        let pointer = black_box(alloc_zeroed(layout));
        dealloc(pointer, layout);
    }
}

fn reallocated<const ALIGN: usize>() {
    let layout = |bytes| Layout::from_size_align(bytes, ALIGN).unwrap();
    // SAFETY: the sizes are not 0, and each is what was asked for last.
    unsafe {
        let pointer = black_box(alloc(layout(black_box(10))));
        let pointer = black_box(realloc(pointer, layout(10), black_box(100_000)));
        let pointer = black_box(realloc(pointer, layout(100_000), black_box(5)));
        dealloc(pointer, layout(5));
    }
}

fn map() {
    let mut all: HashMap<u64, String> = HashMap::new();
    for n in 0..50 {
        all.insert(n * 77, n.to_string());
    }
    all.retain(|n, _| n % 2 == 0);
    black_box(&all);
}

fn panic() {
    let caught = catch_unwind(|| resume_unwind(Box::new(black_box([1_u64; 5]))));
    black_box(caught.is_err());
}

fn recursive() {
    fn tree(depth: u32) -> Option<Box<[Option<Box<u64>>; 2]>> {
        let more = depth.checked_sub(1)?;
        black_box(tree(more));
        black_box(tree(more));
        Some(Box::new([Some(Box::new(1)), None]))
    }
    black_box(tree(black_box(5)));
}

/// Another thread allocates all the time.
fn allocating_thread() {
    boxes();
    vector();
}

/// Code in C.
fn c() {
    // SAFETY: each place is given back once.
    unsafe {
        let first = black_box(libc::malloc(black_box(100)));
        let second = black_box(libc::calloc(black_box(3), black_box(70)));
        let third = black_box(libc::realloc(black_box(std::ptr::null_mut()), black_box(8)));
        let third = black_box(libc::realloc(third, black_box(800)));
        let fourth = black_box(libc::aligned_alloc(64, black_box(640)));
        for pointer in [first, second, third, fourth, std::ptr::null_mut()] {
            libc::free(black_box(pointer));
        }
    }
}

/// Prints what the model says, and passes each work to `also`.
pub fn print(also: impl Fn(fn())) {
    let model = Model::open().unwrap();
    static ENDS: AtomicBool = AtomicBool::new(false);
    for (name, work) in WORK {
        let other = (name == "beside").then(|| {
            std::thread::spawn(|| {
                // Not for ever: an arena has an end.
                let mut left = 100_000;
                while !ENDS.load(Ordering::Relaxed) {
                    if left > 0 {
                        left -= 1;
                        black_box(vec![1_u8; black_box(300)]);
                    }
                }
            })
        });
        // What happens once happens now.
        work();
        model.benchmark_boundary();
        let start = model.start();
        work();
        let sample = model.end(&start);
        assert!(sample.slots.is_some(), "{name}: {}", model.provenance().reason);
        print!("{}", name.replace(' ', "-"));
        for event in Event::ALL {
            if let (true, Some(count)) = (NAMES.contains(&event.name()), sample.events.get(event)) {
                print!(" {}={count}", event.name());
            }
        }
        println!();
        also(work);
        ENDS.store(other.is_some(), Ordering::Relaxed);
        if let Some(other) = other {
            other.join().unwrap();
        }
    }
}
