//! What a machine offers to the hardware source, as data: for `cargo topdown doctor`.
//!
//! Says what is there and what stands in the way. Printing it is the program's business.

use crate::error::OpenError;
use crate::provenance::Provenance;

/// A machine's performance counters, its settings, and what came of trying to use them.
#[derive(Debug)]
pub struct Survey {
    /// The core PMUs: `cpu`, or the `cpu_*` of a hybrid machine. Empty where there is none.
    pub pmus: Vec<Pmu>,
    /// Vendor, family, model and name of the CPU.
    pub cpu: String,
    /// `kernel.perf_event_paranoid`; 2 or lower lets a user count his own code.
    pub perf_event_paranoid: Option<i32>,
    /// `kernel.nmi_watchdog`: on, it occupies one counter of every CPU.
    pub nmi_watchdog: Option<bool>,
    /// Whether hardware threads share cores.
    pub smt_active: Option<bool>,
    /// Whether CPUID reports a hypervisor.
    pub hypervisor: bool,
    /// What stands in the way or spoils results, most important first.
    pub obstacles: Vec<Obstacle>,
    /// What opening the hardware source on this thread gave.
    pub opened: Result<Provenance, OpenError>,
}

/// A core PMU as sysfs describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pmu {
    /// The directory's name: `cpu`, `cpu_core`, `cpu_atom`.
    pub name: String,
    /// The CPUs that it counts, as a list such as `0-7`; absent where it counts all.
    pub cpus: Option<String>,
    /// `rdpmc`: 0 never, 1 while an event is mapped, 2 always.
    pub rdpmc: Option<u32>,
    /// The names of its events in sysfs, sorted. Scale and unit files are left out.
    pub events: Vec<String>,
    /// What its TopDown events are.
    pub topdown: TopdownEvents,
}

/// Which kind of TopDown events a PMU has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopdownEvents {
    /// None.
    Missing,
    /// Events for general counters, as on efficiency cores and on Intel CPUs before Ice Lake.
    Plain,
    /// The slots counter and PERF_METRICS with the four categories of level 1.
    MetricsLevel1,
    /// The slots counter and PERF_METRICS with both levels.
    MetricsLevel2,
}

impl TopdownEvents {
    /// Whether there is PERF_METRICS.
    pub fn is_metrics(self) -> bool {
        matches!(
            self,
            TopdownEvents::MetricsLevel1 | TopdownEvents::MetricsLevel2
        )
    }
}

/// Something that stands in the way of good counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// Whether it prevents counting or only makes it worse.
    pub severity: Severity,
    /// What it is, with the value that was found.
    pub what: String,
    /// What removes it: a command, or advice where no command does.
    pub remedy: Option<String>,
}

/// What an [`Obstacle`] does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Nothing can be counted.
    Prevents,
    /// Counts are dearer or noisier than they could be.
    Degrades,
}
