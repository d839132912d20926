//! Records how a run was launched, next to the run, so that its benchmarks can be launched again.
//!
//! `launches.json` is not part of a run: it names local executables, which the next build replaces,
//! and it is not copied with a baseline.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;
use topdown_counters::machine::this_machine_on;
use topdown_run::machine::Machine;
use topdown_run::run_file::Run;

use crate::gathering::relaunch::{self, MAX_SUSPECT_LAUNCHES};
use crate::targets::bench_targets::BenchTarget;
use topdown_system::whole_file;

const FILE: &str = "launches.json";
const SCHEMA_VERSION: u32 = 1;

/// The launches of one run.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaunchRecord {
    schema_version: u32,
    /// The id of the run.
    run: String,
    /// The user's own arguments for the benches.
    pub criterion: Vec<String>,
    /// What was launched.
    pub targets: Vec<BenchTarget>,
}

/// The reason why a run's benchmarks cannot be launched again.
#[derive(Debug, Error)]
pub enum RelaunchError {
    /// There is no record of the launches.
    #[error(
        "{} does not record how it was launched; only the newest run of `cargo topdown bench` can \
         be launched again", directory.display()
    )]
    NoRecord {
        /// The directory that was searched.
        directory: PathBuf,
    },
    /// The record cannot be read.
    #[error("could not read {}: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The run was taken elsewhere, or the machine has changed since.
    #[error("it was taken on another machine: {0}")]
    OtherMachine(Box<Machine>),
    /// The executable is gone or has changed.
    #[error("{} has since been rebuilt or removed; run `cargo topdown bench` again", .0.display())]
    OtherExecutable(PathBuf),
    /// There is only time to compare, and the other side cannot be launched.
    #[error(
        "it has only time, and times taken minutes apart differ because of the machine; `cargo \
         topdown bench --against` launches both in turn"
    )]
    TimeAlone,
    /// Further launches would add nothing.
    #[error("{}", if *is_modelled {
        "its modelled launches agree, so more cannot help".to_owned()
    } else {
        format!("it already has {MAX_SUSPECT_LAUNCHES} launches")
    })]
    WouldNotHelp {
        /// Whether slots are modelled.
        is_modelled: bool,
    },
}

impl LaunchRecord {
    /// Records how `run`, which is stored in `directory`, was launched.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn write(
        directory: &Path,
        run: &Run,
        targets: &[BenchTarget],
        criterion: &[String],
    ) -> io::Result<()> {
        let record = LaunchRecord {
            schema_version: SCHEMA_VERSION,
            run: run.id.clone(),
            criterion: criterion.to_owned(),
            targets: targets.to_vec(),
        };
        let mut json = serde_json::to_vec(&record)?;
        json.push(b'\n');
        whole_file::write(&directory.join(FILE), &json)
    }

    /// Reads how `run`, which is stored in `directory`, was launched.
    ///
    /// # Errors
    /// Returns an error if it cannot be launched in the same way: with the same executables on the
    /// same machine.
    pub fn read(directory: &Path, run: &Run) -> Result<LaunchRecord, RelaunchError> {
        let path = directory.join(FILE);
        let no_record = || RelaunchError::NoRecord {
            directory: directory.to_owned(),
        };
        let unreadable = |error| RelaunchError::Unreadable {
            path: path.clone(),
            error,
        };
        let file = File::open(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => no_record(),
            _ => unreadable(error),
        })?;
        let record: LaunchRecord = serde_json::from_reader(io::BufReader::new(file))
            .map_err(|error| unreadable(error.into()))?;
        // Of another release, or a previous run.
        if record.schema_version != SCHEMA_VERSION || record.run != run.id {
            return Err(no_record());
        }
        if run.machine != this_machine_on(run.core_type()) {
            let machine = Box::new(run.machine.clone());
            return Err(RelaunchError::OtherMachine(machine));
        }
        match record.targets.iter().find(|target| !target.is_as_built()) {
            Some(other) => {
                let path = other.executable.clone();
                Err(RelaunchError::OtherExecutable(path))
            }
            None => Ok(record),
        }
    }

    /// Reads how `run` was launched, for launches that could decide something about it.
    ///
    /// # Errors
    /// As [`read`](LaunchRecord::read), and if further launches would say nothing new.
    pub fn read_for_second_look(
        directory: &Path,
        run: &Run,
    ) -> Result<LaunchRecord, RelaunchError> {
        let record = LaunchRecord::read(directory, run)?;
        let is_modelled = !relaunch::is_measured(run);
        if is_modelled || !relaunch::would_help(&record.targets) {
            return Err(RelaunchError::WouldNotHelp { is_modelled });
        }
        Ok(record)
    }
}
