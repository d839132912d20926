//! Writes a plan: all of it or nothing, so that cargo can resolve the workspace afterwards.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::lock_file::{self, LOCK_FILE};
use super::{AdoptionError, ManifestChange, Plan, Workflow};
use topdown_system::interrupt;
use topdown_system::whole_file::replace;

impl Plan {
    /// Writes the manifests and the workflow, and updates what Cargo.lock pins at too old
    /// versions. Returns these packages. `features` reads, in the changed manifests, what the
    /// benches are built with.
    ///
    /// # Errors
    /// Returns an error if a file cannot be written, cargo cannot resolve the workspace, or the
    /// user interrupts. Then all files are as they were, unless the error names them.
    pub fn apply(
        &self,
        cargo: &Path,
        root: &Path,
        workflow: Option<&Workflow>,
        features: impl FnOnce() -> Result<BTreeSet<String>, cargo_metadata::Error>,
    ) -> Result<Vec<String>, AdoptionError> {
        let lock_file = root.join(LOCK_FILE);
        let has_lock_file = lock_file.exists();
        let manifests = self.manifests.iter().map(|change| &change.path);
        let written = manifests.chain(workflow.map(|workflow| &workflow.path));
        let before = OriginalFiles::new(written.chain([&lock_file]).cloned())?;
        let guard = interrupt::guard().map_err(AdoptionError::Interrupt)?;
        let write = || {
            // First, as another file may be in its place.
            workflow.map_or(Ok(()), Workflow::write)?;
            self.write_manifests()?;
            if self.is_empty() && self.adopted.is_empty() {
                return Ok(Vec::new());
            }
            let features = features().map_err(|error| match error {
                cargo_metadata::Error::CargoMetadata { stderr } => {
                    AdoptionError::unresolved(&stderr)
                }
                other => AdoptionError::unresolved(&other.to_string()),
            })?;
            lock_file::update(cargo, root, &features)
        };
        let written = match write() {
            // Ctrl-C ends cargo, too, which is then no reason.
            _ if interrupt::requested() => Err(AdoptionError::Interrupted),
            written => written,
        };
        let unpinned = written.map_err(|cause| AdoptionError::Undone {
            cause: Box::new(cause),
            left: before.put_back(),
        })?;
        if !has_lock_file {
            // Not a change to ask for. If it stays, it is what the next build would write.
            let _ = fs::remove_file(&lock_file);
        }
        drop(guard);
        Ok(unpinned)
    }

    /// Writes each manifest, last the one with what members inherit: if `init` is killed before,
    /// the next one still finds all that is to be done.
    ///
    /// # Errors
    /// Returns an error if one cannot be written.
    pub fn write_manifests(&self) -> Result<(), AdoptionError> {
        let is_inherited = |change: &&ManifestChange| Some(&change.path) == self.workspace.as_ref();
        let (last, first): (Vec<&ManifestChange>, Vec<_>) =
            self.manifests.iter().partition(is_inherited);
        for change in first.into_iter().chain(last) {
            let path = &change.path;
            replace(path, change.text.as_bytes()).map_err(|source| AdoptionError::Io {
                path: path.clone(),
                source,
            })?;
        }
        Ok(())
    }
}

/// The content of files, by path; `None` of those that did not exist.
struct OriginalFiles(Vec<(PathBuf, Option<Vec<u8>>)>);

impl OriginalFiles {
    /// Remembers the files at `paths`.
    ///
    /// # Errors
    /// Returns an error if one of them cannot be read.
    fn new(paths: impl IntoIterator<Item = PathBuf>) -> Result<OriginalFiles, AdoptionError> {
        let files = paths.into_iter().map(|path| match content(&path) {
            Ok(before) => Ok((path, before)),
            Err(source) => Err(AdoptionError::Io { path, source }),
        });
        files.collect::<Result<_, _>>().map(OriginalFiles)
    }

    /// Makes all files what they were. Returns why some of them are not.
    fn put_back(&self) -> Vec<String> {
        let failed = self.0.iter().filter_map(|(path, before)| {
            let result = match (before, content(path)) {
                (before, Ok(now)) if *before == now => Ok(()),
                (Some(before), _) => replace(path, before),
                (None, _) => fs::remove_file(path),
            };
            let error = result.err()?;
            Some(format!("{}: {error}", path.display()))
        });
        failed.collect()
    }
}

fn content(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_restored_and_failures_named() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::create_dir(at("gone")).unwrap();
        for name in ["same", "changed", "gone/file"] {
            fs::write(at(name), name).unwrap();
        }
        let paths = ["same", "changed", "gone/file", "new", "never"].map(at);
        let before = OriginalFiles::new(paths).unwrap();
        fs::write(at("changed"), "other").unwrap();
        fs::write(at("new"), "new").unwrap();
        fs::remove_dir_all(at("gone")).unwrap();
        let failed = before.put_back();
        assert_eq!(fs::read_to_string(at("same")).unwrap(), "same");
        assert_eq!(fs::read_to_string(at("changed")).unwrap(), "changed");
        assert!(!at("new").exists() && !at("never").exists());
        let [failed] = &failed[..] else {
            panic!("{failed:?}")
        };
        assert!(
            failed.starts_with(&format!("{}: ", at("gone/file").display())),
            "{failed}"
        );
    }
}
