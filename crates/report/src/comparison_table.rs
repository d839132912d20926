//! The table of a comparison's benchmarks. More columns appear as the width allows.

use std::io::{self, Write};

use topdown_run::provenance::SourceKind;

use super::detail::Detail;
use super::names::Names;
use super::number::{points, slots, time_ns};
use super::sentences::worst_first;
use super::style::{Look, of_class};
use super::table::{Cell, Column, Keep, Table};
use super::text::HangingIndent;
use topdown_gate::metric::Metric;
use topdown_gate::verdict::{BenchmarkVerdict, Comparison, Effect, Share, Verdict};

/// If more benchmarks than this were compared, the unchanged ones are counted in one line.
const MAX_ROWS: usize = 20;

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
pub fn write(
    comparison: &Comparison,
    detail: Detail,
    look: Look,
    out: &mut impl Write,
) -> io::Result<()> {
    let compared = worst_first(comparison).into_iter();
    let compared: Vec<&BenchmarkVerdict> = compared.filter(|b| b.is_compared()).collect();
    let all_exact = compared
        .iter()
        .all(|row| row.main_effect().is_none_or(|effect| effect.exact));
    let has_all = detail == Detail::All || compared.len() <= MAX_ROWS;
    let (rows, counted): (Vec<&BenchmarkVerdict>, Vec<&BenchmarkVerdict>) = compared
        .into_iter()
        .partition(|row| has_all || row.verdict != Verdict::Unchanged);
    let names = Names::new(comparison);
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
    if !rows.is_empty() {
        table.write(out, look)?;
    }
    if !counted.is_empty() {
        let lead = match rows.len() {
            0 => String::new(),
            _ => format!("{} and ", look.ellipsis()),
        };
        let text = format!("{lead}{}", count_unchanged(&counted));
        HangingIndent { width: look.width }.write(out, "", 4, &text)?;
    }
    writeln!(out)?;
    for line in legend(&rows, &counted) {
        HangingIndent { width: look.width }.write(out, "", 0, line)?;
    }
    Ok(())
}

/// `188 unchanged (-1.2 to +0.9 %); -v lists them`
fn count_unchanged(counted: &[&BenchmarkVerdict]) -> String {
    let changes = counted.iter().filter_map(|b| b.main_effect());
    let changes: Vec<f64> = changes.map(|effect| effect.difference).collect();
    let least = points(changes.iter().copied().fold(f64::INFINITY, f64::min));
    let most = points(changes.iter().copied().fold(f64::NEG_INFINITY, f64::max));
    let range = if least == most {
        least
    } else {
        format!("{least} to {most}")
    };
    let them = if counted.len() == 1 { "it" } else { "them" };
    format!("{} unchanged ({range} %); -v lists {them}", counted.len())
}

/// Explains the columns, one sentence each, and the changes of what has no row.
fn legend(rows: &[&BenchmarkVerdict], counted: &[&BenchmarkVerdict]) -> Vec<&'static str> {
    let has_slots = |row: &&BenchmarkVerdict| row.effect(Metric::Slots).is_some();
    let mut all = rows.iter().chain(counted);
    let with_slots = all.clone().any(has_slots);
    let with_time = !all.all(has_slots);
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
    let is_modelled_with_interval = |row: &&BenchmarkVerdict| {
        let mut effect = row.main_effect().into_iter();
        row.source == SourceKind::Model && effect.any(|e| !e.exact && e.interval.is_some())
    };
    if rows.iter().any(is_modelled_with_interval) {
        legend.push(
            "Modelled benchmarks with an interval were sampled, being too long to model whole, or \
             their launches differ.",
        );
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
