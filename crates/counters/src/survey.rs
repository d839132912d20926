//! Survey of a machine for the hardware source, as data for `cargo topdown doctor`.
//!
//! This module collects features and obstacles; the program prints them.

use crate::error::OpenError;
use topdown_run::provenance::Provenance;

/// A machine's performance counters, its settings, and the result of opening them.
#[derive(Debug)]
pub struct Survey {
    /// The core PMUs: `cpu`, or the `cpu_*` of a hybrid machine. Empty if there is none.
    pub pmus: Vec<Pmu>,
    /// Vendor, family, model and name of the CPU.
    pub cpu: String,
    /// `kernel.perf_event_paranoid`; 2 or lower lets users count their own code.
    pub perf_event_paranoid: Option<i32>,
    /// `kernel.nmi_watchdog`: if on, it may hold one counter of every CPU.
    pub nmi_watchdog: Option<bool>,
    /// Whether hardware threads share cores.
    pub smt_active: Option<bool>,
    /// Whether CPUID reports a hypervisor.
    pub hypervisor: bool,
    /// What prevents counting or degrades results, most important first.
    pub obstacles: Vec<Obstacle>,
    /// The result of opening the hardware source on this thread.
    pub opened: Result<Provenance, OpenError>,
}

/// A core PMU as sysfs describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pmu {
    /// The directory's name: `cpu`, `cpu_core`, `cpu_atom`.
    pub name: String,
    /// The CPUs that it counts, as a list such as `0-7`; absent if it counts all.
    pub cpus: Option<String>,
    /// `rdpmc`: 0 never, 1 while an event is mapped, 2 always.
    pub rdpmc: Option<u32>,
    /// The names of its events in sysfs, sorted. Scale and unit files are left out.
    pub events: Vec<String>,
    /// The kind of its TopDown events.
    pub topdown: TopdownEvents,
}

/// The kind of a PMU's TopDown events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopdownEvents {
    /// None.
    Missing,
    /// Events for general counters, as on efficiency cores, on Intel CPUs before Ice Lake, and on
    /// Arm.
    Plain,
    /// The slots counter and PERF_METRICS with the four categories of level 1.
    MetricsLevel1,
    /// The slots counter and PERF_METRICS with both levels.
    MetricsLevel2,
}

impl TopdownEvents {
    /// Returns whether the PMU has PERF_METRICS.
    pub fn is_metrics(self) -> bool {
        matches!(
            self,
            TopdownEvents::MetricsLevel1 | TopdownEvents::MetricsLevel2
        )
    }
}

/// Something that prevents good counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// Whether it prevents counting or only degrades it.
    pub severity: Severity,
    /// Describes it, with the value found.
    pub what: String,
    /// What removes it: a command, or advice if there is none.
    pub remedy: Option<String>,
}

/// The effect of an [`Obstacle`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Nothing can be counted.
    Prevents,
    /// Counts are costlier or noisier than they could be.
    Degrades,
}
