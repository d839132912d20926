//! Errors of measuring a suite.

use std::io;

use thiserror::Error;
use topdown_gate::filter_expression::ExpressionError;

use crate::base_tree::BaseTreeError;
use crate::config::ConfigError;
use crate::shard::ShardNumber;
use topdown_runner::launching::launch_error::LaunchError;
use topdown_runner::targets::bench_targets::BuildError;
use topdown_runner::targets::required_features::NeedsFeatures;
use topdown_terminal::nearest::Suggestion;

/// Why there is no run, or an incomplete one.
#[derive(Debug, Error)]
pub enum MeasureError {
    /// An argument for criterion that this program cannot let through.
    #[error("`{flag}` cannot be passed to criterion: {instead}")]
    CriterionArgument {
        flag: String,
        /// Why, or what to use instead.
        instead: &'static str,
    },
    /// A setting cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The benches could not be built.
    #[error(transparent)]
    Build(BuildError),
    /// The sources to compare against are not available.
    #[error(transparent)]
    BaseTree(BaseTreeError),
    /// The base's benches could not be built.
    #[error("could not build the base {base}: {error}")]
    BaseBuild { base: String, error: BuildError },
    /// There was nothing to build.
    #[error(
        "no bench targets in the selected packages; `cargo topdown init` shows how to write the \
         first"
    )]
    NoBenchTargets,
    /// There was nothing to build in the selected packages, but there is in these.
    #[error(
        "no bench targets in the selected packages; `--workspace` or `--package` selects those \
         that have some: {}",
        .0.join(", ")
    )]
    InOtherPackages(Vec<String>),
    /// cargo built no bench target, since all of them require features that are off.
    #[error("no bench target was built: {}", in_short(.0))]
    FeaturesOff(Vec<NeedsFeatures>),
    /// The bench targets have no criterion benchmark.
    #[error(
        "none of the bench targets has a criterion benchmark, so nothing was measured; `cargo \
         topdown init` shows what to change in each"
    )]
    NoCriterion,
    /// No bench connected, and all were started through a runner of cargo's configuration.
    #[error(
        "no bench target reported a criterion benchmark, so nothing was measured; they were started \
         through `{0}`, which must pass on all environment variables (with sudo: `sudo -E`)"
    )]
    CutOffByRunner(String),
    /// criterion ran no benchmark, although no filter was given here.
    #[error(
        "no benchmark ran, so nothing was measured; `cargo topdown bench --list` lists their ids"
    )]
    NoBenchmarks,
    /// Settings leave out everything.
    #[error(
        "the settings leave out every benchmark (`leave-out`), so nothing was measured; \
         `--leave-out PATTERN` replaces the patterns in Cargo.toml"
    )]
    AllLeftOut,
    /// The filter matched nothing.
    #[error(
        "no benchmark matches `{filter}`, so nothing was measured; `cargo topdown bench --list` \
         lists them{nearest}"
    )]
    NothingMatched {
        filter: String,
        /// The name that may have been meant.
        nearest: Suggestion,
    },
    /// A filter expression cannot be understood.
    #[error(transparent)]
    Expression(#[from] ExpressionError),
    /// The filter is not a regular expression.
    #[error("FILTER `{filter}` is not a regular expression: {error}")]
    Filter {
        filter: String,
        error: Box<regex::Error>,
    },
    /// There are fewer benchmarks than shards.
    #[error(
        "shard {shard} is empty, because there are fewer benchmarks ({benchmarks}) than shards; \
         use fewer shards"
    )]
    EmptyShard {
        shard: ShardNumber,
        /// Number of the suite's benchmarks.
        benchmarks: usize,
    },
    /// Bench targets or benchmarks failed; each has been reported.
    #[error("{failed} of the benches failed, see above; `--leave-out PATTERN` runs the others")]
    BenchesFailed {
        /// How many.
        failed: usize,
    },
    /// A launch could not be made.
    #[error(transparent)]
    Launch(LaunchError),
    /// Ctrl-C could not be handled.
    #[error("could not handle Ctrl-C: {0}")]
    Interrupt(#[source] io::Error),
    /// A temporary directory could not be created.
    #[error("could not make a temporary directory: {0}")]
    Scratch(io::Error),
    /// The user interrupted the run.
    #[error("interrupted; nothing was stored")]
    Interrupted,
}

/// Lists the first targets, and how many more there are.
fn in_short(targets: &[NeedsFeatures]) -> String {
    const MAX_NAMED: usize = 3;
    let named: Vec<String> = (targets.iter().take(MAX_NAMED))
        .map(ToString::to_string)
        .collect();
    match targets.len().saturating_sub(MAX_NAMED) {
        0 => named.join("; "),
        more => format!("{}; and {more} more", named.join("; ")),
    }
}

impl From<BuildError> for MeasureError {
    fn from(error: BuildError) -> MeasureError {
        match error {
            BuildError::Interrupted => MeasureError::Interrupted,
            error => MeasureError::Build(error),
        }
    }
}
