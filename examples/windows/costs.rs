//! Cost of an empty window, inside and outside: a row of the table in `docs/cpus.md`.

use std::time::Instant;

use crate::calls::{self, WINDOWS, windows};
use crate::empty::open;
use crate::stepping;

use criterion::measurement::Measurement;
use criterion_topdown::TopDown;
use topdown_counters::Source;

pub fn print() -> Result<(), String> {
    let hardware = open()?;
    let provenance = hardware.provenance().clone();
    // Until nothing happens for the first time.
    windows(&hardware, 100);
    // Unless it is interrupted, and then reads its counters again.
    let steps = (0..20).map(|_| stepping::instructions_of(|| hardware.end(&hardware.start())));
    let steps = steps.min_by_key(|steps| steps.all).ok_or("no window")?;
    let windows = || {
        for _ in 0..WINDOWS {
            hardware.end(&hardware.start());
        }
    };
    let all_ns = ns_of_each(windows);
    let counts = hardware.counts_of(windows);
    let all_slots = slots_of(&counts, provenance.slots_per_cycle)? as f64 / WINDOWS as f64;
    drop(hardware);
    let topdown = TopDown::open().map_err(|error| error.to_string())?;
    let mut sum = topdown.zero();
    let in_criterion_ns = ns_of_each(|| {
        for _ in 0..WINDOWS {
            sum = topdown.add(&sum, &topdown.end(topdown.start()));
        }
    });
    drop(topdown);
    let calls = calls::of_windows()? as f64 / WINDOWS as f64;
    let inside = provenance
        .empty_window
        .ok_or("no empty window was measured")?;
    let inside_slots = inside.slots.unwrap_or(0);
    // Zen has no counter left for them. Those of PERF_METRICS are not read in the same order.
    let inside_instructions = inside.instructions.unwrap_or(steps.inside);
    println!("{}", provenance.reason);
    println!(
        "| {} | {inside_instructions} | {inside_slots} | {} | {:.0} | {all_ns:.0} | \
         {in_criterion_ns:.0} | {calls:.3} |",
        provenance.formula,
        steps.all.saturating_sub(inside_instructions),
        all_slots - inside_slots as f64,
    );
    Ok(())
}

/// Returns the nanoseconds of each of the windows that `windows` makes.
fn ns_of_each(windows: impl FnOnce()) -> f64 {
    let begun_at = Instant::now();
    windows();
    begun_at.elapsed().as_nanos() as f64 / WINDOWS as f64
}

/// Returns the slots of what the kernel has counted. Those of PERF_METRICS lack what was counted
/// before its resets, so all are taken from the cycles.
fn slots_of(counts: &[(&str, u64)], slots_per_cycle: Option<u32>) -> Result<u64, String> {
    let is_cycles =
        |name: &str| name == "cycles" || name == "ls_not_halted_cyc" || name.starts_with("CPU_CLK");
    let cycles = counts.iter().find(|(name, _)| is_cycles(name));
    match (cycles, slots_per_cycle) {
        (Some((_, cycles)), Some(width)) => Ok(cycles * u64::from(width)),
        _ => Err("the kernel did not count the cycles".to_owned()),
    }
}
