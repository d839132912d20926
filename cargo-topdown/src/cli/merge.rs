//! The command line of `merge`.

use std::path::PathBuf;

use clap::Args;

use super::{OutputArgs, StoreArgs};
use topdown_store::baselines::BaselineName;

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
