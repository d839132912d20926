//! Finds baselines by name, for a machine.

use std::path::{Path, PathBuf};

use super::{BaselineName, BaselineStore, StoreError, StoredBaseline, is_run};
use topdown_terminal::nearest::{Suggestion, nearest};

/// The baseline that is meant where none is named and there are several.
const DEFAULT_NAME: &str = "main";

impl BaselineStore {
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
                flags: self.flags.clone(),
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
                    flags: self.flags.clone(),
                }),
            },
        }
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
            flags: self.flags.clone(),
        }
    }
}
