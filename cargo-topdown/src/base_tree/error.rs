//! Reasons why there is nothing to compare against.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::git::GitError;

/// Candidates for the default branch, in this order.
pub(super) const DEFAULT_BRANCHES: [&str; 5] = [
    "origin/HEAD",
    "origin/main",
    "origin/master",
    "main",
    "master",
];

/// The base has no usable sources.
#[derive(Debug, Error)]
pub enum BaseTreeError {
    /// git failed.
    #[error("could not get the base: {0}")]
    Git(#[from] GitError),
    /// The reference is neither a commit nor a directory.
    #[error(
        "`{reference}` is neither a commit that git knows nor a directory with a Cargo.toml{}",
        in_shallow(*is_shallow)
    )]
    Unknown {
        /// The reference as given.
        reference: String,
        is_shallow: bool,
    },
    /// The current branch and the default branch have no common commit.
    #[error("HEAD and `{branch}` have no common commit{}", in_shallow(*is_shallow))]
    NoMergeBase { branch: String, is_shallow: bool },
    /// The base is the candidate.
    #[error(
        "nothing was compared: `{reference}` is the candidate itself, {candidate}; name an \
         earlier commit, for example HEAD~1"
    )]
    IsCandidate {
        /// The reference as given.
        reference: String,
        candidate: String,
    },
    /// All that was selected is new.
    #[error("nothing was compared: {base} has no {absent}, so all selected benchmarks are new")]
    HasNothingSelected {
        base: String,
        /// What was selected by name.
        absent: String,
    },
    /// A submodule of the base is not available.
    #[error("could not check out the submodule `{path}` of the base, at {commit}: {error}")]
    Submodule {
        path: String,
        commit: String,
        error: GitError,
    },
    /// `merge-base` needs a default branch, and none was found.
    #[error(
        "there is no default branch to find the merge base with (looked for {}); name a commit \
         instead of `merge-base`",
        DEFAULT_BRANCHES.join(", ")
    )]
    NoDefaultBranch,
    /// Another process uses the only worktree.
    #[error(
        "another `bench --against` or `bisect` is running in {}; wait for it, or set another \
         CARGO_TARGET_DIR",
        path.display()
    )]
    Busy {
        /// The directory of the worktree.
        path: PathBuf,
    },
    /// A directory could not be prepared.
    #[error("could not prepare {}: {error}", path.display())]
    Io { path: PathBuf, error: io::Error },
}

impl BaseTreeError {
    /// The directory or file at `path` could not be prepared.
    pub fn at(path: &Path) -> impl Fn(io::Error) -> BaseTreeError {
        let path = path.to_owned();
        move |error| BaseTreeError::Io {
            path: path.clone(),
            error,
        }
    }
}

fn in_shallow(is_shallow: bool) -> &'static str {
    if is_shallow {
        "; this repository is shallow: check it out with the full history (`fetch-depth: 0`)"
    } else {
        ""
    }
}
