//! The table of all benchmarks of a comparison. More columns appear as the width allows.

use std::io::{self, Write};

use super::names::Names;
use super::number::{points, slots, time_ns};
use super::sentences::worst_first;
use super::style::{Look, of_class};
use super::table::{Cell, Column, Keep, Table};
use super::text::Hanging;
use topdown_gate::metric::Metric;
use topdown_gate::verdict::{BenchmarkVerdict, Comparison, Effect, Share};

/// The interval of an exact change; aligned with intervals that have no mark.
const EXACT: &str = "exact ";

type CellOf = fn(&BenchmarkVerdict, Look) -> String;

/// The columns after the verdict.
const COLUMNS: [(Column, CellOf); 10] = [
    (Column::number("change %"), |b, _| {
        b.main_effect()
            .map_or(String::new(), |e| points(e.difference))
    }),
    (
        Column::number("interval").keep(Keep::Essential(2)),
        |b, _| b.main_effect().map_or(String::new(), interval),
    ),
    (Column::number("time %").keep(Keep::Essential(1)), |b, _| {
        difference(b, Metric::Wall)
    }),
    (category("retiring"), |b, _| difference(b, Metric::Retiring)),
    (category("bad spec"), |b, _| {
        difference(b, Metric::BadSpeculation)
    }),
    (category("frontend"), |b, _| {
        difference(b, Metric::FrontendBound)
    }),
    (category("backend"), |b, _| {
        difference(b, Metric::BackendBound)
    }),
    (
        Column::number("launches").keep(Keep::Optional(2)),
        |b, _| {
            let (baseline, candidate) = (b.baseline_launches, b.candidate_launches);
            format!("{}/{}", baseline.used(), candidate.used())
        },
    ),
    (
        Column::number("shares % ret bad fe be").keep(Keep::Optional(3)),
        shares,
    ),
    (
        Column::number("per iteration").keep(Keep::Optional(4)),
        |b, look| {
            b.main_effect()
                .map_or(String::new(), |e| per_iteration(e, look))
        },
    ),
];

const fn category(heading: &'static str) -> Column {
    Column::number(heading).keep(Keep::Optional(1))
}

/// Writes the table, worst verdicts first, and the legend of its marks.
pub fn write(comparison: &Comparison, look: Look, out: &mut impl Write) -> io::Result<()> {
    let rows: Vec<&BenchmarkVerdict> = worst_first(comparison)
        .into_iter()
        .filter(|benchmark| benchmark.is_compared())
        .collect();
    let names = Names::new(comparison);
    let all_exact = rows
        .iter()
        .all(|row| row.main_effect().is_none_or(|effect| effect.exact));
    let first = [Column::name("benchmark", 24), Column::text("verdict")];
    let others = COLUMNS.iter().map(|(column, _)| *column);
    let mut table = Table::new(first.into_iter().chain(others).collect::<Vec<_>>());
    for row in &rows {
        let verdict = Cell::styled(row.verdict.name(), of_class(row.verdict));
        let cells = COLUMNS.iter().map(|(_, cell)| match cell(row, look) {
            // A note says so.
            text if all_exact && text == EXACT => Cell::default(),
            text => text.into(),
        });
        table.row(
            [names.name(&row.id).into(), verdict]
                .into_iter()
                .chain(cells),
        );
    }
    table.write(out, look)?;
    writeln!(out)?;
    for line in legend(&rows) {
        Hanging { width: look.width }.write(out, "", 0, line)?;
    }
    Ok(())
}

/// Explains the columns, one sentence each.
fn legend(rows: &[&BenchmarkVerdict]) -> Vec<&'static str> {
    let with_slots = rows.iter().any(|row| row.effect(Metric::Slots).is_some());
    let with_time = rows.iter().any(|row| row.effect(Metric::Slots).is_none());
    let mut legend = vec![match (with_slots, with_time) {
        (true, false) => {
            "Changes are percent of the baseline's slots; the categories add up to the change."
        }
        (true, true) => {
            "Changes are percent of the baseline's slots, or of its time where there are no slots."
        }
        _ => "Changes are percent of the baseline's time.",
    }];
    let mut intervals = rows.iter().filter_map(|row| {
        let effect = row.main_effect()?;
        effect.interval.filter(|_| !effect.exact)
    });
    if intervals.clone().any(|interval| interval.simultaneous) {
        legend.push("Intervals are 95 % per benchmark, with * for the whole suite at once.");
    } else if intervals.next().is_some() {
        legend.push("Intervals are 95 % per benchmark.");
    }
    legend
}

fn interval(effect: &Effect) -> String {
    if effect.exact {
        return EXACT.to_owned();
    }
    let Some(interval) = &effect.interval else {
        return String::new();
    };
    let mark = if interval.simultaneous { "*" } else { " " };
    format!(
        "[{}, {}]{mark}",
        points(interval.low),
        points(interval.high)
    )
}

fn difference(benchmark: &BenchmarkVerdict, metric: Metric) -> String {
    // For a benchmark without slots, the time is already its change.
    if metric == Metric::Wall && benchmark.effect(Metric::Slots).is_none() {
        return String::new();
    }
    benchmark
        .effect(metric)
        .map_or(String::new(), |effect| points(effect.difference))
}

fn per_iteration(effect: &Effect, look: Look) -> String {
    let amount = |value| match effect.metric {
        Metric::Wall => time_ns(value, !look.unicode),
        _ => slots(value),
    };
    format!(
        "{} {} {}",
        amount(effect.baseline),
        look.arrow(),
        amount(effect.candidate)
    )
}

/// `40 10 15 35 → 37 9 14 40`
fn shares(benchmark: &BenchmarkVerdict, look: Look) -> String {
    let side = |fraction: fn(&Share) -> f64| -> Vec<String> {
        benchmark
            .shares
            .iter()
            .map(|share| format!("{:.0}", fraction(share) * 100.0))
            .collect()
    };
    if benchmark.shares.is_empty() {
        return String::new();
    }
    format!(
        "{} {} {}",
        side(|share| share.baseline_fraction).join(" "),
        look.arrow(),
        side(|share| share.candidate_fraction).join(" ")
    )
}
