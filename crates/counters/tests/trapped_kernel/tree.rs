//! Commands: which processes are counted, from when on, and when the counts are rejected.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Duration;
use topdown_counters::cpu::FORMULA_LEVEL2;
use topdown_counters::error::OpenError;
use topdown_counters::hardware::commands::TreeCounters;
use topdown_run::sample::Sample;
use topdown_run::setting::Counters;
use topdown_skipped::{Need, skip};

use crate::exact::{as_sapphire_rapids, as_skylake, assert_mix, skylake};
use crate::machine::{COMMAND, CYCLES, Call, Machine};
use crate::system::System;
use crate::trap::{lend_to_followers, with};
use crate::trapped;

/// Prints the reason and returns `None` if this system does not let a process trap its own calls.
fn prepare(
    system: &System,
    counters: Counters,
    prepare: impl FnOnce(&mut Machine),
) -> Option<TreeCounters> {
    crate::stay_on_this_cpu();
    let counters = trapped(prepare, || {
        TreeCounters::prepare_in(&system.paths(), counters).unwrap()
    })?;
    with(|machine| {
        assert_eq!(
            machine.open_events(),
            0,
            "the command has the PMU to itself"
        );
        machine.calls.clear();
    });
    Some(counters)
}

/// Counts a command that does some work before its `exec`, and `work` after it.
fn command(counters: &TreeCounters, work: impl FnOnce(&mut Machine)) -> Result<Sample, OpenError> {
    let counted = counters.attach(COMMAND as u32).unwrap();
    with(|machine| {
        machine.work(5_000_000);
        machine.exec();
        work(machine);
    });
    let sample = counted.sample(Duration::from_nanos(7));
    with(|machine| assert_eq!(machine.violations, [""; 0]));
    sample
}

#[test]
fn command_is_counted_with_children_from_exec() {
    let Some(counters) = prepare(&skylake(), Counters::Auto, as_skylake) else {
        return;
    };
    assert_eq!(counters.provenance().formula, "skylake-exact/1");
    let counted = counters.attach(COMMAND as u32).unwrap();
    with(|machine| {
        assert!(
            machine
                .calls
                .iter()
                .all(|call| matches!(call, Call::Open(_)))
        );
        for config in [CYCLES, 0x019c, 0x010e, 0x02c2, 0x010d] {
            let attributes = machine.attributes(config);
            let leads = u64::from(config == CYCLES);
            assert_eq!(attributes.inherit(), 1);
            assert_eq!(attributes.pinned(), 0);
            assert_eq!(attributes.exclude_kernel(), 1);
            assert_eq!(attributes.enable_on_exec(), leads);
            assert_eq!(attributes.disabled(), leads);
        }
    });
    drop(counted);
    let sample = command(&counters, |machine| machine.work(1_000_000)).unwrap();
    assert_mix(&sample, 1_000_000);
    assert_eq!((sample.windows, sample.wall_ns), (1, 7));
    assert_eq!(sample.instructions, Some(500_000));
    assert_eq!(sample.cycles, Some(250_000));
}

#[test]
fn command_can_be_counted_with_perf_metrics() {
    let system = System::sapphire_rapids();
    let look = |machine: &mut Machine| machine.slots_per_look = 400_000;
    let Some(counters) = prepare(&system, Counters::Metrics, look) else {
        return;
    };
    assert_eq!(counters.provenance().formula, FORMULA_LEVEL2);
    let sample = command(&counters, |machine| machine.work(2_550_000)).unwrap();
    assert_eq!(sample.slots, Some(2_550_000));
    let (level1, level2) = (sample.level1.unwrap(), sample.level2.unwrap());
    assert!((level1.slots.retiring - 1_020_000.0).abs() <= sample.resolution_slots);
    assert!((level2.backend_bound - 459_000.0).abs() <= sample.resolution_slots);
    assert_eq!(sample.instructions, Some(1_275_000));
}

#[test]
fn plain_counters_precede_perf_metrics() {
    let system = System::sapphire_rapids();
    let Some(counters) = prepare(&system, Counters::Auto, as_sapphire_rapids) else {
        return;
    };
    assert_eq!(counters.provenance().formula, "golden-cove-exact/1");
    let without_plain_slots = |machine: &mut Machine| {
        machine.slots_per_look = 400_000;
        machine.refuse_open = Some((0x02c2, libc::EINVAL));
    };
    let Some(counters) = prepare(&system, Counters::Auto, without_plain_slots) else {
        return;
    };
    assert_eq!(counters.provenance().formula, FORMULA_LEVEL2);
}

#[test]
fn intermittent_counters_are_refused() {
    let Some(counters) = prepare(&skylake(), Counters::Exact, as_skylake) else {
        return;
    };
    with(|machine| machine.half_time = true);
    let error = command(&counters, |machine| machine.work(1_000_000)).unwrap_err();
    assert!(matches!(error, OpenError::Multiplexed { .. }), "{error:?}");
    with(|machine| (machine.half_time, machine.pmu_is_taken) = (false, true));
    let error = command(&counters, |machine| machine.work(1_000_000)).unwrap_err();
    assert!(
        matches!(error, OpenError::NeverScheduled { .. }),
        "{error:?}"
    );
}

/// Returns the first address of code that the process has mapped from its own executable, and its
/// offset there.
fn code_of(process: u32) -> (u64, u64) {
    let executable = std::fs::read_link(format!("/proc/{process}/exe")).unwrap();
    let maps = std::fs::read_to_string(format!("/proc/{process}/maps")).unwrap();
    let mapping = maps
        .lines()
        .find(|line| line.contains(" r-xp ") && line.ends_with(executable.to_str().unwrap()));
    let fields: Vec<&str> = mapping.unwrap().split_whitespace().collect();
    let number = |text: &str| u64::from_str_radix(text, 16).unwrap();
    let start = fields[0].split_once('-').unwrap().0;
    (number(start), number(fields[2]))
}

#[test]
fn command_pmu_samples_cover_exec_to_exit() {
    const PERIOD: u64 = 1000;
    const STEP: u64 = 4 * PERIOD;
    let Some(counters) = prepare(&skylake(), Counters::Auto, as_skylake) else {
        return;
    };
    let mut child = Command::new("sh")
        .args(["-c", "echo ready; read go; exec cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let process = child.id();
    // The shell's own `exec`, which may still be under way when `spawn` returns, is over.
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut answer = String::new();
    output.read_line(&mut answer).unwrap();
    assert_eq!(answer, "ready\n");
    with(|machine| machine.sampled_process = Some(process as i32));
    lend_to_followers();
    let following = match counters.follow(process, PERIOD) {
        Ok(following) => following,
        Err(OpenError::Follow { error }) => {
            skip(Need::Trap, error.to_string());
            child.kill().unwrap();
            child.wait().unwrap();
            return;
        }
        Err(error) => panic!("{error:?}"),
    };
    // What it does before its `exec` is not its own.
    with(|machine| machine.work_at(0x1000, 10 * STEP));
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"go\nnow\n").unwrap();
    answer.clear();
    output.read_line(&mut answer).unwrap();
    // Whoever answers has been followed through its `exec`.
    assert_eq!(answer, "now\n");
    let (address, offset) = code_of(process);
    with(|machine| {
        machine.exec();
        machine.work_at(address + 0x10, 30 * STEP);
        machine.work_at(address + 0x20, 10 * STEP);
    });
    let executable = std::fs::read_link(format!("/proc/{process}/exe")).unwrap();
    drop(input);
    let found = following.finish().unwrap();
    assert!(child.wait().unwrap().success());
    with(|machine| {
        assert_eq!(machine.violations, [""; 0]);
        assert_eq!(machine.open_events(), 0);
    });
    assert_eq!(found.executable.as_ref(), Some(&executable));
    assert_eq!((found.threads, found.unsampled.is_none()), (1, true));
    assert_eq!(found.counted_slots, (40 * STEP) as f64);
    let hits = found.hits;
    assert_eq!((hits.sampled.hits, hits.sampled.lost), (40, 0));
    let slots_at = |relative: u64| -> u64 {
        let places = hits
            .places
            .iter()
            .filter(|location| location.offset == offset + relative);
        places.map(|location| location.slots).sum()
    };
    assert_eq!((slots_at(0x10), slots_at(0x20)), (30 * STEP, 10 * STEP));
    let modules: Vec<&str> = hits.modules.iter().map(String::as_str).collect();
    assert_eq!(modules, [executable.to_str().unwrap()]);
}
