//! Finds a workspace's store, and the run that a user's argument refers to.

use std::path::{Path, PathBuf};

use cargo_metadata::{Metadata, MetadataCommand};
use criterion_topdown::machine::Machine;

use super::error::StoreError;
use super::{BaselineStore, NEWEST, is_run};
use crate::cli::StoreArgs;

impl BaselineStore {
    /// Opens the store of the workspace given by `args`, on this machine.
    ///
    /// # Errors
    /// Returns an error if cargo finds no workspace, or the workspace's settings are invalid.
    pub fn open(args: &StoreArgs) -> Result<BaselineStore, StoreError> {
        BaselineStore::of_workspace(&workspace(args)?, args.baselines.as_deref())
    }

    /// Opens the store of a workspace: in `directory` if given, else where the workspace's manifest
    /// says, else in `baselines/` in its root.
    ///
    /// # Errors
    /// Returns an error if the workspace's setting is invalid.
    pub fn of_workspace(
        metadata: &Metadata,
        directory: Option<&Path>,
    ) -> Result<BaselineStore, StoreError> {
        let root = metadata.workspace_root.as_std_path();
        let directory = match directory {
            Some(directory) => directory.to_owned(),
            None => match &metadata.workspace_metadata["topdown"]["baselines"] {
                serde_json::Value::Null => root.join("baselines"),
                serde_json::Value::String(directory) => root.join(directory),
                other => {
                    return Err(StoreError::Setting {
                        manifest: root.join("Cargo.toml"),
                        found: other.to_string(),
                    });
                }
            },
        };
        Ok(BaselineStore {
            directory,
            newest: metadata.target_directory.as_std_path().join(NEWEST),
            machine: Machine::of_this_machine(),
        })
    }
}

/// Returns cargo's metadata of the workspace given by `args`.
///
/// # Errors
/// Returns an error if there is none.
pub fn workspace(args: &StoreArgs) -> Result<Metadata, StoreError> {
    let mut command = MetadataCommand::new();
    command.no_deps();
    if let Some(manifest) = &args.manifest_path {
        command.manifest_path(manifest);
    }
    command
        .exec()
        .map_err(|error| StoreError::Workspace(Box::new(error)))
}

/// Returns the path of the run that `argument` refers to. Like [`BaselineStore::resolve`], but can
/// also read a file outside any workspace.
///
/// # Errors
/// As [`BaselineStore::open`] and [`BaselineStore::resolve`].
pub fn resolve_run(args: &StoreArgs, argument: &str) -> Result<PathBuf, StoreError> {
    match BaselineStore::open(args) {
        Ok(store) => store.resolve(argument),
        Err(StoreError::Workspace(_)) if is_run(Path::new(argument)) => Ok(argument.into()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::baseline_store::tests::RUN;

    #[test]
    fn the_workspace_says_where_baselines_are() {
        let root = tempfile::tempdir().unwrap();
        let manifest = root.path().join("Cargo.toml");
        let open = |metadata: &str, baselines: Option<&str>| {
            fs::write(&manifest, format!("[workspace]\n{metadata}\n")).unwrap();
            BaselineStore::open(&StoreArgs {
                baselines: baselines.map(PathBuf::from),
                manifest_path: Some(manifest.clone()),
            })
        };
        let root = root.path().canonicalize().unwrap();
        let default = open("", None).unwrap();
        assert_eq!(default.directory, root.join("baselines"));
        assert!(default.newest.ends_with("topdown/newest"));
        let setting = "[workspace.metadata.topdown]\nbaselines = \"perf/runs\"";
        assert_eq!(
            open(setting, None).unwrap().directory,
            root.join("perf/runs")
        );
        let flag = open(setting, Some("/srv/runs")).unwrap();
        assert_eq!(flag.directory, Path::new("/srv/runs"));
        let error = open("[workspace.metadata.topdown]\nbaselines = 7", None).unwrap_err();
        assert!(matches!(error, StoreError::Setting { .. }), "{error}");
        fs::write(&manifest, "not a manifest").unwrap();
        let args = StoreArgs {
            baselines: None,
            manifest_path: Some(manifest.clone()),
        };
        let error = BaselineStore::open(&args).unwrap_err();
        assert!(matches!(error, StoreError::Workspace(_)), "{error}");
        assert_eq!(resolve_run(&args, RUN).unwrap(), Path::new(RUN));
        assert!(resolve_run(&args, "main").is_err());
    }
}
