//! What can be wrong with a stored run.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// A problem with a file, and which file.
#[derive(Debug, Error)]
#[error("{}: {problem}", path.display())]
pub struct RunFileError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub problem: RunFileProblem,
}

/// What is wrong with the content of a file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunFileProblem {
    /// It could not be read or written.
    #[error("{0}")]
    Io(#[source] io::Error),
    /// It is not the JSON that was expected.
    #[error("not a run file: {0}")]
    Json(#[source] serde_json::Error),
    /// It carries no schema version.
    #[error("not a run file: it has no `schema_version`")]
    NoSchemaVersion,
    /// Its schema version is not one that this release reads.
    #[error(
        "schema version {found} is not known to this release, which reads version {known}; \
         update cargo-topdown and criterion-topdown to the same release"
    )]
    SchemaVersion {
        /// The version in the file.
        found: u64,
        /// The version that this release reads.
        known: u32,
    },
    /// A field holds what cannot be.
    #[error("field `{field}` {what}")]
    Field {
        /// The path of the field.
        field: String,
        /// What is wrong with it.
        what: String,
    },
}
