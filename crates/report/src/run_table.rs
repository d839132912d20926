//! The table of a run: one benchmark after the other, with its TopDown bar.
//!
//! On a narrow terminal, a benchmark has two lines, for numbers and bar; on a wide one, a single
//! line. Doubts about its numbers follow below. `run_row` fills the cells.

use std::io::{self, Write};

use topdown_gate::launches_made::LaunchesMade;
use topdown_gate::summary::Shares;
use topdown_run::provenance::{Provenance, SourceKind};
use topdown_run::run_file::{Benchmark, Run};
use topdown_terminal::count_of;

use super::bar::{CATEGORIES, bar};
use super::number::timed_launches;
use super::run_row::Row;
use super::style::{DIM, HEADING, Look, WARNING};
use super::table::{Cell, Column, Keep, Table};
use super::text::{HangingIndent, width_of, wrapped};

/// Columns of a bar.
const BAR_WIDTH: usize = 20;

const SPREAD: &str = "spread";
const ALLOCATIONS: &str = "alloc";
const BAR: &str = "";

const COLUMNS: [Column; 12] = [
    Column::name("benchmark", 30),
    Column::number("slots/iter"),
    Column::number("time/iter"),
    Column::number("IPC").keep(Keep::Essential(2)),
    Column::number(SPREAD).keep(Keep::Essential(1)),
    Column::number(ALLOCATIONS).keep(Keep::Essential(1)),
    Column::text(BAR).keep(Keep::Essential(3)).starts_line(),
    // In the order of `CATEGORIES`.
    Column::number("ret"),
    Column::number("bad"),
    Column::number("fe"),
    Column::number("be"),
    Column::number("smt"),
];

/// Writes the table with ANSI colours; strip them if unwanted.
///
/// # Errors
/// Returns an error if writing to `out` fails.
pub fn write_run_table(out: &mut impl Write, run: &Run, look: Look) -> io::Result<()> {
    write_header(out, run, look)?;
    let rows: Vec<Row> = run.benchmarks.iter().map(|b| Row::new(b, look)).collect();
    writeln!(out)?;
    let several_groups = run
        .benchmarks
        .windows(2)
        .any(|pair| group_of(&pair[0]) != group_of(&pair[1]));
    let mut table = Table::new(COLUMNS).indented(INDENT);
    let has_shares = rows.iter().any(|row| row.shares.is_some());
    let mut rows_left = rows.iter();
    for group in run.benchmarks.chunk_by(|a, b| group_of(a) == group_of(b)) {
        if several_groups {
            let (package, target) = group_of(&group[0]);
            table.text(format!("{HEADING}{package}::{target}{HEADING:#}"));
        }
        for row in rows_left.by_ref().take(group.len()) {
            add_row(&mut table, row, &rows, look);
            if row.lacks_slots && has_shares {
                table.text(format!("    {DIM}time only: no slots were counted{DIM:#}"));
            }
            for note in &row.notes {
                for (index, line) in wrapped(note, look.width.saturating_sub(6))
                    .iter()
                    .enumerate()
                {
                    let mark = if index == 0 { "!" } else { " " };
                    table.text(format!("    {WARNING}{mark}{WARNING:#} {line}"));
                }
            }
        }
    }
    table.write(out, look)?;
    write_legend(out, &rows, &table, look)
}

/// Adds the numbers, bar and shares of a benchmark. A number that others have is `-`.
fn add_row(table: &mut Table, row: &Row, rows: &[Row], look: Look) {
    let or_dash = |column: fn(&Row) -> &Option<String>| -> Cell {
        let is_known = rows.iter().any(|row| column(row).is_some());
        let missing = if is_known { "-" } else { "" };
        column(row).as_deref().unwrap_or(missing).into()
    };
    let numbers = [
        row.name.as_str().into(),
        or_dash(|row| &row.slots),
        row.time.as_str().into(),
        or_dash(|row| &row.instructions_per_cycle),
        or_dash(|row| &row.spread),
        or_dash(|row| &row.allocations),
    ];
    let bar = row.shares.map_or(String::new(), |shares| {
        bar(&shares.all(), BAR_WIDTH, look.unicode)
    });
    let shares = CATEGORIES.iter().enumerate().map(|(index, category)| {
        let text = row.share_cells.get(index);
        Cell::styled(text.map_or("", String::as_str), category.style)
    });
    table.row(numbers.into_iter().chain([bar.into()]).chain(shares));
}

fn group_of(benchmark: &Benchmark) -> (&str, &str) {
    (&benchmark.id.package, &benchmark.id.target)
}

fn write_header(out: &mut impl Write, run: &Run, look: Look) -> io::Result<()> {
    let settings = &run.launch_settings;
    let times = if look.unicode { "×" } else { "x" };
    let what = format!(
        "{}: {} {times} {}, profile {}",
        run.machine,
        timed_launches(&LaunchesMade::new(run)),
        count_of(settings.sample_size, "sample"),
        run.build.profile
    );
    for line in wrapped(&what, look.width) {
        writeln!(out, "{HEADING}{line}{HEADING:#}")?;
    }
    let mut sources: Vec<(String, usize)> = Vec::new();
    for benchmark in &run.benchmarks {
        let text = source_in_words(benchmark.provenance());
        match sources.iter_mut().find(|(known, _)| *known == text) {
            Some((_, count)) => *count += 1,
            None => sources.push((text, 1)),
        }
    }
    let several = sources.len() > 1;
    for (mut text, count) in sources {
        if several {
            text += &format!("; {count} of {} benchmarks", run.benchmarks.len());
        }
        HangingIndent { width: look.width }.write(out, "", 2, &text)?;
    }
    Ok(())
}

/// `Modelled on Zen 5 (this VM has no counters)`; `cargo topdown doctor` has the long form.
fn source_in_words(provenance: &Provenance) -> String {
    let reason = &provenance.reason;
    match provenance.source {
        SourceKind::Time => format!("Time only: {reason}"),
        SourceKind::Hardware => format!("Counted: {reason}"),
        // A model's reason begins with its core.
        SourceKind::Model => reason.replacen("modelled on", "Modelled on", 1),
    }
}

const INDENT: usize = 2;

/// From this share of branch mispredicts, and of fetch latency, the table says how they belong
/// together: `bad_speculation/random_branches` of this repository has more of the latter.
const MIN_EXPLAINED_SHARE: f64 = 0.1;

/// Returns whether mispredicted branches cost the frontend slots that people may not expect there.
fn shows_restarts(shares: &Shares) -> bool {
    let parts = shares.level2.as_ref();
    parts
        .is_some_and(|parts| parts.bad_speculation.min(parts.frontend_bound) >= MIN_EXPLAINED_SHARE)
}

/// Explains what `table`, of these `rows`, shows.
fn write_legend(out: &mut impl Write, rows: &[Row], table: &Table, look: Look) -> io::Result<()> {
    const GAP: usize = 3;
    let shares = || rows.iter().filter_map(|row| row.shares);
    let has_level2 = shares().any(|shares| shares.level2.is_some());
    let categories = rows.iter().map(|row| row.share_cells.len()).max();
    let mut items: Vec<(String, String)> = Vec::new();
    for category in CATEGORIES.iter().take(categories.unwrap_or(0)) {
        let glyph = if table.shows(BAR, look) {
            format!("{} ", category.glyph(look.unicode))
        } else {
            String::new()
        };
        let of_level2 = category.category.filter(|_| has_level2);
        let part = of_level2.map_or(String::new(), |category| {
            format!(" ({})", category.measured_part().name())
        });
        let text = format!("{} = {}{part}", category.short_name, category.name());
        let style = category.style;
        items.push((
            format!("{glyph}{text}"),
            format!("{style}{glyph}{style:#}{DIM}{text}{DIM:#}"),
        ));
    }
    let mut explain = |text: &str| {
        items.push((text.to_owned(), format!("{DIM}{text}{DIM:#}")));
    };
    if shares().next().is_some() {
        explain("in percent of slots");
    }
    if shares().any(|shares| shows_restarts(&shares)) {
        explain("fetch latency includes restarts after branch mispredicts");
    }
    if table.shows(SPREAD, look) {
        explain("spread: standard deviation between launches");
    }
    if table.shows(ALLOCATIONS, look) {
        explain("alloc: allocations and reallocations per iteration");
    }
    // The obstacles that `doctor` names are those of counters.
    for (is_modelled, where_to_read) in [
        (false, "! see `cargo topdown doctor`"),
        (true, "! see docs/model.md"),
    ] {
        let has_notes = |row: &Row| !row.notes.is_empty() && row.slots.is_some();
        if rows
            .iter()
            .any(|row| has_notes(row) && row.is_modelled == is_modelled)
        {
            explain(where_to_read);
        }
    }
    if items.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let mut used = 0;
    for (plain, styled) in items {
        let width = width_of(&plain);
        if used > 0 && used + GAP + width > look.width {
            writeln!(out)?;
            used = 0;
        } else if used > 0 {
            write!(out, "{:GAP$}", "")?;
            used += GAP;
        }
        write!(out, "{styled}")?;
        used += width;
    }
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shown::shown;
    use std::path::Path;
    use topdown_run::category::PerCategory;
    use topdown_run::event::{Event, Events};
    use topdown_run::run_file::{SlotsValue, read_run};
    use topdown_run::sample::Level1;

    /// The run of the library's golden files: two counted benchmarks and a timed one.
    fn mixed_run() -> Run {
        let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../run/tests/data/run-v1");
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
        let mut value = value.clone();
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
        let text = shown(|out| write_run_table(out, run, Look { width, unicode }));
        for line in text.lines() {
            assert!(width_of(line) <= width, "wider than {width}: {line}");
            assert_eq!(line, line.trim_end());
        }
        text
    }

    #[test]
    fn restarts_after_mispredicts_are_explained() {
        const TEXT: &str = "fetch latency includes restarts after branch mispredicts";
        let mut run = counted_run();
        assert!(!table(&run, 80, true).contains(TEXT));
        for value in run.benchmarks[0].slots_launches_mut() {
            value.level2 = Some(PerCategory {
                bad_speculation: 0.44 * value.slots,
                frontend_bound: 0.44 * value.slots,
                ..PerCategory::default()
            });
        }
        assert!(table(&run, 80, true).contains(TEXT));
    }

    #[test]
    fn counted_run_at_80_columns() {
        insta::assert_snapshot!(table(&counted_run(), 80, true));
    }

    #[test]
    fn counted_run_at_200_columns() {
        insta::assert_snapshot!(table(&counted_run(), 200, true));
    }

    /// What it has no room for is not explained either.
    #[test]
    fn counted_run_at_60_columns() {
        insta::assert_snapshot!(table(&counted_run(), 60, true));
    }

    #[test]
    fn counted_run_in_ascii() {
        let text = table(&counted_run(), 80, false);
        assert!(text.is_ascii());
        insta::assert_snapshot!(text);
    }

    #[test]
    fn mixed_run_at_80_columns() {
        insta::assert_snapshot!(table(&mixed_run(), 80, true));
    }

    #[test]
    fn mixed_run_at_200_columns() {
        insta::assert_snapshot!(table(&mixed_run(), 200, true));
    }

    #[test]
    fn timed_run_at_80_columns() {
        insta::assert_snapshot!(table(&timed_run(), 80, true));
    }

    #[test]
    fn unmodelled_instructions_are_reported() {
        let mut run = counted_run();
        let benchmark = &mut run.benchmarks[0];
        benchmark.provenance_mut().source = SourceKind::Model;
        for launch in benchmark.slots_launches_mut() {
            launch.samples_dropped = 7;
            launch.samples_used = 3;
            let unknown = launch.instructions.unwrap() / 5000.0;
            launch.events = Events::NONE
                .with(Event::UnknownInstructions, unknown)
                .into();
        }
        let text = table(&run, 80, true);
        assert!(text.contains("few iterations to warm up"), "{text}");
        assert!(text.contains("! see docs/model.md"), "{text}");
        assert!(text.contains("the model knows 99.9 % of"), "{text}");
        assert!(!text.contains("samples dropped"), "{text}");
    }

    #[test]
    fn benchmark_with_removed_work_gets_advice() {
        let mut run = counted_run();
        assert!(!table(&run, 60, true).contains("removed"));
        for time in &mut run.benchmarks[0].times.launches {
            time.wall_ns = 0.5;
        }
        for launch in run.benchmarks[0].slots_launches_mut() {
            launch.instructions = Some(2.0);
            launch.cycles = Some(1.0);
        }
        let text = table(&run, 60, true);
        let note = "    ! the compiler seems to have removed the work; pass\n      \
                    inputs and results through `black_box`\n";
        assert!(text.contains(note), "{text}");
    }

    #[test]
    fn sampled_model_states_its_basis() {
        let mut run = counted_run();
        let provenance = run.benchmarks[0].provenance_mut();
        provenance.source = SourceKind::Model;
        provenance.sampled_units = Some(1107);
        let text = table(&run, 60, true);
        let note = "    ! too long to model whole: estimated from 1107 short\n      parts of an \
                    iteration, whose scatter gives the spread\n";
        assert!(text.contains(note), "{text}");
    }

    #[test]
    fn benchmark_without_launches_has_a_row() {
        let mut run = counted_run();
        run.benchmarks[1].slots = None;
        run.benchmarks[1].times.launches.clear();
        let text = table(&run, 80, true);
        assert!(text.contains("no launch has a value"), "{text}");
        run.benchmarks.clear();
        table(&run, 80, true);
    }

    #[test]
    fn table_survives_narrow_terminal() {
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
