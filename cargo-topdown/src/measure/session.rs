//! State shared by all steps of measuring a suite.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use topdown_gate::filter_expression::FilterExpression;
use topdown_gate::pattern::Pattern;
use topdown_gate::selection::{NameFilter, Wanted};
use topdown_gate::verdict::MIN_REPORTED_LOAD_FACTOR;
use topdown_run::run_file::{Filter, Run, Selection};
use topdown_terminal::count_of;

use super::pairs::Pairs;
use super::{MeasureError, Request, criterion_arguments, missed_variables, run, selection};
use crate::config::Workspace;
use topdown_adoption::PACKAGE;
use topdown_runner::Outcome;
use topdown_runner::launching::launch_error::LaunchError;
use topdown_runner::launching::launcher::Launcher;
use topdown_runner::launching::left_out;
use topdown_runner::modelling::fingerprints::{self, Fingerprints};
use topdown_runner::progress::{Progress, Style};
use topdown_runner::settings::WorkspaceSettings;
use topdown_runner::targets::bench_targets::{BenchTarget, BuiltBenches, Cargo, cargo_program};
use topdown_system::interrupt::{self, Guard};
use topdown_system::scratch::Scratch;
use topdown_terminal::nearest::{Suggestion, nearest};
use topdown_terminal::terminal::message;

/// A suite that is being measured. While it lives, Ctrl-C lets the program clean up.
pub struct Session {
    /// What the command line says.
    pub request: Request,
    pub cargo: Cargo,
    pub workspace: Workspace,
    pub settings: WorkspaceSettings,
    /// The benchmarks that the filters let through.
    pub wanted: Wanted,
    /// The files of the workspace that the build read.
    pub read: BTreeSet<PathBuf>,
    /// When the build ended; nothing was measured before.
    pub started_at: Timestamp,
    launcher: Launcher,
    _scratch: Scratch,
    _guard: Guard,
}

impl Session {
    /// Reads the workspace and its settings, before anything that takes long.
    ///
    /// # Errors
    /// Returns an error if there is no workspace, or if the filter, a setting or an argument for
    /// criterion is invalid.
    pub fn begin(request: Request) -> Result<Session, MeasureError> {
        criterion_arguments::check(&request.criterion)?;
        let names = names_of(request.filter.as_ref())?;
        let cargo = Cargo {
            program: cargo_program(),
            flags: request.cargo.clone(),
            manifest_path: request.manifest_path.clone(),
            directory: None,
        };
        let workspace = Workspace::from_metadata(cargo.metadata()?)?;
        let wanted = Wanted {
            names,
            expression: (request.expression.as_deref())
                .map(|text| FilterExpression::parse(text, &workspace.config.tags()))
                .transpose()?,
        };
        let settings = workspace.config.measuring(&request.settings)?;
        let guard = interrupt::guard().map_err(MeasureError::Interrupt)?;
        let scratch = Scratch::new().map_err(MeasureError::Scratch)?;
        Ok(Session {
            launcher: Launcher {
                filter: request.filter_arguments(),
                shows_output: request.shows_output,
                ..Launcher::new(
                    &scratch,
                    request.criterion.clone(),
                    topdown_arm_specification::for_benches(),
                )
            },
            request,
            cargo,
            workspace,
            settings,
            wanted,
            read: BTreeSet::new(),
            started_at: Timestamp::now(),
            _scratch: scratch,
            _guard: guard,
        })
    }

    /// Builds the bench targets; there is at least one.
    ///
    /// # Errors
    /// Returns an error if the build fails, or there is nothing to build.
    pub fn build(&mut self) -> Result<Vec<BenchTarget>, MeasureError> {
        let metadata = &self.workspace.metadata;
        if !self.request.quiet && !topdown_adoption::uses(metadata, PACKAGE) {
            message!(
                "note: no package uses {PACKAGE} yet, so benches have no slots, only time; `cargo \
                 topdown init` shows what to change"
            );
        }
        let BuiltBenches { targets, read } = self.cargo.bench_targets(metadata, &self.settings)?;
        self.read = read;
        if !self.request.quiet
            && let Some(target) = targets.first()
            && !target.runner.is_empty()
        {
            message!(
                "note: benches are started through `{}`, which cargo's configuration sets as \
                 their runner",
                target.runner.join(" ")
            );
        }
        self.started_at = Timestamp::now();
        if targets.is_empty() {
            return Err(match self.cargo.needing_features(metadata) {
                none if none.is_empty() => match self.cargo.unselected_with_benches(metadata) {
                    none if none.is_empty() => MeasureError::NoBenchTargets,
                    some => MeasureError::InOtherPackages(some),
                },
                some => MeasureError::FeaturesOff(some),
            });
        }
        Ok(targets)
    }

    /// Lists the set variables that `targets` do not inherit but may be expecting.
    pub fn report_missed_variables(&self, targets: &[BenchTarget]) {
        if !self.request.quiet {
            missed_variables::warn(targets);
        }
    }

    /// Returns what the command line and the settings select from `workspace`; cargo built
    /// `targets`.
    pub fn selection(&self, workspace: &Workspace, targets: &[BenchTarget]) -> Selection {
        Selection {
            expression: (self.wanted.expression.as_ref())
                .map(|expression| expression.stored().clone()),
            left_out: self
                .settings
                .leave_out
                .iter()
                .map(Pattern::stored)
                .collect(),
            ..selection::of_command_line(
                self.request.filter.clone(),
                self.request.names_targets,
                &workspace.metadata,
                targets,
            )
        }
    }

    /// Returns what the filter expression selects of `targets`, without what settings leave out.
    /// Reports the latter by name.
    ///
    /// # Errors
    /// Returns an error if nothing remains, or the user interrupts.
    pub fn without_left_out(
        &self,
        targets: Vec<BenchTarget>,
    ) -> Result<Vec<BenchTarget>, MeasureError> {
        let patterns = &self.settings.leave_out;
        if patterns.is_empty() && self.wanted.expression.is_none() {
            return Ok(targets);
        }
        let rest = left_out::without(patterns, targets, &self.wanted, &self.launcher)
            .map_err(|_| MeasureError::Interrupted)?;
        for name in &rest.left_out {
            message!("note: `{name}` is left out by the settings (`leave-out`)");
        }
        let has_none = |targets: &[BenchTarget]| !targets.iter().any(|t| t.has_criterion);
        match (has_none(&rest.targets), rest.left_out.is_empty()) {
            (false, _) => Ok(rest.targets),
            (true, false) => Err(MeasureError::AllLeftOut),
            (true, true) => Err(self.no_match_error(&rest.unwanted)),
        }
    }

    /// Traces what the benchmarks of `targets` execute, if the settings require it.
    ///
    /// # Errors
    /// Returns an error if the user interrupts.
    pub fn fingerprints(
        &self,
        targets: &[BenchTarget],
        of_side: &str,
    ) -> Result<Fingerprints, MeasureError> {
        let wanted = targets.iter().filter(|t| fingerprints::is_wanted(t));
        if !self.request.quiet
            && let count @ 1.. = wanted.count()
        {
            let targets = count_of(count, "bench target");
            message!("     Tracing {targets}{of_side} for fingerprints");
        }
        Fingerprints::take(targets, &self.launcher).map_err(|_| MeasureError::Interrupted)
    }

    /// Runs all launches of `targets`, one after the other.
    ///
    /// # Errors
    /// Returns an error if a launch cannot be made, or the user interrupts.
    pub fn launch(
        &self,
        targets: &[BenchTarget],
        launcher: &Launcher,
    ) -> Result<Outcome, MeasureError> {
        self.with_progress(targets, 1, |progress| {
            topdown_runner::run(targets, launcher, self.request.fail_fast, progress)
        })
    }

    /// Shows the progress of `launches` of `targets`, so many `at_once`.
    ///
    /// # Errors
    /// As [`launch`](Session::launch).
    pub(super) fn with_progress(
        &self,
        targets: &[BenchTarget],
        at_once: usize,
        launches: impl FnOnce(&mut Progress) -> Result<Outcome, LaunchError>,
    ) -> Result<Outcome, MeasureError> {
        let style = Style::for_process(self.request.quiet, self.request.events);
        let mut progress = Progress::new(style, targets, at_once);
        let outcome = launches(&mut progress);
        progress.finish();
        outcome.map_err(|error| match error {
            LaunchError::Interrupted => MeasureError::Interrupted,
            other => MeasureError::Launch(other),
        })
    }

    /// Returns the two sides of a comparison, to be launched in turn.
    pub fn pairs<'a>(&'a self, base: &'a [BenchTarget], candidate: &'a [BenchTarget]) -> Pairs<'a> {
        self.pairs_with(&self.launcher, base, candidate)
    }

    /// As [`pairs`](Session::pairs), with another launcher.
    pub fn pairs_with<'a>(
        &'a self,
        launcher: &'a Launcher,
        base: &'a [BenchTarget],
        candidate: &'a [BenchTarget],
    ) -> Pairs<'a> {
        Pairs {
            base,
            candidate,
            launcher,
            style: Style::for_process(self.request.quiet, self.request.events),
            quiet: self.request.quiet,
            fail_fast: self.request.fail_fast,
        }
    }

    /// Returns how many threads competed with the launches so far, if that is known.
    pub fn competing_threads(&self) -> Option<f64> {
        self.launcher.load.mean()
    }

    /// Says so if other work competed for the CPUs while `run` was measured.
    pub fn report_load(&self, run: &Run) {
        if let Some(text) = load_in_words(run).filter(|_| !self.request.quiet) {
            message!("{text}");
        }
    }

    /// Returns a run of `targets`, built in the workspace at `root`, without its benchmarks.
    pub fn run_without_benchmarks(&self, root: &Path, targets: &[BenchTarget]) -> Run {
        let flags = &self.cargo.flags;
        let workspace = &self.settings.workspace;
        Run {
            competing_threads: self.competing_threads(),
            ..run::without_benchmarks(self.started_at, root, flags, targets, workspace)
        }
    }

    /// Ends the session and returns its workspace. From here on, Ctrl-C ends the program at once.
    pub fn end(self) -> Workspace {
        self.workspace
    }

    /// Returns how to launch benches.
    pub fn launcher(&self) -> &Launcher {
        &self.launcher
    }

    /// Explains why there is nothing to store.
    pub fn empty_run_error(&self, targets: &[BenchTarget], outcome: &Outcome) -> MeasureError {
        let failed = super::problems::count(outcome);
        if failed > 0 {
            return MeasureError::BenchesFailed { failed };
        }
        if outcome.not_criterion.len() + outcome.not_connected.len() == targets.len() {
            let runner = targets.iter().find(|target| !target.runner.is_empty());
            return match runner {
                Some(target) => MeasureError::CutOffByRunner(target.runner.join(" ")),
                None => MeasureError::NoCriterion,
            };
        }
        let listed = targets
            .iter()
            .filter_map(|target| self.launcher.list(target).ok()?);
        self.no_match_error(&listed.flatten().collect::<Vec<_>>())
    }

    /// Explains why no benchmark ran, although there are some with these names.
    pub fn no_match_error(&self, names: &[String]) -> MeasureError {
        let filter = self.request.filter.as_ref();
        let filter = filter.map(|filter| &filter.expression);
        match filter.or(self.request.expression.as_ref()) {
            Some(filter) => MeasureError::NothingMatched {
                filter: filter.clone(),
                nearest: Suggestion(nearest(filter, names)),
            },
            None => MeasureError::NoBenchmarks,
        }
    }
}

/// Returns the names that `filter` lets through. Invalid filters are refused before the build;
/// criterion would only panic after it.
///
/// # Errors
/// Returns an error if the filter is not a regular expression.
fn names_of(filter: Option<&Filter>) -> Result<NameFilter, MeasureError> {
    NameFilter::new(filter).map_err(|error| MeasureError::Filter {
        filter: filter.map_or(String::new(), |filter| filter.expression.clone()),
        error: Box::new(error),
    })
}

/// Returns what the load of a run means, if it means anything.
fn load_in_words(run: &Run) -> Option<String> {
    let factor = run.load_factor();
    let threads = run.competing_threads?;
    (factor >= MIN_REPORTED_LOAD_FACTOR).then(|| {
        format!(
            "warning: {threads:.0} other threads competed for {} CPUs during the measurement, so \
             times up to {factor:.1} times as long are not judged (modelled slots are unaffected); \
             measure again on an idle machine",
            run.machine.cpus
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use topdown_gate::scenario;

    #[test]
    fn relevant_load_is_reported() {
        // On 8 CPUs.
        let told = |threads| {
            let mut run = scenario::run(Vec::new());
            run.competing_threads = threads;
            load_in_words(&run)
        };
        assert_eq!(told(None), None);
        assert_eq!(told(Some(8.0)), None);
        let text = told(Some(17.0)).unwrap();
        assert!(
            text.contains("17 other threads competed for 8 CPUs"),
            "{text}"
        );
        assert!(text.contains("up to 2.2 times as long"), "{text}");
    }
}
