//! Baselines that a fleet of machines shares: a directory, a branch of a git repository, or a bucket.
//!
//! A store holds runs, each below `NAME/MACHINE-KEY/STAMP-DIGEST/`: its `run.json` and, if they were
//! kept, its samples. The last part of that place is made of the run itself, so a run never changes
//! and no two runs have one place. Writers therefore need no locks: whoever adds a run takes nothing
//! from anybody. The newest run of a machine class is the one that sorts last.
//!
//! Knows where runs are in a store and that one is seen whole or not at all; what is sent and fetched
//! is the business of [`transfer`].

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

use criterion_topdown::run_file::RUN_FILE_NAME;
use jiff::Timestamp;

use crate::baseline_store::history::RunName;
use crate::baseline_store::{BaselineName, is_machine_key};

pub use address::Address;
pub use error::{BackendError, SharedStoreError};

/// What a writer of this age has not finished belongs to a writer that is no more.
const ABANDONED_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

/// Where a run is in a store.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The baseline.
    pub name: BaselineName,
    /// The key of the machine that the run was taken on.
    pub machine_key: String,
    /// The run. Later ones are greater.
    pub run: RunName,
}

impl Place {
    /// The place of the run whose `run.json` has this path below the store; `None` for every other
    /// path.
    fn of_run_file(path: &str) -> Option<Place> {
        let directory = path.strip_suffix(RUN_FILE_NAME)?.strip_suffix('/')?;
        let (directory, run) = directory.rsplit_once('/')?;
        let (name, machine_key) = directory.rsplit_once('/')?;
        // What is here becomes a path on this machine.
        if !is_machine_key(machine_key) {
            return None;
        }
        Some(Place {
            name: name.parse().ok()?,
            machine_key: machine_key.to_owned(),
            run: run.parse().ok()?,
        })
    }
}

impl fmt::Display for Place {
    /// The path below the store, with `/` on every system.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.name, self.machine_key, self.run)
    }
}

/// A run that a store holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Where it is.
    pub place: Place,
    /// When it came, by the clock of whoever keeps the store: the object's or the file's time of
    /// change, or the time of the commit.
    pub arrived: Timestamp,
}

impl Listed {
    /// Whether the run says that it started after it came, or after `now`. Such a run would pass for
    /// the newest one, perhaps for ever.
    pub fn is_from_the_future(&self, now: Timestamp) -> bool {
        self.place.run.is_after(self.arrived.min(now))
    }
}

/// A file of a run in a store.
#[derive(Clone, Copy, Debug)]
pub struct WantedFile<'a> {
    /// `run.json`, or the name of its samples.
    pub name: &'a str,
    /// A longer one is refused.
    pub longest_bytes: u64,
}

/// A run on this machine that can be sent to a store.
#[derive(Clone, Debug)]
pub struct Outgoing {
    /// Where it belongs.
    pub place: Place,
    /// Its `run.json`, under whatever name.
    pub run_file: PathBuf,
    /// Its samples, where they are kept.
    pub samples: Option<PathBuf>,
}

impl Outgoing {
    /// The files and their names in the store, in the order in which they have to appear there.
    fn files(&self) -> impl Iterator<Item = (String, &Path)> {
        let samples = self.samples.iter().filter_map(|path| {
            let name = path.file_name()?.to_str()?;
            Some((name.to_owned(), path.as_path()))
        });
        samples.chain([(RUN_FILE_NAME.to_owned(), self.run_file.as_path())])
    }
}

/// Something that holds runs.
pub trait Backend: Send + Sync {
    /// All runs that are whole.
    fn list(&self) -> Result<Vec<Listed>, BackendError>;

    /// Adds those of `runs` that are not there, each whole or not at all, and returns their places.
    fn push(&self, runs: &[Outgoing]) -> Result<Vec<Place>, BackendError>;

    /// Writes the content of one regular file of the run at `place` to `to`. `false` where there is
    /// none. What else is in the store, and how that is called, concerns nobody.
    fn read(
        &self,
        place: &Place,
        file: WantedFile<'_>,
        to: &mut dyn Write,
    ) -> Result<bool, BackendError>;

    /// Removes these runs. Each is gone at once, and one that is gone already is not an error.
    fn remove(&self, places: &[Place]) -> Result<(), BackendError>;

    /// The paths of what writers left unfinished more than a day ago; removes it, if told to.
    fn abandoned(&self, remove: bool) -> Result<Vec<String>, BackendError>;
}
