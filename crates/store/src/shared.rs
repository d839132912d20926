//! Baselines that a fleet of machines shares, in a directory, a git branch, or a bucket.
//!
//! A store holds runs, each in `NAME/MACHINE-KEY/STAMP-DIGEST/`: its `run.json` and, if kept, its
//! samples. The last part of that place is derived from the run itself, so a run never changes and
//! no two runs share a place. So writers need no locks: adding a run never affects another. The
//! newest run of a machine class is the one that sorts last.
//!
//! Backends know where runs are in a store and make each appear whole or not at all; [`transfer`]
//! decides what to send and fetch.

mod address;
mod directory;
mod error;
mod git_branch;
#[cfg(feature = "object-store")]
mod object;
#[cfg(test)]
mod tests;
pub mod transfer;

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use topdown_run::run_file::RUN_FILE_NAME;

use crate::baselines::history::RunName;
use crate::baselines::{BaselineName, is_machine_key};

pub use address::Address;
pub use error::{BackendError, SharedStoreError};

/// Unfinished work of this age is assumed to belong to a dead writer.
const ABANDONED_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

/// Where a run is in a store.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunLocation {
    /// The baseline.
    pub name: BaselineName,
    /// The key of the machine that the run was taken on.
    pub machine_key: String,
    /// The run. Later ones are greater.
    pub run: RunName,
}

impl RunLocation {
    /// Returns the place of the run whose `run.json` has this path in the store; `None` for every
    /// other path.
    fn from_run_file(path: &str) -> Option<RunLocation> {
        let directory = path.strip_suffix(RUN_FILE_NAME)?.strip_suffix('/')?;
        let (directory, run) = directory.rsplit_once('/')?;
        let (name, machine_key) = directory.rsplit_once('/')?;
        // It becomes a path on this machine.
        if !is_machine_key(machine_key) {
            return None;
        }
        Some(RunLocation {
            name: name.parse().ok()?,
            machine_key: machine_key.to_owned(),
            run: run.parse().ok()?,
        })
    }
}

impl fmt::Display for RunLocation {
    /// Formats the path in the store, with `/` on every system.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.name, self.machine_key, self.run)
    }
}

/// A run in a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Where it is.
    pub location: RunLocation,
    /// When it arrived, by the store's clock: the object's or file's time of change, or the time of
    /// the commit.
    pub arrived: Timestamp,
}

impl Listed {
    /// Returns whether the run claims to have started after it arrived, or after `now`. Such a run
    /// would pass for the newest one, perhaps forever.
    pub fn is_from_the_future(&self, now: Timestamp) -> bool {
        self.location.run.is_after(self.arrived.min(now))
    }
}

/// A file of a run in a store.
#[derive(Clone, Copy, Debug)]
pub struct WantedFile<'a> {
    /// `run.json`, or the name of its samples.
    pub name: &'a str,
    /// A longer file is refused.
    pub longest_bytes: u64,
}

/// A local run that can be pushed to a store.
#[derive(Clone, Debug)]
pub struct Outgoing {
    /// Where it belongs.
    pub location: RunLocation,
    /// Its `run.json`, which may have another name here.
    pub run_file: PathBuf,
    /// Its samples, if they are kept.
    pub samples: Option<PathBuf>,
}

impl Outgoing {
    /// Returns the files and their names in the store, in the order in which they must appear
    /// there.
    fn files(&self) -> impl Iterator<Item = (String, &Path)> {
        // They go when the run is replaced.
        let present = self.samples.iter().filter(|path| path.exists());
        let samples = present.filter_map(|path| {
            let name = path.file_name()?.to_str()?;
            Some((name.to_owned(), path.as_path()))
        });
        samples.chain([(RUN_FILE_NAME.to_owned(), self.run_file.as_path())])
    }
}

/// A kind of store.
pub trait Backend: Send + Sync {
    /// Lists all complete runs.
    fn list(&self) -> Result<Vec<Listed>, BackendError>;

    /// Adds those of `runs` that are missing, each whole or not at all. Returns their places.
    fn push(&self, runs: &[Outgoing]) -> Result<Vec<RunLocation>, BackendError>;

    /// Writes one regular file of the run at `location` to `to`. Returns `false` if there is none.
    /// Never depends on other contents of the store.
    fn read(
        &self,
        location: &RunLocation,
        file: WantedFile<'_>,
        to: &mut dyn Write,
    ) -> Result<bool, BackendError>;

    /// Removes these runs. Each disappears at once; one that is already gone is not an error.
    fn remove(&self, locations: &[RunLocation]) -> Result<(), BackendError>;

    /// Returns the paths of what writers left unfinished more than a day ago; removes it if
    /// `remove` is set.
    fn abandoned(&self, remove: bool) -> Result<Vec<String>, BackendError>;
}
