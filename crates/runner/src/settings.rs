//! Settings of the launches of bench targets.

use std::collections::HashMap;
use std::time::Duration;

use cargo_metadata::PackageId;
use serde::{Deserialize, Serialize};
use topdown_gate::pattern::Pattern;
use topdown_run::setting::{Counters, ModelCore, Sampling, SourceChoice, Threads};

/// Judgement: a run is kept in memory, and launches beyond a hundred add next to nothing.
pub const MAX_LAUNCHES: u32 = 10_000;

/// Judgement: what a hundred orders do not show, hardly any does.
pub const MAX_SCHEDULES: u32 = 100;

/// How one bench target is measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Processes; 1 to [`MAX_LAUNCHES`].
    pub launches: u32,
    /// Samples per benchmark and launch; 10 to 100,000.
    pub sample_size: u32,
    /// Warm-up per benchmark and launch.
    pub warm_up_time: Duration,
    /// Planned measurement time per benchmark and launch.
    pub measurement_time: Duration,
    /// Where the numbers come from.
    pub source: SourceChoice,
    /// Time for which a launch models a benchmark, at a fixed number of instructions per second.
    pub model_budget: Duration,
    /// Which core is modelled.
    pub model_core: ModelCore,
    /// Which hardware counters.
    pub counters: Counters,
    /// Threads whose slots are counted.
    pub threads: Threads,
    /// In how many orders of their threads benchmarks are modelled; 1 to [`MAX_SCHEDULES`].
    #[serde(default = "one")]
    pub schedules: u32,
    /// Whether lines that another thread wrote last come from its modelled core.
    #[serde(default)]
    pub shared_lines: bool,
    /// Iterations of the samples.
    #[serde(default)]
    pub sampling: Sampling,
    /// Time limit of a launch; if absent, the first launch of the target decides.
    #[serde(default)]
    pub launch_timeout: Option<Duration>,
    /// Whether to trace what the benchmarks execute, in a launch of its own.
    #[serde(default)]
    pub fingerprints: bool,
    /// Whether modelled launches follow calls.
    #[serde(default)]
    pub paths: bool,
    /// Whether launches find slots by instruction: modelled ones exactly, counted ones by samples.
    #[serde(default)]
    pub instructions: bool,
    /// Whether modelled launches count allocations.
    #[serde(default = "yes")]
    pub allocations: bool,
}

/// The default of records without the setting.
fn yes() -> bool {
    true
}

/// As [`yes`].
fn one() -> u32 {
    1
}

impl Default for Settings {
    /// 10 launches of 20 samples: launches decide more than samples. At 0.25 s criterion's linear
    /// sampling makes the first of 20 samples about 1 ms long.
    fn default() -> Settings {
        Settings {
            launches: 10,
            sample_size: 20,
            warm_up_time: Duration::from_millis(100),
            measurement_time: Duration::from_millis(250),
            source: SourceChoice::Auto,
            model_budget: Duration::from_secs(2),
            model_core: ModelCore::Nearest,
            counters: Counters::Auto,
            threads: Threads::Auto,
            schedules: 1,
            shared_lines: false,
            sampling: Sampling::Planned,
            launch_timeout: None,
            fingerprints: true,
            paths: false,
            instructions: false,
            allocations: true,
        }
    }
}

/// The settings of all packages of a workspace.
#[derive(Debug)]
pub struct WorkspaceSettings {
    /// The settings of packages without a table of their own.
    pub workspace: Settings,
    /// Patterns of what not to launch. Those of all manifests add up; a flag or the environment
    /// variable replaces them.
    pub leave_out: Vec<Pattern>,
    /// Environment variables that the benches of all packages inherit, in addition to the built-in
    /// list.
    pub keep_env: Vec<String>,
    /// The same for the benches of one package.
    pub keep_env_of_packages: HashMap<PackageId, Vec<String>>,
    /// Settings of packages with a table of their own.
    pub packages: HashMap<PackageId, Settings>,
}

impl WorkspaceSettings {
    /// Returns the settings of one package.
    pub fn of_package(&self, id: &PackageId) -> Settings {
        self.packages.get(id).copied().unwrap_or(self.workspace)
    }

    /// Returns the environment variables that the benches of one package inherit, in addition to
    /// the built-in list.
    pub fn keep_env_of(&self, id: &PackageId) -> Vec<String> {
        let own = self.keep_env_of_packages.get(id).into_iter().flatten();
        self.keep_env.iter().chain(own).cloned().collect()
    }
}
