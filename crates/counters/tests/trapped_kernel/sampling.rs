//! Launches that record where the code is: what the records say, and what becomes of those that are
//! missing, broken or hostile.

use topdown_counters::Source;
use topdown_counters::error::OpenError;
use topdown_counters::hardware::SystemPaths;
use topdown_counters::hardware::recording::SamplingHardware;
use topdown_run::code_samples::{CodeSamples, SampledAddress, SamplingEngine};
use topdown_run::sample::Flags;
use topdown_run::setting::Counters;

use crate::exact::{SLOTS_PER_LOOK, as_skylake, skylake};
use crate::machine::Machine;
use crate::system::System;
use crate::trap::with;
use crate::trapped;

const PERIOD: u64 = 1000;
/// Slots from one hit to the next.
const STEP: u64 = 6 * PERIOD;
/// Addresses without a mapping, whose places are the addresses themselves.
const PARSE: u64 = 0x1000;
const SORT: u64 = 0x2000;

fn try_open(
    system: &System,
    prepare: impl FnOnce(&mut Machine),
) -> Option<Result<SamplingHardware, OpenError>> {
    let open = |paths: &_| SamplingHardware::open(paths, Counters::Auto, PERIOD);
    try_open_as(system, prepare, open)
}

fn try_open_as(
    system: &System,
    prepare: impl FnOnce(&mut Machine),
    open: impl FnOnce(&SystemPaths) -> Result<SamplingHardware, OpenError>,
) -> Option<Result<SamplingHardware, OpenError>> {
    crate::stay_on_this_cpu();
    let prepare = |machine: &mut Machine| {
        machine.slots_per_look = SLOTS_PER_LOOK;
        prepare(machine);
    };
    trapped(prepare, || open(&system.paths()))
}

fn open(prepare: impl FnOnce(&mut Machine)) -> Option<SamplingHardware> {
    let opened = try_open(&System::sapphire_rapids(), prepare)?.unwrap();
    opened.sample_boundary();
    Some(opened)
}

/// A sample of one window, kept.
fn sample(hardware: &SamplingHardware, work: impl FnOnce(&mut Machine)) -> Flags {
    let start = hardware.start();
    with(work);
    let sample = hardware.end(&start);
    hardware.sample_kept();
    hardware.sample_boundary();
    with(|machine| assert_eq!(machine.violations, [""; 0]));
    sample.flags
}

fn taken(hardware: &SamplingHardware) -> CodeSamples {
    hardware.take_code_samples().unwrap()
}

fn slots_at(hits: &CodeSamples, address: u64) -> u64 {
    at(hits, address).map(|location| location.slots).sum()
}

/// The places at an address, one for each that was hit before it.
fn at(hits: &CodeSamples, address: u64) -> impl Iterator<Item = &SampledAddress> {
    hits.places
        .iter()
        .filter(move |location| location.offset == address)
}

#[test]
fn counts_go_to_code_at_next_interrupt() {
    let Some(hardware) = open(|_| {}) else {
        return;
    };
    let flags = sample(&hardware, |machine| {
        machine.work_at(PARSE, 10 * STEP);
        machine.mix = [0.1, 0.1, 0.7, 0.1, 0.0, 0.0, 0.5, 0.0];
        machine.work_at(SORT, 5 * STEP / 2);
        // The rest of a step, and half of the next, which no interrupt hits.
        machine.work_at(PARSE, STEP);
    });
    assert_eq!(flags, Flags::NONE);
    let hits = taken(&hardware);
    assert_eq!(
        (hits.sampled.hits, hits.sampled.period_cycles),
        (13, PERIOD)
    );
    assert_eq!(hits.sampled.effective_hits, 13);
    assert_eq!(slots_at(&hits, PARSE), 11 * STEP);
    assert_eq!(slots_at(&hits, SORT), 2 * STEP);
    let places = |address| -> Vec<(Option<u64>, u64)> {
        at(&hits, address)
            .map(|location| (location.after.map(|(_, offset)| offset), location.hits))
            .collect()
    };
    // The hit before the first one was in the check of the counters.
    assert_eq!(places(PARSE)[1..], [(Some(PARSE), 9), (Some(SORT), 1)]);
    assert_eq!(places(SORT), [(Some(PARSE), 1), (Some(SORT), 1)]);
    for sort in at(&hits, SORT) {
        let SampledAddress {
            level1_slots,
            level2_slots,
            instructions,
            ..
        } = sort;
        let slots = STEP as f64;
        assert!((level1_slots.frontend_bound / slots - 0.7).abs() < 0.005);
        assert!((level2_slots.frontend_bound / slots - 0.5).abs() < 0.005);
        assert_eq!(*instructions, STEP / 2);
        assert_eq!(hits.modules[sort.module as usize], "");
    }
    // The next benchmark has none of it, not even the rest.
    sample(&hardware, |machine| machine.work_at(SORT, STEP / 2));
    assert_eq!(slots_at(&taken(&hardware), PARSE), 0);
}

#[test]
fn plain_counters_attribute_counts_too() {
    let Some(opened) = try_open(&skylake(), as_skylake) else {
        return;
    };
    let hardware = opened.unwrap();
    assert_eq!(hardware.provenance().formula, "skylake-exact/1");
    hardware.sample_boundary();
    let flags = sample(&hardware, |machine| {
        machine.work_at(PARSE, 30 * 4 * PERIOD);
        machine.work_at(SORT, 10 * 4 * PERIOD);
    });
    assert_eq!(flags, Flags::NONE);
    let hits = taken(&hardware);
    assert_eq!(hits.sampled.engine, SamplingEngine::OwnPeriods);
    assert_eq!(slots_at(&hits, PARSE), 120 * PERIOD);
    assert_eq!(slots_at(&hits, SORT), 40 * PERIOD);
    let backend = at(&hits, SORT).map(|location| location.level1_slots.backend_bound);
    assert!((backend.sum::<f64>() / (40 * PERIOD) as f64 - 0.3).abs() < 0.01);
}

/// Opens Skylake's counters, which have their own periods.
fn open_own(prepare: impl FnOnce(&mut Machine)) -> Option<SamplingHardware> {
    let opened = try_open(&skylake(), |machine| {
        as_skylake(machine);
        prepare(machine);
    })?;
    let hardware = opened.unwrap();
    hardware.sample_boundary();
    Some(hardware)
}

/// What the events counted at an address, by name.
fn own_at(hits: &CodeSamples, address: u64) -> Vec<(&str, u64)> {
    let own = hits.own.as_ref().unwrap();
    let location = own
        .places
        .iter()
        .find(|location| location.offset == address);
    let names = own.events.iter().map(String::as_str);
    names
        .zip(location.unwrap().counts.iter().copied())
        .collect()
}

#[test]
fn short_code_has_its_share_of_each_event() {
    let Some(hardware) = open_own(|_| {}) else {
        return;
    };
    // A tenth of a period here, a fifth there. Work at `SORT` issues nothing.
    let flags = sample(&hardware, |machine| {
        let events = machine.plain_events.clone();
        for _ in 0..4000 {
            machine.plain_events.clone_from(&events);
            machine.work_at(PARSE, 4 * PERIOD / 10);
            machine.plain_events.retain(|(config, _)| *config == 0x019c);
            machine.work_at(SORT, 4 * PERIOD / 5);
        }
        machine.plain_events = events;
    });
    assert_eq!(flags, Flags::NONE);
    let hits = taken(&hardware);
    assert_eq!(hits.sampled.engine, SamplingEngine::OwnPeriods);
    // Between two hits of cycles is some of everything.
    let mixed: f64 = at(&hits, SORT)
        .map(|location| location.level1_slots.retiring)
        .sum();
    assert!(mixed > 0.05 * slots_at(&hits, SORT) as f64, "{mixed}");
    let [parse, sort] = [PARSE, SORT].map(|address| own_at(&hits, address));
    let cycles = (1600 * PERIOD / 4) as f64;
    for ((event, parse), (_, sort)) in parse.into_iter().zip(sort) {
        let (parse, sort) = (parse as f64 / cycles, sort as f64 / cycles);
        let expected = match event {
            "CPU_CLK_UNHALTED.THREAD" => (1.0, 2.0),
            "INST_RETIRED.ANY" => continue,
            "IDQ_UOPS_NOT_DELIVERED.CORE" => (0.8, 1.6),
            "UOPS_RETIRED.RETIRE_SLOTS" => (1.6, 0.0),
            _ => (parse, 0.0),
        };
        let near = |found: f64, expected: f64| (found - expected).abs() < 0.05;
        assert!(
            near(parse, expected.0) && near(sort, expected.1),
            "{event}: {parse} {sort}"
        );
    }
}

/// Neoverse N1 has no events for slots. Its specification names the stalled cycles as the events to
/// sample: those of the frontend are at `PARSE` alone here, and those of the backend at `SORT`.
#[test]
fn sampled_events_of_a_group_locate_their_code() {
    let (cycles, frontend, backend) = (0x11, 0x23, 0x24);
    let as_n1 = |machine: &mut Machine| {
        machine.has_metrics = false;
        machine.plain_events = vec![(cycles, 0.25), (frontend, 0.05), (backend, 0.05)];
    };
    let system = System::arm("0x00000000413fd0c1", "0x0");
    let periods = [PERIOD, 200, 200];
    let open = |paths: &_| SamplingHardware::open_group(paths, "Cycle_Accounting", &periods);
    let Some(opened) = try_open_as(&system, as_n1, open) else {
        return;
    };
    let hardware = opened.unwrap();
    let provenance = hardware.provenance();
    assert_eq!(provenance.formula, "group-Cycle_Accounting/1");
    assert_eq!(provenance.slots_per_cycle, None);
    hardware.sample_boundary();
    // A tenth of a period of cycles here, a fifth there.
    let flags = sample(&hardware, |machine| {
        for _ in 0..4000 {
            machine.plain_events = vec![(cycles, 0.25), (frontend, 0.1)];
            machine.work_at(PARSE, 4 * PERIOD / 10);
            machine.plain_events = vec![(cycles, 0.25), (backend, 0.2)];
            machine.work_at(SORT, 4 * PERIOD / 5);
        }
    });
    assert_eq!(flags, Flags::NONE);
    let hits = taken(&hardware);
    assert_eq!(hits.sampled.engine, SamplingEngine::OwnPeriods);
    let counted = 4.0 * 4000.0 * PERIOD as f64 / 10.0;
    let expected = [(PARSE, [0.25, 0.1, 0.0]), (SORT, [0.5, 0.0, 0.4])];
    for (address, expected) in expected {
        for ((event, found), expected) in own_at(&hits, address).into_iter().zip(expected) {
            let found = found as f64 / counted;
            assert!((found - expected).abs() < 0.02, "{event}: {found}");
        }
    }
}

#[test]
fn silent_event_leaves_counts_between_interrupts() {
    let Some(hardware) = open_own(|machine| machine.mute = Some(0x019c)) else {
        return;
    };
    sample(&hardware, |machine| {
        machine.work_at(PARSE, 400 * 4 * PERIOD)
    });
    let hits = taken(&hardware);
    assert_eq!(
        (hits.own.is_none(), hits.sampled.engine),
        (true, SamplingEngine::Counters)
    );
    assert_eq!(slots_at(&hits, PARSE), 1600 * PERIOD);
}

#[test]
fn warm_up_and_gaps_have_no_pmu_samples() {
    let Some(hardware) = open(|_| {}) else {
        return;
    };
    let start = hardware.start();
    with(|machine| machine.work_at(SORT, 50 * STEP));
    hardware.end(&start);
    // criterion's measurement begins.
    hardware.sample_boundary();
    with(|machine| machine.work_at(SORT, 50 * STEP));
    sample(&hardware, |machine| machine.work_at(PARSE, 50 * STEP));
    let hits = taken(&hardware);
    assert_eq!((hits.sampled.hits, slots_at(&hits, SORT)), (50, 0));
}

#[test]
fn records_wrapping_the_buffer_are_whole() {
    let Some(hardware) = open(|machine| machine.largest_buffer_pages = 2) else {
        return;
    };
    // A hit has 136 bytes and a pause 32, both out of step with the 8192 of the buffer.
    for _ in 0..40 {
        let flags = sample(&hardware, |machine| {
            machine.throttle();
            machine.work_at(PARSE, STEP);
        });
        assert_eq!(flags, Flags::NOT_COUNTING);
        // The period stays as it is in this test.
        with(|machine| machine.set_all_periods(PERIOD));
        let flags = sample(&hardware, |machine| machine.work_at(PARSE, 20 * STEP));
        assert_eq!(flags, Flags::NONE);
    }
    let hits = taken(&hardware);
    assert_eq!((hits.sampled.hits, hits.sampled.throttled), (800, 40));
    assert_eq!(slots_at(&hits, PARSE), 800 * STEP);
}

#[test]
fn full_buffer_drops_sample_and_doubles_period() {
    let Some(hardware) = open(|machine| machine.largest_buffer_pages = 2) else {
        return;
    };
    let flags = sample(&hardware, |machine| machine.work_at(PARSE, 100 * STEP));
    assert_eq!(flags, Flags::NOT_COUNTING);
    for _ in 0..3 {
        let flags = sample(&hardware, |machine| machine.work_at(PARSE, 100 * STEP));
        assert_eq!(flags, Flags::NONE);
    }
    let hits = taken(&hardware);
    // What was lost is known when there is room again, which also asks for fewer hits.
    assert_eq!(hits.sampled.lost, 100 - 60);
    assert_eq!(hits.sampled.period_cycles, 4 * PERIOD + 3);
    // 100 000 cycles each, after every 2001 and then 4003; what is left over is for the next.
    assert_eq!(hits.sampled.hits, 49 + 25 + 25);
}

#[test]
fn throttling_drops_sample_and_doubles_period() {
    let Some(hardware) = open(|_| {}) else {
        return;
    };
    let flags = sample(&hardware, |machine| {
        machine.work_at(PARSE, 10 * STEP);
        machine.throttle();
        machine.work(500 * STEP);
        machine.work_at(SORT, STEP);
    });
    assert_eq!(flags, Flags::NOT_COUNTING);
    sample(&hardware, |machine| machine.work_at(PARSE, 20 * STEP));
    let hits = taken(&hardware);
    assert_eq!((hits.sampled.throttled, slots_at(&hits, SORT)), (1, 0));
    assert_eq!(hits.sampled.period_cycles, 2 * PERIOD + 1);
    assert!(hits.sampled.hits < 11, "{:?}", hits.sampled);
}

#[test]
fn invalid_records_cost_only_the_sample() {
    let Some(hardware) = open(|_| {}) else {
        return;
    };
    let garbage: [&[u8]; 5] = [
        // A size of 0; one beyond the end; half a header; a hit without counts; random.
        &[9, 0, 0, 0, 2, 0, 0, 0],
        &[9, 0, 0, 0, 2, 0, 255, 255],
        &[9, 0, 0],
        &[9, 0, 0, 0, 2, 0, 16, 0, 1, 2, 3, 4, 5, 6, 7, 8],
        &[0x5a; 999],
    ];
    for bytes in garbage {
        let flags = sample(&hardware, |machine| {
            machine.work_at(SORT, 3 * STEP);
            machine.write_garbage(bytes);
        });
        assert_eq!(flags, Flags::NOT_COUNTING, "{bytes:?}");
        let flags = sample(&hardware, |machine| machine.work_at(PARSE, 10 * STEP));
        assert_eq!(flags, Flags::NONE);
    }
    let hits = taken(&hardware);
    assert_eq!((hits.sampled.hits, slots_at(&hits, SORT)), (50, 0));
    assert_eq!(slots_at(&hits, PARSE), 50 * STEP);
}

#[test]
fn impossible_kernel_buffer_size_is_refused() {
    let Some(hardware) = open(|_| {}) else {
        return;
    };
    let flags = sample(&hardware, Machine::move_head_too_far);
    assert_eq!(flags, Flags::NOT_COUNTING);
    let flags = sample(&hardware, |machine| machine.work_at(PARSE, 10 * STEP));
    assert_eq!(flags, Flags::NONE);
}

#[test]
fn missing_buffer_space_names_the_budget() {
    let none = |machine: &mut Machine| machine.largest_buffer_pages = 0;
    let Some(opened) = try_open(&System::sapphire_rapids(), none) else {
        return;
    };
    let error = opened.unwrap_err();
    assert!(matches!(error, OpenError::LockedMemory { .. }), "{error:?}");
}

#[test]
fn displaced_pmu_has_no_pmu_samples() {
    let Some(hardware) = open(|_| {}) else {
        return;
    };
    let flags = sample(&hardware, |machine| {
        machine.work_at(PARSE, 10 * STEP);
        machine.displace();
        machine.work_at(SORT, 10 * STEP);
    });
    assert_eq!(flags, Flags::NOT_COUNTING);
    assert_eq!(taken(&hardware).sampled.hits, 0);
}
