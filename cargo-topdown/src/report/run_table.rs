//! The table of a run: one benchmark after the other, with its TopDown bar.
//!
//! On a narrow terminal, a benchmark has two lines, for numbers and bar; on a wide one, a single
//! line. Doubts about its numbers follow below. [`run_row`](super::run_row) fills the cells.

use std::io::{self, Write};

use criterion_topdown::provenance::SourceKind;
use criterion_topdown::run_file::{Benchmark, Run};

use super::bar::{CATEGORIES, bar};
use super::number::launches;
use super::run_row::Row;
use super::style::{DIM, HEADING, Look, WARNING};
use super::text::{padded, right_aligned, shortened, width_of, wrapped};

/// From this width on, a benchmark has a single line.
const WIDE: usize = 140;

/// The allowed widths of a bar.
const BAR_WIDTH: std::ops::RangeInclusive<usize> = 8..=60;

/// Writes the table with ANSI colours; strip them if unwanted.
///
/// # Errors
/// Returns an error if writing to `out` fails.
pub fn write_run_table(out: &mut impl Write, run: &Run, look: Look) -> io::Result<()> {
    write_header(out, run, look)?;
    let rows: Vec<Row> = run.benchmarks.iter().map(|b| Row::of(b, look)).collect();
    let layout = Layout::of(&rows, look);
    writeln!(out)?;
    let several_groups = run
        .benchmarks
        .windows(2)
        .any(|pair| group_of(&pair[0]) != group_of(&pair[1]));
    layout.write_heading(out)?;
    let mut rows = rows.iter();
    for group in run.benchmarks.chunk_by(|a, b| group_of(a) == group_of(b)) {
        if several_groups {
            let (package, target) = group_of(&group[0]);
            writeln!(out, "{HEADING}{package}::{target}{HEADING:#}")?;
        }
        for row in rows.by_ref().take(group.len()) {
            layout.write_row(out, row)?;
        }
    }
    layout.write_legend(out)
}

fn group_of(benchmark: &Benchmark) -> (&str, &str) {
    (&benchmark.id.package, &benchmark.id.target)
}

fn write_header(out: &mut impl Write, run: &Run, look: Look) -> io::Result<()> {
    let settings = &run.launch_settings;
    let times = if look.unicode { "×" } else { "x" };
    let what = format!(
        "{}: {} {times} {} samples, profile {}",
        run.machine,
        launches(settings.launches),
        settings.sample_size,
        run.build.profile
    );
    for line in wrapped(&what, look.width) {
        writeln!(out, "{HEADING}{line}{HEADING:#}")?;
    }
    let mut sources: Vec<(String, usize)> = Vec::new();
    for benchmark in &run.benchmarks {
        let provenance = benchmark.provenance();
        let source = match provenance.source {
            SourceKind::Time => "time".to_owned(),
            counted => format!("{counted} ({})", provenance.formula),
        };
        let text = format!("source {source}: {}", provenance.reason);
        match sources.iter_mut().find(|(known, _)| *known == text) {
            Some((_, count)) => *count += 1,
            None => sources.push((text, 1)),
        }
    }
    let several = sources.len() > 1;
    for (mut text, count) in sources {
        if several {
            text += &format!(" ({count} of {} benchmarks)", run.benchmarks.len());
        }
        for (index, line) in wrapped(&text, look.width.saturating_sub(2))
            .iter()
            .enumerate()
        {
            writeln!(out, "{}{line}", if index == 0 { "" } else { "  " })?;
        }
    }
    Ok(())
}

/// Which columns there are, and their widths.
struct Layout {
    look: Look,
    is_wide: bool,
    has_slots: bool,
    has_ipc: bool,
    has_spread: bool,
    has_level2: bool,
    has_notes: bool,
    name_width: usize,
    bar_width: usize,
    /// One width per category; empty if no benchmark has shares.
    share_widths: Vec<usize>,
}

const GAP: usize = 2;
const INDENT: usize = 2;
const SLOTS_WIDTH: usize = 10;
const TIME_WIDTH: usize = 9;
const IPC_WIDTH: usize = 5;
const SPREAD_WIDTH: usize = 8;

impl Layout {
    fn of(rows: &[Row], look: Look) -> Layout {
        let categories = rows.iter().map(|row| row.share_cells.len()).max();
        let share_widths: Vec<usize> = (0..categories.unwrap_or(0))
            .map(|index| {
                let cells = rows.iter().filter_map(|row| row.share_cells.get(index));
                cells.map(|cell| width_of(cell)).max().unwrap_or(0)
            })
            .collect();
        let mut layout = Layout {
            look,
            is_wide: look.width >= WIDE,
            has_slots: rows.iter().any(|row| row.slots.is_some()),
            has_ipc: rows.iter().any(|row| row.instructions_per_cycle.is_some()),
            has_spread: rows.iter().any(|row| row.spread.is_some()),
            has_level2: rows
                .iter()
                .any(|row| row.shares.is_some_and(|shares| shares.level2.is_some())),
            has_notes: rows.iter().any(|row| !row.notes.is_empty()),
            name_width: 0,
            bar_width: 0,
            share_widths,
        };
        let longest = rows
            .iter()
            .map(|row| width_of(&row.name))
            .max()
            .unwrap_or(0);
        let heading = width_of("benchmark");
        let numbers = layout.numbers_width();
        let shares = layout.shares_width();
        let room = look.width.saturating_sub(INDENT);
        if layout.is_wide && shares > 0 {
            let room = room.saturating_sub(numbers + GAP + shares);
            layout.name_width = longest.max(heading).min(room * 2 / 3);
            layout.bar_width = room - layout.name_width - GAP;
        } else {
            layout.name_width = longest
                .max(heading)
                .min(room.saturating_sub(numbers).max(10));
            // The bar's line is indented twice.
            layout.bar_width = room.saturating_sub(INDENT + shares);
        }
        layout.bar_width = layout.bar_width.clamp(*BAR_WIDTH.start(), *BAR_WIDTH.end());
        layout
    }

    /// Returns the width of the columns right of the name, each with the gap before it.
    fn numbers_width(&self) -> usize {
        [
            (self.has_slots, SLOTS_WIDTH),
            (true, TIME_WIDTH),
            (self.has_ipc, IPC_WIDTH),
            (self.has_spread, SPREAD_WIDTH),
        ]
        .iter()
        .filter(|(is_shown, _)| *is_shown)
        .map(|(_, width)| GAP + width)
        .sum()
    }

    /// Returns the width of the columns right of the bar, each with the gap before it.
    fn shares_width(&self) -> usize {
        self.share_widths.iter().map(|width| GAP + width).sum()
    }

    fn numbers(&self, slots: &str, time: &str, ipc: &str, spread: &str) -> String {
        let mut text = String::new();
        for (is_shown, cell, width) in [
            (self.has_slots, slots, SLOTS_WIDTH),
            (true, time, TIME_WIDTH),
            (self.has_ipc, ipc, IPC_WIDTH),
            (self.has_spread, spread, SPREAD_WIDTH),
        ] {
            if is_shown {
                text += &" ".repeat(GAP);
                text += &right_aligned(cell, width);
            }
        }
        text
    }

    fn write_heading(&self, out: &mut impl Write) -> io::Result<()> {
        let indent = " ".repeat(INDENT);
        let name = padded("benchmark", self.name_width);
        let numbers = self.numbers("slots/iter", "time/iter", "IPC", "spread");
        writeln!(out, "{indent}{DIM}{name}{numbers}{DIM:#}")
    }

    fn write_row(&self, out: &mut impl Write, row: &Row) -> io::Result<()> {
        let indent = " ".repeat(INDENT);
        let name = shortened(&row.name, self.name_width, self.look.unicode);
        let numbers = self.numbers(
            row.slots.as_deref().unwrap_or("-"),
            &row.time,
            row.instructions_per_cycle.as_deref().unwrap_or("-"),
            row.spread.as_deref().unwrap_or("-"),
        );
        write!(out, "{indent}{}{numbers}", padded(&name, self.name_width))?;
        if let Some(second) = self.shares_part(row) {
            if self.is_wide {
                write!(out, "{}{second}", " ".repeat(GAP))?;
            } else {
                write!(out, "\n{indent}{indent}{second}")?;
            }
        }
        writeln!(out)?;
        for note in &row.notes {
            writeln!(out, "{indent}{indent}{WARNING}!{WARNING:#} {note}")?;
        }
        Ok(())
    }

    /// Returns bar and percentages; for a benchmark without them, if others have them, says why.
    fn shares_part(&self, row: &Row) -> Option<String> {
        if self.share_widths.is_empty() {
            return None;
        }
        let Some(shares) = &row.shares else {
            let text = row
                .is_time_only
                .then_some("time only: no slots were counted");
            return text.map(|text| format!("{DIM}{text}{DIM:#}"));
        };
        let mut text = bar(&shares.all(), self.bar_width, self.look.unicode);
        let cells = self.share_widths.iter().zip(&row.share_cells);
        for ((width, cell), category) in cells.zip(&CATEGORIES) {
            let style = category.style;
            let (name, number) = cell.split_once(' ').unwrap_or((cell, ""));
            let cell = padded(number, width - width_of(name) - 1);
            text += &format!("{}{style}{name}{style:#} {cell}", " ".repeat(GAP));
        }
        Some(text.trim_end().to_owned())
    }

    fn write_legend(&self, out: &mut impl Write) -> io::Result<()> {
        let mut items: Vec<(String, String)> = Vec::new();
        for look in CATEGORIES.iter().take(self.share_widths.len()) {
            let glyph = look.glyph(self.look.unicode);
            let category = look.category.filter(|_| self.has_level2);
            let part = category.map_or(String::new(), |category| {
                format!(" ({})", category.measured_part().name())
            });
            let text = format!("{} = {}{part}", look.short_name, look.name());
            let style = look.style;
            items.push((
                format!("{glyph} {text}"),
                format!("{style}{glyph}{style:#} {DIM}{text}{DIM:#}"),
            ));
        }
        let mut explain = |text: &str| {
            items.push((text.to_owned(), format!("{DIM}{text}{DIM:#}")));
        };
        if !self.share_widths.is_empty() {
            explain("in percent of slots");
        }
        if self.has_spread {
            explain("spread: standard deviation between launches");
        }
        if self.has_notes && self.has_slots {
            explain("! see `cargo topdown doctor`");
        }
        if !items.is_empty() {
            writeln!(out)?;
        }
        let mut used = 0;
        for (plain, styled) in items {
            let width = width_of(&plain);
            if used > 0 && used + GAP + 1 + width > self.look.width {
                writeln!(out)?;
                used = 0;
            }
            if used > 0 {
                write!(out, "{}", " ".repeat(GAP + 1))?;
                used += GAP + 1;
            }
            write!(out, "{styled}")?;
            used += width;
        }
        if used > 0 {
            writeln!(out)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use criterion_topdown::event::{Event, Events};
    use criterion_topdown::run_file::{SlotsValue, read_run};
    use criterion_topdown::sample::Level1;
    use std::path::Path;

    /// The run of the library's golden files: two counted benchmarks and a timed one.
    fn mixed_run() -> Run {
        let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/run-v1");
        read_run(Path::new(data)).unwrap()
    }

    /// One target with level 2 throughout; ids of all lengths, and one coarse benchmark.
    fn counted_run() -> Run {
        let mut run = mixed_run();
        let model = run.benchmarks[0].clone();
        run.benchmarks = [
            ("sum", 40.0),
            ("json/twitter/1024", 400.0),
            (
                "a_group_with_a_rather_long_name/and_a_function/with a parameter/1048576",
                4e6,
            ),
        ]
        .into_iter()
        .map(|(name, factor)| {
            let mut benchmark = model.clone();
            benchmark.id.name = name.to_owned();
            let factor_of = |index: usize| factor * (1.0 + index as f64 / 100.0);
            let slots = benchmark.slots_launches_mut().iter_mut();
            for (index, value) in slots.enumerate() {
                *value = scaled(&model.slots_launches()[0], factor_of(index));
                value.resolution_fraction = factor / 1e8;
            }
            let times = benchmark.times.launches.iter_mut();
            for (index, time) in times.enumerate() {
                time.wall_ns = model.times.launches[0].wall_ns * factor_of(index);
            }
            benchmark
        })
        .collect();
        run
    }

    fn scaled(value: &SlotsValue, factor: f64) -> SlotsValue {
        let mut value = *value;
        value.slots *= factor;
        value.instructions = value.instructions.map(|it| it * factor);
        value.cycles = value.cycles.map(|cycles| cycles * factor);
        value.level1 = value.level1.map(|level1| Level1 {
            slots: level1.slots.map(|slots| slots * factor),
            ..level1
        });
        value.level2 = value
            .level2
            .map(|level2| level2.map(|slots| slots * factor));
        value
    }

    fn timed_run() -> Run {
        let mut run = mixed_run();
        run.benchmarks.drain(..2);
        run.benchmarks.truncate(1);
        run.benchmarks[0].provenance_mut().reason =
            "no hardware counters: the event `slots` does not exist on this machine, which is a \
             guest of a hypervisor without a virtual PMU"
                .to_owned();
        run
    }

    fn table(run: &Run, width: usize, unicode: bool) -> String {
        let mut out = Vec::new();
        write_run_table(&mut out, run, Look { width, unicode }).unwrap();
        let text = anstream::adapter::strip_str(&String::from_utf8(out).unwrap()).to_string();
        for line in text.lines() {
            assert!(width_of(line) <= width, "wider than {width}: {line}");
            assert_eq!(line, line.trim_end());
        }
        text
    }

    #[test]
    fn a_counted_run_at_80_columns() {
        insta::assert_snapshot!(table(&counted_run(), 80, true));
    }

    #[test]
    fn a_counted_run_at_200_columns() {
        insta::assert_snapshot!(table(&counted_run(), 200, true));
    }

    #[test]
    fn a_counted_run_in_ascii() {
        let text = table(&counted_run(), 80, false);
        assert!(text.is_ascii());
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_mixed_run_at_80_columns() {
        insta::assert_snapshot!(table(&mixed_run(), 80, true));
    }

    #[test]
    fn a_mixed_run_at_200_columns() {
        insta::assert_snapshot!(table(&mixed_run(), 200, true));
    }

    #[test]
    fn a_timed_run_at_80_columns() {
        insta::assert_snapshot!(table(&timed_run(), 80, true));
    }

    #[test]
    fn what_the_model_left_out_is_said() {
        let mut run = counted_run();
        let benchmark = &mut run.benchmarks[0];
        benchmark.provenance_mut().source = SourceKind::Model;
        for launch in benchmark.slots_launches_mut() {
            launch.samples_dropped = 7;
            launch.samples_used = 3;
            let unknown = launch.instructions.unwrap() / 5000.0;
            launch.events = Events::NONE.with(Event::UnknownInstructions, unknown);
        }
        let text = table(&run, 80, true);
        assert!(text.contains("few iterations to warm up"), "{text}");
        assert!(text.contains("the model knows 99.9 % of"), "{text}");
        assert!(!text.contains("samples dropped"), "{text}");
    }

    #[test]
    fn a_benchmark_without_launches_is_not_left_out() {
        let mut run = counted_run();
        run.benchmarks[1].slots = None;
        run.benchmarks[1].times.launches.clear();
        let text = table(&run, 80, true);
        assert!(text.contains("no launch gave a value"), "{text}");
        run.benchmarks.clear();
        table(&run, 80, true);
    }

    #[test]
    fn a_terminal_too_narrow_for_the_table_is_no_disaster() {
        let mut out = Vec::new();
        for width in [1, 20, 60] {
            let look = Look {
                width,
                unicode: true,
            };
            write_run_table(&mut out, &mixed_run(), look).unwrap();
        }
    }
}
