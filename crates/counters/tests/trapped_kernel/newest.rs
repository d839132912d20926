//! Cores that no emulated machine has: the simulated kernel shows which events are opened, and what
//! the formulas make of their counts.

use topdown_counters::Source;
use topdown_counters::hardware::Hardware;
use topdown_run::setting::Counters;

use crate::exact::{SLOTS_PER_LOOK, assert_mix, open_exact};
use crate::machine::Machine;
use crate::system::System;
use crate::{stay_on_this_cpu, try_open_with, window};

/// Counts of Arm's events in a million cycles.
type Counts = &'static [(u64, f64)];

const STALLS_AND_FLUSHES: Counts = &[
    (0x11, 1e6),
    (0x08, 2e6),
    (0x3a, 3.8e6),
    (0x3b, 4e6),
    (0x3e, 1.6e6),
    (0x3d, 2.4e6),
    (0x8162, 15e3),
];
const OF_OLYMPUS: Counts = &[
    (0x11, 1e6),
    (0x3a, 3.8e6),
    (0x3b, 4e6),
    (0x3e, 1.6e6),
    (0x3d, 2.4e6),
    (0x1e1, 8e6),
    (0x1e2, 1.2e6),
];
const OF_HIP08: Counts = &[(0x11, 1e6), (0x08, 1.6e6), (0x1b, 2e6), (0x2014, 0.8e6)];

#[test]
fn arm_cores_with_formulas_of_their_own_are_split() {
    for (midr, slots_per_cycle, counts, formula, percent) in [
        // V3AE.
        (
            "0x00000000410fd830",
            10,
            STALLS_AND_FLUSHES,
            "neoverse-v3/1",
            [57.0, 4.5, 14.5, 24.0],
        ),
        (
            "0x000000004e0f0100",
            8,
            OF_OLYMPUS,
            "nvidia-olympus/1",
            [47.5, 7.5, 15.0, 30.0],
        ),
        (
            "0x00000000481fd010",
            4,
            OF_HIP08,
            "hisilicon-hip08/1",
            [40.0, 10.0, 20.0, 30.0],
        ),
    ] {
        let slots = slots_per_cycle * 1_000_000;
        let prepare = |machine: &mut Machine| {
            machine.has_metrics = false;
            machine.slots_per_look = SLOTS_PER_LOOK;
            let per_slot = |(code, count): &(u64, f64)| (*code, count / slots as f64);
            machine.plain_events = counts.iter().map(per_slot).collect();
        };
        let system = System::arm(midr, &format!("{slots_per_cycle:#x}"));
        let Some(hardware) = open_exact(&system, prepare) else {
            return;
        };
        assert_eq!(hardware.provenance().formula, formula);
        let sample = window(&hardware, |machine| machine.work(slots));
        assert_eq!(sample.slots, Some(slots), "{formula}");
        let level1 = sample.level1.unwrap().slots;
        for (share, percent) in level1.into_array().into_iter().zip(percent) {
            let error = share / slots as f64 * 100.0 - percent;
            assert!(error.abs() < 0.001, "{formula}: {level1:?}");
        }
    }
}

#[test]
fn monaka_is_refused_with_its_doubt() {
    let system = System::arm("0x00000000460f0030", "0x6");
    let refusal = Hardware::open_in(&system.paths()).unwrap_err().to_string();
    assert!(refusal.contains("count cycles"), "{refusal}");
}

fn nova_lake() -> System {
    let system = System::empty(1, false);
    system.write(
        "proc/cpuinfo",
        "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 18\nmodel\t\t: 1\n\
         model name\t: Test CPU\nflags\t\t: fpu\n",
    );
    system
}

#[test]
fn nova_lake_counts_both_levels() {
    let system = nova_lake();
    system.add_metrics_pmu("cpu_core", 8);
    stay_on_this_cpu();
    let prepare = |machine: &mut Machine| machine.slots_per_cycle = 8;
    let Some(hardware) = try_open_with(&system, Counters::Auto, prepare) else {
        return;
    };
    let hardware = hardware.unwrap();
    assert_eq!(hardware.provenance().formula, "intel-perf-metrics-level2/1");
    // A multiple of 255, so that the kernel rounds no metric down.
    let sample = window(&hardware, |machine| machine.work(1_275_000));
    assert_eq!(sample.slots, Some(1_275_000));
    let retiring = sample.level1.unwrap().slots.retiring;
    assert!((retiring / 1_275_000.0 - 0.40).abs() < 0.005, "{retiring}");
    assert!(sample.level2.is_some());
}

/// The width is from a file in place of CPUID.
#[test]
fn efficiency_core_of_nova_lake_counts_four_events() {
    let system = nova_lake();
    system.add_bare_pmu("cpu_atom");
    system.write_pmu("cpu_atom/caps/slots", "0x8");
    let hardware = open_exact(&system, |machine| {
        machine.has_metrics = false;
        machine.slots_per_cycle = 8;
        machine.slots_per_look = SLOTS_PER_LOOK;
        machine.plain_events = vec![(0x2c2, 0.40), (0x73, 0.10), (0x19c, 0.20), (0x2a4, 0.30)];
    });
    let Some(hardware) = hardware else {
        return;
    };
    assert_eq!(hardware.provenance().formula, "arctic-wolf/1");
    assert_mix(
        &window(&hardware, |machine| machine.work(8_000_000)),
        8_000_000,
    );
}

/// Linux 7.3 has no case for their models: its generic driver names no slots and no PERF_METRICS.
#[test]
fn generic_driver_counts_by_plain_counters() {
    for (model, pmu, slots_per_cycle, formula) in [
        (0xd7, "cpu", 6, "golden-cove-exact/1"),
        (0xe5, "cpu_core", 8, "cougar-cove-exact/1"),
    ] {
        let system = System::empty(model, false);
        system.add_bare_pmu(pmu);
        stay_on_this_cpu();
        let hardware = try_open_with(&system, Counters::Auto, |machine| {
            machine.has_metrics = false;
            machine.slots_per_cycle = slots_per_cycle;
            machine.slots_per_look = SLOTS_PER_LOOK;
            machine.plain_events = vec![(0x1a4, 1.0), (0x2c2, 0.40), (0x19c, 0.20), (0x2a4, 0.30)];
        });
        let Some(hardware) = hardware else {
            return;
        };
        let hardware = hardware.unwrap();
        assert_eq!(hardware.provenance().formula, formula);
        assert_mix(
            &window(&hardware, |machine| machine.work(1_200_000)),
            1_200_000,
        );
    }
}
