//! What is wrong with runs that are to be merged, and what is to be known about a merged one.

use criterion_topdown::run_file::{BenchmarkId, Shard};
use thiserror::Error;

use topdown_gate::verdict::comparison::Difference;

/// Something that a merged run has and one machine's run has not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// Slots were counted in one part and not in another.
    TimeOnly {
        /// The package whose benchmarks have time alone in `label`.
        package: String,
        /// The part.
        label: String,
        /// Why, in the words of the source.
        reason: String,
        /// A part that has slots of the package.
        other: String,
    },
    /// The work tree differed from the commit, perhaps in different ways.
    Uncommitted,
    /// Shards, or benchmarks of shards, that are not there.
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
                "benchmarks of package `{package}` have slots in {other} and time alone in {label} \
                 ({reason})"
            ),
            Note::Uncommitted => f.write_str(
                "the work trees differed from their commit, and nothing tells whether in the same \
                 way",
            ),
            Note::Incomplete(what) => write!(f, "{what}; the merged run is not whole"),
        }
    }
}

/// Why runs cannot be merged.
#[derive(Debug, Error, PartialEq)]
pub enum MergeError {
    /// They are not of one class of machines, build, commit or settings.
    #[error(
        "{first} and {other} cannot be merged: {}",
        differences.iter().map(text_of).collect::<Vec<_>>().join("; ")
    )]
    Different {
        /// One of the two.
        first: String,
        /// The other.
        other: String,
        /// In what they differ.
        differences: Vec<Difference>,
    },
    /// One benchmark was measured twice.
    #[error("benchmark `{id}` is in {first} and in {other}")]
    Twice {
        /// The benchmark.
        id: Box<BenchmarkId>,
        /// One of the two.
        first: String,
        /// The other.
        other: String,
    },
    /// One shard was given twice.
    #[error("{first} and {other} are both shard {shard}")]
    SameShard {
        /// Which shard.
        shard: Shard,
        /// One of the two.
        first: String,
        /// The other.
        other: String,
    },
    /// Shards of suites that were cut differently.
    #[error(
        "{first} is shard {first_shard} and {other} shard {other_shard} of another suite: filter, \
         packages, features and settings must be the same for all shards"
    )]
    OtherSuite {
        /// One of the two.
        first: String,
        /// Its shard.
        first_shard: Box<Shard>,
        /// The other.
        other: String,
        /// Its shard.
        other_shard: Box<Shard>,
    },
    /// A shard where a whole run is needed.
    #[error(
        "{label} is shard {shard} of a suite, which says nothing about the others; to put them \
         together: `cargo topdown merge RUN...`"
    )]
    NotWhole {
        /// The run.
        label: String,
        /// Which shard it is.
        shard: Shard,
    },
    /// Shards are missing, or benchmarks of shards.
    #[error("{0}\nto merge what there is: `--partial`")]
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
