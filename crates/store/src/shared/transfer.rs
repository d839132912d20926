//! Pushes runs to a shared store, pulls them, and removes old ones.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use topdown_run::machine::Machine;
use topdown_run::run_file::stored_file::{MAX_RUN_FILE_BYTES, MAX_SAMPLES_FILE_BYTES};
use topdown_run::run_file::{
    self, RUN_FILE_NAME, RunFileError, RunFileProblem, parse_run, read_bytes, samples_file_name,
    samples_file_of,
};

use super::{
    Address, Backend, BackendError, Listed, Outgoing, RunLocation, SharedStoreError, WantedFile,
};
use crate::baselines::history::{self, RunName};
use crate::baselines::{BaselineName, BaselineStore, StoredBaseline, is_file_itself, keep_current};
use topdown_system::scratch::Scratch;

/// A shared store, and its address for errors.
pub struct SharedStore {
    address: String,
    backend: Box<dyn Backend>,
}

/// What happened to one baseline that was pulled.
#[derive(Debug)]
pub struct Pulled {
    /// The baseline.
    pub name: BaselineName,
    /// The machine's key.
    pub machine_key: String,
    /// Whether the store's newest run has become the baseline here. If not, the local baseline is
    /// the same run or a newer one.
    pub renewed: bool,
    /// Number of runs added to the local history.
    pub added: usize,
    /// Runs that were not pulled because they claim to have started after they arrived.
    pub refused: Vec<RunLocation>,
    /// Why other runs were skipped.
    pub skipped: Vec<SharedStoreError>,
}

/// What was fetched of one baseline.
#[derive(Default)]
struct Fetched {
    renewed: bool,
    added: usize,
    skipped: Vec<SharedStoreError>,
}

/// What was pushed.
#[derive(Debug, Default)]
pub struct Pushed {
    /// The places of the added runs.
    pub added: Vec<RunLocation>,
    /// Number of local runs that the store has.
    pub present: usize,
    /// Why other runs were skipped.
    pub skipped: Vec<SharedStoreError>,
}

/// What `gc` removes, or would remove.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Garbage {
    /// Runs older than those to keep.
    pub runs: Vec<RunLocation>,
    /// Runs from the future that are kept.
    pub refused: Vec<RunLocation>,
    /// What killed writers left.
    pub abandoned: Vec<String>,
}

/// The settings of `gc`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Collection {
    /// Number of runs to keep for each baseline and machine.
    pub keep: usize,
    /// Whether to remove runs from the future.
    pub from_the_future: bool,
    /// Whether to remove nothing.
    pub dry_run: bool,
}

/// Which machines' baselines to use.
#[derive(Clone, Copy, Debug)]
pub enum Machines<'a> {
    /// Those whose runs may be comparable with this machine's.
    Like(&'a Machine),
    /// The one with this key.
    Key(&'a str),
    /// All of them.
    Every,
}

impl fmt::Display for Machines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Machines::Like(machine) => write!(f, "{}, nor modelled ones", machine.key()),
            Machines::Key(key) => f.write_str(key),
            Machines::Every => f.write_str("any machine"),
        }
    }
}

impl SharedStore {
    /// Opens the store at `address`; git runs in `workspace_root`.
    ///
    /// # Errors
    /// As [`Address::open`].
    pub fn open(address: &Address, workspace_root: &Path) -> Result<SharedStore, SharedStoreError> {
        Ok(SharedStore {
            address: address.to_string(),
            backend: address.open(workspace_root)?,
        })
    }

    /// Returns its address, for display.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Adds every run of the baselines `names` (all if empty) that the store lacks. Skips runs that
    /// cannot be read or claim to be from the future.
    ///
    /// # Errors
    /// Returns an error if there is nothing to push or it fails. Runs already pushed stay there.
    pub fn push(
        &self,
        local: &BaselineStore,
        names: &[BaselineName],
    ) -> Result<Pushed, SharedStoreError> {
        let baselines = local.list()?;
        for name in names {
            if !baselines.iter().any(|stored| stored.name == *name) {
                let name = Some(name.clone());
                return Err(SharedStoreError::NothingHere { name });
            }
        }
        if baselines.is_empty() {
            return Err(SharedStoreError::NothingHere { name: None });
        }
        let mut runs = Vec::new();
        let mut skipped = Vec::new();
        let now = Timestamp::now();
        for stored in baselines
            .iter()
            .filter(|stored| is_meant(names, &stored.name))
        {
            for run in outgoing(stored)? {
                match run {
                    Ok(run) if run.location.run.is_after(now) => {
                        skipped.push(SharedStoreError::FromTheFuture(Box::new(run.location)));
                    }
                    Ok(run) => runs.push(run),
                    Err(error) => skipped.push(error.into()),
                }
            }
        }
        if runs.is_empty() && !skipped.is_empty() {
            return Err(skipped.remove(0));
        }
        let added = self
            .backend
            .push(&runs)
            .map_err(|error| self.write_error(error))?;
        Ok(Pushed {
            added,
            present: runs.len(),
            skipped,
        })
    }

    /// Fetches the baselines `names` (all if empty) of `machines`. The newest run becomes the local
    /// baseline unless that is newer, and all others go into its history.
    ///
    /// # Errors
    /// Returns an error if the store has no such baseline, or it cannot be fetched. Each local
    /// baseline is then either unchanged or complete.
    pub fn pull(
        &self,
        local: &BaselineStore,
        names: &[BaselineName],
        machines: Machines<'_>,
    ) -> Result<Vec<Pulled>, SharedStoreError> {
        let mut listed = self.list()?;
        listed.retain(|run| match machines {
            Machines::Like(machine) => machine.may_compare(&run.location.machine_key),
            Machines::Key(key) => run.location.machine_key == key,
            Machines::Every => true,
        });
        for name in names {
            if !listed.iter().any(|run| run.location.name == *name) {
                return Err(SharedStoreError::NoSuchBaseline {
                    store: self.address.clone(),
                    name: name.clone(),
                    of: machines.to_string(),
                });
            }
        }
        listed.retain(|run| is_meant(names, &run.location.name));
        let now = Timestamp::now();
        let mut pulled = Vec::new();
        let mut failure = None;
        for ((name, machine_key), runs) in by_baseline(listed) {
            let directory = local.directory_to_write(&name, &machine_key)?;
            let (refused, runs): (Vec<Listed>, Vec<Listed>) = runs
                .into_iter()
                .partition(|run| run.is_from_the_future(now));
            match self.pull_baseline(&directory, locations(runs), now) {
                Ok(Fetched {
                    renewed,
                    added,
                    skipped,
                }) => pulled.push(Pulled {
                    name,
                    machine_key,
                    renewed,
                    added,
                    refused: locations(refused),
                    skipped,
                }),
                // The others are pulled first.
                Err(error) if error.is_of_one_run() => failure = failure.or(Some(error)),
                Err(error) => return Err(error),
            }
        }
        match failure {
            Some(error) => Err(error),
            None => Ok(pulled),
        }
    }

    /// `runs` are those of one baseline, oldest first. Skips those that are not what they should
    /// be, and fails if no other is left.
    fn pull_baseline(
        &self,
        directory: &Path,
        mut runs: Vec<RunLocation>,
        now: Timestamp,
    ) -> Result<Fetched, SharedStoreError> {
        let mut fetched = Fetched::default();
        let mut skip = |error: SharedStoreError| match error.is_of_one_run() {
            true => {
                fetched.skipped.push(error);
                Ok(())
            }
            false => Err(error),
        };
        // One from the future would stay forever.
        let here = current(directory).filter(|here| !here.is_after(now));
        while let Some(newest) = runs.last() {
            if here.as_ref().is_some_and(|here| *here >= newest.run) {
                break;
            }
            match self.fetch(newest, true) {
                Ok(Some(run)) => {
                    // Keep the run that was the baseline.
                    keep_current(directory)?;
                    run_file::copy_run(run.path(), directory)?;
                    fetched.renewed = true;
                    break;
                }
                // Garbage collection has removed it in the meantime.
                Ok(None) => {}
                Err(error) => skip(error)?,
            }
            runs.pop();
        }
        let known = history::names(directory).map_err(|error| in_directory(directory, error))?;
        let mut present = 0;
        for location in &runs {
            present += 1;
            if known.contains(&location.run) {
                continue;
            }
            // The run just fetched is read locally, all others from the store.
            let json = match local_copy(directory, &location.run) {
                Some(json) => json,
                None => match self.fetch(location, false) {
                    Ok(Some(run)) => read_bytes(&run.path().join(RUN_FILE_NAME))?,
                    Ok(None) => continue,
                    Err(error) => {
                        skip(error)?;
                        present -= 1;
                        continue;
                    }
                },
            };
            history::add(directory, &json)?;
            fetched.added += 1;
        }
        if present == 0 && !fetched.skipped.is_empty() {
            return Err(fetched.skipped.remove(0));
        }
        Ok(fetched)
    }

    /// Fetches and checks the files of a run into a temporary directory; `None` if the run is gone.
    fn fetch(
        &self,
        location: &RunLocation,
        with_samples: bool,
    ) -> Result<Option<Scratch>, SharedStoreError> {
        let mut json = Vec::new();
        let run_file = WantedFile {
            name: RUN_FILE_NAME,
            longest_bytes: MAX_RUN_FILE_BYTES,
        };
        if !self.read(location, run_file, &mut json)? {
            return Ok(None);
        }
        let samples_file = self.check(location, &json)?;
        let directory = Scratch::new().map_err(SharedStoreError::Scratch)?;
        let path = directory.path();
        fs::write(path.join(RUN_FILE_NAME), &json).map_err(SharedStoreError::Scratch)?;
        if with_samples {
            let path = path.join(&samples_file);
            let mut file = File::create_new(&path).map_err(SharedStoreError::Scratch)?;
            let samples = WantedFile {
                name: &samples_file,
                longest_bytes: MAX_SAMPLES_FILE_BYTES,
            };
            if !self.read(location, samples, &mut file)? {
                fs::remove_file(&path).map_err(SharedStoreError::Scratch)?;
            }
        }
        Ok(Some(directory))
    }

    /// Checks that `json` is the run at `location`, and returns the name of its samples file.
    fn check(&self, location: &RunLocation, json: &[u8]) -> Result<String, SharedStoreError> {
        let corrupt = |problem| SharedStoreError::Corrupt {
            store: self.address.clone(),
            location: Box::new(location.clone()),
            problem,
        };
        let is_of = |other: &dyn fmt::Display| {
            corrupt(RunFileProblem::Field {
                field: "run.json".to_owned(),
                what: format!("is that of {other}"),
            })
        };
        let name = RunName::new(json).map_err(corrupt)?;
        if name != location.run {
            return Err(is_of(&name));
        }
        let run = parse_run(json).map_err(corrupt)?;
        if run.key() != location.machine_key {
            return Err(is_of(&run.key()));
        }
        samples_file_name(&run.id).map_err(corrupt)
    }

    fn read(
        &self,
        location: &RunLocation,
        file: WantedFile<'_>,
        to: &mut dyn Write,
    ) -> Result<bool, SharedStoreError> {
        self.backend
            .read(location, file, to)
            .map_err(|error| self.read_error(error))
    }

    fn list(&self) -> Result<Vec<Listed>, SharedStoreError> {
        self.backend.list().map_err(|error| self.read_error(error))
    }

    /// Removes, unless this is a dry run, all runs of the baselines `names` (all if empty) except
    /// the newest of each machine class, and what killed writers left. Returns what was, or would
    /// be, removed.
    ///
    /// The newest runs include both those that started last and those that arrived last, since a
    /// run can claim any start but no arrival. Runs from the future do not count as newest. They
    /// are removed only on request, since it may be our clock that is wrong.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read or changed.
    pub fn collect_garbage(
        &self,
        names: &[BaselineName],
        Collection {
            keep,
            from_the_future,
            dry_run,
        }: Collection,
    ) -> Result<Garbage, SharedStoreError> {
        let mut listed = self.list()?;
        listed.retain(|run| is_meant(names, &run.location.name));
        let now = Timestamp::now();
        let (refused, honest): (Vec<Listed>, Vec<Listed>) = listed
            .into_iter()
            .partition(|run| run.is_from_the_future(now));
        let mut runs: Vec<RunLocation> = by_baseline(honest)
            .into_values()
            .flat_map(|runs| older_runs(runs, keep))
            .collect();
        let mut refused = locations(refused);
        if from_the_future {
            runs.append(&mut refused);
        }
        if !dry_run && !runs.is_empty() {
            self.backend
                .remove(&runs)
                .map_err(|error| self.write_error(error))?;
        }
        let abandoned = self.backend.abandoned(!dry_run);
        Ok(Garbage {
            runs,
            refused,
            abandoned: abandoned.map_err(|error| self.write_error(error))?,
        })
    }

    fn read_error(&self, error: BackendError) -> SharedStoreError {
        SharedStoreError::Read {
            store: self.address.clone(),
            error,
        }
    }

    fn write_error(&self, error: BackendError) -> SharedStoreError {
        SharedStoreError::Write {
            store: self.address.clone(),
            error,
        }
    }
}

fn is_meant(names: &[BaselineName], name: &BaselineName) -> bool {
    names.is_empty() || names.contains(name)
}

/// Groups runs by baseline and machine, oldest first.
fn by_baseline(mut listed: Vec<Listed>) -> BTreeMap<(BaselineName, String), Vec<Listed>> {
    listed.sort_unstable_by(|a, b| a.location.cmp(&b.location));
    let mut baselines: BTreeMap<(BaselineName, String), Vec<Listed>> = BTreeMap::new();
    for run in listed {
        let baseline = (run.location.name.clone(), run.location.machine_key.clone());
        baselines.entry(baseline).or_default().push(run);
    }
    baselines
}

fn locations(listed: Vec<Listed>) -> Vec<RunLocation> {
    listed.into_iter().map(|run| run.location).collect()
}

/// Returns those of `runs`, oldest first, that are neither among the `keep` that started last nor
/// among the `keep` that arrived last.
fn older_runs(runs: Vec<Listed>, keep: usize) -> Vec<RunLocation> {
    let mut by_arrival: Vec<&Listed> = runs.iter().collect();
    by_arrival.sort_by_key(|run| run.arrived);
    let came_last = by_arrival.split_off(by_arrival.len().saturating_sub(keep));
    let started_earlier = &runs[..runs.len().saturating_sub(keep)];
    let is_behind = |run: &&Listed| !came_last.contains(run);
    let behind = started_earlier.iter().filter(is_behind);
    behind.map(|run| run.location.clone()).collect()
}

/// Returns all local runs of a baseline, or why one cannot be read. Only the newest has samples.
fn outgoing(
    stored: &StoredBaseline,
) -> Result<Vec<Result<Outgoing, RunFileError>>, SharedStoreError> {
    // Files of a history never change, while a save beside this push replaces the current run.
    // Where the history cannot be written, the current run is pushed as it is.
    let _ = keep_current(&stored.directory);
    let newest = current(&stored.directory);
    let outgoing = |run_file: PathBuf| {
        let (run, _) = history::read(&run_file)?;
        let samples = (Some(&run) == newest.as_ref())
            .then(|| samples_of(&stored.directory))
            .flatten();
        Ok(Outgoing {
            location: RunLocation {
                name: stored.name.clone(),
                machine_key: stored.machine_key.clone(),
                run,
            },
            run_file,
            samples,
        })
    };
    Ok(stored.runs()?.into_iter().map(outgoing).collect())
}

/// Returns the samples of a baseline's current run.
fn samples_of(directory: &Path) -> Option<PathBuf> {
    let name = samples_file_of(&directory.join(RUN_FILE_NAME))?;
    Some(directory.join(name)).filter(|path| is_file_itself(path))
}

/// Returns the name of a baseline's current run, which may be a newer program's; `None` if it has
/// none.
fn current(directory: &Path) -> Option<RunName> {
    RunName::from_any_version(&read_bytes(&directory.join(RUN_FILE_NAME)).ok()?).ok()
}

/// Returns the `run.json` of a baseline if this run is the current one.
fn local_copy(directory: &Path, run: &RunName) -> Option<Vec<u8>> {
    let json = read_bytes(&directory.join(RUN_FILE_NAME)).ok()?;
    (RunName::from_any_version(&json).ok()? == *run).then_some(json)
}

fn in_directory(path: &Path, error: std::io::Error) -> SharedStoreError {
    SharedStoreError::File(RunFileError {
        path: path.to_owned(),
        problem: RunFileProblem::Io(error),
    })
}
