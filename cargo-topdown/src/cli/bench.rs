//! The command line of `bench`: the flags of `cargo bench`, and our own.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use super::{ComparisonArgs, OutputArgs, PolicyArgs, StoreArgs};
use crate::baseline_store::BaselineName;
use crate::shard::ShardNumber;

/// `cargo topdown bench`: the flags of `cargo bench`, and our own.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// What is launched
    #[command(flatten)]
    pub launch: LaunchArgs,

    /// Keep the run as baseline NAME
    #[arg(long, visible_alias = "save-baseline", value_name = "NAME")]
    pub save: Option<BaselineName>,

    /// Let a run of a part of the suite replace a baseline that has other benchmarks too. Without
    /// this it is refused, since nothing would guard them any more
    #[arg(long, requires = "save")]
    pub partial: bool,

    /// Print which functions the slots went to, where the source knows: the model does
    #[arg(long, conflicts_with = "against")]
    pub functions: bool,

    /// Compare with REF instead of storing: build it too, launch both in turn, and judge. REF is a
    /// git commit, `merge-base`, or a directory; the exit code is the gate
    #[arg(long, value_name = "REF", conflicts_with = "save")]
    pub against: Option<String>,

    /// Launch only what executes other machine code, or works on other data, than in BASE, a baseline or a
    /// run file, and whatever that is not certain of. What is left out counts as not run
    #[arg(
        long,
        value_name = "BASE",
        conflicts_with_all = ["save", "against", "shard"]
    )]
    pub changed: Option<String>,

    /// Run part I of N of the suite only; `cargo topdown merge` puts the parts together. A suite is
    /// cut between benchmarks, so that all parts take about the same time
    #[arg(
        long,
        value_name = "I/N",
        env = "CARGO_TOPDOWN_SHARD",
        conflicts_with_all = ["save", "against"]
    )]
    pub shard: Option<ShardNumber>,

    /// How to report the comparison
    #[command(flatten)]
    pub comparison: ComparisonArgs,

    /// What fails
    #[command(flatten)]
    pub policy: PolicyArgs,

    /// Where baselines are kept
    #[command(flatten)]
    pub store: StoreArgs,

    /// How to print
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Which benchmarks are built and launched, and how.
#[derive(Debug, Default, Args)]
pub struct LaunchArgs {
    /// Run only benchmarks whose id matches this regular expression
    #[arg(value_name = "FILTER")]
    pub filter: Option<String>,

    /// FILTER is a whole id and no regular expression
    #[arg(long, requires = "filter")]
    pub exact: bool,

    /// How long and how often to measure
    #[command(flatten)]
    pub measuring: MeasuringArgs,

    /// What to build
    #[command(flatten)]
    pub cargo: CargoBenchArgs,

    /// Further arguments for the bench executables, as criterion takes them
    #[arg(last = true, value_name = "CRITERION_ARGS")]
    pub criterion: Vec<String>,
}

/// criterion's flags that take the next argument as their value.
const FLAGS_WITH_VALUES: [&str; 9] = [
    "-c",
    "--color",
    "--format",
    "--nresamples",
    "--noise-threshold",
    "--confidence-level",
    "--significance-level",
    "--plotting-backend",
    "--output-format",
];

impl LaunchArgs {
    /// Returns the filter, from either side of the `--`.
    pub fn filter(&self) -> Option<&str> {
        let for_criterion = || Some(self.criterion[self.filter_for_criterion()?].as_str());
        self.filter.as_deref().or_else(for_criterion)
    }

    /// Returns the additional arguments for criterion, without a filter.
    pub fn criterion_without_filter(&self) -> Vec<String> {
        let mut words = self.criterion.clone();
        if let Some(index) = self.filter_for_criterion() {
            words.remove(index);
        }
        words
    }

    /// Returns the index of the filter among criterion's arguments: the first one that is neither a
    /// flag nor a flag's value. A second filter is left for criterion to reject.
    fn filter_for_criterion(&self) -> Option<usize> {
        let is_value = |index: usize| {
            let before = index.checked_sub(1).map(|before| &*self.criterion[before]);
            before.is_some_and(|before| FLAGS_WITH_VALUES.contains(&before))
        };
        let is_filter =
            |index: &usize| !self.criterion[*index].starts_with('-') && !is_value(*index);
        let found = (0..self.criterion.len()).find(is_filter);
        found.filter(|_| self.filter.is_none())
    }
}

/// Our own settings of a run. Each is also an environment variable and a key of
/// `[package.metadata.topdown]` and `[workspace.metadata.topdown]`; see [`crate::settings`].
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Measuring")]
pub struct MeasuringArgs {
    /// Processes per bench target [default: 10]
    #[arg(long, value_name = "N", env = "CARGO_TOPDOWN_LAUNCHES")]
    pub launches: Option<u32>,

    /// Samples per benchmark and launch, at least 10 [default: 20]
    #[arg(long, value_name = "N", env = "CARGO_TOPDOWN_SAMPLE_SIZE")]
    pub sample_size: Option<u32>,

    /// Warm-up per benchmark and launch [default: 0.1]
    #[arg(long, value_name = "SECONDS", env = "CARGO_TOPDOWN_WARM_UP_TIME")]
    pub warm_up_time: Option<f64>,

    /// Planned measurement time per benchmark and launch [default: 0.25]
    #[arg(long, value_name = "SECONDS", env = "CARGO_TOPDOWN_MEASUREMENT_TIME")]
    pub measurement_time: Option<f64>,

    /// Where the numbers come from [default: auto]
    #[arg(long, value_name = "SOURCE", env = "CARGO_TOPDOWN_SOURCE")]
    pub source: Option<SourceChoice>,

    /// How long each launch models a benchmark, at 15 million instructions per second [default: 2]
    #[arg(long, value_name = "SECONDS", env = "CARGO_TOPDOWN_MODEL_BUDGET")]
    pub model_budget: Option<f64>,

    /// Which core is modelled; runs of one modelled core are comparable on any host [default: nearest]
    #[arg(long, value_name = "CORE", env = "CARGO_TOPDOWN_MODEL_CORE")]
    pub model_core: Option<ModelCore>,

    /// Which hardware counters, where a CPU has two kinds [default: auto]
    #[arg(long, value_name = "KIND", env = "CARGO_TOPDOWN_COUNTERS")]
    pub counters: Option<CountersChoice>,

    /// Do not launch what matches PATTERN, with `*` and `?`: a benchmark by its name or
    /// `package::target::name`, a bench target by `package::target`
    #[arg(
        long,
        value_name = "PATTERN",
        env = "CARGO_TOPDOWN_LEAVE_OUT",
        value_delimiter = ','
    )]
    pub leave_out: Option<Vec<String>>,

    /// Whose slots the hardware counts: those of the measuring thread, or of all threads of the process.
    /// `auto` counts all in benchmarks in which others work [default: auto]
    #[arg(long, value_name = "WHOSE", env = "CARGO_TOPDOWN_THREADS")]
    pub threads: Option<ThreadsChoice>,

    /// Keep the sample sizes, times and sampling modes that the benches set, as plain `cargo bench` does;
    /// of criterion's own `Criterion`, those of groups alone. Modelled launches have no use for them
    #[arg(long, env = "CARGO_TOPDOWN_AUTHOR_SETTINGS")]
    pub author_settings: bool,

    /// How long one launch may take [default: 10 times as long as the first launch of the same bench
    /// target, and at least 60; the first may say nothing for half an hour]
    #[arg(long, value_name = "SECONDS", env = "CARGO_TOPDOWN_LAUNCH_TIMEOUT")]
    pub launch_timeout: Option<f64>,

    /// Let benches inherit the environment variables that match PATTERN, with `*` and `?`, beside those
    /// that all benches inherit; adds to the settings
    #[arg(
        long,
        value_name = "PATTERN",
        env = "CARGO_TOPDOWN_KEEP_ENV",
        value_delimiter = ','
    )]
    pub keep_env: Option<Vec<String>>,

    /// Do not trace three iterations of every benchmark, once in each run. Without these fingerprints
    /// no comparison can tell that the same machine code ran
    #[arg(long, env = "CARGO_TOPDOWN_NO_FINGERPRINTS")]
    pub no_fingerprints: bool,

    /// Stop at the first bench target that fails, and keep nothing
    #[arg(long, conflicts_with = "no_fail_fast")]
    pub fail_fast: bool,

    /// Run the other bench targets when one fails; this is the default
    #[arg(long)]
    pub no_fail_fast: bool,
}

/// Where the benches' numbers come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SourceChoice {
    /// The hardware counters, else the model of a core, else the clock.
    #[default]
    Auto,
    /// The hardware counters and nothing else.
    Hardware,
    /// The model of a core, on x86-64 Linux; time is measured in launches of its own.
    Model,
    /// The model, else the clock: the second half of `auto`.
    #[value(skip)]
    #[serde(skip)]
    ModelOrTime,
    /// The clock.
    Time,
}

impl SourceChoice {
    /// Returns the word that the library reads from the environment.
    pub fn name(self) -> &'static str {
        match self {
            SourceChoice::Auto => "auto",
            SourceChoice::Hardware => "hardware",
            SourceChoice::Model => "model",
            SourceChoice::ModelOrTime => "model-or-time",
            SourceChoice::Time => "time",
        }
    }
}

/// Which core to model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModelCore {
    /// The one that is nearest to the host's: Zen 5 on AMD's CPUs, Golden Cove elsewhere.
    #[default]
    Nearest,
    /// Golden Cove, of Intel's Alder Lake and Sapphire Rapids.
    GoldenCove,
    /// Zen 5, of AMD's Granite Ridge and Turin.
    #[value(name = "zen-5")]
    #[serde(rename = "zen-5")]
    Zen5,
}

impl ModelCore {
    /// Returns the word that the library reads from the environment.
    pub fn name(self) -> &'static str {
        match self {
            ModelCore::Nearest => "nearest",
            ModelCore::GoldenCove => "golden-cove",
            ModelCore::Zen5 => "zen-5",
        }
    }
}

/// Which counters to use on Intel's performance cores since Ice Lake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CountersChoice {
    /// PERF_METRICS where the CPU has it, else plain counters.
    #[default]
    Auto,
    /// PERF_METRICS and nothing else: the register as it is.
    Metrics,
    /// PERF_METRICS with the corrections of Intel's metrics, the `tma_…` of perf.
    Tma,
    /// Plain counters: exact, and dearer to read.
    Exact,
}

impl CountersChoice {
    /// Returns the word that the library reads from the environment.
    pub fn name(self) -> &'static str {
        match self {
            CountersChoice::Auto => "auto",
            CountersChoice::Metrics => "metrics",
            CountersChoice::Tma => "tma",
            CountersChoice::Exact => "exact",
        }
    }
}

/// Whose slots the hardware counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThreadsChoice {
    /// Those of the measuring thread, and of all threads in benchmarks in which others work.
    #[default]
    Auto,
    /// Those of the measuring thread: what other threads do does not count.
    Own,
    /// Those of all threads of the process.
    All,
}

impl ThreadsChoice {
    /// Returns the word that the library reads from the environment.
    pub fn name(self) -> &'static str {
        match self {
            ThreadsChoice::Auto => "auto",
            ThreadsChoice::Own => "own",
            ThreadsChoice::All => "all",
        }
    }
}

/// Flags of `cargo bench` that are handed to it unchanged.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Flags of cargo bench")]
pub struct CargoBenchArgs {
    /// Package to run benches of
    #[arg(short, long, value_name = "SPEC")]
    pub package: Vec<String>,

    /// Run benches of all packages of the workspace
    #[arg(long, visible_alias = "all")]
    pub workspace: bool,

    /// Package to leave out
    #[arg(long, value_name = "SPEC")]
    pub exclude: Vec<String>,

    /// Run this bench target only
    #[arg(long, value_name = "NAME")]
    pub bench: Vec<String>,

    /// Build bench targets only
    #[arg(long)]
    pub benches: bool,

    /// Features to activate
    #[arg(short = 'F', long, value_name = "FEATURES")]
    pub features: Vec<String>,

    /// Activate all features
    #[arg(long)]
    pub all_features: bool,

    /// Do not activate the `default` feature
    #[arg(long)]
    pub no_default_features: bool,

    /// Build with this profile [default: bench]
    #[arg(long, value_name = "PROFILE-NAME")]
    pub profile: Option<String>,

    /// Build for this target triple
    #[arg(long, value_name = "TRIPLE")]
    pub target: Option<String>,

    /// Directory of all build results
    #[arg(long, value_name = "DIRECTORY")]
    pub target_dir: Option<PathBuf>,

    /// Require Cargo.lock to be up to date
    #[arg(long)]
    pub locked: bool,

    /// Run without accessing the network
    #[arg(long)]
    pub offline: bool,

    /// As --locked and --offline
    #[arg(long)]
    pub frozen: bool,

    /// Parallel build jobs
    #[arg(short, long, value_name = "N")]
    pub jobs: Option<String>,

    /// Override a configuration value of cargo
    #[arg(long, value_name = "KEY=VALUE|PATH")]
    pub config: Vec<String>,

    /// Build, but do not run
    #[arg(long)]
    pub no_run: bool,

    /// Show what cargo does and what the benches print
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub verbose: u8,

    /// Print nothing but results and errors
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_known_on_either_side_of_the_dashes() {
        let args = |filter: Option<&str>, criterion: &str| LaunchArgs {
            filter: filter.map(str::to_owned),
            criterion: criterion.split_whitespace().map(str::to_owned).collect(),
            ..LaunchArgs::default()
        };
        let behind = args(None, "--nresamples 2000 longest --verbose");
        assert_eq!(behind.filter(), Some("longest"));
        let rest = ["--nresamples", "2000", "--verbose"];
        assert_eq!(behind.criterion_without_filter(), rest);
        let before = args(Some("a"), "--color never");
        assert_eq!(before.filter(), Some("a"));
        assert_eq!(before.criterion_without_filter(), ["--color", "never"]);
        assert_eq!(args(None, "--noplot").filter(), None);
    }

    #[test]
    fn every_core_that_the_model_knows_can_be_chosen_by_its_name() {
        let named: Vec<String> = ModelCore::value_variants()
            .iter()
            .filter_map(|core| Some(core.to_possible_value()?.get_name().to_owned()))
            .collect();
        let known = topdown_core_model::cores::ALL.iter().map(|core| core.name);
        let expected: Vec<&str> = std::iter::once("nearest").chain(known).collect();
        assert_eq!(named, expected);
        let passed_on = ModelCore::value_variants().iter().map(|core| core.name());
        assert_eq!(passed_on.collect::<Vec<_>>(), expected);
    }
}
