//! The build of the base of `bench --against`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use cargo_metadata::Metadata;
use cargo_metadata::camino::Utf8PathBuf;
use topdown_run::run_file::Selection;

use crate::base_tree::{BaseTree, BaseTreeError};
use crate::config::Workspace;
use crate::error::Error;
use crate::measure::{MeasureError, Session};
use topdown_adoption::PACKAGE;
use topdown_runner::targets::bench_targets::{BenchTarget, BuildError, Cargo};
use topdown_terminal::terminal::message;

/// Builds the base with the candidate's flags, at the candidate's place within the workspace.
/// Returns its targets, and what the flags select from them.
///
/// # Errors
/// Returns an error if the base cannot be built, or has nothing of what the flags name.
pub fn build(
    session: &Session,
    targets_of_candidate: &[BenchTarget],
    tree: &BaseTree,
) -> Result<(Vec<BenchTarget>, Selection), Error> {
    report_shared_configuration(
        session.workspace.metadata.workspace_root.as_std_path(),
        tree,
    );
    let mut cargo = cargo_of_base(session, tree);
    let metadata = metadata_of_base(session, &mut cargo, tree)?;
    leave_out_absent(&mut cargo, &metadata, tree)?;
    report_moved_packages(&session.workspace.metadata, &metadata, tree);
    let workspace = Workspace::from_metadata(metadata)?;
    let settings = workspace.config.measuring(&session.request.settings)?;
    let build = || cargo.bench_targets(&workspace.metadata, &settings);
    let built = match build() {
        Err(error) if error.is_of_sources() && copy_ignored(session, tree)? => {
            build().inspect_err(|_| report_missing_files(tree))
        }
        built => built,
    };
    let mut targets = built.map_err(|error| of_base(tree, error))?.targets;
    launch_as_candidate(&mut targets, targets_of_candidate);
    let selection = session.selection(&workspace, &targets);
    Ok((targets, selection))
}

fn of_base(tree: &BaseTree, error: BuildError) -> MeasureError {
    match error {
        BuildError::Interrupted => MeasureError::Interrupted,
        error => MeasureError::BaseBuild {
            base: tree.label.clone(),
            error,
        },
    }
}

/// Returns the candidate's cargo, in the base's tree.
fn cargo_of_base(session: &Session, tree: &BaseTree) -> Cargo {
    let candidate_root = session.workspace.metadata.workspace_root.as_std_path();
    let in_tree = |path: &Path| match path.strip_prefix(candidate_root) {
        Ok(inside) => tree.workspace_root.join(inside),
        Err(_) => tree.workspace_root.clone(),
    };
    let here = std::env::current_dir().unwrap_or_else(|_| candidate_root.to_owned());
    let directory = in_tree(&here);
    Cargo {
        program: session.cargo.program.clone(),
        flags: (session.cargo.flags).building_in(
            &tree.target_directory,
            session.workspace.metadata.build_directory.is_some(),
        ),
        manifest_path: (session.cargo.manifest_path.as_ref()).map(|path| in_tree(&here.join(path))),
        // A new package has no directory in the base.
        directory: Some(if directory.is_dir() {
            directory
        } else {
            tree.workspace_root.clone()
        }),
    }
}

/// Reads the base's metadata, after what it takes: copies of ignored files, and the library.
fn metadata_of_base(
    session: &Session,
    cargo: &mut Cargo,
    tree: &BaseTree,
) -> Result<Metadata, Error> {
    let metadata = match cargo.metadata() {
        Err(BuildError::Metadata(_)) if copy_ignored(session, tree)? => {
            cargo.metadata().inspect_err(|_| report_missing_files(tree))
        }
        metadata => metadata,
    };
    let metadata = metadata.map_err(|error| of_base(tree, error))?;
    if !adopt(session, tree, &metadata)? {
        return Ok(metadata);
    }
    cargo.flags.unlock();
    Ok(cargo.metadata().map_err(|error| of_base(tree, error))?)
}

/// Takes features and targets out of the flags that the base does not have, and says so.
fn leave_out_absent(
    cargo: &mut Cargo,
    metadata: &Metadata,
    tree: &BaseTree,
) -> Result<(), MeasureError> {
    let absent = cargo.flags.take_absent_features(metadata);
    if !absent.is_empty() {
        message!(
            "warning: {} is built without the feature `{}`, which it does not have; benchmarks \
             that need it count as new",
            tree.label,
            absent.join("`, `")
        );
    }
    let absent = cargo.flags.take_absent_targets(metadata);
    if absent.are_all {
        return Err(MeasureError::BaseTree(BaseTreeError::HasNothingSelected {
            base: tree.label.clone(),
            absent: absent.names.join(", "),
        }));
    }
    if !absent.names.is_empty() {
        message!(
            "note: {} has no {}; the benchmarks there count as new",
            tree.label,
            absent.names.join(", ")
        );
    }
    Ok(())
}

/// Gives the base's targets the candidate's settings and runner.
fn launch_as_candidate(targets: &mut [BenchTarget], candidate: &[BenchTarget]) {
    for target in targets {
        // Cargo would add the candidate's configuration to that of a base within its tree.
        if let Some(first) = candidate.first() {
            target.runner.clone_from(&first.runner);
        }
        let same =
            |other: &&BenchTarget| (&other.package, &other.name) == (&target.package, &target.name);
        if let Some(same) = candidate.iter().find(same) {
            target.settings = same.settings;
        }
    }
}

/// Warns of path dependencies outside the workspace, whose code may have another order in the base.
fn report_moved_packages(candidate: &Metadata, base: &Metadata, tree: &BaseTree) {
    let moved = moved_packages(candidate, base);
    if !moved.is_empty() {
        message!(
            "warning: path dependencies outside the workspace are built in another directory for \
             {}, which alone can reorder their code: {}; make them members of the workspace",
            tree.label,
            moved.join(", ")
        );
    }
}

/// Says that cargo applies the candidate's configuration to a base that lies within its tree.
fn report_shared_configuration(candidate_root: &Path, tree: &BaseTree) {
    const FILE: &str = ".cargo/config.toml";
    let read = |root: &Path| fs::read(root.join(FILE)).ok();
    let of_candidate = read(candidate_root);
    let is_shared = tree.workspace_root.starts_with(candidate_root) && of_candidate.is_some();
    if is_shared && of_candidate != read(&tree.workspace_root) {
        message!(
            "warning: {FILE} differs from the base's, but cargo applies the candidate's to both; \
             to compare its effect, check the base out elsewhere and use `--against DIRECTORY`"
        );
    }
}

/// Copies what git ignores and the candidate's build reads into a base that failed without it.
/// Returns whether there was any.
fn copy_ignored(session: &Session, tree: &BaseTree) -> Result<bool, MeasureError> {
    let copied = tree.copy_ignored(&session.read);
    let copied = copied.map_err(MeasureError::BaseTree)?;
    if copied.is_empty() {
        report_missing_files(tree);
        return Ok(false);
    }
    message!(
        "note: rebuilding {} with copies of git-ignored files that the candidate's build reads: {}",
        tree.label,
        copied.join(", ")
    );
    Ok(true)
}

/// Says what a base that failed may lack.
pub fn report_missing_files(tree: &BaseTree) {
    if let Some(lacking) = tree.missing_files() {
        message!("note: {lacking}");
    }
}

/// Returns the packages outside the workspace that lie in another directory for the base. Cargo
/// hashes their paths into the names of their symbols, by which rustc orders code; of the
/// workspace's own packages it hashes the path within the workspace.
fn moved_packages(candidate: &Metadata, base: &Metadata) -> Vec<String> {
    let outside = |metadata: &Metadata| -> BTreeSet<(String, Utf8PathBuf)> {
        let packages = metadata.packages.iter();
        packages
            .filter(|package| package.source.is_none())
            .filter(|package| !package.manifest_path.starts_with(&metadata.workspace_root))
            .map(|package| (package.name.to_string(), package.manifest_path.clone()))
            .collect()
    };
    let of_candidate = outside(candidate);
    let moved = outside(base).into_iter();
    moved
        .filter(|package| !of_candidate.contains(package))
        .map(|(name, _)| name)
        .collect()
}

/// Changes the manifests of a base that lacks the library as `init` would, in our own worktree.
/// Returns whether it did.
fn adopt(session: &Session, tree: &BaseTree, base: &Metadata) -> Result<bool, Error> {
    let label = &tree.label;
    let candidate = &session.workspace.metadata;
    let plan = topdown_adoption::plan_of_base(base, candidate, &session.cargo.program)?;
    let why = match plan {
        None => return Ok(false),
        Some(plan) if plan.is_empty() => "has no criterion bench",
        Some(_) if !tree.is_worktree => "is a directory, which stays as it is",
        Some(plan) => {
            plan.write_manifests()?;
            message!(
                "note: {label} does not use {PACKAGE} yet; it is measured with the candidate's \
                 library, through changed manifests in {}",
                tree.workspace_root.display()
            );
            return Ok(true);
        }
    };
    message!(
        "note: {label} does not use {PACKAGE} yet, and {why}, so no slots are compared; the next \
         change will be the first to compare them"
    );
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A workspace in `root/benches` whose package depends on the one in `root/outside`.
    fn metadata(root: &Path, outside: &Path) -> Metadata {
        let package = |directory: &Path, name: &str, more: &str| {
            fs::create_dir_all(directory.join("src")).unwrap();
            fs::write(directory.join("src/lib.rs"), "").unwrap();
            let text = format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\n{more}");
            fs::write(directory.join("Cargo.toml"), text).unwrap();
        };
        package(outside, "outside", "");
        let benches = root.join("benches");
        package(&benches.join("member"), "member", "");
        let dependencies = format!(
            "[dependencies]\noutside = {{ path = {outside:?} }}\nmember = {{ path = \"member\" \
             }}\n[workspace]\nmembers = [\"member\"]\n"
        );
        package(&benches, "benches", &dependencies);
        let mut command = cargo_metadata::MetadataCommand::new();
        command
            .current_dir(&benches)
            .other_options(["--offline".to_owned()]);
        command.exec().unwrap()
    }

    #[test]
    fn moved_path_dependency_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let [base, candidate] = ["base", "candidate"].map(|name| directory.path().join(name));
        let with_it = |root: &Path| metadata(root, &root.join("outside"));
        let moved = moved_packages(&with_it(&candidate), &with_it(&base));
        assert_eq!(moved, ["outside"]);

        let elsewhere = directory.path().join("outside");
        let beside_it = |root: &Path| metadata(root, &elsewhere);
        let none: [&str; 0] = [];
        assert_eq!(
            moved_packages(&beside_it(&candidate), &beside_it(&base)),
            none
        );
    }
}
