//! The submodules of the base, which `git worktree` leaves empty.
//!
//! Each becomes a worktree of the candidate's own submodule, whose repository usually has the
//! commit: nothing is downloaded, and no credentials are needed.

use std::path::Path;

use super::error::BaseTreeError;
use super::worktree::check_out_worktree;
use crate::git::{GitError, git_within};

/// The mode of a submodule in git's index.
const MODE: &str = "160000";

/// Checks out the submodules of the work tree `base` and those within them. `candidate` is the
/// same repository in the candidate's tree.
pub fn check_out(candidate: &Path, base: &Path) -> Result<(), BaseTreeError> {
    if !base.join(".gitmodules").exists() {
        return Ok(());
    }
    for (path, commit) in submodules(base)? {
        let of_candidate = candidate.join(&path);
        let of_base = base.join(&path);
        let failed = |error: GitError| BaseTreeError::Submodule {
            path: path.clone(),
            commit: commit.clone(),
            error,
        };
        let update = || {
            let words = ["submodule", "update", "--init", "--force", "--", &path];
            git_within(base, &words).map(drop).map_err(failed)
        };
        if of_candidate.join(".git").exists() {
            // Its repository may be shallow, or older than the submodule's address.
            if check_out_worktree(&commit, &of_candidate, &of_base).is_err() {
                update()?;
            }
        } else if of_candidate.is_dir() {
            // The candidate is built without it.
            continue;
        } else {
            update()?;
        }
        check_out(&of_candidate, &of_base)?;
    }
    Ok(())
}

/// Returns the path and the commit of each submodule of the work tree `base`.
fn submodules(base: &Path) -> Result<Vec<(String, String)>, GitError> {
    let listed = git_within(base, &["ls-files", "--stage", "-z"])?;
    // `mode commit stage\tpath`
    let submodule = |entry: &str| {
        let (numbers, path) = entry.split_once('\t')?;
        let mut numbers = numbers.split(' ');
        let commit = numbers
            .next()
            .filter(|mode| *mode == MODE)
            .and(numbers.next())?;
        Some((path.to_owned(), commit.to_owned()))
    };
    Ok(listed.split('\0').filter_map(submodule).collect())
}
