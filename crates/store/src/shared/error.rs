//! Errors of shared stores.

use std::io;
use std::path::PathBuf;

use thiserror::Error;
use topdown_run::run_file::{RunFileError, RunFileProblem};

use super::RunLocation;
use crate::baselines::{BaselineName, StoreError};

/// Why runs were not pushed, pulled or removed.
#[derive(Debug, Error)]
pub enum SharedStoreError {
    /// No store is configured.
    #[error(
        "no shared store is set; name one with `--store URL`, `CARGO_TOPDOWN_STORE` or \
         `workspace.metadata.topdown.store`"
    )]
    NotSet,
    /// The address is of no known kind.
    #[error(
        "`{address}` is not the address of a store: {reason}\na store is a directory, \
         `git+branch:BRANCH`, `git+URL#BRANCH`, `s3://BUCKET/PATH`, `gs://BUCKET/PATH` or \
         `az://CONTAINER/PATH`"
    )]
    Address {
        /// The address as given.
        address: String,
        /// Why it is not valid.
        reason: String,
    },
    /// The address needs a feature that this program was built without.
    #[error(
        "this cargo-topdown was built without support for stores like `{address}`; to add it: \
         `cargo install cargo-topdown --features object-store`"
    )]
    NotBuilt {
        /// The address as given.
        address: String,
    },
    /// The store could not be read.
    #[error("could not read the store {store}: {error}")]
    Read {
        /// The address of the store.
        store: String,
        /// The underlying error.
        #[source]
        error: BackendError,
    },
    /// The store could not be changed.
    #[error("could not write to the store {store}: {error}")]
    Write {
        /// The address of the store.
        store: String,
        /// Existing runs are unaffected.
        #[source]
        error: BackendError,
    },
    /// A run in the store does not match its place.
    #[error("{location} in the store {store} does not match its name: {problem}")]
    Corrupt {
        /// The address of the store.
        store: String,
        /// Where the run is.
        location: Box<RunLocation>,
        /// What is wrong with it.
        problem: RunFileProblem,
    },
    /// A run to push claims to have started later than now.
    #[error("the start time of {0} is in the future; set this machine's clock")]
    FromTheFuture(Box<RunLocation>),
    /// The store has no such baseline.
    #[error("the store {store} has no baseline `{name}` of {of}")]
    NoSuchBaseline {
        /// The address of the store.
        store: String,
        /// The baseline.
        name: BaselineName,
        /// Which machines were meant.
        of: String,
    },
    /// There are no local runs to push.
    #[error("no baselines to push{}", named(name))]
    NothingHere {
        /// The requested name.
        name: Option<BaselineName>,
    },
    /// An error of the local store.
    #[error(transparent)]
    Local(#[from] StoreError),
    /// An error with a local file.
    #[error(transparent)]
    File(#[from] RunFileError),
    /// A temporary directory could not be created.
    #[error("could not make a temporary directory: {0}")]
    Scratch(#[source] io::Error),
}

impl SharedStoreError {
    /// Returns whether only one run is affected: it is not what its name says, or its files are not
    /// what a run has. Others of the store may be good.
    pub fn is_of_one_run(&self) -> bool {
        match self {
            SharedStoreError::Corrupt { .. }
            | SharedStoreError::File(_)
            | SharedStoreError::FromTheFuture(_) => true,
            SharedStoreError::Read { error, .. } => matches!(error, BackendError::File { .. }),
            _ => false,
        }
    }
}

fn named(name: &Option<BaselineName>) -> String {
    match name {
        Some(name) => format!(" as `{name}`; `cargo topdown baseline list` shows what there is"),
        None => "; to make one: `cargo topdown bench --save NAME`".to_owned(),
    }
}

/// An error of one kind of store.
#[derive(Debug, Error)]
pub enum BackendError {
    /// A file or directory of the store could not be read or written.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The underlying error.
        #[source]
        error: io::Error,
    },
    /// A file of a run is not a regular file, or is too long.
    #[error("{path}: {problem}")]
    File {
        /// Its path in the store.
        path: String,
        /// What is wrong with it.
        #[source]
        problem: Box<RunFileProblem>,
    },
    /// git failed.
    #[error("`git {command}` failed: {message}")]
    Git {
        /// The arguments of git.
        command: String,
        /// What git reports.
        message: String,
    },
    /// Other writers won the race every time.
    #[error("{branch} was changed by others {attempts} times in a row; try again")]
    Contended {
        /// The branch.
        branch: String,
        /// Number of attempts.
        attempts: u32,
    },
    /// The object store failed.
    #[cfg(feature = "object-store")]
    #[error("{}", with_causes(error))]
    Object {
        /// The underlying error.
        #[source]
        error: Box<object_store::Error>,
    },
}

impl BackendError {
    /// Returns the error for the store's file `path`.
    pub fn in_file(path: impl Into<String>, problem: RunFileProblem) -> BackendError {
        BackendError::File {
            path: path.into(),
            problem: Box::new(problem),
        }
    }
}

/// Appends the error's causes, such as a refused connection, which the crate leaves out.
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
