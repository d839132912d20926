//! The events of a run: one benchmark after the other, misses per thousand instructions.

use std::io::{self, Write};

use criterion_topdown::event::Event;
use criterion_topdown::run_file::Run;

use super::number::slots;
use super::style::{DIM, Look};
use super::text::{right_aligned, shortened, width_of, wrapped};
use crate::summary::Summary;

/// A column and what it shows.
struct Column {
    heading: &'static str,
    quantity: Quantity,
}

enum Quantity {
    InstructionsPerIteration,
    InstructionsPerCycle,
    PerThousandInstructions(&'static [Event]),
    PerIteration(Event),
}

const COLUMNS: [Column; 10] = [
    Column {
        heading: "instr",
        quantity: Quantity::InstructionsPerIteration,
    },
    Column {
        heading: "IPC",
        quantity: Quantity::InstructionsPerCycle,
    },
    Column {
        heading: "branch",
        quantity: Quantity::PerThousandInstructions(&[Event::Branches]),
    },
    Column {
        heading: "mispr",
        quantity: Quantity::PerThousandInstructions(&[Event::BranchMispredicts]),
    },
    Column {
        heading: "L1I",
        quantity: Quantity::PerThousandInstructions(&[Event::L1iMisses]),
    },
    Column {
        heading: "L1D",
        quantity: Quantity::PerThousandInstructions(&[Event::L1dMisses]),
    },
    Column {
        heading: "L2",
        quantity: Quantity::PerThousandInstructions(&[Event::L2Misses]),
    },
    Column {
        heading: "L3",
        quantity: Quantity::PerThousandInstructions(&[Event::L3Misses]),
    },
    Column {
        heading: "TLB",
        quantity: Quantity::PerThousandInstructions(&[Event::DtlbWalks, Event::ItlbWalks]),
    },
    Column {
        heading: "bytes",
        quantity: Quantity::PerIteration(Event::MemoryReadBytes),
    },
];

const COLUMN_WIDTH: usize = 7;
const INDENT: usize = 2;
/// From this width on the name stands before the numbers.
const WIDE: usize = 140;

const LEGEND: &str = "instr and bytes (read from memory) per iteration; branches, mispredicts, misses of \
    the caches and page walks per thousand instructions";

/// Writes the table of those benchmarks whose events were counted, with ANSI colours.
///
/// # Errors
/// When `out` fails.
pub fn write_event_table(out: &mut impl Write, run: &Run, look: Look) -> io::Result<()> {
    let rows: Vec<(&str, Summary)> = run
        .benchmarks
        .iter()
        .filter_map(|b| Some((b.id.name.as_str(), Summary::of(b)?)))
        .filter(|(_, summary)| !summary.events.is_empty())
        .collect();
    if rows.is_empty() {
        return writeln!(
            out,
            "no benchmark of this run has events; the source `model` counts them"
        );
    }
    let numbers_width = COLUMN_WIDTH * COLUMNS.len();
    let is_wide = look.width >= WIDE;
    let longest = rows.iter().map(|(name, _)| width_of(name)).max();
    let name_width = longest
        .unwrap_or(0)
        .min(look.width.saturating_sub(INDENT + numbers_width));
    let indent = " ".repeat(if is_wide { INDENT + name_width } else { INDENT });
    let headings: String = COLUMNS
        .iter()
        .map(|column| right_aligned(column.heading, COLUMN_WIDTH))
        .collect();
    writeln!(out, "{indent}{DIM}{headings}{DIM:#}")?;
    for (name, summary) in &rows {
        let numbers: String = COLUMNS
            .iter()
            .map(|column| {
                let value = column.quantity.of(summary);
                let cell = value.map_or_else(|| "-".to_owned(), |v| column.quantity.text(v));
                right_aligned(&cell, COLUMN_WIDTH)
            })
            .collect();
        let margin = " ".repeat(INDENT);
        if is_wide {
            let name = shortened(name, name_width, look.unicode);
            let fill = " ".repeat(name_width - width_of(&name));
            writeln!(out, "{margin}{name}{fill}{numbers}")?;
        } else {
            let name = shortened(name, look.width.saturating_sub(INDENT), look.unicode);
            writeln!(out, "{margin}{name}\n{margin}{numbers}")?;
        }
    }
    writeln!(out)?;
    for line in wrapped(LEGEND, look.width) {
        writeln!(out, "{DIM}{line}{DIM:#}")?;
    }
    Ok(())
}

impl Quantity {
    fn of(&self, summary: &Summary) -> Option<f64> {
        match self {
            Quantity::InstructionsPerIteration => summary.instructions,
            Quantity::InstructionsPerCycle => summary.instructions_per_cycle,
            Quantity::PerIteration(event) => summary.events.get(*event),
            Quantity::PerThousandInstructions(events) => {
                let counts = events.iter().map(|event| summary.events.get(*event));
                let sum: f64 = counts.sum::<Option<f64>>()?;
                let instructions = summary.instructions.filter(|count| *count > 0.0)?;
                Some(1000.0 * sum / instructions)
            }
        }
    }

    fn text(&self, value: f64) -> String {
        match self {
            Quantity::InstructionsPerIteration | Quantity::PerIteration(_) => slots(value),
            Quantity::InstructionsPerCycle => format!("{value:.2}"),
            Quantity::PerThousandInstructions(_) => format!("{value:.1}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::scenario::{self, Planted, benchmark, timed};
    use criterion_topdown::event::Events;

    fn run() -> Run {
        let counts = Events::NONE
            .with(Event::Branches, 60.0)
            .with(Event::BranchMispredicts, 1.5)
            .with(Event::L1iMisses, 0.0)
            .with(Event::L1dMisses, 12.25)
            .with(Event::L2Misses, 3.0)
            .with(Event::L3Misses, 0.5)
            .with(Event::DtlbWalks, 0.25)
            .with(Event::ItlbWalks, 0.25)
            .with(Event::MemoryReadBytes, 12_345.0);
        let mut some = benchmark("parse/some", Planted::default());
        let mut all = benchmark("a_group/of_a_rather_long_name/16384", Planted::default());
        for launch in &mut some.launches {
            launch.events = Events::NONE.with(Event::Branches, 60.0);
        }
        for launch in &mut all.launches {
            launch.events = counts;
        }
        scenario::run(vec![all, some, timed("read", Planted::default())])
    }

    fn table(run: &Run, width: usize) -> String {
        let mut out = Vec::new();
        let look = Look {
            width,
            unicode: true,
        };
        write_event_table(&mut out, run, look).unwrap();
        let text = anstream::adapter::strip_str(&String::from_utf8(out).unwrap()).to_string();
        for line in text.lines() {
            assert!(width_of(line) <= width, "wider than {width}: {line}");
        }
        text
    }

    #[test]
    fn events_at_80_columns() {
        insta::assert_snapshot!(table(&run(), 80));
    }

    #[test]
    fn events_at_200_columns() {
        insta::assert_snapshot!(table(&run(), 200));
    }

    #[test]
    fn a_run_without_events_says_so() {
        let run = scenario::run(vec![timed("read", Planted::default())]);
        assert!(table(&run, 80).starts_with("no benchmark of this run has events"));
    }
}
