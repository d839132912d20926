//! Windows around another one, whose cost they would hold. They are flagged, whatever counts.

use topdown_counters::Source;
use topdown_counters::hardware::Hardware;
use topdown_counters::hardware::recording::SamplingHardware;
use topdown_run::sample::Flags;
use topdown_run::setting::{Counters, Threads};

use crate::exact::{as_sapphire_rapids, as_skylake, open_exact, skylake};
use crate::machine::Machine;
use crate::system::System;
use crate::trap::with;
use crate::{open, threads, trapped, try_open_with, window};

fn assert_outer_is_flagged(source: &impl Source) {
    source.sample_boundary();
    let outer = source.start();
    with(|machine| machine.work(600_000));
    let inner = window(source, |machine| machine.work(700_000));
    with(|machine| machine.work(600_000));
    let outer = source.end(&outer);
    assert!(outer.flags.intersects(Flags::NOT_COUNTING), "{outer:?}");
    assert_eq!((inner.slots, inner.flags), (Some(700_000), Flags::NONE));
    let next = window(source, |machine| machine.work(600_000));
    assert_eq!((next.slots, next.flags), (Some(600_000), Flags::NONE));
}

#[test]
fn outer_window_of_perf_metrics_is_flagged() {
    let system = System::sapphire_rapids();
    let Some(by_rdpmc) = open(&system, |_| ()) else {
        return;
    };
    assert_outer_is_flagged(&by_rdpmc);
    drop(by_rdpmc);
    let by_read = open(&system, |machine| machine.rdpmc_allowed = false);
    assert_outer_is_flagged(&by_read.unwrap());
    let clearing = try_open_with(&System::lunar_lake(), Counters::Auto, |machine| {
        machine.slots_per_cycle = 8;
    });
    assert_outer_is_flagged(&clearing.unwrap().unwrap());
}

#[test]
fn outer_window_of_plain_counters_is_flagged() {
    let Some(by_rdpmc) = open_exact(&skylake(), as_skylake) else {
        return;
    };
    assert_outer_is_flagged(&by_rdpmc);
    drop(by_rdpmc);
    let by_read = open_exact(&skylake(), |machine: &mut Machine| {
        as_skylake(machine);
        machine.rdpmc_allowed = false;
    });
    assert_outer_is_flagged(&by_read.unwrap());
}

#[test]
fn outer_window_of_all_threads_is_flagged() {
    let opened = threads::open(&skylake(), Counters::Auto, Threads::All, as_skylake);
    let Some(all) = opened.map(|opened: Result<Hardware, _>| opened.unwrap()) else {
        return;
    };
    assert_outer_is_flagged(&all);
}

#[test]
fn outer_window_of_hits_is_flagged() {
    let system = System::sapphire_rapids();
    crate::stay_on_this_cpu();
    let opened = trapped(as_sapphire_rapids, || {
        SamplingHardware::open(&system.paths(), Counters::Auto, 1000)
    });
    let Some(hits) = opened.map(|opened| opened.unwrap()) else {
        return;
    };
    let outer = hits.start();
    window(&hits, |machine| machine.work(60_000));
    assert!(hits.end(&outer).flags.intersects(Flags::NOT_COUNTING));
    let next = window(&hits, |machine| machine.work(60_000));
    assert_eq!(next.flags, Flags::NONE);
}
