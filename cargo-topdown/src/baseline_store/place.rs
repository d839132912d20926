//! The workspace and the baseline directory that a command line selects.

use std::path::PathBuf;

use super::BaselineStore;
use crate::config::{Config, Workspace, WorkspaceError};

/// A workspace, and where it keeps its baselines.
#[derive(Clone, Debug, Default)]
pub struct StorePlace {
    /// The directory of the baselines; by default, the one in the settings.
    pub baselines: Option<PathBuf>,
    /// A manifest of the workspace; by default, the one around the current directory.
    pub manifest_path: Option<PathBuf>,
}

impl StorePlace {
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

    /// Returns the store of `workspace`.
    pub fn store_of(&self, workspace: &Workspace) -> BaselineStore {
        BaselineStore::of_workspace(workspace, self)
    }

    /// Returns the flags that say the same to another command, each after a space.
    pub(super) fn flags(&self) -> String {
        let flags = [
            ("--baselines", &self.baselines),
            ("--manifest-path", &self.manifest_path),
        ];
        let flags = flags.into_iter().filter_map(|(flag, path)| {
            let path = path.as_ref()?.display().to_string();
            Some(format!(" {flag} {}", word_of_shell(&path)))
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

/// Quotes what a shell would take for more than one word, or for something else.
pub(super) fn word_of_shell(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+=:,@%".contains(c);
    if text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn workspace_chooses_baseline_directory() {
        let root = tempfile::tempdir().unwrap();
        let manifest = root.path().join("Cargo.toml");
        let open = |metadata: &str, baselines: Option<&str>| {
            fs::write(&manifest, format!("[workspace]\n{metadata}\n")).unwrap();
            let place = StorePlace {
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
        let place = StorePlace {
            baselines: None,
            manifest_path: Some(manifest.clone()),
        };
        let error = place.store().unwrap_err();
        assert!(matches!(error, WorkspaceError::NotFound(_)), "{error}");
    }

    #[test]
    fn shell_metacharacters_are_quoted() {
        assert_eq!(word_of_shell("../runs-2/ü"), "../runs-2/ü");
        assert_eq!(word_of_shell("Bob's runs"), r"'Bob'\''s runs'");
        assert_eq!(word_of_shell("$HOME"), "'$HOME'");
    }
}
