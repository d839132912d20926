//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::baseline_store::BaselineName;
use crate::policy::{FailOnClass, MarginSetting, checked_alpha};
use crate::report::request::ReportRequest;
use crate::verdict::Metric;

/// Runs criterion benches, compares their TopDown slots with a baseline, and says why one is slower.
#[derive(Debug, Parser)]
#[command(
    name = "cargo topdown",
    bin_name = "cargo topdown",
    version,
    max_term_width = 100
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the benches and print where their issue slots went
    Bench(Box<BenchArgs>),
    /// Compare the newest run with a baseline; the exit code is the gate
    Compare(CompareArgs),
    /// Print a stored run again, or write it as an HTML page
    Report(ReportArgs),
    /// Judge the newest run by the budgets in Cargo.toml; needs no baseline
    Check(CheckArgs),
    /// List, show, save or remove baselines
    #[command(subcommand)]
    Baseline(BaselineCommand),
    /// Say what this machine can measure, and what stands in the way
    Doctor(DoctorArgs),
    /// Simulate suites of which the truth is known, and say how often the gate errs
    Simulate(SimulateArgs),
    /// Say what this workspace has to change so that its benches measure TopDown, or change it
    Init(InitArgs),
    /// Print the completions of a shell
    Completions(CompletionsArgs),
    /// Write manual pages
    #[command(hide = true)]
    Man(ManArgs),
}

/// `cargo topdown bench`: the flags of `cargo bench`, and our own.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// Run only benchmarks whose id matches this regular expression
    #[arg(value_name = "FILTER")]
    pub filter: Option<String>,

    /// FILTER is a whole id and no regular expression
    #[arg(long, requires = "filter")]
    pub exact: bool,

    /// Keep the run as baseline NAME
    #[arg(long, visible_alias = "save-baseline", value_name = "NAME")]
    pub save: Option<BaselineName>,

    /// Compare with REF instead of storing: build it too, launch both in turn, and judge. REF is a
    /// git commit, `merge-base`, or a directory; the exit code is the gate
    #[arg(long, value_name = "REF", conflicts_with = "save")]
    pub against: Option<String>,

    /// How to report the comparison
    #[command(flatten)]
    pub comparison: ComparisonArgs,

    /// What fails
    #[command(flatten)]
    pub policy: PolicyArgs,

    /// Where baselines are kept
    #[command(flatten)]
    pub store: StoreArgs,

    /// How long and how often to measure
    #[command(flatten)]
    pub measuring: MeasuringArgs,

    /// What to build
    #[command(flatten)]
    pub cargo: CargoBenchArgs,

    /// How to print
    #[command(flatten)]
    pub output: OutputArgs,

    /// Further arguments for the bench executables, as criterion takes them
    #[arg(last = true, value_name = "CRITERION_ARGS")]
    pub criterion: Vec<String>,
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

    /// Which hardware counters, where a CPU has two kinds [default: auto]
    #[arg(long, value_name = "KIND", env = "CARGO_TOPDOWN_COUNTERS")]
    pub counters: Option<CountersChoice>,

    /// Stop at the first bench target that fails, and keep nothing
    #[arg(long, conflicts_with = "no_fail_fast")]
    pub fail_fast: bool,

    /// Run the other bench targets when one fails; this is the default
    #[arg(long)]
    pub no_fail_fast: bool,
}

/// Where the benches' numbers shall come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SourceChoice {
    /// The hardware counters, else the clock.
    #[default]
    Auto,
    /// The hardware counters and nothing else.
    Hardware,
    /// The model of a core, on x86-64 Linux; time is measured in launches of its own.
    Model,
    /// The clock.
    Time,
}

impl SourceChoice {
    /// The word that the library reads from the environment.
    pub fn name(self) -> &'static str {
        match self {
            SourceChoice::Auto => "auto",
            SourceChoice::Hardware => "hardware",
            SourceChoice::Model => "model",
            SourceChoice::Time => "time",
        }
    }
}

/// Which counters shall be used on Intel's performance cores since Ice Lake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CountersChoice {
    /// PERF_METRICS where the CPU has it, else plain counters.
    #[default]
    Auto,
    /// PERF_METRICS and nothing else.
    Metrics,
    /// Plain counters: exact, and dearer to read.
    Exact,
}

impl CountersChoice {
    /// The word that the library reads from the environment.
    pub fn name(self) -> &'static str {
        match self {
            CountersChoice::Auto => "auto",
            CountersChoice::Metrics => "metrics",
            CountersChoice::Exact => "exact",
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

/// `cargo topdown compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// The baseline to compare with: a name or a run file
    #[arg(value_name = "BASE")]
    pub base: String,

    /// The run to judge: a name or a run file [default: the newest run]
    #[arg(value_name = "CANDIDATE")]
    pub candidate: Option<String>,

    /// Show every step that led to the verdict on one benchmark
    #[arg(long, value_name = "BENCH", conflicts_with = "json")]
    pub explain: Option<String>,

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

/// `cargo topdown check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The run to judge: a name or a run file [default: the newest run]
    #[arg(value_name = "RUN")]
    pub run: Option<String>,

    /// Print the whole check as JSON
    #[arg(long)]
    pub json: bool,

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

/// What fails; more can be set in `[workspace.metadata.topdown.policy]`.
#[derive(Debug, Default, Args)]
pub struct PolicyArgs {
    /// Fail on these verdicts too, beside regressed
    #[arg(
        long,
        value_name = "VERDICTS",
        value_delimiter = ',',
        env = "CARGO_TOPDOWN_FAIL_ON"
    )]
    pub fail_on: Option<Vec<FailOnClass>>,

    /// The metrics that can fail a benchmark [default: all]
    #[arg(
        long,
        value_name = "METRICS",
        value_delimiter = ',',
        env = "CARGO_TOPDOWN_GATE"
    )]
    pub gate: Option<Vec<Metric>>,

    /// The change of a metric that matters; a third of it must be sure
    #[arg(
        long = "margin",
        value_name = "METRIC=PERCENT",
        value_delimiter = ',',
        env = "CARGO_TOPDOWN_MARGIN"
    )]
    pub margins: Vec<MarginSetting>,

    /// The probability that an unchanged suite fails [default: 0.05]
    #[arg(long, value_name = "P", env = "CARGO_TOPDOWN_ALPHA", value_parser = alpha)]
    pub alpha: Option<f64>,

    /// Compare runs of different rustc or RUSTFLAGS, with a warning, instead of refusing
    #[arg(long, env = "CARGO_TOPDOWN_ACROSS_BUILDS")]
    pub across_builds: bool,
}

fn alpha(text: &str) -> Result<f64, String> {
    checked_alpha(text.parse().map_err(|_| format!("`{text}` is no number"))?)
}

/// `cargo topdown simulate`.
#[derive(Debug, Args)]
pub struct SimulateArgs {
    /// Suites per machine and number of launches
    #[arg(long, default_value_t = 100)]
    pub suites: u64,

    /// Benchmarks per suite
    #[arg(long, default_value_t = 200)]
    pub benchmarks: usize,

    /// Where all random numbers come from
    #[arg(long, default_value_t = 1)]
    pub seed: u64,

    /// How to print
    #[command(flatten)]
    pub output: OutputArgs,
}

/// How to report a comparison.
#[derive(Debug, Args)]
pub struct ComparisonArgs {
    /// Print the whole comparison as JSON
    #[arg(long)]
    pub json: bool,

    /// Write a report of the comparison too: `github` (annotations), or `markdown`, `comment`, `junit`,
    /// `html` or `json` with `=PATH`; may be repeated
    #[arg(long = "report", value_name = "FORMAT[=PATH]")]
    pub reports: Vec<ReportRequest>,
}

/// `cargo topdown completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

/// `cargo topdown man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Where to write them
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
}

/// `cargo topdown report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// A baseline's name, or a run file [default: the newest run]
    #[arg(value_name = "RUN")]
    pub run: Option<String>,

    /// Write a page for a browser to PATH instead
    #[arg(long, value_name = "PATH")]
    pub html: Option<PathBuf>,

    /// Where baselines are kept
    #[command(flatten)]
    pub store: StoreArgs,

    /// How to print
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `cargo topdown baseline`.
#[derive(Debug, Subcommand)]
pub enum BaselineCommand {
    /// List every baseline, of every machine
    List(BaselineListArgs),
    /// Show one baseline
    Show(BaselineShowArgs),
    /// Keep a run as a baseline
    Save(BaselineSaveArgs),
    /// Remove a baseline
    #[command(visible_alias = "rm")]
    Remove(BaselineRemoveArgs),
    /// Accept a regression, with the reason, until the baseline is renewed
    Accept(BaselineAcceptArgs),
}

/// `cargo topdown baseline accept`.
#[derive(Debug, Args)]
pub struct BaselineAcceptArgs {
    /// The baseline that the change is relative to
    #[arg(value_name = "BASE")]
    pub base: String,

    /// The benchmark
    #[arg(value_name = "BENCH")]
    pub benchmark: String,

    /// Why the change is expected
    #[arg(long, value_name = "TEXT")]
    pub reason: String,

    /// The run that has the change: a name or a run file [default: the newest run]
    #[arg(long, value_name = "RUN")]
    pub run: Option<String>,

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

/// `cargo topdown baseline list`.
#[derive(Debug, Args)]
pub struct BaselineListArgs {
    /// Print the list as JSON
    #[arg(long)]
    pub json: bool,

    /// Where baselines are kept
    #[command(flatten)]
    pub store: StoreArgs,

    /// How to print
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `cargo topdown baseline show`.
#[derive(Debug, Args)]
pub struct BaselineShowArgs {
    /// A baseline's name, or a run file
    #[arg(value_name = "NAME")]
    pub name: String,

    /// Show the run of the machine with this key, as `baseline list` prints it
    #[arg(long, value_name = "KEY")]
    pub machine: Option<String>,

    /// Print the run file as it is
    #[arg(long)]
    pub json: bool,

    /// Where baselines are kept
    #[command(flatten)]
    pub store: StoreArgs,

    /// How to print
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `cargo topdown baseline save`.
#[derive(Debug, Args)]
pub struct BaselineSaveArgs {
    /// What to call it: a branch's name, for instance
    #[arg(value_name = "NAME")]
    pub name: BaselineName,

    /// The run to keep: a name or a run file [default: the newest run]
    #[arg(value_name = "RUN")]
    pub run: Option<String>,

    /// Where baselines are kept
    #[command(flatten)]
    pub store: StoreArgs,

    /// How to print
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `cargo topdown baseline remove`.
#[derive(Debug, Args)]
pub struct BaselineRemoveArgs {
    /// The baseline's name; the run of this machine is removed, unless an option says otherwise
    #[arg(value_name = "NAME")]
    pub name: BaselineName,

    /// Remove the run of the machine with this key, as `baseline list` prints it
    #[arg(long, value_name = "KEY", conflicts_with = "all")]
    pub machine: Option<String>,

    /// Remove the runs of every machine
    #[arg(long)]
    pub all: bool,

    /// Where baselines are kept
    #[command(flatten)]
    pub store: StoreArgs,

    /// How to print
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `cargo topdown doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Fail (exit code 102) unless the hardware counters can be used
    #[arg(long)]
    pub strict: bool,

    /// Print the diagnosis as JSON
    #[arg(long)]
    pub json: bool,

    /// How to print
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `cargo topdown init`.
#[derive(Debug, Args)]
pub struct InitArgs {
    /// Change the manifests instead of saying what would change
    #[arg(long)]
    pub apply: bool,

    /// Take the library from DIR instead of the registry
    #[arg(long, value_name = "DIR")]
    pub library: Option<PathBuf>,

    /// Path to Cargo.toml
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
}

/// Where baselines are kept.
#[derive(Debug, Args)]
pub struct StoreArgs {
    /// Directory of the baselines [default: baselines/ in the workspace root]
    #[arg(long, value_name = "DIR", env = "CARGO_TOPDOWN_BASELINES")]
    pub baselines: Option<PathBuf>,

    /// Path to Cargo.toml
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
}

/// How to print.
#[derive(Debug, Args)]
pub struct OutputArgs {
    /// When to use colours
    #[arg(
        long,
        value_name = "WHEN",
        env = "CARGO_TERM_COLOR",
        default_value = "auto"
    )]
    pub color: ColorChoice,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// On a terminal, unless NO_COLOR says otherwise.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl ColorChoice {
    /// The word that cargo takes.
    pub fn name(self) -> &'static str {
        match self {
            ColorChoice::Auto => "auto",
            ColorChoice::Always => "always",
            ColorChoice::Never => "never",
        }
    }
}

/// The process's arguments, without the `topdown` that cargo inserts for `cargo topdown …`.
pub fn arguments() -> impl Iterator<Item = OsString> {
    without_cargos_word(std::env::args_os())
}

fn without_cargos_word(
    arguments: impl Iterator<Item = OsString>,
) -> impl Iterator<Item = OsString> {
    arguments
        .enumerate()
        .filter(|(index, word)| *index != 1 || word != "topdown")
        .map(|(_, word)| word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn cargo_topdown_x_is_cargo_topdown_topdown_x() {
        for line in [
            "cargo-topdown topdown compare main",
            "cargo-topdown compare main",
        ] {
            let words = without_cargos_word(line.split(' ').map(OsString::from));
            let cli = Cli::try_parse_from(words).unwrap();
            assert!(matches!(cli.command, Command::Compare(args) if args.base == "main"));
        }
    }
}
