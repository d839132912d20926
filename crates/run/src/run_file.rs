//! Runs on disk: what a run is, and how it is stored and read back.
//!
//! A run is two files in one directory: `run.json` with everything that a comparison needs, and
//! `samples-ID.jsonl`, named in `run.json`, with every raw sample. The samples are written first
//! and `run.json` is renamed into place last, so a reader sees either the complete run or the
//! previous one. `docs/run-file.md` describes both files for other programs.

mod call_paths;
mod cold;
mod fingerprint;
mod functions;
mod selection;
mod series;
#[cfg(feature = "files")]
mod stored;

pub use crate::record::{COMPLETION_PENDING, COMPLETION_WRITTEN, Record, SCHEMA_VERSION};
pub use call_paths::{CallPath, CallPaths, CalledFunction, SourceLine};
pub use cold::Cold;
pub use fingerprint::{Fingerprint, FunctionFingerprint, Hash};
pub use functions::{Function, Functions, OtherFunctions};
pub use selection::{Expression, Filter, LeftOut, Selection, TargetId, Unchanged};
pub use series::{IterationSample, LaunchValue, Series, SlotsValue, TimeValue};
#[cfg(feature = "files")]
pub use stored::*;

use serde::{Deserialize, Serialize};

use crate::machine::Machine;

/// The package and bench target under which commands are stored.
pub const COMMANDS: (&str, &str) = ("exec", "command");

/// All launches of one invocation of `cargo topdown bench`.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Unique; also part of the samples file's name. Letters, digits, `-`.
    pub id: String,
    /// When the run began, RFC 3339 in UTC.
    pub started_at: String,
    /// The version of the program that took the run.
    pub tool_version: String,
    /// Where it was taken.
    pub machine: Machine,
    /// What was built.
    pub build: Build,
    /// How it was launched.
    pub launch_settings: LaunchSettings,
    /// Mean number of other threads that were ready to run when benches were launched, if known.
    pub competing_threads: Option<f64>,
    /// The part of the suite that this is, if several machines share one.
    pub shard: Option<Shard>,
    /// The requested part of the suite.
    pub selection: Selection,
    /// What failed in it, as `package::target` or `package::target::name`. The run is then
    /// incomplete.
    pub failed: Vec<String>,
    /// In order of first appearance; ids are unique.
    pub benchmarks: Vec<Benchmark>,
}

impl Run {
    /// Names the class of runs with which this one can be compared: the machine's
    /// [`key`](Machine::key), or the [`modelled_key`](Machine::modelled_key) if every benchmark was
    /// modelled, all on one core.
    pub fn key(&self) -> String {
        let mut cores = self.benchmarks.iter().map(|benchmark| {
            let modelled = benchmark.provenance().modelled_core();
            modelled.map(|(core, _)| core)
        });
        match cores.next() {
            Some(Some(core)) if cores.all(|other| other == Some(core)) => {
                self.machine.modelled_key(core)
            }
            _ => self.machine.key(),
        }
    }
}

/// Other work on the machine.
impl Run {
    /// Returns how many times as long a launch may take because it shares the CPUs with
    /// [`competing_threads`](Run::competing_threads); 1 if they leave it one, or are not known.
    pub fn load_factor(&self) -> f64 {
        let threads = self.competing_threads.unwrap_or(0.0) + 1.0;
        (threads / f64::from(self.machine.cpus.max(1))).max(1.0)
    }
}

/// Machines with several kinds of cores.
impl Run {
    /// Returns the PMU whose counters measured, if the machine has several kinds of cores.
    pub fn core_type(&self) -> Option<&str> {
        let mut benchmarks = self.benchmarks.iter();
        benchmarks.find_map(|benchmark| benchmark.provenance().core_type.as_deref())
    }
}

/// How the measured executables were built.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// The first line of `rustc --version`.
    pub rustc: String,
    /// The cargo profile.
    pub profile: String,
    /// The target triple.
    pub target: String,
    /// Whether all benches have debug information, and so the names of inlined functions; absent if
    /// unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub debug_information: Option<bool>,
    /// `RUSTFLAGS` from the environment; empty if not set.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rustflags: String,
    /// The checked-out commit; absent outside git.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git_commit: Option<String>,
    /// Whether the working tree differed from that commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git_dirty: Option<bool>,
}

/// Number and length of every benchmark's launches. If packages have their own settings, these are
/// the workspace's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LaunchSettings {
    /// Processes per bench target.
    pub launches: u32,
    /// Samples per launch, unless the benchmark's own code sets another number.
    pub sample_size: u32,
    /// Warm-up per benchmark and launch.
    pub warm_up_ms: u64,
    /// Planned measurement time per benchmark and launch.
    pub measurement_ms: u64,
}

/// The largest number of parts of a suite, since readers list them. Judgement: no suite has as many
/// machines.
pub const MAX_SHARDS: u32 = 1000;

/// One part of a suite shared by several machines of one class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Shard {
    /// The number of the part, from 1 to `of`.
    pub number: u32,
    /// Number of parts; at most 1000.
    pub of: u32,
    /// Number of benchmarks in the part, including those that failed.
    pub benchmarks: usize,
    /// Identifies the suite: parts of one suite that was divided in the same way have the same
    /// value.
    pub suite: String,
}

impl std::fmt::Display for Shard {
    /// Formats as `2/4`, like the command line.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

/// Identifies a benchmark: criterion's own id is unique only within a bench target.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BenchmarkId {
    /// The cargo package.
    pub package: String,
    /// The bench target.
    pub target: String,
    /// criterion's full id: `group/function/value`.
    pub name: String,
}

impl std::fmt::Display for BenchmarkId {
    /// Formats as `package::target::name`, which is unique in a run.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}::{}::{}", self.package, self.target, self.name)
    }
}

/// One benchmark: its times and its slots, each as its launches measured them.
#[derive(Clone, Debug, PartialEq)]
pub struct Benchmark {
    /// Its id.
    pub id: BenchmarkId,
    /// What one iteration processes, from criterion's `Throughput`; for display.
    pub throughput: Option<Throughput>,
    /// Its wall-clock times.
    pub times: Series<TimeValue>,
    /// Its slots, where they were measured: in the launches of the times, or in others on the
    /// model.
    pub slots: Option<Series<SlotsValue>>,
    /// Its slots in each order in which its threads were modelled, if there are several: the number
    /// of a launch is that of its schedule. The first is that of `slots`.
    pub schedules: Option<Series<SlotsValue>>,
    /// The functions to which its slots went, if the source knows them.
    pub functions: Option<Box<Functions>>,
    /// The calls that led there, if they were followed.
    pub call_paths: Option<CallPaths>,
    /// What an iteration executed, if it was traced and is the same in every launch.
    pub fingerprint: Option<Fingerprint>,
    /// How its modelled launches differ, for people; `None` if they do not.
    pub launches_differ: Option<String>,
    /// What its first iterations cost on the model, if they are not what counts.
    pub cold: Option<Box<Cold>>,
}

/// What one iteration processes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Throughput {
    /// The amount.
    pub per_iteration: u64,
    /// The unit: `bytes`, `elements`, `bits`.
    pub unit: String,
}
