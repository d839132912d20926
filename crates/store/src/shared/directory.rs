//! A store in a directory that is mounted on every machine, or stays on one runner.
//!
//! A run is written into a sibling directory under a temporary name and renamed, so it appears all
//! at once with all its files.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use topdown_run::run_file::stored_file::{self, MAX_SAMPLES_FILE_BYTES};
use topdown_run::run_file::{RUN_FILE_NAME, RunFileProblem};

use super::{ABANDONED_AFTER, Backend, BackendError, Listed, Outgoing, RunLocation, WantedFile};
use crate::baselines::is_file_itself;

/// The prefix of directories being written or removed. No baseline's name starts with it.
const UNFINISHED: &str = ".unfinished-";

pub struct Directory {
    root: PathBuf,
}

impl Directory {
    /// Returns the store in `root`, which the first push creates.
    pub fn new(root: PathBuf) -> Directory {
        Directory { root }
    }

    fn path_of(&self, location: &RunLocation) -> PathBuf {
        self.root.join(location.to_string())
    }

    /// Lists every directory of the store with its `/`-separated path, parents first.
    fn directories(&self) -> Result<Vec<(PathBuf, String)>, BackendError> {
        let mut all = vec![(self.root.clone(), String::new())];
        let mut next = 0;
        while next < all.len() {
            let (directory, path) = all[next].clone();
            next += 1;
            let entries = match fs::read_dir(&directory) {
                Ok(entries) => entries,
                // The store does not exist yet, or the run has just been removed.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(in_path(&directory)(error)),
            };
            for entry in entries {
                let entry = entry.map_err(in_path(&directory))?;
                // Do not follow links: listing a store that links to itself would never end.
                let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
                if let (true, Ok(name)) = (is_directory, entry.file_name().into_string()) {
                    let separator = if path.is_empty() { "" } else { "/" };
                    all.push((entry.path(), format!("{path}{separator}{name}")));
                }
            }
        }
        Ok(all)
    }

    /// Pushes a run. Returns its place, unless it was already there.
    fn push_one(&self, run: &Outgoing) -> Result<Option<RunLocation>, BackendError> {
        let path = self.path_of(&run.location);
        if path.exists() {
            return Ok(None);
        }
        let parent = path.parent().unwrap_or(&self.root);
        fs::create_dir_all(parent).map_err(in_path(parent))?;
        // Not with `tempfile`, whose directories other users cannot read.
        let unfinished = parent.join(format!(
            "{UNFINISHED}{}-{:016x}",
            run.location.run,
            fastrand::u64(..)
        ));
        let added = write_renamed(run, &unfinished, &path);
        if !matches!(added, Ok(true)) {
            // It is useless now; the error itself is reported.
            let _ = fs::remove_dir_all(&unfinished);
        }
        Ok(added?.then(|| run.location.clone()))
    }
}

/// Writes the run and renames it into place. Returns whether this call added it.
fn write_renamed(run: &Outgoing, unfinished: &Path, path: &Path) -> Result<bool, BackendError> {
    fs::create_dir(unfinished).map_err(in_path(unfinished))?;
    for (name, from) in run.files() {
        let mut from = match stored_file::open(from, MAX_SAMPLES_FILE_BYTES) {
            Ok(from) => from,
            // A save beside this push has removed the samples of the run that it replaces.
            Err(problem) if problem.is_missing() && name != RUN_FILE_NAME => continue,
            Err(problem) => return Err(in_file(from, problem)),
        };
        let to = unfinished.join(name);
        let mut file = File::create_new(&to).map_err(in_path(&to))?;
        io::copy(&mut from, &mut file)
            .and_then(|_| file.sync_all())
            .map_err(in_path(&to))?;
    }
    match fs::rename(unfinished, path) {
        Ok(()) => {
            stored_file::flush_directory_of(path).map_err(|problem| in_file(path, problem))?;
            Ok(true)
        }
        // Another process has added the same run in the meantime.
        Err(_) if is_file_itself(&path.join(RUN_FILE_NAME)) => Ok(false),
        Err(error) => Err(in_path(path)(error)),
    }
}

impl Backend for Directory {
    fn list(&self) -> Result<Vec<Listed>, BackendError> {
        let mut runs = Vec::new();
        for (directory, path) in self.directories()? {
            let file = directory.join(RUN_FILE_NAME);
            if is_file_itself(&file)
                && let Some(location) =
                    RunLocation::from_run_file(&format!("{path}/{RUN_FILE_NAME}"))
                && let Ok(metadata) = fs::symlink_metadata(&file)
            {
                runs.push(Listed {
                    location,
                    arrived: changed_at(&metadata),
                });
            }
        }
        Ok(runs)
    }

    fn push(&self, runs: &[Outgoing]) -> Result<Vec<RunLocation>, BackendError> {
        runs.iter()
            .filter_map(|run| self.push_one(run).transpose())
            .collect()
    }

    fn read(
        &self,
        location: &RunLocation,
        file: WantedFile<'_>,
        to: &mut dyn Write,
    ) -> Result<bool, BackendError> {
        let path = self.path_of(location).join(file.name);
        match stored_file::open(&path, file.longest_bytes) {
            Ok(mut from) => io::copy(&mut from, to)
                .map(|_| true)
                .map_err(in_path(&path)),
            Err(problem) if problem.is_missing() => Ok(false),
            Err(problem) => Err(in_file(&path, problem)),
        }
    }

    fn remove(&self, locations: &[RunLocation]) -> Result<(), BackendError> {
        for location in locations {
            let path = self.path_of(location);
            let away = path.with_file_name(format!("{UNFINISHED}{}", location.run));
            match fs::rename(&path, &away) {
                Ok(()) => fs::remove_dir_all(&away).map_err(in_path(&away))?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(in_path(&path)(error)),
            }
        }
        Ok(())
    }

    fn abandoned(&self, remove: bool) -> Result<Vec<String>, BackendError> {
        let mut abandoned = Vec::new();
        for (directory, path) in self.directories()? {
            let is_unfinished = directory
                .file_name()
                .and_then(|name| name.to_str())
                .is_some_and(|name| name.starts_with(UNFINISHED));
            let is_old = fs::metadata(&directory)
                .and_then(|metadata| metadata.modified())
                .is_ok_and(|at| at.elapsed().is_ok_and(|age| age > ABANDONED_AFTER));
            if !(is_unfinished && is_old) {
                continue;
            }
            if remove {
                fs::remove_dir_all(&directory).map_err(in_path(&directory))?;
            }
            abandoned.push(path);
        }
        Ok(abandoned)
    }
}

/// When the file system last changed anything about the file. Unlike the modification time, users
/// cannot set it.
#[cfg(unix)]
fn changed_at(metadata: &fs::Metadata) -> Timestamp {
    use std::os::unix::fs::MetadataExt;
    Timestamp::from_second(metadata.ctime()).unwrap_or(Timestamp::MAX)
}

#[cfg(not(unix))]
fn changed_at(metadata: &fs::Metadata) -> Timestamp {
    let modified = metadata
        .modified()
        .unwrap_or_else(|_| std::time::SystemTime::now());
    Timestamp::try_from(modified).unwrap_or(Timestamp::MAX)
}

fn in_file(path: &Path, problem: RunFileProblem) -> BackendError {
    BackendError::in_file(path.display().to_string(), problem)
}

fn in_path(path: &Path) -> impl FnOnce(io::Error) -> BackendError {
    let path = path.to_owned();
    move |error| BackendError::Io { path, error }
}
