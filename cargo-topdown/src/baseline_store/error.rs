//! What can go wrong with the store, and how the program then ends.

use std::io;
use std::path::{Path, PathBuf};

use criterion_topdown::run_file::{RunFileError, RunFileProblem};
use thiserror::Error;

use super::name::{BaselineName, BaselineNameError};

/// What can go wrong with the store.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The workspace could not be found.
    #[error("could not find the workspace whose baselines are meant: {0}")]
    Workspace(#[source] Box<cargo_metadata::Error>),
    /// A setting in a manifest is of another type.
    #[error("`workspace.metadata.topdown.baselines` in {} is {found}, not a directory's name", manifest.display())]
    Setting {
        /// The workspace's manifest.
        manifest: PathBuf,
        /// What it is instead.
        found: String,
    },
    /// What was given is neither a run file nor a name.
    #[error("there is no run file `{argument}`, and it is not the name of a baseline: {reason}")]
    NeitherFileNorName {
        /// What was given.
        argument: String,
        /// Why it is not a name.
        reason: BaselineNameError,
    },
    /// No baseline of this name on any machine.
    #[error(
        "there is no baseline and no run file `{name}`{}\nto make a baseline: `cargo topdown bench --save {name}`",
        others_text(names, directory)
    )]
    NoSuchBaseline {
        /// The name that was asked for.
        name: BaselineName,
        /// The names that exist.
        names: Vec<BaselineName>,
        /// Where they were looked for.
        directory: PathBuf,
    },
    /// No name was given, and there is not one baseline that could be meant.
    #[error("{}", which_baseline_text(names, directory))]
    NoOnlyOne {
        /// The names of this machine.
        names: Vec<BaselineName>,
        /// Where they were looked for.
        directory: PathBuf,
    },
    /// The baseline was taken on other machines alone.
    #[error(
        "baseline `{name}` has no run of {of}; it has runs of\n  {}\n\
         slots of different machines cannot be compared, unless all are modelled (`--source model`); \
         to take one here: `cargo topdown bench --save {name}`",
        keys.join("\n  ")
    )]
    OtherMachines {
        /// The name that was asked for.
        name: BaselineName,
        /// What it has none of, in words.
        of: String,
        /// The keys that exist.
        keys: Vec<String>,
    },
    /// The baseline has no run of the machine that was named.
    #[error(
        "baseline `{name}` has no run of a machine `{key}`; it has runs of\n  {}\n\
         to name one: `--machine KEY`",
        keys.join("\n  ")
    )]
    NoSuchMachine {
        /// The name that was asked for.
        name: BaselineName,
        /// The key that was asked for.
        key: String,
        /// The keys that exist.
        keys: Vec<String>,
    },
    /// Nothing has been measured yet.
    #[error("there is no newest run in {}; run `cargo topdown bench` first", directory.display())]
    NoNewestRun {
        /// Where it would be.
        directory: PathBuf,
    },
    /// A run cannot be read.
    #[error(transparent)]
    Unreadable(RunFileError),
    /// A run of a part of the suite would take the place of one that has more.
    #[error(
        "baseline `{name}` was not replaced: it has {benchmarks} benchmarks, and this run was not asked \
         for {lost} of them, which nothing would guard any more\n\
         to keep the run: save it under another name, or add --partial to replace the baseline all the same"
    )]
    PartOfSuite {
        /// The baseline.
        name: BaselineName,
        /// How many of its benchmarks the run was not asked for.
        lost: usize,
        /// How many it has.
        benchmarks: usize,
    },
    /// A run in which something failed would let that go unnoticed for good.
    #[error(
        "the run is not whole, so it was not saved as baseline `{name}`: {} failed in it\n\
         to get a whole run: mend what failed, or leave it out (`--leave-out PATTERN`), and run \
         `cargo topdown bench` again",
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
    /// A part of a baseline's path leads somewhere else.
    #[error(
        "{} is a link; baselines are not followed through links, so nothing would find what is \
         saved there\nto keep baselines elsewhere: `--baselines DIR`", path.display()
    )]
    Link {
        /// The link.
        path: PathBuf,
    },
    /// A run cannot be kept.
    #[error("could not save the baseline{}: {_0}", unless_written(_0))]
    NotSaved(#[source] RunFileError),
    /// A run cannot be kept in the history.
    #[error("the baseline is saved, but its history could not be written: {0}")]
    NotKept(#[source] RunFileError),
    /// A run cannot be removed.
    #[error("could not remove the baseline: {0}")]
    NotRemoved(#[source] RunFileError),
    /// The store's directory cannot be read.
    #[error("could not list the baselines in {}: {error}", directory.display())]
    List {
        /// The directory.
        directory: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
}

fn failed_text(failed: &[String]) -> String {
    let names: Vec<String> = failed.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

/// What is then in the baseline's place.
fn unless_written(error: &RunFileError) -> &'static str {
    match error.problem {
        RunFileProblem::NotFlushed(_) => "",
        _ => "; the one before is unchanged",
    }
}

fn which_baseline_text(names: &[BaselineName], directory: &Path) -> String {
    if names.is_empty() {
        return format!(
            "there is no baseline of this machine in {}\n\
             to make one: `cargo topdown bench --save NAME`",
            directory.display()
        );
    }
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    format!("say which baseline: there are {}", names.join(", "))
}

fn others_text(names: &[BaselineName], directory: &Path) -> String {
    if names.is_empty() {
        return format!("; {} holds none", directory.display());
    }
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    format!("; there are {}", names.join(", "))
}
