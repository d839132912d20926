//! Exit codes: the only place that maps errors and outcomes to them.

use std::process::ExitCode;

use crate::base_tree::BaseTreeError;
use crate::error::{BisectError, CiError, Error, ExecError};
use crate::measure::MeasureError;
use topdown_adoption::AdoptionError;
use topdown_explain::ExplainError;
use topdown_gate::verdict::{Comparison, Outcome};
use topdown_runner::launching::launch_error::LaunchError;
use topdown_store::baselines::StoreError;
use topdown_store::shared::SharedStoreError;

/// The exit codes. They are part of the interface: the README lists them, and CI relies on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Nothing regressed, or the command was not a comparison.
    Success,
    /// The command line or the settings are invalid.
    Usage,
    /// A benchmark regressed.
    Regressed,
    /// Building or running a bench failed, or there was no benchmark to run.
    BenchFailed,
    /// There was no valid comparison: no such baseline, another machine, another source.
    NoComparison,
    /// The comparison was inconclusive, and the policy makes that a failure.
    Inconclusive,
    /// The comparison decided no benchmark, and the policy makes that a failure.
    NothingDecided,
    /// Ctrl-C, following the shells' convention: 128 plus the signal's number.
    Interrupted,
    /// What a process of an earlier step ended with, which may be none of these.
    AsEarlier(u8),
}

impl Exit {
    /// Returns the number.
    pub fn code(self) -> u8 {
        match self {
            Exit::Success => 0,
            Exit::Usage => 2,
            Exit::Regressed => 100,
            Exit::BenchFailed => 101,
            Exit::NoComparison => 102,
            Exit::Inconclusive => 103,
            Exit::NothingDecided => 104,
            Exit::Interrupted => 130,
            Exit::AsEarlier(code) => code,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

impl From<Outcome> for Exit {
    fn from(outcome: Outcome) -> Exit {
        match outcome {
            Outcome::Passed => Exit::Success,
            Outcome::Failed => Exit::Regressed,
            Outcome::NotComparable => Exit::NoComparison,
            Outcome::Inconclusive => Exit::Inconclusive,
            Outcome::NothingDecided => Exit::NothingDecided,
        }
    }
}

impl From<&Comparison> for Exit {
    fn from(comparison: &Comparison) -> Exit {
        if comparison.becomes_baseline {
            Exit::Success
        } else {
            Exit::from(comparison.outcome)
        }
    }
}

impl From<&Error> for Exit {
    fn from(error: &Error) -> Exit {
        match error {
            Error::BaselineName(_) | Error::Source(_) => Exit::Usage,
            Error::Adoption(error) => of_adoption(error),
            Error::Accepted(error) if error.is_of_writing() => Exit::BenchFailed,
            Error::Measure(error) => of_measure(error),
            Error::Bisect(error) => of_bisect(error),
            Error::Explain(error) => of_explain(error),
            Error::Exec(error) => of_exec(error),
            Error::Ci(error) => of_ci(error),
            Error::Store(error) => of_store(error),
            Error::SharedStore(error) => of_shared_store(error),
            Error::RunFile(_)
            | Error::Accepted(_)
            | Error::ForeignComparison(_)
            | Error::Merge(_)
            | Error::SameRun { .. }
            | Error::NothingToAnnotate
            | Error::NotAnnotated { .. }
            | Error::NoSuchHistory { .. }
            | Error::NothingSelected { .. }
            | Error::ShortHistory { .. } => Exit::NoComparison,
            Error::Import(_) | Error::NotStored(_) | Error::Output(_) | Error::Report(_) => {
                Exit::BenchFailed
            }
            Error::Metadata(_)
            | Error::Specification(_)
            | Error::Workspace(_)
            | Error::Expression(_)
            | Error::AnnotateNeedsComparison
            | Error::NeedsAnnotate { .. }
            | Error::ReportNeedsComparison { .. }
            | Error::ProfileFormat { .. }
            | Error::NoCallPaths { .. }
            | Error::NoBudgets
            | Error::NothingToAccept { .. }
            | Error::NoSuchBenchmark { .. }
            | Error::NotInRun { .. }
            | Error::NoSuchGroup { .. } => Exit::Usage,
        }
    }
}

fn of_measure(error: &MeasureError) -> Exit {
    match error {
        MeasureError::Config(_)
        | MeasureError::Expression(_)
        | MeasureError::CriterionArgument { .. }
        | MeasureError::Filter { .. } => Exit::Usage,
        MeasureError::BaseTree(error) => of_base_tree(error),
        MeasureError::Launch(LaunchError::SameExecutable { .. }) => Exit::NoComparison,
        MeasureError::Build(_)
        | MeasureError::BaseBuild { .. }
        | MeasureError::NoBenchTargets
        | MeasureError::InOtherPackages(_)
        | MeasureError::FeaturesOff(_)
        | MeasureError::NoCriterion
        | MeasureError::CutOffByRunner(_)
        | MeasureError::NoBenchmarks
        | MeasureError::AllLeftOut
        | MeasureError::NothingMatched { .. }
        | MeasureError::EmptyShard { .. }
        | MeasureError::BenchesFailed { .. }
        | MeasureError::Launch(_)
        | MeasureError::Interrupt(_)
        | MeasureError::Scratch(_) => Exit::BenchFailed,
        MeasureError::Interrupted => Exit::Interrupted,
    }
}

fn of_adoption(error: &AdoptionError) -> Exit {
    match error {
        AdoptionError::Interrupted => Exit::Interrupted,
        AdoptionError::Undone { cause, .. } => of_adoption(cause),
        AdoptionError::Io { .. }
        | AdoptionError::Unresolved { .. }
        | AdoptionError::Interrupt(_) => Exit::BenchFailed,
        AdoptionError::Toml { .. }
        | AdoptionError::NoLibrary { .. }
        | AdoptionError::WorkflowExists { .. }
        | AdoptionError::NotFound { .. } => Exit::Usage,
    }
}

/// Without a base, there is nothing to compare with.
fn of_base_tree(error: &BaseTreeError) -> Exit {
    match error {
        BaseTreeError::Unknown { .. }
        | BaseTreeError::NoDefaultBranch
        | BaseTreeError::NoMergeBase { .. }
        | BaseTreeError::IsCandidate { .. }
        | BaseTreeError::HasNothingSelected { .. }
        | BaseTreeError::Git(_) => Exit::NoComparison,
        BaseTreeError::Submodule { .. } | BaseTreeError::Busy { .. } | BaseTreeError::Io { .. } => {
            Exit::BenchFailed
        }
    }
}

fn of_bisect(error: &BisectError) -> Exit {
    match error {
        BisectError::NoRun
        | BisectError::NotAncestor { .. }
        | BisectError::Same { .. }
        | BisectError::NoRange(_)
        | BisectError::NoToolchain { .. }
        | BisectError::EmptyOverlay(_)
        | BisectError::ToolchainOrder { .. } => Exit::Usage,
        BisectError::NoBaseline(_) | BisectError::NoGoodCommit { .. } => Exit::NoComparison,
        BisectError::End { .. } | BisectError::NotKept { .. } | BisectError::Rustup { .. } => {
            Exit::BenchFailed
        }
        BisectError::Interrupted { .. } => Exit::Interrupted,
    }
}

fn of_explain(error: &ExplainError) -> Exit {
    match error {
        ExplainError::NotOne { .. } | ExplainError::NoSuchFunction { .. } => Exit::Usage,
        ExplainError::NoSlots { .. }
        | ExplainError::NoCategories(_)
        | ExplainError::NoInstructions { .. }
        | ExplainError::NoTable(_)
        | ExplainError::OneSided { .. }
        | ExplainError::NotComparable { .. }
        | ExplainError::NoSlotsCompared(_)
        | ExplainError::EventsOfOneSide { .. } => Exit::NoComparison,
    }
}

fn of_exec(error: &ExecError) -> Exit {
    match error {
        ExecError::Model => Exit::Usage,
        ExecError::Interrupted => Exit::Interrupted,
        ExecError::Launch { .. } | ExecError::Counters(_) | ExecError::Interrupt(_) => {
            Exit::BenchFailed
        }
    }
}

fn of_ci(error: &CiError) -> Exit {
    match error {
        CiError::Input { .. } | CiError::Unset(_) | CiError::LineBreak { .. } => Exit::Usage,
        CiError::File { .. } | CiError::Program(_) => Exit::BenchFailed,
        CiError::NoExitCode => Exit::NoComparison,
    }
}

fn of_store(error: &StoreError) -> Exit {
    match error {
        StoreError::NeitherFileNorName { .. } | StoreError::PartOfSuite { .. } => Exit::Usage,
        StoreError::NoOnlyOne { names, .. } if !names.is_empty() => Exit::Usage,
        StoreError::NoSuchBaseline { .. }
        | StoreError::NoOnlyOne { .. }
        | StoreError::OtherMachines { .. }
        | StoreError::NoSuchMachine { .. }
        | StoreError::NoNewestRun { .. }
        | StoreError::Unreadable(_)
        | StoreError::HistoryUnreadable(_)
        | StoreError::List { .. } => Exit::NoComparison,
        StoreError::Link { .. }
        | StoreError::FromTheFuture { .. }
        | StoreError::NotWhole { .. }
        | StoreError::NotSaved { .. }
        | StoreError::NotKept(_)
        | StoreError::NotRemoved(_) => Exit::BenchFailed,
    }
}

fn of_shared_store(error: &SharedStoreError) -> Exit {
    match error {
        SharedStoreError::NotSet
        | SharedStoreError::Address { .. }
        | SharedStoreError::NotBuilt { .. } => Exit::Usage,
        SharedStoreError::Read { .. }
        | SharedStoreError::Corrupt { .. }
        | SharedStoreError::FromTheFuture(_)
        | SharedStoreError::NoSuchBaseline { .. }
        | SharedStoreError::NothingHere { .. } => Exit::NoComparison,
        SharedStoreError::Write { .. }
        | SharedStoreError::File(_)
        | SharedStoreError::Scratch(_) => Exit::BenchFailed,
        SharedStoreError::Local(error) => of_store(error),
    }
}

#[cfg(test)]
mod tests;
