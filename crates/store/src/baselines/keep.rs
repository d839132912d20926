//! Saves and removes baselines. A failure leaves them as they were.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use topdown_gate::selection::RunSelection;
use topdown_run::run_file::{self, RUN_FILE_NAME, RunFileError, Selection, parse_run};

use super::history::{self, RunName};
use super::newest::OwnRun;
use super::shell::shell_quoted;
use super::{BaselineName, BaselineStore, StoreError, StoredBaseline};

impl BaselineStore {
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
        let asked = RunSelection::new(selection);
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

    /// Saves a copy of the run at `from` as baseline `name` under the run's [key], and adds it to
    /// the baseline's [history].
    ///
    /// [key]: topdown_run::run_file::Run::key
    ///
    /// # Errors
    /// Returns an error if the run cannot be read or written. The previous baseline then stays,
    /// unless only the history could not be written: then the new one has replaced it.
    pub fn save(&self, name: &BaselineName, from: &Path) -> Result<StoredBaseline, StoreError> {
        self.save_kept(name, from, from)
    }

    /// Saves this process's run as the baseline `name`.
    ///
    /// # Errors
    /// As [`save`](BaselineStore::save).
    pub fn save_own(
        &self,
        name: &BaselineName,
        run: &OwnRun,
    ) -> Result<StoredBaseline, StoreError> {
        self.save_kept(name, run.path(), run.kept())
    }

    /// Saves the run at `from`, which later commands find at `kept`.
    fn save_kept(
        &self,
        name: &BaselineName,
        from: &Path,
        kept: &Path,
    ) -> Result<StoredBaseline, StoreError> {
        let from = run_file::run_file_of(from);
        let unreadable = |problem| {
            StoreError::Unreadable(RunFileError {
                path: from.clone(),
                problem,
            })
        };
        let json = run_file::read_bytes(&from).map_err(StoreError::Unreadable)?;
        let run_name = RunName::new(&json).map_err(unreadable)?;
        let run = parse_run(&json).map_err(unreadable)?;
        let now = Timestamp::now();
        if run_name.is_after(now) {
            return Err(StoreError::FromTheFuture {
                name: name.clone(),
                started_at: run.started_at,
                now: now.round(jiff::Unit::Second).unwrap_or(now),
            });
        }
        if !run.failed.is_empty() {
            return Err(StoreError::NotWhole {
                name: name.clone(),
                failed: run.failed,
            });
        }
        let machine_key = run.key();
        let directory = self.directory_to_write(name, &machine_key)?;
        let not_saved = |error| StoreError::NotSaved {
            arguments: self.arguments_to_save(name, &run_file::run_file_of(kept)),
            error: Box::new(error),
        };
        keep_current(&directory).map_err(not_saved)?;
        run_file::copy_run(&from, &directory).map_err(not_saved)?;
        // After the baseline, so that a failed save leaves no run behind.
        history::add(&directory, &json).map_err(StoreError::NotKept)?;
        Ok(StoredBaseline {
            name: name.clone(),
            machine_key,
            directory,
        })
    }

    /// Returns the arguments of the command that saves the run at `from` as baseline `name`.
    fn arguments_to_save(&self, name: &BaselineName, from: &Path) -> String {
        let run = if from.starts_with(&self.newest) {
            String::new()
        } else {
            format!(" {}", shell_quoted(&from.display().to_string()))
        };
        format!("{name}{run}{}", self.flags)
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
}

/// Adds the current run of the baseline in `directory` to its history before another replaces it: a
/// baseline from before there were histories is not in its own, nor is that of a newer program that
/// was killed. A file that is not a run is not kept.
pub fn keep_current(directory: &Path) -> Result<(), RunFileError> {
    if let Ok(before) = run_file::read_bytes(&directory.join(RUN_FILE_NAME))
        && RunName::from_any_version(&before).is_ok()
    {
        history::add(directory, &before)?;
    }
    Ok(())
}
