//! CPUs as data: which events make up the categories on which core, and by which formula.
//!
//! Every family has a [`CpuTable`] in one of the modules `intel_core`, `intel_cove`, `intel_atom`,
//! `amd_zen` and `arm_neoverse`; [`table_for`] picks the one of a CPU. A table knows events,
//! formulas and a worked example of each formula, which a test recomputes. It knows nothing of the
//! kernel: how a group is opened and read is the business of `counter`. So a new CPU is a new table
//! and nothing else.
//!
//! # Sources
//!
//! Event codes and Intel's formulas: the files of <https://github.com/intel/perfmon> at 6dadedf
//! (`mapfile.csv`, `<FAMILY>/events/*_core.json`, `TMA_Metrics-full.csv` 5.2,
//! `E-core_TMA_Metrics.csv` 4). Each table adds what is its own.

mod amd_zen;
mod arm_neoverse;
mod described_core;
mod event;
mod intel_atom;
mod intel_core;
mod intel_cove;
mod intel_metrics;
mod metric_group;
mod modelled;
mod postfix;
mod select;
#[cfg(test)]
mod tests;

use std::fmt;

pub use described_core::DescribedCore;
pub use event::{Counter, Counts, Event};
pub use intel_metrics::{MAX_CORRECTION_EVENTS, MetricsCorrection};
pub use metric_group::{Category, Metric, MetricExample, MetricGroup, Node, Subject};
pub use modelled::{MODELLED, modelled_counts};
pub use postfix::Postfix;
pub use select::{CoreType, Identity, Maker, Models, Numbers, TABLES, table_for};

use crate::sample::{Level1, Level2};

/// The most events that a group of any table has.
pub const MAX_EVENTS: usize = 12;

const _: () = assert!(MAX_EVENTS == crate::sample::MAX_GROUP_EVENTS);

/// How one family of cores tells where its issue slots went.
#[derive(Debug)]
pub struct CpuTable {
    /// The family, as its maker calls it.
    pub name: &'static str,
    /// The CPUs that this table is for. No CPU has two tables.
    pub models: &'static [Models],
    /// The width of the pipeline; `None` where only the kernel knows it.
    pub slots_per_cycle: Option<u32>,
    /// General-purpose counters per hardware thread, with SMT on where that makes a difference.
    pub general_counters: u32,
    /// How Intel's own metrics correct the PERF_METRICS register, where the cores have one.
    pub metrics: Option<&'static MetricsCorrection>,
    /// Where the numbers are from, beside the sources of the whole module.
    pub sources: &'static str,
    /// How level 1 is counted, or why it cannot be.
    pub level1: Level1Counting,
    /// Groups that are measured in launches of their own to explain a category, in the order in
    /// which the decision tree names them.
    pub groups: &'static [MetricGroup],
}

/// How level 1 is counted on a family of cores, or why it cannot be.
#[derive(Debug)]
pub enum Level1Counting {
    /// The groups that do it, best first. A machine uses the first that its counters can hold: some
    /// counters are taken by the NMI watchdog, or hidden from a virtual machine.
    Forms(&'static [Form]),
    /// These cores cannot split their slots in one group of counters. A sentence for people, which
    /// says what can be measured instead.
    Unsupported(&'static str),
}

impl CpuTable {
    /// The ways in which level 1 can be counted, best first; none where it cannot be.
    pub fn forms(&self) -> &'static [Form] {
        match self.level1 {
            Level1Counting::Forms(forms) => forms,
            Level1Counting::Unsupported(_) => &[],
        }
    }

    /// The group of this name.
    pub fn group(&self, name: &str) -> Option<&'static MetricGroup> {
        self.groups.iter().find(|group| group.name == name)
    }

    /// How many general-purpose counters a group of `events` needs, and how many it can have.
    ///
    /// The NMI watchdog counts cycles: on the fixed counter for them, so that a group with cycles
    /// needs a general one, or on a general counter where there is no fixed one.
    pub fn general_counters_for(&self, events: &[Event], nmi_watchdog: bool) -> CounterBudget {
        let on = |events: &[Event], counter| {
            events.iter().filter(|e| e.counter == counter).count() as u32
        };
        let watchdog = u32::from(nmi_watchdog);
        let has_fixed_cycles = self
            .forms()
            .iter()
            .any(|form| on(form.events, Counter::FixedCycles) > 0);
        CounterBudget {
            needed: on(events, Counter::General) + on(events, Counter::FixedCycles) * watchdog,
            available: match has_fixed_cycles {
                true => self.general_counters,
                false => self.general_counters - watchdog,
            },
        }
    }
}

impl fmt::Debug for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Form")
            .field("formula", &self.formula)
            .field("events", &self.events)
            .finish_non_exhaustive()
    }
}

/// General-purpose counters that a group needs and can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterBudget {
    /// How many the group needs.
    pub needed: u32,
    /// How many there are for it.
    pub available: u32,
}

impl CounterBudget {
    /// Whether the group can run.
    pub fn is_enough(self) -> bool {
        self.needed <= self.available
    }
}

/// Makes categories of counts.
pub type Formula = dyn Fn(&Counts) -> Split + Sync;

/// One group of events and the formula that makes categories of its counts.
pub struct Form {
    /// Which formula, as `name/version`. Runs of different formulas are never compared, so a change
    /// of the formula is a new version. Forms that compute the same numbers from other counters
    /// share it.
    pub formula: &'static str,
    /// The group. The first event leads it.
    pub events: &'static [Event],
    /// The event that counts unhalted core cycles, if the group has one.
    pub cycles: Option<Event>,
    /// The event that counts retired instructions, if the group has one.
    pub instructions: Option<Event>,
    /// The formula. Counts in, slots out; no category is clamped, since a mean of clamped values is
    /// biased.
    pub split: &'static Formula,
    /// A worked example, which a test recomputes.
    pub example: Example,
}

/// Where the slots of a window went.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Split {
    /// All slots of the window.
    pub slots: f64,
    /// By category.
    pub level1: Level1,
    /// In more detail, where the group tells.
    pub level2: Option<Level2>,
}

/// Counts and the percentages that the formula makes of them, as text: a test recomputes them to
/// the digits given.
#[derive(Debug)]
pub struct Example {
    /// One count for each event of the group.
    pub counts: &'static [u64],
    /// Retiring, bad speculation, frontend bound, backend bound.
    pub level1_percent: [&'static str; 4],
    /// The fifth category, where there is one.
    pub smt_contention_percent: Option<&'static str>,
    /// Heavy operations, branch mispredict, fetch latency, memory bound.
    pub level2_percent: Option<[&'static str; 4]>,
}
