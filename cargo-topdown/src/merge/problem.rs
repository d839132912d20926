//! Reasons for refusing to merge runs, and notes about a merged run.

use thiserror::Error;
use topdown_run::run_file::{BenchmarkId, Shard};

use topdown_gate::comparability::Difference;

/// A property of a merged run that a run of one machine would not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// Slots were counted in one part but not in another.
    TimeOnly {
        /// The package that has only time in `label`.
        package: String,
        label: String,
        /// The reason given by the source.
        reason: String,
        /// A part that has slots for the package.
        other: String,
    },
    /// The work tree differed from the commit, perhaps differently for each part.
    Uncommitted,
    /// Shards, or benchmarks of shards, are missing.
    Incomplete(String),
}

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Note::TimeOnly {
                package,
                label,
                reason,
                other,
            } => write!(
                f,
                "benchmarks of package `{package}` have slots in {other}, but only time in {label} \
                 ({reason})"
            ),
            Note::Uncommitted => {
                f.write_str("the work trees had uncommitted changes, which may differ")
            }
            Note::Incomplete(what) => write!(f, "{what}; the merged run is incomplete"),
        }
    }
}

/// Why runs cannot be merged.
#[derive(Debug, Error, PartialEq)]
pub enum MergeError {
    /// They differ in machine class, build, commit or settings.
    #[error(
        "{first} and {other} cannot be merged: {}",
        differences.iter().map(text_of).collect::<Vec<_>>().join("; ")
    )]
    Different {
        /// The first part.
        first: String,
        /// The other part.
        other: String,
        /// How they differ.
        differences: Vec<Difference>,
    },
    /// One benchmark was measured twice.
    #[error("benchmark `{id}` is in both {first} and {other}")]
    Twice {
        id: Box<BenchmarkId>,
        /// The part that has it first.
        first: String,
        /// The other part.
        other: String,
    },
    /// One shard was given twice.
    #[error("{first} and {other} are both shard {shard}")]
    SameShard {
        shard: Shard,
        /// The first part.
        first: String,
        /// The other part.
        other: String,
    },
    /// The shards are of suites that were cut differently.
    #[error(
        "{first} is shard {first_shard} and {other} shard {other_shard} of another suite: filter, \
         packages, features and settings must be the same for all shards"
    )]
    OtherSuite {
        /// The first part.
        first: String,
        first_shard: Box<Shard>,
        /// The other part.
        other: String,
        other_shard: Box<Shard>,
    },
    /// A shard was given where a whole run is required.
    #[error(
        "{label} is shard {shard} of a suite, without the others; to merge them: `cargo topdown \
         merge RUN...`"
    )]
    NotWhole {
        label: String,
        /// Which shard it is.
        shard: Shard,
    },
    /// Shards, or benchmarks of shards, are missing.
    #[error("{0}\nto merge anyway: `--partial`")]
    Incomplete(String),
}

fn text_of(difference: &Difference) -> String {
    let Difference {
        field,
        baseline,
        candidate,
    } = difference;
    format!("{field} is {baseline} and {candidate}")
}
