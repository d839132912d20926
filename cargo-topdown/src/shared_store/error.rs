//! What can go wrong with a store that is shared.

use std::io;
use std::path::PathBuf;

use criterion_topdown::run_file::{RunFileError, RunFileProblem};
use thiserror::Error;

use super::Place;
use crate::baseline_store::{BaselineName, StoreError};

/// Why runs were not sent, fetched or removed.
#[derive(Debug, Error)]
pub enum SharedStoreError {
    /// Nobody said which store.
    #[error(
        "no shared store is set; name one with `--store URL`, `CARGO_TOPDOWN_STORE` or \
         `workspace.metadata.topdown.store`"
    )]
    NotSet,
    /// The setting is of another type.
    #[error("`workspace.metadata.topdown.store` in {} is {found}, not the address of a store", manifest.display())]
    Setting {
        /// The workspace's manifest.
        manifest: PathBuf,
        /// What it is instead.
        found: String,
    },
    /// The address is of no known kind.
    #[error(
        "`{address}` is not the address of a store: {reason}\na store is a directory, \
         `git+branch:BRANCH`, `git+URL#BRANCH`, `s3://BUCKET/PATH`, `gs://BUCKET/PATH` or \
         `az://CONTAINER/PATH`"
    )]
    Address {
        /// What was given.
        address: String,
        /// Why it is none.
        reason: String,
    },
    /// The address needs what this program was built without.
    #[error(
        "this cargo-topdown was built without `{address}`'s kind of store; to have it: \
         `cargo install cargo-topdown --features object-store`"
    )]
    #[cfg(not(feature = "object-store"))]
    NotBuilt {
        /// What was given.
        address: String,
    },
    /// The store could not be read.
    #[error("could not read the store {store}: {error}")]
    Read {
        /// Its address.
        store: String,
        /// Why.
        #[source]
        error: BackendError,
    },
    /// The store could not be changed.
    #[error("could not write to the store {store}: {error}")]
    Write {
        /// Its address.
        store: String,
        /// Why. Runs that were there before are as they were.
        #[source]
        error: BackendError,
    },
    /// A run in the store is not the one that its place promises.
    #[error("{place} in the store {store} is not what its name says: {problem}")]
    Corrupt {
        /// Its address.
        store: String,
        /// Where the run is.
        place: Box<Place>,
        /// What is wrong.
        problem: RunFileProblem,
    },
    /// The store has no such baseline.
    #[error("the store {store} has no baseline `{name}` of {of}")]
    NoSuchBaseline {
        /// Its address.
        store: String,
        /// The name.
        name: BaselineName,
        /// Which machines were meant.
        of: String,
    },
    /// There is nothing here to send.
    #[error("there are no baselines here to push{}", named(name))]
    NothingHere {
        /// The name that was asked for.
        name: Option<BaselineName>,
    },
    /// The baselines of this machine.
    #[error(transparent)]
    Local(#[from] StoreError),
    /// A file of this machine.
    #[error(transparent)]
    File(#[from] RunFileError),
    /// There is no place for temporary files.
    #[error("could not make a temporary directory: {0}")]
    Scratch(#[source] io::Error),
}

fn named(name: &Option<BaselineName>) -> String {
    match name {
        Some(name) => format!(" as `{name}`; `cargo topdown baseline list` shows what there is"),
        None => "; to make one: `cargo topdown bench --save NAME`".to_owned(),
    }
}

/// What a kind of store reports.
#[derive(Debug, Error)]
pub enum BackendError {
    /// A file or directory.
    #[error("{}: {error}", path.display())]
    Io {
        /// Which one.
        path: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// A file of a run is not a regular file, or is too long.
    #[error("{path}: {problem}")]
    File {
        /// Which one, in the store.
        path: String,
        /// Why.
        #[source]
        problem: Box<RunFileProblem>,
    },
    /// git failed.
    #[error("`git {command}` failed: {message}")]
    Git {
        /// Its arguments.
        command: String,
        /// What it said.
        message: String,
    },
    /// Others were faster every time.
    #[error("{branch} was changed by others {attempts} times in turn; try again")]
    Contended {
        /// The branch.
        branch: String,
        /// How often it was tried.
        attempts: u32,
    },
    /// An object store.
    #[cfg(feature = "object-store")]
    #[error("{}", with_causes(error))]
    Object {
        /// What it said.
        #[source]
        error: Box<object_store::Error>,
    },
}

impl BackendError {
    /// What is wrong with the file `path` of the store.
    pub fn in_file(path: impl Into<String>, problem: RunFileProblem) -> BackendError {
        BackendError::File {
            path: path.into(),
            problem: Box::new(problem),
        }
    }
}

/// The crate leaves causes, such as a refused connection, to the chain.
#[cfg(feature = "object-store")]
fn with_causes(error: &object_store::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.contains(&next) {
            text = format!("{text}: {next}");
        }
        cause = error.source();
    }
    text
}
