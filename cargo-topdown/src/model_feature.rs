//! Asks cargo for the library's feature `model`, which is off in a build that cannot use it.
//!
//! The model is half of what the library adds to a build, and only this program runs benches on it:
//! `cargo bench`, `cargo test` and `cargo clippy` leave it out.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use cargo_metadata::Metadata;

use crate::adoption::PACKAGE;
use crate::bench_targets::Cargo;

const FEATURE: &str = "model";

impl Cargo {
    /// Returns the flags that add the model to the selected packages' benches; empty if no package
    /// leaves it out.
    pub fn model_flags(&self, metadata: &Metadata) -> Vec<String> {
        let wanted = features(metadata).into_iter();
        wanted
            .filter(|feature| self.accepts(feature))
            .flat_map(|feature| ["--features".to_owned(), feature])
            .collect()
    }

    /// Returns whether cargo accepts `feature` for the selected packages. It refuses if none of
    /// them has the dependency, which may be that of a package in between, or if another package
    /// calls a different dependency by this name.
    fn accepts(&self, feature: &str) -> bool {
        let mut command = Command::new(&self.program);
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        command.args(["tree", "--quiet", "--depth", "0", "--features", feature]);
        if let Some(path) = &self.manifest_path {
            command.arg("--manifest-path").arg(path);
        }
        command
            .args(&self.flags.common)
            .args(&self.flags.selection)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    }
}

/// Returns the feature by each name that packages of the workspace have for the library.
fn features(metadata: &Metadata) -> BTreeSet<String> {
    let packages = metadata.workspace_packages().into_iter();
    packages
        .flat_map(|package| &package.dependencies)
        .filter(|dependency| dependency.name == PACKAGE)
        .filter(|dependency| !dependency.features.iter().any(|feature| feature == FEATURE))
        .map(|dependency| {
            let name = dependency.rename.as_ref().unwrap_or(&dependency.name);
            format!("{name}/{FEATURE}")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::bench_targets::{CargoFlags, cargo_program};

    /// A workspace whose package `benches` depends on the library by criterion's name with
    /// `features`, and whose package `plain` does not.
    fn workspace(features: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(
            "Cargo.toml",
            "[workspace]\nmembers = [\"benches\", \"plain\"]\nresolver = \"2\"",
        );
        let package = |directory: &str, name: &str, more: &str| {
            let head = format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\n");
            write(&format!("{directory}/Cargo.toml"), &(head + more));
            write(&format!("{directory}/src/lib.rs"), "");
        };
        let library = format!(
            "[dev-dependencies]\ncriterion = {{ package = \"{PACKAGE}\", path = \"../library\", \
             features = [{features}] }}"
        );
        package("benches", "benches", &library);
        package("plain", "plain", "");
        package("library", PACKAGE, "[features]\nmodel = []");
        root
    }

    fn flags(root: &Path, selection: &[&str]) -> Vec<String> {
        let cargo = Cargo {
            program: cargo_program(),
            flags: CargoFlags {
                common: vec!["--offline".to_owned()],
                selection: selection.iter().map(ToString::to_string).collect(),
                ..CargoFlags::default()
            },
            manifest_path: Some(root.join("Cargo.toml")),
            directory: None,
        };
        cargo.model_flags(&cargo.metadata().unwrap())
    }

    #[test]
    fn the_model_is_requested_by_the_name_that_a_selected_package_has_for_the_library() {
        let root = workspace("");
        let wanted = ["--features", "criterion/model"];
        assert_eq!(flags(root.path(), &[]), wanted);
        assert_eq!(flags(root.path(), &["--package", "benches"]), wanted);
        // cargo would refuse the feature, and build nothing.
        assert!(flags(root.path(), &["--package", "plain"]).is_empty());
    }

    #[test]
    fn the_model_is_not_requested_where_a_manifest_does() {
        let root = workspace("\"model\"");
        assert!(flags(root.path(), &[]).is_empty());
    }
}
