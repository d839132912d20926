//! Errors of the store.

use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use thiserror::Error;
use topdown_run::run_file::{RunFileError, RunFileProblem};

use super::name::{BaselineName, BaselineNameError};
use topdown_terminal::nearest::Suggestion;

/// An error of the store.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The argument is neither a run file nor a valid name.
    #[error("no run file `{argument}`, and it cannot be the name of a baseline: {reason}")]
    NeitherFileNorName {
        /// The argument as given.
        argument: String,
        /// Why it is not a name.
        reason: BaselineNameError,
    },
    /// No machine has a baseline of this name.
    #[error(
        "no baseline{} `{name}`{}{nearest}{}",
        if *is_for_use { " or run file" } else { "" },
        others_text(names, directory),
        if *is_for_use {
            format!("\nto make a baseline: `cargo topdown bench --save {name}{flags}`")
        } else {
            String::new()
        }
    )]
    NoSuchBaseline {
        /// The requested name.
        name: BaselineName,
        /// The existing names.
        names: Vec<BaselineName>,
        /// The one that may have been meant.
        nearest: Suggestion,
        /// Whether something is to be done with a run, which could also be made or be in a file.
        is_for_use: bool,
        /// The directory that was searched.
        directory: PathBuf,
        /// The flags with which other commands find the store, each after a space.
        flags: Box<str>,
    },
    /// No name was given, and there is not exactly one baseline to choose.
    #[error("{}", baseline_text(names, directory, flags))]
    NoOnlyOne {
        /// The names for this machine.
        names: Vec<BaselineName>,
        /// The directory that was searched.
        directory: PathBuf,
        /// The flags with which other commands find the store, each after a space.
        flags: Box<str>,
    },
    /// Only other machines have this baseline.
    #[error(
        "baseline `{name}` has no run of {of}; it has runs of\n  {}\n\
         slots of different machines cannot be compared, unless all are modelled \
         (`--source model`); to take one here: `cargo topdown bench --save {name}{flags}`",
        keys.join("\n  ")
    )]
    OtherMachines {
        /// The requested name.
        name: BaselineName,
        /// What it has no run of, for people.
        of: String,
        /// The existing keys.
        keys: Vec<String>,
        /// The flags with which other commands find the store, each after a space.
        flags: Box<str>,
    },
    /// The requested machine has no run of this baseline.
    #[error(
        "baseline `{name}` has no run of a machine `{key}`; it has runs of\n  {}\n\
         to name one: `--machine KEY`",
        keys.join("\n  ")
    )]
    NoSuchMachine {
        /// The requested name.
        name: BaselineName,
        /// The requested key.
        key: String,
        /// The existing keys.
        keys: Vec<String>,
    },
    /// Nothing has been measured yet.
    #[error("no run in {} yet; run `cargo topdown bench` first", directory.display())]
    NoNewestRun {
        /// The directory that was searched.
        directory: PathBuf,
    },
    /// A run cannot be read.
    #[error(transparent)]
    Unreadable(RunFileError),
    /// A run of part of the suite would replace one with more benchmarks.
    #[error(
        "baseline `{name}` was not replaced: this run did not select {lost} of its {benchmarks} \
         benchmarks, which would no longer be compared\nto keep the run: save it under another \
         name, or add --partial to replace the baseline anyway"
    )]
    PartOfSuite {
        /// The baseline.
        name: BaselineName,
        /// Number of its benchmarks that the run did not select.
        lost: usize,
        /// Their number.
        benchmarks: usize,
    },
    /// The run has failures, which would be hidden from every later comparison.
    #[error(
        "the run was not saved as baseline `{name}`, because it is incomplete: {} failed\n\
         fix what failed, or leave it out (`--leave-out PATTERN`), and run `cargo topdown bench` \
         again",
        failed_text(failed)
    )]
    NotWhole {
        /// The baseline.
        name: BaselineName,
        /// What failed.
        failed: Vec<String>,
    },
    /// A baseline's runs cannot be listed.
    #[error("could not read the baseline's history: {0}")]
    HistoryUnreadable(#[source] RunFileError),
    /// A component of a baseline's path is a link.
    #[error(
        "{} is a link, and baselines behind links are never read\n\
         to keep baselines elsewhere: `--baselines DIR`", path.display()
    )]
    Link {
        /// The link.
        path: PathBuf,
    },
    /// The run claims to have started later than now: it would stay the newest one.
    #[error(
        "the run of {started_at} was not saved as `{name}`: this machine's clock says {now}; set \
         the clock right, or measure again"
    )]
    FromTheFuture {
        /// The baseline.
        name: BaselineName,
        /// When the run says it started.
        started_at: String,
        /// The time here.
        now: Timestamp,
    },
    /// The baseline could not be written.
    #[error(
        "could not save the baseline{}: {error}\n\
         to try again without measuring: `cargo topdown baseline save {arguments}`",
        unless_written(error)
    )]
    NotSaved {
        /// Those of the command that saves the same run.
        arguments: String,
        /// The underlying error.
        // Boxed, because it would make every result of the store large.
        #[source]
        error: Box<RunFileError>,
    },
    /// The run could not be added to the history.
    #[error("the baseline is saved, but its history could not be written: {0}")]
    NotKept(#[source] RunFileError),
    /// The baseline could not be removed.
    #[error("could not remove the baseline: {0}")]
    NotRemoved(#[source] RunFileError),
    /// The store's directory cannot be read.
    #[error("could not list the baselines in {}: {error}", directory.display())]
    List {
        /// The directory.
        directory: PathBuf,
        /// The underlying error.
        #[source]
        error: io::Error,
    },
}

impl StoreError {
    /// The same error where a baseline is not to be used but removed: it does not say how to make
    /// one.
    pub fn of_removal(self) -> StoreError {
        match self {
            StoreError::NoSuchBaseline {
                name,
                names,
                nearest,
                directory,
                flags,
                ..
            } => StoreError::NoSuchBaseline {
                name,
                names,
                nearest,
                directory,
                flags,
                is_for_use: false,
            },
            other => other,
        }
    }
}

fn failed_text(failed: &[String]) -> String {
    let names: Vec<String> = failed.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

/// Says what happened to the previous run.
pub fn unless_written(error: &RunFileError) -> &'static str {
    match error.problem {
        RunFileProblem::NotFlushed(_) => "",
        _ => "; the previous one is unchanged",
    }
}

fn baseline_text(names: &[BaselineName], directory: &Path, flags: &str) -> String {
    if names.is_empty() {
        return format!(
            "no baseline of this machine in {}\n\
             to make one: `cargo topdown bench --save NAME{flags}`",
            directory.display()
        );
    }
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    format!("name a baseline: there are {}", names.join(", "))
}

fn others_text(names: &[BaselineName], directory: &Path) -> String {
    if names.is_empty() {
        return format!("; {} holds none", directory.display());
    }
    let verb = if names.len() == 1 { "is" } else { "are" };
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    format!("; there {verb} {}", names.join(", "))
}
