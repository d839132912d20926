//! Selection of a command line in a workspace, as stored in a run.

use std::collections::BTreeSet;

use cargo_metadata::{Metadata, TargetKind};
use topdown_run::run_file::{Filter, Selection, TargetId};

use topdown_runner::targets::bench_targets::BenchTarget;

/// Returns what a command line selects from the workspace: benchmarks that match `filter`, in the
/// `targets` that cargo built. `are_named` says whether it names packages or targets.
pub fn of_command_line(
    filter: Option<Filter>,
    are_named: bool,
    metadata: &Metadata,
    targets: &[BenchTarget],
) -> Selection {
    let built: BTreeSet<TargetId> = targets.iter().map(target_id).collect();
    Selection {
        filter,
        // Another target would not be missing: it was never named.
        without_targets: if are_named {
            Vec::new()
        } else {
            targets_of(metadata).difference(&built).cloned().collect()
        },
        only_targets: are_named.then(|| built.into_iter().collect()),
        ..Selection::default()
    }
}

fn target_id(target: &BenchTarget) -> TargetId {
    TargetId {
        package: target.package.clone(),
        target: target.name.clone(),
    }
}

/// Returns all bench targets in the workspace's manifests.
fn targets_of(metadata: &Metadata) -> BTreeSet<TargetId> {
    let of_package = |package: &cargo_metadata::Package| -> Vec<TargetId> {
        let targets = package.targets.iter();
        targets
            .filter(|target| target.kind.contains(&TargetKind::Bench))
            .map(|target| TargetId {
                package: package.name.to_string(),
                target: target.name.clone(),
            })
            .collect()
    };
    let packages = metadata.packages.iter();
    packages.flat_map(of_package).collect()
}
