//! The table of all benchmarks of a comparison. More columns appear as the width allows.

use std::io::{self, Write};

use criterion_topdown::run_file::BenchmarkId;

use super::comparison_text::style;
use super::number::points;
use super::sentences::worst_first;
use super::text::Hanging;
use topdown_gate::metric::Metric;
use topdown_gate::verdict::{BenchmarkVerdict, Class, Comparison, Effect, Share};

const LEAST_NAME_WIDTH: usize = 24;
const MOST_NAME_WIDTH: usize = 60;
const GAP: usize = 2;

struct Column {
    heading: &'static str,
    width: usize,
    is_category: bool,
    cell: fn(&BenchmarkVerdict) -> String,
}

/// The order of priority: in a narrow table, the last ones are dropped first.
const COLUMNS: [Column; 10] = [
    Column {
        heading: "change %",
        width: 8,
        is_category: false,
        cell: |b| {
            b.main_effect()
                .map_or(String::new(), |e| points(e.difference))
        },
    },
    Column {
        heading: "interval",
        width: 15,
        is_category: false,
        cell: |b| b.main_effect().map_or(String::new(), interval),
    },
    Column {
        heading: "time %",
        width: 7,
        is_category: false,
        cell: |b| difference(b, Metric::Wall),
    },
    Column {
        heading: "retiring",
        width: 8,
        is_category: true,
        cell: |b| difference(b, Metric::Retiring),
    },
    Column {
        heading: "bad spec",
        width: 8,
        is_category: true,
        cell: |b| difference(b, Metric::BadSpeculation),
    },
    Column {
        heading: "frontend",
        width: 8,
        is_category: true,
        cell: |b| difference(b, Metric::FrontendBound),
    },
    Column {
        heading: "backend",
        width: 8,
        is_category: true,
        cell: |b| difference(b, Metric::BackendBound),
    },
    Column {
        heading: "launches",
        width: 8,
        is_category: false,
        cell: |b| {
            format!(
                "{}/{}",
                b.baseline_launches.used(),
                b.candidate_launches.used()
            )
        },
    },
    Column {
        heading: "shares % ret bad fe be",
        width: 25,
        is_category: false,
        cell: shares,
    },
    Column {
        heading: "per iteration",
        width: 19,
        is_category: false,
        cell: |b| b.main_effect().map_or(String::new(), per_iteration),
    },
];

/// Writes the table, worst verdicts first, and the legend of its marks.
pub fn write(comparison: &Comparison, width: usize, out: &mut impl Write) -> io::Result<()> {
    let rows: Vec<&BenchmarkVerdict> = worst_first(comparison)
        .into_iter()
        .filter(|benchmark| benchmark.class != Class::NotComparable)
        .collect();
    let names = Names::of(comparison);
    let verdict_width = rows
        .iter()
        .map(|row| row.class.name().len())
        .fold("verdict".len(), usize::max);
    let name_width = rows
        .iter()
        .map(|row| names.name(&row.id).chars().count())
        .fold("benchmark".len(), usize::max)
        .clamp("benchmark".len(), MOST_NAME_WIDTH);
    // Omit columns without a value in any row.
    let useful = COLUMNS
        .iter()
        .filter(|column| rows.iter().any(|row| !(column.cell)(row).is_empty()));
    let mut columns: Vec<&Column> = Vec::new();
    let mut left = width.saturating_sub(verdict_width + GAP);
    for column in useful {
        // Names are cut before the first three columns are dropped.
        let needed = if columns.len() < 3 {
            LEAST_NAME_WIDTH
        } else {
            name_width
        };
        if left < needed + column.width + GAP {
            // Show all categories or none.
            if column.is_category {
                columns.retain(|column| !column.is_category);
            }
            break;
        }
        left -= column.width + GAP;
        columns.push(column);
    }
    let name_width = name_width.min(left.max(LEAST_NAME_WIDTH));

    write!(
        out,
        "{:name_width$}  {:verdict_width$}",
        "benchmark", "verdict"
    )?;
    for column in &columns {
        write!(out, "  {:>1$}", column.heading, column.width)?;
    }
    writeln!(out)?;
    let (mut with_interval, mut simultaneous, mut exact) = (false, false, false);
    for row in &rows {
        let style = style(row.class);
        let name = cut(&names.name(&row.id), name_width);
        let class = row.class.name();
        write!(
            out,
            "{name:name_width$}  {style}{class:verdict_width$}{style:#}"
        )?;
        for column in &columns {
            write!(out, "  {:>1$}", (column.cell)(row), column.width)?;
        }
        writeln!(out)?;
        let interval = row.main_effect().and_then(|effect| effect.interval);
        with_interval |= interval.is_some();
        simultaneous |= interval.is_some_and(|interval| interval.simultaneous);
        exact |= row.main_effect().is_some_and(|e| e.exact);
    }
    writeln!(out)?;
    let with_slots = rows.iter().any(|row| row.effect(Metric::Slots).is_some());
    let with_time = rows.iter().any(|row| row.effect(Metric::Slots).is_none());
    let mut legend = String::from("Changes are percent of the baseline's ");
    legend.push_str(match (with_slots, with_time) {
        (true, false) => "slots per iteration; the categories add up to the change.",
        (true, true) => {
            "slots per iteration, of its time for benchmarks without slots; the categories add up \
             to the change."
        }
        _ => "time per iteration.",
    });
    if with_interval {
        legend.push_str(" Intervals are 95 % per benchmark");
        if simultaneous {
            legend.push_str(", with * for the whole suite at once");
        }
        if exact {
            legend.push_str("; exact changes have none");
        }
        legend.push('.');
    }
    Hanging { width }.write(out, "", 0, &legend)
}

/// How much of the ids is needed to make them unique in the table.
#[derive(Clone, Copy)]
enum Names {
    Short,
    WithTarget,
    Full,
}

impl Names {
    fn of(comparison: &Comparison) -> Names {
        let mut ids = comparison.benchmarks.iter().map(|benchmark| &benchmark.id);
        let Some(first) = ids.next() else {
            return Names::Short;
        };
        ids.fold(Names::Short, |names, id| {
            if id.package != first.package {
                Names::Full
            } else if id.target != first.target && matches!(names, Names::Short) {
                Names::WithTarget
            } else {
                names
            }
        })
    }

    fn name(self, id: &BenchmarkId) -> String {
        match self {
            Names::Short => id.name.clone(),
            Names::WithTarget => format!("{}::{}", id.target, id.name),
            Names::Full => id.to_string(),
        }
    }
}

/// Cuts the start of a name, which says less than its end.
fn cut(name: &str, width: usize) -> String {
    let length = name.chars().count();
    if length <= width {
        return name.to_owned();
    }
    let tail: String = name.chars().skip(length + 1 - width).collect();
    format!("…{tail}")
}

fn interval(effect: &Effect) -> String {
    if effect.exact {
        return "exact ".to_owned();
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

fn per_iteration(effect: &Effect) -> String {
    let unit = match effect.metric {
        Metric::Wall => " ns",
        _ => "",
    };
    format!(
        "{} → {}{unit}",
        four_digits(effect.baseline),
        four_digits(effect.candidate)
    )
}

/// `1.234e9`, `12 340`, `0.56`: about four digits.
fn four_digits(value: f64) -> String {
    match value.abs() {
        size if size >= 1e6 => format!("{value:.3e}"),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// `40 10 15 35 → 37 9 14 40`
fn shares(benchmark: &BenchmarkVerdict) -> String {
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
        "{} → {}",
        side(|share| share.baseline_fraction).join(" "),
        side(|share| share.candidate_fraction).join(" ")
    )
}
