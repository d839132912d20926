//! Errors in a stored run.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::run_file::BenchmarkId;

/// A problem with a file, and the file.
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
    /// Something other than a regular file has its name.
    #[error("it is {found}; runs are read from regular files only")]
    NotAFile {
        /// What was found instead.
        found: &'static str,
    },
    /// It is longer than any file of its kind needs to be.
    #[error("it is longer than the limit of {longest_bytes} bytes")]
    TooLong {
        /// The limit.
        longest_bytes: u64,
    },
    /// It is in place, but perhaps not on disk.
    #[error("it is written, but a power failure may lose it: could not flush its directory: {0}")]
    NotFlushed(#[source] io::Error),
    /// It is not the expected JSON.
    #[error("not in the format of this release: {}{error}", location(field))]
    Json {
        /// The path of the field where parsing stopped; `.` before the first one.
        field: String,
        /// What was found there.
        #[source]
        error: serde_json::Error,
    },
    /// It carries no schema version.
    #[error("not a run file: it has no `schema_version`")]
    NoSchemaVersion,
    /// Its schema version is not one that this release reads.
    #[error(
        "schema version {found} is not known to this release, which reads {}; \
         update cargo-topdown and criterion-topdown to the same release",
        versions(oldest, newest)
    )]
    SchemaVersion {
        /// The version in the file.
        found: u64,
        /// The oldest version that this release reads.
        oldest: u32,
        /// The newest one.
        newest: u32,
    },
    /// A field has an invalid value.
    #[error("field `{field}` {what}")]
    Field {
        /// The path of the field.
        field: String,
        /// What is wrong with it.
        what: String,
    },
    /// A launch in the run file has no samples in the samples file, which is truncated.
    #[error(
        "there are no samples of launch {launch} of benchmark `{benchmark}`; the file is cut off"
    )]
    MissingSamples {
        /// The benchmark.
        benchmark: BenchmarkId,
        /// The launch.
        launch: u32,
    },
    /// A line of the samples file is wrong.
    #[error("line {line}: {problem}")]
    Line {
        /// The line's number, from 1.
        line: usize,
        /// What is wrong with it.
        #[source]
        problem: Box<RunFileProblem>,
    },
}

fn location(field: &str) -> String {
    // A path ends in `?` if the name of the next field could not be read.
    match field.trim_end_matches('?').trim_end_matches('.') {
        "" => String::new(),
        field => format!("field `{field}`: "),
    }
}

impl RunFileProblem {
    /// Returns whether the file does not exist.
    pub fn is_missing(&self) -> bool {
        matches!(self, RunFileProblem::Io(error) if error.kind() == io::ErrorKind::NotFound)
    }

    pub(super) fn field(field: impl Into<String>, what: impl Into<String>) -> RunFileProblem {
        RunFileProblem::Field {
            field: field.into(),
            what: what.into(),
        }
    }

    /// Returns the problem as seen from the object whose field `location` contains it.
    pub(super) fn under(self, location: &str) -> RunFileProblem {
        match self {
            RunFileProblem::Field { field, what } => RunFileProblem::Field {
                field: format!("{location}.{field}"),
                what,
            },
            other => other,
        }
    }
}

/// `version 1`, `versions 1 to 3`.
fn versions(oldest: &u32, newest: &u32) -> String {
    if oldest == newest {
        format!("version {newest}")
    } else {
        format!("versions {oldest} to {newest}")
    }
}
