//! The workspace and the baseline directory that a command line selects.

use std::path::{Path, PathBuf};

use topdown_counters::machine::this_machine;
use topdown_store::baselines::{BaselineStore, shell_quoted};

use crate::config::{Config, Workspace, WorkspaceError};

/// A workspace, and where it keeps its baselines.
#[derive(Clone, Debug, Default)]
pub struct StoreLocation {
    /// The directory of the baselines; by default, the one in the settings.
    pub baselines: Option<PathBuf>,
    /// A manifest of the workspace; by default, the one around the current directory.
    pub manifest_path: Option<PathBuf>,
}

impl StoreLocation {
    /// Finds the workspace.
    ///
    /// # Errors
    /// Returns an error if there is none, or a setting in it cannot be used.
    pub fn workspace(&self) -> Result<Workspace, WorkspaceError> {
        Workspace::find(self.manifest_path.as_deref())
    }

    /// Returns the settings of the workspace; none outside of a workspace.
    ///
    /// # Errors
    /// Returns an error if a setting cannot be used.
    pub fn config(&self) -> Result<Config, WorkspaceError> {
        match self.workspace() {
            Ok(workspace) => Ok(workspace.config),
            Err(WorkspaceError::NotFound(_)) => Ok(Config::default()),
            Err(error) => Err(error),
        }
    }

    /// Returns the store of `workspace` on this machine: in the directory of the command line, else
    /// what the workspace's manifest sets, else `baselines/` in its root.
    pub fn store_of(&self, workspace: &Workspace) -> BaselineStore {
        let default = || {
            let set = workspace.config.baselines();
            let root = workspace.metadata.workspace_root.as_std_path();
            root.join(set.unwrap_or(Path::new("baselines")))
        };
        let directory = self.baselines.clone().unwrap_or_else(default);
        BaselineStore::new(
            directory,
            &workspace.kept_directory(),
            this_machine(),
            &self.flags(),
        )
    }

    /// Returns the flags that say the same to another command, each after a space.
    fn flags(&self) -> String {
        let flags = [
            ("--baselines", &self.baselines),
            ("--manifest-path", &self.manifest_path),
        ];
        let flags = flags.into_iter().filter_map(|(flag, path)| {
            let path = path.as_ref()?.display().to_string();
            Some(format!(" {flag} {}", shell_quoted(&path)))
        });
        flags.collect()
    }

    /// Returns the store of the workspace.
    ///
    /// # Errors
    /// Returns an error if there is no workspace, or a setting in it cannot be used.
    pub fn store(&self) -> Result<BaselineStore, WorkspaceError> {
        Ok(self.store_of(&self.workspace()?))
    }
}

#[cfg(test)]
pub mod tests {
    use std::fs;

    use super::*;
    use topdown_run::run_file;

    /// A run taken on a machine that no test runs on.
    pub const RUN: &str = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../crates/run/tests/data/run-v1"
    );

    /// Returns the store of a workspace in `root`, on the machine of [`RUN`].
    pub fn store_in(root: &Path) -> BaselineStore {
        let machine = run_file::read_run(Path::new(RUN)).unwrap().machine;
        BaselineStore::new(root.join("baselines"), &root.join("target"), machine, "")
    }

    #[test]
    fn workspace_chooses_baseline_directory() {
        let root = tempfile::tempdir().unwrap();
        let manifest = root.path().join("Cargo.toml");
        let open = |metadata: &str, baselines: Option<&str>| {
            fs::write(&manifest, format!("[workspace]\n{metadata}\n")).unwrap();
            let place = StoreLocation {
                baselines: baselines.map(PathBuf::from),
                manifest_path: Some(manifest.clone()),
            };
            place.store()
        };
        let root = root.path().canonicalize().unwrap();
        let default = open("", None).unwrap();
        assert_eq!(default.directory(), root.join("baselines"));
        assert!(default.newest_directory().ends_with("topdown/newest"));
        let setting = "[workspace.metadata.topdown]\nbaselines = \"perf/runs\"";
        let set = open(setting, None).unwrap();
        assert_eq!(set.directory(), root.join("perf/runs"));
        let flag = open(setting, Some("/srv/runs")).unwrap();
        assert_eq!(flag.directory(), Path::new("/srv/runs"));
        let error = flag.find(&"main".parse().unwrap()).unwrap_err();
        let command = format!(
            "`cargo topdown bench --save main --baselines /srv/runs --manifest-path {}`",
            manifest.display()
        );
        assert!(error.to_string().contains(&command), "{error}");
        let error = open("[workspace.metadata.topdown]\nbaselines = 7", None).unwrap_err();
        assert!(matches!(error, WorkspaceError::Config(_)), "{error}");
        fs::write(&manifest, "not a manifest").unwrap();
        let place = StoreLocation {
            baselines: None,
            manifest_path: Some(manifest.clone()),
        };
        let error = place.store().unwrap_err();
        assert!(matches!(error, WorkspaceError::NotFound(_)), "{error}");
    }
}
