//! `cargo topdown bench --against`: builds base and candidate, launches them side by side, and
//! judges.
//!
//! This is the strongest comparison: same machine, same minutes, no stored baseline. Suspected
//! regressions are launched again, once, and judged by all their launches.

use std::mem;
use std::path::PathBuf;

use topdown_run::run_file::{BenchmarkId, LaunchSamples, Run, write_run};

use super::base_build::{self, report_missing_files};
use super::build::build;
use crate::base_tree::{BaseTree, BaseTreeError};
use crate::cli::BenchArgs;
use crate::command::annotate;
use crate::comparing::history::{self, ASSUMED_MERGES_PER_YEAR};
use crate::comparing::output::Sides;
use crate::comparing::sampled_functions::{self, Sampled};
use crate::error::Error;
use crate::exit::Exit;
use crate::measure::{MeasureError, Session, Side, pairs, run_id};
use topdown_gate::policy::Policy;
use topdown_gate::verdict::{self, Comparison, FirstLook, LabelledRun, Sessions};
use topdown_runner::gathering::collect::Collected;
use topdown_runner::gathering::relaunch;
use topdown_runner::modelling::model_or_clock;
use topdown_runner::record::LaunchRecord;
use topdown_runner::targets::bench_targets::BenchTarget;
use topdown_terminal::terminal::message;

/// Builds the sources that `reference` names, launches both sides, and compares them.
///
/// # Errors
/// Returns the errors of `bench`, and an error if there is no base.
pub fn run(args: &BenchArgs, reference: &str) -> Result<Exit, Error> {
    let mut session = Session::begin(args.request())?;
    let store = args.store.store_location().store_of(&session.workspace);
    let policy = session.workspace.config.policy(&args.policy.overrides())?;
    let policy = policy.spent_over(ASSUMED_MERGES_PER_YEAR);
    let tree = match base_tree(reference, &session) {
        Err(MeasureError::BaseTree(itself @ BaseTreeError::IsCandidate { .. }))
            if policy.allow_nothing_decided =>
        {
            message!("note: {itself}");
            return Ok(Exit::Success);
        }
        tree => tree?,
    };
    let Some(targets) = build(args, &mut session)? else {
        return Ok(Exit::Success);
    };
    let [base, candidate] = sides(&session, targets, &tree)?;

    let [mut of_base, mut of_candidate] =
        session.measure_in_turn(&base.targets, &candidate.targets)?;
    pairs::check("base", &of_base).inspect_err(|_| report_missing_files(&tree))?;
    pairs::check("candidate", &of_candidate)?;

    let against = session.workspace.kept_directory().join("against");
    let mut baseline = MeasuredRun {
        run: base.run_of(&mut of_base, &session),
        label: tree.label.clone(),
        samples: of_base.collected.samples,
        directory: against.join("run"),
    };
    let mut measured = MeasuredRun {
        run: candidate.run_of(&mut of_candidate, &session),
        label: "the work tree".to_owned(),
        samples: mem::take(&mut of_candidate.collected.samples),
        directory: store.newest_directory().to_owned(),
    };
    if measured.run.benchmarks.is_empty() {
        return Err(session
            .empty_run_error(&candidate.targets, &of_candidate)
            .into());
    }
    session.report_load(&measured.run);
    // Before the second look, which may be interrupted.
    baseline.write()?;
    measured.write()?;
    record_launches(&baseline, &base.targets, &session.request.criterion);
    record_launches(&measured, &candidate.targets, &session.request.criterion);

    let sides = [&base, &candidate];
    let comparison = judge(&session, sides, [&mut baseline, &mut measured], &policy)?;
    let sampled = Sampled::requested(args.functions).of(&comparison);
    let unknown = [
        baseline.sample_functions(&session, &base.targets, &sampled)?,
        measured.sample_functions(&session, &candidate.targets, &sampled)?,
    ];
    let runs = [&baseline.run, &measured.run];
    let mut comparison =
        verdict::with_functions(comparison, runs, unknown.each_ref().map(|ids| &ids[..]));

    let listing = annotate::requested(&args.comparison, &mut comparison, |id| {
        let targets = [&base.targets[..], &candidate.targets];
        annotate::of_targets(&session, targets, id, &args.comparison)
    });
    let verbose = args.launch.cargo.verbose > 0;
    let workspace = session.end();
    let history = args
        .comparison
        .shows_history()
        .then(|| history::up_to(&store, reference, &baseline.run, workspace.config.renames()))
        .flatten();
    let sides = Sides {
        baseline: &baseline.run,
        candidate: &measured.run,
        history: history.as_ref(),
        listing: listing.as_ref().ok().and_then(Option::as_ref),
    };
    args.comparison
        .output(verbose, args.output.color)
        .report(&comparison, sides)?;
    annotate::print(listing, &args.comparison, args.output.color)?;
    Ok(comparison.outcome.into())
}

/// Records how a side was launched. `compare --annotate` needs it, and `compare --relaunch`.
fn record_launches(side: &MeasuredRun, targets: &[BenchTarget], criterion: &[String]) {
    if let Err(error) = LaunchRecord::write(&side.directory, &side.run, targets, criterion) {
        message!(
            "note: `compare` cannot launch {} again: {error}",
            side.label
        );
    }
}

/// Prepares the sources to compare against, and says what follows.
fn base_tree(reference: &str, session: &Session) -> Result<BaseTree, MeasureError> {
    let metadata = &session.workspace.metadata;
    let tree = BaseTree::prepare(
        reference,
        metadata.workspace_root.as_std_path(),
        &session.workspace.kept_directory(),
    )
    .map_err(MeasureError::BaseTree)?;
    if !session.request.quiet {
        let directory = &tree.target_directory;
        let directory = directory.strip_prefix(&metadata.workspace_root);
        message!(
            "note: also building the base, {}, in {}; its build is kept for the next time",
            tree.label,
            directory.unwrap_or(&tree.target_directory).display()
        );
    }
    Ok(tree)
}

/// Builds the base, and returns both sides. `targets` are the candidate's.
fn sides(
    session: &Session,
    targets: Vec<BenchTarget>,
    tree: &BaseTree,
) -> Result<[Side; 2], Error> {
    let (base_targets, base_selection) = base_build::build(session, &targets, tree)?;
    topdown_runner::check_apart(&base_targets, &targets).map_err(MeasureError::Launch)?;
    let selection = session.selection(&session.workspace, &targets);
    let base_targets = session.without_left_out(base_targets)?;
    let targets = session.without_left_out(targets)?;
    let mut base = session.run_without_benchmarks(&tree.workspace_root, &base_targets);
    base.id = format!("{}-base", run_id(session.started_at));
    base.selection = base_selection;
    if tree.is_worktree {
        // What is changed in it is ours: a lock file, and the manifests of a base before adoption.
        base.build.git_dirty = Some(false);
    }
    let root = session.workspace.metadata.workspace_root.as_std_path();
    let mut candidate = session.run_without_benchmarks(root, &targets);
    candidate.selection = selection;
    Ok([
        Side {
            fingerprints: session.fingerprints(&base_targets, " of the base")?,
            targets: base_targets,
            run: base,
        },
        Side {
            fingerprints: session.fingerprints(&targets, " of the candidate")?,
            targets,
            run: candidate,
        },
    ])
}

/// Judges the runs in two looks if suspects can be launched again, otherwise in one.
fn judge(
    session: &Session,
    [base, candidate]: [&Side; 2],
    [baseline, measured]: [&mut MeasuredRun; 2],
    policy: &Policy,
) -> Result<Comparison, Error> {
    if !(relaunch::is_measured(&measured.run) && relaunch::would_help(&candidate.targets)) {
        let runs = (baseline.labelled(), measured.labelled());
        return Ok(verdict::compare_in_turn(runs.0, runs.1, policy));
    }
    let first = FirstLook::new(
        baseline.labelled(),
        measured.labelled(),
        policy,
        Sessions::RoundRobin,
        false,
    );
    let suspects = first.suspects();
    if suspects.is_empty() {
        return Ok(first.into_comparison());
    }
    let base_targets = model_or_clock::on_the_clock(&base.targets);
    let targets = model_or_clock::on_the_clock(&candidate.targets);
    let pairs = session.pairs(&base_targets, &targets);
    let (more_of_base, more) = pairs.launch_again(suspects)?;
    baseline.extend(more_of_base, suspects);
    measured.extend(more, suspects);
    baseline.write()?;
    measured.write()?;
    Ok(first.second(&baseline.run, &measured.run, policy))
}

/// A run with its samples, and where it is stored.
struct MeasuredRun {
    label: String,
    run: Run,
    samples: Vec<LaunchSamples>,
    directory: PathBuf,
}

impl MeasuredRun {
    fn labelled(&self) -> LabelledRun<'_> {
        LabelledRun {
            label: &self.label,
            run: &self.run,
        }
    }

    /// Appends further launches of the suspects.
    fn extend(&mut self, more: Collected, suspects: &[BenchmarkId]) {
        let more = relaunch::numbered_behind(&self.run, suspects, more);
        relaunch::append(&mut self.run, &more.benchmarks);
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
        let mut lacking = sampled_functions::without_functions(&self.run, ids);
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
        write_run(&self.directory, &self.run, &self.samples).map_err(Error::NotStored)
    }
}
