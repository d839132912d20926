//! The command line of `history`.

use clap::Args;

use super::{OutputArgs, StoreArgs};
use topdown_store::baselines::BaselineName;

/// `cargo topdown history`.
#[derive(Debug, Args)]
pub struct HistoryArgs {
    /// The baseline [default: the only one of this machine, or `main`]
    #[arg(value_name = "NAME")]
    pub name: Option<BaselineName>,

    /// Show only benchmarks whose name or full id matches; may be repeated
    #[arg(long = "benchmark", value_name = "GLOB")]
    pub benchmarks: Vec<String>,

    /// Show the history of the machine with this key (see `baseline list`)
    #[arg(long, value_name = "KEY", requires = "name")]
    pub machine: Option<String>,

    /// Fail if a benchmark became slower within the newest runs
    ///
    /// The exit code is then 100, or 102 if the history is too short to tell.
    #[arg(long)]
    pub fail_on_change: bool,

    /// The number of newest runs that --fail-on-change considers
    #[arg(
        long,
        value_name = "RUNS",
        default_value_t = 10,
        requires = "fail_on_change"
    )]
    pub newest: usize,

    /// Print the history as JSON
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub store: StoreArgs,

    #[command(flatten)]
    pub output: OutputArgs,
}
