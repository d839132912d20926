//! Metric groups: events that are counted in launches of their own to explain a category.
//!
//! The groups are called as in Arm's methodology on every CPU (Arm, *Topdown Methodology
//! Specification* 109542), and PipelineL2 and TopdownL2 as AMD and Intel call them. Each file of
//! this module holds those of one family.

pub(super) mod amd;
pub(super) mod arm;
pub(super) mod intel_atom;
pub(super) mod intel_core;
pub(super) mod intel_cove;

use std::fmt;

use super::{Counts, Event};

/// A group that is measured by itself, since the counters that level 1 leaves are too few for it.
#[derive(Debug)]
pub struct MetricGroup {
    /// The name, which no other group of its table has.
    pub name: &'static str,
    /// What it is about.
    pub subject: Subject,
    /// The nodes of the decision tree that name this group.
    pub explains: &'static [Node],
    /// The events. The first leads the group.
    pub events: &'static [Event],
    /// What is computed of their counts.
    pub metrics: &'static [Metric],
    /// A worked example, which a test recomputes.
    pub example: MetricExample,
}

/// Counts of a group, and what each of its metrics makes of them, as text.
#[derive(Debug)]
pub struct MetricExample {
    /// One count for each event.
    pub counts: &'static [u64],
    /// One value for each metric, in its unit, to the digits given.
    pub values: &'static [&'static str],
    /// The width of the pipeline that it holds for, where cores of several widths share the group.
    pub slots_per_cycle: Option<u32>,
}

impl MetricExample {
    /// For groups that came without one.
    pub const NONE: MetricExample = MetricExample::of(&[], &[]);

    pub(crate) const fn of(
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
    /// What a provenance calls the counts of this group.
    pub fn formula(&self) -> String {
        format!("group-{}/1", self.name)
    }

    /// Whether the decision tree names this group for a category or a node below it.
    pub fn is_for(&self, category: Category) -> bool {
        self.node_in(category).is_some()
    }

    /// The node of `category` that this group explains.
    pub fn node_in(&self, category: Category) -> Option<Node> {
        let mut nodes = self.explains.iter().copied();
        nodes.find(|node| node.category() == category)
    }
}

/// One number of a [`MetricGroup`].
pub struct Metric {
    /// The name, in its maker's spelling where it has one.
    pub name: &'static str,
    /// What stands behind the number: `% of slots`, `per 1000 instructions`.
    pub unit: &'static str,
    formula: MetricFormula,
}

#[derive(Clone, Copy)]
enum MetricFormula {
    /// Scale x one event over another.
    Ratio(f64, Event, Event),
    /// Anything else; in the unit of the metric.
    Other(&'static (dyn Fn(&Counts) -> f64 + Sync)),
}

impl Metric {
    /// How often an event occurs in a thousand instructions.
    pub(crate) const fn per_kilo(name: &'static str, event: Event, instructions: Event) -> Metric {
        Metric {
            name,
            unit: "per 1000 instructions",
            formula: MetricFormula::Ratio(1000.0, event, instructions),
        }
    }

    /// An event in percent of another. `unit` begins with `%`.
    pub(crate) const fn percent(
        name: &'static str,
        event: Event,
        of: Event,
        unit: &'static str,
    ) -> Metric {
        Metric {
            name,
            unit,
            formula: MetricFormula::Ratio(100.0, event, of),
        }
    }

    /// A number that `formula` gives in `unit`.
    pub const fn of(
        name: &'static str,
        unit: &'static str,
        formula: &'static (dyn Fn(&Counts) -> f64 + Sync),
    ) -> Metric {
        Metric {
            name,
            unit,
            formula: MetricFormula::Other(formula),
        }
    }

    /// The number, in its unit: signed and not clamped. `None` where nothing was counted that it
    /// could be divided by.
    pub fn value(&self, counts: &Counts) -> Option<f64> {
        let value = match self.formula {
            MetricFormula::Ratio(scale, event, per) => scale * counts[event] / counts[per],
            MetricFormula::Other(formula) => formula(counts),
        };
        value.is_finite().then_some(value)
    }
}

impl fmt::Debug for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.unit)
    }
}

/// The categories of level 1 that a program can do something about, in the order of reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    /// See [`Level1::retiring_slots`](crate::sample::Level1::retiring_slots), and so on.
    Retiring,
    /// Work that was thrown away.
    BadSpeculation,
    /// Nothing was delivered.
    FrontendBound,
    /// Nothing could be accepted.
    BackendBound,
}

impl Category {
    /// All, in the order of reports.
    pub const ALL: [Category; 4] = [
        Category::Retiring,
        Category::BadSpeculation,
        Category::FrontendBound,
        Category::BackendBound,
    ];
}

/// A node of the decision tree: a category, or a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// The category itself.
    Category(Category),
    /// Part of bad speculation.
    BranchMispredicts,
    /// Part of bad speculation.
    MachineClears,
    /// Part of frontend bound.
    FetchLatency,
    /// Part of frontend bound.
    FetchBandwidth,
    /// Part of backend bound.
    MemoryBound,
    /// Part of backend bound.
    CoreBound,
}

impl Node {
    /// The category that the node is a part of, or is.
    pub fn category(self) -> Category {
        match self {
            Node::Category(category) => category,
            Node::BranchMispredicts | Node::MachineClears => Category::BadSpeculation,
            Node::FetchLatency | Node::FetchBandwidth => Category::FrontendBound,
            Node::MemoryBound | Node::CoreBound => Category::BackendBound,
        }
    }

    /// The words of reports.
    pub fn name(self) -> &'static str {
        match self {
            Node::Category(Category::Retiring) => "retiring",
            Node::Category(Category::BadSpeculation) => "bad speculation",
            Node::Category(Category::FrontendBound) => "frontend bound",
            Node::Category(Category::BackendBound) => "backend bound",
            Node::BranchMispredicts => "branch mispredicts",
            Node::MachineClears => "machine clears",
            Node::FetchLatency => "fetch latency",
            Node::FetchBandwidth => "fetch bandwidth",
            Node::MemoryBound => "memory bound",
            Node::CoreBound => "core bound",
        }
    }
}

pub(super) const RETIRING: Node = Node::Category(Category::Retiring);
pub(super) const BAD_SPECULATION: Node = Node::Category(Category::BadSpeculation);
pub(super) const FRONTEND_BOUND: Node = Node::Category(Category::FrontendBound);
pub(super) const BACKEND_BOUND: Node = Node::Category(Category::BackendBound);

/// What a group is about: a report has one sentence of advice for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The parts of a category, as a share of all slots.
    Level2,
    /// How well branches are predicted.
    Branches,
    /// Machine clears.
    Clears,
    /// Translation of the addresses of instructions.
    InstructionTlb,
    /// The first cache of instructions.
    InstructionCache,
    /// The cache of decoded instructions.
    DecodedCache,
    /// Translation of the addresses of data.
    DataTlb,
    /// The first cache of data.
    DataCache,
    /// The second level of cache.
    L2Cache,
    /// The last level of cache, and memory behind it.
    LastLevelCache,
    /// What the cycles without progress waited for.
    Stalls,
    /// What was executed.
    OperationMix,
    /// Something that a specification of the user's describes.
    Other,
}
