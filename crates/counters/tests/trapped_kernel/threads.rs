//! All threads of a process: whose groups are opened and when, and what their windows contain.

use std::thread;
use std::time::{Duration, Instant};

use topdown_counters::cpu::FORMULA_LEVEL2;
use topdown_counters::error::OpenError;
use topdown_counters::hardware::Hardware;
use topdown_counters::{Source, Wanted};
use topdown_run::provenance::CountedThreads;
use topdown_run::sample::Flags;
use topdown_run::setting::{Counters, Threads};

use crate::exact::{SLOTS_PER_LOOK, as_skylake, assert_mix, skylake};
use crate::machine::{CYCLES, Call, Machine};
use crate::system::System;
use crate::trap::with;
use crate::{stay_on_this_cpu, trapped, window};

/// The thread under test, and two others.
const THREADS: [i32; 3] = [7001, 7002, 7003];

pub fn open(
    system: &System,
    counters: Counters,
    threads: Threads,
    prepare: impl FnOnce(&mut Machine),
) -> Option<Result<Hardware, OpenError>> {
    stay_on_this_cpu();
    system.add_threads(&THREADS);
    let prepare = |machine: &mut Machine| {
        machine.slots_per_look = SLOTS_PER_LOOK;
        machine.threads = THREADS.to_vec();
        prepare(machine);
    };
    let wanted = Wanted::Categories(counters);
    trapped(prepare, || {
        Hardware::open_counting(&system.paths(), wanted, threads)
    })
}

/// Measures a window in which another, real thread runs on a processor.
fn window_of_others(hardware: &Hardware) {
    // Windows in quick succession are not watched.
    thread::sleep(Duration::from_millis(2));
    let start = hardware.start();
    let work = || {
        let begun_at = Instant::now();
        while begun_at.elapsed() < Duration::from_millis(20) {
            std::hint::spin_loop();
        }
    };
    thread::scope(|scope| {
        scope.spawn(work);
    });
    hardware.end(&start);
}

/// Lets the source decide, as between two samples of a warm-up.
fn decide(hardware: &Hardware) {
    with(|machine| machine.slots_per_look = SLOTS_PER_LOOK);
    hardware.sample_boundary();
    with(|machine| {
        machine.slots_per_look = 0;
        assert_eq!(machine.violations, [""; 0]);
    });
}

/// Lets three threads work.
fn work_of_all(machine: &mut Machine) {
    machine.work(300_000);
    machine.work_of(THREADS[1], 500_000);
    machine.work_of(THREADS[2], 200_000);
}

#[test]
fn slots_of_all_threads_use_a_group_each() {
    let system = skylake();
    let Some(hardware) = open(&system, Counters::Auto, Threads::All, as_skylake) else {
        return;
    };
    let hardware = hardware.unwrap();
    let provenance = hardware.provenance();
    assert_eq!(provenance.threads, CountedThreads::All);
    assert_eq!(provenance.formula, "skylake-exact/1");
    assert!(provenance.empty_window.is_some());
    let leaders = |machine: &mut Machine| {
        let calls = machine.calls.iter();
        calls.filter(|call| **call == Call::Open(CYCLES)).count()
    };
    // The measuring thread's own group, which is off the PMU now, and one for each thread.
    assert_eq!(with(leaders), 1 + THREADS.len());
    assert!(with(|machine| machine.calls.contains(&Call::Disable)));
    let sample = window(&hardware, work_of_all);
    assert_mix(&sample, 1_000_000);
    assert_eq!(sample.instructions, Some(500_000));
    assert_eq!(sample.cycles, Some(250_000));
    assert_eq!(sample.flags, Flags::NONE);
}

#[test]
fn ratios_of_all_threads_sum_kernel_values() {
    let system = System::sapphire_rapids();
    let Some(hardware) = open(&system, Counters::Metrics, Threads::All, |_| {}) else {
        return;
    };
    let hardware = hardware.unwrap();
    assert_eq!(hardware.provenance().formula, FORMULA_LEVEL2);
    assert_eq!(
        hardware.provenance().threads,
        CountedThreads::All,
        "{}",
        hardware.provenance().reason
    );
    let sample = window(&hardware, work_of_all);
    assert_eq!(sample.slots, Some(1_000_000));
    let level1 = sample.level1.unwrap();
    assert_eq!(level1.slots.retiring, 400_000.0);
    assert_eq!(level1.slots.backend_bound, 300_000.0);
    assert_eq!(sample.level2.unwrap().backend_bound, 180_000.0);
    assert!(sample.resolution_slots > 0.0);
}

#[test]
fn other_threads_are_counted_only_while_working() {
    let system = skylake();
    let Some(hardware) = open(&system, Counters::Auto, Threads::Auto, as_skylake) else {
        return;
    };
    let hardware = hardware.unwrap();
    assert_eq!(hardware.provenance().threads, CountedThreads::Own);
    let alone = window(&hardware, work_of_all);
    assert_eq!(alone.slots, Some(300_000));
    window_of_others(&hardware);
    decide(&hardware);
    assert_eq!(
        hardware.provenance().threads,
        CountedThreads::All,
        "{}",
        hardware.provenance().reason
    );
    assert_mix(&window(&hardware, work_of_all), 1_000_000);
    hardware.sample_kept();
    hardware.benchmark_boundary();
    // The next benchmark gets the thread's own group back.
    assert_eq!(hardware.provenance().threads, CountedThreads::Own);
    let alone = window(&hardware, work_of_all);
    assert_eq!((alone.slots, alone.flags), (Some(300_000), Flags::NONE));
    with(|machine| assert_eq!(machine.violations, [""; 0]));
}

/// All launches of a benchmark count the same threads, whatever each sees in its warm-up.
#[test]
fn decision_of_earlier_launch_holds() {
    let system = skylake();
    let Some(hardware) = open(&system, Counters::Auto, Threads::Auto, as_skylake) else {
        return;
    };
    let hardware = hardware.unwrap();
    hardware.decide_threads("oa");
    window_of_others(&hardware);
    decide(&hardware);
    assert_eq!(hardware.provenance().threads, CountedThreads::Own);
    hardware.sample_kept();
    hardware.benchmark_boundary();
    // criterion asks once more at the end of a group.
    hardware.benchmark_boundary();
    decide(&hardware);
    assert_eq!(
        hardware.provenance().threads,
        CountedThreads::All,
        "{}",
        hardware.provenance().reason
    );
    assert_mix(&window(&hardware, work_of_all), 1_000_000);
    hardware.sample_kept();
    hardware.benchmark_boundary();
    // Nothing is decided about a third.
    decide(&hardware);
    assert_eq!(hardware.provenance().threads, CountedThreads::Own);
}

/// Every decision is made before the first sample that is kept.
#[test]
fn nothing_is_decided_after_the_first_sample() {
    let system = skylake();
    let Some(hardware) = open(&system, Counters::Auto, Threads::Auto, as_skylake) else {
        return;
    };
    let hardware = hardware.unwrap();
    hardware.sample_kept();
    window_of_others(&hardware);
    decide(&hardware);
    assert_eq!(hardware.provenance().threads, CountedThreads::Own);
}

#[test]
fn ending_thread_spoils_nothing() {
    let without_the_last = |machine: &mut Machine| {
        as_skylake(machine);
        // Listed, but gone when its group is to be opened.
        machine.threads.pop();
    };
    let system = skylake();
    let Some(hardware) = open(&system, Counters::Auto, Threads::All, without_the_last) else {
        return;
    };
    let hardware = hardware.unwrap();
    let sample = window(&hardware, |machine| {
        machine.work(300_000);
        machine.work_of(THREADS[1], 700_000);
        machine.ending_reads = 5;
    });
    assert_mix(&sample, 1_000_000);
    assert_eq!(sample.flags, Flags::NONE);
    // A thread that never finishes exiting is flagged, and counts as nothing.
    let sample = window(&hardware, |machine| machine.ending_reads = u32::MAX);
    assert!(sample.flags.intersects(Flags::NOT_COUNTING));
}

#[test]
fn intermittent_groups_are_flagged() {
    let system = skylake();
    let Some(hardware) = open(&system, Counters::Auto, Threads::All, as_skylake) else {
        return;
    };
    let hardware = hardware.unwrap();
    let sample = window(&hardware, |machine| {
        machine.half_time = true;
        machine.work(1_000_000);
    });
    assert!(sample.flags.intersects(Flags::NOT_COUNTING));
    assert_eq!(sample.slots, Some(0));
}

#[test]
fn own_thread_is_counted_if_others_cannot_be() {
    let system = skylake();
    let Some(hardware) = open(&system, Counters::Auto, Threads::Auto, as_skylake) else {
        return;
    };
    let hardware = hardware.unwrap();
    with(|machine| machine.refuse_open = Some((CYCLES, libc::EMFILE)));
    window_of_others(&hardware);
    decide(&hardware);
    let provenance = hardware.provenance();
    assert_eq!(provenance.threads, CountedThreads::Own);
    let reason = &provenance.reason;
    assert!(
        reason.contains("all threads could not be counted"),
        "{reason}"
    );
    let alone = window(&hardware, work_of_all);
    assert_eq!((alone.slots, alone.flags), (Some(300_000), Flags::NONE));
    // If all threads were requested explicitly, opening fails.
    drop(hardware);
    let without_threads = |machine: &mut Machine| {
        as_skylake(machine);
        machine.threads.clear();
    };
    let opened = open(&skylake(), Counters::Auto, Threads::All, without_threads);
    assert!(opened.unwrap().is_err());
}
