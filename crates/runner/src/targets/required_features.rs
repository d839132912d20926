//! Bench targets that require features: cargo skips them silently if these are off.

use std::collections::BTreeSet;
use std::fmt;

use cargo_metadata::{Metadata, Package, Target, TargetKind};

use crate::targets::bench_targets::Cargo;

/// A bench target, and features that it requires.
#[derive(Debug, PartialEq, Eq)]
pub struct NeedsFeatures {
    package: String,
    target: String,
    /// As in the manifest.
    features: Vec<String>,
    /// Those that the package lacks. Cargo warns of them and never builds the target.
    lacking: Vec<String>,
}

impl fmt::Display for NeedsFeatures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NeedsFeatures { package, .. } = self;
        let name = self.name();
        if self.is_buildable() {
            return write!(f, "`{name}` needs `--features {}`", self.features.join(","));
        }
        let features = match self.lacking.len() {
            1 => "feature",
            _ => "features",
        };
        let lacking = self.lacking.join("`, `");
        write!(
            f,
            "`{name}` requires the {features} `{lacking}`, which `{package}` does not have"
        )
    }
}

impl NeedsFeatures {
    fn new(package: &Package, target: &Target, features: Vec<String>) -> NeedsFeatures {
        let has = |feature: &str| match feature.split_once('/') {
            // Cargo alone knows a dependency's features.
            Some((dependency, _)) => (package.dependencies.iter())
                .any(|d| *d.rename.as_ref().unwrap_or(&d.name) == dependency),
            None => package.features.contains_key(feature),
        };
        let lacking = features.iter().filter(|feature| !has(feature));
        NeedsFeatures {
            package: package.name.to_string(),
            target: target.name.clone(),
            lacking: lacking.cloned().collect(),
            features,
        }
    }

    /// Returns the features that `target` requires and that are off by default, if any.
    pub fn off_by_default(package: &Package, target: &Target) -> Option<NeedsFeatures> {
        let on = on_by_default(package);
        let required = target.required_features.iter();
        let off = required.filter(|feature| !on.contains(feature.as_str()));
        let needs = NeedsFeatures::new(package, target, off.cloned().collect());
        (!needs.features.is_empty()).then_some(needs)
    }

    /// Returns whether cargo builds the target with these features.
    pub fn is_buildable(&self) -> bool {
        self.lacking.is_empty()
    }

    /// `package::target`
    pub fn name(&self) -> String {
        format!("{}::{}", self.package, self.target)
    }

    /// Returns what `--features` must name for those of `targets` that cargo can build, in a build
    /// of the whole workspace from its root: `x,member/y`.
    pub fn in_workspace(targets: &[NeedsFeatures], metadata: &Metadata) -> String {
        let root = metadata.root_package();
        let of_target = |needs: &NeedsFeatures| -> Vec<String> {
            // cargo's first resolver takes `root/x` for a dependency's feature.
            let is_root = root.is_some_and(|root| *root.name == needs.package);
            let in_package = |feature: &String| match is_root || feature.contains('/') {
                true => feature.clone(),
                false => format!("{}/{feature}", needs.package),
            };
            needs.features.iter().map(in_package).collect()
        };
        let buildable = targets.iter().filter(|needs| needs.is_buildable());
        let all: BTreeSet<String> = buildable.flat_map(of_target).collect();
        all.into_iter().collect::<Vec<_>>().join(",")
    }
}

/// Returns the features that `default` turns on.
fn on_by_default(package: &Package) -> BTreeSet<&str> {
    let mut on = BTreeSet::new();
    let mut open = vec!["default"];
    while let Some(feature) = open.pop() {
        if on.insert(feature) {
            let more = package.features.get(feature).into_iter().flatten();
            open.extend(more.map(String::as_str));
        }
    }
    on
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
}

fn of_package(package: &Package) -> Vec<NeedsFeatures> {
    let requires = |target: &&Target| {
        target.kind.contains(&TargetKind::Bench) && !target.required_features.is_empty()
    };
    let needs =
        |target: &Target| NeedsFeatures::new(package, target, target.required_features.clone());
    let targets = package.targets.iter();
    targets.filter(requires).map(needs).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::targets::bench_targets::{CargoFlags, cargo_program};

    /// A package with a bench target that requires a feature.
    fn manifest(name: &str) -> String {
        format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\n[features]\nf = []\n\
             [[bench]]\nname = \"b\"\nrequired-features = [\"f\"]\n"
        )
    }

    /// A workspace of two packages, of which `one` is built by default.
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
            write(&format!("{name}/Cargo.toml"), &manifest(name));
            write(&format!("{name}/src/lib.rs"), "");
            write(&format!("{name}/benches/b.rs"), "");
        }
        workspace
    }

    #[test]
    fn named_features_enable_their_targets() {
        for resolver in ["1", "2"] {
            let workspace = tempfile::tempdir().unwrap();
            let write = |path: &str, text: &str| {
                let path = workspace.path().join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            };
            let root = format!("[workspace]\nmembers = [\"member\"]\nresolver = \"{resolver}\"\n");
            for (directory, name, more) in [("", "root", root.as_str()), ("member/", "member", "")]
            {
                write(&format!("{directory}Cargo.toml"), &(manifest(name) + more));
                write(&format!("{directory}src/lib.rs"), "");
                write(&format!("{directory}benches/b.rs"), "");
            }
            let cargo = Cargo {
                program: cargo_program(),
                flags: CargoFlags::default(),
                manifest_path: Some(workspace.path().join("Cargo.toml")),
                directory: None,
            };
            let metadata = cargo.metadata().unwrap();
            let of_package = |package: &&Package| {
                let targets: Vec<NeedsFeatures> = (package.targets.iter())
                    .filter_map(|target| NeedsFeatures::off_by_default(package, target))
                    .collect();
                targets
            };
            let packages = metadata.workspace_packages();
            let needing: Vec<NeedsFeatures> = packages.iter().flat_map(of_package).collect();
            let features = NeedsFeatures::in_workspace(&needing, &metadata);
            assert_eq!(features, "f,member/f");
            let tree = cargo
                .tree()
                .args(["--offline", "--workspace"])
                .args(["--features", &features])
                .output();
            let tree = tree.unwrap();
            assert!(
                tree.status.success(),
                "{}",
                String::from_utf8_lossy(&tree.stderr)
            );
        }
    }

    #[test]
    fn only_targets_of_selected_packages_are_named() {
        let workspace = workspace();
        let named = |manifest: &str, selection: &[&str]| -> Vec<String> {
            let cargo = Cargo::offline(workspace.path().join(manifest), selection);
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
