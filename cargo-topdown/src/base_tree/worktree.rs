//! A worktree at a commit.

use std::fs;
use std::path::Path;

use super::error::BaseTreeError;
use crate::git::git_within;

/// Moves the worktree at `tree` to `commit`, creating it if it is missing or unusable.
pub(super) fn check_out_worktree(
    commit: &str,
    repository: &Path,
    tree: &Path,
) -> Result<(), BaseTreeError> {
    let moved = tree.join(".git").exists()
        && git_within(
            tree,
            &["checkout", "--quiet", "--force", "--detach", commit],
        )
        .is_ok();
    if moved {
        return Ok(());
    }
    if tree.exists() {
        fs::remove_dir_all(tree).map_err(|error| BaseTreeError::Io {
            path: tree.to_owned(),
            error,
        })?;
    }
    git_within(repository, &["worktree", "prune"])?;
    let path = tree.display().to_string();
    // The second `--force` overrides the lock that git leaves behind when killed while adding a
    // worktree.
    let arguments = [
        "worktree", "add", "--quiet", "--force", "--force", "--detach",
    ];
    git_within(repository, &[&arguments[..], &[&path, commit]].concat())?;
    Ok(())
}
