//! The commit that a reference names.

use std::path::Path;

use super::error::{BaseTreeError, DEFAULT_BRANCHES};
use crate::git::{GitError, git};

/// The word for the commit at which the current branch left the default branch.
const MERGE_BASE: &str = "merge-base";

/// Returns the commit that `reference` names in the repository around `directory`: `merge-base`, or
/// anything that git resolves to one.
///
/// # Errors
/// Returns an error if there is none.
pub fn commit_of(reference: &str, directory: &Path) -> Result<String, BaseTreeError> {
    let is_shallow = || -> Result<bool, GitError> {
        Ok(git(directory, &["rev-parse", "--is-shallow-repository"])? == "true")
    };
    if reference != MERGE_BASE {
        return resolve(reference, directory)?.ok_or(BaseTreeError::Unknown {
            reference: reference.to_owned(),
            is_shallow: is_shallow()?,
        });
    }
    for branch in DEFAULT_BRANCHES {
        if resolve(branch, directory)?.is_some() {
            return match git(directory, &["merge-base", "HEAD", branch]) {
                Err(error) if error.is_silent() => Err(BaseTreeError::NoMergeBase {
                    branch: branch.to_owned(),
                    is_shallow: is_shallow()?,
                }),
                found => Ok(found?),
            };
        }
    }
    Err(BaseTreeError::NoDefaultBranch)
}

/// Returns the commit that `reference` names; `None` if there is none.
fn resolve(reference: &str, directory: &Path) -> Result<Option<String>, GitError> {
    let commit = format!("{reference}^{{commit}}");
    let verify = ["rev-parse", "--verify", "--quiet", "--end-of-options"];
    match git(directory, &[&verify[..], &[&commit]].concat()) {
        Err(error) if error.is_silent() => Ok(None),
        found => found.map(Some),
    }
}
