//! The command line of `bisect`.

use std::path::PathBuf;

use clap::Args;

use super::{CargoBenchArgs, MeasuringArgs, OutputArgs, PolicyArgs, SelectionArgs, StoreArgs};
use crate::measure::Request;

/// `cargo topdown bisect`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example: which commit since v1.2.0 made the parser's benchmarks slower?\n  \
                  cargo topdown bisect v1.2.0 HEAD -E 'test(parse)'"
)]
pub struct BisectArgs {
    /// A commit at which the benchmarks are not slower yet [default: that of the baseline]
    #[arg(value_name = "GOOD")]
    pub good: Option<String>,

    /// A later commit at which they are
    #[arg(value_name = "BAD", default_value = "HEAD")]
    pub bad: String,

    /// Also search the commits of merged branches, not only the merges
    #[arg(long)]
    pub all_parents: bool,

    /// Search the installed toolchains from A to B, with the sources of HEAD
    ///
    /// A and B are names that `rustup toolchain list` shows.
    #[arg(long, value_name = "A..B", conflicts_with_all = ["good", "all_parents"])]
    pub toolchain: Option<String>,

    /// Give each commit this file or directory of the work tree in place of its own
    ///
    /// For a benchmark that GOOD does not have yet, or that changed since. It need not be
    /// committed. A directory may be a package of its own that depends on the repository's by path.
    #[arg(long, value_name = "PATH")]
    pub overlay: Vec<PathBuf>,

    /// Forget what an earlier search for the same found, and begin anew
    #[arg(long)]
    pub restart: bool,

    /// Also write an HTML page of the search to PATH
    #[arg(long, value_name = "PATH")]
    pub html: Option<PathBuf>,

    /// Print the search as JSON
    #[arg(long, help_heading = "Reports")]
    pub json: bool,

    #[command(flatten)]
    pub selection: SelectionArgs,

    #[command(flatten)]
    pub measuring: MeasuringArgs,

    #[command(flatten)]
    pub policy: PolicyArgs,

    #[command(flatten)]
    pub store: StoreArgs,

    #[command(flatten)]
    pub cargo: CargoBenchArgs,

    #[command(flatten)]
    pub output: OutputArgs,
}

impl BisectArgs {
    /// The same as a plain request.
    pub fn request(&self) -> Request {
        Request {
            expression: self.selection.text(),
            fail_fast: self.measuring.fail_fast,
            ..self.cargo.request(
                (&self.measuring).into(),
                self.store.manifest_path.clone(),
                &self.output,
            )
        }
    }
}
