//! The errors of `cargo topdown ci`.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why a step of the GitHub action failed.
#[derive(Debug, Error)]
pub enum CiError {
    /// An input has a value that it cannot have.
    #[error("the input `{name}` must be {expected}")]
    Input {
        name: &'static str,
        /// The possible values, or what to do.
        expected: &'static str,
    },
    /// A variable of GitHub's runner, or of action.yml, is missing.
    #[error("`{0}` is not set; `cargo topdown ci` runs in the steps of action.yml only")]
    Unset(&'static str),
    /// GitHub would read the rest of an output as further outputs.
    #[error("the output `{name}` may not have a line break")]
    LineBreak { name: &'static str },
    /// A report, or a file that GitHub reads, cannot be written.
    #[error("could not write {}: {error}", path.display())]
    File {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    /// This program could not be started again.
    #[error("could not start `cargo topdown` again: {0}")]
    Program(#[source] io::Error),
    /// The benches ended, but how is not known.
    #[error("no exit code reached the gate")]
    NoExitCode,
}

impl CiError {
    /// Makes the error for the file `path`.
    pub fn file(path: &Path, error: io::Error) -> CiError {
        CiError::File {
            path: path.to_owned(),
            error,
        }
    }
}
