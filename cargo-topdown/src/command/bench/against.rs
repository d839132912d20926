//! `cargo topdown bench --against`: builds base and candidate, launches them side by side, and
//! judges.
//!
//! This is the strongest comparison: same machine, same minutes, no stored baseline. Suspected
//! regressions are launched again, once, and judged by all their launches.

use std::path::Path;

use criterion_topdown::run_file::{BenchmarkId, LaunchSamples, Run, Selection, write_run};

use super::pairs::{self, Pairs};
use super::{
    BenchError, fingerprints, launcher, measured_run, nothing_to_keep, run_id, scratch_directory,
    selected, with_model, without_left_out,
};
use crate::base_tree::BaseTree;
use crate::baseline_store::BaselineStore;
use crate::bench_targets::{BenchTarget, BuildError, Cargo, CargoFlags};
use crate::cli::BenchArgs;
use crate::command::compare::{self, Sides};
use crate::command::history;
use crate::config::measuring::WorkspaceSettings;
use crate::config::{Config, Workspace};
use crate::error::Error;
use crate::exit::Exit;
use crate::runner::collect::Collected;
use crate::runner::interrupt::Guard;
use crate::runner::{again, modelled};
use topdown_gate::selection::NameFilter;
use topdown_gate::verdict::{self, LabelledRun, Sessions};

/// The candidate, already built.
pub struct Candidate<'a> {
    pub cargo: &'a Cargo<'a>,
    pub workspace: &'a Workspace,
    pub settings: &'a WorkspaceSettings,
    pub store: &'a BaselineStore,
    pub targets: &'a [BenchTarget],
    /// The filter of the command line.
    pub names: &'a NameFilter,
    /// What the command line selects from it.
    pub selection: &'a Selection,
}

/// Builds the sources that `reference` names, launches both sides, and compares them.
///
/// # Errors
/// Returns the errors of `bench`, and an error if there is no base.
pub fn run(
    args: &BenchArgs,
    candidate: &Candidate<'_>,
    reference: &str,
    guard: Guard,
) -> Result<Exit, Error> {
    let Workspace { metadata, config } = candidate.workspace;
    let workspace_root = metadata.workspace_root.as_std_path();
    let target_directory = metadata.target_directory.as_std_path();
    // Before the build, which can take long.
    let policy = config.policy(&args.policy.overrides())?;
    let tree = BaseTree::prepare(reference, workspace_root, target_directory)
        .map_err(BenchError::BaseTree)?;
    let (base_targets, base_selection) = build_base(args, candidate, &tree)?;

    let scratch = scratch_directory()?;
    let launcher = launcher(&args.launch, &candidate.cargo.program, scratch.path());
    let started_at = jiff::Timestamp::now();
    let rest_of =
        |targets| without_left_out(candidate.settings, targets, candidate.names, &launcher);
    let base_targets = rest_of(base_targets)?;
    let candidate = &Candidate {
        targets: &rest_of(candidate.targets.to_vec())?,
        ..*candidate
    };
    let of_targets = |targets: &[BenchTarget]| fingerprints(&args.launch, targets, &launcher);
    let executed = [of_targets(&base_targets)?, of_targets(candidate.targets)?];
    let pairs = Pairs {
        base: &modelled::on_the_clock(&base_targets),
        candidate: &modelled::on_the_clock(candidate.targets),
        launcher: &launcher,
        quiet: args.launch.cargo.quiet,
        fail_fast: args.launch.measuring.fail_fast,
    };
    let (mut base, mut new) = pairs.launch()?;
    with_model(&args.launch, &base_targets, &launcher, &mut base)?;
    with_model(&args.launch, candidate.targets, &launcher, &mut new)?;
    for (fingerprints, side) in executed.iter().zip([&mut base, &mut new]) {
        fingerprints.put_beside(&mut side.collected.benchmarks);
    }
    pairs::check("base", &base)?;
    pairs::check("candidate", &new)?;
    if new.collected.benchmarks.is_empty() {
        return Err(nothing_to_keep(&args.launch, candidate.targets, &new).into());
    }
    let directory = target_directory.join("topdown").join("against").join("run");
    let mut base = Measured {
        run: Run {
            id: format!("{}-base", run_id(started_at)),
            selection: base_selection,
            ..measured_run(
                &args.launch,
                &tree.workspace_root,
                started_at,
                &base_targets,
                candidate.settings,
            )
        },
        samples: Vec::new(),
        directory: &directory,
    }
    .with(base.collected);
    let mut new = Measured {
        run: Run {
            selection: candidate.selection.clone(),
            ..measured_run(
                &args.launch,
                workspace_root,
                started_at,
                candidate.targets,
                candidate.settings,
            )
        },
        samples: Vec::new(),
        directory: candidate.store.newest_directory(),
    }
    .with(new.collected);
    // Store both runs before the second look, which may be interrupted.
    base.write()?;
    new.write()?;

    let comparison = if again::would_help(candidate.targets, &new.run) {
        let first = verdict::first_look(
            base.labelled(&tree.label),
            new.labelled("the work tree"),
            &policy,
            Sessions::InTurn,
        );
        let suspects = verdict::suspects(&first, false);
        if suspects.is_empty() {
            first
        } else {
            let (more_base, more_new) = pairs.launch_again(&suspects)?;
            base.extend(more_base, &suspects);
            new.extend(more_new, &suspects);
            base.write()?;
            new.write()?;
            verdict::second_look(first, &base.run, &new.run, &policy)
        }
    } else {
        verdict::compare_in_turn(
            base.labelled(&tree.label),
            new.labelled("the work tree"),
            &policy,
        )
    };
    drop(guard);
    let history = args
        .comparison
        .shows_history()
        .then(|| history::up_to(candidate.store, reference, &base.run))
        .flatten();
    let sides = Sides {
        baseline: &base.run,
        candidate: &new.run,
        history: history.as_ref(),
    };
    compare::report(&args.comparison, args.output.color, &comparison, sides)?;
    Ok(comparison.outcome.into())
}

/// Builds the base with the candidate's flags, at the candidate's place within the workspace.
/// Returns its targets, and what the flags select from them.
fn build_base(
    args: &BenchArgs,
    candidate: &Candidate<'_>,
    tree: &BaseTree,
) -> Result<(Vec<BenchTarget>, Selection), Error> {
    let of_base = |error| match error {
        BuildError::Interrupted => BenchError::Interrupted,
        error => BenchError::BaseBuild {
            base: tree.label.clone(),
            error,
        },
    };
    let candidate_root = candidate.workspace.metadata.workspace_root.as_std_path();
    let in_tree = |path: &Path| match path.strip_prefix(candidate_root) {
        Ok(inside) => tree.workspace_root.join(inside),
        Err(_) => tree.workspace_root.clone(),
    };
    let here = std::env::current_dir().unwrap_or_else(|_| candidate_root.to_owned());
    let directory = in_tree(&here);
    let manifest_path = candidate
        .cargo
        .manifest_path
        .map(|path| in_tree(&here.join(path)));
    let cargo = Cargo {
        program: candidate.cargo.program.clone(),
        flags: CargoFlags {
            target_dir: Some(tree.target_directory.clone()),
            ..candidate.cargo.flags.clone()
        },
        manifest_path: manifest_path.as_deref(),
        // A new package has no directory in the base.
        directory: Some(if directory.is_dir() {
            &directory
        } else {
            &tree.workspace_root
        }),
    };
    let metadata = cargo.metadata().map_err(of_base)?;
    let settings = Config::read(&metadata)?.measuring(&(&args.launch.measuring).into())?;
    let mut targets = cargo.bench_targets(&metadata, &settings).map_err(of_base)?;
    for target in &mut targets {
        // Both sides use the settings in the candidate's manifests.
        let same =
            |other: &&BenchTarget| (&other.package, &other.name) == (&target.package, &target.name);
        if let Some(same) = candidate.targets.iter().find(same) {
            target.settings = same.settings;
        }
    }
    let selection = Selection {
        left_out: candidate.selection.left_out.clone(),
        ..selected(&args.launch, &metadata, &targets)
    };
    Ok((targets, selection))
}

/// A run with its samples, and where it is stored.
struct Measured<'a> {
    run: Run,
    samples: Vec<LaunchSamples>,
    directory: &'a Path,
}

impl Measured<'_> {
    fn with(mut self, collected: Collected) -> Self {
        self.run.benchmarks = collected.benchmarks;
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

    fn write(&self) -> Result<(), BenchError> {
        write_run(self.directory, &self.run, &self.samples).map_err(BenchError::NotStored)
    }
}
