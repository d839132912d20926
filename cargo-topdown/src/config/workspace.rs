//! The workspace that a command works in.

use std::path::{Path, PathBuf};

use cargo_metadata::{Metadata, MetadataCommand};
use sha2::{Digest, Sha256};
use thiserror::Error;

use super::{Config, ConfigError};
use topdown_system::waits;

/// A workspace, as cargo knows it, and our settings in its manifests.
#[derive(Debug)]
pub struct Workspace {
    pub metadata: Metadata,
    pub config: Config,
}

/// Why there is no usable workspace.
#[derive(Debug, Error)]
pub enum WorkspaceError {
    /// cargo finds none, or cannot parse it.
    #[error("could not find the workspace: {0}")]
    NotFound(#[source] Box<cargo_metadata::Error>),
    /// A setting in a manifest.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

impl Workspace {
    /// Finds the workspace of `manifest`, or of the current directory.
    ///
    /// # Errors
    /// Returns an error if there is none, or a setting in it cannot be used.
    pub fn find(manifest: Option<&Path>) -> Result<Workspace, WorkspaceError> {
        let mut command = MetadataCommand::new();
        command.no_deps();
        if let Some(manifest) = manifest {
            command.manifest_path(manifest);
        }
        let metadata =
            waits::metadata(&command).map_err(|error| WorkspaceError::NotFound(Box::new(error)))?;
        Ok(Workspace::from_metadata(metadata)?)
    }

    /// Makes a workspace from metadata that has been read.
    ///
    /// # Errors
    /// Returns an error if a setting cannot be used.
    pub fn from_metadata(metadata: Metadata) -> Result<Workspace, ConfigError> {
        Ok(Workspace {
            config: Config::read(&metadata)?,
            metadata,
        })
    }

    /// Returns where the newest run and the base's tree are kept: `topdown` in the target
    /// directory.
    ///
    /// Workspaces may share a target directory that is outside of them, so there each has a
    /// directory of its own in `topdown`.
    pub fn kept_directory(&self) -> PathBuf {
        kept_directory(
            self.metadata.workspace_root.as_std_path(),
            self.metadata.target_directory.as_std_path(),
        )
    }
}

fn kept_directory(workspace_root: &Path, target_directory: &Path) -> PathBuf {
    let kept = target_directory.join("topdown");
    if target_directory.starts_with(workspace_root) {
        return kept;
    }
    kept.join(named_by(workspace_root))
}

/// Returns a name for what belongs to `directory`, by its name and a hash of its path.
pub fn named_by(directory: &Path) -> String {
    let name = directory.file_name().unwrap_or_default();
    let hash = Sha256::digest(directory.as_os_str().as_encoded_bytes());
    let digits: String = hash[..4].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{digits}", name.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_target_directory_is_split_by_workspace() {
        let kept = |root: &str, target: &str| {
            let kept = kept_directory(Path::new(root), Path::new(target));
            kept.to_str().unwrap().to_owned()
        };
        assert_eq!(
            kept("/a/parser", "/a/parser/target"),
            "/a/parser/target/topdown"
        );
        // `printf /a/parser | sha256sum`
        assert_eq!(
            kept("/a/parser", "/shared"),
            "/shared/topdown/parser-b9f7d1b6"
        );
        assert_ne!(kept("/a/parser", "/shared"), kept("/b/parser", "/shared"));
        // Beside it, with a name that begins alike.
        assert_ne!(kept("/a/p", "/a/parser/target"), "/a/parser/target/topdown");
    }
}
