//! PERF_METRICS with Intel's corrections, and with an RDPMC that clears it.

use topdown_counters::Source;
use topdown_counters::error::OpenError;
use topdown_counters::hardware::Hardware;
use topdown_run::sample::{Flags, Sample};
use topdown_run::setting::Counters;

use crate::machine::{Call, Disturbance, Machine};
use crate::system::System;
use crate::trap::with;
use crate::{first_window, refusal_with, try_open_with};

const DROPPING_ICE_LAKE: u64 = 0x100d;
const CLEARS_ICE_LAKE: u64 = 0x0104_010d;
const DROPPING_GOLDEN_COVE: u64 = 0x10ad;

fn open(
    system: &System,
    counters: Counters,
    prepare: impl FnOnce(&mut Machine),
) -> Option<Hardware> {
    crate::stay_on_this_cpu();
    try_open_with(system, counters, prepare).map(|opened| opened.unwrap())
}

/// Checks level 1 in percent of the slots.
fn assert_level1(sample: &Sample, percent: [f64; 4]) {
    let slots = sample.slots.unwrap() as f64;
    let level1 = sample.level1.unwrap();
    let got = [
        level1.slots.retiring,
        level1.slots.bad_speculation,
        level1.slots.frontend_bound,
        level1.slots.backend_bound,
    ];
    for (got, expected) in got.iter().zip(percent) {
        let error = got / slots * 100.0 - expected;
        assert!(error.abs() < 0.5, "{got} is not {expected} % of {slots}");
    }
    assert!((level1.total_slots() - slots).abs() < 1.0, "{level1:?}");
}

#[test]
fn dropped_uops_and_clears_are_corrected() {
    let golden_cove = |machine: &mut Machine| {
        machine.plain_events = vec![(DROPPING_GOLDEN_COVE, 0.03)];
    };
    let Some(hardware) = open(&System::sapphire_rapids(), Counters::Tma, golden_cove) else {
        return;
    };
    let provenance = hardware.provenance();
    assert_eq!(provenance.formula, "golden-cove-metrics-tma/1");
    assert!(
        provenance.reason.contains("corrections of Intel's metrics"),
        "{}",
        provenance.reason
    );
    let sample = first_window(&hardware, |machine| machine.work(1_200_000));
    assert_level1(&sample, [40.0, 13.0, 17.0, 30.0]);
    let fetch_latency = sample.level2.unwrap().frontend_bound;
    assert!(
        (fetch_latency / 1.2e6 - 0.09).abs() < 0.005,
        "{fetch_latency}"
    );
    assert_eq!(sample.instructions, Some(600_000));
    assert_eq!(sample.cycles, Some(200_000));
    drop(hardware);

    let ice_lake = |machine: &mut Machine| {
        machine.slots_per_cycle = 5;
        machine.plain_events = vec![(DROPPING_ICE_LAKE, 0.02), (CLEARS_ICE_LAKE, 0.01)];
    };
    let hardware = open(&System::ice_lake(), Counters::Tma, ice_lake).unwrap();
    assert_eq!(hardware.provenance().formula, "ice-lake-metrics-tma/1");
    let sample = first_window(&hardware, |machine| machine.work(1_000_000));
    assert_level1(&sample, [40.0, 7.0, 18.0, 35.0]);
}

#[test]
fn corrections_are_equal_without_rdpmc() {
    let prepare = |machine: &mut Machine| {
        machine.rdpmc_allowed = false;
        machine.plain_events = vec![(DROPPING_GOLDEN_COVE, 0.03)];
    };
    let Some(hardware) = open(&System::sapphire_rapids(), Counters::Tma, prepare) else {
        return;
    };
    assert_eq!(hardware.provenance().formula, "golden-cove-metrics-tma/1");
    let sample = first_window(&hardware, |machine| machine.work(1_200_000));
    assert_level1(&sample, [40.0, 13.0, 17.0, 30.0]);
}

#[test]
fn unknown_cpu_is_refused_by_name() {
    let system = System::empty(0xff, false);
    system.add_metrics_pmu("cpu", 8);
    for counters in [Counters::Auto, Counters::Metrics, Counters::Tma] {
        let Some(error) = refusal_with(&system, counters, |_| ()) else {
            return;
        };
        assert!(matches!(error, OpenError::UnsupportedCpu { .. }), "{error}");
        let message = error.to_string();
        assert!(message.contains("model 0xff"), "{message}");
        assert!(message.contains("no table lists"), "{message}");
    }
}

/// Its kernel denies RDPMC by counter, but not to a thread's own events. Where root forbids it,
/// their index is 0, as on other CPUs.
#[test]
fn diamond_rapids_counts_both_levels() {
    // A multiple of 255, so that the kernel rounds no metric down.
    const SLOTS: u64 = 1_275_000;
    for rdpmc_allowed in [true, false] {
        let system = System::diamond_rapids();
        let prepare = |machine: &mut Machine| machine.rdpmc_allowed = rdpmc_allowed;
        let Some(hardware) = open(&system, Counters::Auto, prepare) else {
            return;
        };
        assert_eq!(hardware.provenance().formula, "intel-perf-metrics-level2/1");
        let sample = first_window(&hardware, |machine| machine.work(SLOTS));
        assert_eq!(sample.slots, Some(SLOTS));
        assert_level1(&sample, [40.0, 10.0, 20.0, 30.0]);
        let fetch_latency = sample.level2.unwrap().frontend_bound;
        assert!(
            (fetch_latency / SLOTS as f64 - 0.12).abs() < 0.005,
            "{fetch_latency}"
        );
        drop(hardware);
        let error = refusal_with(&system, Counters::Tma, prepare).unwrap();
        assert!(
            error.to_string().contains("no table has the corrections"),
            "{error}"
        );
    }
}

#[test]
fn clearing_read_needs_no_reset() {
    let Some(hardware) = open(&System::lunar_lake(), Counters::Auto, |machine| {
        machine.slots_per_cycle = 8;
    }) else {
        return;
    };
    let reason = &hardware.provenance().reason;
    assert!(reason.contains("which sets it to 0"), "{reason}");
    let resets = || with(|m| m.calls.iter().filter(|c| **c == Call::Reset).count());
    let before = resets();
    for _ in 0..3 {
        with(|machine| machine.work(7_000_000));
        let sample = first_window(&hardware, |machine| machine.work(1_600_000));
        assert_eq!(sample.flags, Flags::NONE);
        assert_eq!(sample.slots, Some(1_600_000));
        assert_eq!(sample.cycles, Some(200_000));
        assert_level1(&sample, [40.0, 10.0, 20.0, 30.0]);
        // Nothing precedes the window, so the resolution is that of the fractions alone.
        assert_eq!(sample.resolution_slots, 1_600_000.0 / 255.0);
    }
    assert_eq!(resets(), before);
}

#[test]
fn switch_during_clearing_read_loses_nothing() {
    let Some(hardware) = open(&System::lunar_lake(), Counters::Auto, |_| ()) else {
        return;
    };
    // Instructions, cycles, slots and PERF_METRICS, in this order at the start; at the end the last
    // two come first.
    for look in 0..4 {
        for at_end in [false, true] {
            let disturbance = Some((look, Disturbance::Switch));
            if !at_end {
                with(|machine| machine.disturbance = disturbance);
            }
            let sample = first_window(&hardware, |machine| {
                if at_end {
                    machine.disturbance = disturbance;
                }
                machine.work(1_200_000);
            });
            assert_eq!(sample.slots, Some(1_200_000), "look {look}");
            assert!(
                !sample.flags.intersects(Flags::UNUSABLE),
                "{}",
                sample.flags
            );
            assert_level1(&sample, [40.0, 10.0, 20.0, 30.0]);
        }
    }
}

#[test]
fn switch_inside_a_clearing_window_loses_nothing() {
    let Some(hardware) = open(&System::lunar_lake(), Counters::Auto, |_| ()) else {
        return;
    };
    first_window(&hardware, |machine| machine.work(900_000));
    let sample = first_window(&hardware, |machine| {
        machine.work(600_000);
        machine.switch();
        machine.work(600_000);
    });
    assert_eq!(sample.slots, Some(1_200_000), "{sample:?}");
    assert_eq!(sample.flags, Flags::SWITCHED);
    assert_level1(&sample, [40.0, 10.0, 20.0, 30.0]);
}

#[test]
fn displaced_clearing_group_returns() {
    let Some(hardware) = open(&System::lunar_lake(), Counters::Auto, |_| ()) else {
        return;
    };
    let sample = first_window(&hardware, |machine| machine.displace());
    assert!(sample.flags.intersects(Flags::NOT_COUNTING));
    with(|machine| machine.pmu_is_taken = false);
    first_window(&hardware, |_| ());
    let sample = first_window(&hardware, |machine| machine.work(1_200_000));
    assert_eq!(sample.slots, Some(1_200_000));
}
