//! Bench targets that require features: cargo skips them silently if these are off.

use std::collections::BTreeSet;
use std::fmt;
use std::process::Stdio;

use cargo_metadata::{Metadata, Package, Target, TargetKind};

use crate::bench_targets::Cargo;

/// A bench target, and the features that it requires.
#[derive(Debug, PartialEq, Eq)]
pub struct NeedsFeatures {
    /// `package::name`.
    target: String,
    /// As in the manifest.
    features: Vec<String>,
}

impl fmt::Display for NeedsFeatures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let features = self.features.join(",");
        write!(f, "`{}` needs `--features {features}`", self.target)
    }
}

impl Cargo {
    /// Returns the bench targets of the selected packages that require features.
    pub fn needing_features(&self, metadata: &Metadata) -> Vec<NeedsFeatures> {
        let selected = self.selected_packages();
        let packages = metadata.workspace_packages().into_iter();
        let packages = packages.filter(|package| match &selected {
            Some(selected) => selected.contains(package.name.as_str()),
            None => true,
        });
        packages.flat_map(of_package).collect()
    }

    /// Returns the names of the packages that the command line selects, by `cargo tree`: patterns,
    /// `--exclude`, `default-members` and the current directory count. Returns `None` if cargo does
    /// not say.
    fn selected_packages(&self) -> Option<BTreeSet<String>> {
        let output = self
            .tree()
            .args(["--prefix", "none", "--format", "{p}"])
            .stderr(Stdio::null())
            .output()
            .ok()
            .filter(|output| output.status.success())?;
        let text = String::from_utf8(output.stdout).ok()?;
        // `name v0.1.0 (/path)`, with empty lines in between.
        let names = text.lines().filter_map(|line| line.split(' ').next());
        Some(names.map(str::to_owned).collect())
    }
}

fn of_package(package: &Package) -> Vec<NeedsFeatures> {
    let requires = |target: &&Target| {
        target.kind.contains(&TargetKind::Bench) && !target.required_features.is_empty()
    };
    let needs = |target: &Target| NeedsFeatures {
        target: format!("{}::{}", package.name, target.name),
        features: target.required_features.clone(),
    };
    let targets = package.targets.iter();
    targets.filter(requires).map(needs).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::bench_targets::{CargoFlags, cargo_program};

    /// A workspace of two packages, of which `one` is built by default, with a bench target each
    /// that requires a feature.
    fn workspace() -> tempfile::TempDir {
        let workspace = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = workspace.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let members = "members = [\"one\", \"two\"]\ndefault-members = [\"one\"]";
        write(
            "Cargo.toml",
            &format!("[workspace]\n{members}\nresolver = \"2\"\n"),
        );
        for name in ["one", "two"] {
            let manifest = format!(
                "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\n[features]\nf = []\n\
                 [[bench]]\nname = \"b\"\nrequired-features = [\"f\"]\n"
            );
            write(&format!("{name}/Cargo.toml"), &manifest);
            write(&format!("{name}/src/lib.rs"), "");
            write(&format!("{name}/benches/b.rs"), "");
        }
        workspace
    }

    #[test]
    fn only_targets_of_packages_that_the_command_line_selects_are_named() {
        let workspace = workspace();
        let named = |manifest: &str, selection: &[&str]| -> Vec<String> {
            let cargo = Cargo {
                program: cargo_program(),
                flags: CargoFlags {
                    common: vec!["--offline".to_owned()],
                    selection: selection.iter().map(ToString::to_string).collect(),
                    ..CargoFlags::default()
                },
                manifest_path: Some(workspace.path().join(manifest)),
                directory: None,
            };
            let needing = cargo.needing_features(&cargo.metadata().unwrap());
            needing.iter().map(ToString::to_string).collect()
        };
        let one = "`one::b` needs `--features f`";
        let two = "`two::b` needs `--features f`";
        for (manifest, selection, expected) in [
            ("Cargo.toml", &[][..], &[one][..]),
            ("two/Cargo.toml", &[], &[two]),
            ("Cargo.toml", &["--workspace"], &[one, two]),
            ("Cargo.toml", &["--workspace", "--exclude", "one"], &[two]),
            ("Cargo.toml", &["--package", "two"], &[two]),
            ("Cargo.toml", &["--package", "t*"], &[two]),
            ("Cargo.toml", &["--package", "two@0.1.0"], &[two]),
        ] {
            assert_eq!(named(manifest, selection), expected, "{selection:?}");
        }
    }
}
