//! A search for the point at which benchmarks became slower: one table per benchmark, oldest point
//! first, and below them what was found.

use std::io::{self, Write};

use topdown_bisect::{Answer, BenchmarkResult, Bisection, Kind, Outcome, Row};
use topdown_gate::verdict::BenchmarkVerdict;
use topdown_terminal::count_of;

use super::number::{percent, percent_change, slots, time_ns};
use super::style::{BAD, DIM, GOOD, HEADING, Look, WARNING, of_class};
use super::table::{Cell, Column, Keep, Table};
use super::text::HangingIndent;
use super::verdict_sentence::{predicate, size};

/// Digits of a commit's hash.
const HASH_DIGITS: usize = 12;
/// At most this many points of a range are listed.
const MAX_LISTED: usize = 20;

/// Returns the sentence on a benchmark at a point, without its subject.
pub fn sentence(verdict: &BenchmarkVerdict) -> String {
    predicate(verdict)
}

/// Writes a search that has ended.
///
/// # Errors
/// Returns an error if writing to `out` fails.
pub fn write(bisection: &Bisection, look: Look, out: &mut impl Write) -> io::Result<()> {
    let lines = HangingIndent { width: look.width };
    let (mut slower, mut unknown, mut not_slower) = (Vec::new(), Vec::new(), Vec::new());
    for result in &bisection.results {
        match result.outcome {
            Outcome::Found { .. } | Outcome::Range { .. } => slower.push(result),
            Outcome::NotSlower => not_slower.push(result),
            Outcome::Unknown | Outcome::Open => unknown.push(result),
        }
    }
    for result in &slower {
        writeln!(out, "{HEADING}{}{HEADING:#}", result.id)?;
        table(bisection, result, look).write(out, look)?;
        writeln!(out)?;
    }
    let ends = [0, bisection.points.len() - 1].map(|point| name(bisection, point));
    for result in unknown {
        let sentence = result.sentence.as_deref().unwrap_or("was not tried");
        let text = format!(
            "`{}` is not decided at {}: it {sentence}",
            result.id, ends[1]
        );
        lines.write(out, &format!("{WARNING}note{WARNING:#} "), 5, &text)?;
    }
    if !not_slower.is_empty() {
        let are = if not_slower.len() == 1 { "is" } else { "are" };
        let benchmarks = count_of(not_slower.len(), "benchmark");
        let text = format!(
            "{benchmarks} {are} not slower at {} than at {}",
            ends[1], ends[0]
        );
        lines.write(out, &format!("{DIM}note{DIM:#} "), 5, &text)?;
    }
    if slower.is_empty() {
        return writeln!(
            out,
            "{HEADING}Nothing to find{HEADING:#}: no benchmark is surely slower"
        );
    }
    let mut outcomes: Vec<&Outcome> = slower.iter().map(|result| &result.outcome).collect();
    outcomes.dedup();
    for outcome in outcomes {
        let results = slower.iter().filter(|result| result.outcome == *outcome);
        let results: Vec<&BenchmarkResult> = results.copied().collect();
        found(bisection, outcome, &results, &lines, out)?;
    }
    Ok(())
}

fn table(bisection: &Bisection, result: &BenchmarkResult, look: Look) -> Table {
    let rows: Vec<(usize, &Row)> = bisection.rows_of(&result.id).collect();
    let is_slots = rows.iter().any(|(_, row)| row.is_slots);
    let amount = |value: Option<f64>| match value {
        Some(value) if is_slots => slots(value),
        Some(value) => time_ns(value, !look.unicode),
        None => String::new(),
    };
    let mut table = Table::new([
        Column::text(match bisection.kind {
            Kind::Commits => "commit",
            Kind::Toolchains => "toolchain",
        }),
        Column::number(if is_slots { "slots" } else { "time" }),
        Column::number("change"),
        Column::text("verdict"),
        Column::name("subject", 16).keep(Keep::Optional(1)),
        Column::wrapped("cause"),
    ])
    .indented(2);
    for (point, what) in bisection.points.iter().enumerate() {
        let row = rows
            .iter()
            .find(|(of, _)| *of == point)
            .map(|(_, row)| *row);
        let tried = bisection.tried.iter().find(|tried| tried.point == point);
        let skipped = tried.and_then(|tried| tried.skipped.as_deref());
        let (value, verdict, cause) = match (row, skipped) {
            _ if point == 0 => {
                let value = rows.iter().find_map(|(_, row)| row.good_value);
                (value, Cell::styled("good", GOOD), "")
            }
            (Some(row), _) => (row.value, verdict(row), &*row.sentence),
            (None, Some(reason)) => (None, Cell::styled("skipped", WARNING), reason),
            (None, None) => continue,
        };
        let same = row
            .and_then(|row| row.same_code_as)
            .filter(|point| *point > 0);
        let cause = match same {
            Some(same) => format!("executes the same code as {}", name(bisection, same)),
            None => cause.to_owned(),
        };
        let change = row.and_then(|row| row.difference);
        table.row([
            name(bisection, point).into(),
            amount(value).into(),
            change.map_or(String::new(), percent_change).into(),
            verdict,
            what.title.as_str().into(),
            cause.into(),
        ]);
    }
    table
}

fn verdict(row: &Row) -> Cell {
    match (row.verdict, row.answer) {
        (Some(verdict), Answer::Bad | Answer::Good) => {
            Cell::styled(verdict.name(), of_class(verdict))
        }
        (_, answer @ (Answer::Bad | Answer::Good)) => Cell::from(answer.name()),
        (_, answer) => Cell::styled(answer.name(), WARNING),
    }
}

/// Returns what a point is called in short.
fn name(bisection: &Bisection, point: usize) -> String {
    let id = &bisection.points[point].id;
    match bisection.kind {
        Kind::Commits => id.chars().take(HASH_DIGITS).collect(),
        Kind::Toolchains => id.clone(),
    }
}

/// Writes the point or points at which these benchmarks became slower.
fn found(
    bisection: &Bisection,
    outcome: &Outcome,
    results: &[&BenchmarkResult],
    lines: &HangingIndent,
    out: &mut impl Write,
) -> io::Result<()> {
    let title = |point: usize| {
        format!(
            "{} {}",
            name(bisection, point),
            bisection.points[point].title
        )
    };
    match outcome {
        Outcome::Found { point } => writeln!(out, "{BAD}{}{BAD:#}", title(*point))?,
        Outcome::Range { points } => {
            let what = "of these is the first slow one; those before the last are not decided:";
            writeln!(out, "{WARNING}One{WARNING:#} {what}")?;
            for point in points.iter().take(MAX_LISTED) {
                writeln!(out, "  {}", title(*point))?;
            }
            if let more @ 1.. = points.len().saturating_sub(MAX_LISTED) {
                writeln!(out, "  and {more} more")?;
            }
        }
        _ => return Ok(()),
    }
    for result in results {
        let sentence = result.sentence.as_deref().unwrap_or("is slower");
        let error = match result.error_bound {
            0.0 => String::new(),
            bound => format!(
                " (the search errs with a probability of at most {})",
                percent(bound)
            ),
        };
        lines.write(
            out,
            "",
            2,
            &format!("`{}` {sentence}{error}", result.id.name),
        )?;
        if let Some(further) = result.further_difference {
            let text = format!(
                "`{}` is {} slower still at the end, so there is a later change too: search on from \
                 here",
                result.id.name,
                size(further)
            );
            lines.write(out, &format!("{DIM}note{DIM:#} "), 5, &text)?;
        }
    }
    let diffstat = results
        .first()
        .and_then(|result| result.diffstat.as_deref());
    if let Some(diffstat) = diffstat {
        writeln!(out, " {}", diffstat.trim())?;
    }
    Ok(())
}
