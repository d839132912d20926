//! The command line. Larger subcommands have their flags in separate files.

mod annotate;
mod baseline;
mod bench;
mod bisect;
mod cargo_bench;
mod comparison;
mod exec;
mod explain;
mod history;
mod import;
mod measuring;
mod selection;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::store_location::StoreLocation;
use topdown_adoption::Service;
use topdown_report::export::ExportFormat;
use topdown_run::setting::Setting;
use topdown_store::baselines::BaselineName;

pub use annotate::*;
pub use baseline::*;
pub use bench::*;
pub use bisect::*;
pub use cargo_bench::*;
pub use comparison::*;
pub use exec::*;
pub use explain::*;
pub use history::*;
pub use import::*;
pub use measuring::*;
pub use selection::*;

/// Run criterion benches, compare their TopDown slots with a baseline, and explain what got slower
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
    /// Compare the newest run with a baseline, and fail if a benchmark regressed
    Compare(CompareArgs),
    /// Measure why one benchmark loses its slots
    Explain(Box<ExplainArgs>),
    /// Show the source lines and instructions to which one benchmark's slots go
    Annotate(Box<AnnotateArgs>),
    /// Find the commit or the toolchain at which benchmarks became slower
    Bisect(Box<BisectArgs>),
    /// Compare benchmarks of one run with each other: two of them, or all of a group
    Versus(VersusArgs),
    /// Show where benchmarks changed over all runs of a baseline
    History(HistoryArgs),
    /// Print a stored run, or write it as an HTML page
    Report(ReportArgs),
    /// Check the newest run against the budgets in Cargo.toml; needs no baseline
    Check(CheckArgs),
    /// Run a command several times and print where its issue slots went
    Exec(ExecArgs),
    /// Make a run from the output of perf, toplev, topdown-tool or WindowsPerf
    Import(Box<ImportArgs>),
    /// Manage baselines: list, show, save, remove, share, and accept regressions
    #[command(subcommand)]
    Baseline(BaselineCommand),
    /// Merge the shards of a suite, measured on machines of one class, into one run
    Merge(MergeArgs),
    /// Show what this machine can measure, and what stands in the way
    Doctor(Box<DoctorArgs>),
    /// Show or apply the changes that a workspace needs for its benches to measure TopDown
    Init(InitArgs),
    /// Print the completions for a shell
    Completions(CompletionsArgs),
    /// Write manual pages
    Man(ManArgs),
    /// Run a step of the GitHub action; it reads the variables that action.yml sets
    #[command(hide = true)]
    Ci {
        /// Which step
        #[command(subcommand)]
        step: CiStep,
    },
    /// Wait for a byte on standard input, then become a command: how `exec` starts one
    #[command(name = "exec-when-told", hide = true)]
    ExecAfterGo(ExecAfterGoArgs),
    /// Become a bench in its own session: how `bench` starts one
    #[command(hide = true)]
    StartBench(StartBenchArgs),
}

/// `cargo topdown ci`: a step of action.yml. Its inputs are variables that action.yml sets.
#[derive(Clone, Copy, Debug, Subcommand)]
pub enum CiStep {
    /// Check the inputs, show what the machine can measure, and say where files go
    Plan,
    /// Run the benches, compare the run, and make one outcome of both
    Measure,
    /// Keep one comment on the pull request up to date
    Comment,
    /// End with the exit code of the outcome
    Gate,
}

/// Parses one of the choices that users have, as clap lists them in `--help`.
fn choices<S: Setting + Send + Sync>() -> impl TypedValueParser<Value = S> {
    let listed = S::CHOICES.iter().map(|choice| {
        // As clap does with doc comments.
        let help = choice.meaning().trim_end_matches('.');
        PossibleValue::new(choice.name()).help(help)
    });
    PossibleValuesParser::new(listed)
        .map(|word| word.parse().expect("clap lets only listed words through"))
}

/// Parses one of `all`, as clap lists them in `--help`.
fn one_of<T, const N: usize>(
    all: [T; N],
    name: fn(T) -> &'static str,
    meaning: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    let listed = all.map(|value| PossibleValue::new(name(value)).help(meaning(value)));
    PossibleValuesParser::new(listed).map(move |word| {
        let named = all.into_iter().find(|value| name(*value) == word);
        named.expect("clap lets only listed words through")
    })
}

/// `cargo topdown start-bench`.
#[derive(Debug, Args)]
pub struct StartBenchArgs {
    /// The process whose end also ends the bench
    #[arg(long)]
    pub parent: i32,

    /// The file through which to enter a control group
    #[arg(long)]
    pub cgroup: Option<PathBuf>,

    /// The bench and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    pub command: Vec<OsString>,
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
    /// The directory to write them to
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
}

/// `cargo topdown report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// The run to print: a baseline's name or a run file [default: the newest run]
    #[arg(value_name = "RUN")]
    pub run: Option<String>,

    /// Write an HTML page to PATH instead
    #[arg(long, value_name = "PATH")]
    pub html: Option<PathBuf>,

    /// Write the call paths to FILE instead: as folded stacks (`.folded`), or for speedscope
    /// (`.json`); needs a run with `--paths`
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["html", "json", "events", "functions"]
    )]
    pub profile: Option<PathBuf>,

    /// Print the run file as JSON, with the benchmarks that -E and --skip select
    #[arg(long, conflicts_with_all = ["html", "events", "functions"])]
    pub json: bool,

    /// Print the run in the format of another tool
    #[arg(
        long,
        value_name = "FORMAT",
        value_parser = one_of(ExportFormat::ALL, ExportFormat::name, ExportFormat::meaning),
        conflicts_with_all = ["html", "json", "profile", "events", "functions"]
    )]
    pub export: Option<ExportFormat>,

    /// Print events too: branches, misses, bytes and allocations, where the source counts them
    #[arg(long, conflicts_with = "html")]
    pub events: bool,

    /// Print the functions that the slots went to, if the run has them
    #[arg(long, conflicts_with = "html")]
    pub functions: bool,

    #[command(flatten)]
    pub selection: SelectionArgs,

    #[command(flatten)]
    pub store: StoreArgs,

    #[command(flatten)]
    pub output: OutputArgs,
}

/// `cargo topdown merge`.
#[derive(Debug, Args)]
pub struct MergeArgs {
    /// The runs to merge: run files, or directories that hold one
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<PathBuf>,

    /// Also save the merged run as baseline NAME
    #[arg(long, value_name = "NAME", conflicts_with_all = ["output", "partial"])]
    pub save: Option<BaselineName>,

    /// Write the merged run to DIR, not to the workspace as its newest run
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,

    /// Merge even if shards are missing or benchmarks failed
    #[arg(long)]
    pub partial: bool,

    #[command(flatten)]
    pub store: StoreArgs,

    #[command(flatten)]
    pub printing: OutputArgs,
}

/// `cargo topdown versus`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cargo topdown versus parse/ours parse/serde   two benchmarks of the newest run
  cargo topdown versus sort                     sort/std/10, sort/ours/10, sort/std/1000 ...")]
pub struct VersusArgs {
    /// A benchmark, or without OTHER a group: the names that begin with `BENCH/`
    #[arg(value_name = "BENCH")]
    pub benchmark: String,

    /// The benchmark to compare it with
    #[arg(value_name = "OTHER")]
    pub reference: Option<String>,

    /// The run: a baseline's name or a run file [default: the newest run]
    #[arg(long, value_name = "RUN")]
    pub run: Option<String>,

    /// Write an HTML page of the group to PATH instead
    #[arg(long, value_name = "PATH", conflicts_with_all = ["json", "reference"])]
    pub html: Option<PathBuf>,

    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub store: StoreArgs,

    #[command(flatten)]
    pub output: OutputArgs,
}

/// `cargo topdown doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Show how much launches differ, and how large a change the gate can detect
    ///
    /// Runs the suite with twice the launches, and compares one half with the other.
    #[arg(long, conflicts_with = "strict")]
    pub noise: bool,

    /// With --noise: use the launches of RUN, a baseline's name or a run file, and launch nothing
    #[arg(long, value_name = "RUN", requires = "noise")]
    pub run: Option<String>,

    /// Write a file that proves this CPU's counters, to send to the project
    ///
    /// Measures loops with one known bottleneck each by all counters and metric groups. The file
    /// has their counts, refusals, and the kernel's description of the CPU; it names no host, user
    /// or path. [default FILE: topdown-report.json]
    #[arg(
        long,
        value_name = "FILE",
        num_args = 0..=1,
        default_missing_value = "topdown-report.json",
        conflicts_with_all = ["noise", "json"]
    )]
    pub report: Option<PathBuf>,

    /// Fail (exit code 102) unless the hardware counters can be used
    #[arg(long)]
    pub strict: bool,

    /// Print the diagnosis as JSON
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub launch: LaunchArgs,

    #[command(flatten)]
    pub policy: PolicyArgs,

    #[command(flatten)]
    pub store: StoreArgs,

    #[command(flatten)]
    pub output: OutputArgs,
}

/// `cargo topdown init`.
#[derive(Debug, Args)]
pub struct InitArgs {
    /// Change the manifests, not only print what would change
    ///
    /// If cargo cannot resolve the result, or on Ctrl-C, all files are put back.
    #[arg(long)]
    pub apply: bool,

    /// Where to take the library from: a directory, a Git repository's `URL[#COMMIT]`, or
    /// `registry` [default: where this program came from, else the registry]
    #[arg(long, value_name = "SOURCE")]
    pub library: Option<String>,

    /// Write a CI workflow that compares each pull request with its base
    #[arg(long, value_name = "SERVICE")]
    pub ci: Option<CiService>,

    /// Path to Cargo.toml
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
}

/// Where a workflow runs.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum CiService {
    /// GitHub Actions: `.github/workflows/topdown.yml`.
    Github,
    /// GitLab CI: `.gitlab-ci.yml`.
    Gitlab,
}

impl From<CiService> for Service {
    fn from(service: CiService) -> Service {
        match service {
            CiService::Github => Service::Github,
            CiService::Gitlab => Service::Gitlab,
        }
    }
}

/// Where baselines are kept.
#[derive(Debug, Args)]
#[command(next_help_heading = "Baselines")]
pub struct StoreArgs {
    /// Directory of the baselines [default: baselines/ in the workspace root]
    #[arg(long, value_name = "DIR", env = "CARGO_TOPDOWN_BASELINES")]
    pub baselines: Option<PathBuf>,

    /// Path to Cargo.toml
    #[arg(long, value_name = "PATH", help_heading = "Workspace")]
    pub manifest_path: Option<PathBuf>,
}

impl StoreArgs {
    /// Returns the place without the command line.
    pub fn store_location(&self) -> StoreLocation {
        StoreLocation {
            baselines: self.baselines.clone(),
            manifest_path: self.manifest_path.clone(),
        }
    }
}

/// Where to keep a run that was not made by `bench`.
#[derive(Debug, Args)]
pub struct StoredRunArgs {
    /// Save the run as baseline NAME
    #[arg(long, value_name = "NAME")]
    pub save: Option<BaselineName>,

    /// Write the run to DIR, not to the workspace as its newest run; needs no workspace
    #[arg(long, value_name = "DIR", conflicts_with_all = ["save", "baselines", "manifest_path"])]
    pub out: Option<PathBuf>,

    #[command(flatten)]
    pub store: StoreArgs,
}

/// How to print.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
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
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl From<ColorChoice> for anstream::ColorChoice {
    fn from(choice: ColorChoice) -> anstream::ColorChoice {
        match choice {
            ColorChoice::Auto => anstream::ColorChoice::Auto,
            ColorChoice::Always => anstream::ColorChoice::Always,
            ColorChoice::Never => anstream::ColorChoice::Never,
        }
    }
}

impl ColorChoice {
    /// Returns the word that cargo takes.
    pub fn name(self) -> &'static str {
        match self {
            ColorChoice::Auto => "auto",
            ColorChoice::Always => "always",
            ColorChoice::Never => "never",
        }
    }
}

/// Returns the process's arguments without the `topdown` that cargo inserts for `cargo topdown …`.
pub fn arguments() -> impl Iterator<Item = OsString> {
    without_subcommand_name(std::env::args_os())
}

fn without_subcommand_name(
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
    fn subcommand_name_is_optional() {
        for line in [
            "cargo-topdown topdown compare main",
            "cargo-topdown compare main",
        ] {
            let words = without_subcommand_name(line.split(' ').map(OsString::from));
            let cli = Cli::try_parse_from(words).unwrap();
            assert!(
                matches!(cli.command, Command::Compare(a) if a.base.as_deref() == Some("main"))
            );
        }
    }
}
