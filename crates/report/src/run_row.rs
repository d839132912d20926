//! The row of one benchmark in a run's table, in words and numbers.

use topdown_run::provenance::{CountedThreads, Provenance, SourceKind};
use topdown_run::run_file::Benchmark;

use super::bar::CATEGORIES;
use super::number::{amount, percent, slots, time_ns};
use super::schedule_sentence::order_dependence;
use super::style::Look;
use topdown_gate::allocated::Allocated;
use topdown_gate::cold::Initialisation;
use topdown_gate::schedules::OrderDependence;
use topdown_gate::statistics::middle_half::MAX_OVERHEAD_FRACTION;
use topdown_gate::summary::{Shares, Summary};

/// Categories with a coarser resolution are marked: the gate's margin for being sure.
const COARSE_FRACTION: f64 = 0.01;

/// The fraction of the slots from which the cost of windows is worth a note.
const MIN_NOTED_WINDOW_FRACTION: f64 = 0.01;

/// The note on a benchmark whose slots are not about its work.
pub const WAITS: &str = "mostly waits: work in the kernel or on other threads has no slots";

/// The note on a benchmark that executes no more than an empty loop.
pub const REMOVED: &str = "the compiler seems to have removed the work; pass inputs and results \
                           through `black_box`";

/// Returns a note on whose work the numbers are, if there is anything to note.
pub fn work_note(provenance: &Provenance) -> Option<String> {
    match (provenance.elsewhere, provenance.threads) {
        (Some(elsewhere), _) => Some(format!("judged by time alone: {elsewhere}")),
        (None, CountedThreads::All) => Some("slots of all threads".to_owned()),
        (None, CountedThreads::Own) => None,
    }
}

/// A benchmark's numbers as text.
pub struct Row {
    pub name: String,
    pub slots: Option<String>,
    pub time: String,
    pub instructions_per_cycle: Option<String>,
    pub spread: Option<String>,
    pub allocations: Option<String>,
    pub shares: Option<Shares>,
    /// One text per category, in the order of [`CATEGORIES`].
    pub share_cells: Vec<String>,
    pub is_modelled: bool,
    /// Whether it has only time, and no note says why.
    pub lacks_slots: bool,
    pub notes: Vec<String>,
}

impl Row {
    /// Makes the row of `benchmark`.
    pub fn new(benchmark: &Benchmark, look: Look) -> Row {
        let Some(summary) = Summary::new(benchmark) else {
            return Row {
                name: benchmark.id.name.clone(),
                slots: None,
                time: "-".to_owned(),
                instructions_per_cycle: None,
                spread: None,
                allocations: None,
                shares: None,
                share_cells: Vec::new(),
                is_modelled: false,
                lacks_slots: false,
                notes: vec!["no launch has a value".to_owned()],
            };
        };
        let plus_minus = if look.unicode { "±" } else { "+-" };
        let provenance = benchmark.provenance();
        // The one that the gate judges.
        let gated = summary.slots.unwrap_or(summary.wall_ns);
        Row {
            name: benchmark.id.name.clone(),
            slots: summary.slots.map(|spread| slots(spread.mean)),
            time: time_ns(summary.wall_ns.mean, !look.unicode),
            instructions_per_cycle: summary
                .instructions_per_cycle
                .map(|ipc| format!("{ipc:.2}")),
            spread: gated
                .relative_sd
                .map(|sd| format!("{plus_minus}{} %", percent(sd))),
            allocations: Allocated::from_events(&summary.events)
                .map(|allocated| amount(allocated.times)),
            shares: summary.shares,
            share_cells: summary.shares.map(|s| share_cells(&s)).unwrap_or_default(),
            is_modelled: provenance.source == SourceKind::Model,
            lacks_slots: provenance.source == SourceKind::Time && provenance.elsewhere.is_none(),
            notes: notes(benchmark, &summary, plus_minus),
        }
    }
}

fn share_cells(shares: &Shares) -> Vec<String> {
    let cells = CATEGORIES.iter().zip(shares.all());
    cells
        .map(|(look, share)| {
            let part = look.category.and_then(|c| Some(shares.level2?[c]));
            let part = part.map_or(String::new(), |part| format!("({})", percent(part)));
            format!("{}{part}", percent(share))
        })
        .collect()
}

fn notes(benchmark: &Benchmark, summary: &Summary, plus_minus: &str) -> Vec<String> {
    let provenance = benchmark.provenance();
    let mut notes = Vec::new();
    notes.extend(Initialisation::of(benchmark).map(|note| first_iterations(&note)));
    notes.extend(work_note(provenance));
    notes.extend(OrderDependence::of(benchmark).map(order_dependence));
    if let Some(units) = provenance.sampled_units {
        notes.push(format!(
            "too long to model whole: estimated from {units} short parts of an iteration, whose \
             scatter gives the spread"
        ));
    }
    if let Some(iterations) = provenance.warmed_iterations {
        notes.push(format!(
            "warmed up by {} iterations",
            amount(iterations as f64)
        ));
    }
    if let Some(cold) = provenance.cold_fraction {
        notes.push(format!(
            "still cold: up to {} % of its cycles wait for memory that it had not touched before",
            percent(cold)
        ));
    }
    if provenance.source == SourceKind::Model && summary.samples_dropped > 0 {
        notes.push("too few iterations to warm up; raise `--model-budget`".to_owned());
    } else if summary.samples_dropped > 0 {
        notes.push(format!(
            "{} of {} samples dropped",
            summary.samples_dropped,
            summary.samples_dropped + summary.samples_used
        ));
    }
    if let Some(coverage) = summary.coverage_fraction().filter(|known| *known < 1.0) {
        notes.push(format!(
            "the model knows {}% of its instructions; the others count as one slot each",
            below_100(coverage)
        ));
    }
    if summary.seems_removed() {
        notes.push(REMOVED.to_owned());
    }
    if summary.mostly_waits() {
        notes.push(WAITS.to_owned());
    }
    let window_percent = percent(summary.window_fraction);
    if summary.window_fraction > MAX_OVERHEAD_FRACTION {
        notes.push(format!(
            "its windows cost {window_percent} % of the slots, so slots decide nothing: use larger \
             batches"
        ));
    } else if summary.window_fraction > MIN_NOTED_WINDOW_FRACTION {
        notes.push(format!(
            "its windows cost {window_percent} % of the slots; subtracted"
        ));
    }
    if summary.resolution_fraction > COARSE_FRACTION {
        notes.push(format!(
            "coarse: each category {plus_minus}{} % of slots; longer samples help",
            percent(summary.resolution_fraction)
        ));
    }
    notes
}

/// `first iteration: 34.3 M slots, later ones 900`.
fn first_iterations(initialisation: &Initialisation) -> String {
    let (all, later) = (
        slots(initialisation.slots),
        slots(initialisation.later_slots),
    );
    match initialisation.iterations {
        1 => format!("first iteration: {all} slots, later ones {later}"),
        count => format!("first {count} iterations: {all} slots together, later ones {later} each"),
    }
}

/// Formats a fraction below 1 as a percentage that never reads as 100.
fn below_100(fraction: f64) -> String {
    let percent = (fraction * 1000.0).floor() / 10.0;
    format!("{percent:.1} ")
}
