//! The errors that end a command before its work is done.

use std::io;

use criterion_topdown::run_file::RunFileError;
use thiserror::Error;

use crate::accepted_file::AcceptedError;
use crate::arm_specification::SpecificationError;
use crate::baseline_store::{BaselineNameError, StoreError};
use crate::command::bench::BenchError;
use crate::command::exec::ExecError;
use crate::command::explain::ExplainError;
use crate::import::ImportError;
use crate::merge::MergeError;
use crate::policy_table::PolicyError;
use crate::report::foreign_comment::ForeignComparisonError;
use crate::report::request::ReportError;
use crate::shared_store::SharedStoreError;

/// Everything that ends a command before its work is done.
#[derive(Debug, Error)]
pub enum Error {
    /// The workspace could not be read.
    #[error("{0}")]
    Metadata(#[source] cargo_metadata::Error),
    /// The telemetry specification that the user named.
    #[error(transparent)]
    Specification(#[from] SpecificationError),
    /// The library could not be adopted.
    #[error("{0}")]
    Adoption(#[from] crate::adoption::AdoptionError),
    /// The benches could not be built, run or stored.
    #[error(transparent)]
    Bench(#[from] BenchError),
    /// Nothing could be explained.
    #[error(transparent)]
    Explain(#[from] ExplainError),
    /// Runs that do not belong together.
    #[error(transparent)]
    Merge(#[from] MergeError),
    /// A command could not be measured.
    #[error(transparent)]
    Exec(#[from] ExecError),
    /// What another tool measured cannot be used.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// An imported run could not be stored.
    #[error("could not store the run; the one before is unchanged: {0}")]
    ImportNotStored(#[source] RunFileError),
    /// The baselines, or a run that was asked for.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Baselines that machines share.
    #[error(transparent)]
    SharedStore(#[from] SharedStoreError),
    /// A policy that makes no sense.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// A run was to be judged by itself.
    #[error(
        "`{baseline}` and `{candidate}` are the same run, {id}, which says nothing; \
         measure again: `cargo topdown bench`"
    )]
    SameRun {
        /// What the user called the one.
        baseline: String,
        /// What the user called the other.
        candidate: String,
        /// The run.
        id: String,
    },
    /// `accept` of a benchmark that did not regress.
    #[error("`{id}` is {class}; only what is regressed can be accepted")]
    NothingToAccept {
        /// The benchmark.
        id: String,
        /// Its verdict.
        class: &'static str,
    },
    /// Accepted changes that cannot be read or written.
    #[error(transparent)]
    Accepted(#[from] AcceptedError),
    /// `check` without anything to check by.
    #[error(
        "there are no budgets in `[[workspace.metadata.topdown.policy.budgets]]` of Cargo.toml; \
         docs/gate.md shows how to write one"
    )]
    NoBudgets,
    /// No single benchmark of both runs is meant.
    #[error("`{wanted}` is {}", which_text(like))]
    NoSuchBenchmark {
        /// What was asked for.
        wanted: String,
        /// The ids that contain it.
        like: Vec<String>,
    },
    /// No benchmark of a history is meant.
    #[error(
        "no benchmark matches `{wanted}`; `cargo topdown history` without --benchmark lists them"
    )]
    NoSuchHistory {
        /// The patterns.
        wanted: String,
    },
    /// A history in which nothing can be found.
    #[error(
        "the history has {runs} runs of this kind, and change points are looked for from {least} \
         on; save more with `cargo topdown bench --save NAME`"
    )]
    ShortHistory {
        /// How many there are.
        runs: usize,
        /// How many it takes.
        least: usize,
    },
    /// A run that cannot be read.
    #[error(transparent)]
    RunFile(#[from] RunFileError),
    /// Something that is no baseline's name.
    #[error("not the name of a baseline: {0}")]
    BaselineName(BaselineNameError),
    /// A source was asked for that does not exist.
    #[error(transparent)]
    Source(#[from] criterion_topdown::error::OpenError),
    /// A report that could not be written to its file.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// A comparison of a pull request that is none.
    #[error(transparent)]
    ForeignComparison(#[from] ForeignComparisonError),
    /// A report that could not be printed.
    #[error("could not print the report: {0}")]
    Output(#[from] io::Error),
}

fn which_text(like: &[String]) -> String {
    match like {
        [] => "no benchmark of both runs; `compare` without --explain lists them".to_owned(),
        like => format!("not one benchmark; there are\n  {}", like.join("\n  ")),
    }
}
