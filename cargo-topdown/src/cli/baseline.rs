//! The command line of `baseline`.

use clap::{Args, Subcommand};

use super::{OutputArgs, PolicyArgs, StoreArgs};
use crate::baseline_store::BaselineName;

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
    /// Send baselines to the store that machines share
    Push(BaselinePushArgs),
    /// Fetch the baselines of this machine's class from the store that machines share
    Pull(BaselinePullArgs),
    /// Remove old runs from the store that machines share
    Gc(BaselineGcArgs),
    /// Accept a regression, with the reason, until the baseline is renewed
    Accept(BaselineAcceptArgs),
}

/// Which store machines share.
#[derive(Debug, Args)]
pub struct SharedStoreArgs {
    /// The shared store: a directory, `git+branch:BRANCH`, `git+URL#BRANCH` or, in builds with the
    /// feature `object-store`, `s3://BUCKET/PATH`, `gs://BUCKET/PATH`, `az://CONTAINER/PATH`
    #[arg(long = "store", value_name = "URL", env = "CARGO_TOPDOWN_STORE")]
    pub address: Option<String>,

    /// Where the baselines of this machine are kept
    #[command(flatten)]
    pub local: StoreArgs,
}

/// `cargo topdown baseline push`.
#[derive(Debug, Args)]
pub struct BaselinePushArgs {
    /// Send these baselines, of every machine that is here [default: all]
    #[arg(value_name = "NAME")]
    pub names: Vec<BaselineName>,

    /// Which store
    #[command(flatten)]
    pub shared: SharedStoreArgs,

    /// How to print
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `cargo topdown baseline pull`.
#[derive(Debug, Args)]
pub struct BaselinePullArgs {
    /// Fetch these baselines; one that the store does not have is an error [default: all]
    #[arg(value_name = "NAME")]
    pub names: Vec<BaselineName>,

    /// Fetch those of the machine with this key, as `baseline list` prints it
    #[arg(long, value_name = "KEY", conflicts_with = "all_machines")]
    pub machine: Option<String>,

    /// Fetch those of every machine
    #[arg(long)]
    pub all_machines: bool,

    /// Which store
    #[command(flatten)]
    pub shared: SharedStoreArgs,

    /// How to print
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `cargo topdown baseline gc`.
#[derive(Debug, Args)]
pub struct BaselineGcArgs {
    /// Remove from these baselines [default: all]
    #[arg(value_name = "NAME")]
    pub names: Vec<BaselineName>,

    /// How many runs to keep of each baseline and machine, the newest ones
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub keep: u32,

    /// Also remove runs that say they started after they came to the store, or after now. Such runs
    /// are never fetched
    #[arg(long)]
    pub from_the_future: bool,

    /// Say what would be removed, and remove nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Which store
    #[command(flatten)]
    pub shared: SharedStoreArgs,

    /// How to print
    #[command(flatten)]
    pub output: OutputArgs,
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

    /// Let a run of a part of the suite replace a baseline that has other benchmarks too. Without
    /// this it is refused, since nothing would guard them any more
    #[arg(long)]
    pub partial: bool,

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
