//! Finds out what a workspace must change so that its criterion benches measure TopDown.
//!
//! [`plan`] decides without writing anything; [`Plan::apply`] writes the manifests. Sources are
//! never edited: places that need a look are listed.

mod manifest;
mod source;

use std::path::{Path, PathBuf};

use cargo_metadata::{DependencyKind, Metadata, TargetKind};
use thiserror::Error;

pub use manifest::Library;

/// Everything a workspace needs to adopt the library.
#[derive(Debug, Default)]
pub struct Plan {
    /// Manifests whose criterion dependency changes.
    pub manifests: Vec<ManifestChange>,
    /// Places in bench sources that time themselves, so have no slots.
    pub self_timed: Vec<SourcePlace>,
    /// Packages whose benches already use criterion through this library.
    pub adopted: Vec<String>,
    /// Packages with bench targets but without a dependency on criterion.
    pub without_criterion: Vec<String>,
}

/// One changed manifest.
#[derive(Debug)]
pub struct ManifestChange {
    pub path: PathBuf,
    /// The dependency's line or table before the change.
    pub before: String,
    /// And after it.
    pub after: String,
    /// The manifest's full new text.
    text: String,
}

/// A place in a bench source that times itself.
#[derive(Debug, PartialEq)]
pub struct SourcePlace {
    pub path: PathBuf,
    /// The line number, from 1.
    pub line: usize,
    /// The trimmed source line.
    pub text: String,
}

/// Why a plan could not be made or applied.
#[derive(Debug, Error)]
pub enum AdoptionError {
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
    /// A manifest is not valid TOML.
    #[error("{}: {source}", path.display())]
    Toml {
        path: PathBuf,
        source: toml_edit::TomlError,
    },
    /// A package depends on criterion, but none of its manifest's tables names it.
    #[error(
        "package `{package}` depends on criterion, but no dependency table of {} names it; \
         change the dependency by hand to `criterion = {{ package = \"criterion-topdown\", … }}`",
        path.display()
    )]
    NotFound {
        /// The package.
        package: String,
        /// Its manifest.
        path: PathBuf,
    },
}

/// Plans the adoption for the workspace that `metadata` describes.
pub fn plan(metadata: &Metadata, library: &Library) -> Result<Plan, AdoptionError> {
    let mut plan = Plan::default();
    let root_manifest = metadata
        .workspace_root
        .join("Cargo.toml")
        .into_std_path_buf();
    for package in metadata.workspace_packages() {
        let mut benches = package
            .targets
            .iter()
            .filter(|t| t.kind.contains(&TargetKind::Bench))
            .peekable();
        if benches.peek().is_none() {
            continue;
        }
        let on_criterion = |name: &str| {
            package.dependencies.iter().any(|dependency| {
                dependency.name == name
                    && matches!(
                        dependency.kind,
                        DependencyKind::Development | DependencyKind::Normal
                    )
            })
        };
        if on_criterion("criterion-topdown") {
            plan.adopted.push(package.name.to_string());
            continue;
        }
        if !on_criterion("criterion") {
            plan.without_criterion.push(package.name.to_string());
            continue;
        }
        let path = package.manifest_path.clone().into_std_path_buf();
        match manifest::change(&read(&path)?, &path, library)? {
            manifest::Found::Here(change) => plan.manifests.push(change),
            manifest::Found::InWorkspace => {
                if !plan
                    .manifests
                    .iter()
                    .any(|change| change.path == root_manifest)
                {
                    let text = read(&root_manifest)?;
                    match manifest::change_workspace(&text, &root_manifest, library)? {
                        Some(change) => plan.manifests.push(change),
                        None => return Err(not_found(&package.name, path)),
                    }
                }
            }
            manifest::Found::Nowhere => return Err(not_found(&package.name, path)),
        }
        for bench in benches {
            let path = bench.src_path.clone().into_std_path_buf();
            plan.self_timed
                .extend(source::self_timed(&read(&path)?, &path));
        }
    }
    Ok(plan)
}

fn not_found(package: &str, path: PathBuf) -> AdoptionError {
    AdoptionError::NotFound {
        package: package.to_owned(),
        path,
    }
}

impl Plan {
    /// Returns whether no manifest needs a change.
    pub fn is_empty(&self) -> bool {
        self.manifests.is_empty()
    }

    /// Writes each manifest to a temporary file, then renames it into place.
    pub fn apply(&self) -> Result<(), AdoptionError> {
        for change in &self.manifests {
            let error = |source| AdoptionError::Io {
                path: change.path.clone(),
                source,
            };
            let directory = change.path.parent().unwrap_or(Path::new("."));
            let mut file = tempfile::NamedTempFile::new_in(directory).map_err(error)?;
            std::io::Write::write_all(&mut file, change.text.as_bytes()).map_err(error)?;
            let permissions = std::fs::metadata(&change.path)
                .map_err(error)?
                .permissions();
            file.as_file().set_permissions(permissions).map_err(error)?;
            file.persist(&change.path).map_err(|e| error(e.error))?;
        }
        Ok(())
    }
}

fn read(path: &Path) -> Result<String, AdoptionError> {
    std::fs::read_to_string(path).map_err(|source| AdoptionError::Io {
        path: path.to_owned(),
        source,
    })
}
