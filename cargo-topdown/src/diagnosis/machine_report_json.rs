//! The file of `cargo topdown doctor --report`.

use std::collections::BTreeMap;

use serde::Serialize;
use topdown_run::category::PerCategory;
use topdown_run::machine::Machine;
use topdown_run::provenance::Provenance;

/// The version of this format.
pub const MACHINE_REPORT_SCHEMA_VERSION: u32 = 1;

/// What proves a CPU's table on this machine: `cargo topdown doctor --report`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MachineReport {
    /// The version of this format.
    #[cfg_attr(test, schemars(extend("const" = MACHINE_REPORT_SCHEMA_VERSION)))]
    pub schema_version: u32,
    /// The version of cargo-topdown.
    pub program: String,
    /// The machine, without its name.
    pub machine: Machine,
    /// Whose cloud, virtual machine or container it is; absent on ordinary hardware.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// Whether it is a virtual machine, as far as can be seen.
    pub is_virtual: bool,
    /// The CPU in words.
    pub cpu: String,
    /// The table of events that is used; absent if there is none for this CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// `MIDR_EL1` of each kind of core; empty except on Arm.
    pub cores: Vec<String>,
    /// Settings of the kernel that concern counters, without the prefix `kernel.`.
    pub settings: BTreeMap<String, String>,
    /// The PMUs that count cores.
    pub pmus: Vec<ReportedPmu>,
    /// What prevents or degrades the use of the counters.
    pub obstacles: Vec<Obstacle>,
    /// Why `cargo topdown exec` cannot count commands; absent if it can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commands: Option<String>,
    /// The categories, by each kind of counters that this CPU has.
    pub categories: Vec<Attempt>,
    /// The metric groups of the table.
    pub groups: Vec<Attempt>,
}

/// A PMU.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReportedPmu {
    /// Its name in sysfs.
    pub name: String,
    /// What the files of its directory say, `caps/…`, `events/…` and `format/…` included.
    pub files: BTreeMap<String, String>,
}

/// An obstacle for the counters.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Obstacle {
    /// `prevents`, or `degrades` if counting is still possible.
    pub severity: &'static str,
    /// What it is, for people.
    pub what: String,
}

/// Result of opening counters.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Attempt {
    /// The kind of counters, or the metric group.
    pub counters: String,
    /// What they measure; absent if they were refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
    /// Why they were refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// Loops with one known bottleneck each; none if the counters were refused.
    pub loops: Vec<Loop>,
}

/// A loop, and what the counters say about it.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Loop {
    /// The category that should stand out, and the loop's name.
    pub name: &'static str,
    /// The time of its window in nanoseconds.
    pub wall_ns: u64,
    /// The slots of its window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slots: Option<u64>,
    /// Retired instructions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<u64>,
    /// Cycles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycles: Option<u64>,
    /// The categories.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level1: Option<Shares>,
    /// SMT contention as a fraction of the slots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smt_contention: Option<f64>,
    /// The measured part of each category, where the register or the formula has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level2: Option<Shares>,
    /// No category is off by more than this fraction of the slots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolution: Option<f64>,
    /// Doubts about the window.
    pub flags: Vec<&'static str>,
    /// The counts of a metric group in the window, by event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<BTreeMap<String, u64>>,
    /// Another pass of the loop by `read()` before and after: events of the group and their counts.
    pub counts: BTreeMap<String, u64>,
}

/// Fractions of the slots. They may fall below 0 by the resolution.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Shares {
    /// Retiring; its part of level 2 is heavy operations.
    pub retiring: f64,
    /// Bad speculation; its part of level 2 is branch mispredicts.
    pub bad_speculation: f64,
    /// Frontend bound; its part of level 2 is fetch latency.
    pub frontend_bound: f64,
    /// Backend bound; its part of level 2 is memory bound.
    pub backend_bound: f64,
}

impl Shares {
    /// Divides the slots of the categories by all slots, of which there are some.
    pub fn new(categories: PerCategory<f64>, slots: u64) -> Shares {
        let share = |part: f64| part / slots as f64;
        Shares {
            retiring: share(categories.retiring),
            bad_speculation: share(categories.bad_speculation),
            frontend_bound: share(categories.frontend_bound),
            backend_bound: share(categories.backend_bound),
        }
    }
}
