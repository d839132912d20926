//! `cargo topdown compare`: judges two stored runs.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread;

use criterion_topdown::run_file::{self, Run};

use crate::accepted_file::{self, Found};
use crate::baseline_store::BaselineStore;
use crate::cli::CompareArgs;
use crate::comparing::output::Sides;
use crate::comparing::second_look::{self, Relaunch, Side};
use crate::comparing::{history, selection, wanted_verdict};
use crate::config::{Config, WorkspaceError};
use crate::error::Error;
use crate::exit::Exit;
use crate::merge::check_whole;
use crate::report::explanation::{self, Explanation};
use crate::report::style::{self, Look};
use topdown_gate::verdict::{self, Comparison, Warning};

/// Runs the subcommand; its exit code is the gate.
pub fn run(args: CompareArgs) -> Result<Exit, Error> {
    let (runs, config) = Runs::new(&args)?;
    let mut policy = config.policy(&args.policy.overrides())?;
    let expression = match args.selection.text() {
        Some(text) => Some(selection::expression(&text, &config)?),
        None => None,
    };
    let base = runs.base_name(&args)?;
    let candidate_path = runs.candidate_path(&args, &base)?;
    let path = runs.base_path(&base, &candidate_path)?;
    let (mut baseline, mut candidate) = both(
        || Ok(run_file::read_run(&path)?),
        || Ok(run_file::read_run(&candidate_path)?),
    )?;
    let label = args.candidate.as_deref().unwrap_or("the newest run");
    check_whole(&base, &baseline)?;
    // Otherwise, saving a run as the baseline and forgetting to measure again would always pass.
    if baseline.id == candidate.id {
        return Err(Error::SameRun {
            baseline: base,
            candidate: label.to_owned(),
            id: candidate.id,
        });
    }
    if let Some(expression) = &expression {
        selection::restrict(&mut baseline, &base, expression)?;
        selection::restrict(&mut candidate, label, expression)?;
    }
    let expired = match accepted_file::read(&path, &baseline)? {
        Found::Holding(accepted) => {
            policy.accepted = accepted;
            None
        }
        Found::Expired(changes) => Some(Warning::AcceptedExpired { changes }),
    };
    let mut runs = history::behind(&path, &candidate);
    let mut baseline = Side::new(&base, &path, baseline);
    let mut candidate = Side::new(label, &candidate_path, candidate);
    let relaunched = args.relaunch.unwrap_or(policy.relaunch);
    let mut comparison = if relaunched {
        second_look::judge(
            &mut baseline,
            &mut candidate,
            &policy,
            &runs,
            Relaunch::Allowed,
        )?
    } else {
        verdict::compare_after(&runs, baseline.labelled(), candidate.labelled(), &policy)
    };
    comparison.warnings.extend(expired);
    if !runs.is_empty() {
        runs.push(candidate.run.clone());
        comparison = verdict::with_history(comparison, &runs, &policy);
    }
    let history = args
        .comparison
        .shows_history()
        .then(|| history::beside(&base, &path))
        .flatten();
    let sides = Sides {
        baseline: &baseline.run,
        candidate: &candidate.run,
        history: history.as_ref(),
    };
    let output = args.comparison.output(args.verbose, args.output.color);
    match &args.explain {
        Some(wanted) => {
            explain(&args, wanted, &comparison, sides)?;
            output.write_reports(&comparison, sides)?;
        }
        None => output.report(&comparison, sides)?,
    }
    if args.relaunch.is_none() && !relaunched {
        second_look::hint(&baseline, &candidate, &comparison);
    }
    let exit = comparison.outcome.into();
    // The process ends: freeing millions of small parts one by one would take a tenth of its time.
    std::mem::forget((baseline, candidate, comparison));
    Ok(exit)
}

/// Where to look for runs. Run files can be compared outside of any workspace.
struct Runs {
    store: Option<BaselineStore>,
}

impl Runs {
    /// Returns where to look for runs, and the settings of the workspace.
    fn new(args: &CompareArgs) -> Result<(Runs, Config), Error> {
        match args.store.workspace() {
            Ok(workspace) => {
                let store = Some(args.store.store_of(&workspace));
                Ok((Runs { store }, workspace.config))
            }
            Err(error @ WorkspaceError::NotFound(_)) => {
                let is_path = |name: &String| Path::new(name).exists();
                if args.base.as_ref().is_some_and(is_path)
                    && args.candidate.as_ref().is_some_and(is_path)
                {
                    Ok((Runs { store: None }, Config::default()))
                } else {
                    Err(error.into())
                }
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the baseline's name or path: without one, that of the only or the default baseline.
    fn base_name(&self, args: &CompareArgs) -> Result<String, Error> {
        match (&args.base, &self.store) {
            (Some(base), _) => Ok(base.clone()),
            (None, Some(store)) => Ok(store.default_one()?.name.to_string()),
            // Says that there is no workspace.
            (None, None) => Ok(args.store.store()?.default_one()?.name.to_string()),
        }
    }

    /// Returns the path of the run to judge: without one, the newest of the kind of `base`.
    fn candidate_path(&self, args: &CompareArgs, base: &str) -> Result<PathBuf, Error> {
        match (&args.candidate, &self.store) {
            (Some(candidate), _) => self.path(candidate),
            (None, Some(store)) => Ok(store.newest_for(base)?),
            // Says that there is no workspace.
            (None, None) => Ok(args.store.store()?.newest_path()?),
        }
    }

    /// Returns the path of the baseline for the run at `candidate`.
    fn base_path(&self, base: &str, candidate: &Path) -> Result<PathBuf, Error> {
        let key = || run_file::read_run(candidate).ok().map(|run| run.key());
        match &self.store {
            Some(store) => Ok(store.resolve_for(base, key)?),
            None => Ok(PathBuf::from(base)),
        }
    }

    fn path(&self, name: &str) -> Result<PathBuf, Error> {
        match &self.store {
            Some(store) => Ok(store.resolve(name)?),
            None => Ok(PathBuf::from(name)),
        }
    }
}

/// Reads both runs in parallel: a comparison spends most of its time parsing them.
fn both(
    baseline: impl FnOnce() -> Result<Run, Error>,
    candidate: impl FnOnce() -> Result<Run, Error> + Send,
) -> Result<(Run, Run), Error> {
    thread::scope(|scope| {
        let candidate = scope.spawn(candidate);
        let baseline = baseline();
        let candidate = match candidate.join() {
            Ok(candidate) => candidate,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        Ok((baseline?, candidate?))
    })
}

fn explain(
    args: &CompareArgs,
    wanted: &str,
    comparison: &Comparison,
    sides: Sides<'_>,
) -> Result<(), Error> {
    let verdict = wanted_verdict(wanted, comparison)?;
    let of = |run: &Run| run.benchmarks.iter().position(|b| b.id == verdict.id);
    // A verdict is about a benchmark that both runs have.
    if let (Some(a), Some(b)) = (of(sides.baseline), of(sides.candidate)) {
        let explanation = Explanation {
            verdict,
            suite: &comparison.suite,
            baseline: &sides.baseline.benchmarks[a],
            candidate: &sides.candidate.benchmarks[b],
        };
        let mut text = Vec::new();
        explanation::write(&explanation, Look::of_environment().width, &mut text)?;
        style::stdout(args.output.color).write_all(&text)?;
    }
    Ok(())
}
