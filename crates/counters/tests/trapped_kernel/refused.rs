//! Reads that the CPU refuses: on a core of another kind, and after root has forbidden RDPMC.

use topdown_counters::Source;
use topdown_counters::hardware::Hardware;
use topdown_run::sample::{Flags, Sample};

use crate::exact::{as_sapphire_rapids, as_skylake, open_exact, skylake};
use crate::machine::{Disturbance, Machine};
use crate::system::System;
use crate::trap::with;
use crate::{end, first_window, open};

/// Opens each kind of group that is read with RDPMC, and passes it on with its number of counters.
/// PERF_METRICS on a hybrid machine, and plain counters of which one is that of the slots.
fn with_each_group(check: impl Fn(&Hardware, u32)) {
    let Some(metrics) = open(&System::hybrid("0-3999", "4000-4003"), |_| ()) else {
        return;
    };
    check(&metrics, 4);
    drop(metrics);
    let golden_cove = open_exact(&System::sapphire_rapids(), as_sapphire_rapids);
    check(&golden_cove.unwrap(), 11);
    let skylake = open_exact(&skylake(), as_skylake);
    check(&skylake.unwrap(), 6);
}

/// Undoes what was done to the machine, and checks that the next window is right.
fn assert_next_is_right(hardware: &Hardware) {
    with(|machine| {
        machine.disturbance = None;
        machine.rdpmc_forbidden = false;
        machine.move_home();
    });
    let sample = first_window(hardware, |machine| machine.work(600_000));
    assert_eq!((sample.slots, sample.flags), (Some(600_000), Flags::NONE));
}

fn assert_dropped(sample: &Sample, what: impl std::fmt::Debug) {
    let flags = sample.flags;
    assert!(
        flags.intersects(Flags::NOT_COUNTING),
        "{what:?}: {sample:?}"
    );
    assert_eq!(sample.slots, Some(0), "{what:?}");
}

fn after_reads(reads: u32, what: Disturbance) -> impl FnOnce(&mut Machine) {
    move |machine| machine.disturbance = Some((reads, what))
}

#[test]
fn window_ending_elsewhere_reads_nothing() {
    with_each_group(|hardware, _| {
        let sample = first_window(hardware, |machine| {
            machine.work(600_000);
            machine.move_elsewhere();
            machine.rdpmcs = 0;
        });
        assert_dropped(&sample, "moved inside the window");
        assert_eq!(with(|machine| machine.rdpmcs), 0);
        assert_next_is_right(hardware);
    });
}

#[test]
fn move_during_the_last_reads_is_survived() {
    with_each_group(|hardware, counters| {
        for what in [Disturbance::Move, Disturbance::Forbid] {
            // After the last one, nothing is read any more.
            for reads in 0..counters - 1 {
                let sample = first_window(hardware, |machine| {
                    machine.work(600_000);
                    after_reads(reads, what)(machine);
                });
                assert_dropped(&sample, (what, reads));
                assert_next_is_right(hardware);
            }
        }
    });
}

#[test]
fn move_during_the_first_reads_is_survived() {
    with_each_group(|hardware, counters| {
        for what in [Disturbance::Move, Disturbance::Forbid] {
            // Nor here; PERF_METRICS may take one read more.
            for reads in 0..2 * counters - 1 {
                hardware.sample_boundary();
                with(after_reads(reads, what));
                let start = hardware.start();
                with(|machine| machine.work(600_000));
                assert_dropped(&end(hardware, &start), (what, reads));
                assert_next_is_right(hardware);
            }
        }
    });
}

#[test]
fn return_before_the_next_read_is_right() {
    with_each_group(|hardware, counters| {
        for reads in 0..counters {
            let sample = first_window(hardware, |machine| {
                machine.work(600_000);
                after_reads(reads, Disturbance::MoveAndBack)(machine);
            });
            assert_eq!(sample.slots, Some(600_000), "{sample:?}");
            assert_next_is_right(hardware);
        }
    });
}

/// Its pages still allow it, and their sequence numbers stay.
#[test]
fn forbidden_rdpmc_is_survived_until_it_is_allowed() {
    with_each_group(|hardware, _| {
        let sample = first_window(hardware, |machine| {
            machine.work(600_000);
            machine.rdpmc_forbidden = true;
        });
        assert_dropped(&sample, "forbidden inside the window");
        let sample = first_window(hardware, |machine| machine.work(600_000));
        assert_dropped(&sample, "forbidden before the window");
        let sample = first_window(hardware, |machine| {
            machine.work(600_000);
            machine.rdpmc_forbidden = false;
        });
        assert_dropped(&sample, "allowed inside the window");
        assert_next_is_right(hardware);
    });
}
