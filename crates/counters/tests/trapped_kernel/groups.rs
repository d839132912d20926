//! Metric groups in place of the categories: what is opened, what a window contains, what is
//! rejected.

use topdown_counters::cpu::DescribedCore;
use topdown_counters::error::OpenError;
use topdown_counters::hardware::{Hardware, give_core};
use topdown_counters::{Source, Wanted};
use topdown_run::sample::Flags;
use topdown_run::setting::Counters;

use crate::exact::{SLOTS_PER_LOOK, skylake};
use crate::machine::{CYCLES, Call, INSTRUCTIONS, Machine};
use crate::system::System;
use crate::trap::with;
use crate::trapped;

const BRANCHES: u64 = 0x00c4;
const MISPREDICTED: u64 = 0x00c5;

/// A branch in every tenth slot; one in twenty is mispredicted.
fn as_skylake(machine: &mut Machine) {
    machine.has_metrics = false;
    machine.slots_per_cycle = 4;
    machine.slots_per_look = SLOTS_PER_LOOK;
    machine.plain_events = vec![(BRANCHES, 0.10), (MISPREDICTED, 0.005)];
}

fn open(
    name: &str,
    system: &System,
    prepare: impl FnOnce(&mut Machine),
) -> Option<Result<Hardware, OpenError>> {
    crate::stay_on_this_cpu();
    let wanted = Wanted::Group(name.to_owned());
    trapped(prepare, || Hardware::open_wanted(&system.paths(), wanted))
}

#[test]
fn window_holds_group_counts_and_no_slots() {
    let Some(opened) = open("Branch_Effectiveness", &skylake(), as_skylake) else {
        return;
    };
    let hardware = opened.unwrap();
    let provenance = hardware.provenance();
    assert_eq!(provenance.formula, "group-Branch_Effectiveness/1");
    assert_eq!(provenance.slots_per_cycle, Some(4));
    with(|machine| {
        let events = [INSTRUCTIONS, BRANCHES, MISPREDICTED];
        assert_eq!(machine.calls[..3], events.map(Call::Open));
        assert_eq!(machine.open_events(), 3);
    });
    let start = hardware.start();
    with(|machine| machine.work(1_000_000));
    let sample = hardware.end(&start);
    let counts = sample.group_counts.unwrap();
    assert_eq!(counts.as_slice(), [500_000, 100_000, 5_000]);
    assert_eq!((sample.slots, sample.level1), (None, None));
    assert_eq!(sample.flags, Flags::NONE);
}

#[test]
fn stuck_counters_are_not_zero() {
    let stuck = |machine: &mut Machine| {
        as_skylake(machine);
        machine.slots_per_look = 1000;
    };
    let Some(opened) = open("Branch_Effectiveness", &skylake(), stuck) else {
        return;
    };
    let message = opened.unwrap_err().to_string();
    assert!(
        message.contains("moved no counter of its group by more than"),
        "{message}"
    );
}

#[test]
fn group_excluded_by_watchdog_is_explained() {
    let system = skylake();
    system.set("nmi_watchdog", "1");
    let taken = |machine: &mut Machine| {
        as_skylake(machine);
        machine.pmu_is_taken = true;
    };
    // Four general counters and the cycles.
    let Some(opened) = open("Memory_Stalls", &system, taken) else {
        return;
    };
    let error = opened.unwrap_err();
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
    assert!(error.to_string().contains("kernel.nmi_watchdog=0"));
    with(|machine| {
        assert!(machine.calls.contains(&Call::Open(CYCLES)));
        assert_eq!(machine.open_events(), 0, "a refused group is closed");
    });
}

/// Neoverse N1 does not tell its width, and its refusal recommends this group.
#[test]
fn group_without_slots_needs_no_width() {
    let as_n1 = |machine: &mut Machine| {
        machine.has_metrics = false;
        machine.slots_per_look = SLOTS_PER_LOOK;
        machine.plain_events = vec![(0x11, 0.5), (0x23, 0.1), (0x24, 0.2)];
    };
    let system = System::arm("0x00000000413fd0c1", "0x0");
    let Some(opened) = open("Cycle_Accounting", &system, as_n1) else {
        return;
    };
    let hardware = opened.unwrap();
    assert_eq!(hardware.provenance().slots_per_cycle, None);
}

/// In a process of its own: the core that it gives stays given.
#[test]
fn group_width_is_checked_against_kernel() {
    const TEST: &str = "groups::group_width_is_checked_against_kernel";
    const IS_CHILD: &str = "TOPDOWN_TEST_GIVES_A_CORE";
    if std::env::var_os(IS_CHILD).is_none() {
        let status = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", TEST])
            .env(IS_CHILD, "1")
            .status();
        assert!(status.unwrap().success());
        return;
    }
    let text = "core\tExample E1\t65\t3393\t4\texample/1\nfixed\tCPU_CYCLES\t17\n".to_owned()
        + &"percent\t25\n".repeat(4)
        + "group\tL1D\ngeneral\tL1D_CACHE\t4\n";
    give_core(DescribedCore::from_text(&text).unwrap().into_table());
    let system = System::arm("0x00000000410fd411", "0x5");
    for wanted in [
        Wanted::Categories(Counters::Exact),
        Wanted::Group("L1D".to_owned()),
    ] {
        let error = Hardware::open_wanted(&system.paths(), wanted).unwrap_err();
        assert!(error.to_string().contains("4 slots per cycle"), "{error}");
        assert!(error.to_string().contains("kernel reports 5"), "{error}");
    }
}

#[test]
fn unknown_group_lists_existing_ones() {
    let Some(opened) = open("Branch", &skylake(), as_skylake) else {
        return;
    };
    let message = opened.unwrap_err().to_string();
    assert!(
        message.starts_with("Skylake … Cascade Lake has no metric group `Branch`"),
        "{message}"
    );
    assert!(message.contains("Branch_Effectiveness, "), "{message}");
}
