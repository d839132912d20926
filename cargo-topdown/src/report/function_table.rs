//! The functions of a run: one benchmark after the other, the function with the most slots first.

use std::io::{self, Write};

use criterion_topdown::provenance::SourceKind;
use criterion_topdown::run_file::{Benchmark, Run};

use super::bar::{CATEGORIES, bar};
use super::function_rows::{FunctionRow, advice_for_names, rows_of};
use super::number::{percent, slots};
use super::style::{DIM, HEADING, Look};
use super::text::{right_aligned, shortened, width_of, wrapped};
use topdown_gate::summary::Summary;

const INDENT: usize = 2;
const SHARE_WIDTH: usize = 7;
const SLOTS_WIDTH: usize = 8;
const CATEGORY_WIDTH: usize = 6;
const INSTRUCTIONS_WIDTH: usize = 8;
/// For a function that has all slots; other bars are proportionally shorter.
const BAR_WIDTH: usize = 24;
/// From this width on, there are bars.
const WIDE: usize = 140;
/// From this width on, a function's name follows its numbers; below, it is above them.
const ONE_LINE: usize = 100;

const LEGEND: &str = "slots and instr(uctions) per iteration, of the function itself without those that it \
    calls; share: of the benchmark's slots; ret, bad, fe, be: retiring, bad speculation, frontend bound \
    and backend bound in percent of the function's slots; others: the smallest, 1 % of the slots together";

/// Writes the tables of the benchmarks whose functions are known, with ANSI colours.
///
/// # Errors
/// Returns an error if writing to `out` fails.
pub fn write_function_table(out: &mut impl Write, run: &Run, look: Look) -> io::Result<()> {
    let mut any = false;
    for benchmark in &run.benchmarks {
        let Some(functions) = &benchmark.functions else {
            continue;
        };
        match any {
            true => writeln!(out)?,
            false => write_headings(out, look)?,
        }
        any = true;
        write_title(out, benchmark, look)?;
        for row in rows_of(functions) {
            write_row(out, &row, look)?;
        }
    }
    let mut notes: Vec<String> = run
        .benchmarks
        .iter()
        .filter(|b| b.provenance().source == SourceKind::Model && b.functions.is_none())
        .map(|b| format!("the functions of `{}` are not known", b.id.name))
        .collect();
    notes.push(match any {
        true => LEGEND.to_owned(),
        false => "no benchmark of this run has functions; the source `model` knows them".to_owned(),
    });
    notes.extend(advice_for_run(run));
    if any {
        writeln!(out)?;
    }
    for line in notes.iter().flat_map(|note| wrapped(note, look.width)) {
        writeln!(out, "{DIM}{line}{DIM:#}")?;
    }
    Ok(())
}

/// Returns how to build for better names, if that helps any benchmark.
pub fn advice_for_run(run: &Run) -> Option<String> {
    let functions = run.benchmarks.iter().filter_map(|b| b.functions.as_ref());
    functions
        .map(|functions| functions.largest.iter().map(|f| (&f.name, &f.module)))
        .find_map(advice_for_names)
}

fn write_headings(out: &mut impl Write, look: Look) -> io::Result<()> {
    let mut line = " ".repeat(INDENT);
    line += &right_aligned("share", SHARE_WIDTH);
    line += &right_aligned("slots", SLOTS_WIDTH);
    if look.width >= WIDE {
        line += &" ".repeat(INDENT + BAR_WIDTH);
    }
    for name in ["ret", "bad", "fe", "be"] {
        line += &right_aligned(name, CATEGORY_WIDTH);
    }
    line += &right_aligned("instr", INSTRUCTIONS_WIDTH);
    if look.width >= ONE_LINE {
        line += "  function";
    }
    writeln!(out, "{DIM}{line}{DIM:#}")
}

fn write_title(out: &mut impl Write, benchmark: &Benchmark, look: Look) -> io::Result<()> {
    let total = Summary::of(benchmark).and_then(|summary| summary.slots);
    let total = total.map_or(String::new(), |total| {
        format!("  {} slots", slots(total.mean))
    });
    let room = look.width.saturating_sub(width_of(&total));
    let name = shortened(&benchmark.id.name, room, look.unicode);
    writeln!(out, "{HEADING}{name}{HEADING:#}{total}")
}

fn write_row(out: &mut impl Write, row: &FunctionRow, look: Look) -> io::Result<()> {
    let indent = " ".repeat(INDENT);
    let mut plain = format!("{indent}{}", right_aligned(&share_text(row), SHARE_WIDTH));
    plain += &right_aligned(&slots(row.slots), SLOTS_WIDTH);
    let mut width = width_of(&plain);
    if look.width >= WIDE {
        let cells = (row.share * BAR_WIDTH as f64).round() as usize;
        let fill = " ".repeat(BAR_WIDTH - cells.min(BAR_WIDTH));
        plain += &format!(
            "{indent}{}{fill}",
            bar(&row.categories.into_array(), cells, look.unicode)
        );
        width += INDENT + BAR_WIDTH;
    }
    for ((_, share), category) in row.categories.iter().zip(&CATEGORIES) {
        let style = category.style;
        let cell = right_aligned(&percent(*share), CATEGORY_WIDTH);
        plain += &format!("{style}{cell}{style:#}");
        width += CATEGORY_WIDTH;
    }
    plain += &right_aligned(&slots(row.instructions), INSTRUCTIONS_WIDTH);
    width += INSTRUCTIONS_WIDTH;
    if look.width >= ONE_LINE {
        let room = look.width.saturating_sub(width + INDENT);
        let label = shortened(&row.label, room, look.unicode);
        writeln!(out, "{plain}{indent}{label}")
    } else {
        let room = look.width.saturating_sub(INDENT);
        let label = shortened(&row.label, room, look.unicode);
        writeln!(out, "{indent}{label}\n{plain}")
    }
}

fn share_text(row: &FunctionRow) -> String {
    format!("{} %", percent(row.share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use topdown_gate::scenario::{self, Planted, modelled, timed, with_some_functions};

    fn run() -> Run {
        scenario::run(vec![
            with_some_functions("parse/some"),
            timed("read", Planted::default()),
            modelled("custom", Planted::default()),
            with_some_functions("a_group/of_a_rather_long_name/16384"),
        ])
    }

    fn table(run: &Run, width: usize, unicode: bool) -> String {
        let mut out = Vec::new();
        write_function_table(&mut out, run, Look { width, unicode }).unwrap();
        let text = anstream::adapter::strip_str(&String::from_utf8(out).unwrap()).to_string();
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
    fn a_run_without_functions_says_so() {
        let run = scenario::run(vec![timed("read", Planted::default())]);
        let text = table(&run, 80, true);
        assert!(
            text.starts_with("no benchmark of this run has functions"),
            "{text}"
        );
    }
}
