//! A store in a branch of a git repository, without a work tree.
//!
//! Commits are made of objects and a temporary index, and pushed. Whoever pushes second is refused
//! by the remote, takes the other's commit and puts the own runs on top of it: they have other
//! names, so nothing is ever merged. Removing runs begins the branch anew, since what a history
//! still holds is not removed.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use criterion_topdown::run_file::RunFileProblem;
use jiff::Timestamp;

use super::{Backend, BackendError, Listed, Outgoing, Place, WantedFile};

/// How often a push is tried while others push too.
const ATTEMPTS: u32 = 30;

/// How often a push may fail while the branch stays as it is: the remote then means it.
const ATTEMPTS_WITHOUT_CHANGE: u32 = 4;

/// The longest pause before the second attempt; each further one is longer by as much, up to a
/// second.
const PAUSE: Duration = Duration::from_millis(50);

/// What was fetched last has a name there: out of the way of the user's branches.
const REFERENCES: &str = "refs/cargo-topdown";

/// The id of no object, by which an index entry is removed.
const NO_OBJECT: &str = "0000000000000000000000000000000000000000";

/// The branch.
pub struct GitBranch {
    /// Where git runs: in the repository whose remotes and credentials are used.
    directory: PathBuf,
    remote: String,
    branch: String,
    /// The commit that was fetched last.
    fetched: Mutex<Option<String>>,
}

/// What a new commit has that the one before has not, and the other way round.
#[derive(Default)]
struct Change {
    /// Paths, and the ids of the objects that they get.
    added: Vec<(String, String)>,
    removed: Vec<String>,
}

/// A file of a commit.
struct GitFile {
    id: String,
    bytes: u64,
}

impl GitBranch {
    /// `branch` of `remote`, which is what `git push` in `directory` takes.
    pub fn new(directory: PathBuf, remote: String, branch: String) -> GitBranch {
        GitBranch {
            directory,
            remote,
            branch,
            fetched: Mutex::default(),
        }
    }

    /// The branch's newest commit, fetched; `None` where the remote has no such branch.
    ///
    /// Nothing waits for a lock: a git that was killed leaves its lock for ever.
    fn tip(&self) -> Result<Option<String>, BackendError> {
        let there = format!("refs/heads/{}", self.branch);
        let mut attempt = 0;
        loop {
            pause(attempt);
            attempt += 1;
            let listed =
                self.output(&["ls-remote", "--exit-code", &self.remote, &there], &[], "")?;
            // As git documents it: no such reference.
            if listed.status.code() == Some(2) {
                return Ok(None);
            }
            let listed = checked(listed, "ls-remote")?;
            // git lists what ends in this name as well.
            let mut lines = listed.lines().filter_map(|line| line.split_once('\t'));
            let Some((id, _)) = lines.find(|(_, reference)| *reference == there) else {
                return Ok(None);
            };
            // An empty map: no reference of the user's remote is written either.
            let fetch = [
                "fetch",
                "--quiet",
                "--no-tags",
                "--refmap=",
                &self.remote,
                &there,
            ];
            let fetched = self.git(&fetch).and_then(|_| {
                // Somebody may have begun the branch anew in between.
                self.git(&["cat-file", "-e", &format!("{id}^{{commit}}")])
            });
            match fetched {
                Ok(_) => {
                    // It spares the next fetch what this one has brought, and is no loss where
                    // another process holds its lock.
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

    /// The paths of all files of a commit.
    fn paths(&self, commit: &str) -> Result<Vec<String>, BackendError> {
        let list = self.git(&["ls-tree", "-r", "-z", "--name-only", "--full-tree", commit])?;
        Ok(list.split_terminator('\0').map(str::to_owned).collect())
    }

    /// When each path of `tip` was added, as its commit says.
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
                // Newest first: the last time that it was added counts.
                None => {
                    times.entry(word.to_owned()).or_insert(of_commit);
                }
            }
        }
        Ok(times)
    }

    /// The object that `commit` has at `path`, if it is a regular file; `None` where nothing is.
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

    /// The tree of `commit` with this change.
    fn changed_tree(&self, commit: Option<&str>, change: &Change) -> Result<String, BackendError> {
        let scratch = tempfile::tempdir().map_err(|error| BackendError::Io {
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

    /// Pushes what `commit_on` makes of the branch's newest commit, again for each commit that
    /// others push meanwhile. `None` leaves the branch as it is.
    fn replace<T>(
        &self,
        mut commit_on: impl FnMut(Option<&str>) -> Result<(Option<String>, T), BackendError>,
    ) -> Result<T, BackendError> {
        let mut before = None;
        let mut without_change = 0;
        for attempt in 0..ATTEMPTS {
            pause(attempt);
            let tip = self.tip()?;
            without_change = match before == Some(tip.clone()) {
                true => without_change + 1,
                false => 0,
            };
            let (commit, result) = commit_on(tip.as_deref())?;
            let Some(commit) = commit else {
                return Ok(result);
            };
            let there = format!("refs/heads/{}", self.branch);
            // The branch must be as it was looked at. An empty id means that there is none.
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
                // git's words for a lost race differ by transport and version. Whether the branch
                // has changed tells as well.
                Err(_) => before = Some(tip),
            }
        }
        Err(BackendError::Contended {
            branch: self.branch.clone(),
            attempts: ATTEMPTS,
        })
    }

    /// Puts a file into the repository's objects.
    fn object_of(&self, path: &Path) -> Result<String, BackendError> {
        // git runs elsewhere.
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

    /// Runs git and returns what it prints.
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
        let mut child = Command::new("git")
            .arg("-C")
            .arg(&self.directory)
            // Who commits, where nobody is set; and no housekeeping while a benchmark may run.
            .args([
                "-c",
                "user.name=cargo-topdown",
                "-c",
                "user.email=cargo-topdown@localhost",
            ])
            .args(["-c", "gc.auto=0", "-c", "maintenance.auto=false"])
            .args(arguments)
            // Where nobody can answer, a question would be for ever.
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C")
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failure)?;
        if let Some(mut stdin) = child.stdin.take() {
            // A git that ends early says why on its standard error.
            let _ = stdin.write_all(input.as_bytes());
        }
        child.wait_with_output().map_err(failure)
    }
}

/// Before the first attempt there is none.
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
                place: Place::of_run_file(path)?,
                // A merge by hand adds paths that its log does not have.
                arrived: times.get(path).copied().unwrap_or(Timestamp::MAX),
            })
        };
        Ok(self.paths(&tip)?.iter().filter_map(listed).collect())
    }

    fn push(&self, runs: &[Outgoing]) -> Result<Vec<Place>, BackendError> {
        self.replace(|tip| {
            let there: Vec<Place> = match tip {
                Some(tip) => self
                    .paths(tip)?
                    .iter()
                    .filter_map(|p| Place::of_run_file(p))
                    .collect(),
                None => Vec::new(),
            };
            let mut change = Change::default();
            let mut added = Vec::new();
            for run in runs.iter().filter(|run| !there.contains(&run.place)) {
                for (name, from) in run.files() {
                    let id = self.object_of(from)?;
                    change.added.push((format!("{}/{name}", run.place), id));
                }
                added.push(run.place.clone());
            }
            if added.is_empty() {
                return Ok((None, added));
            }
            let message = match &added[..] {
                [place] => format!("Run {place}"),
                several => format!("{} runs", several.len()),
            };
            let tree = self.changed_tree(tip, &change)?;
            Ok((Some(self.commit(&tree, tip, &message)?), added))
        })
    }

    fn read(
        &self,
        place: &Place,
        file: WantedFile<'_>,
        to: &mut dyn Write,
    ) -> Result<bool, BackendError> {
        // As `list` has fetched it: nothing that was there can be gone.
        let fetched = self.last_fetched().clone();
        let Some(tip) = fetched.map_or_else(|| self.tip(), |tip| Ok(Some(tip)))? else {
            return Ok(false);
        };
        let path = format!("{place}/{}", file.name);
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
            .map_err(|error| BackendError::in_file(path, RunFileProblem::Io(error)))?;
        Ok(true)
    }

    fn remove(&self, places: &[Place]) -> Result<(), BackendError> {
        self.replace(|tip| {
            let Some(tip) = tip else {
                return Ok((None, ()));
            };
            let is_removed = |path: &String| {
                let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
                places.iter().any(|place| place.to_string() == directory)
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
        // A push is one commit, so nothing of an unfinished one can be seen.
        Ok(Vec::new())
    }
}
