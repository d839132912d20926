//! The sources to compare against: a commit in its own worktree, or a directory.
//!
//! Each target directory has one worktree, at a fixed path and with its own target directory, which
//! is moved from commit to commit. So the last base's executables are kept and reused, and the next
//! base reuses its dependencies. Sharing a target directory with the candidate would be even
//! faster, but would confuse the executables of the two sides. For the same reason each directory
//! has a target directory of its own: cargo takes what it built from one for what it would build
//! from another whose files are older.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use thiserror::Error;

use crate::config::named_by;
use crate::waits;

/// The word for the commit at which the current branch left the default branch.
const MERGE_BASE: &str = "merge-base";

/// Candidates for the default branch, in this order.
const DEFAULT_BRANCHES: [&str; 5] = [
    "origin/HEAD",
    "origin/main",
    "origin/master",
    "main",
    "master",
];

/// How many digits of a commit's hash to show.
const SHOWN_HASH_DIGITS: usize = 12;

/// The sources of the base, ready to build.
#[derive(Debug)]
pub struct BaseTree {
    pub workspace_root: PathBuf,
    /// Where the base is built.
    pub target_directory: PathBuf,
    /// A label for people: a directory, or a reference and its commit.
    pub label: String,
    /// Whether the tree is this program's own worktree, and not a directory of the user's.
    pub is_worktree: bool,
    /// Held while the tree is in use, so that no other process moves it to another commit.
    _lock: File,
}

/// Why there are no sources to compare against.
#[derive(Debug, Error)]
pub enum BaseTreeError {
    /// git failed.
    #[error("could not get the base: `git {command}` failed: {message}")]
    Git {
        command: String,
        /// Its error output.
        message: String,
    },
    /// The reference is neither a commit nor a directory.
    #[error(
        "`{reference}` is neither a commit that git knows nor a directory with a Cargo.toml; in \
         CI, check out with the full history (`fetch-depth: 0`)"
    )]
    Unknown {
        /// The reference as given.
        reference: String,
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
        "another `bench --against` is running in {}; wait for it, or set another CARGO_TARGET_DIR",
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

impl BaseTree {
    /// Prepares the sources that `reference` names: a directory with a `Cargo.toml`, `merge-base`,
    /// or anything that git resolves to a commit. `workspace_root` is the candidate's, and `kept`
    /// where its runs are [kept](crate::config::Workspace::kept_directory).
    ///
    /// # Errors
    /// Returns an error if there is no such commit, or its worktree cannot be created.
    pub fn prepare(
        reference: &str,
        workspace_root: &Path,
        kept: &Path,
    ) -> Result<BaseTree, BaseTreeError> {
        let against = kept.join("against");
        let at = |path: &Path| {
            let path = path.to_owned();
            move |error| BaseTreeError::Io { path, error }
        };
        fs::create_dir_all(&against).map_err(at(&against))?;
        let lock = File::create(against.join("lock")).map_err(at(&against))?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => BaseTreeError::Busy {
                path: against.clone(),
            },
            TryLockError::Error(error) => at(&against)(error),
        })?;
        let directory = Path::new(reference);
        if directory.join("Cargo.toml").is_file() {
            let workspace_root = directory.canonicalize().map_err(at(directory))?;
            return Ok(BaseTree {
                target_directory: against.join("targets").join(named_by(&workspace_root)),
                workspace_root,
                label: reference.to_owned(),
                is_worktree: false,
                _lock: lock,
            });
        }
        let commit = commit_of(reference, workspace_root)?;
        let tree = against.join("tree");
        check_out(&commit, workspace_root, &tree)?;
        let inside = git(workspace_root, &["rev-parse", "--show-prefix"])?;
        let base_root = tree.join(inside);
        // A library may not commit its lock file. Without it, the base would be built with other
        // versions of its dependencies.
        let lock_file = base_root.join("Cargo.lock");
        let candidates_lock_file = workspace_root.join("Cargo.lock");
        if !lock_file.exists() && candidates_lock_file.exists() {
            fs::copy(&candidates_lock_file, &lock_file).map_err(at(&lock_file))?;
        }
        let hash = &commit[..commit.len().min(SHOWN_HASH_DIGITS)];
        Ok(BaseTree {
            workspace_root: base_root,
            target_directory: against.join("target"),
            label: format!("{reference} ({hash})"),
            is_worktree: true,
            _lock: lock,
        })
    }
}

fn commit_of(reference: &str, directory: &Path) -> Result<String, BaseTreeError> {
    if reference == MERGE_BASE {
        let branch = DEFAULT_BRANCHES
            .into_iter()
            .find(|branch| resolve(branch, directory).is_ok())
            .ok_or(BaseTreeError::NoDefaultBranch)?;
        return git(directory, &["merge-base", "HEAD", branch]);
    }
    resolve(reference, directory).map_err(|_| BaseTreeError::Unknown {
        reference: reference.to_owned(),
    })
}

fn resolve(reference: &str, directory: &Path) -> Result<String, BaseTreeError> {
    let commit = format!("{reference}^{{commit}}");
    git(
        directory,
        &["rev-parse", "--verify", "--end-of-options", &commit],
    )
}

/// Moves the worktree at `tree` to `commit`, creating it if it is missing or unusable.
fn check_out(commit: &str, repository: &Path, tree: &Path) -> Result<(), BaseTreeError> {
    let moved = tree.join(".git").exists()
        && git(
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
    git(repository, &["worktree", "prune"])?;
    let path = tree.display().to_string();
    // The second `--force` overrides the lock that git leaves behind when killed while adding a
    // worktree.
    let arguments = [
        "worktree", "add", "--quiet", "--force", "--force", "--detach",
    ];
    git(repository, &[&arguments[..], &[&path, commit]].concat())?;
    Ok(())
}

fn git(directory: &Path, arguments: &[&str]) -> Result<String, BaseTreeError> {
    let failed = |message: String| BaseTreeError::Git {
        command: arguments.join(" "),
        message,
    };
    let mut command = Command::new("git");
    command.args(arguments).current_dir(directory);
    let output = (waits::GIT.output(&mut command)).map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    } else {
        let message = String::from_utf8_lossy(&output.stderr);
        Err(failed(message.trim().to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a repository with two commits, each naming itself in the file `which`.
    fn repository() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        git(path, &["init", "--quiet", "--initial-branch=main"]).unwrap();
        fs::write(path.join("Cargo.toml"), "[workspace]\n").unwrap();
        fs::write(path.join(".gitignore"), "/target\n/Cargo.lock\n").unwrap();
        for which in ["first", "second"] {
            fs::write(path.join("which"), which).unwrap();
            git(path, &["add", "."]).unwrap();
            let who = ["-c", "user.name=a", "-c", "user.email=a@b"];
            let commit = ["commit", "--quiet", "--message", which];
            git(path, &[&who[..], &commit[..]].concat()).unwrap();
        }
        directory
    }

    fn which(repository: &Path, reference: &str) -> String {
        // A process that another test is starting can hold the lock a moment longer.
        let tree = loop {
            match BaseTree::prepare(reference, repository, &repository.join("target/topdown")) {
                Err(BaseTreeError::Busy { .. }) => std::thread::yield_now(),
                tree => break tree.unwrap(),
            }
        };
        fs::read_to_string(tree.workspace_root.join("which")).unwrap()
    }

    #[test]
    fn a_worktree_follows_the_reference_and_survives_being_damaged() {
        let repository = repository();
        let path = repository.path();
        assert_eq!(which(path, "HEAD~1"), "first");
        assert_eq!(which(path, "main"), "second");
        fs::write(path.join("target/topdown/against/tree/which"), "changed").unwrap();
        assert_eq!(which(path, "HEAD~1"), "first");
        fs::remove_file(path.join("target/topdown/against/tree/.git")).unwrap();
        assert_eq!(which(path, "HEAD"), "second");
        fs::remove_dir_all(path.join("target")).unwrap();
        assert_eq!(which(path, "HEAD~1"), "first");
    }

    #[test]
    fn issue_14_10_what_git_leaves_when_it_is_killed_is_cleared() {
        let repository = repository();
        let path = repository.path();
        let tree = path.join("target/topdown/against/tree");
        let of_git = path.join(".git/worktrees/tree");
        assert_eq!(which(path, "HEAD~1"), "first");
        // git was killed during checkout.
        fs::write(of_git.join("index.lock"), "").unwrap();
        assert_eq!(which(path, "HEAD"), "second");
        // git was killed while adding the worktree, before and after it wrote files.
        for has_files in [false, true] {
            fs::write(of_git.join("locked"), "initializing").unwrap();
            fs::remove_file(tree.join(".git")).unwrap();
            if !has_files {
                fs::remove_dir_all(&tree).unwrap();
            }
            assert_eq!(which(path, "HEAD~1"), "first");
        }
    }

    #[test]
    fn the_merge_base_is_where_the_branch_left() {
        let repository = repository();
        let path = repository.path();
        git(path, &["checkout", "--quiet", "-b", "topic", "HEAD~1"]).unwrap();
        assert_eq!(which(path, "merge-base"), "first");
        git(path, &["branch", "--quiet", "--move", "main", "trunk"]).unwrap();
        let error = BaseTree::prepare("merge-base", path, &path.join("elsewhere")).unwrap_err();
        assert!(matches!(error, BaseTreeError::NoDefaultBranch), "{error}");
    }

    #[test]
    fn a_directory_is_taken_as_it_is_by_one_at_a_time_and_other_words_are_refused() {
        let repository = repository();
        let path = repository.path();
        let other = tempfile::tempdir().unwrap();
        fs::write(other.path().join("Cargo.toml"), "").unwrap();
        let directory = other.path().display().to_string();
        let tree = BaseTree::prepare(&directory, path, &path.join("target/topdown")).unwrap();
        assert_eq!(tree.workspace_root, other.path().canonicalize().unwrap());
        let kept = path.join("target/topdown/against/targets");
        assert!(tree.target_directory.starts_with(kept));
        let error = BaseTree::prepare("HEAD", path, &path.join("target/topdown")).unwrap_err();
        assert!(matches!(error, BaseTreeError::Busy { .. }), "{error}");
        let error = BaseTree::prepare("no-such", path, &path.join("elsewhere")).unwrap_err();
        assert!(
            error.to_string().contains("`no-such` is neither"),
            "{error}"
        );
    }

    #[test]
    fn a_lock_file_that_git_does_not_know_is_the_candidates() {
        let repository = repository();
        let path = repository.path();
        fs::write(path.join("Cargo.lock"), "# locked\n").unwrap();
        let tree = BaseTree::prepare("HEAD~1", path, &path.join("target/topdown")).unwrap();
        let lock = fs::read_to_string(tree.workspace_root.join("Cargo.lock")).unwrap();
        assert_eq!(lock, "# locked\n");
    }

    #[test]
    fn outside_of_git_the_message_is_gits() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let error = check_out("0000", path, &path.join("tree")).unwrap_err();
        assert!(error.to_string().contains("git worktree"), "{error}");
    }
}
