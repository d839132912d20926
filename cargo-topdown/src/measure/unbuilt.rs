//! Bench targets that cargo skips silently, because features that they require are off.

use std::fmt;

use cargo_metadata::{Metadata, Package, Target, TargetKind};

/// A bench target, and the features that it requires.
#[derive(Debug, PartialEq, Eq)]
pub struct Unbuilt {
    /// `package::name`.
    target: String,
    /// As in the manifest.
    features: Vec<String>,
}

impl fmt::Display for Unbuilt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let features = self.features.join(",");
        write!(f, "`{}` needs `--features {features}`", self.target)
    }
}

/// Returns the bench targets of the workspace that require features, of the `named` packages if
/// any are named.
pub fn requiring_features(metadata: &Metadata, named: &[&str]) -> Vec<Unbuilt> {
    let is_selected = |package: &&&Package| named.is_empty() || named.contains(&&**package.name);
    let of_package = |package: &Package| -> Vec<Unbuilt> {
        let requires = |target: &&Target| {
            target.kind.contains(&TargetKind::Bench) && !target.required_features.is_empty()
        };
        let unbuilt = |target: &Target| Unbuilt {
            target: format!("{}::{}", package.name, target.name),
            features: target.required_features.clone(),
        };
        let targets = package.targets.iter();
        targets.filter(requires).map(unbuilt).collect()
    };
    let packages = metadata.workspace_packages();
    let selected = packages.iter().filter(is_selected);
    selected.flat_map(|package| of_package(package)).collect()
}
