//! The table of errors.

use topdown_core_model::CoreParameters;

use crate::kernels::Group;
use crate::native::Launches;
use crate::windows::Modelled;

/// One kernel's result.
pub struct Row {
    pub name: &'static str,
    pub group: Group,
    pub native: Launches,
    pub modelled: Modelled,
}

impl Row {
    /// Returns modelled cycles per native cycle, or NaN if nothing was measured.
    fn ratio(&self) -> f64 {
        self.modelled.cycles() / self.native_cycles()
    }

    fn native_cycles(&self) -> f64 {
        self.native.best_cycles().unwrap_or(f64::NAN)
    }

    fn error(&self) -> f64 {
        (self.ratio() - 1.0).abs()
    }

    /// Returns whether there is a native time to compare with.
    fn counts(&self) -> bool {
        self.ratio().is_finite() && self.native.are_repeatable() != Some(false)
    }
}

pub fn print_head(core: &CoreParameters) {
    println!(
        "modelled as {} version {}; percent of slots; M/s: million instructions per second",
        core.name, core.version
    );
    println!(
        "{:<15} {:>9} {:>10} {:>10} {:>6} {:>5} {:>5} {:>5} {:>5} {:>5} {:>6} {:>6} {:>7}",
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
    let slots = row.modelled.counts.slots;
    let events = row.modelled.counts.events;
    let percent = |part: u64| 100.0 * part as f64 / slots.total().max(1) as f64;
    println!(
        "{:<15} {:>9} {:>10.0} {:>10.0} {:>6.2} {:>5.1} {:>5.1} {:>5.1} {:>5.1} {:>5.1} {:>6.2} {:>6.1} {:>7.3}  {}{}",
        row.name,
        events.instructions / row.modelled.iterations,
        row.native_cycles(),
        row.modelled.cycles(),
        row.ratio(),
        percent(slots.retiring()),
        percent(slots.bad_speculation()),
        percent(slots.frontend_bound()),
        percent(slots.memory_bound),
        percent(slots.core_bound),
        1000.0 * events.mispredicted_branches as f64 / events.instructions.max(1) as f64,
        row.modelled.instructions_per_second / 1e6,
        100.0 * events.coverage_fraction(),
        title(row.group),
        if row.counts() {
            ""
        } else {
            ", no repeatable native time"
        },
    );
}

pub fn print_summary(rows: &[Row]) {
    let counted = || rows.iter().filter(|row| row.counts());
    for group in [Group::Tuned, Group::HeldOut, Group::Fresh, Group::Loop] {
        let errors = counted().filter(|row| row.group == group).map(Row::error);
        print_errors(title(group), errors.collect());
    }
    print_errors("all", counted().map(Row::error).collect());
    let total: f64 = counted().map(|row| row.ratio().ln()).sum();
    if counted().count() > 0 {
        println!(
            "geometric mean of the ratios {:.3}",
            (total / counted().count() as f64).exp()
        );
    }
    for row in rows.iter().filter(|row| !row.counts()) {
        println!("not counted, no repeatable native time: {}", row.name);
    }
    if rows.iter().any(|row| row.native.are_repeatable().is_none()) {
        println!("whether native times are repeatable is not known: fewer than three launches");
    }
}

fn print_errors(of: &str, mut errors: Vec<f64>) {
    let Some(worst) = errors.iter().copied().max_by(f64::total_cmp) else {
        return;
    };
    errors.sort_by(f64::total_cmp);
    let (below, above) = (errors[(errors.len() - 1) / 2], errors[errors.len() / 2]);
    println!(
        "{of}: {} kernels, |error| mean {:.1} %, median {:.1} %, worst {:.1} %, {} within 20 %, {} within 10 %",
        errors.len(),
        100.0 * errors.iter().sum::<f64>() / errors.len() as f64,
        50.0 * (below + above),
        100.0 * worst,
        errors.iter().filter(|&&error| error <= 0.2).count(),
        errors.iter().filter(|&&error| error <= 0.1).count(),
    );
}

fn title(group: Group) -> &'static str {
    match group {
        Group::Tuned => "calibrated on",
        Group::HeldOut => "held out",
        Group::Fresh => "held out, fresh",
        Group::Loop => "loops",
    }
}
