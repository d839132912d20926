//! `cargo topdown bench --against`: base and candidate, built and launched side by side, and judged.
//!
//! The strongest comparison there is: same machine, same minutes, no stored baseline. Whatever
//! looks slower without being certain is launched again, once, and judged by all of its launches.

use std::collections::HashMap;
use std::path::Path;

use cargo_metadata::Metadata;
use criterion_topdown::run_file::{BenchmarkId, LaunchSamples, LaunchValue, Run, write_run};

use super::{
    BenchError, failures, launcher, measured_run, nothing_to_keep, report_problems, run_id,
    scratch_directory, with_model,
};
use crate::base_tree::BaseTree;
use crate::baseline_store::BaselineStore;
use crate::bench_targets::{BenchTarget, Cargo};
use crate::cli::{BenchArgs, CargoBenchArgs, SourceChoice};
use crate::command::compare::{self, Sides};
use crate::error::{Error, Exit};
use crate::policy::Policy;
use crate::runner::collect::Collected;
use crate::runner::launch::{LaunchError, Launcher};
use crate::runner::progress::{Progress, Style};
use crate::runner::{self, Outcome, interrupt, modelled};
use crate::settings::{Settings, WorkspaceSettings};
use crate::verdict::{self, Comparison, LabelledRun};

/// How many launches a suspect has after its second look, on each side. `docs/gate.md` has the
/// power that this buys.
const LAUNCHES_OF_SUSPECTS: u32 = 20;

/// The candidate, built.
pub struct Candidate<'a> {
    pub cargo: &'a Cargo<'a>,
    pub metadata: &'a Metadata,
    pub settings: &'a WorkspaceSettings,
    pub store: &'a BaselineStore,
    pub targets: &'a [BenchTarget],
}

/// Builds what `reference` means, launches both sides, and compares.
pub fn run(args: &BenchArgs, candidate: &Candidate<'_>, reference: &str) -> Result<Exit, Error> {
    let workspace_root = candidate.metadata.workspace_root.as_std_path();
    let target_directory = candidate.metadata.target_directory.as_std_path();
    // Before the build, which can take long.
    let policy = Policy::resolve(Some(candidate.metadata), &args.policy)?;
    let tree = BaseTree::prepare(reference, workspace_root, target_directory)
        .map_err(BenchError::BaseTree)?;
    let base_targets = build_base(args, candidate, &tree)?;

    let guard = interrupt::guard().map_err(BenchError::Interrupt)?;
    let scratch = scratch_directory()?;
    let launcher = launcher(args, &candidate.cargo.program, scratch.path());
    let started_at = jiff::Timestamp::now();
    let sides = (&base_targets[..], candidate.targets);
    let on_the_clock = (
        &modelled::on_the_clock(sides.0)[..],
        &modelled::on_the_clock(sides.1)[..],
    );
    let (base, new) = launch_pairs(args, on_the_clock, &launcher)?;
    let base = with_model(args, sides.0, &launcher, base)?;
    let new = with_model(args, sides.1, &launcher, new)?;
    check("base", &base)?;
    check("candidate", &new)?;
    if new.collected.benchmarks.is_empty() {
        return Err(nothing_to_keep(args, candidate.targets, &new).into());
    }
    let directory = target_directory.join("topdown").join("against").join("run");
    let mut base = Measured {
        run: Run {
            id: format!("{}-base", run_id(started_at)),
            ..measured_run(
                args,
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
        run: measured_run(
            args,
            workspace_root,
            started_at,
            candidate.targets,
            candidate.settings,
        ),
        samples: Vec::new(),
        directory: candidate.store.newest_directory(),
    }
    .with(new.collected);
    // Before the second look, which may be interrupted.
    base.write()?;
    new.write()?;

    let comparison = if may_look_again(candidate.targets) {
        let first = verdict::first_look(
            base.labelled(&tree.label),
            new.labelled("the work tree"),
            &policy,
        );
        look_again(args, first, &policy, sides, launcher, (&mut base, &mut new))?
    } else {
        verdict::compare(
            base.labelled(&tree.label),
            new.labelled("the work tree"),
            &policy,
        )
    };
    drop(guard);
    let sides = Sides {
        baseline: &base.run,
        candidate: &new.run,
    };
    compare::report(&args.comparison, args.output.color, &comparison, sides)?;
    Ok(verdict::exit_of(comparison.outcome))
}

/// Builds the base with the candidate's flags, at the candidate's place within the workspace.
fn build_base(
    args: &BenchArgs,
    candidate: &Candidate<'_>,
    tree: &BaseTree,
) -> Result<Vec<BenchTarget>, BenchError> {
    let of_base = |error| BenchError::BaseBuild {
        base: tree.label.clone(),
        error,
    };
    let candidate_root = candidate.metadata.workspace_root.as_std_path();
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
    let flags = CargoBenchArgs {
        target_dir: Some(tree.target_directory.clone()),
        ..args.cargo.clone()
    };
    let cargo = Cargo {
        program: candidate.cargo.program.clone(),
        flags: &flags,
        manifest_path: manifest_path.as_deref(),
        // A package that is new has no directory in the base.
        directory: Some(if directory.is_dir() {
            &directory
        } else {
            &tree.workspace_root
        }),
        color: args.output.color,
    };
    let metadata = cargo.metadata().map_err(of_base)?;
    let settings = WorkspaceSettings::resolve(&args.measuring, &metadata)?;
    let mut targets = cargo.bench_targets(&metadata, &settings).map_err(of_base)?;
    for target in &mut targets {
        // Both sides are measured as the candidate's manifests say.
        let same =
            |other: &&BenchTarget| (&other.package, &other.name) == (&target.package, &target.name);
        if let Some(same) = candidate.targets.iter().find(same) {
            target.settings = same.settings;
        }
    }
    Ok(targets)
}

fn launch_pairs(
    args: &BenchArgs,
    (base, candidate): (&[BenchTarget], &[BenchTarget]),
    launcher: &Launcher,
) -> Result<(Outcome, Outcome), BenchError> {
    let mut progress = Progress::new(
        Style::of_process(args.cargo.quiet),
        &[base, candidate].concat(),
    );
    let outcome = runner::run_in_pairs(
        (base, launcher),
        (candidate, launcher),
        args.measuring.fail_fast,
        &mut progress,
    );
    progress.finish();
    outcome.map_err(|error| match error {
        LaunchError::Interrupted => BenchError::Interrupted,
        other => BenchError::Launch(other),
    })
}

/// A side that is not whole decides nothing.
fn check(side: &'static str, outcome: &Outcome) -> Result<(), BenchError> {
    let failed = failures(outcome);
    if failed > 0 || !outcome.collected.lost_launches.is_empty() {
        anstream::eprintln!("of the {side}:");
    }
    report_problems(outcome);
    match failed {
        0 => Ok(()),
        _ => Err(BenchError::BenchesFailed { failed }),
    }
}

/// Launches the suspects again, up to [`LAUNCHES_OF_SUSPECTS`] on each side, and judges them by all
/// of their launches.
fn look_again(
    args: &BenchArgs,
    first: Comparison,
    policy: &Policy,
    (base_targets, targets): (&[BenchTarget], &[BenchTarget]),
    launcher: Launcher,
    (base, new): (&mut Measured<'_>, &mut Measured<'_>),
) -> Result<Comparison, Error> {
    let suspects: Vec<_> = first
        .benchmarks
        .iter()
        .filter(|b| b.suspect)
        .map(|b| b.id.clone())
        .collect();
    if suspects.is_empty() {
        return Ok(first);
    }
    if !args.cargo.quiet {
        anstream::eprintln!(
            "{} of {} benchmarks look slower without being certain; launching them again, up to \
             {LAUNCHES_OF_SUSPECTS} launches a side",
            suspects.len(),
            first.benchmarks.len()
        );
    }
    let of_suspects = |all: &[BenchTarget]| -> Vec<BenchTarget> {
        all.iter()
            .filter(|t| {
                suspects
                    .iter()
                    .any(|id| (&id.package, &id.target) == (&t.package, &t.name))
            })
            .map(|target| BenchTarget {
                settings: Settings {
                    launches: LAUNCHES_OF_SUSPECTS.saturating_sub(target.settings.launches),
                    ..target.settings
                },
                ..target.clone()
            })
            .collect()
    };
    let names: Vec<String> = suspects
        .iter()
        .map(|id| regex_syntax::escape(&id.name))
        .collect();
    let launcher = Launcher {
        arguments: [
            args.criterion.clone(),
            vec![format!("^(?:{})$", names.join("|"))],
        ]
        .concat(),
        ..launcher
    };
    let again = (&of_suspects(base_targets)[..], &of_suspects(targets)[..]);
    let (more_base, more_new) = launch_pairs(args, again, &launcher)?;
    check("base", &more_base)?;
    check("candidate", &more_new)?;
    base.extend(more_base.collected, &suspects);
    new.extend(more_new.collected, &suspects);
    base.write()?;
    new.write()?;
    Ok(verdict::second_look(first, &base.run, &new.run, policy))
}

/// Further launches of a model that agrees with itself would say nothing new.
fn may_look_again(targets: &[BenchTarget]) -> bool {
    targets.iter().all(|t| {
        t.settings.launches < LAUNCHES_OF_SUSPECTS && t.settings.source != SourceChoice::Model
    })
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

    /// Adds further launches of the benchmarks that are named, behind those that there are.
    fn extend(&mut self, more: Collected, of: &[BenchmarkId]) {
        let mut launches_before = HashMap::new();
        for benchmark in more.benchmarks {
            let known = self
                .run
                .benchmarks
                .iter_mut()
                .find(|b| b.id == benchmark.id);
            let Some(known) = known.filter(|known| of.contains(&known.id)) else {
                continue;
            };
            let before = known.launches.last().map_or(0, |last| last.launch + 1);
            known
                .launches
                .extend(benchmark.launches.into_iter().map(|value| LaunchValue {
                    launch: value.launch + before,
                    ..value
                }));
            launches_before.insert(benchmark.id, before);
        }
        self.samples.extend(
            more.samples
                .into_iter()
                .filter_map(|(id, launch, samples)| {
                    let before = launches_before.get(&id)?;
                    Some((id, launch + before, samples))
                }),
        );
    }

    fn write(&self) -> Result<(), BenchError> {
        write_run(self.directory, &self.run, &self.samples).map_err(BenchError::NotStored)
    }
}
