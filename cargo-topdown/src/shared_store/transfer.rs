//! What is sent to a shared store, fetched from it, and removed.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use criterion_topdown::machine::Machine;
use criterion_topdown::run_file::{
    self, RUN_FILE_NAME, RunFileError, RunFileProblem, samples_file_of,
};

use super::{Address, Backend, BackendError, Outgoing, Place, SharedStoreError};
use crate::baseline_store::history::{self, RunName};
use crate::baseline_store::{BaselineName, BaselineStore, StoredBaseline};

/// A shared store, and what errors call it.
pub struct SharedStore {
    address: String,
    backend: Box<dyn Backend>,
}

/// What became of one baseline that was fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pulled {
    /// Its name.
    pub name: BaselineName,
    /// The machine's key.
    pub machine_key: String,
    /// Whether the newest run in the store has become the baseline here; if not, the one here is
    /// that run, or a newer one.
    pub renewed: bool,
    /// How many runs were added to the history here.
    pub added: usize,
}

/// What `gc` removes, or would.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Garbage {
    /// Runs behind the newest ones.
    pub runs: Vec<Place>,
    /// What killed writers left.
    pub abandoned: Vec<String>,
}

/// Which machines' baselines are meant.
#[derive(Clone, Copy, Debug)]
pub enum Machines<'a> {
    /// Those whose runs may be comparable with this machine's.
    Like(&'a Machine),
    /// That with this key.
    Key(&'a str),
    /// All.
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
    /// The store at `address`; git runs in `workspace_root`.
    ///
    /// # Errors
    /// As [`Address::open`].
    pub fn open(address: &Address, workspace_root: &Path) -> Result<SharedStore, SharedStoreError> {
        Ok(SharedStore {
            address: address.to_string(),
            backend: address.open(workspace_root)?,
        })
    }

    /// Its address, for people.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Adds every run of the baselines `names` (or of all) that the store does not have. Returns the
    /// places of those that it did not have, and how many it has of them now.
    ///
    /// # Errors
    /// When there is nothing to send, or it cannot be sent. Runs that were sent before stay there.
    pub fn push(
        &self,
        local: &BaselineStore,
        names: &[BaselineName],
    ) -> Result<(Vec<Place>, usize), SharedStoreError> {
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
        for stored in baselines
            .iter()
            .filter(|stored| is_meant(names, &stored.name))
        {
            runs.extend(outgoing(stored)?);
        }
        let added = self
            .backend
            .push(&runs)
            .map_err(|error| self.write_error(error))?;
        Ok((added, runs.len()))
    }

    /// Fetches the baselines `names` (or all) of `machines`: the newest run becomes the baseline
    /// here, unless a newer one is, and all others go into its history.
    ///
    /// # Errors
    /// When the store has none of that name, or it cannot be fetched. Each baseline here is as it was
    /// before, or what it was to become.
    pub fn pull(
        &self,
        local: &BaselineStore,
        names: &[BaselineName],
        machines: Machines<'_>,
    ) -> Result<Vec<Pulled>, SharedStoreError> {
        let mut places = self
            .backend
            .list()
            .map_err(|error| self.read_error(error))?;
        places.retain(|place| match machines {
            Machines::Like(machine) => machine.may_compare(&place.machine_key),
            Machines::Key(key) => place.machine_key == key,
            Machines::Every => true,
        });
        for name in names {
            if !places.iter().any(|place| place.name == *name) {
                return Err(SharedStoreError::NoSuchBaseline {
                    store: self.address.clone(),
                    name: name.clone(),
                    of: machines.to_string(),
                });
            }
        }
        places.retain(|place| is_meant(names, &place.name));
        let mut pulled = Vec::new();
        for ((name, machine_key), runs) in by_baseline(places) {
            let directory = local.directory_of(&name, &machine_key);
            let (renewed, added) = self.pull_baseline(&directory, &runs)?;
            pulled.push(Pulled {
                name,
                machine_key,
                renewed,
                added,
            });
        }
        Ok(pulled)
    }

    /// `runs` are those of one baseline, oldest first.
    fn pull_baseline(
        &self,
        directory: &Path,
        runs: &[Place],
    ) -> Result<(bool, usize), SharedStoreError> {
        let here = current(directory);
        let newest = runs.last();
        let renews = newest.filter(|newest| here.as_ref().is_none_or(|here| *here < newest.run));
        let mut renewed = false;
        if let Some(place) = renews
            && let Some(fetched) = self.fetch(place, true)?
        {
            // The one that was the baseline goes nowhere.
            if let Ok(before) = fs::read(directory.join(RUN_FILE_NAME))
                && RunName::of(&before).is_ok()
            {
                history::add(directory, &before)?;
            }
            run_file::copy_run(fetched.path(), directory)?;
            renewed = true;
        }
        let known = history::names(directory).map_err(|error| in_directory(directory, error))?;
        let mut added = 0;
        for place in runs.iter().filter(|place| !known.contains(&place.run)) {
            // The run that has just been fetched is read here, all others there.
            let json = match here_as(directory, &place.run) {
                Some(json) => json,
                None => match self.fetch(place, false)? {
                    Some(fetched) => read(&fetched.path().join(RUN_FILE_NAME))?,
                    // Removed meanwhile, as an old one.
                    None => continue,
                },
            };
            history::add(directory, &json)?;
            added += 1;
        }
        Ok((renewed, added))
    }

    /// The files of a run in a temporary directory, checked; `None` where it is gone.
    fn fetch(
        &self,
        place: &Place,
        with_samples: bool,
    ) -> Result<Option<tempfile::TempDir>, SharedStoreError> {
        let directory = tempfile::tempdir().map_err(SharedStoreError::Scratch)?;
        let is_there = self
            .backend
            .pull(place, with_samples, directory.path())
            .map_err(|error| self.read_error(error))?;
        if !is_there {
            return Ok(None);
        }
        let corrupt = |problem| SharedStoreError::Corrupt {
            store: self.address.clone(),
            place: Box::new(place.clone()),
            problem,
        };
        let json = read(&directory.path().join(RUN_FILE_NAME))?;
        let name = RunName::of(&json).map_err(corrupt)?;
        if name != place.run {
            return Err(corrupt(RunFileProblem::Field {
                field: "run.json".to_owned(),
                what: format!("is that of {name}"),
            }));
        }
        Ok(Some(directory))
    }

    /// What is left of the baselines `names` (or of all) behind the `keep` newest runs of each
    /// machine class, and what killed writers left; removed, unless it is a `dry_run`.
    ///
    /// # Errors
    /// When the store cannot be read or changed.
    pub fn collect_garbage(
        &self,
        names: &[BaselineName],
        keep: usize,
        dry_run: bool,
    ) -> Result<Garbage, SharedStoreError> {
        let mut places = self
            .backend
            .list()
            .map_err(|error| self.read_error(error))?;
        places.retain(|place| is_meant(names, &place.name));
        let runs: Vec<Place> = by_baseline(places)
            .into_values()
            .flat_map(|mut runs| {
                runs.truncate(runs.len().saturating_sub(keep));
                runs
            })
            .collect();
        if !dry_run && !runs.is_empty() {
            self.backend
                .remove(&runs)
                .map_err(|error| self.write_error(error))?;
        }
        let abandoned = self.backend.abandoned(!dry_run);
        Ok(Garbage {
            runs,
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

/// The runs of each baseline and machine, oldest first.
fn by_baseline(mut places: Vec<Place>) -> BTreeMap<(BaselineName, String), Vec<Place>> {
    places.sort_unstable();
    places.dedup();
    let mut baselines: BTreeMap<(BaselineName, String), Vec<Place>> = BTreeMap::new();
    for place in places {
        let baseline = (place.name.clone(), place.machine_key.clone());
        baselines.entry(baseline).or_default().push(place);
    }
    baselines
}

/// All runs of a baseline here. Samples are kept of the newest one alone.
fn outgoing(stored: &StoredBaseline) -> Result<Vec<Outgoing>, SharedStoreError> {
    let newest = current(&stored.directory);
    let mut runs = Vec::new();
    for run_file in stored.runs()? {
        let run = name_of(&run_file)?;
        let samples = (Some(&run) == newest.as_ref())
            .then(|| samples_of(&stored.directory))
            .flatten();
        runs.push(Outgoing {
            place: Place {
                name: stored.name.clone(),
                machine_key: stored.machine_key.clone(),
                run,
            },
            run_file,
            samples,
        });
    }
    Ok(runs)
}

/// The samples of the run that a baseline is now.
fn samples_of(directory: &Path) -> Option<PathBuf> {
    let name = samples_file_of(&directory.join(RUN_FILE_NAME))?;
    Some(directory.join(name)).filter(|path| path.is_file())
}

/// The name of the run that a baseline is now; `None` where there is none that can be read.
fn current(directory: &Path) -> Option<RunName> {
    RunName::of(&fs::read(directory.join(RUN_FILE_NAME)).ok()?).ok()
}

/// The `run.json` of a baseline, if it is now this run.
fn here_as(directory: &Path, run: &RunName) -> Option<Vec<u8>> {
    let json = fs::read(directory.join(RUN_FILE_NAME)).ok()?;
    (RunName::of(&json).ok()? == *run).then_some(json)
}

fn name_of(run_file: &Path) -> Result<RunName, SharedStoreError> {
    Ok(
        RunName::of(&read(run_file)?).map_err(|problem| RunFileError {
            path: run_file.to_owned(),
            problem,
        })?,
    )
}

fn read(path: &Path) -> Result<Vec<u8>, SharedStoreError> {
    fs::read(path).map_err(|error| in_directory(path, error))
}

fn in_directory(path: &Path, error: std::io::Error) -> SharedStoreError {
    SharedStoreError::File(RunFileError {
        path: path.to_owned(),
        problem: RunFileProblem::Io(error),
    })
}
