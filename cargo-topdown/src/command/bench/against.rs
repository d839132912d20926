//! `cargo topdown bench --against`: builds base and candidate, launches them side by side, and
//! judges.
//!
//! This is the strongest comparison: same machine, same minutes, no stored baseline. Suspected
//! regressions are launched again, once, and judged by all their launches.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use cargo_metadata::Metadata;
use cargo_metadata::camino::Utf8PathBuf;
use topdown_run::run_file::{BenchmarkId, LaunchSamples, Run, Selection, write_run};

use crate::adoption::{self, PACKAGE};
use crate::base_tree::{BaseTree, BaseTreeError};
use crate::baseline_store::BaselineStore;
use crate::cli::BenchArgs;
use crate::command::comparison_output;
use crate::comparing::history::{self, ASSUMED_MERGES_PER_YEAR};
use crate::comparing::output::Sides;
use crate::comparing::sampled_functions::{self, Sampled};
use crate::config::Workspace;
use crate::error::Error;
use crate::exit::Exit;
use crate::measure::{MeasureError, Session, on_its_cores, pairs, run_id};
use crate::renames::Renames;
use topdown_gate::verdict::{self, FirstLook, LabelledRun, Sessions};
use topdown_runner::bench_targets::{BenchTarget, BuildError, Cargo};
use topdown_runner::collect::Collected;
use topdown_runner::{again, model_or_clock};
use topdown_terminal::terminal::tell;

/// Builds the sources in `tree`, which `reference` names, launches both sides, and compares them.
/// `targets` are the candidate's.
///
/// # Errors
/// Returns the errors of `bench`, and an error if there is no base.
pub fn run(
    args: &BenchArgs,
    session: Session,
    store: &BaselineStore,
    targets: Vec<BenchTarget>,
    (reference, tree): (&str, BaseTree),
) -> Result<Exit, Error> {
    let Workspace { metadata, config } = &session.workspace;
    let workspace_root = metadata.workspace_root.as_std_path();
    // Before the build, which can take long.
    let policy = config
        .policy(&args.policy.overrides())?
        .spent_over(ASSUMED_MERGES_PER_YEAR);
    let renamed = config.renames().0.clone();
    let (base_targets, base_selection) = build_base(&session, &targets, &tree)?;
    topdown_runner::check_apart(&base_targets, &targets).map_err(MeasureError::Launch)?;
    let selection = session.selection(&session.workspace, &targets);
    let base_targets = session.without_left_out(base_targets)?;
    let targets = session.without_left_out(targets)?;
    let executed = [
        session.fingerprints(&base_targets, " of the base")?,
        session.fingerprints(&targets, " of the candidate")?,
    ];
    let base_on_the_clock = model_or_clock::on_the_clock(&base_targets, u32::MAX);
    let on_the_clock = model_or_clock::on_the_clock(&targets, u32::MAX);
    let pairs = session.pairs(&base_on_the_clock, &on_the_clock);
    let [mut base, mut new] = session.measure_in_turn(&base_targets, &targets)?;
    for (fingerprints, side) in executed.iter().zip([&mut base, &mut new]) {
        fingerprints.put_beside(&mut side.collected.benchmarks);
    }
    pairs::check("base", &base).inspect_err(|_| report_lacking(&tree))?;
    pairs::check("candidate", &new)?;
    if new.collected.benchmarks.is_empty() {
        return Err(session.nothing_to_keep(&targets, &new).into());
    }
    session.tell_load(&session.run_without_benchmarks(workspace_root, &targets));
    let directory = session.workspace.kept_directory();
    let directory = directory.join("against").join("run");
    let mut base = StoredSide {
        run: Run {
            id: format!("{}-base", run_id(session.started_at)),
            selection: base_selection,
            ..session.run_without_benchmarks(&tree.workspace_root, &base_targets)
        },
        samples: Vec::new(),
        directory: &directory,
    }
    .with(base.collected);
    if tree.is_worktree {
        // What is changed in it is ours: a lock file, and the manifests of a base before adoption.
        base.run.build.git_dirty = Some(false);
    }
    let mut new = StoredSide {
        run: Run {
            selection,
            ..session.run_without_benchmarks(workspace_root, &targets)
        },
        samples: Vec::new(),
        directory: store.newest_directory(),
    }
    .with(new.collected);
    // Store both runs before the second look, which may be interrupted.
    base.write()?;
    new.write()?;

    let comparison = if again::is_measured(&new.run) && again::would_help(&targets) {
        let first = FirstLook::new(
            base.labelled(&tree.label),
            new.labelled("the work tree"),
            &policy,
            Sessions::InTurn,
            false,
        );
        let (base, new) = (&mut base, &mut new);
        first.and_second(&policy, move |suspects| {
            let (more_base, more_new) = pairs.launch_again(suspects)?;
            base.extend(more_base, suspects);
            new.extend(more_new, suspects);
            base.write()?;
            new.write()?;
            Ok::<_, Error>([&base.run, &new.run])
        })?
    } else {
        verdict::compare_in_turn(
            base.labelled(&tree.label),
            new.labelled("the work tree"),
            &policy,
        )
    };
    let sampled = Sampled::asked(args.functions).of(&comparison);
    let unknown_of_base = base.sample_functions(&session, &base_targets, &sampled)?;
    let unknown_of_new = new.sample_functions(&session, &targets, &sampled)?;
    let comparison = verdict::with_functions(
        comparison,
        [&base.run, &new.run],
        [&unknown_of_base, &unknown_of_new],
    );
    drop(session);
    let history = args
        .comparison
        .shows_history()
        .then(|| history::up_to(store, reference, &base.run, Renames(&renamed)))
        .flatten();
    let sides = Sides {
        baseline: &base.run,
        candidate: &new.run,
        history: history.as_ref(),
    };
    let verbose = args.launch.cargo.verbose > 0;
    let color = args.output.color;
    let output = comparison_output::asked(&args.comparison, verbose, color);
    output.report(&comparison, sides)?;
    Ok(comparison.outcome.into())
}

/// Builds the base with the candidate's flags, at the candidate's place within the workspace.
/// Returns its targets, and what the flags select from them.
fn build_base(
    session: &Session,
    targets_of_candidate: &[BenchTarget],
    tree: &BaseTree,
) -> Result<(Vec<BenchTarget>, Selection), Error> {
    let of_base = |error| match error {
        BuildError::Interrupted => MeasureError::Interrupted,
        error => MeasureError::BaseBuild {
            base: tree.label.clone(),
            error,
        },
    };
    let candidate_root = session.workspace.metadata.workspace_root.as_std_path();
    let in_tree = |path: &Path| match path.strip_prefix(candidate_root) {
        Ok(inside) => tree.workspace_root.join(inside),
        Err(_) => tree.workspace_root.clone(),
    };
    let here = std::env::current_dir().unwrap_or_else(|_| candidate_root.to_owned());
    let directory = in_tree(&here);
    let mut cargo = Cargo {
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
    };
    report_shared_configuration(candidate_root, tree);
    let metadata = match cargo.metadata() {
        Err(BuildError::Metadata(_)) if copy_ignored(session, tree)? => {
            cargo.metadata().inspect_err(|_| report_lacking(tree))
        }
        metadata => metadata,
    };
    let mut metadata = metadata.map_err(of_base)?;
    if adopt(session, tree, &metadata)? {
        cargo.flags.unlock();
        metadata = cargo.metadata().map_err(of_base)?;
    }
    let absent = cargo.flags.take_absent_features(&metadata);
    if !absent.is_empty() {
        tell!(
            "warning: {} is built without `{}`, a feature that it does not have; benchmarks that \
             need it are new",
            tree.label,
            absent.join("`, `")
        );
    }
    let absent = cargo.flags.take_absent_targets(&metadata);
    if absent.are_all {
        return Err(MeasureError::BaseTree(BaseTreeError::HasNothingSelected {
            base: tree.label.clone(),
            absent: absent.names.join(", "),
        })
        .into());
    }
    if !absent.names.is_empty() {
        tell!(
            "note: {} has no {}; benchmarks in there are new",
            tree.label,
            absent.names.join(", ")
        );
    }
    let moved = moved_packages(&session.workspace.metadata, &metadata);
    if !moved.is_empty() {
        tell!(
            "warning: path dependencies outside the workspace are built in another directory for \
             {}, which alone can change the order of their code: {}; make them members of the \
             workspace",
            tree.label,
            moved.join(", ")
        );
    }
    let workspace = Workspace::of_metadata(metadata)?;
    let settings = workspace.config.measuring(&session.request.settings)?;
    let build = || cargo.bench_targets(&workspace.metadata, &settings);
    let built = match build() {
        Err(error) if error.is_of_sources() && copy_ignored(session, tree)? => {
            build().inspect_err(|_| report_lacking(tree))
        }
        built => built,
    };
    let mut targets = built.map_err(of_base)?.targets;
    for target in &mut targets {
        // So that the runner is the same, too: cargo would add the candidate's configuration to
        // that of a base within its tree.
        if let Some(candidate) = targets_of_candidate.first() {
            target.runner.clone_from(&candidate.runner);
        }
        // Both sides use the settings in the candidate's manifests.
        let same =
            |other: &&BenchTarget| (&other.package, &other.name) == (&target.package, &target.name);
        if let Some(same) = targets_of_candidate.iter().find(same) {
            target.settings = same.settings;
        }
    }
    let selection = session.selection(&workspace, &targets);
    Ok((targets, selection))
}

/// Says that cargo applies the candidate's configuration to a base that lies within its tree.
fn report_shared_configuration(candidate_root: &Path, tree: &BaseTree) {
    const FILE: &str = ".cargo/config.toml";
    let read = |root: &Path| fs::read(root.join(FILE)).ok();
    let of_candidate = read(candidate_root);
    let is_shared = tree.workspace_root.starts_with(candidate_root) && of_candidate.is_some();
    if is_shared && of_candidate != read(&tree.workspace_root) {
        tell!(
            "warning: {FILE} differs from the base's, but cargo applies the candidate's to both; \
             to compare its effect, check the base out elsewhere and use `--against DIRECTORY`"
        );
    }
}

/// Copies what git ignores and the candidate's build reads into a base that failed without it. Returns
/// whether there was any.
fn copy_ignored(session: &Session, tree: &BaseTree) -> Result<bool, MeasureError> {
    let copied = tree.copy_ignored(&session.read);
    let copied = copied.map_err(MeasureError::BaseTree)?;
    if copied.is_empty() {
        report_lacking(tree);
        return Ok(false);
    }
    tell!(
        "note: building {} again with copies of files that git ignores and the candidate's build \
         reads: {}",
        tree.label,
        copied.join(", ")
    );
    Ok(true)
}

/// Says what a base that failed may lack.
fn report_lacking(tree: &BaseTree) {
    if let Some(lacking) = tree.lacking() {
        tell!("note: {lacking}");
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
    let plan = adoption::plan_of_base(base, candidate, &session.cargo.program)?;
    let why = match plan {
        None => return Ok(false),
        Some(plan) if plan.is_empty() => "has no criterion bench",
        Some(_) if !tree.is_worktree => "is a directory, which stays as it is",
        Some(plan) => {
            plan.write_manifests()?;
            tell!(
                "note: {label} does not use {PACKAGE} yet; it is measured with the candidate's \
                 library, through changed manifests in {}",
                tree.workspace_root.display()
            );
            return Ok(true);
        }
    };
    tell!(
        "note: {label} does not use {PACKAGE} yet, and {why}, so no slots are compared; the next \
         change will be the first to compare them"
    );
    Ok(false)
}

/// A run with its samples, and where it is stored.
struct StoredSide<'a> {
    run: Run,
    samples: Vec<LaunchSamples>,
    directory: &'a Path,
}

impl StoredSide<'_> {
    fn with(mut self, collected: Collected) -> Self {
        self.run.benchmarks = collected.benchmarks;
        self.run = on_its_cores(self.run);
        self.samples = collected.samples;
        self
    }

    fn labelled<'a>(&'a self, label: &'a str) -> LabelledRun<'a> {
        LabelledRun {
            label,
            run: &self.run,
        }
    }

    /// Appends further launches of the suspects.
    fn extend(&mut self, more: Collected, suspects: &[BenchmarkId]) {
        let more = again::numbered_behind(&self.run, suspects, more);
        again::append(&mut self.run, &more.benchmarks);
        self.samples.extend(more.samples);
    }

    /// Adds the functions of the benchmarks `ids`, where the hardware has counted them. Returns
    /// each that has none, and why.
    fn sample_functions(
        &mut self,
        session: &Session,
        targets: &[BenchTarget],
        ids: &[BenchmarkId],
    ) -> Result<Vec<(BenchmarkId, String)>, Error> {
        let mut lacking = sampled_functions::lacking(&self.run, ids);
        if lacking.is_empty() {
            return Ok(Vec::new());
        }
        let unknown = session.sample_functions(targets, &mut lacking)?;
        for sampled in lacking {
            sampled_functions::put(&mut self.run, sampled);
        }
        self.write()?;
        Ok(unknown)
    }

    fn write(&self) -> Result<(), Error> {
        write_run(self.directory, &self.run, &self.samples).map_err(Error::NotStored)
    }
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
