//! The packages that the command line selects.

use std::collections::BTreeSet;
use std::process::Stdio;

use cargo_metadata::{Metadata, Package, TargetKind};

use crate::bench_targets::Cargo;

impl Cargo {
    /// Returns the names of the packages that the command line selects, by `cargo tree`: patterns,
    /// `--exclude`, `default-members` and the current directory count. Returns `None` if cargo does
    /// not say.
    pub fn selected_packages(&self) -> Option<BTreeSet<String>> {
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

    /// Returns the names of the packages with bench targets that the command line does not select.
    pub fn unselected_with_benches(&self, metadata: &Metadata) -> Vec<String> {
        let Some(selected) = self.selected_packages() else {
            return Vec::new();
        };
        let has_benches = |package: &&&Package| {
            let mut targets = package.targets.iter();
            targets.any(|target| target.kind.contains(&TargetKind::Bench))
        };
        let packages = metadata.workspace_packages();
        let with_benches = packages.iter().filter(has_benches);
        let names = with_benches.map(|package| package.name.to_string());
        names.filter(|name| !selected.contains(name)).collect()
    }
}
