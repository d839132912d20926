//! The table of errors.

use topdown_core_model::CoreParameters;

use crate::changes;
use crate::native::Launches;
use crate::windows::Modelled;
use topdown_model_lab::kernels::{Group, sets};

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

    pub fn native_cycles(&self) -> f64 {
        self.native.best_cycles().unwrap_or(f64::NAN)
    }

    fn error(&self) -> f64 {
        (self.ratio() - 1.0).abs()
    }

    /// Returns whether there is a native time to compare with.
    pub fn counts(&self) -> bool {
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
        "{:<15} {:>9} {:>10.0} {:>10.0} {:>6.2} {:>5.1} {:>5.1} {:>5.1} {:>5.1} {:>5.1} {:>6.2} \
         {:>6.1} {:>7.3}  {}{}",
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

pub fn print_summary(core: &CoreParameters, rows: &[Row]) {
    println!("\n| core | kernels | | mean error | median | worst | within 20 % | ratio |");
    println!("|---|---|---|---|---|---|---|---|");
    for line in summary(core, rows) {
        println!("{line}");
    }
    if let Some(line) = changes::summary(core, rows) {
        println!("\n{line}");
        changes::print(rows);
    }
    println!(
        "mean error of all but what is kept back: {:.2} %",
        100.0 * calibrated_error(rows)
    );
    for row in rows.iter().filter(|row| !row.counts()) {
        println!("not counted, no repeatable native time: {}", row.name);
    }
    if rows.iter().any(|row| row.native.are_repeatable().is_none()) {
        println!("whether native times are repeatable is not known: fewer than three launches");
    }
}

/// By how many percentage points the errors of a group's kernels may differ from those in a
/// document, added up. Which copy loops of the C library run depends on the CPU, and where the
/// linker puts the kernels depends on the name of cargo's home directory and on what else the
/// program contains. One program with four choices of copy loops differed by up to 16 points. What
/// the arguments leave in the heap changed `json` on Zen 5 by up to 21.
const SUM_TOLERANCE: f64 = 20.0;
/// By which fraction the modelled cycles of the worst kernel may: those of `heap-sort` differed by
/// up to 4 %.
const WORST_TOLERANCE_FRACTION: f64 = 0.06;

/// Checks whether the document has the whole summary: the line of the loops as it is, and of the
/// other groups a line with nearly the same mean and worst error.
pub fn expect(core: &CoreParameters, rows: &[Row], document: &str) -> Result<(), String> {
    let loops = title(Group::Loop);
    let matches = |line: &str, known: &str| {
        if line.contains(loops) {
            line == known
        } else {
            are_near(line, known).unwrap_or(false)
        }
    };
    let is_missing = |line: &String| !document.lines().any(|known| matches(line, known));
    let changed = changes::summary(core, rows).filter(|line| {
        let is_near = |known| changes::are_near(line, known).unwrap_or(false);
        !document.lines().any(is_near)
    });
    match summary(core, rows).find(is_missing).or(changed) {
        Some(line) => Err(format!("the document has no line like\n{line}")),
        None => Ok(()),
    }
}

/// Compares two lines of a summary. Returns `None` if one of them is something else.
fn are_near(line: &str, known: &str) -> Option<bool> {
    let [line, known] = [line, known].map(|line| line.split('|').collect::<Vec<_>>());
    let percent = |cell: &str| -> Option<f64> { cell.trim().split(' ').next()?.parse().ok() };
    let differ_by =
        |cell: usize| Some((percent(line.get(cell)?)? - percent(known.get(cell)?)?).abs());
    let kernels: f64 = line.get(3)?.trim().parse().ok()?;
    let sum = differ_by(4)? * kernels;
    // The error is that of cycles as a fraction of the native ones.
    let worst_percent = 100.0 + percent(known.get(6)?)?;
    let worst = differ_by(6)? / worst_percent;
    Some(line[..4] == known[..4] && sum <= SUM_TOLERANCE && worst <= WORST_TOLERANCE_FRACTION)
}

/// Returns a line of a Markdown table for each group.
fn summary(core: &CoreParameters, rows: &[Row]) -> impl Iterator<Item = String> {
    sets::ALL.iter().filter_map(|set| {
        let group = set.group;
        let counted = rows.iter().filter(|row| row.counts() && row.group == group);
        let mut counted: Vec<&Row> = counted.collect();
        counted.sort_by(|a, b| a.error().total_cmp(&b.error()));
        let (worst, count) = (counted.last()?, counted.len());
        let (below, above) = (counted[(count - 1) / 2], counted[count / 2]);
        let mean = |value: fn(&Row) -> f64| {
            counted.iter().map(|row| value(row)).sum::<f64>() / count as f64
        };
        Some(format!(
            "| {} {} | {} | {count} | {:.1} % | {:.1} % | {:.1} % (`{}`) | {} | {:.3} |",
            core.name,
            core.version,
            title(group),
            100.0 * mean(Row::error),
            50.0 * (below.error() + above.error()),
            100.0 * worst.error(),
            worst.name,
            count_near(&counted),
            mean(|row| row.ratio().ln()).exp(),
        ))
    })
}

/// Returns the mean error of those with a native time, or NaN without any.
pub fn mean_error(rows: &[&Row]) -> f64 {
    let counted = rows.iter().filter(|row| row.counts());
    let errors: Vec<f64> = counted.map(|row| row.error()).collect();
    errors.iter().sum::<f64>() / errors.len() as f64
}

/// Returns how many are within 20 % of their native time.
pub fn count_near(rows: &[&Row]) -> usize {
    rows.iter().filter(|row| row.error() <= 0.2).count()
}

fn title(group: Group) -> &'static str {
    sets::of(group).map_or("question", |set| set.title)
}

/// Returns the mean error of all kernels that may be looked at.
fn calibrated_error(rows: &[Row]) -> f64 {
    let is_open = |row: &&Row| row.group != Group::KeptBack;
    mean_error(&rows.iter().filter(is_open).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_accuracy_lines_are_near() {
        let line = |name: &str, mean: f64, worst: f64| {
            format!(
                "| zen-5 9 | {name} | 16 | {mean:.1} % | 8.1 % | {worst:.1} % (`trie`) | 9 | 0.9 |"
            )
        };
        let known = line("held out", 10.2, 60.0);
        let near = |other: &str| are_near(other, &known);
        assert_eq!(near(&known), Some(true));
        assert_eq!(near(&line("held out", 11.4, 55.0)), Some(true));
        assert_eq!(near(&line("held out", 11.5, 60.0)), Some(false));
        assert_eq!(near(&line("held out", 8.9, 60.0)), Some(false));
        assert_eq!(near(&line("held out", 10.2, 69.0)), Some(true));
        assert_eq!(near(&line("held out", 10.2, 70.0)), Some(false));
        assert_eq!(near(&line("held out", 10.2, 50.0)), Some(false));
        assert_eq!(near(&line("calibrated on", 10.2, 60.0)), Some(false));
        assert_eq!(near("some text"), None);
    }
}
