//! The errors that end a command early.

mod bisect;
mod ci;
mod exec;

use std::io;
use std::path::PathBuf;

use thiserror::Error;
use topdown_gate::filter_expression::ExpressionError;
use topdown_run::run_file::RunFileError;

use crate::accepted_file::AcceptedError;
use crate::config::{ConfigError, WorkspaceError};
use crate::measure::MeasureError;
use crate::merge::MergeError;
use topdown_arm_specification::SpecificationError;
use topdown_explain::ExplainError;
use topdown_import::ImportError;
use topdown_report::foreign_comparison::ForeignComparisonError;
use topdown_report::request::ReportError;
use topdown_runner::record::RelaunchError;
use topdown_store::baselines::{BaselineNameError, StoreError, unless_written};
use topdown_store::shared::SharedStoreError;
use topdown_terminal::nearest::Suggestion;

pub use bisect::BisectError;
pub use ci::CiError;
pub use exec::ExecError;

/// An error that ends a command early.
#[derive(Debug, Error)]
pub enum Error {
    /// The workspace could not be read.
    #[error("{0}")]
    Metadata(#[source] cargo_metadata::Error),
    /// The user's telemetry specification cannot be used.
    #[error(transparent)]
    Specification(#[from] SpecificationError),
    /// The library could not be adopted.
    #[error("{0}")]
    Adoption(#[from] topdown_adoption::AdoptionError),
    /// The benches could not be built, run or stored.
    #[error(transparent)]
    Measure(#[from] MeasureError),
    /// There is nothing to search, or the search ended early.
    #[error(transparent)]
    Bisect(#[from] BisectError),
    /// Nothing could be explained.
    #[error(transparent)]
    Explain(#[from] ExplainError),
    /// The runs cannot be merged.
    #[error(transparent)]
    Merge(#[from] MergeError),
    /// A command could not be measured.
    #[error(transparent)]
    Exec(#[from] ExecError),
    /// A step of the GitHub action failed.
    #[error(transparent)]
    Ci(#[from] CiError),
    /// Another tool's measurements cannot be used.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// A run could not be stored.
    #[error("could not store the run{}: {error}", unless_written(.0), error = .0)]
    NotStored(#[source] RunFileError),
    /// A baseline or a requested run could not be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A shared store could not be used.
    #[error(transparent)]
    SharedStore(#[from] SharedStoreError),
    /// There is no workspace, or a setting in it cannot be used.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// A run was to be judged by itself.
    #[error(
        "`{baseline}` and `{candidate}` are the same run, {id}, so there is nothing to compare; \
         measure again: `cargo topdown bench`"
    )]
    SameRun {
        /// The baseline's argument.
        baseline: String,
        /// The candidate's argument.
        candidate: String,
        /// The run's id.
        id: String,
    },
    /// `accept` was given a benchmark that did not regress.
    #[error("`{id}` is {verdict}; only regressions can be accepted")]
    NothingToAccept { id: String, verdict: &'static str },
    /// Accepted changes could not be read or written.
    #[error(transparent)]
    Accepted(#[from] AcceptedError),
    /// `check` was called without any budgets.
    #[error(
        "there are no budgets in `[[workspace.metadata.topdown.policy.budgets]]` of Cargo.toml; \
         docs/margins.md shows how to write one"
    )]
    NoBudgets,
    /// The argument does not select exactly one benchmark of both runs.
    #[error(
        "`{wanted}` {}{nearest}",
        which_text(
            like,
            "is not in both runs; `compare` without --explain lists the benchmarks"
        )
    )]
    NoSuchBenchmark {
        wanted: String,
        /// The ids that contain it.
        like: Vec<String>,
        /// The name that may have been meant.
        nearest: Suggestion,
    },
    /// The argument does not select exactly one benchmark of the run.
    #[error(
        "`{wanted}` {}{nearest}",
        which_text(like, "is not in the run; `cargo topdown report` lists its benchmarks")
    )]
    NotInRun {
        wanted: String,
        /// The ids that contain it.
        like: Vec<String>,
        /// The name that may have been meant.
        nearest: Suggestion,
    },
    /// No name of the run begins with the group.
    #[error(
        "no benchmark's name begins with `{group}/`; name a group, or a second benchmark to \
         compare `{group}` with{nearest}"
    )]
    NoSuchGroup {
        group: String,
        /// The name that may have been meant.
        nearest: Suggestion,
    },
    /// The patterns match no benchmark of the history.
    #[error(
        "no benchmark matches `{wanted}`; `cargo topdown history` without --benchmark lists \
         them{nearest}"
    )]
    NoSuchHistory {
        wanted: String,
        /// The name that may have been meant.
        nearest: Suggestion,
    },
    /// A filter expression cannot be understood.
    #[error(transparent)]
    Expression(#[from] ExpressionError),
    /// A filter expression matches nothing.
    #[error("no benchmark of `{run}` matches `{expression}`; `cargo topdown report` lists them")]
    NothingSelected {
        /// The run's label.
        run: String,
        expression: String,
    },
    /// `bench` was to write a report of a comparison that it does not make.
    #[error(
        "`--report {report}` needs a comparison: add `--against REF`, or use `cargo topdown \
         compare --report {report}` after this run"
    )]
    ReportNeedsComparison {
        /// The report as requested.
        report: String,
    },
    /// Lines were requested of a run that is not compared.
    #[error(
        "`--annotate` shows what changed between two sides, so it needs `--against`; \
         `cargo topdown annotate BENCH` shows the lines of one"
    )]
    AnnotateNeedsComparison,
    /// A flag for lines was given without them.
    #[error("`{flag}` says how to show lines; add `--annotate`")]
    NeedsAnnotate { flag: &'static str },
    /// No benchmark changed whose lines could be shown.
    #[error(
        "no benchmark's slots changed, so there are no lines to show; name one with \
         `--annotate=BENCH`"
    )]
    NothingToAnnotate,
    /// A side of a comparison cannot be launched for its lines.
    #[error(
        "the lines of `{run}` are unknown, because a stored run does not hold them and its \
         executables cannot be launched again: {reason}; `cargo topdown bench --against COMMIT \
         --annotate` builds and launches both sides"
    )]
    NotAnnotated {
        /// The name of the run.
        run: String,
        #[source]
        reason: RelaunchError,
    },
    /// The name of a profile does not say its format.
    #[error(
        "cannot tell the format of the profile {}; its name must end with `.folded` (folded \
         stacks) or `.json` (speedscope)",
        path.display()
    )]
    ProfileFormat {
        /// The file as given.
        path: PathBuf,
    },
    /// The run has no call paths.
    #[error(
        "{run} has no call paths; modelled launches follow calls with `cargo topdown bench \
         --paths`"
    )]
    NoCallPaths {
        /// What the user calls the run.
        run: String,
    },
    /// The history has too few runs to find changes.
    #[error(
        "the history has only {runs} of the {least} runs of this kind that change points need; \
         save more with `cargo topdown bench --save NAME`"
    )]
    ShortHistory {
        /// Number of its runs.
        runs: usize,
        /// The number needed.
        least: usize,
    },
    /// A run cannot be read.
    #[error(transparent)]
    RunFile(#[from] RunFileError),
    /// An argument is not a baseline's name.
    #[error("not the name of a baseline: {0}")]
    BaselineName(BaselineNameError),
    /// The requested source does not exist.
    #[error(transparent)]
    Source(#[from] topdown_counters::error::OpenError),
    /// A report could not be written to its file.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// The comparison of a pull request is invalid.
    #[error(transparent)]
    ForeignComparison(#[from] ForeignComparisonError),
    /// A report could not be printed.
    #[error("could not print the report: {0}")]
    Output(#[from] io::Error),
}

impl From<ConfigError> for Error {
    fn from(error: ConfigError) -> Error {
        Error::Workspace(error.into())
    }
}

fn which_text(like: &[String], missing: &str) -> String {
    match like {
        [] => missing.to_owned(),
        like => format!(
            "matches several benchmarks; name one of\n  {}",
            like.join("\n  ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_compared_with_itself() {
        let error = Error::SameRun {
            baseline: "main".to_owned(),
            candidate: "the newest run".to_owned(),
            id: "20261122T122922Z-7ddd0d5ad15a4f84".to_owned(),
        };
        insta::assert_snapshot!(error.to_string());
    }
}
