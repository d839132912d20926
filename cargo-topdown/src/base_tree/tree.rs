//! The sources to compare against: a commit in its own worktree, or a directory.
//!
//! Each target directory has one worktree, at a fixed path and with its own target directory, which
//! is moved from commit to commit. So the last base's executables are kept and reused, and the next
//! base reuses its dependencies. Sharing a target directory with the candidate would be even
//! faster, but would confuse the executables of the two sides. For the same reason each directory
//! has a target directory of its own: cargo takes what it built from one for what it would build
//! from another whose files are older.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use super::error::BaseTreeError;
use super::ignored_files::IgnoredFiles;
use super::reference::commit_of;
use super::submodules;
use super::worktree::check_out_worktree;
use crate::config::named_by;
use crate::git::{GitError, git, git_within};

const LOCK_FILE: &str = "Cargo.lock";

/// Number of digits of a commit's hash to show.
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
    /// What a worktree lacks of the candidate's tree.
    ignored_files: Option<IgnoredFiles>,
    /// Held while the tree is in use, so that no other process moves it to another commit.
    _lock: File,
}

impl BaseTree {
    /// Prepares the sources that `reference` names: a directory with a `Cargo.toml`, `merge-base`,
    /// or anything that git resolves to a commit. `workspace_root` is the candidate's, and `kept`
    /// where its runs are [kept](crate::config::Workspace::kept_directory).
    ///
    /// # Errors
    /// Returns an error if the commit does not exist or is the candidate's own, or if its worktree
    /// cannot be created.
    pub fn prepare(
        reference: &str,
        workspace_root: &Path,
        kept: &Path,
    ) -> Result<BaseTree, BaseTreeError> {
        let against = kept.join("against");
        let at = BaseTreeError::at;
        let lock = locked(&against)?;
        let directory = Path::new(reference);
        if directory.join("Cargo.toml").is_file() {
            let base_root = directory.canonicalize().map_err(at(directory))?;
            if workspace_root
                .canonicalize()
                .is_ok_and(|candidate| candidate == base_root)
            {
                return Err(BaseTreeError::IsCandidate {
                    reference: reference.to_owned(),
                    candidate: base_root.display().to_string(),
                });
            }
            return Ok(BaseTree {
                target_directory: against.join("targets").join(named_by(&base_root)),
                workspace_root: base_root,
                label: reference.to_owned(),
                is_worktree: false,
                ignored_files: None,
                _lock: lock,
            });
        }
        let commit = commit_of(reference, workspace_root)?;
        if commit == git(workspace_root, &["rev-parse", "HEAD"])? && is_unchanged(workspace_root)? {
            return Err(BaseTreeError::IsCandidate {
                reference: reference.to_owned(),
                candidate: format!("{} without changes", shown(&commit)),
            });
        }
        let label = format!("{reference} ({})", shown(&commit));
        BaseTree::in_worktree(&commit, label, workspace_root, against, lock)
    }

    /// Checks `commit` out into a worktree in `directory`, where it is also built. `workspace_root`
    /// is a workspace of the same repository, at the same place within it.
    ///
    /// # Errors
    /// Returns an error if the commit does not exist, or its worktree cannot be created.
    pub fn check_out(
        commit: &str,
        workspace_root: &Path,
        directory: PathBuf,
    ) -> Result<BaseTree, BaseTreeError> {
        let lock = locked(&directory)?;
        BaseTree::in_worktree(
            commit,
            shown(commit).to_owned(),
            workspace_root,
            directory,
            lock,
        )
    }

    fn in_worktree(
        commit: &str,
        label: String,
        workspace_root: &Path,
        directory: PathBuf,
        lock: File,
    ) -> Result<BaseTree, BaseTreeError> {
        let tree = directory.join("tree");
        check_out_worktree(commit, workspace_root, &tree)?;
        let top = PathBuf::from(git(workspace_root, &["rev-parse", "--show-toplevel"])?);
        submodules::check_out(&top, &tree)?;
        let inside = git(workspace_root, &["rev-parse", "--show-prefix"])?;
        let base_root = tree.join(inside);
        copy_lock_file(workspace_root, &base_root)?;
        let ignored_files = IgnoredFiles {
            candidate: top,
            base: tree,
            list: directory.join("copied"),
        };
        ignored_files.renew()?;
        Ok(BaseTree {
            workspace_root: base_root,
            target_directory: directory.join("target"),
            label,
            is_worktree: true,
            ignored_files: Some(ignored_files),
            _lock: lock,
        })
    }

    /// Copies `files`, paths within the repository, from the user's work tree into the worktree, in
    /// place of the commit's, and removes those of an earlier call. They may bring the workspace
    /// itself, which is `workspace_root` in the user's tree.
    ///
    /// # Errors
    /// Returns an error if one cannot be copied.
    pub fn overlay(&self, files: &[String], workspace_root: &Path) -> Result<(), BaseTreeError> {
        if let Some(trees) = &self.ignored_files {
            let list = trees.list.with_file_name("overlaid");
            let earlier = fs::read_to_string(&list).unwrap_or_default();
            let is_left = |file: &&str| !files.iter().any(|own| own == file);
            for file in earlier.lines().filter(is_left) {
                let find = ["ls-files", "--error-unmatch", "--", file];
                if git_within(&trees.base, &find).is_err() {
                    // It may be gone already.
                    let _ = fs::remove_file(trees.base.join(file));
                }
            }
            let text: String = files.iter().map(|file| format!("{file}\n")).collect();
            fs::write(&list, text).map_err(BaseTreeError::at(&list))?;
            files.iter().try_for_each(|file| trees.copy_one(file))?;
            copy_lock_file(workspace_root, &self.workspace_root)?;
        }
        Ok(())
    }

    /// Copies those of `read` into the worktree that git ignores and it lacks. Returns their paths.
    ///
    /// # Errors
    /// Returns an error if one cannot be copied.
    pub fn copy_ignored(&self, read: &BTreeSet<PathBuf>) -> Result<Vec<String>, BaseTreeError> {
        match &self.ignored_files {
            Some(files) => files.copy(read),
            None => Ok(Vec::new()),
        }
    }

    /// Says what the worktree lacks of the candidate's tree, for a base that failed; `None` if that
    /// is nothing.
    pub fn missing_files(&self) -> Option<String> {
        let missing_files = self.ignored_files.as_ref()?.missing_files()?;
        Some(format!(
            "the checkout {} lacks files that git ignores: {missing_files}; if the build needs \
             them, prepare a directory and use `--against DIRECTORY`",
            self.label
        ))
    }
}

/// Copies the lock file of the candidate's workspace into the base's, unless that commits one or is
/// not there. A library may not commit its lock file. Without it, the base would be built with
/// other versions of its dependencies.
fn copy_lock_file(candidate_root: &Path, base_root: &Path) -> Result<(), BaseTreeError> {
    let (from, to) = (candidate_root.join(LOCK_FILE), base_root.join(LOCK_FILE));
    if !base_root.is_dir() || !from.exists() {
        return Ok(());
    }
    let is_committed = git_within(base_root, &["ls-files", "--error-unmatch", LOCK_FILE]).is_ok();
    if !is_committed {
        fs::copy(&from, &to).map_err(BaseTreeError::at(&to))?;
    }
    Ok(())
}

/// Creates `directory` and locks it, so that no other process moves its tree to another commit.
fn locked(directory: &Path) -> Result<File, BaseTreeError> {
    let at = BaseTreeError::at;
    fs::create_dir_all(directory).map_err(at(directory))?;
    let lock = File::create(directory.join("lock")).map_err(at(directory))?;
    lock.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => BaseTreeError::Busy {
            path: directory.to_owned(),
        },
        TryLockError::Error(error) => at(directory)(error),
    })?;
    Ok(lock)
}

/// Returns the first digits of a commit's hash.
pub fn shown(commit: &str) -> &str {
    &commit[..commit.len().min(SHOWN_HASH_DIGITS)]
}

/// Returns whether the work tree has what its commit has. A lock file that is not committed counts
/// for nothing: both sides use it.
fn is_unchanged(directory: &Path) -> Result<bool, GitError> {
    let status = git(directory, &["status", "--porcelain"])?;
    Ok(status
        .lines()
        .all(|line| line.starts_with("??") && line.ends_with(LOCK_FILE)))
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
        // Without a change, HEAD is the candidate itself.
        fs::write(path.join("change"), "").unwrap();
        directory
    }

    fn prepare(repository: &Path, reference: &str) -> Result<BaseTree, BaseTreeError> {
        // A process that another test is starting can hold the lock a moment longer.
        loop {
            match BaseTree::prepare(reference, repository, &repository.join("target/topdown")) {
                Err(BaseTreeError::Busy { .. }) => std::thread::yield_now(),
                prepared => return prepared,
            }
        }
    }

    fn which(repository: &Path, reference: &str) -> String {
        let tree = prepare(repository, reference).unwrap();
        fs::read_to_string(tree.workspace_root.join("which")).unwrap()
    }

    #[test]
    fn worktree_follows_reference_and_is_repaired() {
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
    fn leftovers_of_killed_git_are_removed() {
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
    fn the_candidate_is_no_base_of_itself() {
        let repository = repository();
        let path = repository.path();
        fs::remove_file(path.join("change")).unwrap();
        fs::write(path.join("Cargo.lock"), "").unwrap();
        let directory = path.display().to_string();
        for reference in ["HEAD", "main", "merge-base", &directory] {
            let error = prepare(path, reference).unwrap_err();
            assert!(
                matches!(error, BaseTreeError::IsCandidate { .. }),
                "{error}"
            );
        }
    }

    #[test]
    fn git_speaks_for_itself() {
        let outside = tempfile::tempdir().unwrap();
        let path = outside.path();
        for reference in ["HEAD~1", "merge-base"] {
            let error = prepare(path, reference).unwrap_err();
            assert!(
                error.to_string().contains("not a git repository"),
                "{error}"
            );
        }
        let repository = repository();
        let shallow = tempfile::tempdir().unwrap();
        let url = format!("file://{}", repository.path().display());
        git(
            shallow.path(),
            &["clone", "--quiet", "--depth=1", &url, "."],
        )
        .unwrap();
        let error = prepare(shallow.path(), "HEAD~1").unwrap_err().to_string();
        assert!(error.contains("`fetch-depth: 0`"), "{error}");
    }

    #[test]
    fn submodules_are_those_of_the_commit() {
        let inner = repository();
        let outer = repository();
        let path = outer.path();
        let url = inner.path().display().to_string();
        let add = [
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "--quiet",
            "add",
        ];
        let who = ["-c", "user.name=a", "-c", "user.email=a@b"];
        let commit = || {
            let commit = ["commit", "--quiet", "--all", "--message", "submodule"];
            git(path, &[&who[..], &commit[..]].concat()).unwrap();
        };
        git(path, &[&add[..], &[&url, "inner"]].concat()).unwrap();
        commit();
        git(&path.join("inner"), &["checkout", "--quiet", "HEAD~1"]).unwrap();
        commit();
        let which = |reference: &str| {
            let tree = prepare(path, reference).unwrap();
            let which = fs::read_to_string(tree.workspace_root.join("inner/which"));
            which.ok()
        };
        assert_eq!(which("HEAD").as_deref(), Some("first"));
        assert_eq!(which("HEAD~1").as_deref(), Some("second"));
        assert_eq!(which("HEAD").as_deref(), Some("first"));
        // The candidate's own is as it was.
        let own = fs::read_to_string(path.join("inner/which")).unwrap();
        assert_eq!(own, "first");
    }

    #[test]
    fn ignored_files_that_the_build_reads_are_copied_on_demand() {
        let repository = repository();
        let path = repository.path();
        let ignored = ["generated.rs", "unread.rs", "notes"];
        fs::write(path.join(".git/info/exclude"), ignored.join("\n")).unwrap();
        for name in ignored {
            fs::write(path.join(name), "1").unwrap();
        }
        let tree = prepare(path, "HEAD~1").unwrap();
        let generated = tree.workspace_root.join("generated.rs");
        assert!(!generated.exists());
        let missing_files = tree.missing_files().unwrap();
        assert!(
            missing_files.contains("`generated.rs`, `notes`, `unread.rs`;"),
            "{missing_files}"
        );
        // `change` is a part of the change.
        let read = ["generated.rs", "change", "which"].map(|name| path.join(name));
        let copied = tree.copy_ignored(&read.into_iter().collect()).unwrap();
        assert_eq!(copied, ["generated.rs"]);
        assert_eq!(fs::read_to_string(&generated).unwrap(), "1");
        drop(tree);
        fs::write(path.join("generated.rs"), "2").unwrap();
        prepare(path, "HEAD~1").unwrap();
        assert_eq!(fs::read_to_string(&generated).unwrap(), "2");
    }

    #[test]
    fn merge_base_is_fork_point_of_branch() {
        let repository = repository();
        let path = repository.path();
        git(path, &["checkout", "--quiet", "-b", "topic", "HEAD~1"]).unwrap();
        assert_eq!(which(path, "merge-base"), "first");
        git(path, &["branch", "--quiet", "--move", "main", "trunk"]).unwrap();
        let error = BaseTree::prepare("merge-base", path, &path.join("elsewhere")).unwrap_err();
        assert!(matches!(error, BaseTreeError::NoDefaultBranch), "{error}");
    }

    #[test]
    fn base_directory_is_locked_and_used_in_place() {
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
    fn untracked_lock_file_is_copied_from_candidate() {
        let repository = repository();
        let path = repository.path();
        fs::write(path.join("Cargo.lock"), "# locked\n").unwrap();
        let tree = BaseTree::prepare("HEAD~1", path, &path.join("target/topdown")).unwrap();
        let lock = fs::read_to_string(tree.workspace_root.join("Cargo.lock")).unwrap();
        assert_eq!(lock, "# locked\n");
    }

    #[test]
    fn overlay_may_bring_the_workspace() {
        let repository = repository();
        let benches = repository.path().join("benches");
        fs::create_dir(&benches).unwrap();
        fs::write(benches.join("Cargo.toml"), "[workspace]\n").unwrap();
        fs::write(benches.join("Cargo.lock"), "# locked\n").unwrap();
        let kept = benches.join("target/topdown");
        let tree = BaseTree::check_out("HEAD", &benches, kept).unwrap();
        assert!(!tree.workspace_root.exists());
        let files = ["benches/Cargo.toml".to_owned()];
        tree.overlay(&files, &benches).unwrap();
        for file in ["Cargo.toml", "Cargo.lock"] {
            assert!(tree.workspace_root.join(file).is_file(), "{file}");
        }
        tree.overlay(&[], &benches).unwrap();
        assert!(!tree.workspace_root.join("Cargo.toml").exists());
    }

    #[test]
    fn outside_git_the_message_is_from_git() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let error = check_out_worktree("0000", path, &path.join("tree")).unwrap_err();
        assert!(error.to_string().contains("git worktree"), "{error}");
    }
}
