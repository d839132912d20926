//! The events of a run, or of both sides of a comparison: misses per thousand instructions.

use std::io::{self, Write};

use topdown_run::event::Event;
use topdown_run::run_file::Run;

use super::number::{amount, slots};
use super::sentences::worst_first;
use super::style::{DIM, HEADING, Look};
use super::table::{self, Cell, Table};
use super::text::wrapped;
use topdown_gate::event_rates::EventRates;
use topdown_gate::summary::Summary;
use topdown_gate::verdict::Comparison;

/// A column and its quantity.
pub(super) struct Column {
    pub(super) heading: &'static str,
    quantity: Quantity,
}

enum Quantity {
    InstructionsPerIteration,
    InstructionsPerCycle,
    PerThousandInstructions(&'static [Event]),
    PerIteration(Event),
    /// Allocations and reallocations.
    Allocations,
    /// The bytes that they ask for.
    AllocatedBytes,
}

pub(super) const COLUMNS: [Column; 13] = [
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
    Column {
        heading: "alloc",
        quantity: Quantity::Allocations,
    },
    Column {
        heading: "alloc B",
        quantity: Quantity::AllocatedBytes,
    },
    Column {
        heading: "free",
        quantity: Quantity::PerIteration(Event::Frees),
    },
];

pub(super) const LEGEND: &str = "instr, bytes (read from memory), allocations (with \
    reallocations), the bytes that they ask for, and frees per iteration; branches, mispredicts, \
    misses of the caches and page walks per thousand instructions";

/// Writes the table of the benchmarks whose events were counted, with ANSI colours.
///
/// # Errors
/// Returns an error if writing to `out` fails.
pub fn write_event_table(out: &mut impl Write, run: &Run, look: Look) -> io::Result<()> {
    let rows: Vec<(&str, EventRates)> = run
        .benchmarks
        .iter()
        .filter_map(|b| Some((b.id.name.as_str(), EventRates::new(&Summary::new(b)?)?)))
        .filter(|(_, rates)| !rates.events.is_empty())
        .collect();
    if rows.is_empty() {
        return writeln!(
            out,
            "no benchmark of this run has events; the source `model` counts them"
        );
    }
    let mut table = events_table(table::Column::name("benchmark", 30));
    for (name, rates) in &rows {
        table.row([Cell::from(*name)].into_iter().chain(cells(rates)));
    }
    table.write(out, look)?;
    write_legend(out, look)
}

/// Writes the events of a comparison's benchmarks, if counted, worst first, with ANSI colours: a
/// line for each side.
///
/// # Errors
/// Returns an error if writing to `out` fails.
pub fn write_event_changes(
    out: &mut impl Write,
    comparison: &Comparison,
    look: Look,
) -> io::Result<()> {
    let mut table = events_table(table::Column::text(""));
    let mut is_any = false;
    for benchmark in worst_first(comparison) {
        let Some(events) = &benchmark.events else {
            continue;
        };
        is_any = true;
        table.text(format!("{HEADING}{}{HEADING:#}", benchmark.id));
        for (side, rates) in [("before", &events.baseline), ("after", &events.candidate)] {
            if let Some(rates) = rates {
                let side = [Cell::styled(side, DIM)];
                table.row(side.into_iter().chain(cells(rates)));
            }
        }
    }
    if !is_any {
        return writeln!(
            out,
            "neither run has events; the source `model` counts them"
        );
    }
    table.write(out, look)?;
    write_legend(out, look)
}

/// Makes a table of `first` and the events.
fn events_table(first: table::Column) -> Table {
    let mut columns = vec![first];
    columns.extend(COLUMNS.map(|column| table::Column::number(column.heading)));
    columns[1] = columns[1].starts_line();
    // Frees are mostly as many as allocations.
    if let Some(frees) = columns.last_mut() {
        *frees = frees.keep(table::Keep::Essential(1));
    }
    Table::new(columns)
}

fn cells(rates: &EventRates) -> impl Iterator<Item = Cell> {
    COLUMNS
        .iter()
        .map(|column| column.cell(rates).unwrap_or_else(|| "-".to_owned()).into())
}

fn write_legend(out: &mut impl Write, look: Look) -> io::Result<()> {
    writeln!(out)?;
    for line in wrapped(LEGEND, look.width) {
        writeln!(out, "{DIM}{line}{DIM:#}")?;
    }
    Ok(())
}

impl Column {
    /// Returns the column's text; `None` if the event was not counted.
    pub(super) fn cell(&self, rates: &EventRates) -> Option<String> {
        let value = self.quantity.value(rates)?;
        Some(self.quantity.text(value))
    }
}

impl Quantity {
    fn value(&self, rates: &EventRates) -> Option<f64> {
        match self {
            Quantity::InstructionsPerIteration => rates.instructions,
            Quantity::InstructionsPerCycle => rates.instructions_per_cycle,
            Quantity::PerIteration(event) => Some(rates.events.get(event)?.per_iteration),
            Quantity::Allocations => Some(rates.allocated()?.times),
            Quantity::AllocatedBytes => Some(rates.allocated()?.bytes),
            Quantity::PerThousandInstructions(events) => {
                let rate = |event| rates.events.get(event)?.per_thousand_instructions;
                events.iter().map(rate).sum()
            }
        }
    }

    fn text(&self, value: f64) -> String {
        match self {
            Quantity::Allocations
            | Quantity::AllocatedBytes
            | Quantity::PerIteration(Event::Frees) => amount(value),
            Quantity::InstructionsPerIteration | Quantity::PerIteration(_) => slots(value),
            Quantity::InstructionsPerCycle => format!("{value:.2}"),
            Quantity::PerThousandInstructions(_) => format!("{value:.1}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples::compared;
    use crate::shown::{shown, terminal};
    use crate::text::width_of;
    use topdown_gate::scenario::{self, Planted, benchmark, timed};
    use topdown_run::event::Events;

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
            .with(Event::MemoryReadBytes, 12_345.0)
            .with(Event::Allocations, 2.0)
            .with(Event::AllocatedBytes, 96.0)
            .with(Event::Reallocations, 1.0)
            .with(Event::ReallocatedBytes, 50_000.0)
            .with(Event::Frees, 0.125);
        let mut some = benchmark("parse/some", Planted::default());
        let mut all = benchmark("a_group/of_a_rather_long_name/16384", Planted::default());
        for launch in some.slots_launches_mut() {
            launch.events = Events::NONE.with(Event::Branches, 60.0).into();
        }
        for launch in all.slots_launches_mut() {
            launch.events = counts.into();
        }
        scenario::run(vec![all, some, timed("read", Planted::default())])
    }

    fn table(run: &Run, width: usize) -> String {
        let text = shown(|out| write_event_table(out, run, terminal(width)));
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

    fn changes(baseline: &Run, candidate: &Run) -> String {
        let comparison = compared(baseline, candidate);
        let text = shown(|out| write_event_changes(out, &comparison, terminal(80)));
        assert!(text.lines().all(|line| width_of(line) <= 80), "{text}");
        text
    }

    #[test]
    fn events_before_and_after() {
        let mut candidate = run();
        for launch in candidate.benchmarks[0].slots_launches_mut() {
            launch.events = launch.events.with(Event::L2Misses, 90.0).into();
        }
        insta::assert_snapshot!(changes(&run(), &candidate));
    }

    #[test]
    fn comparison_without_events_is_stated() {
        let run = scenario::run(vec![timed("read", Planted::default())]);
        assert!(changes(&run, &run).starts_with("neither run has events"));
    }

    #[test]
    fn run_without_events_is_stated() {
        let run = scenario::run(vec![timed("read", Planted::default())]);
        assert!(table(&run, 80).starts_with("no benchmark of this run has events"));
    }
}
