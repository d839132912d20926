//! The command line of `baseline`.

use clap::{Args, Subcommand};

use super::{OutputArgs, PolicyArgs, StoreArgs};
use topdown_store::baselines::BaselineName;

/// `cargo topdown baseline`.
#[derive(Debug, Subcommand)]
pub enum BaselineCommand {
    /// List the baselines of all machines
    List(BaselineListArgs),
    /// Show one baseline
    Show(BaselineShowArgs),
    /// Save a run as a baseline
    Save(BaselineSaveArgs),
    /// Remove a baseline
    #[command(visible_alias = "rm")]
    Remove(BaselineRemoveArgs),
    /// Push baselines to the shared store
    Push(BaselinePushArgs),
    /// Pull the baselines of this machine's class from the shared store
    Pull(BaselinePullArgs),
    /// Remove old runs from the shared store
    Gc(BaselineGcArgs),
    /// Accept a regression, with a reason, until the baseline is saved again
    Accept(BaselineAcceptArgs),
}

/// Which store machines share.
#[derive(Debug, Args)]
pub struct SharedStoreArgs {
    /// The shared store: a directory, `git+branch:BRANCH`, `git+URL#BRANCH`, or object storage
    ///
    /// Object storage is `s3://BUCKET/PATH`, `gs://BUCKET/PATH` or `az://CONTAINER/PATH`, in builds
    /// with the feature `object-store`.
    #[arg(long = "store", value_name = "URL", env = "CARGO_TOPDOWN_STORE")]
    pub address: Option<String>,

    #[command(flatten)]
    pub local: StoreArgs,
}

/// `cargo topdown baseline push`.
#[derive(Debug, Args)]
pub struct BaselinePushArgs {
    /// The baselines to push, of all machines [default: all]
    #[arg(value_name = "NAME")]
    pub names: Vec<BaselineName>,

    #[command(flatten)]
    pub shared: SharedStoreArgs,

    #[command(flatten)]
    pub output: OutputArgs,
}

/// `cargo topdown baseline pull`.
#[derive(Debug, Args)]
pub struct BaselinePullArgs {
    /// The baselines to pull; each must be in the store [default: all]
    #[arg(value_name = "NAME")]
    pub names: Vec<BaselineName>,

    /// Pull the baselines of the machine with this key (see `baseline list`)
    #[arg(long, value_name = "KEY", conflicts_with = "all_machines")]
    pub machine: Option<String>,

    /// Pull the baselines of all machines
    #[arg(long)]
    pub all_machines: bool,

    #[command(flatten)]
    pub shared: SharedStoreArgs,

    #[command(flatten)]
    pub output: OutputArgs,
}

/// `cargo topdown baseline gc`.
#[derive(Debug, Args)]
pub struct BaselineGcArgs {
    /// The baselines to remove runs from [default: all]
    #[arg(value_name = "NAME")]
    pub names: Vec<BaselineName>,

    /// The number of newest runs to keep for each baseline and machine
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub keep: u32,

    /// Also remove runs whose start time is in the future, or later than their upload
    ///
    /// Such runs are never pulled.
    #[arg(long)]
    pub from_the_future: bool,

    /// Print what would be removed, and remove nothing
    #[arg(long)]
    pub dry_run: bool,

    #[command(flatten)]
    pub shared: SharedStoreArgs,

    #[command(flatten)]
    pub output: OutputArgs,
}

/// `cargo topdown baseline accept`.
#[derive(Debug, Args)]
pub struct BaselineAcceptArgs {
    /// The baseline that shows the regression
    #[arg(value_name = "BASE")]
    pub base: String,

    /// The regressed benchmark
    #[arg(value_name = "BENCH")]
    pub benchmark: String,

    /// Why the regression is acceptable
    #[arg(long, value_name = "TEXT")]
    pub reason: String,

    /// The run with the regression: a baseline's name or a run file [default: the newest run]
    #[arg(long, value_name = "RUN")]
    pub run: Option<String>,

    #[command(flatten)]
    pub policy: PolicyArgs,

    #[command(flatten)]
    pub store: StoreArgs,

    #[command(flatten)]
    pub output: OutputArgs,
}

/// `cargo topdown baseline list`.
#[derive(Debug, Args)]
pub struct BaselineListArgs {
    /// Print the list as JSON
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub store: StoreArgs,

    #[command(flatten)]
    pub output: OutputArgs,
}

/// `cargo topdown baseline show`.
#[derive(Debug, Args)]
pub struct BaselineShowArgs {
    /// A baseline's name, or a run file
    #[arg(value_name = "NAME")]
    pub name: String,

    /// Show the run of the machine with this key (see `baseline list`)
    #[arg(long, value_name = "KEY")]
    pub machine: Option<String>,

    /// Print the run file unchanged
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub store: StoreArgs,

    #[command(flatten)]
    pub output: OutputArgs,
}

/// `cargo topdown baseline save`.
#[derive(Debug, Args)]
pub struct BaselineSaveArgs {
    /// The name of the baseline, such as a branch's
    #[arg(value_name = "NAME")]
    pub name: BaselineName,

    /// The run to save: a baseline's name or a run file [default: the newest run]
    #[arg(value_name = "RUN")]
    pub run: Option<String>,

    /// Let a partial run replace a baseline that has more benchmarks
    ///
    /// Otherwise the run is refused, because nothing would guard the other benchmarks.
    #[arg(long)]
    pub partial: bool,

    #[command(flatten)]
    pub store: StoreArgs,

    #[command(flatten)]
    pub output: OutputArgs,
}

/// `cargo topdown baseline remove`.
#[derive(Debug, Args)]
pub struct BaselineRemoveArgs {
    /// The baseline; its run of this machine is removed unless an option selects others
    #[arg(value_name = "NAME")]
    pub name: BaselineName,

    /// Remove the run of the machine with this key (see `baseline list`)
    #[arg(long, value_name = "KEY", conflicts_with = "all")]
    pub machine: Option<String>,

    /// Remove the runs of all machines
    #[arg(long)]
    pub all: bool,

    #[command(flatten)]
    pub store: StoreArgs,

    #[command(flatten)]
    pub output: OutputArgs,
}
