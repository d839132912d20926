//! Slots by code address, from PMU samples.
//!
//! A *PMU sample* is recorded by an interrupt of the counter of cycles. It has the address that the
//! CPU had reached, and the counts so far; what was counted since the previous PMU sample goes to
//! that address. Where all events can interrupt, each has a period of its own as well: code that
//! runs for less than a period at a time has its own share of each event's interrupts, while the
//! counts between two PMU samples are also those of what ran before it. Like [`code`](crate::code),
//! this module knows files and offsets, and the program knows their names.

use serde::{Deserialize, Serialize};

use crate::category::PerCategory;

/// Fewer PMU samples say nothing: the share of a function that has half of the slots is then known
/// to 10 points.
pub const MIN_PMU_SAMPLES: u64 = 100;

/// Cycles between two PMU samples. A prime number, so that PMU samples do not keep step with a
/// loop.
pub const DEFAULT_PERIOD_CYCLES: u64 = 20_011;

/// Slots of a benchmark's samples by code address, in one launch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CodeSamples {
    /// The modules, as in [`CodeSlots::modules`](crate::code::CodeSlots::modules).
    pub modules: Vec<String>,
    /// The addresses of PMU samples, in ascending order, each with that of the one before.
    pub places: Vec<SampledAddress>,
    /// Counts by events with periods of their own, if any.
    pub own: Option<EventSamples>,
    /// How they were found.
    pub sampled: Sampled,
}

/// The counts of the events of a group, each by its own interrupts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EventSamples {
    /// The names of the events, as the form of the provenance's formula has them.
    pub events: Vec<String>,
    /// The number of counts after which each interrupts, at the end; 0 for an event whose counts
    /// are those from one PMU sample to the next.
    pub periods: Vec<u64>,
    /// The addresses of PMU samples, in ascending order.
    pub places: Vec<EventAddress>,
}

/// An address at which events interrupted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EventAddress {
    /// As in [`SampledAddress`].
    pub module: u32,
    /// As in [`SampledAddress`].
    pub offset: u64,
    /// Number of interrupts of events with a period of their own.
    pub hits: u64,
    /// What each event counted: the sum of the periods that ended here.
    pub counts: Vec<u64>,
}

/// The address of a PMU sample, that of the one before, and the counts in between.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampledAddress {
    /// Index of the module it was loaded from.
    pub module: u32,
    /// Its offset in the module's file, or the address if the module is not a file.
    pub offset: u64,
    /// Module and offset of the PMU sample before; `None` if it is unknown.
    pub after: Option<(u32, u64)>,
    /// Number of occurrences.
    pub hits: u64,
    /// Retired instructions; 0 if they are not counted.
    pub instructions: u64,
    /// Slots, without those that the other hardware thread used.
    pub slots: u64,
    /// Slots by category, not clamped.
    pub level1_slots: PerCategory<f64>,
    /// The slots of each category's [measured part](crate::category::Category::measured_part); 0 if
    /// these are not counted.
    pub level2_slots: PerCategory<f64>,
}

/// The interrupting events, and the content of an interrupt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SamplingEngine {
    /// The counter of cycles, which carries the counts of the group so far.
    #[default]
    Counters,
    /// The counter of cycles, which carries PERF_METRICS so far.
    Metrics,
    /// As `counters`, and each event of the group by a period of its own.
    OwnPeriods,
}

/// Numbers of PMU samples, and disturbances.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Sampled {
    /// The interrupting events.
    pub engine: SamplingEngine,
    /// Cycles between two PMU samples at the end. More than at the beginning if the kernel could
    /// not take as many.
    pub period_cycles: u64,
    /// PMU samples in the benchmark samples that count.
    pub hits: u64,
    /// The number of PMU samples with equal slots that determine shares as well.
    pub effective_hits: u64,
    /// PMU samples for which the kernel's buffer had no room. Benchmark samples that lack some are
    /// left out.
    pub lost: u64,
    /// Number of pauses of the kernel after too many interrupts. Benchmark samples with pauses are
    /// left out.
    pub throttled: u64,
}
