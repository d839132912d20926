//! Wall time in core cycles: the clock is a chain of dependent additions.

use std::arch::asm;
use std::time::{Duration, Instant};

/// Time spent on each kernel.
const BUDGET: Duration = Duration::from_millis(400);
/// Additions of one reading of the clock: about 7 µs.
const ADDITIONS: u32 = 20_000;

/// Makes the allocator keep freed memory, so that page faults of one run do not recur in the next.
pub fn keep_pages() {
    // SAFETY: mallopt only changes parameters of the allocator; no other thread runs yet.
    unsafe {
        libc::mallopt(libc::M_TRIM_THRESHOLD, i32::MAX);
        libc::mallopt(libc::M_MMAP_MAX, 0);
    }
}

/// Cycles of the fastest runs: the 2nd percentile of those during which the clock kept its pace.
pub fn best_case_cycles(run: &mut dyn FnMut()) -> f64 {
    run();
    let mut samples = Vec::new();
    let start = Instant::now();
    while start.elapsed() < BUDGET || samples.len() < 10 {
        let before = cycle_ns();
        let began = Instant::now();
        run();
        let elapsed_ns = began.elapsed().as_nanos() as f64;
        let after = cycle_ns();
        let steady = (before / after - 1.0).abs() < 0.03;
        if steady || start.elapsed() > 4 * BUDGET {
            samples.push(elapsed_ns / before.min(after));
        }
    }
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 50]
}

/// Nanoseconds of one cycle now: one addition of a chain.
fn cycle_ns() -> f64 {
    let start = Instant::now();
    let mut left = ADDITIONS / 50;
    let mut sum = 1_u64;
    while left > 0 {
        // SAFETY: adds a register to itself; touches neither memory nor the stack.
        unsafe {
            asm!(
                ".rept 50",
                "add {0}, {0}",
                ".endr",
                inout(reg) sum,
                options(nomem, nostack)
            );
        }
        left -= 1;
    }
    std::hint::black_box(sum);
    start.elapsed().as_nanos() as f64 / f64::from(ADDITIONS)
}

/// Processor time of this thread: what other processes take is not in it.
pub fn thread_seconds() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call writes one timespec to the place it is given.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
