//! Stores runs: the newest one, and the baselines by name and machine.
//!
//! A baseline is a directory `NAME/MACHINE-KEY/` in the store's directory. It holds the two files
//! of a run and, in `history/`, the baseline's earlier runs. So one name can have a baseline for
//! each of several machines, and a store can be committed. A run whose benchmarks are all modelled
//! belongs to its modelled core instead of a machine. `topdown_run::run_file` replaces runs
//! atomically.

mod error;
mod find;
pub mod history;
mod keep;
mod name;
mod newest;
mod shell;
#[cfg(test)]
pub mod tests;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use topdown_run::machine::Machine;
use topdown_run::run_file::{RUN_FILE_NAME, Run, RunFileError};

use newest::{NEWEST, NEWEST_OF_COMMANDS};

pub use error::{StoreError, unless_written};
pub use keep::keep_current;
pub use name::{BaselineName, BaselineNameError, is_machine_key};
pub use shell::shell_quoted;

/// The store of one workspace, as seen from one machine.
#[derive(Debug)]
pub struct BaselineStore {
    directory: PathBuf,
    newest: PathBuf,
    newest_of_commands: PathBuf,
    machine: Machine,
    /// The flags with which other commands find this store, each after a space.
    flags: Box<str>,
}

/// A run in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredBaseline {
    /// The baseline.
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
    // On all CPUs, since parsing takes most of the time of a long history.
    let read = |path: &PathBuf| history::read(path).map(|(_, run)| run);
    for read in topdown_parallel::map(&paths[paths.len().saturating_sub(most)..], read) {
        match read {
            Ok(run) => runs.push(run),
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
    /// The store in `directory`, as seen from `machine`. The newest runs are below `kept`. Other
    /// commands find the store with these `flags`, each after a space.
    pub fn new(directory: PathBuf, kept: &Path, machine: Machine, flags: &str) -> BaselineStore {
        BaselineStore {
            directory,
            newest: kept.join(NEWEST),
            newest_of_commands: kept.join(NEWEST_OF_COMMANDS),
            machine,
            flags: flags.into(),
        }
    }

    /// Returns the flags with which other commands find this store, each after a space.
    pub fn flags(&self) -> &str {
        &self.flags
    }

    /// Returns where the baselines are kept.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns where the baseline `name` of the machine with this key is kept.
    pub fn directory_of(&self, name: &BaselineName, machine_key: &str) -> PathBuf {
        self.directory.join(name.as_path()).join(machine_key)
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
