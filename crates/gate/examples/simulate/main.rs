//! Measures how often the gate errs, on suites whose true changes are known.
//!
//!     cargo run --release -p topdown-gate --example simulate -- --help

mod scenarios;
mod simulation;

use std::io::{self, Write};

use clap::builder::RangedU64ValueParser;
use clap::{Parser, ValueEnum};

use crate::simulation::history::{HistoryExperiment, HistoryShape};
use crate::simulation::machine::{MACHINES, SHARED_MACHINE};
use crate::simulation::{Design, Experiment, Kind, PlantedChange};
use topdown_gate::metric::Metric;

/// Launches of baseline and candidate.
const DESIGNS: [Design; 6] = [
    design(1, 1),
    design(5, 5),
    design(10, 5),
    design(10, 10),
    with_second_look(design(10, 5), 10, 20),
    with_second_look(design(10, 5), 20, 20),
];
/// The designs tested with planted changes.
const PLANTED_DESIGNS: [Design; 4] = [DESIGNS[2], DESIGNS[3], DESIGNS[4], DESIGNS[5]];
const PLANTED_METRICS: [Metric; 5] = [
    Metric::Retiring,
    Metric::BadSpeculation,
    Metric::FrontendBound,
    Metric::BackendBound,
    Metric::Wall,
];
const PLANTED_PERCENT: [u32; 5] = [2, 3, 5, 7, 10];
/// One benchmark in this many has the planted change.
const PLANTED_EVERY: usize = 10;

const fn design(baseline: u32, candidate: u32) -> Design {
    Design {
        baseline,
        candidate,
        second_look: None,
    }
}

const fn with_second_look(design: Design, baseline: u32, candidate: u32) -> Design {
    Design {
        second_look: Some((baseline, candidate)),
        ..design
    }
}

/// Simulates suites whose true changes are known, and counts how often the gate errs
#[derive(Debug, Parser)]
struct Args {
    /// Suites per machine and number of launches
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    suites: u64,

    /// Benchmarks per suite
    #[arg(
        long,
        default_value_t = 200,
        value_parser = RangedU64ValueParser::<usize>::new().range(1..=10_000)
    )]
    benchmarks: usize,

    /// Sizes of the suites in the tables of time and drift, separated by commas
    #[arg(long, value_delimiter = ',')]
    sizes: Vec<usize>,

    /// Seed of all random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Simulate histories of 30 runs, and count how often `history` errs
    #[arg(long)]
    history: bool,

    /// Print only these tables, separated by commas
    #[arg(long, value_enum, value_delimiter = ',', conflicts_with = "history")]
    tables: Vec<Table>,
}

/// The tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Table {
    /// Suites in which nothing changed, on each machine
    Unchanged,
    /// One benchmark in ten changed, by size, metric and launches
    Planted,
    /// Nothing changed, and benchmarks drift between the sessions
    Drift,
    /// Drift that is proportional, of what is backend bound, or in common
    DriftKinds,
    /// Drift in suites too small to show it well
    SmallSuites,
    /// A year of merges in which nothing changed
    Years,
    /// Launches that resemble the one before
    Neighbours,
    /// A slow path that only some launches take
    SlowPaths,
    /// Much changed at once
    Broad,
    /// A launch of every benchmark went wrong
    Wild,
    /// Only time
    Time,
    /// Whether the advice on launches is true
    Advice,
    /// Time grew and slots did not
    FlatSlots,
    /// Time beside modelled slots
    Modelled,
    /// Benchmarks that have only time, beside others with modelled slots
    TimeBesideSlots,
}

fn main() -> io::Result<()> {
    let args = Args::parse();
    let mut out = io::stdout().lock();
    if args.history {
        simulate_histories(&mut out, &args)
    } else {
        simulate_comparisons(&mut out, &args)
    }
}

fn simulate_comparisons(out: &mut impl Write, args: &Args) -> io::Result<()> {
    let Args {
        seed,
        suites,
        benchmarks,
        ..
    } = *args;
    let unchanged = Experiment {
        seed,
        suites,
        benchmarks,
        machine: SHARED_MACHINE,
        design: DESIGNS[0],
        planted: &[],
        wild: None,
        kind: Kind::Counted,
        other_code_every: 0,
        earlier: 0,
    };
    let tables = if args.tables.is_empty() {
        Table::value_variants()
    } else {
        &args.tables
    };
    writeln!(out, "seed {seed}")?;
    for table in tables {
        match table {
            Table::Unchanged => nothing_changed(out, unchanged)?,
            Table::Planted => planted(out, unchanged)?,
            _ => scenarios::write(out, *table, seed, suites, &args.sizes)?,
        }
    }
    Ok(())
}

fn nothing_changed(out: &mut impl Write, unchanged: Experiment<'_>) -> io::Result<()> {
    let Experiment {
        suites, benchmarks, ..
    } = unchanged;
    writeln!(
        out,
        "\nSuites of {benchmarks} benchmarks, 6 metrics each. Nothing changed: failing suites of \
         {suites} (inconclusive benchmarks)\n"
    )?;
    write!(out, "{:<14}", "launches")?;
    for machine in MACHINES {
        write!(out, "{:>16}", machine.name)?;
    }
    writeln!(out)?;
    for design in DESIGNS {
        write!(out, "{:<14}", shown(design))?;
        for machine in MACHINES {
            let tally = Experiment {
                machine,
                design,
                ..unchanged
            }
            .run();
            let cell = format!(
                "{} ({:.1} %)",
                tally.suites_with_false_alarm,
                tally.inconclusive_fraction() * 100.0
            );
            write!(out, "{cell:>16}")?;
            out.flush()?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn planted(out: &mut impl Write, unchanged: Experiment<'_>) -> io::Result<()> {
    let Experiment {
        seed,
        suites,
        benchmarks,
        ..
    } = unchanged;
    // A tenth of each suite's benchmarks are planted, so fewer suites are enough.
    let planted_suites = suites.div_ceil(5);
    writeln!(
        out,
        "\nOne benchmark in {PLANTED_EVERY} changed, {} machine: found of {} (cause named \
         rightly)\n",
        SHARED_MACHINE.name,
        planted_suites * benchmarks.div_ceil(PLANTED_EVERY) as u64
    )?;
    write!(out, "{:<14}{:<8}", "launches", "change")?;
    for metric in PLANTED_METRICS {
        write!(out, "{:>18}", metric.name())?;
    }
    writeln!(out)?;
    for design in PLANTED_DESIGNS {
        for percent in PLANTED_PERCENT {
            write!(out, "{:<14}{:<8}", shown(design), format!("+{percent} %"))?;
            for metric in PLANTED_METRICS {
                let tally = Experiment {
                    // Different suites from above, so that their noise does not repeat.
                    seed: seed.wrapping_add(1),
                    suites: planted_suites,
                    design,
                    planted: &[PlantedChange::every(
                        PLANTED_EVERY,
                        metric,
                        f64::from(percent) / 100.0,
                    )],
                    ..unchanged
                }
                .run();
                let explained = match tally.found {
                    0 => "-".to_owned(),
                    _ => format!("{:.1} %", tally.explained_fraction() * 100.0),
                };
                let cell = format!("{:.1} % ({explained})", tally.power() * 100.0);
                write!(out, "{cell:>18}")?;
                out.flush()?;
            }
            writeln!(out)?;
        }
    }
    Ok(())
}

/// Runs per history, and launches per run.
const HISTORY_RUNS: usize = 30;
const HISTORY_LAUNCHES: u32 = 10;
/// What happens to one benchmark in ten, with a label.
const COURSES: [(&str, HistoryShape); 5] = [
    ("one step of 2 %", HistoryShape::Step(0.02)),
    ("one step of 3 %", HistoryShape::Step(0.03)),
    ("one step of 5 %", HistoryShape::Step(0.05)),
    ("5 steps of 1 %", HistoryShape::Steps(5, 0.01)),
    ("10 steps of 1 %", HistoryShape::Steps(10, 0.01)),
];

fn simulate_histories(out: &mut impl Write, args: &Args) -> io::Result<()> {
    let Args {
        seed,
        suites,
        benchmarks,
        ..
    } = *args;
    let unchanged = HistoryExperiment {
        seed,
        suites,
        benchmarks,
        machine: SHARED_MACHINE,
        runs: HISTORY_RUNS,
        launches: HISTORY_LAUNCHES,
        course: HistoryShape::Unchanged,
        every: PLANTED_EVERY,
    };
    writeln!(
        out,
        "seed {seed}; suites of {benchmarks} benchmarks, {HISTORY_RUNS} runs of \
         {HISTORY_LAUNCHES} launches\n"
    )?;
    write!(out, "{:<44}", "")?;
    for machine in MACHINES {
        write!(out, "{:>10}", machine.name)?;
    }
    write!(
        out,
        "\n{:<44}",
        format!("nothing changed: alarmed of {suites} suites")
    )?;
    for machine in MACHINES {
        let tally = HistoryExperiment {
            machine,
            ..unchanged
        }
        .run();
        write!(out, "{:>10}", tally.suites_with_false_alarm)?;
        out.flush()?;
    }
    writeln!(out)?;
    for (name, course) in COURSES {
        write!(out, "{:<44}", format!("{name}, found"))?;
        for machine in MACHINES {
            let tally = HistoryExperiment {
                // Different suites from above, and fewer: a tenth of each is planted.
                seed: seed.wrapping_add(1),
                suites: suites.div_ceil(5),
                machine,
                course,
                ..unchanged
            }
            .run();
            write!(out, "{:>10}", format!("{:.1} %", tally.power() * 100.0))?;
            out.flush()?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// `10/5`, or `10/5→20/20` if suspects are launched again.
fn shown(design: Design) -> String {
    let first = format!("{}/{}", design.baseline, design.candidate);
    match design.second_look {
        None => first,
        Some((baseline, candidate)) => format!("{first}→{baseline}/{candidate}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_beyond_limits_are_refused() {
        let parse = |option: &str, value: &str| {
            Args::try_parse_from(["simulate", &format!("{option}={value}")])
        };
        for (option, most) in [("--suites", "100000"), ("--benchmarks", "10000")] {
            assert!(parse(option, "1").is_ok());
            assert!(parse(option, most).is_ok());
            for value in [
                "0",
                "-1",
                "100001",
                "99999999999",
                "99999999999999999999999",
            ] {
                let message = parse(option, value).unwrap_err().to_string();
                let says_which = message.contains(option) && message.contains(value);
                assert!(says_which, "{message}");
            }
        }
        let message = parse("--suites", "99999999999").unwrap_err().to_string();
        assert!(
            message.contains("99999999999 is not in 1..=100000"),
            "{message}"
        );
    }
}
