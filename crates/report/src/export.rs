//! A run in the formats of other tools.
//!
//! | format | who reads it | where it is described |
//! |---|---|---|
//! | `bmf` | Bencher | <https://bencher.dev/docs/reference/bencher-metric-format/> |
//! | `github-action-benchmark` | its tool `customSmallerIsBetter` | its README |
//! | `openmetrics` | Prometheus and others | OpenMetrics 1.0 |
//! | `ndjson` | databases: one flat object for each benchmark | |
//!
//! The golden text was read by `bencher_adapter` of Bencher (22 August 2026), `extractResult` of
//! github-action-benchmark (31 March 2026), prometheus_client 0.26.0 and DuckDB 2.0.1.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;
use topdown_gate::allocated::Allocated;
use topdown_gate::summary::{Spread, Summary};
use topdown_run::category::{Category, PerCategory};
use topdown_run::run_file::{Benchmark, Run};

use super::number::percent;

/// The format of another tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// Bencher's metric format.
    Bmf,
    /// For github-action-benchmark.
    GithubActionBenchmark,
    /// Text for Prometheus.
    OpenMetrics,
    /// One object on each line.
    Ndjson,
}

impl ExportFormat {
    /// All formats.
    pub const ALL: [ExportFormat; 4] = [
        ExportFormat::Bmf,
        ExportFormat::GithubActionBenchmark,
        ExportFormat::OpenMetrics,
        ExportFormat::Ndjson,
    ];

    /// Returns its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            ExportFormat::Bmf => "bmf",
            ExportFormat::GithubActionBenchmark => "github-action-benchmark",
            ExportFormat::OpenMetrics => "openmetrics",
            ExportFormat::Ndjson => "ndjson",
        }
    }

    /// Returns what reads it.
    pub fn meaning(self) -> &'static str {
        match self {
            ExportFormat::Bmf => "Bencher's metric format",
            ExportFormat::GithubActionBenchmark => {
                "for github-action-benchmark's tool `customSmallerIsBetter`"
            }
            ExportFormat::OpenMetrics => "text for Prometheus",
            ExportFormat::Ndjson => "one flat JSON object on each line, for databases",
        }
    }

    /// Writes `run` in this format. Benchmarks without launches are left out.
    ///
    /// # Errors
    /// Returns an error if writing to `out` fails.
    pub fn write(self, out: &mut impl Write, run: &Run) -> io::Result<()> {
        let benchmarks = run.benchmarks.iter();
        let rows: Vec<Row<'_>> = benchmarks.filter_map(Row::new).collect();
        match self {
            ExportFormat::Bmf => write_json(out, &bmf(&rows)),
            ExportFormat::GithubActionBenchmark => write_json(out, &points(&rows)),
            ExportFormat::OpenMetrics => write_open_metrics(out, run, &rows),
            ExportFormat::Ndjson => {
                for row in &rows {
                    serde_json::to_writer(&mut *out, &Line::new(run, row))?;
                    writeln!(out)?;
                }
                Ok(())
            }
        }
    }
}

fn write_json(out: &mut impl Write, document: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, document)?;
    writeln!(out)
}

/// A benchmark with the numbers that are exported.
struct Row<'a> {
    benchmark: &'a Benchmark,
    summary: Summary,
    categories_slots: Option<PerCategory<f64>>,
}

impl Row<'_> {
    fn new(benchmark: &Benchmark) -> Option<Row<'_>> {
        let summary = Summary::new(benchmark)?;
        let slots = summary.slots.map(|slots| slots.mean);
        let shares = summary.shares.map(|shares| shares.level1);
        Some(Row {
            benchmark,
            categories_slots: (shares.zip(slots))
                .map(|(shares, slots)| shares.map(|share| share * slots)),
            summary,
        })
    }

    fn allocated(&self) -> Option<Allocated> {
        Allocated::from_events(&self.summary.events)
    }
}

/// `bad_speculation`, as in files.
fn word(category: Category) -> String {
    category.name().replace(' ', "_")
}

/// A measure of Bencher.
#[derive(Serialize)]
struct Measure {
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upper_value: Option<f64>,
}

impl Measure {
    /// The bounds are one standard deviation between launches away.
    fn new(spread: Spread) -> Measure {
        let deviation = spread.relative_sd.map(|sd| sd * spread.mean);
        Measure {
            value: spread.mean,
            lower_value: deviation.map(|deviation| spread.mean - deviation),
            upper_value: deviation.map(|deviation| spread.mean + deviation),
        }
    }

    fn exact(value: f64) -> Measure {
        Measure {
            value,
            lower_value: None,
            upper_value: None,
        }
    }
}

/// `latency` is Bencher's own measure, in nanoseconds. Slugs have hyphens.
fn bmf(rows: &[Row<'_>]) -> BTreeMap<String, BTreeMap<String, Measure>> {
    let measures = |row: &Row<'_>| {
        let mut measures = BTreeMap::new();
        let mut add = |name: &str, measure| measures.insert(name.replace('_', "-"), measure);
        add("latency", Measure::new(row.summary.wall_ns));
        if let Some(slots) = row.summary.slots {
            add("slots", Measure::new(slots));
        }
        for (category, slots) in row.categories_slots.iter().flat_map(PerCategory::iter) {
            add(&word(category), Measure::exact(*slots));
        }
        if let Some(instructions) = row.summary.instructions {
            add("instructions", Measure::exact(instructions));
        }
        if let Some(allocated) = row.allocated() {
            add("allocations", Measure::exact(allocated.times));
        }
        (row.benchmark.id.to_string(), measures)
    };
    rows.iter().map(measures).collect()
}

/// An entry of github-action-benchmark.
#[derive(Serialize)]
struct GithubPoint {
    name: String,
    unit: &'static str,
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra: Option<String>,
}

/// Slots of each benchmark, or the time of those without.
fn points(rows: &[Row<'_>]) -> Vec<GithubPoint> {
    let point = |row: &Row<'_>| {
        let (spread, unit) = match row.summary.slots {
            Some(slots) => (slots, "slots/iter"),
            None => (row.summary.wall_ns, "ns/iter"),
        };
        let shares = row.summary.shares.map(|shares| shares.level1);
        let extra = shares.map(|shares| {
            let parts = shares.iter();
            let parts =
                parts.map(|(category, share)| format!("{} {} %", category.name(), percent(*share)));
            parts.collect::<Vec<String>>().join(", ")
        });
        GithubPoint {
            name: row.benchmark.id.to_string(),
            unit,
            value: spread.mean,
            range: spread
                .relative_sd
                .map(|sd| format!("± {:.3}", sd * spread.mean)),
            extra,
        }
    };
    rows.iter().map(point).collect()
}

fn write_open_metrics(out: &mut impl Write, run: &Run, rows: &[Row<'_>]) -> io::Result<()> {
    let labels = |row: &Row<'_>| {
        let id = &row.benchmark.id;
        let labels = [
            ("package", &id.package),
            ("target", &id.target),
            ("benchmark", &id.name),
            ("machine", &run.key()),
        ];
        labels
            .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
            .join(",")
    };
    let mut family = |name: &str, unit: &str, help: &str, samples: Vec<(String, f64)>| {
        if samples.is_empty() {
            return Ok(());
        }
        writeln!(out, "# TYPE {name} gauge")?;
        writeln!(out, "# UNIT {name} {unit}")?;
        writeln!(out, "# HELP {name} {help}")?;
        for (labels, value) in samples {
            writeln!(out, "{name}{{{labels}}} {value}")?;
        }
        io::Result::Ok(())
    };
    let slots = rows
        .iter()
        .filter_map(|row| Some((labels(row), row.summary.slots?.mean)));
    family(
        "topdown_iteration_slots",
        "slots",
        "Issue slots of an iteration.",
        slots.collect(),
    )?;
    let categories = rows.iter().flat_map(|row| {
        let categories = row.categories_slots.iter().flat_map(PerCategory::iter);
        categories
            .map(|(category, slots)| {
                (
                    format!("{},category=\"{}\"", labels(row), word(category)),
                    *slots,
                )
            })
            .collect::<Vec<(String, f64)>>()
    });
    family(
        "topdown_iteration_category_slots",
        "slots",
        "Issue slots of an iteration by category.",
        categories.collect(),
    )?;
    let times = rows
        .iter()
        .map(|row| (labels(row), row.summary.wall_ns.mean / 1e9));
    family(
        "topdown_iteration_seconds",
        "seconds",
        "Wall-clock time of an iteration.",
        times.collect(),
    )?;
    writeln!(out, "# EOF")
}

/// Escapes a label's value as OpenMetrics does.
fn escaped(text: &str) -> String {
    text.replace('\\', r"\\")
        .replace('"', r#"\""#)
        .replace('\n', r"\n")
}

/// A line of NDJSON: a row of a table with one benchmark of one run.
#[derive(Serialize)]
struct Line<'a> {
    run: &'a str,
    started_at: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    git_commit: Option<&'a str>,
    machine: String,
    rustc: &'a str,
    package: &'a str,
    target: &'a str,
    benchmark: &'a str,
    source: String,
    launches: usize,
    wall_ns: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    slots: Option<f64>,
    #[serde(flatten)]
    categories_slots: BTreeMap<String, f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions_per_cycle: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allocations: Option<f64>,
}

impl<'a> Line<'a> {
    fn new(run: &'a Run, row: &Row<'a>) -> Line<'a> {
        let id = &row.benchmark.id;
        Line {
            run: &run.id,
            started_at: &run.started_at,
            git_commit: run.build.git_commit.as_deref(),
            machine: run.key(),
            rustc: &run.build.rustc,
            package: &id.package,
            target: &id.target,
            benchmark: &id.name,
            source: row.benchmark.provenance().source.to_string(),
            launches: row.summary.launches,
            wall_ns: row.summary.wall_ns.mean,
            slots: row.summary.slots.map(|slots| slots.mean),
            categories_slots: (row.categories_slots.iter().flat_map(PerCategory::iter))
                .map(|(category, slots)| (format!("{}_slots", word(category)), *slots))
                .collect(),
            instructions: row.summary.instructions,
            instructions_per_cycle: row.summary.instructions_per_cycle,
            allocations: row.allocated().map(|allocated| allocated.times),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shown::written;
    use topdown_gate::scenario::{self, Planted, benchmark, timed};

    fn exported(format: ExportFormat) -> String {
        let planted = Planted {
            launches: 3,
            ..Planted::default()
        };
        let mut run = scenario::run(vec![benchmark("parse/1k", planted), timed("io", planted)]);
        run.benchmarks[1].id.name = "say \"\\n\"\nand more".to_owned();
        written(|out| format.write(out, &run))
    }

    #[test]
    fn bmf_has_a_measure_for_each_number() {
        insta::assert_snapshot!(exported(ExportFormat::Bmf));
    }

    #[test]
    fn github_action_benchmark_gets_slots_or_time() {
        insta::assert_snapshot!(exported(ExportFormat::GithubActionBenchmark));
    }

    #[test]
    fn open_metrics_escape_labels_and_end() {
        insta::assert_snapshot!(exported(ExportFormat::OpenMetrics));
    }

    #[test]
    fn ndjson_has_a_flat_object_per_line() {
        let text = exported(ExportFormat::Ndjson);
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        for line in lines {
            let line: serde_json::Map<String, serde_json::Value> = line;
            assert!(
                line.values()
                    .all(|value| !value.is_object() && !value.is_array())
            );
        }
        insta::assert_snapshot!(text);
    }

    #[test]
    fn benchmarks_without_launches_are_left_out() {
        let mut empty = timed("io", Planted::default());
        empty.times.launches.clear();
        let run = scenario::run(vec![empty]);
        let text = |format: ExportFormat| written(|out| format.write(out, &run));
        assert_eq!(ExportFormat::ALL.map(text), ["{}\n", "[]\n", "# EOF\n", ""]);
    }
}
