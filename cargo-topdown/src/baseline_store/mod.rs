//! Stores runs: the newest one, and the baselines by name and machine.
//!
//! A baseline is a directory `NAME/MACHINE-KEY/` in the store's directory. It holds the two files
//! of a run and, in `history/`, the baseline's earlier runs. So one name can have a baseline for
//! each of several machines, and a store can be committed. A run whose benchmarks are all modelled
//! belongs to its modelled core instead of a machine. `criterion_topdown::run_file` replaces runs
//! atomically.

mod error;
pub mod history;
mod name;
mod place;
#[cfg(test)]
pub mod tests;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use criterion_topdown::machine::Machine;
use criterion_topdown::run_file::{
    self, RUN_FILE_NAME, Run, RunFileError, RunFileProblem, Selection, parse_run,
};

use history::RunName;
use jiff::Timestamp;
use tempfile::TempDir;

use topdown_gate::selection::Asked;

use crate::config::Workspace;
use crate::nearest::{Suggestion, nearest};

pub use error::StoreError;
pub use name::{BaselineName, BaselineNameError, is_machine_key};
pub use place::StorePlace;

/// The newest run's directory, inside the target directory.
const NEWEST: &str = "topdown/newest";

/// The same for runs of commands, which `exec` makes: no suite is ever compared with them.
const NEWEST_OF_COMMANDS: &str = "topdown/newest-exec";

/// The package and bench target under which commands are stored.
pub const COMMANDS: (&str, &str) = ("exec", "command");

/// The baseline that is meant where none is named and there are several.
const DEFAULT_NAME: &str = "main";

/// The store of one workspace, as seen from one machine.
#[derive(Debug)]
pub struct BaselineStore {
    directory: PathBuf,
    newest: PathBuf,
    newest_of_commands: PathBuf,
    machine: Machine,
}

/// This process's run, even if another process replaces the workspace's newest run meanwhile.
#[derive(Debug)]
pub struct OwnRun {
    directory: TempDir,
}

impl OwnRun {
    /// Returns the directory that holds the run.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// A run in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredBaseline {
    pub name: BaselineName,
    /// The [`key`](Run::key) of its run: that of the machine it was taken on, or of a modelled
    /// core.
    pub machine_key: String,
    /// The directory that holds its files.
    pub directory: PathBuf,
}

impl StoredBaseline {
    /// Returns the files of all its runs, oldest first; only its current one if it has no history.
    ///
    /// # Errors
    /// Returns an error if they cannot be listed.
    pub fn runs(&self) -> Result<Vec<PathBuf>, StoreError> {
        runs_of(&self.directory)
    }
}

/// Reads all runs of the baseline in `directory`, in the order in which they started, and returns
/// the errors of those that cannot be read.
///
/// # Errors
/// Returns an error if they cannot be listed.
pub fn read_runs(directory: &Path) -> Result<(Vec<Run>, Vec<RunFileError>), StoreError> {
    read_newest_runs(directory, usize::MAX)
}

/// Like [`read_runs`], but reads only the newest `most` runs.
///
/// # Errors
/// Returns an error if they cannot be listed.
pub fn read_newest_runs(
    directory: &Path,
    most: usize,
) -> Result<(Vec<Run>, Vec<RunFileError>), StoreError> {
    let mut runs = Vec::new();
    let mut unreadable = Vec::new();
    let paths = runs_of(directory)?;
    for path in &paths[paths.len().saturating_sub(most)..] {
        match history::read(path) {
            Ok((_, run)) => runs.push(run),
            Err(error) => unreadable.push(error),
        }
    }
    // By instant, since time zone offsets may differ. A run without a valid time was never in a
    // history.
    runs.sort_by_cached_key(|run| run.started_at.parse::<Timestamp>().ok());
    Ok((runs, unreadable))
}

fn runs_of(directory: &Path) -> Result<Vec<PathBuf>, StoreError> {
    history::runs(directory).map_err(StoreError::HistoryUnreadable)
}

impl BaselineStore {
    /// The store of `workspace` on this machine: `directory` if given, else what the workspace's
    /// manifest sets, else `baselines/` in its root.
    pub fn of_workspace(workspace: &Workspace, directory: Option<&Path>) -> BaselineStore {
        let metadata = &workspace.metadata;
        let default = || {
            let set = workspace.config.baselines();
            let root = metadata.workspace_root.as_std_path();
            root.join(set.unwrap_or(Path::new("baselines")))
        };
        BaselineStore {
            directory: directory.map_or_else(default, Path::to_owned),
            newest: metadata.target_directory.as_std_path().join(NEWEST),
            newest_of_commands: (metadata.target_directory.as_std_path()).join(NEWEST_OF_COMMANDS),
            machine: Machine::of_this_machine(),
        }
    }

    /// Returns where the baselines are kept.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns where the baseline `name` of the machine with this key is kept.
    pub fn directory_of(&self, name: &BaselineName, machine_key: &str) -> PathBuf {
        self.directory.join(name.as_path()).join(machine_key)
    }

    /// Returns where the newest run is kept.
    pub fn newest_directory(&self) -> &Path {
        &self.newest
    }

    /// Reads the newest run.
    ///
    /// # Errors
    /// Returns an error if there is none, or it cannot be read.
    pub fn newest(&self) -> Result<Run, StoreError> {
        run_file::read_run(&self.newest_path()?).map_err(StoreError::Unreadable)
    }

    /// Returns the path of the newest run.
    ///
    /// # Errors
    /// Returns an error if there is none.
    pub fn newest_path(&self) -> Result<PathBuf, StoreError> {
        if is_run(&self.newest) {
            Ok(self.newest.clone())
        } else {
            let directory = self.newest.clone();
            Err(StoreError::NoNewestRun { directory })
        }
    }

    /// Returns the path of the newest run that can be compared with the baseline `base`: of a
    /// command if it is one's, else of a suite.
    ///
    /// # Errors
    /// Returns an error if there is none.
    pub fn newest_for(&self, base: &str) -> Result<PathBuf, StoreError> {
        if !is_run(&self.newest_of_commands) {
            return self.newest_path();
        }
        let base = self.resolve(base)?;
        let base = run_file::read_run(&base).map_err(StoreError::Unreadable)?;
        if is_of_command(&base) {
            Ok(self.newest_of_commands.clone())
        } else {
            self.newest_path()
        }
    }

    /// Makes the run that `write` writes into a directory the newest one.
    ///
    /// # Errors
    /// Returns an error if it cannot be written.
    pub fn make_newest(
        &self,
        write: impl FnOnce(&Path) -> Result<(), RunFileError>,
    ) -> Result<OwnRun, RunFileError> {
        let directory = tempfile::tempdir().map_err(|error| RunFileError {
            path: std::env::temp_dir(),
            problem: RunFileProblem::Io(error),
        })?;
        write(directory.path())?;
        let run = run_file::read_run(directory.path())?;
        let newest = if is_of_command(&run) {
            &self.newest_of_commands
        } else {
            &self.newest
        };
        run_file::copy_run(directory.path(), newest)?;
        Ok(OwnRun { directory })
    }

    /// Returns the path of the run that `argument` refers to: a baseline of this machine, else a
    /// run file or a directory that holds one. Baseline names come first, so that a directory that
    /// happens to be called `main` never shadows the baseline; `./main` is always the directory.
    ///
    /// # Errors
    /// Returns an error that lists what exists if it is neither.
    pub fn resolve(&self, argument: &str) -> Result<PathBuf, StoreError> {
        self.resolve_for(argument, || self.key_of_newest())
    }

    /// Like [`resolve`](BaselineStore::resolve), for comparison with a run that has the key
    /// `wanted`.
    ///
    /// # Errors
    /// As [`resolve`](BaselineStore::resolve).
    pub fn resolve_for(
        &self,
        argument: &str,
        wanted: impl FnOnce() -> Option<String>,
    ) -> Result<PathBuf, StoreError> {
        let named = argument.parse::<BaselineName>();
        let found = match &named {
            Ok(name) => self.find_for(name, wanted),
            Err(reason) => Err(StoreError::NeitherFileNorName {
                argument: argument.to_owned(),
                reason: reason.clone(),
            }),
        };
        match found {
            Ok(stored) => Ok(stored.directory),
            Err(_) if is_run(Path::new(argument)) => Ok(argument.into()),
            Err(error) => Err(error),
        }
    }

    /// Finds the baseline `name` of this machine, or of a modelled core. If it has both, prefers
    /// the one that the newest run can be compared with.
    ///
    /// # Errors
    /// Returns an error that lists what exists if there is none.
    pub fn find(&self, name: &BaselineName) -> Result<StoredBaseline, StoreError> {
        self.find_for(name, || self.key_of_newest())
    }

    fn find_for(
        &self,
        name: &BaselineName,
        wanted: impl FnOnce() -> Option<String>,
    ) -> Result<StoredBaseline, StoreError> {
        let all = self.list()?;
        let of_name: Vec<&StoredBaseline> =
            all.iter().filter(|stored| stored.name == *name).collect();
        let is_of_this_machine =
            |stored: &&&StoredBaseline| self.machine.may_compare(&stored.machine_key);
        let with_key = |key: &str| {
            of_name
                .iter()
                .find(|stored| stored.machine_key == key)
                .copied()
        };
        let this_key = self.machine.key();
        let mut wanted_key = None;
        let found = match of_name[..] {
            // Avoids reading the run it is for, which may be large.
            [only] if is_of_this_machine(&&only) => Some(only),
            // Prefer the machine that took the run, whichever machine judges it. If none of the
            // others fits, the comparison will say why.
            _ => {
                wanted_key = wanted();
                let key = wanted_key.as_deref().unwrap_or(&this_key);
                with_key(key)
                    .or_else(|| with_key(&this_key))
                    .or_else(|| of_name.iter().find(is_of_this_machine).copied())
            }
        };
        match found {
            Some(stored) => Ok(stored.clone()),
            None if of_name.is_empty() => Err(self.no_such(name, all)),
            None => Err(StoreError::OtherMachines {
                name: name.clone(),
                of: match wanted_key {
                    Some(key) if key != this_key => {
                        format!("the machine of the run that is judged ({key})")
                    }
                    _ => format!("this machine, {} ({this_key})", self.machine),
                },
                keys: of_name.iter().map(|s| s.machine_key.clone()).collect(),
            }),
        }
    }

    fn key_of_newest(&self) -> Option<String> {
        self.newest().ok().map(|run| run.key())
    }

    /// Returns the baseline of this machine or a modelled core that is meant if none is named: the
    /// only one, or else `main`.
    ///
    /// # Errors
    /// Returns an error if there is none, or there are several without `main`.
    pub fn default_one(&self) -> Result<StoredBaseline, StoreError> {
        let mut names: Vec<BaselineName> = self
            .list()?
            .into_iter()
            .filter(|stored| self.machine.may_compare(&stored.machine_key))
            .map(|stored| stored.name)
            .collect();
        names.dedup();
        match &names[..] {
            [name] => self.find(name),
            several => match several.iter().find(|name| name.as_str() == DEFAULT_NAME) {
                Some(name) => self.find(name),
                None => Err(StoreError::NoOnlyOne {
                    directory: self.directory.clone(),
                    names,
                }),
            },
        }
    }

    /// Lists the baselines of all machines, by name and key. Skips everything that is not a run. A
    /// store that does not exist yet is empty.
    ///
    /// # Errors
    /// Returns an error if a directory cannot be read.
    pub fn list(&self) -> Result<Vec<StoredBaseline>, StoreError> {
        let mut found = Vec::new();
        list_below(&self.directory, &mut Vec::new(), &mut found).map_err(|error| {
            StoreError::List {
                directory: self.directory.clone(),
                error,
            }
        })?;
        found.sort_by(|a, b| (&a.name, &a.machine_key).cmp(&(&b.name, &b.machine_key)));
        Ok(found)
    }

    /// Refuses `selection`, of a run with the key `machine_key`, as the next baseline `name` if the
    /// current one has benchmarks outside the selection: nothing would guard them any more.
    /// Benchmarks that are gone from the suite do not count. A baseline that cannot be read guards
    /// nothing.
    ///
    /// # Errors
    /// Returns an error if the selection is refused.
    pub fn check_replaces_whole(
        &self,
        name: &BaselineName,
        machine_key: &str,
        selection: &Selection,
    ) -> Result<(), StoreError> {
        let Ok(before) = run_file::read_run(&self.directory_of(name, machine_key)) else {
            return Ok(());
        };
        let asked = Asked::new(selection);
        let lost = before
            .benchmarks
            .iter()
            .filter(|benchmark| asked.left_out(&benchmark.id).is_some())
            .count();
        match lost {
            0 => Ok(()),
            lost => Err(StoreError::PartOfSuite {
                name: name.clone(),
                lost,
                benchmarks: before.benchmarks.len(),
            }),
        }
    }

    /// Saves a copy of the run at `from` as baseline `name` under the run's [`key`](Run::key), and
    /// adds it to the baseline's [history].
    ///
    /// # Errors
    /// Returns an error if the run cannot be read or written. The previous baseline then stays,
    /// unless only the history could not be written: then the new one has replaced it.
    pub fn save(&self, name: &BaselineName, from: &Path) -> Result<StoredBaseline, StoreError> {
        let from = run_file::run_file_of(from);
        let unreadable = |problem| {
            StoreError::Unreadable(RunFileError {
                path: from.clone(),
                problem,
            })
        };
        let json = run_file::read_bytes(&from).map_err(StoreError::Unreadable)?;
        RunName::new(&json).map_err(unreadable)?;
        let run = parse_run(&json).map_err(unreadable)?;
        if !run.failed.is_empty() {
            return Err(StoreError::NotWhole {
                name: name.clone(),
                failed: run.failed,
            });
        }
        let machine_key = run.key();
        let directory = self.directory_to_write(name, &machine_key)?;
        keep_current(&directory).map_err(StoreError::NotSaved)?;
        run_file::copy_run(&from, &directory).map_err(StoreError::NotSaved)?;
        // After the baseline, so that a failed save leaves no run behind.
        history::add(&directory, &json).map_err(StoreError::NotKept)?;
        Ok(StoredBaseline {
            name: name.clone(),
            machine_key,
            directory,
        })
    }

    /// Like [`directory_of`](BaselineStore::directory_of), but for writing: refuses links, which
    /// would lead out of the store and which [`list`](BaselineStore::list) does not follow.
    ///
    /// # Errors
    /// Returns an error if a component of the path is a link.
    pub fn directory_to_write(
        &self,
        name: &BaselineName,
        machine_key: &str,
    ) -> Result<PathBuf, StoreError> {
        let directory = self.directory_of(name, machine_key);
        let below = directory
            .ancestors()
            .take_while(|part| *part != self.directory);
        let history = directory.join(history::HISTORY_DIRECTORY);
        let parts = below.chain([history.as_path()]);
        if let Some(link) = parts.into_iter().find(|part| part.is_symlink()) {
            let path = link.to_owned();
            return Err(StoreError::Link { path });
        }
        Ok(directory)
    }

    /// Returns the baselines to [`remove`](BaselineStore::remove) for `name`: that of the machine
    /// with this key, or those of all machines.
    ///
    /// # Errors
    /// Returns an error if there are none.
    pub fn of_name(
        &self,
        name: &BaselineName,
        machine_key: Option<&str>,
    ) -> Result<Vec<StoredBaseline>, StoreError> {
        let all = self.list()?;
        let of_name: Vec<StoredBaseline> = all
            .iter()
            .filter(|stored| stored.name == *name)
            .cloned()
            .collect();
        if of_name.is_empty() {
            return Err(self.no_such(name, all));
        }
        let Some(key) = machine_key else {
            return Ok(of_name);
        };
        match of_name.iter().find(|stored| stored.machine_key == key) {
            Some(stored) => Ok(vec![stored.clone()]),
            None => Err(StoreError::NoSuchMachine {
                name: name.clone(),
                key: key.to_owned(),
                keys: of_name.into_iter().map(|s| s.machine_key).collect(),
            }),
        }
    }

    /// Removes a baseline with its history, and the directories this leaves empty.
    ///
    /// # Errors
    /// Returns an error if it cannot be removed.
    pub fn remove(&self, stored: &StoredBaseline) -> Result<(), StoreError> {
        // The history goes first: without its baseline, it could not be found, and the next
        // baseline of this name would inherit it.
        history::remove(&stored.directory).map_err(StoreError::NotRemoved)?;
        run_file::remove_run(&stored.directory).map_err(StoreError::NotRemoved)?;
        stored
            .directory
            .ancestors()
            .skip(1)
            .take_while(|directory| *directory != self.directory)
            // Stops at the first directory that is not empty.
            .all(|directory| fs::remove_dir(directory).is_ok());
        Ok(())
    }

    fn no_such(&self, name: &BaselineName, all: Vec<StoredBaseline>) -> StoreError {
        let mut names: Vec<BaselineName> = all.into_iter().map(|stored| stored.name).collect();
        names.dedup();
        StoreError::NoSuchBaseline {
            name: name.clone(),
            nearest: Suggestion(nearest(
                name.as_str(),
                names.iter().map(BaselineName::as_str),
            )),
            names,
            is_for_use: true,
            directory: self.directory.clone(),
        }
    }
}

/// Returns whether a run is of a command and not of a suite.
fn is_of_command(run: &Run) -> bool {
    let mut ids = run.benchmarks.iter().map(|benchmark| &benchmark.id);
    !run.benchmarks.is_empty() && ids.all(|id| (&*id.package, &*id.target) == COMMANDS)
}

/// Adds the current run of the baseline in `directory` to its history before another replaces it: a
/// baseline from before there were histories is not in its own. A file that cannot be read is not a
/// baseline, so nothing is lost with it.
pub fn keep_current(directory: &Path) -> Result<(), RunFileError> {
    if let Ok(before) = run_file::read_bytes(&directory.join(RUN_FILE_NAME))
        && RunName::new(&before).is_ok()
    {
        history::add(directory, &before)?;
    }
    Ok(())
}

/// `words` is the path from the store's directory to `directory`.
fn list_below(
    directory: &Path,
    words: &mut Vec<String>,
    found: &mut Vec<StoredBaseline>,
) -> io::Result<()> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        // Do not follow links: listing a store that links to itself would never end.
        if !entry.file_type()?.is_dir() {
            continue;
        }
        let Ok(word) = entry.file_name().into_string() else {
            continue;
        };
        let path = entry.path();
        if is_file_itself(&path.join(RUN_FILE_NAME))
            && is_machine_key(&word)
            && let Ok(name) = words.join("/").parse()
        {
            found.push(StoredBaseline {
                name,
                machine_key: word.clone(),
                directory: path.clone(),
            });
        }
        words.push(word);
        list_below(&path, words, found)?;
        words.pop();
    }
    Ok(())
}

/// Returns whether `path` is a regular file, not a link to one.
pub fn is_file_itself(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file())
}

/// Returns whether `path` is a file, or a directory with a run file. Does not read it.
pub fn is_run(path: &Path) -> bool {
    path.is_file() || path.join(RUN_FILE_NAME).is_file()
}
