//! A history for people: what changed and when, one line per benchmark.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use super::number::{percent_change, points, slots, time_ns};
use super::style::{DIM, HEADING, Look, WARNING};
use super::table::{Cell, Column, Table};
use super::text::HangingIndent;
use topdown_gate::metric::Metric;
use topdown_gate::trend::{
    BenchmarkTrend, ChangeKind, LeftOut, MIN_RUNS, Trend, TrendChange, TrendRun,
};
use topdown_terminal::count_of;

/// From low to high.
const UNICODE_CELLS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const ASCII_CELLS: [char; 4] = ['_', '.', '-', '"'];
/// The least relative range of the line: noise must not look like a change.
const MIN_SPAN: f64 = 0.05;
/// The first digits of a commit, by which a run can be found.
const COMMIT_DIGITS: usize = 9;
/// Columns before the facts of a change.
const INDENT: usize = 11;

/// Writes `trend`, benchmarks that changed first.
///
/// # Errors
/// Returns an error if writing to `out` fails.
pub fn write(trend: &Trend, look: Look, out: &mut impl Write) -> io::Result<()> {
    let lines = HangingIndent { width: look.width };
    heading(trend, &lines, out)?;
    let (changed, unchanged): (Vec<&BenchmarkTrend>, Vec<&BenchmarkTrend>) = trend
        .benchmarks
        .iter()
        .partition(|benchmark| !benchmark.changes.is_empty());
    let mut table = Table::new([Column::name("", 16), Column::text(""), Column::number("")]);
    let cells = |benchmark: &BenchmarkTrend| -> [Cell; 3] {
        let newest = benchmark.points.last();
        [
            benchmark.id.to_string().into(),
            sparkline(benchmark, look.width / 3, look.unicode).into(),
            newest
                .map_or(String::new(), |point| amount(benchmark, point.value, look))
                .into(),
        ]
    };
    for benchmark in &changed {
        table.text("");
        table.row(cells(benchmark));
        let mut changes = Vec::new();
        for change in &benchmark.changes {
            write_change(trend, benchmark, change, look, &lines, &mut changes)?;
        }
        if let (Some(overall), true) = (benchmark.overall_difference, benchmark.changes.len() > 1) {
            let lead = format!("  {:<9}", "in all");
            lines.write(&mut changes, &lead, INDENT, &percent_change(overall))?;
        }
        table.text(String::from_utf8_lossy(&changes).trim_end());
    }
    if !unchanged.is_empty() {
        table.text("");
    }
    for benchmark in unchanged {
        table.row(cells(benchmark));
    }
    table.write(out, look)
}

fn heading(trend: &Trend, lines: &HangingIndent, out: &mut impl Write) -> io::Result<()> {
    write!(out, "{HEADING}{}{HEADING:#}: ", trend.label)?;
    let runs = count_of(trend.runs.len(), "run");
    match (trend.runs.first(), trend.runs.last()) {
        (Some(first), Some(last)) if trend.runs.len() > 1 => {
            writeln!(out, "{runs}, {} to {}", date(first), date(last))?;
        }
        _ => writeln!(out, "{runs}")?,
    }
    let of_kind = |kind| {
        let is_kind = |b: &&BenchmarkTrend| b.changes.iter().any(|change| change.kind == kind);
        trend.benchmarks.iter().filter(is_kind).count()
    };
    let mut counted: Vec<String> = [ChangeKind::Slower, ChangeKind::Faster, ChangeKind::Shifted]
        .into_iter()
        .filter_map(|kind| match of_kind(kind) {
            0 => None,
            count => Some(format!("{count} {}", kind.name())),
        })
        .collect();
    if counted.is_empty() {
        counted.push("no change points".to_owned());
    }
    let benchmarks = count_of(trend.benchmarks.len(), "benchmark");
    writeln!(out, "{} in {benchmarks}", counted.join(", "))?;
    for text in notes(trend) {
        lines.write(out, &format!("{DIM}note{DIM:#} "), 5, &text)?;
    }
    for global in &trend.global_changes {
        let run = &trend.runs[global.run];
        let text = format!(
            "{} of {} benchmarks became {} about {}: the machine, the compiler or code that all of \
             them use",
            global.benchmarks,
            trend.benchmarks.len(),
            global.kind.name(),
            when(run)
        );
        lines.write(out, &format!("{WARNING}note{WARNING:#} "), 5, &text)?;
    }
    Ok(())
}

/// Returns notes on the runs.
pub(super) fn notes(trend: &Trend) -> Vec<String> {
    let mut notes = Vec::new();
    if !trend.is_long_enough() {
        notes.push(format!("change points need at least {MIN_RUNS} runs"));
    }
    notes.extend(trend.left_out.iter().map(left_out));
    notes.extend(
        trend
            .unreadable
            .iter()
            .map(|why| format!("left out: {why}")),
    );
    notes
}

fn left_out(left_out: &LeftOut) -> String {
    let what = match &left_out.benchmark {
        Some(benchmark) => format!("{benchmark} of the run of "),
        None => "the run of ".to_owned(),
    };
    let why: Vec<String> = left_out
        .differences
        .iter()
        .map(|d| {
            format!(
                "{} {}, in the newest run {}",
                d.field, d.baseline, d.candidate
            )
        })
        .collect();
    let why = if why.is_empty() {
        "it has no such value".to_owned()
    } else {
        why.join("; ")
    };
    format!("left out: {what}{}: {why}", when(&left_out.run))
}

fn amount(benchmark: &BenchmarkTrend, value: f64, look: Look) -> String {
    let unit = match benchmark.metric {
        Metric::Wall => "/iter",
        _ => " slots/iter",
    };
    number(benchmark, value, look) + unit
}

fn number(benchmark: &BenchmarkTrend, value: f64, look: Look) -> String {
    match benchmark.metric {
        Metric::Wall => time_ns(value, !look.unicode),
        _ => slots(value),
    }
}

/// Draws at most `width` cells. With more runs than cells, each cell shows the newest of several
/// runs. The first cell of a new level has the colour of the change.
fn sparkline(benchmark: &BenchmarkTrend, width: usize, unicode: bool) -> String {
    let points = &benchmark.points;
    let cells = points.len().min(width);
    let values = points.iter().map(|point| point.value);
    let low = values.clone().fold(f64::INFINITY, f64::min);
    let high = values.fold(f64::NEG_INFINITY, f64::max);
    let span = (high - low).max(MIN_SPAN * high);
    let heights: &[char] = if unicode {
        &UNICODE_CELLS
    } else {
        &ASCII_CELLS
    };
    let mut text = String::new();
    for cell in 0..cells {
        let of_cell = cell * points.len() / cells..(cell + 1) * points.len() / cells;
        let Some(point) = points[of_cell.clone()].last() else {
            continue;
        };
        let height = (point.value - low) / span * heights.len() as f64;
        let glyph = heights[(height as usize).min(heights.len() - 1)];
        let runs = points[of_cell].iter().map(|point| point.run);
        let change = benchmark
            .changes
            .iter()
            .find(|change| runs.clone().any(|run| run == change.run));
        match change {
            Some(change) => {
                let style = style(change.kind);
                text += &format!("{style}{glyph}{style:#}");
            }
            None => text.push(glyph),
        }
    }
    text
}

fn style(kind: ChangeKind) -> Style {
    match kind {
        ChangeKind::Slower => AnsiColor::Red.on_default().bold(),
        ChangeKind::Faster => AnsiColor::Green.on_default().bold(),
        ChangeKind::Shifted => AnsiColor::Yellow.on_default(),
    }
}

fn write_change(
    trend: &Trend,
    benchmark: &BenchmarkTrend,
    change: &TrendChange,
    look: Look,
    lines: &HangingIndent,
    out: &mut impl Write,
) -> io::Result<()> {
    let style = style(change.kind);
    let lead = format!("  {style}{:<9}{style:#}", change.kind.name());
    let text = format!(
        "{} from {}: {} {} {}, {} runs before and {} since",
        percent_change(change.difference),
        when(&trend.runs[change.run]),
        number(benchmark, change.before, look),
        look.arrow(),
        amount(benchmark, change.after, look),
        change.runs_before,
        change.runs_after
    );
    lines.write(out, &lead, INDENT, &text)?;
    for text in facts(change) {
        lines.write(out, &" ".repeat(INDENT), INDENT, &text)?;
    }
    Ok(())
}

/// Returns what caused a change, and what else changed with it.
pub(super) fn facts(change: &TrendChange) -> Vec<String> {
    /// Smaller ones are printed as `0.0`.
    const MIN_SHOWN: f64 = 0.0005;
    let mut categories: Vec<_> = change
        .categories
        .iter()
        .filter(|category| category.difference.abs() >= MIN_SHOWN)
        .collect();
    categories.sort_by(|a, b| b.difference.abs().total_cmp(&a.difference.abs()));
    let categories: Vec<String> = categories
        .iter()
        .map(|c| format!("{} {}", c.metric.name(), points(c.difference)))
        .collect();
    let mut facts = Vec::new();
    if !categories.is_empty() {
        facts.push(format!("% of the slots before: {}", categories.join(", ")));
    }
    if !change.differences.is_empty() {
        let differences: Vec<String> = change
            .differences
            .iter()
            .map(|d| format!("{} was {} and is {}", d.field, d.baseline, d.candidate))
            .collect();
        facts.push(format!("since then too: {}", differences.join("; ")));
    }
    facts
}

/// Returns the day of a run, and its commit.
pub(super) fn when(run: &TrendRun) -> String {
    let Some(commit) = &run.git_commit else {
        return date(run).to_owned();
    };
    let commit: String = commit.chars().take(COMMIT_DIGITS).collect();
    match run.git_dirty {
        Some(true) => format!("{} at {commit} with changes", date(run)),
        _ => format!("{} at {commit}", date(run)),
    }
}

/// Returns the day of a run.
pub(super) fn date(run: &TrendRun) -> &str {
    run.started_at.get(..10).unwrap_or(&run.started_at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples::history;
    use crate::shown::shown;
    use crate::text::width_of;

    fn text(trend: &Trend, width: usize, unicode: bool) -> String {
        let text = shown(|out| write(trend, Look { width, unicode }, out));
        let widest = text.lines().map(width_of).max().unwrap();
        assert!(widest <= width, "{widest}: {text}");
        text
    }

    #[test]
    fn step_creep_shift_and_flat_series() {
        insta::assert_snapshot!("history_80", text(&history(30), 80, true));
        insta::assert_snapshot!("history_200", text(&history(30), 200, true));
    }

    #[test]
    fn short_history_in_ascii() {
        insta::assert_snapshot!(text(&history(4), 80, false));
    }

    #[test]
    fn more_runs_than_columns_still_fit() {
        let trend = history(120);
        let line = sparkline(&trend.benchmarks[0], 40, true);
        assert_eq!(
            width_of(&anstream::adapter::strip_str(&line).to_string()),
            40
        );
        text(&trend, 80, true);
    }
}
