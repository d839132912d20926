//! The noise of a run, and the smallest change that the gate can find despite it.

use std::io::{self, Write};

use super::number::launches;
use super::style::{BAD, DIM, GOOD, HEADING, Look};
use super::text::{padded, right_aligned, shortened, width_of, wrapped};
use topdown_gate::metric::Metric;
use topdown_gate::verdict::{
    BenchmarkNoise, BenchmarkVerdict, Comparison, MetricNoiseLevel, NoiseReport,
};

const GAP: usize = 2;
const CELL: usize = 7;
/// The label of a benchmark's line, if it has two: `sd`, `sees`.
const LABEL: usize = 5;
const LEAST_NAME: usize = 16;

/// Writes the outcome of the A/A control and the table, with ANSI colours.
///
/// # Errors
/// Returns an error if writing to `out` fails.
pub fn write(out: &mut impl Write, report: &NoiseReport, look: Look) -> io::Result<()> {
    if let Some(control) = &report.control {
        write_control(out, report, control, look)?;
    }
    write_table(out, report, look)
}

fn write_control(
    out: &mut impl Write,
    report: &NoiseReport,
    control: &Comparison,
    look: Look,
) -> io::Result<()> {
    let most = |of: fn(&BenchmarkVerdict) -> u32| {
        let launches = control.benchmarks.iter().map(of);
        launches.max().unwrap_or_default()
    };
    let what = format!(
        "{}/{} launches of the same executables, in turn, {} tests",
        most(|b| b.baseline_launches.times),
        most(|b| b.candidate_launches.times),
        control.suite.tests
    );
    let alarms: Vec<String> = report
        .alarms()
        .iter()
        .map(|b| format!("{} ({})", b.id, b.class.name()))
        .collect();
    let (style, text) = if alarms.is_empty() {
        (GOOD, format!("A/A no alarm: {what}"))
    } else {
        (BAD, format!("A/A ALARM: {what}: {}", alarms.join(", ")))
    };
    for line in wrapped(&text, look.width) {
        writeln!(out, "{style}{line}{style:#}")?;
    }
    writeln!(out)
}

/// Writes only the table.
///
/// # Errors
/// Returns an error if writing to `out` fails.
pub fn write_table(out: &mut impl Write, report: &NoiseReport, look: Look) -> io::Result<()> {
    let table = Table::of(report, look);
    table.write_heading(out)?;
    for benchmark in &report.benchmarks {
        table.write_row(out, benchmark)?;
    }
    writeln!(out)?;
    let legend = format!(
        "sd: standard deviation between launches, in percent of the benchmark's slots (time: of its \
         time). sees: the smallest change that is found with a probability of {:.0} % by {} \
         a side at alpha {} over {} tests, if the machine does not drift between the sides. -: no \
         change is.",
        report.power * 100.0,
        launches(report.launches),
        report.alpha,
        report.tests
    );
    for line in wrapped(&legend, look.width) {
        writeln!(out, "{DIM}{line}{DIM:#}")?;
    }
    Ok(())
}

struct Table {
    look: Look,
    metrics: Vec<Metric>,
    name_width: usize,
    /// Whether each benchmark has a single line.
    is_wide: bool,
}

impl Table {
    fn of(report: &NoiseReport, look: Look) -> Table {
        let metrics: Vec<Metric> = Metric::ALL
            .into_iter()
            .filter(|metric| {
                let mut levels = report.benchmarks.iter().flat_map(|b| &b.metrics);
                levels.any(|level| level.metric == *metric)
            })
            .collect();
        let longest = report
            .benchmarks
            .iter()
            .map(|b| width_of(&b.id.name))
            .fold("benchmark".len(), usize::max);
        let block = metrics.len() * CELL;
        let is_wide = look.width >= longest + 2 * (GAP + block);
        let taken = match is_wide {
            true => 2 * (GAP + block),
            false => GAP + LABEL + block,
        };
        Table {
            look,
            metrics,
            name_width: longest.min(look.width.saturating_sub(taken).max(LEAST_NAME)),
            is_wide,
        }
    }

    fn write_heading(&self, out: &mut impl Write) -> io::Result<()> {
        let gap = " ".repeat(GAP);
        let names: String = self
            .metrics
            .iter()
            .map(|metric| right_aligned(heading_of(*metric), CELL))
            .collect();
        let name = padded("benchmark", self.name_width);
        if self.is_wide {
            let empty = padded("", self.name_width);
            let width = names.len();
            let (sd, sees) = (right_aligned("sd %", width), right_aligned("sees %", width));
            writeln!(out, "{HEADING}{empty}{gap}{sd}{gap}{sees}{HEADING:#}")?;
            writeln!(out, "{HEADING}{name}{gap}{names}{gap}{names}{HEADING:#}")
        } else {
            let label = padded("%", LABEL);
            writeln!(out, "{HEADING}{name}{gap}{label}{names}{HEADING:#}")
        }
    }

    fn write_row(&self, out: &mut impl Write, benchmark: &BenchmarkNoise) -> io::Result<()> {
        let gap = " ".repeat(GAP);
        let name = shortened(&benchmark.id.name, self.name_width, self.look.unicode);
        let name = padded(&name, self.name_width);
        let cells = |text: fn(&MetricNoiseLevel) -> Option<String>| -> String {
            let of = |metric| benchmark.metrics.iter().find(|l| l.metric == metric);
            self.metrics
                .iter()
                .map(|metric| of(*metric).and_then(text).unwrap_or("-".to_owned()))
                .map(|cell| right_aligned(&cell, CELL))
                .collect()
        };
        let sd = cells(|level| Some(format!("{:.2}", level.deviation? * 100.0)));
        let sees = cells(|level| Some(format!("{:.1}", level.smallest_change? * 100.0)));
        if self.is_wide {
            return writeln!(out, "{name}{gap}{sd}{gap}{sees}");
        }
        writeln!(out, "{name}{gap}{}{sd}", padded("sd", LABEL))?;
        let empty = " ".repeat(self.name_width);
        writeln!(out, "{empty}{gap}{}{sees}", padded("sees", LABEL))
    }
}

fn heading_of(metric: Metric) -> &'static str {
    match metric {
        Metric::Slots => "slots",
        Metric::Wall => "time",
        Metric::Retiring => "ret",
        Metric::BadSpeculation => "bad",
        Metric::FrontendBound => "fe",
        Metric::BackendBound => "be",
        Metric::SmtContention => "smt",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use criterion_topdown::run_file::Benchmark;
    use topdown_gate::policy::Policy;
    use topdown_gate::scenario::{self, Planted, benchmark, timed};
    use topdown_gate::verdict::{LabelledRun, noise_of};

    fn text(benchmarks: Vec<Benchmark>, width: usize) -> String {
        let run = scenario::run(benchmarks);
        let run = LabelledRun {
            label: "main",
            run: &run,
        };
        let report = noise_of(run, &Policy::default(), 10);
        let look = Look {
            width,
            unicode: true,
        };
        let mut out = Vec::new();
        write(&mut out, &report, look).unwrap();
        let text = anstream::adapter::strip_str(&String::from_utf8(out).unwrap()).to_string();
        for line in text.lines() {
            assert!(width_of(line) <= width, "wider than {width}: {line}");
            assert_eq!(line, line.trim_end());
        }
        text
    }

    /// Quiet, noisy and time-only benchmarks; one has no launches.
    fn mixed() -> Vec<Benchmark> {
        let of = |deviation| Planted {
            deviation,
            launches: 20,
            ..Planted::default()
        };
        let mut nothing = benchmark("nothing", of(0.0));
        nothing.slots = None;
        nothing.times.launches.clear();
        vec![
            benchmark("quiet", of(0.002)),
            benchmark("a_group/with a rather long name/1048576", of(0.03)),
            timed("clock", of(0.05)),
            nothing,
        ]
    }

    #[test]
    fn a_mixed_suite_at_80_columns() {
        insta::assert_snapshot!(text(mixed(), 80));
    }

    #[test]
    fn a_mixed_suite_at_200_columns() {
        insta::assert_snapshot!(text(mixed(), 200));
    }

    #[test]
    fn an_alarm_is_named() {
        let mut benchmarks = mixed();
        for (index, launch) in benchmarks[0].slots_launches_mut().iter_mut().enumerate() {
            if [1, 2].contains(&(index % 4)) {
                launch.slots *= 1.2;
            }
        }
        let text = text(benchmarks, 80);
        assert!(text.starts_with("A/A ALARM: 10/10 launches"), "{text}");
        assert!(text.contains("suite::bench::quiet (regressed)"), "{text}");
    }

    #[test]
    fn two_launches_have_noise_and_no_control() {
        let two = Planted {
            launches: 2,
            ..Planted::default()
        };
        let text = text(vec![timed("t", two)], 80);
        assert!(!text.contains("A/A"), "{text}");
    }
}
