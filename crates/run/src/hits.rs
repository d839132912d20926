//! Slots by code address, from PMU samples.
//!
//! A *hit* is an interrupt of the counter of cycles. It tells the address that the CPU had reached,
//! and the counts so far; what was counted since the previous hit goes to that address. Where all
//! events can interrupt, each has a period of its own as well: code that runs for less than a
//! period at a time has its own share of each event's interrupts, while the counts between two hits
//! are also those of what ran before it. Like [`code`](crate::code), this module knows files and
//! offsets, and the program knows their names.

use serde::{Deserialize, Serialize};

use crate::category::PerCategory;

/// Fewer hits say nothing: the share of a function that has half of the slots is then known to 10
/// points.
pub const MIN_HITS: u64 = 100;

/// Cycles between two hits. A prime number, so that hits do not keep step with a loop.
pub const DEFAULT_PERIOD_CYCLES: u64 = 20_011;

/// Where in the code the slots of a benchmark's samples went, in one launch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CodeHits {
    /// The modules, as in [`CodeSlots::modules`](crate::code::CodeSlots::modules).
    pub modules: Vec<String>,
    /// The addresses that were hit, in ascending order, and for each those that were hit before.
    pub places: Vec<HitPlace>,
    /// What the events counted there by periods of their own, if they have such.
    pub own: Option<OwnHits>,
    /// How they were found.
    pub sampled: Sampled,
}

/// The counts of the events of a group, each by its own interrupts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OwnHits {
    /// The names of the events, as the form of the provenance's formula has
    /// them.
    pub events: Vec<String>,
    /// After how many counts each interrupts, at the end; 0 for an event whose counts
    /// are those from one hit to the next.
    pub periods: Vec<u64>,
    /// The addresses that were hit, in ascending order.
    pub places: Vec<OwnPlace>,
}

/// An address at which events interrupted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OwnPlace {
    /// As in [`HitPlace`].
    pub module: u32,
    /// As in [`HitPlace`].
    pub offset: u64,
    /// How often events interrupted that have a period of their own.
    pub hits: u64,
    /// What each event counted: the sum of the periods that ended here.
    pub counts: Vec<u64>,
}

/// An address that was hit after another one, and what the counters counted in between.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HitPlace {
    /// Index of the module it was loaded from.
    pub module: u32,
    /// Its offset in the module's file, or the address if the module is not a file.
    pub offset: u64,
    /// Module and offset of the hit before; `None` if it is unknown.
    pub after: Option<(u32, u64)>,
    /// How often that happened.
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

/// What interrupts, and what an interrupt tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum HitEngine {
    /// The counter of cycles, which tells the counts of the group so far.
    #[default]
    Counters,
    /// The counter of cycles, which tells PERF_METRICS so far.
    Metrics,
    /// As `counters`, and each event of the group by a period of its own.
    OwnPeriods,
}

/// How often code was hit, and what disturbed that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Sampled {
    /// What interrupted.
    pub engine: HitEngine,
    /// Cycles between two hits at the end. More than at the beginning if the kernel could not take
    /// as many.
    pub period_cycles: u64,
    /// Hits in the samples that count.
    pub hits: u64,
    /// The number of hits with equal slots that tell as much about shares.
    pub effective_hits: u64,
    /// Hits for which the kernel's buffer had no room. Samples with such are left out.
    pub lost: u64,
    /// How often the kernel paused, because there were too many interrupts. Samples with pauses are
    /// left out.
    pub throttled: u64,
}
