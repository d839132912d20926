//! Launches that record how long loads hold up retirement: what is opened, what a window says, and
//! what becomes of records that are missing or broken.

use topdown_counters::Source;
use topdown_counters::error::OpenError;
use topdown_counters::hardware::SystemPaths;
use topdown_counters::hardware::recording::TimedHardware;
use topdown_run::sample::{Flags, Sample};

use crate::machine::{Call, Machine};
use crate::system::System;
use crate::trap::with;
use crate::{trapped, window};

const L2_HIT: u64 = 0x02d1;
const L3_HIT: u64 = 0x04d1;
const LOCAL_MEMORY: u64 = 0x01d3;
/// Cycles between two PMU samples, to begin with.
const PERIOD: u64 = 1009;

fn granite_rapids() -> System {
    let system = System::empty(0xad, false);
    system.add_bare_pmu("cpu");
    system
}

fn try_open(
    paths: &SystemPaths,
    group: &str,
    prepare: impl FnOnce(&mut Machine),
) -> Option<Result<TimedHardware, OpenError>> {
    crate::stay_on_this_cpu();
    trapped(prepare, || TimedHardware::open(paths, group))
}

fn open(prepare: impl FnOnce(&mut Machine)) -> Option<TimedHardware> {
    Some(try_open(&granite_rapids().paths(), "Load_Latency", prepare)?.unwrap())
}

fn counts(sample: &Sample) -> Vec<u64> {
    sample.group_counts.unwrap().as_slice().to_vec()
}

#[test]
fn window_has_latency_sums_of_each_event() {
    let Some(hardware) = open(|_| {}) else {
        return;
    };
    assert_eq!(hardware.provenance().formula, "latencies-Load_Latency/1");
    with(|machine| {
        let opened: Vec<Call> = machine.calls[..2].to_vec();
        assert_eq!(opened, [L2_HIT, L3_HIT].map(Call::Open));
        let attributes = machine.attributes(L3_HIT);
        assert_eq!(attributes.precise_ip(), 1);
        assert_eq!(attributes.exclude_kernel(), 1);
    });
    let sample = window(&hardware, |machine| {
        machine.retire(L2_HIT, 20 * PERIOD, 7);
        machine.retire(L2_HIT, 10 * PERIOD, 13);
        machine.retire(L3_HIT, 4 * PERIOD + 5, 60);
    });
    assert_eq!(counts(&sample), [30, 270, 4, 240]);
    assert_eq!((sample.flags, sample.slots), (Flags::NONE, None));
    // Between windows nothing is recorded; what is left of a period counts on.
    with(|machine| machine.retire(L3_HIT, 50 * PERIOD, 900));
    let sample = window(&hardware, |machine| {
        machine.retire(L3_HIT, PERIOD - 5, 62);
    });
    assert_eq!(counts(&sample), [0, 0, 1, 62]);
}

#[test]
fn excess_pmu_samples_double_one_period() {
    let Some(hardware) = open(|machine| machine.largest_buffer_pages = 2) else {
        return;
    };
    // 2 pages of 4096 bytes have room for 512 records of 16 bytes, less the last byte.
    let sample = window(&hardware, |machine| {
        machine.retire(L2_HIT, 600 * PERIOD, 8);
        machine.retire(L3_HIT, 3 * PERIOD, 40);
    });
    assert_eq!(counts(&sample), [511, 8 * 511, 3, 120]);
    assert_eq!(sample.flags, Flags::NONE);
    let sample = window(&hardware, |machine| {
        machine.retire(L2_HIT, 20 * (2 * PERIOD + 1), 8);
        machine.retire(L3_HIT, 3 * PERIOD, 40);
    });
    assert_eq!(counts(&sample), [20, 160, 3, 120]);
    // The kernel tells of the loss when there is room again, and pauses: each doubles once more.
    let sample = window(&hardware, |machine| {
        machine.retire(L2_HIT, 20 * (4 * PERIOD + 3), 8);
    });
    assert_eq!(counts(&sample)[0], 20);
}

#[test]
fn invalid_records_discard_the_sample() {
    let Some(hardware) = open(|_| {}) else {
        return;
    };
    let sample = window(&hardware, |machine| {
        machine.retire(L2_HIT, 3 * PERIOD, 8);
        machine.write_garbage(&[9, 0, 0]);
    });
    assert_eq!(sample.flags, Flags::NOT_COUNTING);
    let sample = window(&hardware, Machine::move_head_too_far);
    assert_eq!(sample.flags, Flags::NOT_COUNTING);
    let sample = window(&hardware, |machine| machine.retire(L3_HIT, PERIOD, 50));
    assert_eq!(counts(&sample)[2..], [1, 50]);
    assert_eq!(sample.flags, Flags::NONE);
}

#[test]
fn outer_window_of_latencies_is_flagged() {
    let Some(hardware) = open(|_| ()) else {
        return;
    };
    let outer = hardware.start();
    window(&hardware, |machine| machine.retire(L3_HIT, PERIOD, 50));
    let outer = hardware.end(&outer);
    assert!(outer.flags.intersects(Flags::NOT_COUNTING), "{outer:?}");
    let next = window(&hardware, |machine| machine.retire(L3_HIT, PERIOD, 50));
    assert_eq!(next.flags, Flags::NONE);
}

#[test]
fn displaced_pmu_records_no_latencies() {
    let Some(hardware) = open(|_| {}) else {
        return;
    };
    let sample = window(&hardware, |machine| {
        machine.retire(L2_HIT, 3 * PERIOD, 8);
        machine.displace();
        machine.work(10_000);
    });
    assert_eq!(sample.flags, Flags::NOT_COUNTING);
}

#[test]
fn kernel_without_weights_is_named() {
    // Before Linux 5.12 the kind of record is unknown.
    let old = |machine: &mut Machine| machine.refuse_open = Some((LOCAL_MEMORY, libc::EINVAL));
    let group = "Load_Latency (memory)";
    let Some(opened) = try_open(&granite_rapids().paths(), group, old) else {
        return;
    };
    let error = opened.unwrap_err();
    assert!(matches!(error, OpenError::Rejected { .. }), "{error:?}");
    with(|machine| assert_eq!(machine.open_events(), 0));
}

#[test]
fn cores_without_latencies_are_refused_early() {
    let system = System::sapphire_rapids();
    let Some(opened) = try_open(&system.paths(), "Load_Latency", |_| {}) else {
        return;
    };
    let message = opened.unwrap_err().to_string();
    assert!(message.contains("record no retire latency"), "{message}");
    with(|machine| assert_eq!(machine.calls, []));
    let Some(opened) = try_open(&granite_rapids().paths(), "Operation_Mix", |_| {}) else {
        return;
    };
    let message = opened.unwrap_err().to_string();
    assert!(message.contains("record no retire latency"), "{message}");
}
