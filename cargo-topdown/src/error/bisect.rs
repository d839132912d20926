//! The errors of `cargo topdown bisect`.

use std::io;
use std::path::PathBuf;

use thiserror::Error;
use topdown_store::baselines::StoreError;
use topdown_terminal::count_of;

/// There is nothing to search, or the search ended early.
#[derive(Debug, Error)]
pub enum BisectError {
    /// The search launches benches.
    #[error("`bisect` has to launch the benches; leave out `--no-run`")]
    NoRun,
    /// There is no baseline to take the commit from.
    #[error("{0}\nor name the good commit: `cargo topdown bisect GOOD`")]
    NoBaseline(StoreError),
    /// The baseline does not name a commit.
    #[error(
        "baseline `{baseline}` {why}, so the good commit is not known; name it: `cargo topdown \
         bisect GOOD`"
    )]
    NoGoodCommit { baseline: String, why: &'static str },
    /// The commits are not in this order.
    #[error("{good} is not an ancestor of {bad}; name an earlier commit that is still fast first")]
    NotAncestor { good: String, bad: String },
    /// Both ends are the same.
    #[error("`{good}` and `{bad}` are the same, {id}, so there is nothing to search")]
    Same {
        good: String,
        bad: String,
        id: String,
    },
    /// `--toolchain` has no two names.
    #[error("`--toolchain {0}` needs two toolchains: `--toolchain 1.90.0..1.95.0`")]
    NoRange(String),
    /// A toolchain is not installed.
    #[error("the toolchain `{name}` is not installed; installed are {}", installed.join(", "))]
    NoToolchain {
        name: String,
        installed: Vec<String>,
    },
    /// The first toolchain is newer than the second.
    #[error("the toolchain `{good}` is newer than `{bad}`; name the older one first")]
    ToolchainOrder { good: String, bad: String },
    /// A path of `--overlay` has no files.
    #[error("`--overlay {}` has no files that git does not ignore", .0.display())]
    EmptyOverlay(PathBuf),
    /// rustup does not work.
    #[error("`rustup {command}` failed, which lists and finds toolchains: {message}")]
    Rustup { command: String, message: String },
    /// The first or the last point cannot be measured.
    #[error("could not measure {point}: {reason}; choose another one")]
    End { point: String, reason: String },
    /// The search could not be kept.
    #[error("could not keep the search in {}: {error}", path.display())]
    NotKept { path: PathBuf, error: io::Error },
    /// The user interrupted it.
    #[error(
        "interrupted; the same command goes on after {}, which {} kept",
        count_of(*tried, "result"),
        if *tried == 1 { "is" } else { "are" }
    )]
    Interrupted {
        /// The number of points that were tried.
        tried: usize,
    },
}
