//! The packages that the command line selects.

use std::collections::BTreeSet;

use cargo_metadata::{Metadata, Package, TargetKind};

use crate::targets::bench_targets::Cargo;
use topdown_system::waits;

impl Cargo {
    /// Returns the names of the packages that the command line selects, by `cargo tree`: patterns,
    /// `--exclude`, `default-members` and the current directory count. Returns `None` if cargo does
    /// not say.
    pub fn selected_packages(&self) -> Option<BTreeSet<String>> {
        let mut tree = self.tree();
        tree.args(["--prefix", "none", "--format", "{p}"]);
        let output = waits::RESOLVE
            .output(&mut tree)
            .ok()
            .filter(|output| output.status.success())?;
        let text = String::from_utf8(output.stdout).ok()?;
        // `name v0.1.0 (/path)`, with empty lines in between.
        let names = text.lines().filter_map(|line| line.split(' ').next());
        Some(names.map(str::to_owned).collect())
    }

    /// Returns the names of the packages with bench targets that the command line does not select.
    pub fn unselected_with_benches(&self, metadata: &Metadata) -> Vec<String> {
        let Some(selected) = self.selected_packages() else {
            return Vec::new();
        };
        let packages = metadata.workspace_packages().into_iter();
        let with_benches = packages.filter(|package| has_benches(package));
        let names = with_benches.map(|package| package.name.to_string());
        names.filter(|name| !selected.contains(name)).collect()
    }

    /// Returns the names of the selected packages that have bench targets, and of those that have
    /// none.
    pub fn selected_with_and_without_benches(
        &self,
        metadata: &Metadata,
    ) -> (Vec<String>, Vec<String>) {
        let selected = self.selected_packages().unwrap_or_default();
        let packages = metadata.workspace_packages().into_iter();
        let packages = packages.filter(|package| selected.contains(package.name.as_str()));
        let (with, without): (Vec<&Package>, Vec<_>) = packages.partition(|p| has_benches(p));
        let names = |packages: Vec<&Package>| packages.iter().map(|p| p.name.to_string()).collect();
        (names(with), names(without))
    }
}

fn has_benches(package: &Package) -> bool {
    let mut targets = package.targets.iter();
    targets.any(|target| target.kind.contains(&TargetKind::Bench))
}
