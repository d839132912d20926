//! Tests of whole plans.

use super::*;
use std::fs;

/// A workspace whose only package depends on criterion in this way.
fn metadata(directory: &Path, dependency: &str) -> Metadata {
    let write = |path: &str, text: &str| {
        let path = directory.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write(
        "Cargo.toml",
        &format!(
            "[package]\nname = \"p\"\n[dev-dependencies]\ncriterion = {dependency}\n\
             [[bench]]\nname = \"b\"\nharness = false\n"
        ),
    );
    write("src/lib.rs", "");
    write("benches/b.rs", "criterion_main!(benches);\n");
    let mut command = cargo_metadata::MetadataCommand::new();
    command.current_dir(directory).no_deps().exec().unwrap()
}

/// In either order of their names, since packages are sorted by them.
#[test]
fn root_package_and_inherited_dependency_change() {
    for root in ["a", "z"] {
        let directory = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let bench = "[[bench]]\nname = \"b\"\nharness = false\n";
        let manifest = |name: &str, criterion: &str| {
            format!("[package]\nname = \"{name}\"\n[dev-dependencies]\n{criterion}\n{bench}")
        };
        let workspace = "[workspace]\nmembers = [\"m\", \"n\"]\n[workspace.dependencies]\n\
                         criterion = \"0.4\"\n";
        write(
            "Cargo.toml",
            &(manifest(root, "criterion = \"0.5\"") + workspace),
        );
        for name in ["m", "n"] {
            let inherits = manifest(name, "criterion.workspace = true");
            write(&format!("{name}/Cargo.toml"), &inherits);
        }
        for package in ["", "m/", "n/"] {
            write(&format!("{package}src/lib.rs"), "");
            write(
                &format!("{package}benches/b.rs"),
                "criterion_main!(benches);\n",
            );
        }
        let mut command = cargo_metadata::MetadataCommand::new();
        let metadata = command
            .current_dir(directory.path())
            .no_deps()
            .exec()
            .unwrap();
        let library = Library::Registry("0.1".to_owned());
        let library = Finder::for_library(library, Path::new("cargo"), directory.path());
        let changes = plan(&metadata, &library).unwrap().manifests;
        let [change] = &changes[..] else {
            panic!("{changes:?}")
        };
        let mut before: Vec<&str> = change.replaced.iter().map(|r| &*r.before).collect();
        before.sort_unstable();
        assert_eq!(before, ["criterion = \"0.4\"", "criterion = \"0.5\""]);
        assert_eq!(change.text.matches("criterion-topdown").count(), 2);
    }
}

/// In the workspace's table and its own, by each of its names.
#[test]
fn renamed_criterion_keeps_its_name() {
    let directory = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write(
        "Cargo.toml",
        "[workspace]\nmembers = [\"m\", \"n\"]\n[workspace.dependencies]\n\
         measure = { package = \"criterion\", version = \"0.8.2\" }\n\
         criterion = { package = \"fork\", version = \"1\" }\n",
    );
    let own = "timer = { package = \"criterion\", version = \"0.8.2\", features = [\"rayon\"] }";
    for (name, dependency) in [("m", "measure.workspace = true"), ("n", own)] {
        write(
            &format!("{name}/Cargo.toml"),
            &format!(
                "[package]\nname = \"{name}\"\n[dev-dependencies]\n{dependency}\n\
                 [[bench]]\nname = \"b\"\nharness = false\n"
            ),
        );
        write(&format!("{name}/src/lib.rs"), "");
        write(
            &format!("{name}/benches/b.rs"),
            "x::criterion_main!(benches);\n",
        );
    }
    let metadata = || {
        let mut command = cargo_metadata::MetadataCommand::new();
        let command = command.current_dir(directory.path()).no_deps();
        command.exec().unwrap()
    };
    let of_registry = Library::Registry("0.1".to_owned());
    let finder = Finder::for_library(of_registry, Path::new("cargo"), directory.path());
    let planned = plan(&metadata(), &finder).unwrap();
    let mut after: Vec<&str> = (planned.manifests.iter())
        .flat_map(|change| &change.replaced)
        .map(|replaced| &*replaced.after)
        .collect();
    after.sort_unstable();
    assert_eq!(
        after,
        [
            "measure = { package = \"criterion-topdown\", version = \"0.1\" }",
            "timer = { package = \"criterion-topdown\", version = \"0.1\", \
             features = [\"rayon\"] }",
        ]
    );
    planned.write_manifests().unwrap();
    let text = fs::read_to_string(directory.path().join("Cargo.toml")).unwrap();
    assert!(text.contains("criterion = { package = \"fork\""), "{text}");
    let again = plan(&metadata(), &finder).unwrap();
    assert_eq!((again.manifests.len(), again.adopted.len()), (0, 2));
}

/// A member whose features are still to be dropped is not seen if it inherits the library.
#[test]
fn workspace_manifest_is_written_last() {
    let directory = tempfile::tempdir().unwrap();
    let change = |name: &str| ManifestChange {
        path: directory.path().join(name),
        replaced: Vec::new(),
        text: "new".to_owned(),
    };
    let plan = Plan {
        manifests: vec![change("Cargo.toml"), change("gone/Cargo.toml")],
        workspace: Some(directory.path().join("Cargo.toml")),
        ..Plan::default()
    };
    fs::write(directory.path().join("Cargo.toml"), "old").unwrap();
    plan.write_manifests().unwrap_err();
    let text = fs::read_to_string(directory.path().join("Cargo.toml"));
    assert_eq!(text.unwrap(), "old");
}

#[test]
fn base_without_library_uses_candidates() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str, dependency: &str| metadata(&directory.path().join(name), dependency);
    let base = at("base", "\"0.5\"");
    let library = "{ package = \"criterion-topdown\", version = \"0.1\" }";
    let candidate = at("candidate", library);
    let plan = |base, candidate| plan_of_base(base, candidate, Path::new("cargo")).unwrap();
    let changes = plan(&base, &candidate).expect("a plan").manifests;
    assert_eq!(changes.len(), 1);
    let after = "criterion = { package = \"criterion-topdown\", version = \"^0.1\" }";
    assert_eq!(changes[0].replaced[0].after, after);
    // There is nothing to change where both have it, or neither.
    assert!(plan(&candidate, &candidate).is_none());
    assert!(plan(&base, &base).is_none());
}

#[test]
fn removed_api_is_found_in_modules() {
    let directory = tempfile::tempdir().unwrap();
    let metadata = || metadata(directory.path(), "\"0.3\"");
    metadata();
    let write = |name: &str, text: &str| {
        fs::write(directory.path().join("benches").join(name), text).unwrap();
    };
    let uses = "c.bench_functions(\"a\", v, 3);\nb.iter_custom(|n| f(n));\n";
    write("storage.rs", uses);
    let of_registry = Library::Registry("0.1".to_owned());
    let finder = Finder::for_library(of_registry, Path::new("cargo"), directory.path());
    let metadata = metadata();
    write("b.rs", "mod storage;\ncriterion_main!(benches);\n");
    let planned = plan(&metadata, &finder).unwrap();
    let lines = |places: &[SourceLocation]| -> Vec<(String, usize)> {
        let name = |place: &SourceLocation| place.path.file_name().unwrap().display().to_string();
        places
            .iter()
            .map(|place| (name(place), place.line))
            .collect()
    };
    assert_eq!(lines(&planned.removed), [("storage.rs".to_owned(), 1)]);
    assert_eq!(lines(&planned.self_timed), [("storage.rs".to_owned(), 2)]);
}
