//! A store in a branch of a git repository, without a work tree.
//!
//! Commits are built from objects and a temporary index, and pushed. The remote rejects the second
//! of two concurrent pushes; that writer fetches the other's commit and puts its own runs on top.
//! Their names differ, so nothing is ever merged. Removing runs starts the branch over with a new
//! root commit, since git's history would keep what was removed.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use topdown_run::run_file::RunFileProblem;

use super::{Backend, BackendError, Listed, Outgoing, RunLocation, WantedFile};
use topdown_system::scratch::Scratch;
use topdown_system::waits;

/// Maximum attempts of a push while others push too.
const ATTEMPTS: u32 = 30;

/// Maximum failures of a push while the branch does not change: then the remote is not going to
/// take it.
const ATTEMPTS_WITHOUT_CHANGE: u32 = 4;

/// The longest pause before the second attempt. Each further attempt adds as much, up to one
/// second.
const PAUSE: Duration = Duration::from_millis(50);

/// The namespace for the last fetched commit, away from the user's branches.
const REFERENCES: &str = "refs/cargo-topdown";

/// The null object id, which removes an index entry.
const NO_OBJECT: &str = "0000000000000000000000000000000000000000";

pub struct GitBranch {
    /// Where git runs: in the repository whose remotes and credentials are used.
    directory: PathBuf,
    remote: String,
    branch: String,
    /// The commit fetched last.
    fetched: Mutex<Option<String>>,
}

/// The difference between a new commit and its parent.
#[derive(Default)]
struct Change {
    /// Paths and their new object ids.
    added: Vec<(String, String)>,
    removed: Vec<String>,
}

/// A file in a commit.
struct GitFile {
    id: String,
    bytes: u64,
}

impl GitBranch {
    /// Uses `branch` of `remote`, which is anything that `git push` in `directory` takes.
    pub fn new(directory: PathBuf, remote: String, branch: String) -> GitBranch {
        GitBranch {
            directory,
            remote,
            branch,
            fetched: Mutex::default(),
        }
    }

    /// Fetches the branch's newest commit; `None` if the remote has no such branch.
    ///
    /// Never wait for a lock: a killed git leaves its lock file behind.
    fn tip(&self) -> Result<Option<String>, BackendError> {
        let there = format!("refs/heads/{}", self.branch);
        let mut attempt = 0;
        loop {
            pause(attempt);
            attempt += 1;
            let listed =
                self.output(&["ls-remote", "--exit-code", &self.remote, &there], &[], "")?;
            // git documents this code: no such reference.
            if listed.status.code() == Some(2) {
                return Ok(None);
            }
            let listed = checked(listed, "ls-remote")?;
            // git also lists references that only end in this name.
            let mut lines = listed.lines().filter_map(|line| line.split_once('\t'));
            let Some((id, _)) = lines.find(|(_, reference)| *reference == there) else {
                return Ok(None);
            };
            // With an empty refmap, the user's remote-tracking branches are not updated either.
            let fetch = [
                "fetch",
                "--quiet",
                "--no-tags",
                "--refmap=",
                &self.remote,
                &there,
            ];
            let fetched = self.git(&fetch).and_then(|_| {
                // Another writer may have started the branch over in between.
                self.git(&["cat-file", "-e", &format!("{id}^{{commit}}")])
            });
            match fetched {
                Ok(_) => {
                    // Keeps the commit for the next fetch. It does not matter if another process
                    // holds the lock.
                    let here = format!("{REFERENCES}/{}", self.branch);
                    let _ = self.git(&["update-ref", &here, id]);
                    *self.last_fetched() = Some(id.to_owned());
                    return Ok(Some(id.to_owned()));
                }
                Err(error) if attempt == ATTEMPTS_WITHOUT_CHANGE => return Err(error),
                Err(_) => {}
            }
        }
    }

    fn last_fetched(&self) -> MutexGuard<'_, Option<String>> {
        self.fetched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the paths of all files in a commit.
    fn paths(&self, commit: &str) -> Result<Vec<String>, BackendError> {
        let list = self.git(&["ls-tree", "-r", "-z", "--name-only", "--full-tree", commit])?;
        Ok(list.split_terminator('\0').map(str::to_owned).collect())
    }

    /// Returns when each path of `tip` was added, by its commit's time.
    fn times_of_arrival(&self, tip: &str) -> Result<HashMap<String, Timestamp>, BackendError> {
        let log = [
            "log",
            "-z",
            "--format=tformat:%x01%ct",
            "--name-only",
            "--diff-filter=A",
            "--no-renames",
            "--root",
            tip,
        ];
        let mut times = HashMap::new();
        let mut of_commit = Timestamp::MAX;
        for word in self.git(&log)?.split(['\0', '\n']) {
            match word.strip_prefix('\x01') {
                Some(seconds) => {
                    let parsed = seconds.parse().ok();
                    let at = parsed.and_then(|seconds| Timestamp::from_second(seconds).ok());
                    of_commit = at.unwrap_or(Timestamp::MAX);
                }
                // Newest first: the latest addition counts.
                None => {
                    times.entry(word.to_owned()).or_insert(of_commit);
                }
            }
        }
        Ok(times)
    }

    /// Returns the object at `path` in `commit`, which must be a regular file; `None` if there is
    /// nothing.
    fn file(&self, commit: &str, path: &str) -> Result<Option<GitFile>, BackendError> {
        let listed = self.git(&["ls-tree", "-z", "--full-tree", "-l", commit, path])?;
        let Some(entry) = listed.split_terminator('\0').next() else {
            return Ok(None);
        };
        let in_file = |problem| BackendError::in_file(path, problem);
        let mut words = entry.split_whitespace();
        let (mode, kind, id, bytes) = (words.next(), words.next(), words.next(), words.next());
        match (mode, kind, id, bytes.and_then(|bytes| bytes.parse().ok())) {
            (Some("100644" | "100755"), Some("blob"), Some(id), Some(bytes)) => Ok(Some(GitFile {
                id: id.to_owned(),
                bytes,
            })),
            (Some("120000"), ..) => Err(in_file(RunFileProblem::NotAFile { found: "a link" })),
            _ => Err(in_file(RunFileProblem::NotAFile {
                found: "a directory",
            })),
        }
    }

    /// Writes the tree of `commit` with this change.
    fn changed_tree(&self, commit: Option<&str>, change: &Change) -> Result<String, BackendError> {
        let scratch = Scratch::new().map_err(|error| BackendError::Io {
            path: std::env::temp_dir(),
            error,
        })?;
        let index = scratch.path().join("index");
        let index = [("GIT_INDEX_FILE", index.as_os_str())];
        if let Some(commit) = commit {
            checked(
                self.output(&["read-tree", commit], &index, "")?,
                "read-tree",
            )?;
        }
        let added = change.added.iter();
        let lines: Vec<String> = added
            .map(|(path, id)| format!("100644 {id}\t{path}\0"))
            .chain(
                change
                    .removed
                    .iter()
                    .map(|path| format!("0 {NO_OBJECT}\t{path}\0")),
            )
            .collect();
        let update = ["update-index", "-z", "--index-info"];
        checked(
            self.output(&update, &index, &lines.concat())?,
            "update-index",
        )?;
        checked(self.output(&["write-tree"], &index, "")?, "write-tree")
    }

    /// Pushes the commit that `commit_on` makes from the branch's newest commit, and starts again
    /// for each commit that others push meanwhile. `None` leaves the branch unchanged.
    fn replace<T>(
        &self,
        mut commit_on: impl FnMut(Option<&str>) -> Result<(Option<String>, T), BackendError>,
    ) -> Result<T, BackendError> {
        let mut before = None;
        let mut without_change = 0;
        for attempt in 0..ATTEMPTS {
            pause(attempt);
            let tip = self.tip()?;
            without_change = if before == Some(tip.clone()) {
                without_change + 1
            } else {
                0
            };
            let (commit, result) = commit_on(tip.as_deref())?;
            let Some(commit) = commit else {
                return Ok(result);
            };
            let there = format!("refs/heads/{}", self.branch);
            // Require the branch to be as we saw it. An empty id means that it does not exist.
            let lease = format!(
                "--force-with-lease={there}:{}",
                tip.as_deref().unwrap_or("")
            );
            let refspec = format!("{commit}:{there}");
            let push = [
                "push",
                "--quiet",
                "--no-verify",
                &lease,
                &self.remote,
                &refspec,
            ];
            match self.git(&push) {
                Ok(_) => return Ok(result),
                Err(error) if without_change + 1 == ATTEMPTS_WITHOUT_CHANGE => return Err(error),
                // git's message for a lost race depends on transport and version, so check whether
                // the branch has changed instead.
                Err(_) => before = Some(tip),
            }
        }
        Err(BackendError::Contended {
            branch: self.branch.clone(),
            attempts: ATTEMPTS,
        })
    }

    /// Adds a file to the repository's objects.
    fn object_of(&self, path: &Path) -> Result<String, BackendError> {
        // git runs in another directory.
        let path = std::path::absolute(path).map_err(|error| BackendError::Io {
            path: path.to_owned(),
            error,
        })?;
        let path = path.to_string_lossy();
        self.git(&["hash-object", "-w", "--no-filters", "--", &path])
    }

    fn commit(
        &self,
        tree: &str,
        parent: Option<&str>,
        message: &str,
    ) -> Result<String, BackendError> {
        let parent: Vec<&str> = parent.into_iter().flat_map(|id| ["-p", id]).collect();
        self.git(&[&["commit-tree", tree, "-m", message][..], &parent].concat())
    }

    /// Runs git and returns its output.
    fn git(&self, arguments: &[&str]) -> Result<String, BackendError> {
        checked(self.output(arguments, &[], "")?, &arguments.join(" "))
    }

    fn output(
        &self,
        arguments: &[&str],
        environment: &[(&str, &OsStr)],
        input: &str,
    ) -> Result<Output, BackendError> {
        let failure = |error: std::io::Error| BackendError::Git {
            command: arguments.join(" "),
            message: error.to_string(),
        };
        let mut git = Command::new("git");
        git.arg("-C")
            .arg(&self.directory)
            // A default committer, and no housekeeping while a benchmark may be running.
            .args([
                "-c",
                "user.name=cargo-topdown",
                "-c",
                "user.email=cargo-topdown@localhost",
            ])
            .args(["-c", "gc.auto=0", "-c", "maintenance.auto=false"])
            .args(arguments)
            // A prompt would wait forever in CI.
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C")
            .envs(environment.iter().copied());
        waits::GIT
            .output_for(&mut git, input.as_bytes())
            .map_err(failure)
    }
}

/// Waits before an attempt, except the first.
fn pause(attempt: u32) {
    if attempt > 0 {
        let longest = (PAUSE * attempt).min(Duration::from_secs(1));
        thread::sleep(longest.mul_f64(fastrand::f64()));
    }
}

fn checked(output: Output, command: &str) -> Result<String, BackendError> {
    if output.status.success() {
        let text = String::from_utf8_lossy(&output.stdout);
        return Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned());
    }
    Err(checked_error(&output, command))
}

fn checked_error(output: &Output, command: &str) -> BackendError {
    BackendError::Git {
        command: command.to_owned(),
        message: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    }
}

impl Backend for GitBranch {
    fn list(&self) -> Result<Vec<Listed>, BackendError> {
        let Some(tip) = self.tip()? else {
            return Ok(Vec::new());
        };
        let times = self.times_of_arrival(&tip)?;
        let listed = |path: &String| {
            Some(Listed {
                location: RunLocation::from_run_file(path)?,
                // Paths added by a manual merge are missing from its log.
                arrived: times.get(path).copied().unwrap_or(Timestamp::MAX),
            })
        };
        Ok(self.paths(&tip)?.iter().filter_map(listed).collect())
    }

    fn push(&self, runs: &[Outgoing]) -> Result<Vec<RunLocation>, BackendError> {
        self.replace(|tip| {
            let there: Vec<RunLocation> = match tip {
                Some(tip) => self
                    .paths(tip)?
                    .iter()
                    .filter_map(|p| RunLocation::from_run_file(p))
                    .collect(),
                None => Vec::new(),
            };
            let mut change = Change::default();
            let mut added = Vec::new();
            for run in runs.iter().filter(|run| !there.contains(&run.location)) {
                for (name, from) in run.files() {
                    let id = self.object_of(from)?;
                    change.added.push((format!("{}/{name}", run.location), id));
                }
                added.push(run.location.clone());
            }
            if added.is_empty() {
                return Ok((None, added));
            }
            let message = match &added[..] {
                [location] => format!("Run {location}"),
                several => format!("{} runs", several.len()),
            };
            let tree = self.changed_tree(tip, &change)?;
            Ok((Some(self.commit(&tree, tip, &message)?), added))
        })
    }

    fn read(
        &self,
        location: &RunLocation,
        file: WantedFile<'_>,
        to: &mut dyn Write,
    ) -> Result<bool, BackendError> {
        // Use the commit fetched by `list`: its files cannot have gone.
        let fetched = self.last_fetched().clone();
        let Some(tip) = fetched.map_or_else(|| self.tip(), |tip| Ok(Some(tip)))? else {
            return Ok(false);
        };
        let path = format!("{location}/{}", file.name);
        let Some(GitFile { id, bytes }) = self.file(&tip, &path)? else {
            return Ok(false);
        };
        if bytes > file.longest_bytes {
            let longest_bytes = file.longest_bytes;
            let problem = RunFileProblem::TooLong { longest_bytes };
            return Err(BackendError::in_file(path, problem));
        }
        let blob = self.output(&["cat-file", "blob", &id], &[], "")?;
        if !blob.status.success() {
            return Err(checked_error(&blob, "cat-file"));
        }
        to.write_all(&blob.stdout)
            .map_err(|error| BackendError::Io {
                path: path.into(),
                error,
            })?;
        Ok(true)
    }

    fn remove(&self, locations: &[RunLocation]) -> Result<(), BackendError> {
        self.replace(|tip| {
            let Some(tip) = tip else {
                return Ok((None, ()));
            };
            let is_removed = |path: &String| {
                let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
                locations
                    .iter()
                    .any(|location| location.to_string() == directory)
            };
            let change = Change {
                removed: self.paths(tip)?.into_iter().filter(is_removed).collect(),
                ..Change::default()
            };
            if change.removed.is_empty() {
                return Ok((None, ()));
            }
            let tree = self.changed_tree(Some(tip), &change)?;
            let message = "The runs that are kept";
            Ok((Some(self.commit(&tree, None, message)?), ()))
        })
    }

    fn abandoned(&self, _: bool) -> Result<Vec<String>, BackendError> {
        // A push is one commit, so an unfinished one leaves nothing visible.
        Ok(Vec::new())
    }
}
