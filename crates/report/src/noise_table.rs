//! The noise of a run, and the smallest change that the gate can find despite it.

use std::io::{self, Write};

use super::style::{BAD, DIM, GOOD, Look};
use super::table::{Cell, Column, Table};
use super::text::wrapped;
use topdown_gate::metric::Metric;
use topdown_gate::verdict::{BenchmarkVerdict, Comparison, MetricNoiseLevel, NoiseReport};
use topdown_terminal::count_of;

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
    let most = |quantity: fn(&BenchmarkVerdict) -> u32| {
        let launches = control.benchmarks.iter().map(quantity);
        launches.max().unwrap_or_default()
    };
    let tests = match control.suite.tests {
        0 => String::new(),
        tests => format!(", {}", count_of(tests, "test")),
    };
    let what = format!(
        "{}/{} launches of the same executables, in turn{tests}",
        most(|b| b.baseline_launches.times),
        most(|b| b.candidate_launches.times),
    );
    let alarms: Vec<String> = report
        .alarms()
        .iter()
        .map(|b| format!("{} ({})", b.id, b.verdict.name()))
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
    let metrics: Vec<Metric> = Metric::ALL
        .into_iter()
        .filter(|metric| {
            let mut levels = report.benchmarks.iter().flat_map(|b| &b.metrics);
            levels.any(|level| level.metric == *metric)
        })
        .collect();
    let mut columns = vec![Column::name("benchmark", 16), Column::text("%")];
    columns.extend(
        metrics
            .iter()
            .map(|metric| Column::number(heading_of(*metric))),
    );
    let mut table = Table::new(columns);
    for benchmark in &report.benchmarks {
        let mut row = |name: &str, label: &str, text: fn(&MetricNoiseLevel) -> Option<f64>| {
            let cells = metrics.iter().map(|metric| -> Cell {
                let level = benchmark.metrics.iter().find(|l| l.metric == *metric);
                let value = level.and_then(text);
                value
                    .map_or("-".to_owned(), |value| format!("{:.2}", value * 100.0))
                    .into()
            });
            table.row([name.into(), label.into()].into_iter().chain(cells));
        };
        row(&benchmark.id.name, "sd", |level| level.deviation);
        row("", "sees", |level| level.smallest_change);
    }
    table.write(out, look)?;
    writeln!(out)?;
    let sees = match report.tests {
        0 => "the smallest change that is found; nothing is tested, because modelled launches \
              agree"
            .to_owned(),
        tests => format!(
            "the smallest change that is found with a probability of {:.0} % by {} per side at \
             alpha {} over {}, if the machine does not drift between the sides",
            report.power * 100.0,
            count_of(report.launches, "launch"),
            report.alpha,
            count_of(tests, "test")
        ),
    };
    let legend = format!(
        "sd: standard deviation between launches, in percent of the benchmark's slots (time: of \
         its time). sees: {sees}. -: no change can be detected."
    );
    for line in wrapped(&legend, look.width) {
        writeln!(out, "{DIM}{line}{DIM:#}")?;
    }
    Ok(())
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
    use crate::shown::{shown, terminal};
    use crate::text::width_of;
    use topdown_gate::policy::Policy;
    use topdown_gate::scenario::{self, Planted, benchmark, timed};
    use topdown_gate::verdict::{LabelledRun, noise_of};
    use topdown_run::run_file::Benchmark;

    fn text(benchmarks: Vec<Benchmark>, width: usize) -> String {
        let run = scenario::run(benchmarks);
        let run = LabelledRun {
            label: "main",
            run: &run,
        };
        let report = noise_of(run, &Policy::default(), 10);
        let text = shown(|out| write(out, &report, terminal(width)));
        for line in text.lines() {
            assert!(width_of(line) <= width, "wider than {width}: {line}");
            assert_eq!(line, line.trim_end());
        }
        text
    }

    /// Quiet, noisy and time-only benchmarks; one has no launches.
    fn mixed() -> Vec<Benchmark> {
        let planted = |deviation| Planted {
            deviation,
            launches: 20,
            ..Planted::default()
        };
        let mut nothing = benchmark("nothing", planted(0.0));
        nothing.slots = None;
        nothing.times.launches.clear();
        vec![
            benchmark("quiet", planted(0.002)),
            benchmark("a_group/with a rather long name/1048576", planted(0.03)),
            timed("clock", planted(0.05)),
            nothing,
        ]
    }

    #[test]
    fn mixed_suite_at_80_columns() {
        insta::assert_snapshot!(text(mixed(), 80));
    }

    #[test]
    fn mixed_suite_at_200_columns() {
        insta::assert_snapshot!(text(mixed(), 200));
    }

    #[test]
    fn exact_benchmarks_are_not_called_tested() {
        let modelled = scenario::modelled("exact", Planted::default());
        insta::assert_snapshot!(text(vec![modelled], 80));
    }

    #[test]
    fn false_alarm_is_named() {
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
    fn two_launches_have_noise_without_control() {
        let two = Planted {
            launches: 2,
            ..Planted::default()
        };
        let text = text(vec![timed("t", two)], 80);
        assert!(!text.contains("A/A"), "{text}");
    }
}
