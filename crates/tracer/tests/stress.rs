//! Thousands of attach and detach cycles in all the ways in which criterion iterates, with panics
//! and a thread pool: nothing crashes and nothing is left over.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

#[path = "support/instructions.rs"]
mod instructions;

use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use criterion::{BatchSize, Criterion};
use instructions::{Count, Instructions};
use rayon::prelude::*;
use topdown_tracer::{Config, End, Tracer};

/// Cycles of each kind.
const CYCLES: u64 = 500;

/// What a process can leak.
#[derive(Debug)]
struct Holdings {
    files: usize,
    mappings: usize,
    threads: usize,
    resident_bytes: usize,
}

impl Holdings {
    fn now() -> Holdings {
        let entries = |directory| std::fs::read_dir(directory).unwrap().count();
        let text = |path| std::fs::read_to_string(path).unwrap();
        let pages: usize = text("/proc/self/statm")
            .split_whitespace()
            .nth(1)
            .and_then(|pages| pages.parse().ok())
            .unwrap();
        Holdings {
            files: entries("/proc/self/fd"),
            mappings: text("/proc/self/maps").lines().count(),
            threads: entries("/proc/self/task"),
            resident_bytes: pages * 4096,
        }
    }
}

/// Adds a benchmark of each kind until each has attached `CYCLES` times.
fn benches(directory: &std::path::Path) {
    let mut criterion = Criterion::default()
        .with_measurement(Instructions::new())
        .output_directory(directory)
        .without_plots()
        .warm_up_time(Duration::from_millis(5))
        .measurement_time(Duration::from_millis(20))
        .nresamples(1001)
        .sample_size(10);
    let mut attached = |bench: &mut dyn FnMut(&mut Criterion<Instructions>)| {
        let goal = instructions::ATTACHED.get() + CYCLES;
        while instructions::ATTACHED.get() < goal {
            bench(&mut criterion);
        }
    };
    let squares = || (0..black_box(20_u64)).map(|n| n * n).sum::<u64>();
    attached(&mut |criterion| {
        criterion.bench_function("iter", |bencher| bencher.iter(squares));
    });
    for size in [BatchSize::PerIteration, BatchSize::SmallInput] {
        attached(&mut |criterion| {
            criterion.bench_function("iter_batched", |bencher| {
                let sort = |mut values: Vec<u32>| {
                    values.sort();
                    values
                };
                bencher.iter_batched(|| vec![3_u32, 1, 2], sort, size);
            });
        });
    }
    attached(&mut |criterion| {
        criterion.bench_function("iter_custom", |bencher| {
            bencher.iter_custom(|iterations| {
                let own = Instructions::new();
                (0..iterations.min(50)).map(|_| own.of(squares)).sum()
            });
        });
    });
    attached(&mut |criterion| {
        let mut left = 5_u32;
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            criterion.bench_function("panic", |bencher| {
                bencher.iter_batched(
                    || (),
                    |()| {
                        left -= 1;
                        if left == 0 {
                            resume_unwind(Box::new("in the bench"));
                        }
                    },
                    BatchSize::PerIteration,
                );
            });
        }));
        assert!(panicked.is_err());
    });
}

/// A panic in each cycle, and one tracer for many.
fn panics() {
    let tracer = Tracer::new(Config::default(), Count::default()).unwrap();
    for n in 0..CYCLES {
        let caught = catch_unwind(AssertUnwindSafe(|| {
            let (): () = tracer.trace(|| resume_unwind(Box::new(n))).0;
        }));
        assert_eq!(caught.unwrap_err().downcast_ref(), Some(&n));
        assert_eq!(tracer.trace(|| black_box(n)), (n, Ok(End::Detach)));
    }
}

/// Work for other threads in each cycle.
fn pool() {
    let tracer = Tracer::new(Config::default(), Count::default()).unwrap();
    let values: Vec<u64> = (0..500).collect();
    for _ in 0..CYCLES {
        let sum = || values.par_iter().with_min_len(100).sum::<u64>();
        assert_eq!(tracer.trace(sum), (124_750, Ok(End::Detach)));
    }
}

/// Many tracers, one after the other.
fn tracers() {
    for n in 0..CYCLES {
        let tracer = Tracer::new(Config::default(), Count::default()).unwrap();
        assert_eq!(tracer.trace(|| black_box(n) + 1), (n + 1, Ok(End::Detach)));
    }
}

/// The only test in this process: another would open files and map memory in between.
#[test]
fn thousands_of_traces_leave_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    let all = || {
        benches(directory.path());
        panics();
        pool();
        tracers();
    };
    // The pool's threads, criterion's files and the allocator's pages come with the first round.
    all();
    let before = Holdings::now();
    all();
    let after = Holdings::now();
    println!("{before:?}, then {after:?}");
    assert_eq!(after.files, before.files);
    assert_eq!(after.threads, before.threads);
    // The allocator may have taken a few regions more. A tracer that is left over has more than
    // five mappings, and there were some thousand.
    assert!(
        after.mappings < before.mappings + 50,
        "{before:?}, then {after:?}"
    );
    assert!(
        after.resident_bytes < before.resident_bytes + (32 << 20),
        "{before:?}, then {after:?}"
    );
}
