//! Metric groups: events counted in separate launches to explain a category.
//!
//! On every CPU the groups are named as in Arm's methodology (Arm, *Topdown Methodology
//! Specification* 109542), except for PipelineL2 and TopdownL2, which are AMD's and Intel's names.
//! Each family's groups are in its folder.

use std::fmt;

use super::metric_formula::{MetricFormula, SameLine};
use super::{Counter, Counts, Event};
use topdown_run::category::{Category, Part};

/// A group that is measured on its own, because level 1 leaves too few counters for it.
#[derive(Debug)]
pub struct MetricGroup {
    /// The name, unique within its table.
    pub name: &'static str,
    /// The subject it covers.
    pub subject: Subject,
    /// The nodes of the decision tree that name this group.
    pub explains: &'static [Node],
    /// The events. The first one is the leader.
    pub events: &'static [Event],
    /// The metrics computed from their counts.
    pub metrics: &'static [Metric],
    /// A worked example, which a test recomputes.
    pub example: MetricExample,
}

/// Counts of a group and the values of its metrics, as text.
#[derive(Debug)]
pub struct MetricExample {
    /// One count per event.
    pub counts: &'static [u64],
    /// One value per metric, in its unit, to the digits given.
    pub values: &'static [&'static str],
    /// The width of the pipeline it applies to, if cores of several widths share the group.
    pub slots_per_cycle: Option<u32>,
}

impl MetricExample {
    /// The example of groups without one.
    pub const NONE: MetricExample = MetricExample::new(&[], &[]);

    pub(crate) const fn new(
        counts: &'static [u64],
        values: &'static [&'static str],
    ) -> MetricExample {
        MetricExample {
            counts,
            values,
            slots_per_cycle: None,
        }
    }

    pub(crate) const fn at_width(self, slots_per_cycle: u32) -> MetricExample {
        MetricExample {
            slots_per_cycle: Some(slots_per_cycle),
            ..self
        }
    }
}

impl MetricGroup {
    /// Returns the name of this group's counts in provenances.
    pub fn formula(&self) -> String {
        format!("group-{}/1", self.name)
    }

    /// Returns the name of its retire latencies in provenances: for each event that
    /// [`LatencyTable::recorded_for`](super::LatencyTable::recorded_for) names, the number of its
    /// PMU samples and the sum of their cycles.
    #[inline]
    pub fn latencies_formula(&self) -> String {
        format!("latencies-{}/1", self.name)
    }

    /// Returns whether the decision tree names this group for a category or a node below it.
    #[inline]
    pub fn is_for(&self, category: Category) -> bool {
        self.node_in(category).is_some()
    }

    /// Returns the positions of the events that are sampled for any of its metrics.
    #[inline]
    pub fn sampled_at(&self) -> Vec<usize> {
        let is_sampled = |event: &Event| {
            let mut metrics = self.metrics.iter();
            metrics.any(|metric| metric.sample_events.contains(&Some(*event)))
        };
        let at = |at: &usize| is_sampled(&self.events[*at]);
        (0..self.events.len()).filter(at).collect()
    }

    /// Returns the position of the event that paces PMU samples of the group: cycles, or else the
    /// first one.
    #[inline]
    pub fn paced_at(&self) -> usize {
        let mut events = self.events.iter();
        let cycles = events.position(|event| event.counter != Counter::General);
        cycles.unwrap_or(0)
    }

    /// Returns the node of `category` that this group explains.
    #[inline]
    pub fn node_in(&self, category: Category) -> Option<Node> {
        let mut nodes = self.explains.iter().copied();
        nodes.find(|node| node.category() == category)
    }
}

/// The largest number of sample events of a metric.
pub const MAX_SAMPLE_EVENTS: usize = 3;

/// A number computed from a [`MetricGroup`].
pub struct Metric {
    /// The name, in the maker's spelling if there is one.
    pub name: &'static str,
    /// The unit printed after the number: `% of slots`, `per 1000 instructions`.
    pub unit: &'static str,
    /// The event whose [retire latency](super::RetireLatency) it needs in addition to the counts.
    pub latency_of: Option<Event>,
    /// The events whose interrupts find the metric's code, where the maker of the core names them.
    pub sample_events: [Option<Event>; MAX_SAMPLE_EVENTS],
    /// Benches only count the events; programs compute the metrics.
    formula: MetricFormula,
}

impl Metric {
    /// Returns a metric for an event's occurrences per thousand instructions.
    pub(crate) const fn per_kilo(name: &'static str, event: Event, instructions: Event) -> Metric {
        Metric {
            name,
            unit: "per 1000 instructions",
            latency_of: None,
            sample_events: [None; MAX_SAMPLE_EVENTS],
            formula: MetricFormula::ratio(1000.0, event, instructions),
        }
    }

    /// Returns a metric for an event as a percentage of another. `unit` begins with `%`.
    pub(crate) const fn percent(
        name: &'static str,
        event: Event,
        whole: Event,
        unit: &'static str,
    ) -> Metric {
        Metric {
            name,
            unit,
            latency_of: None,
            sample_events: [None; MAX_SAMPLE_EVENTS],
            formula: MetricFormula::ratio(100.0, event, whole),
        }
    }

    /// Returns a metric for an event that counts slots, in percent of all slots.
    pub(crate) const fn slots(name: &'static str, event: Event, cycles: Event) -> Metric {
        Metric {
            name,
            unit: "% of slots",
            latency_of: None,
            sample_events: [None; MAX_SAMPLE_EVENTS],
            formula: MetricFormula::slots(event, cycles),
        }
    }

    /// Returns a metric for the cycles in which an event holds up retirement: its occurrences times
    /// its retire latency.
    pub(crate) const fn waits(
        name: &'static str,
        event: Event,
        cycles: Event,
        same_line: Option<SameLine>,
    ) -> Metric {
        Metric {
            name,
            unit: "% of cycles",
            latency_of: Some(event),
            sample_events: [None; MAX_SAMPLE_EVENTS],
            formula: MetricFormula::waits(event, cycles, same_line),
        }
    }

    /// Returns a metric that `formula` computes in `unit`.
    pub const fn new(
        name: &'static str,
        unit: &'static str,
        formula: &'static (dyn Fn(&Counts) -> f64 + Sync),
    ) -> Metric {
        Metric {
            name,
            unit,
            latency_of: None,
            sample_events: [None; MAX_SAMPLE_EVENTS],
            formula: MetricFormula::other(formula),
        }
    }

    /// The same metric, for whose code these events are sampled.
    pub const fn sampled_by(self, events: [Option<Event>; MAX_SAMPLE_EVENTS]) -> Metric {
        Metric {
            sample_events: events,
            ..self
        }
    }

    /// Returns the number in its unit, signed and not clamped, or `None` if the divisor was not
    /// counted, or the retire latency of [`latency_of`](Metric::latency_of) is missing. Benches,
    /// which are compiled without the feature `commands`, compute no metrics.
    #[inline]
    pub fn value(&self, counts: &Counts, latency_cycles: Option<f64>) -> Option<f64> {
        self.formula.value(counts, latency_cycles)
    }
}

impl fmt::Debug for Metric {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.unit)
    }
}

/// A node of the decision tree: a category, or a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// The category itself.
    Category(Category),
    /// A part of a category.
    Part(Part),
}

impl Node {
    /// Returns the category that the node is or belongs to.
    pub fn category(self) -> Category {
        match self {
            Node::Category(category) => category,
            Node::Part(part) => part.category(),
        }
    }

    /// Returns its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Node::Category(category) => category.name(),
            Node::Part(part) => part.name(),
        }
    }
}

pub(super) const RETIRING: Node = Node::Category(Category::Retiring);
pub(super) const BAD_SPECULATION: Node = Node::Category(Category::BadSpeculation);
pub(super) const FRONTEND_BOUND: Node = Node::Category(Category::FrontendBound);
pub(super) const BACKEND_BOUND: Node = Node::Category(Category::BackendBound);

/// A group's subject: reports have one sentence of advice for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The parts of a category, as a share of all slots.
    Level2,
    /// Effectiveness of branch prediction.
    Branches,
    /// Machine clears.
    Clears,
    /// Address translation for instructions.
    InstructionTlb,
    /// The first-level instruction cache.
    InstructionCache,
    /// The cache of decoded instructions.
    DecodedCache,
    /// Address translation for data.
    DataTlb,
    /// The first-level data cache.
    DataCache,
    /// The second-level cache.
    L2Cache,
    /// The last-level cache, and memory behind it.
    LastLevelCache,
    /// Causes of cycles without progress.
    Stalls,
    /// Loads and stores that are slow although the cache has their data.
    LoadBlocks,
    /// Accesses that took longer because they are unaligned.
    Alignment,
    /// Atomic read-modify-writes.
    Locks,
    /// Microcode that hardware starts by itself.
    Assists,
    /// Events whose cost the model leaves out.
    NotModelled,
    /// The kinds of executed operations.
    OperationMix,
    /// A subject from the user's specification.
    Other,
}
