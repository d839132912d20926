//! A user's benches need no newer Rust than criterion does, whatever the program needs.

use std::collections::{BTreeSet, HashMap};

use cargo_metadata::semver::Version;
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package, PackageId};

/// What a bench compiles.
const LIBRARIES: [&str; 6] = [
    "criterion-topdown",
    "topdown-run",
    "topdown-counters",
    "topdown-model",
    "topdown-tracer",
    "topdown-core-model",
];

#[test]
fn the_libraries_need_no_newer_rust_than_criterion() {
    let metadata = MetadataCommand::new()
        .manifest_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml"))
        .other_options(["--locked".to_owned()])
        .exec()
        .unwrap();
    let packages: HashMap<&PackageId, &Package> = metadata
        .packages
        .iter()
        .map(|package| (&package.id, package))
        .collect();
    let compiled = compiled_with(&metadata, &LIBRARIES);
    let criterion = compiled
        .iter()
        .map(|id| packages[id])
        .find(|package| package.name == "criterion")
        .expect("the library depends on criterion");
    let floor = criterion.rust_version.clone().unwrap();

    for name in LIBRARIES {
        let library = metadata.packages.iter().find(|p| p.name == name).unwrap();
        assert_eq!(library.rust_version.as_ref(), Some(&floor), "{name}");
    }
    let newer: Vec<(&str, &Version)> = compiled
        .iter()
        .filter_map(|id| {
            Some((
                packages[id].name.as_str(),
                packages[id].rust_version.as_ref()?,
            ))
        })
        .filter(|(_, needed)| **needed > floor)
        .collect();
    assert!(newer.is_empty(), "above {floor}: {newer:?}");
}

/// Returns the packages `names` and their dependencies, except those only of their tests and
/// benches.
fn compiled_with<'a>(metadata: &'a Metadata, names: &[&str]) -> BTreeSet<&'a PackageId> {
    let nodes = &metadata.resolve.as_ref().unwrap().nodes;
    let mut waiting: Vec<&PackageId> = metadata
        .packages
        .iter()
        .filter(|package| names.contains(&package.name.as_str()))
        .map(|package| &package.id)
        .collect();
    let mut compiled = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        if !compiled.insert(id) {
            continue;
        }
        let node = nodes.iter().find(|node| node.id == *id).unwrap();
        let is_compiled = |kind| kind != DependencyKind::Development;
        let dependencies = node.deps.iter().filter(|dependency| {
            dependency
                .dep_kinds
                .iter()
                .any(|kind| is_compiled(kind.kind))
        });
        waiting.extend(dependencies.map(|dependency| &dependency.pkg));
    }
    compiled
}
