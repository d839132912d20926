//! Difference of one benchmark between two runs, from the verdict down: the dominant category and
//! its part, the metrics that moved with it, and the excluded causes.

use serde::Serialize;
use topdown_counters::cpu::{MODELLED, MetricGroup, Node};
use topdown_run::event::Event;
use topdown_run::run_file::{BenchmarkId, Run};

use crate::advice::{SMALL, costly_rate};
use crate::groups_for;
use topdown_gate::event_rates::EventRates;
use topdown_gate::verdict::{
    BenchmarkVerdict, Cause, CauseKind, CausePart, Comparison, RunSummary,
};

/// A metric moved with a category if its change costs at least this part of the category's change.
const MIN_PART_FRACTION: f64 = 0.5;
/// The rates of [`costly_rate`] cost this fraction of the cycles.
const COSTLY: f64 = 0.1;

/// A verdict and what explains it.
pub struct Difference<'a> {
    /// What the gate says about it.
    pub verdict: &'a BenchmarkVerdict,
    /// The run that it is compared with.
    pub baseline: &'a RunSummary,
    /// The run that is judged.
    pub candidate: &'a RunSummary,
    /// How modelled launches of either side differ.
    pub launches_differ: LaunchDifference<'a>,
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
pub struct LaunchDifference<'a> {
    /// Those of the baseline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<&'a str>,
    /// Those of the candidate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub candidate: Option<&'a str>,
}

impl<'a> LaunchDifference<'a> {
    fn new(id: &BenchmarkId, [baseline, candidate]: [&'a Run; 2]) -> LaunchDifference<'a> {
        let benchmark = |run: &'a Run| {
            let mut benchmarks = run.benchmarks.iter();
            benchmarks.find(|b| b.id == *id)?.launches_differ.as_deref()
        };
        LaunchDifference {
            baseline: benchmark(baseline),
            candidate: benchmark(candidate),
        }
    }

    /// Whether no launches differ.
    pub fn is_empty(&self) -> bool {
        *self == LaunchDifference::default()
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
            launches_differ: LaunchDifference::new(&verdict.id, runs),
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
const MISSES: [(Event, f64); 11] = [
    (Event::BranchMispredicts, 1.0),
    (Event::MachineClears, 1.0),
    (Event::BlockedLoads, 1.0),
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
