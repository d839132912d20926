//! The functions of a run: one benchmark after the other, the function with the most slots first.

use std::collections::HashMap;
use std::io::{self, Write};

use topdown_run::code_samples::Sampled;
use topdown_run::provenance::SourceKind;
use topdown_run::run_file::{Benchmark, BenchmarkId, Functions, Run};
use topdown_run::visible::visible;

use super::bar::{CATEGORIES, bar};
use super::function_rows::{FunctionRow, advice_for_names, rows_of};
use super::number::{percent, slots};
use super::style::{DIM, HEADING, Look};
use super::table::{Cell, Column, Keep, Table};
use super::text::wrapped;
use topdown_gate::summary::Summary;
use topdown_gate::verdict::{BenchmarkVerdict, Comparison, Verdict};
use topdown_run::run_file::COMMANDS;
use topdown_terminal::count_of;

/// For a function that has all slots; other bars are proportionally shorter.
const BAR_WIDTH: usize = 24;

const COLUMNS: [Column; 10] = [
    Column::name("function", 48),
    Column::number("share").starts_line(),
    Column::number("slots"),
    Column::text("").keep(Keep::Optional(1)),
    Column::number("ret"),
    Column::number("bad"),
    Column::number("fe"),
    Column::number("be"),
    Column::text("").keep(Keep::Optional(1)),
    Column::number("instr").keep(Keep::Essential(1)),
];

const LEGEND: &str = "slots and instr(uctions) per iteration, of the function itself without those \
                      that it calls; share: of the benchmark's slots; ret, bad, fe, be: retiring, \
                      bad speculation, frontend bound and backend bound in percent of the \
                      function's slots; others: the smallest, together 1 % of the slots";

/// Where functions are sampled.
const SAMPLING_LEGEND: &str = "sampled functions: in further launches, slots are charged to the \
                               code that the next interrupt finds; ± is half of the 95 % interval; \
                               categories come from consecutive PMU samples of one function, or \
                               from interrupts of their own events, or are mixed with the code \
                               that ran before";

const NO_FUNCTIONS: &str = "no benchmark of this run has functions; `--source model` has them, \
                            and with counters `bench --functions` and `exec --functions` sample \
                            them (`explain`, where only stalled cycles can be counted)";

/// Writes the tables of the benchmarks whose functions are known, with ANSI colours.
///
/// # Errors
/// Returns an error if writing to `out` fails.
pub fn write_function_table(out: &mut impl Write, run: &Run, look: Look) -> io::Result<()> {
    let mut table = Table::new(COLUMNS).indented(2);
    let mut any = false;
    for benchmark in &run.benchmarks {
        let Some(functions) = &benchmark.functions else {
            continue;
        };
        if any {
            table.text("");
        }
        any = true;
        table.text(title(benchmark));
        for row in rows_of(functions) {
            table.row(cells(&row, look));
        }
    }
    let mut notes: Vec<String> = run
        .benchmarks
        .iter()
        .filter(|b| b.provenance().source == SourceKind::Model && b.functions.is_none())
        .map(|b| format!("the functions of `{}` are unknown", b.id.name))
        .collect();
    if any {
        table.write(out, look)?;
        writeln!(out)?;
    }
    notes.push(if any { LEGEND } else { NO_FUNCTIONS }.to_owned());
    let sampled = run
        .benchmarks
        .iter()
        .filter_map(|b| Some((b, b.functions.as_ref()?.sampled?)));
    let disturbed = sampled
        .clone()
        .filter_map(|(b, sampled)| disturbance(&b.id.name, sampled));
    notes.extend(disturbed);
    if sampled.count() > 0 {
        notes.push(SAMPLING_LEGEND.to_owned());
    }
    notes.extend(advice_for_run(run));
    for line in notes.iter().flat_map(|note| wrapped(note, look.width)) {
        writeln!(out, "{DIM}{line}{DIM:#}")?;
    }
    Ok(())
}

/// Writes the table of one benchmark's functions, the largest alone.
///
/// # Errors
/// Returns an error if writing to `out` fails.
pub fn write_largest(out: &mut impl Write, functions: &Functions, look: Look) -> io::Result<()> {
    const MAX_ROWS: usize = 10;
    let mut table = Table::new(COLUMNS).indented(2);
    for row in rows_of(functions).iter().take(MAX_ROWS) {
        table.row(cells(row, look));
    }
    table.write(out, look)
}

/// Writes the largest functions of regressed benchmarks, of which the baseline does not know them:
/// where the slots are now, without what has changed.
///
/// # Errors
/// Returns an error if writing to `out` fails.
pub fn write_candidate_only(
    out: &mut impl Write,
    comparison: &Comparison,
    (baseline, candidate): (&Run, &Run),
    look: Look,
) -> io::Result<()> {
    let regressed = |benchmark: &&BenchmarkVerdict| benchmark.verdict == Verdict::Regressed;
    let regressed = comparison.benchmarks.iter().filter(regressed);
    let regressed: Vec<&BenchmarkId> = regressed.map(|benchmark| &benchmark.id).collect();
    if regressed.is_empty() {
        return Ok(());
    }
    let [before, after] = [baseline, candidate].map(functions_by_id);
    for id in regressed {
        if let (None, Some(functions)) = (before.get(id), after.get(id)) {
            writeln!(out)?;
            writeln!(
                out,
                "{HEADING}functions of {} in the candidate{HEADING:#}",
                visible(&id.name)
            )?;
            write_largest(out, functions, look)?;
        }
    }
    Ok(())
}

fn functions_by_id(run: &Run) -> HashMap<&BenchmarkId, &Functions> {
    let benchmarks = run.benchmarks.iter();
    benchmarks
        .filter_map(|benchmark| Some((&benchmark.id, benchmark.functions.as_deref()?)))
        .collect()
}

/// Says what the kernel could not record.
fn disturbance(name: &str, sampled: Sampled) -> Option<String> {
    let lost = count_of(sampled.lost, "PMU sample");
    let pauses = count_of(sampled.throttled, "time");
    let what = match (sampled.lost, sampled.throttled) {
        (0, 0) => return None,
        (_, 0) => format!("{lost} were lost"),
        (0, _) => format!("the kernel paused {pauses}"),
        _ => format!("{lost} were lost, and the kernel paused {pauses}"),
    };
    Some(format!(
        "`{name}`: {what}; benchmark samples with gaps are left out, and PMU samples are now {} \
         cycles apart",
        sampled.period_cycles
    ))
}

/// Returns how to build for better names, if that helps any benchmark.
pub fn advice_for_run(run: &Run) -> Option<String> {
    // How a command was built is its own matter.
    let benches = run.benchmarks.iter().filter(|b| b.id.package != COMMANDS.0);
    benches
        .filter_map(|b| b.functions.as_ref())
        .map(|functions| functions.largest.iter().map(|f| (&f.name, &f.module)))
        .find_map(|functions| advice_for_names(functions, run.build.debug_information))
}

fn title(benchmark: &Benchmark) -> String {
    let total = Summary::new(benchmark).and_then(|summary| summary.slots);
    let total = total.map_or(String::new(), |total| {
        format!("  {} slots", slots(total.mean))
    });
    let sampled = benchmark
        .functions
        .as_ref()
        .and_then(|functions| functions.sampled);
    let hits = sampled.map_or(String::new(), |sampled| {
        format!(", {}", count_of(sampled.hits, "PMU sample"))
    });
    format!("{HEADING}{}{HEADING:#}{total}{hits}", benchmark.id.name)
}

fn cells(row: &FunctionRow, look: Look) -> [Cell; COLUMNS.len()] {
    let cells = (row.share * BAR_WIDTH as f64).round() as usize;
    let category = |index: usize| {
        let share = row.categories.into_array()[index];
        Cell::styled(percent(share), CATEGORIES[index].style)
    };
    [
        row.label.as_str().into(),
        row.share_in_words(look.unicode).into(),
        slots(row.slots).into(),
        bar(&row.categories.into_array(), cells, look.unicode).into(),
        category(0),
        category(1),
        category(2),
        category(3),
        row.known_in_words(look.unicode).into(),
        row.instructions_in_words().into(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shown::shown;
    use crate::text::width_of;
    use topdown_gate::scenario::{self, Planted, modelled, timed, with_some_functions};
    use topdown_run::code_samples::SamplingEngine;

    fn run() -> Run {
        scenario::run(vec![
            with_some_functions("parse/some"),
            timed("read", Planted::default()),
            modelled("custom", Planted::default()),
            with_some_functions("a_group/of_a_rather_long_name/16384"),
        ])
    }

    fn table(run: &Run, width: usize, unicode: bool) -> String {
        let text = shown(|out| write_function_table(out, run, Look { width, unicode }));
        for line in text.lines() {
            assert!(width_of(line) <= width, "wider than {width}: {line}");
        }
        text
    }

    #[test]
    fn functions_at_60_columns() {
        insta::assert_snapshot!(table(&run(), 60, true));
    }

    #[test]
    fn functions_at_100_columns_in_ascii() {
        insta::assert_snapshot!(table(&run(), 100, false));
    }

    #[test]
    fn functions_at_200_columns() {
        insta::assert_snapshot!(table(&run(), 200, true));
    }

    #[test]
    fn sampled_functions_show_intervals_and_losses() {
        let mut run = run();
        run.benchmarks.truncate(1);
        let functions = run.benchmarks[0].functions.as_mut().unwrap();
        functions.sampled = Some(Sampled {
            engine: SamplingEngine::OwnPeriods,
            period_cycles: 40_023,
            hits: 12_345,
            effective_hits: 12_000,
            lost: 7,
            throttled: 1,
        });
        for counts in functions.largest.iter_mut().map(|f| &mut f.counts) {
            counts.instructions = 0;
        }
        functions.others.as_mut().unwrap().counts.instructions = 0;
        insta::assert_snapshot!(table(&run, 100, true));
    }

    #[test]
    fn run_without_functions_is_stated() {
        let run = scenario::run(vec![timed("read", Planted::default())]);
        let text = table(&run, 80, true);
        assert!(
            text.starts_with("no benchmark of this run has functions"),
            "{text}"
        );
    }
}
