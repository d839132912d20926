//! Plain counters: which group is opened on which machine, and what its windows contain.

use topdown_counters::Source;
use topdown_counters::error::OpenError;
use topdown_counters::hardware::Hardware;
use topdown_run::sample::{Flags, Sample};
use topdown_run::setting::Counters;

use crate::machine::{CYCLES, Call, INSTRUCTIONS, Machine, SLOTS};
use crate::system::System;
use crate::trap::with;
use crate::{refusal_with, stay_on_this_cpu, try_open_with, window};

const SLOTS_P: u64 = 0x01a4;
const RETIRED: u64 = 0x02c2;
const NOT_DELIVERED: u64 = 0x019c;
const BACKEND_BOUND: u64 = 0x02a4;
/// Enough for a self-check that requires 200 000 retired slots, which are 40 %.
pub const SLOTS_PER_LOOK: u64 = 800_000;

/// A Skylake server.
pub fn skylake() -> System {
    let system = System::empty(0x55, false);
    system.add_bare_pmu("cpu");
    system
}

/// 40 % retiring, 10 % bad speculation, 20 % frontend bound, 30 % backend bound.
pub fn as_skylake(machine: &mut Machine) {
    machine.has_metrics = false;
    machine.slots_per_cycle = 4;
    machine.slots_per_look = SLOTS_PER_LOOK;
    machine.plain_events = vec![
        (NOT_DELIVERED, 0.20),
        (0x010e, 0.46),
        (RETIRED, 0.40),
        (0x010d, 0.01),
    ];
}

pub fn zen_4() -> System {
    let system = System::empty(0x11, false);
    system.write(
        "proc/cpuinfo",
        "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\n\
         model name\t: Test CPU\nflags\t\t: fpu\n",
    );
    system.add_bare_pmu("cpu");
    system
}

/// The same mix, without SMT contention.
pub fn as_zen_4(machine: &mut Machine) {
    machine.has_metrics = false;
    machine.slots_per_look = SLOTS_PER_LOOK;
    machine.plain_events = vec![
        (0x0076, 1.0 / 6.0),
        (0x00c1, 0.40),
        (0x07aa, 0.50),
        (0x1_0000_01a0, 0.20),
        (0x1_0000_1ea0, 0.30),
    ];
}

/// The same mix on Sapphire Rapids, with 1 % dropped uops and 10/8/12/18 % at level 2.
pub fn as_sapphire_rapids(machine: &mut Machine) {
    machine.slots_per_look = SLOTS_PER_LOOK;
    machine.plain_events = vec![
        (SLOTS_P, 1.0),
        (RETIRED, 0.40),
        (NOT_DELIVERED, 0.21),
        (BACKEND_BOUND, 0.30),
        (0x10ad, 0.01),
        (0x01c2, 0.10),
        (0x08a4, 0.08),
        (0x0600_019c, 0.13 / 6.0),
        (0x10a4, 0.18),
    ];
}

pub fn open_exact(system: &System, prepare: impl FnOnce(&mut Machine)) -> Option<Hardware> {
    stay_on_this_cpu();
    try_open_with(system, Counters::Exact, prepare).map(|opened| opened.unwrap())
}

pub fn assert_mix(sample: &Sample, slots: u64) {
    let level1 = sample.level1.unwrap();
    assert_eq!(sample.slots, Some(slots));
    for (category_slots, share) in [
        (level1.slots.retiring, 0.40),
        (level1.slots.bad_speculation, 0.10),
        (level1.slots.frontend_bound, 0.20),
        (level1.slots.backend_bound, 0.30),
    ] {
        let expected = slots as f64 * share;
        assert!((category_slots - expected).abs() < 3.0, "{sample:?}");
    }
    assert_eq!(sample.resolution_slots, 0.0);
}

#[test]
fn skylake_counts_four_events_and_cycles() {
    let Some(hardware) = open_exact(&skylake(), as_skylake) else {
        return;
    };
    assert_eq!(hardware.provenance().formula, "skylake-exact/1");
    assert_eq!(hardware.provenance().slots_per_cycle, Some(4));
    with(|machine| {
        let events = [CYCLES, INSTRUCTIONS, NOT_DELIVERED, 0x010e, RETIRED, 0x010d];
        assert_eq!(machine.calls[..6], events.map(Call::Open));
        assert!(!machine.calls.contains(&Call::Reset), "{:?}", machine.calls);
    });
    let sample = window(&hardware, |machine| machine.work(1_000_000));
    assert_mix(&sample, 1_000_000);
    assert_eq!(sample.instructions, Some(500_000));
    assert_eq!(sample.cycles, Some(250_000));
    assert_eq!(sample.level2, None);
    assert_eq!(sample.flags, Flags::NONE);
}

#[test]
fn plain_counts_hold_across_switches() {
    let Some(hardware) = open_exact(&skylake(), as_skylake) else {
        return;
    };
    let sample = window(&hardware, |machine| {
        machine.work(400_000);
        machine.switch();
        machine.work(600_000);
    });
    assert_mix(&sample, 1_000_000);
    assert_eq!(sample.flags, Flags::SWITCHED);
}

#[test]
fn sapphire_rapids_exact_group_has_level_2() {
    let Some(hardware) = open_exact(&System::sapphire_rapids(), as_sapphire_rapids) else {
        return;
    };
    assert_eq!(hardware.provenance().formula, "golden-cove-exact/1");
    with(|machine| {
        assert_eq!(machine.calls[0], Call::Open(SLOTS));
        assert_eq!(machine.open_events(), 11);
    });
    let sample = window(&hardware, |machine| machine.work(6_000_000));
    assert_mix(&sample, 6_000_000);
    let level2 = sample.level2.unwrap();
    for (category_slots, share) in [
        (level2.retiring, 0.10),
        (level2.bad_speculation, 0.08),
        (level2.frontend_bound, 0.12),
        (level2.backend_bound, 0.18),
    ] {
        assert!((category_slots - 6e6 * share).abs() < 10.0, "{level2:?}");
    }
}

#[test]
fn guest_without_slots_counter_uses_general_one() {
    let system = System::empty(0x8f, true);
    system.add_bare_pmu("cpu");
    stay_on_this_cpu();
    let opened = try_open_with(&system, Counters::Auto, |machine| {
        as_sapphire_rapids(machine);
        machine.has_metrics = false;
        machine.refuse_open = Some((SLOTS, libc::EINVAL));
    });
    let Some(hardware) = opened.map(|opened| opened.unwrap()) else {
        return;
    };
    let provenance = hardware.provenance();
    assert_eq!(provenance.formula, "golden-cove-exact/1");
    assert!(
        provenance.reason.contains("not all events"),
        "{provenance:?}"
    );
    let sample = window(&hardware, |machine| machine.work(6_000_000));
    assert_mix(&sample, 6_000_000);
    assert_eq!(sample.level2, None);
}

/// Bad speculation is the remainder, so it would swallow the hidden category.
#[test]
fn hidden_events_fail_self_check() {
    let open_in = |is_guest| {
        let system = System::empty(0x8f, is_guest);
        system.add_bare_pmu("cpu");
        try_open_with(&system, Counters::Exact, |machine| {
            as_sapphire_rapids(machine);
            machine.has_metrics = false;
            machine.refuse_open = Some((SLOTS, libc::EINVAL));
            let hidden = [NOT_DELIVERED, 0x10ad];
            machine
                .plain_events
                .retain(|event| !hidden.contains(&event.0));
        })
    };
    let Some(opened) = open_in(true) else {
        return;
    };
    let message = opened.unwrap_err().to_string();
    let expected = "counts no frontend bound in a loop, as where a hypervisor hides";
    assert!(message.contains(expected), "{message}");
    // Nobody hides them here.
    assert!(open_in(false).unwrap().is_ok());
}

/// An Arm guest does not know that it is one.
#[test]
fn hidden_events_break_category_sum() {
    let system = System::arm("0x00000000411fd401", "0x8");
    let opened = try_open_with(&system, Counters::Auto, |machine| {
        as_neoverse(machine);
        let hidden = [0x3d, 0x3e];
        machine
            .plain_events
            .retain(|event| !hidden.contains(&event.0));
    });
    let Some(opened) = opened else {
        return;
    };
    let message = opened.unwrap_err().to_string();
    let expected = "counts no frontend bound and backend bound in a loop";
    assert!(message.contains(expected), "{message}");
    assert!(message.contains("`cargo topdown explain`"), "{message}");
}

#[test]
fn group_without_rdpmc_is_read_by_system_calls() {
    let opened = open_exact(&skylake(), |machine| {
        as_skylake(machine);
        machine.rdpmc_allowed = false;
    });
    let Some(hardware) = opened else {
        return;
    };
    let reason = &hardware.provenance().reason;
    assert!(reason.contains("with system calls"), "{reason}");
    let sample = window(&hardware, |machine| machine.work(1_000_000));
    assert_mix(&sample, 1_000_000);
    with(|machine| assert_eq!(machine.rdpmcs, 0));
}

#[test]
fn watchdog_refusal_has_missing_counter_count() {
    let system = skylake();
    system.set("nmi_watchdog", "1");
    let taken = |machine: &mut Machine| {
        as_skylake(machine);
        machine.pmu_is_taken = true;
    };
    let Some(error) = refusal_with(&system, Counters::Auto, taken) else {
        return;
    };
    assert!(
        matches!(
            error,
            OpenError::TooFewCounters {
                needed: 5,
                available: 4,
                ..
            }
        ),
        "{error:?}"
    );
    let message = error.to_string();
    assert!(message.contains("kernel.nmi_watchdog=0"), "{message}");
    // The watchdog is not to blame when it is off.
    system.set("nmi_watchdog", "0");
    let error = refusal_with(&system, Counters::Auto, taken).unwrap();
    assert!(
        matches!(error, OpenError::NeverScheduled { .. }),
        "{error:?}"
    );
}

/// The buddy detector: the sysctl is 1, and a group of all counters runs.
#[test]
fn watchdog_without_counter_is_not_blamed() {
    let system = skylake();
    system.set("nmi_watchdog", "1");
    let refused = refusal_with(&system, Counters::Auto, |machine| {
        as_skylake(machine);
        machine.kept_off = Some(NOT_DELIVERED);
    });
    let Some(error) = refused else {
        return;
    };
    assert!(
        matches!(
            error,
            OpenError::NeverScheduled {
                nmi_watchdog: Some(false),
                ..
            }
        ),
        "{error:?}"
    );
    assert!(!error.to_string().contains("watchdog"), "{error}");
}

#[test]
fn oversized_group_names_the_counters_needed() {
    let refused = refusal_with(&skylake(), Counters::Auto, |machine| {
        as_skylake(machine);
        machine.refuse_open = Some((RETIRED, libc::EINVAL));
    });
    let Some(error) = refused else {
        return;
    };
    assert!(
        matches!(error, OpenError::GroupTooLarge { needed: 4, .. }),
        "{error:?}"
    );
    let message = error.to_string();
    assert!(message.contains("UOPS_RETIRED.RETIRE_SLOTS"), "{message}");
}

#[test]
fn missing_permission_is_refused_at_first_event() {
    let refused = refusal_with(&System::sapphire_rapids(), Counters::Exact, |machine| {
        machine.refuse_open = Some((SLOTS, libc::EACCES));
    });
    let Some(error) = refused else {
        return;
    };
    assert!(
        matches!(error, OpenError::PermissionDenied { .. }),
        "{error:?}"
    );
    with(|machine| assert_eq!(machine.calls, [Call::Open(SLOTS)]));
}

#[test]
fn events_without_counts_fail_self_check() {
    let refused = refusal_with(&skylake(), Counters::Auto, |machine| {
        as_skylake(machine);
        machine.plain_events.clear();
    });
    let Some(error) = refused else {
        return;
    };
    assert!(matches!(error, OpenError::SelfCheck { .. }), "{error:?}");
    assert!(error.to_string().contains("retiring"), "{error}");
}

/// Tremont counts all four categories, so a wrong width shows in their sum.
#[test]
fn wrong_category_sum_fails_self_check() {
    let system = System::empty(0x96, false);
    system.add_bare_pmu("cpu");
    let open = |slots_per_cycle| {
        try_open_with(&system, Counters::Auto, |machine| {
            machine.has_metrics = false;
            machine.slots_per_cycle = slots_per_cycle;
            machine.slots_per_look = SLOTS_PER_LOOK;
            machine.plain_events = vec![
                (0x00c2, 0.40),
                (0x0673, 0.10),
                (0x0071, 0.20),
                (0x0074, 0.30),
            ];
        })
    };
    let Some(opened) = open(4) else {
        return;
    };
    assert_mix(
        &window(&opened.unwrap(), |machine| machine.work(1_000_000)),
        1_000_000,
    );
    let error = open(5).unwrap().unwrap_err();
    assert!(matches!(error, OpenError::SelfCheck { .. }), "{error:?}");
    assert!(error.to_string().contains("do not add up"), "{error}");
}

/// The other category takes up what is below zero, so the sum is right.
#[test]
fn negative_category_is_flagged() {
    let Some(hardware) = open_exact(&skylake(), as_skylake) else {
        return;
    };
    let sample = window(&hardware, |machine| {
        machine.plain_events.retain(|event| event.0 != 0x010e);
        machine.work(1_000_000);
    });
    assert!(sample.flags.intersects(Flags::BAD_RATIOS), "{sample:?}");
}

#[test]
fn displaced_group_is_flagged_and_returns() {
    let Some(hardware) = open_exact(&skylake(), as_skylake) else {
        return;
    };
    let sample = window(&hardware, |machine| {
        machine.work(500_000);
        machine.displace();
        machine.work(500_000);
    });
    assert!(sample.flags.intersects(Flags::NOT_COUNTING));
    assert_eq!(sample.slots, Some(0));
    with(|machine| machine.pmu_is_taken = false);
    assert_mix(
        &window(&hardware, |machine| machine.work(1_000_000)),
        1_000_000,
    );
}

/// Measures windows of this many slots, and adds them up.
fn sum_of(hardware: &Hardware, windows: &[u64]) -> Sample {
    let mut sum = Sample::EMPTY;
    for slots in windows {
        let start = hardware.start();
        with(|machine| machine.work(*slots));
        sum.add(&hardware.end(&start));
    }
    sum
}

#[test]
fn windows_of_a_sample_are_split_together() {
    let Some(hardware) = open_exact(&skylake(), as_skylake) else {
        return;
    };
    let sum = sum_of(&hardware, &[300_000, 200_000]);
    assert_eq!((sum.slots, sum.level1, sum.windows), (None, None, 2));
    let sample = hardware.completed(&sum);
    assert_mix(&sample, 500_000);
    assert_eq!((sample.windows, sample.wall_ns), (2, sum.wall_ns));
    assert_eq!(sample.group_counts, None);
    // Nothing is left to do.
    assert_eq!(hardware.completed(&sample), sample);
}

#[test]
fn few_slots_are_those_of_the_mean_window() {
    let Some(hardware) = open_exact(&skylake(), as_skylake) else {
        return;
    };
    let flags = |windows: &[u64]| hardware.completed(&sum_of(&hardware, windows)).flags;
    assert_eq!(flags(&[20_000, 80_000]), Flags::NONE);
    assert_eq!(flags(&[20_000, 79_996]), Flags::FEW_SLOTS);
}

#[test]
fn sample_with_a_lost_window_keeps_its_flag_and_has_slots() {
    let Some(hardware) = open_exact(&skylake(), as_skylake) else {
        return;
    };
    let mut sum = sum_of(&hardware, &[1_000_000]);
    let outer = hardware.start();
    sum.add(&hardware.end(&hardware.start()));
    sum.add(&hardware.end(&outer));
    let sample = hardware.completed(&sum);
    assert_eq!(sample.flags, Flags::NOT_COUNTING);
    assert_eq!(sample.slots, Some(0));
    assert!(sample.level1.is_some());
}

#[test]
fn time_without_counts_stays_so() {
    let Some(hardware) = open_exact(&skylake(), as_skylake) else {
        return;
    };
    let timed = Sample::from(std::time::Duration::from_millis(1));
    assert_eq!(hardware.completed(&timed), timed);
}

/// The inner window enables the group again; what the outer one missed is nowhere.
#[test]
fn group_rescheduled_in_window_is_flagged() {
    let Some(hardware) = open_exact(&skylake(), as_skylake) else {
        return;
    };
    let outer = hardware.start();
    with(|machine| {
        machine.work(500_000);
        machine.displace();
        machine.work(500_000);
        machine.pmu_is_taken = false;
    });
    let inner = window(&hardware, |machine| machine.work(1_000_000));
    assert_mix(&inner, 1_000_000);
    assert!(hardware.end(&outer).flags.intersects(Flags::NOT_COUNTING));
}

#[test]
fn cores_without_slots_are_reported() {
    let refusal = |model| {
        let system = System::empty(model, false);
        system.add_bare_pmu("cpu");
        Hardware::open_in(&system.paths()).unwrap_err().to_string()
    };
    let silvermont = refusal(0x37);
    assert!(
        silvermont.contains("only time can be measured"),
        "{silvermont}"
    );
    let unknown = refusal(0x01);
    assert!(unknown.contains("no table"), "{unknown}");
}

/// Diamond Rapids, with the width from a file in place of CPUID.
#[test]
fn newer_intel_core_counts_architectural_events() {
    let system = System::empty(0x01, false);
    system.write(
        "proc/cpuinfo",
        "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 19\nmodel\t\t: 1\n\
         model name\t: Test CPU\nflags\t\t: fpu\n",
    );
    system.add_bare_pmu("cpu");
    system.write_pmu("cpu/caps/slots", "0x8");
    let hardware = open_exact(&system, |machine| {
        machine.has_metrics = false;
        machine.slots_per_cycle = 8;
        machine.slots_per_look = SLOTS_PER_LOOK;
        machine.plain_events = vec![
            (RETIRED, 0.40),
            (NOT_DELIVERED, 0.20),
            (BACKEND_BOUND, 0.30),
        ];
    });
    let Some(hardware) = hardware else {
        return;
    };
    assert_eq!(hardware.provenance().formula, "intel-architectural/1");
    assert_eq!(hardware.provenance().slots_per_cycle, Some(8));
    let sample = window(&hardware, |machine| machine.work(8_000_000));
    assert_mix(&sample, 8_000_000);
}

/// Neoverse V1 with the vector of its formula, in events per slot of work: a million cycles are
/// eight million slots. RDPMC stands in for the registers of Arm's counters.
fn as_neoverse(machine: &mut Machine) {
    machine.has_metrics = false;
    machine.slots_per_look = SLOTS_PER_LOOK;
    machine.plain_events = [
        (0x11, 1.0),
        (0x08, 2.0),
        (0x3a, 3.8),
        (0x3b, 4.0),
        (0x3e, 1.6),
        (0x3d, 2.4),
        (0x10, 0.02),
    ]
    .map(|(config, per_cycle)| (config, per_cycle / 8.0))
    .to_vec();
}

#[test]
fn arm_core_uses_its_revision_and_kernel_width() {
    let system = System::arm("0x00000000411fd401", "0x8");
    let Some(hardware) = open_exact(&system, as_neoverse) else {
        return;
    };
    let provenance = hardware.provenance();
    assert_eq!(provenance.formula, "neoverse-v1/1");
    assert_eq!(provenance.slots_per_cycle, Some(8));
    assert_eq!(provenance.core_type, None);
    let sample = window(&hardware, |machine| machine.work(8_000_000));
    let level1 = sample.level1.unwrap();
    assert_eq!(sample.slots, Some(8_000_000));
    assert_eq!(sample.instructions, Some(2_000_000));
    assert_eq!(level1.slots.frontend_bound, 0.12 * 8e6);
    assert_eq!(level1.slots.backend_bound, 0.30 * 8e6);
    assert!((level1.slots.bad_speculation - 0.105 * 8e6).abs() < 1.0);
    assert!((level1.slots.retiring - 0.475 * 8e6).abs() < 1.0);
}

#[test]
fn user_access_is_requested_if_arm_kernel_grants_it() {
    let system = System::arm("0x00000000411fd401", "0x8");
    let config1_of_leader = || {
        open_exact(&system, as_neoverse).map(|_hardware| {
            with(|machine| {
                let attributes = machine.attributes(0x11);
                // SAFETY: all fields of the union are numbers.
                unsafe { attributes.__bindgen_anon_3.config1 }
            })
        })
    };
    let Some(config1) = config1_of_leader() else {
        return;
    };
    assert_eq!(config1, 0, "a kernel without the setting");
    system.set("perf_user_access", "1");
    assert_eq!(config1_of_leader(), Some(3));
    // 64 bits wide all the same, lest it overflow in a long window.
    system.set("perf_user_access", "0");
    assert_eq!(config1_of_leader(), Some(3));
}

#[test]
fn unknown_arm_core_needs_width_from_kernel() {
    let error = Hardware::open_in(&System::arm("0x00000000c00fac30", "0x0").paths()).unwrap_err();
    assert!(error.to_string().contains("slots per cycle"), "{error}");
}
