//! The hardware source on a machine without a PMU: this process simulates the kernel and the CPU.
//!
//! The library's own system calls and RDPMC instructions are trapped and answered as recorded from
//! Linux, so that the tests cover the code that ships. `trap` catches them, `machine` and `pages`
//! answer, and `system` provides the files. The tests are in `opening`, `windows` and `looking`,
//! `refused` for reads that the CPU refuses, `nested` for windows around others, `metrics` for the
//! other forms of PERF_METRICS, `exact` and `groups` for plain counters, `newest` for cores that no
//! emulated machine has, `threads` for all threads of a process, `tree` for commands, and
//! `sampling` for launches that record where the code is.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod exact;
mod groups;
mod latencies;
mod looking;
mod machine;
mod metrics;
mod nested;
mod newest;
mod opening;
mod pages;
mod refused;
mod sampling;
mod system;
mod threads;
mod trap;
mod tree;
mod windows;

use std::sync::Once;

use topdown_counters::error::OpenError;
use topdown_counters::hardware::Hardware;
use topdown_counters::{Reading, Source};
use topdown_run::sample::Sample;
use topdown_run::setting::Counters;
use topdown_skipped::{Need, skip};

use machine::Machine;
use system::System;
use trap::with;

/// The cost of a look at the slots while the source is opened: enough for its self-check.
const SLOTS_PER_LOOK_AT_OPEN: u64 = 400_000;

/// Opens the source on a machine under this thread: see [`trapped`].
fn try_open(
    system: &System,
    prepare: impl FnOnce(&mut Machine),
) -> Option<Result<Hardware, OpenError>> {
    try_open_with(system, Counters::Auto, prepare)
}

fn try_open_with(
    system: &System,
    counters: Counters,
    prepare: impl FnOnce(&mut Machine),
) -> Option<Result<Hardware, OpenError>> {
    let prepare = |machine: &mut Machine| {
        machine.slots_per_look = SLOTS_PER_LOOK_AT_OPEN;
        prepare(machine);
    };
    trapped(prepare, || Hardware::open_with(&system.paths(), counters))
}

/// Puts a machine under this thread and opens something on it. Skips the test if this system does
/// not let a process trap its own calls.
fn trapped<T>(prepare: impl FnOnce(&mut Machine), open: impl FnOnce() -> T) -> Option<T> {
    // While others read no counters, lets the library install its handler of refused reads, and
    // `trap` take its place.
    static HANDLER: Once = Once::new();
    HANDLER.call_once(|| {
        let mut machine = Machine::new();
        exact::as_skylake(&mut machine);
        if trap::install(machine).is_ok() {
            let opened = Hardware::open_with(&exact::skylake().paths(), Counters::Exact);
            assert!(opened.is_ok(), "{opened:?}");
        }
    });
    let mut machine = Machine::new();
    prepare(&mut machine);
    if let Err(reason) = trap::install(machine) {
        skip(Need::Trap, reason);
        return None;
    }
    let opened = open();
    with(|machine| {
        machine.slots_per_look = 0;
        assert_eq!(machine.violations, [""; 0]);
    });
    Some(opened)
}

fn window(hardware: &impl Source, inside: impl FnOnce(&mut Machine)) -> Sample {
    let start = hardware.start();
    with(inside);
    let sample = end(hardware, &start);
    with(|machine| assert_eq!(machine.violations, [""; 0]));
    sample
}

/// Ends the only window of a sample.
fn end(source: &impl Source, start: &Reading) -> Sample {
    source.completed(&source.end(start))
}

/// A window at the beginning of a sample.
fn first_window(hardware: &impl Source, inside: impl FnOnce(&mut Machine)) -> Sample {
    hardware.sample_boundary();
    window(hardware, inside)
}

/// Like [`try_open`], but must succeed. The thread then stays on its CPU, since a real move would
/// be noticed, as it should.
fn open(system: &System, prepare: impl FnOnce(&mut Machine)) -> Option<Hardware> {
    stay_on_this_cpu();
    try_open(system, prepare).map(|opened| opened.unwrap())
}

fn refusal(system: &System, prepare: impl FnOnce(&mut Machine)) -> Option<OpenError> {
    refusal_with(system, Counters::Auto, prepare)
}

fn refusal_with(
    system: &System,
    counters: Counters,
    prepare: impl FnOnce(&mut Machine),
) -> Option<OpenError> {
    try_open_with(system, counters, prepare).map(|opened| {
        let error = opened.unwrap_err();
        with(|machine| assert_eq!(machine.open_events(), 0, "a refused group is closed"));
        error
    })
}

fn allowed_cpus() -> Vec<usize> {
    // SAFETY: the set is valid for writes of its size, and CPU_ISSET only reads it.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of_val(&set), &mut set);
        (0..libc::CPU_SETSIZE as usize)
            .filter(|cpu| libc::CPU_ISSET(*cpu, &set))
            .collect()
    }
}

/// Pins the thread, since a real move would be noticed, as it should.
fn stay_on_this_cpu() {
    // SAFETY: the call takes nothing and has no effect.
    run_on(unsafe { libc::sched_getcpu() } as usize);
}

fn run_on(cpu: usize) {
    // SAFETY: the set is valid for reads of its size.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        assert_eq!(libc::sched_setaffinity(0, size_of_val(&set), &set), 0);
    }
}
