//! CPUs as data: which events make up the categories on which core, and by which formula.
//!
//! Every family is a module with its tables ([`CpuTable`]): `intel_core`, `intel_cove`,
//! `intel_atom`, `amd_zen`, `arm_neoverse`. Their events and metric groups are `generated` from
//! vendors' files. [`table_for`] selects the table for a CPU. A table contains events, formulas and
//! a worked example of each formula, which a test recomputes. It is independent of the kernel:
//! `hardware` opens and reads the groups. So supporting a new CPU takes a new table and nothing
//! else.
//!
//! # Sources
//!
//! Event codes: the `.tsv` files of `crates/counters/cpus` name the file, version and date of each.
//! Intel's formulas of level 1: <https://github.com/intel/perfmon> at 6dadedf
//! (`TMA_Metrics-full.csv` 5.2, `E-core_TMA_Metrics.csv` 4). Each table adds its own sources.

mod amd_zen;
mod arm_neoverse;
mod described_core;
mod event;
mod generated;
mod intel_atom;
mod intel_core;
mod intel_cove;
#[cfg_attr(not(feature = "commands"), path = "cpu/metric_formula_left_out.rs")]
mod metric_formula;
mod metric_group;
mod metrics_correction;
mod modelled;
mod models;
mod postfix;
mod retire_latency;
mod select;
#[cfg(test)]
mod tests;

use std::fmt;

pub use described_core::DescribedCore;
pub use event::{Counter, Counts, Event};
pub use metric_group::{MAX_SAMPLE_EVENTS, Metric, MetricExample, MetricGroup, Node, Subject};
pub use metrics_correction::{
    FORMULA_LEVEL1, FORMULA_LEVEL2, MAX_CORRECTION_EVENTS, MetricsCorrection,
};
pub use modelled::{MODELLED, modelled_counts};
pub use models::{CoreType, Identity, Maker, Models, Numbers};
pub use postfix::Postfix;
pub use retire_latency::{Latency, LatencyOrigin, LatencyTable, RetireLatency};
pub use select::{LATENCIES, TABLES, arm_core_name, latencies_for, table_for};

use topdown_run::category::PerCategory;
use topdown_run::sample::Level1;

/// The largest number of events in a group of any table.
pub const MAX_EVENTS: usize = 12;

const _: () = assert!(MAX_EVENTS == topdown_run::sample::MAX_GROUP_EVENTS);

/// The description of one family of cores.
#[derive(Debug)]
pub struct CpuTable {
    /// The family, by its maker's name.
    pub name: &'static str,
    /// The CPUs that this table covers. No CPU has two tables.
    pub models: &'static [Models],
    /// The width of the pipeline; `None` if only the kernel knows it.
    pub slots_per_cycle: Option<u32>,
    /// General-purpose counters per hardware thread, with SMT on if that makes a difference.
    pub general_counters: u32,
    /// Intel's corrections of the PERF_METRICS register, if the cores have one.
    pub metrics: Option<&'static MetricsCorrection>,
    /// Sources of the numbers, in addition to those of the whole module.
    pub sources: &'static str,
    /// The forms of level 1, or the reason why it cannot be counted.
    pub level1: Level1Counting,
    /// Groups measured in separate launches to explain a category, in the order in which the
    /// decision tree names them.
    pub groups: &'static [MetricGroup],
}

/// The forms of level 1 on a family of cores, or the reason why it cannot be counted.
#[derive(Debug)]
pub enum Level1Counting {
    /// The groups that count it, best first. A machine uses the first that its counters can hold:
    /// the NMI watchdog takes some counters, and a virtual machine may hide some.
    Forms(&'static [Form]),
    /// These cores cannot split their slots in one group of counters. The sentence says what can be
    /// measured instead.
    Unsupported(&'static str),
}

impl CpuTable {
    /// Returns the forms of level 1, best first, or none if it cannot be counted.
    pub fn forms(&self) -> &'static [Form] {
        match self.level1 {
            Level1Counting::Forms(forms) => forms,
            Level1Counting::Unsupported(_) => &[],
        }
    }

    /// Returns the group with this name.
    pub fn group(&self, name: &str) -> Option<&'static MetricGroup> {
        self.groups.iter().find(|group| group.name == name)
    }

    /// Returns how many general-purpose counters a group of `events` needs, and how many it can
    /// have.
    ///
    /// The NMI watchdog counts cycles: on their fixed counter, so that a group with cycles needs a
    /// general one, or on a general counter if there is no fixed one.
    pub fn general_counters_for(&self, events: &[Event], nmi_watchdog: bool) -> GeneralCounters {
        let on = |events: &[Event], counter| {
            events.iter().filter(|e| e.counter == counter).count() as u32
        };
        let watchdog = u32::from(nmi_watchdog);
        let has_fixed_cycles = self
            .forms()
            .iter()
            .any(|form| on(form.events, Counter::FixedCycles) > 0);
        GeneralCounters {
            needed: on(events, Counter::General) + on(events, Counter::FixedCycles) * watchdog,
            available: if has_fixed_cycles {
                self.general_counters
            } else {
                self.general_counters - watchdog
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

/// The general-purpose counters that a group needs and can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GeneralCounters {
    /// Counters the group needs.
    pub needed: u32,
    /// Counters available to it.
    pub available: u32,
}

impl GeneralCounters {
    /// Returns whether the group can run.
    pub fn is_enough(self) -> bool {
        self.needed <= self.available
    }
}

/// Turns counts into categories.
pub type Formula = dyn Fn(&Counts) -> Split + Sync;

/// One group of events and the formula that turns its counts into categories.
pub struct Form {
    /// The formula's `name/version`. Runs of different formulas are never compared, so changing the
    /// formula means a new version. Forms that compute the same numbers from other counters share
    /// it.
    pub formula: &'static str,
    /// The events. The first one is the leader.
    pub events: &'static [Event],
    /// The event that counts unhalted core cycles, if the group has one.
    pub cycles: Option<Event>,
    /// The event that counts retired instructions, if the group has one.
    pub instructions: Option<Event>,
    /// Turns counts into slots, without clamping: a mean of clamped values is biased.
    pub split: &'static Formula,
    /// A worked example, which a test recomputes.
    pub example: Example,
}

/// The slots of a window by category.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Split {
    /// All slots of the window.
    pub slots: f64,
    /// By category.
    pub level1: Level1,
    /// In more detail, if the group provides it.
    pub level2: Option<PerCategory<f64>>,
}

/// Counts and the percentages that the formula computes from them, as text: a test recomputes them
/// to the digits given.
#[derive(Debug)]
pub struct Example {
    /// One count per event of the group.
    pub counts: &'static [u64],
    /// The categories.
    pub level1_percent: PerCategory<&'static str>,
    /// The fifth category, if there is one.
    pub smt_contention_percent: Option<&'static str>,
    /// Each category's measured part.
    pub level2_percent: Option<PerCategory<&'static str>>,
}
