//! A store in a bucket of S3, Google Cloud Storage or Azure.
//!
//! Objects are only created, never replaced: first the samples, then `run.json`. A run exists once
//! its `run.json` does; without it, what a killed writer left is ignored.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::io::Write;

use futures_util::TryStreamExt;
use jiff::Timestamp;
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutPayload};
use tokio::runtime::{Builder, Runtime};
use topdown_run::run_file::stored_file::{self, MAX_SAMPLES_FILE_BYTES};
use topdown_run::run_file::{RUN_FILE_NAME, RunFileProblem};
use url::Url;

use super::{
    ABANDONED_AFTER, Backend, BackendError, Listed, Outgoing, RunLocation, SharedStoreError,
    WantedFile,
};

/// The bucket, and the store's prefix in it.
pub struct Objects {
    store: Box<dyn ObjectStore>,
    prefix: Path,
    runtime: Runtime,
}

impl Objects {
    /// Opens the store at `url`. Credentials, region and endpoint come from the environment
    /// variables that the providers' own tools use, such as `AWS_ACCESS_KEY_ID` and `AWS_ENDPOINT`.
    ///
    /// # Errors
    /// Returns an error if the address or the environment is invalid.
    pub fn open(url: &str) -> Result<Objects, SharedStoreError> {
        let error = |reason: String| SharedStoreError::Address {
            address: url.to_owned(),
            reason,
        };
        // Fails if a provider is already installed.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let parsed = Url::parse(url).map_err(|e| error(e.to_string()))?;
        let environment = std::env::vars_os()
            .filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?)));
        let (store, prefix) =
            object_store::parse_url_opts(&parsed, environment).map_err(|e| error(e.to_string()))?;
        Objects::new(store, prefix).map_err(|e| error(e.to_string()))
    }

    /// Uses the objects below `prefix` of any object store.
    pub(super) fn new(store: Box<dyn ObjectStore>, prefix: Path) -> std::io::Result<Objects> {
        Ok(Objects {
            store,
            prefix,
            runtime: Builder::new_current_thread().enable_all().build()?,
        })
    }

    /// Blocks on `work`.
    fn wait<T>(
        &self,
        work: impl Future<Output = Result<T, object_store::Error>>,
    ) -> Result<T, BackendError> {
        self.runtime.block_on(work).map_err(refused)
    }

    /// Lists every object with its path below the prefix.
    fn objects(&self) -> Result<Vec<(String, ObjectMeta)>, BackendError> {
        let objects: Vec<ObjectMeta> =
            self.wait(self.store.list(Some(&self.prefix)).try_collect())?;
        Ok(objects
            .into_iter()
            .filter_map(|object| {
                let path = object
                    .location
                    .as_ref()
                    .strip_prefix(self.prefix.as_ref())?;
                Some((path.trim_start_matches('/').to_owned(), object))
            })
            .collect())
    }

    /// Not encoded: stores accept every baseline name, and encode it themselves.
    fn path_of(&self, location: &RunLocation, name: &str) -> Result<Path, object_store::Error> {
        Ok(Path::parse(format!("{}/{location}/{name}", self.prefix))?)
    }

    /// Pushes a run. Returns its place, unless it was already there.
    async fn push_one(&self, run: &Outgoing) -> Result<Option<RunLocation>, BackendError> {
        let mut added = false;
        for (name, from) in run.files() {
            let bytes = stored_file::read(from, MAX_SAMPLES_FILE_BYTES)
                .map_err(|problem| BackendError::in_file(from.display().to_string(), problem))?;
            let path = self.path_of(&run.location, &name).map_err(refused)?;
            let put = self
                .store
                .put_opts(&path, PutPayload::from(bytes), PutMode::Create.into());
            added = match put.await {
                Ok(_) => true,
                // It has the same bytes, since the place is derived from them. So this resumes an
                // interrupted push.
                Err(object_store::Error::AlreadyExists { .. }) => false,
                Err(error) => return Err(refused(error)),
            };
        }
        // Of the last file, which is `run.json`.
        Ok(added.then(|| run.location.clone()))
    }

    async fn delete(&self, path: &Path) -> Result<(), object_store::Error> {
        match self.store.delete(path).await {
            Err(object_store::Error::NotFound { .. }) => Ok(()),
            other => other,
        }
    }
}

fn refused(error: object_store::Error) -> BackendError {
    BackendError::Object {
        error: Box::new(error),
    }
}

impl Backend for Objects {
    fn list(&self) -> Result<Vec<Listed>, BackendError> {
        let objects = self.objects()?;
        Ok(objects
            .iter()
            .filter_map(|(path, object)| {
                let seconds = object.last_modified.timestamp();
                Some(Listed {
                    location: RunLocation::from_run_file(path)?,
                    arrived: Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX),
                })
            })
            .collect())
    }

    fn push(&self, runs: &[Outgoing]) -> Result<Vec<RunLocation>, BackendError> {
        let there: BTreeSet<RunLocation> =
            self.list()?.into_iter().map(|run| run.location).collect();
        runs.iter()
            .filter(|run| !there.contains(&run.location))
            .filter_map(|run| self.runtime.block_on(self.push_one(run)).transpose())
            .collect()
    }

    fn read(
        &self,
        location: &RunLocation,
        file: WantedFile<'_>,
        to: &mut dyn Write,
    ) -> Result<bool, BackendError> {
        let in_file = |problem| BackendError::in_file(format!("{location}/{}", file.name), problem);
        let longest_bytes = file.longest_bytes;
        let path = self.path_of(location, file.name).map_err(refused)?;
        let object = match self.runtime.block_on(self.store.get(&path)) {
            Ok(object) => object,
            Err(object_store::Error::NotFound { .. }) => return Ok(false),
            Err(error) => return Err(refused(error)),
        };
        if object.meta.size > longest_bytes {
            return Err(in_file(RunFileProblem::TooLong { longest_bytes }));
        }
        let mut received: u64 = 0;
        let mut chunks = object.into_stream();
        while let Some(chunk) = self.wait(chunks.try_next())? {
            // A server can send more than it announced.
            received += chunk.len() as u64;
            if received > longest_bytes {
                return Err(in_file(RunFileProblem::TooLong { longest_bytes }));
            }
            to.write_all(&chunk)
                .map_err(|error| in_file(RunFileProblem::Io(error)))?;
        }
        Ok(true)
    }

    fn remove(&self, locations: &[RunLocation]) -> Result<(), BackendError> {
        let objects = self.objects()?;
        for location in locations {
            let directory = format!("{location}/");
            let of_run = objects
                .iter()
                .filter(|(path, _)| path.starts_with(&directory));
            // `run.json` first: without it, the rest is not a run.
            let (run_file, others): (Vec<_>, Vec<_>) =
                of_run.partition(|(path, _)| path.ends_with(&format!("/{RUN_FILE_NAME}")));
            for (_, object) in run_file.into_iter().chain(others) {
                self.wait(self.delete(&object.location))?;
            }
        }
        Ok(())
    }

    fn abandoned(&self, remove: bool) -> Result<Vec<String>, BackendError> {
        let mut directories: BTreeMap<String, Vec<ObjectMeta>> = BTreeMap::new();
        let mut whole = BTreeSet::new();
        for (path, object) in self.objects()? {
            let Some((directory, name)) = path.rsplit_once('/') else {
                continue;
            };
            // Not a run's place, so not ours.
            if RunLocation::from_run_file(&format!("{directory}/{RUN_FILE_NAME}")).is_none() {
                continue;
            }
            if name == RUN_FILE_NAME {
                whole.insert(directory.to_owned());
            }
            directories
                .entry(directory.to_owned())
                .or_default()
                .push(object);
        }
        let is_old = |object: &ObjectMeta| {
            std::time::SystemTime::from(object.last_modified)
                .elapsed()
                .is_ok_and(|age| age > ABANDONED_AFTER)
        };
        directories
            .retain(|directory, objects| !whole.contains(directory) && objects.iter().all(is_old));
        if remove {
            for object in directories.values().flatten() {
                self.wait(self.delete(&object.location))?;
            }
        }
        Ok(directories.into_keys().collect())
    }
}
