//! Errors of adopting the library in a workspace.

use std::path::PathBuf;

use thiserror::Error;

use super::PACKAGE;

/// Why a plan could not be made or applied.
#[derive(Debug, Error)]
pub enum AdoptionError {
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The manifest or workflow.
        path: PathBuf,
        /// The underlying error.
        source: std::io::Error,
    },
    /// A manifest is not valid TOML.
    #[error("{}: {source}", path.display())]
    Toml {
        /// The manifest or workflow.
        path: PathBuf,
        /// The underlying error.
        source: toml_edit::TomlError,
    },
    /// cargo cannot find the library.
    #[error(
        "cargo cannot find the library `{PACKAGE}`, so nothing was changed:\n  {}\n\
         say where it is: `--library DIR` (a clone of its repository), `--library URL` (a git \
         repository), or `--library registry`",
        tried.join("\n  ")
    )]
    NoLibrary {
        /// The places, with what cargo says.
        tried: Vec<String>,
    },
    /// A workflow would replace a file.
    #[error(
        "{} already exists and was not changed; move it away or edit it by hand",
        path.display()
    )]
    WorkflowExists {
        /// The manifest or workflow.
        path: PathBuf,
    },
    /// A package depends on criterion, but none of its manifest's tables names it.
    #[error(
        "package `{package}` depends on criterion, but no dependency table of {} names it; \
         change the dependency by hand to `criterion = {{ package = \"criterion-topdown\", … }}`",
        path.display()
    )]
    NotFound {
        /// The package.
        package: String,
        /// The manifest or workflow.
        path: PathBuf,
    },
    /// cargo cannot resolve the workspace with the library.
    #[error(
        "cargo cannot resolve the workspace with `{PACKAGE}` in place of criterion:\n  {said}\n\
         fix this, then run `cargo topdown init --apply` again"
    )]
    Unresolved {
        /// What cargo says, indented.
        said: String,
    },
    /// The user interrupted `init`.
    #[error("interrupted")]
    Interrupted,
    /// The system refuses the handler of Ctrl-C.
    #[error("could not handle Ctrl-C: {0}")]
    Interrupt(#[source] std::io::Error),
    /// What was written until `cause` was put back.
    #[error("{cause}\n{}", undone(left))]
    Undone {
        /// The error that stopped the change.
        cause: Box<AdoptionError>,
        /// The files that could not be put back, with the reason.
        left: Vec<String>,
    },
}

impl AdoptionError {
    /// The error of what cargo says, without its warnings, which come first.
    pub(super) fn unresolved(said: &str) -> AdoptionError {
        let lines = || said.lines().filter(|line| !line.trim().is_empty());
        let start = lines().position(|line| line.starts_with("error"));
        let lines: Vec<&str> = lines().skip(start.unwrap_or(0)).collect();
        AdoptionError::Unresolved {
            said: lines.join("\n  "),
        }
    }

    /// Returns whether the user interrupted it.
    pub fn is_interrupt(&self) -> bool {
        match self {
            AdoptionError::Interrupted => true,
            AdoptionError::Undone { cause, .. } => cause.is_interrupt(),
            _ => false,
        }
    }
}

fn undone(left: &[String]) -> String {
    if left.is_empty() {
        "all files were restored".to_owned()
    } else {
        format!(
            "these files could not be restored:\n  {}",
            left.join("\n  ")
        )
    }
}
