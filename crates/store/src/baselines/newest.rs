//! The newest run of a workspace.

use std::path::{Path, PathBuf};

use topdown_run::run_file::COMMANDS;
use topdown_run::run_file::{self, Run, RunFileError, RunFileProblem};

use super::{BaselineStore, StoreError, is_run};
use topdown_system::scratch::Scratch;

/// The newest run's directory, in the directory of what is kept.
pub(super) const NEWEST: &str = "newest";

/// The same for runs of commands, which `exec` makes: no suite is ever compared with them.
pub(super) const NEWEST_OF_COMMANDS: &str = "newest-exec";

/// This process's run, even if another process replaces the workspace's newest run meanwhile.
#[derive(Debug)]
pub struct OwnRun {
    directory: Scratch,
    /// Where it is kept, until another process replaces it there.
    kept: PathBuf,
}

impl OwnRun {
    /// Returns the directory that holds the run.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Returns the directory that holds it when this process is gone.
    pub(super) fn kept(&self) -> &Path {
        &self.kept
    }
}

impl BaselineStore {
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
        let directory = written_aside(write)?;
        let run = run_file::read_run(directory.path())?;
        let newest = if is_of_command(&run) {
            &self.newest_of_commands
        } else {
            &self.newest
        };
        keep(directory, newest)
    }
}

fn keep(directory: Scratch, kept: &Path) -> Result<OwnRun, RunFileError> {
    run_file::copy_run(directory.path(), kept)?;
    Ok(OwnRun {
        directory,
        kept: kept.to_owned(),
    })
}

fn written_aside(
    write: impl FnOnce(&Path) -> Result<(), RunFileError>,
) -> Result<Scratch, RunFileError> {
    let directory = Scratch::new().map_err(|error| RunFileError {
        path: std::env::temp_dir(),
        problem: RunFileProblem::Io(error),
    })?;
    write(directory.path())?;
    Ok(directory)
}

/// Returns whether a run is of a command and not of a suite.
fn is_of_command(run: &Run) -> bool {
    let mut ids = run.benchmarks.iter().map(|benchmark| &benchmark.id);
    !run.benchmarks.is_empty() && ids.all(|id| (&*id.package, &*id.target) == COMMANDS)
}
