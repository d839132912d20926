//! The table of errors.

use crate::kernels::Group;
use topdown_core_model::{CoreParameters, Counts};

/// One kernel's result.
pub struct Row {
    pub name: &'static str,
    pub group: Group,
    pub native_cycles: f64,
    pub counts: Counts,
    pub instructions_per_second: f64,
}

impl Row {
    fn ratio(&self) -> f64 {
        self.counts.cycles as f64 / self.native_cycles
    }

    fn error(&self) -> f64 {
        (self.ratio() - 1.0).abs()
    }
}

pub fn print_head(core: &CoreParameters) {
    println!(
        "modelled as {} version {}; percent of slots; M/s: million instructions per second",
        core.name, core.version
    );
    println!(
        "{:<14} {:>9} {:>10} {:>10} {:>6} {:>5} {:>5} {:>5} {:>5} {:>5} {:>6} {:>6} {:>7}",
        "kernel",
        "instr",
        "native cyc",
        "model cyc",
        "ratio",
        "ret",
        "bad",
        "fe",
        "mem",
        "core",
        "mis/ki",
        "M/s",
        "cover"
    );
}

pub fn print_row(row: &Row) {
    let slots = row.counts.slots;
    let events = row.counts.events;
    let percent = |part: u64| 100.0 * part as f64 / slots.total().max(1) as f64;
    println!(
        "{:<14} {:>9} {:>10.0} {:>10} {:>6.2} {:>5.1} {:>5.1} {:>5.1} {:>5.1} {:>5.1} {:>6.2} {:>6.1} {:>7.3}  {}",
        row.name,
        events.instructions,
        row.native_cycles,
        row.counts.cycles,
        row.ratio(),
        percent(slots.retiring()),
        percent(slots.bad_speculation()),
        percent(slots.frontend_bound()),
        percent(slots.memory_bound),
        percent(slots.core_bound),
        1000.0 * events.mispredicted_branches as f64 / events.instructions.max(1) as f64,
        row.instructions_per_second / 1e6,
        100.0 * events.coverage_fraction(),
        title(row.group),
    );
}

pub fn print_summary(rows: &[Row]) {
    for group in [Group::Tuned, Group::HeldOut, Group::Fresh] {
        let mut errors: Vec<f64> = rows
            .iter()
            .filter(|row| row.group == group)
            .map(Row::error)
            .collect();
        if errors.is_empty() {
            continue;
        }
        errors.sort_by(f64::total_cmp);
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        println!(
            "{}: {} kernels, |error| mean {:.1} %, median {:.1} %, worst {:.1} %, {} within 20 %",
            title(group),
            errors.len(),
            100.0 * mean,
            100.0 * errors[errors.len() / 2],
            100.0 * errors[errors.len() - 1],
            errors.iter().filter(|&&error| error <= 0.2).count(),
        );
    }
    let total: f64 = rows.iter().map(|row| row.ratio().ln()).sum();
    if !rows.is_empty() {
        println!(
            "geometric mean of the ratios {:.3}",
            (total / rows.len() as f64).exp()
        );
    }
}

fn title(group: Group) -> &'static str {
    match group {
        Group::Tuned => "calibrated on",
        Group::HeldOut => "held out",
        Group::Fresh => "held out, fresh",
    }
}
