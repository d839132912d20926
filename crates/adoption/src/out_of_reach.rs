//! Benches that `init` sees but does not change: those of packages outside the workspace, and those
//! that use a fork of criterion.

use std::fs;
use std::path::PathBuf;

use cargo_metadata::{Dependency, Metadata, Package};

use super::PACKAGE;

/// A package whose benches use a fork of criterion.
#[derive(Debug)]
pub struct Fork {
    /// The package that depends on it.
    pub package: String,
    /// The package that it uses, such as `codspeed-criterion-compat`.
    pub dependency: String,
    /// The name of that dependency in the manifest.
    pub key: String,
    /// Whether the package depends on criterion or the library, too. Cargo does not let it depend
    /// on the library by two names.
    pub is_beside_criterion: bool,
    /// The manifest that names it.
    pub path: PathBuf,
}

impl Fork {
    /// Returns the fork that `package` uses, whose benches are written for criterion: in `sources`
    /// beside criterion or the library, or because it has neither.
    pub(super) fn in_package(
        package: &Package,
        sources: &[&str],
        has_criterion: bool,
    ) -> Option<Fork> {
        let key = |dependency: &Dependency| {
            dependency
                .rename
                .as_ref()
                .unwrap_or(&dependency.name)
                .clone()
        };
        let is_named = |dependency: &Dependency| {
            let path = key(dependency).replace('-', "_") + "::";
            sources.iter().any(|source| source.contains(&path))
        };
        let is_fork = |dependency: &&Dependency| {
            let is_itself = dependency.name == "criterion" || dependency.name == PACKAGE;
            !is_itself && (key(dependency) == "criterion" || dependency.name.contains("criterion"))
        };
        let mut forks = package.dependencies.iter().filter(is_fork);
        let fork = forks.find(|fork| !has_criterion || is_named(fork))?;
        Some(Fork {
            package: package.name.to_string(),
            dependency: fork.name.clone(),
            key: key(fork),
            is_beside_criterion: has_criterion,
            path: package.manifest_path.clone().into_std_path_buf(),
        })
    }
}

/// Returns the directories directly in the workspace's whose package is not a member of it, and
/// names criterion. Many projects keep their benches in such a package.
pub(super) fn packages_outside(metadata: &Metadata) -> Vec<PathBuf> {
    let root = metadata.workspace_root.as_std_path();
    let is_outside = |directory: &PathBuf| {
        let manifest = directory.join("Cargo.toml");
        let mut members = metadata.packages.iter();
        members.all(|member| member.manifest_path.as_std_path() != manifest)
            && fs::read_to_string(manifest).is_ok_and(|text| text.contains("criterion"))
    };
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    let mut outside: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(is_outside)
        .collect();
    outside.sort();
    outside
}
