//! The workspace that a command works in.

use std::path::Path;

use cargo_metadata::{Metadata, MetadataCommand};
use thiserror::Error;

use super::{Config, ConfigError};

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
        let metadata = command
            .exec()
            .map_err(|error| WorkspaceError::NotFound(Box::new(error)))?;
        Ok(Workspace::of_metadata(metadata)?)
    }

    /// Makes a workspace from metadata that has been read.
    ///
    /// # Errors
    /// Returns an error if a setting cannot be used.
    pub fn of_metadata(metadata: Metadata) -> Result<Workspace, ConfigError> {
        Ok(Workspace {
            config: Config::read(&metadata)?,
            metadata,
        })
    }
}
