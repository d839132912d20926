//! Difference of one benchmark between two runs, from the verdict down: the categories, the
//! dominant one's part, the metrics that moved with it, the functions, and the excluded causes.

use std::io::{self, Write};

use serde::Serialize;
use topdown_counters::cpu::{MODELLED, MetricGroup, Node};
use topdown_run::event::Event;
use topdown_run::run_file::{BenchmarkId, Run};

use super::advice::{SMALL, costly_rate};
use super::function_rows::label_of;
use super::number::{points, slots};
use super::sentences::run_in_few_words;
use super::style::{self, DIM, HEADING, Look};
use super::table::{Cell, Column, Table};
use super::text::{shortened, wrapped};
use super::verdict_facts::{code, told_functions};
use super::verdict_sentence::sentence;
use topdown_explain::groups_for;
use topdown_gate::event_rates::EventRates;
use topdown_gate::verdict::{
    BenchmarkVerdict, Cause, CauseKind, CausePart, Comparison, RunSummary,
};

/// A metric moved with a category if its change costs at least this part of the category's change.
const MIN_PART_FRACTION: f64 = 0.5;
/// The rates of [`costly_rate`] cost this fraction of the cycles.
const COSTLY: f64 = 0.1;
/// The longest name of a function, in columns.
const LONGEST_FUNCTION: usize = 48;

/// A verdict and what explains it.
pub struct Difference<'a> {
    /// What the gate says about it.
    pub verdict: &'a BenchmarkVerdict,
    /// The run that it is compared with.
    pub baseline: &'a RunSummary,
    /// The run that is judged.
    pub candidate: &'a RunSummary,
    /// How modelled launches of either side differ.
    pub launches_differ: LaunchesDiffer<'a>,
    /// The category that changed most in the direction of the whole; absent if nothing changed in
    /// the slots.
    pub dominant: Option<&'a CausePart>,
    /// Its part with most of its change, by name.
    pub part: Option<&'static str>,
    /// Whether both runs have metrics that could have moved with it.
    pub has_metrics: bool,
    /// Those that did.
    pub moved: Vec<Moved>,
    /// What did not change enough to be the cause.
    pub ruled_out: Vec<&'static str>,
}

/// How modelled launches differ, for people; absent where they do not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LaunchesDiffer<'a> {
    /// Those of the baseline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<&'a str>,
    /// Those of the candidate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub candidate: Option<&'a str>,
}

impl<'a> LaunchesDiffer<'a> {
    fn new(id: &BenchmarkId, [baseline, candidate]: [&'a Run; 2]) -> LaunchesDiffer<'a> {
        let of = |run: &'a Run| {
            let mut benchmarks = run.benchmarks.iter();
            benchmarks.find(|b| b.id == *id)?.launches_differ.as_deref()
        };
        LaunchesDiffer {
            baseline: of(baseline),
            candidate: of(candidate),
        }
    }

    /// Whether no launches differ.
    pub fn is_empty(&self) -> bool {
        *self == LaunchesDiffer::default()
    }
}

/// A metric that moved with the dominant category.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Moved {
    /// Its name, as in run files.
    pub metric: &'static str,
    /// Its value in the baseline, per iteration.
    pub baseline: f64,
    /// Its value in the candidate, per iteration.
    pub candidate: f64,
}

impl<'a> Difference<'a> {
    /// Explains a verdict of `comparison`, of the baseline and the candidate in `runs`.
    pub fn new(
        verdict: &'a BenchmarkVerdict,
        comparison: &'a Comparison,
        runs: [&'a Run; 2],
    ) -> Difference<'a> {
        let mut difference = Difference {
            verdict,
            baseline: &comparison.baseline,
            candidate: &comparison.candidate,
            launches_differ: LaunchesDiffer::new(&verdict.id, runs),
            dominant: verdict.cause.as_ref().and_then(dominant),
            part: None,
            has_metrics: false,
            moved: Vec::new(),
            ruled_out: Vec::new(),
        };
        if let (Some(cause), Some(dominant)) = (&verdict.cause, difference.dominant) {
            difference.look_below(cause, dominant);
        }
        difference
    }

    fn look_below(&mut self, cause: &Cause, dominant: &CausePart) {
        let is_small = |part: f64| part.abs() < SMALL * dominant.difference.abs();
        let others = cause.parts.iter().filter(|part| is_small(part.difference));
        self.ruled_out
            .extend(others.map(|part| part.category.name()));
        let lesser = dominant
            .details
            .iter()
            .find(|detail| is_small(detail.difference));
        self.ruled_out.extend(lesser.map(|detail| detail.name));
        self.part = dominant
            .details
            .first()
            .filter(|_| lesser.is_some())
            .map(|detail| detail.name);
        let Some(category) = dominant.category.category() else {
            return;
        };
        let sides = self.verdict.events.as_ref();
        let sides =
            sides.and_then(|sides| Some((sides.baseline.as_ref()?, sides.candidate.as_ref()?)));
        let Some((before, after)) = sides else {
            return;
        };
        self.add_instructions(dominant.difference, before, after);
        for group in groups_for(&MODELLED, category, true) {
            let is_lesser = lesser
                .is_some_and(|lesser| group.node_in(category).map(Node::name) == Some(lesser.name));
            if !is_lesser {
                self.add_events(group, dominant.difference, before, after);
            }
        }
    }

    /// More instructions take more slots of every kind, first of all retiring ones.
    fn add_instructions(&mut self, points: f64, before: &EventRates, after: &EventRates) {
        let (Some(baseline), Some(candidate)) = (before.instructions, after.instructions) else {
            return;
        };
        let change = (candidate - baseline) / baseline;
        if change * points.signum() >= MIN_PART_FRACTION * points.abs() {
            self.has_metrics = true;
            self.moved.push(Moved {
                metric: "instructions",
                baseline,
                candidate,
            });
        } else {
            self.ruled_out.push("instructions");
        }
    }

    /// Adds the events of a group that moved, or else rules its subject out.
    fn add_events(
        &mut self,
        group: &MetricGroup,
        points: f64,
        before: &EventRates,
        after: &EventRates,
    ) {
        let Some((costly, rules_out)) = costly_rate(group.subject) else {
            return;
        };
        let least = MIN_PART_FRACTION * costly * points.abs() / COSTLY;
        let cycles = before.instructions.zip(before.instructions_per_cycle);
        let Some((instructions, per_cycle)) = cycles else {
            return;
        };
        let thousands = instructions / per_cycle / 1000.0;
        let counts = MISSES
            .iter()
            .filter(|(event, _)| group.events.iter().any(|e| e.name == event.name()));
        let known: Vec<(Moved, f64)> = counts
            .filter_map(|(event, of_one)| {
                let count = |rates: &EventRates| Some(rates.events.get(event)?.per_iteration);
                let moved = Moved {
                    metric: event.name(),
                    baseline: count(before)?,
                    candidate: count(after)?,
                };
                let change = (moved.candidate - moved.baseline) / of_one / thousands;
                Some((moved, change * points.signum()))
            })
            .collect();
        if known.is_empty() {
            return;
        }
        self.has_metrics = true;
        let moved = known.into_iter().filter(|(_, change)| *change >= least);
        let moved: Vec<Moved> = moved.map(|(moved, _)| moved).collect();
        if moved.is_empty() && !self.ruled_out.contains(&rules_out) {
            self.ruled_out.push(rules_out);
        }
        for moved in moved {
            if !self.moved.contains(&moved) {
                self.moved.push(moved);
            }
        }
    }
}

/// The events that cost something, and how many of them are one miss: memory is read and written by
/// lines.
const MISSES: [(Event, f64); 10] = [
    (Event::BranchMispredicts, 1.0),
    (Event::MachineClears, 1.0),
    (Event::L1iMisses, 1.0),
    (Event::ItlbWalks, 1.0),
    (Event::DtlbWalks, 1.0),
    (Event::L1dMisses, 1.0),
    (Event::L2Misses, 1.0),
    (Event::L3Misses, 1.0),
    (Event::MemoryReadBytes, 64.0),
    (Event::MemoryWriteBytes, 64.0),
];

/// Returns the category to look at: the largest part in the direction of the whole, or the one that
/// slots moved to.
fn dominant(cause: &Cause) -> Option<&CausePart> {
    match cause.kind {
        CauseKind::TimePerSlot { .. } | CauseKind::Unknown => None,
        CauseKind::Moved => {
            let by = |a: &&CausePart, b: &&CausePart| a.difference.total_cmp(&b.difference);
            cause.parts.iter().max_by(by)
        }
        CauseKind::Category { .. } | CauseKind::Spread => cause.parts.first(),
    }
}

/// Writes `difference` with ANSI colours; strip them if unwanted.
///
/// # Errors
/// Returns an error if writing to `out` fails.
pub fn write(out: &mut impl Write, difference: &Difference<'_>, look: Look) -> io::Result<()> {
    let verdict = difference.verdict;
    let class = style::of_class(verdict.verdict);
    writeln!(
        out,
        "{HEADING}{}{HEADING:#}: {class}{}{class:#}",
        verdict.id,
        verdict.verdict.name()
    )?;
    paragraph(out, &sentence(verdict, &verdict.id.name), 0, look)?;
    let differ = &difference.launches_differ;
    for (name, run, differ) in [
        ("baseline", difference.baseline, differ.baseline),
        ("candidate", difference.candidate, differ.candidate),
    ] {
        let text = format!("{name}: {}", run_in_few_words(run));
        paragraph(out, &format!("{DIM}{text}{DIM:#}"), 0, look)?;
        if let Some(how) = differ {
            paragraph(
                out,
                &format!("The {name}'s launches differ: {how}"),
                0,
                look,
            )?;
        }
    }
    let Some(dominant) = difference.dominant else {
        return Ok(());
    };
    writeln!(out, "\n{HEADING}points of the baseline's slots{HEADING:#}")?;
    let parts = verdict.cause.iter().flat_map(|cause| &cause.parts);
    write_parts(out, parts, dominant, look)?;
    let below = match difference.part {
        Some(part) => format!("{}: {part}", dominant.category.name()),
        None => dominant.category.name().to_owned(),
    };
    writeln!(out, "\n{HEADING}{below}{HEADING:#}")?;
    if !difference.has_metrics {
        let text = format!(
            "The runs have no metrics about this beside the slots; `cargo topdown explain --exact \
             '{}'` measures those of the newest build.",
            verdict.id.name
        );
        paragraph(out, &text, 2, look)?;
    }
    write_moved(out, &difference.moved, look)?;
    write_functions(out, verdict, look)?;
    if !difference.ruled_out.is_empty() {
        let text = format!("Ruled out: {}.", difference.ruled_out.join(", "));
        paragraph(out, &text, 2, look)?;
    }
    Ok(())
}

/// Writes the categories, and the parts of the dominant one.
fn write_parts<'a>(
    out: &mut impl Write,
    parts: impl Iterator<Item = &'a CausePart>,
    dominant: &CausePart,
    look: Look,
) -> io::Result<()> {
    let mut table = Table::new([Column::text(""), Column::number("")]).indented(2);
    for part in parts {
        table.row([part.category.name(), &points(part.difference)]);
        let details = part.certain_details();
        for detail in details.filter(|_| part.category == dominant.category) {
            let name = format!("  {}", detail.name);
            table.row([
                Cell::styled(name, DIM),
                Cell::styled(points(detail.difference), DIM),
            ]);
        }
    }
    table.write(out, look)
}

fn write_moved(out: &mut impl Write, moved: &[Moved], look: Look) -> io::Result<()> {
    if moved.is_empty() {
        return Ok(());
    }
    let columns = [
        Column::text(""),
        Column::number(""),
        Column::text(""),
        Column::number(""),
        Column::text(""),
    ];
    let mut table = Table::new(columns).indented(2);
    for metric in moved {
        table.row([
            metric.metric,
            &slots(metric.baseline),
            look.arrow(),
            &slots(metric.candidate),
            "per iteration",
        ]);
    }
    table.write(out, look)
}

fn write_functions(out: &mut impl Write, verdict: &BenchmarkVerdict, look: Look) -> io::Result<()> {
    let columns = [Column::text(""), Column::number(""), Column::text("")];
    let mut table = Table::new(columns).indented(2);
    let mut is_any = false;
    for change in told_functions(verdict) {
        is_any = true;
        let label = label_of(&change.name, &change.module);
        let room = LONGEST_FUNCTION.min(look.width.saturating_sub(20));
        table.row([
            shortened(&label, room, look.unicode).as_str(),
            &points(change.difference),
            "points",
        ]);
    }
    if is_any {
        table.write(out, look)?;
    }
    match code(verdict) {
        Some(text) => paragraph(out, &text, 2, look),
        None => Ok(()),
    }
}

fn paragraph(out: &mut impl Write, text: &str, indent: usize, look: Look) -> io::Result<()> {
    let pad = " ".repeat(indent);
    for line in wrapped(text, look.width.saturating_sub(indent)) {
        writeln!(out, "{pad}{line}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples::{compared, one_of_each};
    use crate::schema;
    use crate::shown::{shown, terminal, written};
    use crate::text::width_of;
    use topdown_gate::scenario;
    use topdown_run::category::PerCategory;
    use topdown_run::event::Events;
    use topdown_run::sample::Level1;

    /// A benchmark before and after one of its functions took 10 % more slots, waiting for memory.
    fn grown() -> [Run; 2] {
        let mut sides = scenario::with_a_grown_function("parse/json");
        for (side, l2_misses) in sides.iter_mut().zip([0.5, 9.5]) {
            for launch in side.slots_launches_mut() {
                launch.instructions = Some(400.0);
                launch.cycles = Some(launch.slots / 6.0);
                launch.events = Events::NONE
                    .with(Event::BranchMispredicts, 0.1)
                    .with(Event::DtlbWalks, 0.0)
                    .with(Event::L1dMisses, l2_misses + 1.0)
                    .with(Event::L2Misses, l2_misses)
                    .with(Event::L3Misses, 0.01)
                    .with(Event::MemoryReadBytes, 0.0)
                    .with(Event::MemoryWriteBytes, 0.0)
                    .into();
            }
        }
        sides.map(|side| scenario::run(vec![side]))
    }

    fn text(runs: [&Run; 2], nth: usize, width: usize) -> String {
        let comparison = compared(runs[0], runs[1]);
        let difference = Difference::new(&comparison.benchmarks[nth], &comparison, runs);
        let text = shown(|out| write(out, &difference, terminal(width)));
        assert!(text.lines().all(|line| width_of(line) <= width), "{text}");
        text
    }

    #[test]
    fn difference_at_60_and_120_columns() {
        let [baseline, candidate] = grown();
        let runs = [&baseline, &candidate];
        insta::assert_snapshot!("a_difference_60", text(runs, 0, 60));
        insta::assert_snapshot!("a_difference_120", text(runs, 0, 120));
    }

    /// As in string-interner 0.20.0, where retiring slots grew.
    #[test]
    fn changed_instructions_are_a_metric() {
        let mut sides = grown();
        for (side, retiring, instructions) in [(0, 100.0, 400.0), (1, 900.0, 900.0)] {
            for launch in sides[side].benchmarks[0].slots_launches_mut() {
                launch.slots = 1000.0 + retiring;
                launch.instructions = Some(instructions);
                launch.level2 = None;
                launch.level1 = launch.level1.map(|level1| Level1 {
                    slots: PerCategory {
                        retiring,
                        bad_speculation: 0.0,
                        frontend_bound: 0.0,
                        backend_bound: 1000.0,
                    },
                    ..level1
                });
            }
        }
        let told = text([&sides[0], &sides[1]], 0, 100);
        assert!(
            told.contains("\n  instructions  400.0  →  900.0  per iteration\n"),
            "{told}"
        );
        assert!(!told.contains("no metrics"), "{told}");
    }

    #[test]
    fn differing_launches_are_reported_for_their_side() {
        let [mut baseline, candidate] = grown();
        let how = "they execute different instructions";
        baseline.benchmarks[0].launches_differ = Some(how.to_owned());
        let told = text([&baseline, &candidate], 0, 100);
        let line = format!("\nThe baseline's launches differ: {how}\n");
        assert!(told.contains(&line), "{told}");
        assert!(!told.contains("The candidate's launches"), "{told}");
        let comparison = compared(&baseline, &candidate);
        let verdict = &comparison.benchmarks[0];
        let difference = Difference::new(verdict, &comparison, [&baseline, &candidate]);
        let text = written(|out| super::super::difference_json::write(out, &difference));
        let json = serde_json::from_str(&text).unwrap();
        schema::check("difference", &json);
        assert_eq!(
            json["launches_differ"],
            serde_json::json!({ "baseline": how })
        );
    }

    #[test]
    fn every_verdict_has_an_explanation() {
        let (baseline, candidate) = one_of_each();
        let baseline = scenario::run(baseline);
        let comparison = compared(&baseline, &candidate);
        let count = comparison.benchmarks.len();
        let mut told: Vec<&str> = Vec::new();
        let mut all = String::new();
        for nth in 0..count {
            let verdict = comparison.benchmarks[nth].verdict.name();
            if !told.contains(&verdict) {
                told.push(verdict);
                all += &text([&baseline, &candidate], nth, 80);
                all += "\n";
            }
        }
        insta::assert_snapshot!(all);
    }

    #[test]
    fn the_json_has_the_same_facts() {
        let [baseline, candidate] = grown();
        let comparison = compared(&baseline, &candidate);
        let runs = [&baseline, &candidate];
        let difference = Difference::new(&comparison.benchmarks[0], &comparison, runs);
        let text = written(|out| super::super::difference_json::write(out, &difference));
        schema::check("difference", &serde_json::from_str(&text).unwrap());
        insta::assert_snapshot!(text);
    }
}
