//! Counts of the work inside a window, and flags for disturbances.

use topdown_counters::Source;
use topdown_counters::hardware::Hardware;
use topdown_run::sample::{Flags, Sample};
use topdown_skipped::{Need, skip};

use crate::exact::{as_sapphire_rapids, as_skylake, as_zen_4, open_exact, skylake, zen_4};
use crate::machine::{Call, DEFAULT_MIX, Disturbance, Machine, Mix};
use crate::system::System;
use crate::trap::with;
use crate::{allowed_cpus, end, first_window, open, run_on, window};

const OTHER_MIX: Mix = [0.05, 0.65, 0.10, 0.20, 0.01, 0.60, 0.02, 0.03];

/// Checks that every category is within the resolution of its share of the slots, and that the
/// resolution is no wider than `limit`, a fraction of the slots.
fn assert_split(sample: &Sample, mix: Mix, limit: f64) {
    let slots = sample.slots.unwrap() as f64;
    let level1 = sample.level1.unwrap();
    let mut categories = vec![
        level1.slots.retiring,
        level1.slots.bad_speculation,
        level1.slots.frontend_bound,
        level1.slots.backend_bound,
    ];
    if let Some(level2) = sample.level2 {
        categories.extend([
            level2.retiring,
            level2.bad_speculation,
            level2.frontend_bound,
            level2.backend_bound,
        ]);
    }
    for (got, share) in categories.iter().zip(mix) {
        let error = (got - slots * share).abs();
        assert!(
            error <= sample.resolution_slots,
            "{got} is not {share} of {slots} within {}",
            sample.resolution_slots
        );
    }
    let fraction = sample.resolution_fraction().unwrap();
    assert!(fraction <= limit, "resolution {fraction}");
}

#[test]
fn window_holds_exactly_the_work_inside() {
    let Some(hardware) = open(&System::sapphire_rapids(), |_| ()) else {
        return;
    };
    with(|machine| machine.mix = OTHER_MIX);
    first_window(&hardware, |machine| machine.work(7_000_000));
    let sample = first_window(&hardware, |machine| {
        machine.mix = DEFAULT_MIX;
        machine.work(1_200_000);
    });
    assert_eq!(sample.windows, 1);
    assert_eq!(sample.slots, Some(1_200_000));
    assert_eq!(sample.instructions, Some(600_000));
    assert_eq!(sample.cycles, Some(200_000));
    assert_eq!(sample.flags, Flags::NONE);
    assert_split(&sample, DEFAULT_MIX, 0.004);
}

#[test]
fn reserved_bytes_are_not_level_2() {
    let Some(hardware) = open(&System::ice_lake(), |_| ()) else {
        return;
    };
    let sample = first_window(&hardware, |machine| machine.work(600_000));
    assert_eq!(sample.level2, None);
    assert_split(&sample, DEFAULT_MIX, 0.004);
}

#[test]
fn most_windows_make_no_system_call() {
    let Some(metrics) = open(&System::sapphire_rapids(), |_| ()) else {
        return;
    };
    let calls_of_100_windows = |hardware: &Hardware| {
        let before = with(|machine| machine.calls.len());
        for _ in 0..100 {
            let sample = window(hardware, |machine| machine.work(1200));
            // Its counters are on the PMU, so nothing is saved by counting nothing.
            assert_eq!((sample.slots, sample.flags), (Some(1200), Flags::FEW_SLOTS));
        }
        with(|machine| machine.calls.split_off(before))
    };
    // After what was counted at open, and after 42 windows of 1200 slots each.
    assert_eq!(calls_of_100_windows(&metrics), [Call::Reset; 3]);
    drop(metrics);
    for (system, prepare) in [
        (
            System::sapphire_rapids(),
            as_sapphire_rapids as fn(&mut Machine),
        ),
        (skylake(), as_skylake),
        (zen_4(), as_zen_4),
    ] {
        let exact = open_exact(&system, prepare).unwrap();
        assert_eq!(calls_of_100_windows(&exact), []);
    }
}

#[test]
fn reset_comes_once_its_slots_would_show() {
    let Some(hardware) = open(&System::sapphire_rapids(), |_| ()) else {
        return;
    };
    let resets = |windows: u32, slots: u64| {
        let count = || with(|m| m.calls.iter().filter(|c| **c == Call::Reset).count());
        let before = count();
        let mut sum = Sample::EMPTY;
        for _ in 0..windows {
            sum = sum.plus(&window(&hardware, |machine| machine.work(slots)));
        }
        (count() - before, sum)
    };
    // A reset leaves 40 slots behind, so each of these is followed by one.
    resets(1, 50_000);
    let (count, sum) = resets(100, 50_000);
    assert_eq!(count, 100);
    assert_split(&sum, DEFAULT_MIX, 0.004);
    assert_eq!(sum.flags, Flags::NONE);
    let (count, sum) = resets(5000, 1000);
    assert_eq!(count, 100);
    assert!(sum.resolution_slots <= 5000.0 * (2.0 * 51_000.0 + 1000.0) / 255.0);
    assert_split(&sum, DEFAULT_MIX, 0.21);
    assert_eq!(sum.flags, Flags::FEW_SLOTS);
    // Windows that can decide something are not much coarser than long ones.
    for slots in [2500, 5000, 12_500] {
        resets(1, slots);
        let (count, sum) = resets(100, slots);
        assert_eq!(count, 25, "{slots}");
        assert!(sum.resolution_fraction() < Some(0.036), "{sum:?}");
    }
}

#[test]
fn switch_in_window_counts_right_and_is_flagged() {
    let Some(hardware) = open(&System::sapphire_rapids(), |_| ()) else {
        return;
    };
    let sample = first_window(&hardware, |machine| {
        for _ in 0..3 {
            machine.work(200_000);
            machine.switch();
        }
        machine.work(200_000);
    });
    assert_eq!(sample.slots, Some(800_000));
    assert_eq!(sample.flags, Flags::SWITCHED);
    assert_split(&sample, DEFAULT_MIX, 0.03);
    assert!(sample.resolution_slots > 4.0 * 800_000.0 / 255.0);
}

#[test]
fn plain_counters_are_right_across_a_switch() {
    let Some(hardware) = open(&System::sapphire_rapids(), |_| ()) else {
        return;
    };
    let sample = first_window(&hardware, |machine| {
        machine.work(600_000);
        machine.switch();
        machine.work(600_000);
    });
    assert_eq!(sample.instructions, Some(600_000));
    assert_eq!(sample.cycles, Some(200_000));
}

#[test]
fn interrupted_reading_is_repeated() {
    let Some(hardware) = open(&System::sapphire_rapids(), |_| ()) else {
        return;
    };
    // After the slots since the reset, the four counters of a reading: the switch comes after each
    // of them in turn.
    for rdpmcs in 1..5 {
        hardware.sample_boundary();
        with(|machine| {
            machine.disturbance = Some((rdpmcs, Disturbance::Switch));
            machine.rdpmcs = 0;
        });
        let start = hardware.start();
        assert_eq!(with(|machine| machine.rdpmcs), 1 + 4 + 4);
        with(|machine| machine.work(600_000));
        let sample = end(&hardware, &start);
        assert_eq!(sample.flags, Flags::NONE, "interrupted at {rdpmcs}");
        assert_eq!(sample.instructions, Some(300_000));
        assert_split(&sample, DEFAULT_MIX, 0.004);
    }
}

#[test]
fn switch_in_last_reading_belongs_to_the_window() {
    let Some(hardware) = open(&System::sapphire_rapids(), |_| ()) else {
        return;
    };
    let sample = first_window(&hardware, |machine| {
        machine.work(600_000);
        machine.disturbance = Some((1, Disturbance::Switch));
    });
    assert_eq!(sample.flags, Flags::SWITCHED);
    assert_eq!(sample.slots, Some(600_000));
    assert_eq!(sample.cycles, Some(100_000));
}

#[test]
fn unsettled_readings_are_abandoned() {
    let Some(hardware) = open(&System::sapphire_rapids(), |_| ()) else {
        return;
    };
    let sample = first_window(&hardware, |machine| {
        machine.work(600_000);
        machine.disturb_every_look = true;
        machine.rdpmcs = 0;
    });
    assert_eq!(sample.flags, Flags::NOT_COUNTING);
    assert_eq!(sample.slots, Some(0));
    assert_eq!(with(|machine| machine.rdpmcs), 16 * 4);
}

#[test]
fn overflow_interrupt_shows_as_decreasing_slots() {
    let Some(hardware) = open(&System::sapphire_rapids(), |_| ()) else {
        return;
    };
    with(|machine| machine.mix = OTHER_MIX);
    let start = hardware.start();
    with(|machine| {
        machine.work(600_000);
        machine.overflow_interrupt();
    });
    let sample = end(&hardware, &start);
    assert!(sample.flags.intersects(Flags::WENT_BACKWARDS));
    assert_eq!(sample.slots, Some(0));
}

/// By slots alone it looks like a window of 700 000 slots.
#[test]
fn registers_cleared_in_window_are_noticed() {
    let Some(hardware) = open(&System::sapphire_rapids(), |_| ()) else {
        return;
    };
    let sample = first_window(&hardware, |machine| {
        machine.work(1_400_000);
        machine.overflow_interrupt();
        machine.work(700_000);
    });
    assert!(sample.flags.intersects(Flags::WENT_BACKWARDS), "{sample:?}");
    assert_eq!(sample.slots, Some(0));
}

/// The part in between would be missing, and the times would not show it.
#[test]
fn measured_code_cannot_stop_counters() {
    let Some(hardware) = open(&System::sapphire_rapids(), |_| ()) else {
        return;
    };
    let sample = first_window(&hardware, |machine| {
        machine.work(600_000);
        machine.prctl(false);
        machine.work(300_000);
        machine.prctl(true);
        machine.work(300_000);
    });
    assert_eq!(sample.slots, Some(1_200_000));
    assert_eq!(sample.flags, Flags::NONE);
    assert_split(&sample, DEFAULT_MIX, 0.004);
}

#[test]
fn window_losing_the_pmu_is_flagged_and_next_counts() {
    let Some(hardware) = open(&System::sapphire_rapids(), |_| ()) else {
        return;
    };
    let sample = first_window(&hardware, |machine| {
        machine.work(600_000);
        machine.displace();
        machine.work(600_000);
    });
    assert_eq!(sample.flags, Flags::NOT_COUNTING);
    assert_eq!(sample.slots, Some(0));

    // Still taken: nothing can be counted from the start.
    let sample = first_window(&hardware, |machine| machine.work(600_000));
    assert_eq!(sample.flags, Flags::NOT_COUNTING);

    with(|machine| machine.pmu_is_taken = false);
    let sample = first_window(&hardware, |machine| machine.work(600_000));
    assert_eq!(sample.flags, Flags::NONE);
    assert_eq!(sample.slots, Some(600_000));
    assert_split(&sample, DEFAULT_MIX, 0.004);
}

#[test]
fn group_displaced_during_reading_is_not_read_on() {
    let Some(hardware) = open(&System::sapphire_rapids(), |_| ()) else {
        return;
    };
    for rdpmcs in 0..3 {
        with(|machine| {
            machine.pmu_is_taken = false;
            machine.rdpmcs = 0;
        });
        let sample = first_window(&hardware, |machine| {
            machine.work(600_000);
            machine.disturbance = Some((rdpmcs, Disturbance::Displace));
        });
        assert_eq!(sample.flags, Flags::NOT_COUNTING);
    }
}

#[test]
fn multiplexed_window_is_flagged() {
    let Some(hardware) = open(&System::sapphire_rapids(), |_| ()) else {
        return;
    };
    let sample = first_window(&hardware, |machine| {
        machine.work(600_000);
        machine.starve(1_000_000);
        machine.work(600_000);
    });
    assert!(sample.flags.intersects(Flags::NOT_COUNTING));
    assert_eq!(sample.slots, Some(0));
}

#[test]
fn wrong_ratio_sum_is_flagged() {
    let Some(hardware) = open(&System::sapphire_rapids(), |_| ()) else {
        return;
    };
    let sample = first_window(&hardware, |machine| {
        machine.work(600_000);
        machine.stuck_ratios = Some(0x3333_3333);
    });
    assert_eq!(sample.flags, Flags::BAD_RATIOS);
    assert_eq!(sample.slots, Some(600_000));
}

#[test]
fn window_of_few_slots_is_flagged() {
    let Some(hardware) = open(&System::sapphire_rapids(), |_| ()) else {
        return;
    };
    let flags = |slots| first_window(&hardware, |machine| machine.work(slots)).flags;
    assert_eq!(flags(50_000), Flags::NONE);
    assert_eq!(flags(49_999), Flags::FEW_SLOTS);
}

#[test]
fn move_to_another_cpu_is_flagged() {
    let cpus = allowed_cpus();
    let [first, second, ..] = cpus[..] else {
        skip(Need::Cpus, "this thread may run on one CPU only");
        return;
    };
    run_on(first);
    let Some(hardware) = open(&System::sapphire_rapids(), |_| ()) else {
        return;
    };
    let sample = first_window(&hardware, |machine| {
        machine.work(300_000);
        run_on(second);
        machine.switch();
        machine.work(300_000);
    });
    assert_eq!(sample.flags, Flags::SWITCHED | Flags::MIGRATED);
    assert!(!sample.flags.intersects(Flags::UNUSABLE));
    assert_eq!(sample.slots, Some(600_000));
}

#[test]
fn read_gives_the_same_numbers_without_rdpmc() {
    let Some(hardware) = open(&System::sapphire_rapids(), |m| m.rdpmc_allowed = false) else {
        return;
    };
    with(|machine| machine.mix = OTHER_MIX);
    first_window(&hardware, |machine| machine.work(7_000_000));
    let sample = first_window(&hardware, |machine| {
        machine.mix = DEFAULT_MIX;
        machine.work(1_200_000);
    });
    assert_eq!(sample.slots, Some(1_200_000));
    assert_eq!(sample.instructions, Some(600_000));
    assert_eq!(sample.cycles, Some(200_000));
    assert_eq!(sample.flags, Flags::NONE);
    assert!(sample.level2.is_some());
    assert_split(&sample, DEFAULT_MIX, 0.004);

    let sample = first_window(&hardware, |machine| {
        machine.work(600_000);
        machine.switch();
        machine.work(600_000);
    });
    assert_eq!(sample.flags, Flags::SWITCHED);
    assert_eq!(sample.slots, Some(1_200_000));
    assert_split(&sample, DEFAULT_MIX, 0.02);
    with(|machine| assert_eq!(machine.rdpmcs, 0));
}

#[test]
fn lost_pmu_is_noticed_and_regained_without_rdpmc() {
    let Some(hardware) = open(&System::ice_lake(), |m| m.rdpmc_allowed = false) else {
        return;
    };
    let sample = first_window(&hardware, |machine| {
        machine.work(600_000);
        machine.displace();
    });
    assert!(sample.flags.intersects(Flags::NOT_COUNTING));
    assert_eq!(sample.slots, Some(0));
    with(|machine| machine.pmu_is_taken = false);
    let sample = first_window(&hardware, |machine| machine.work(600_000));
    assert_eq!(sample.flags, Flags::NONE);
    assert_eq!(sample.level2, None);
    assert_split(&sample, DEFAULT_MIX, 0.004);
}
