//! Launches the two sides of a comparison in turn.

use topdown_run::run_file::BenchmarkId;

use super::{MeasureError, problems};
use topdown_runner::Outcome;
use topdown_runner::gathering::collect::Collected;
use topdown_runner::gathering::relaunch::{self, MAX_SUSPECT_LAUNCHES};
use topdown_runner::launching::launch_error::LaunchError;
use topdown_runner::launching::launcher::Launcher;
use topdown_runner::progress::{Progress, Style};
use topdown_runner::targets::bench_targets::BenchTarget;
use topdown_terminal::terminal::message;

/// The targets of both sides, and how to launch them.
pub struct Pairs<'a> {
    /// The base's targets; empty if its executables are gone.
    pub base: &'a [BenchTarget],
    /// The candidate's targets.
    pub candidate: &'a [BenchTarget],
    pub launcher: &'a Launcher,
    /// How to show progress.
    pub style: Style,
    /// Whether to print nothing about it.
    pub quiet: bool,
    /// Whether to stop at the first failure.
    pub fail_fast: bool,
}

impl Pairs<'_> {
    /// Launches all benchmarks of both sides.
    pub fn launch(&self) -> Result<(Outcome, Outcome), MeasureError> {
        let mut progress = Progress::new(self.style, &[self.base, self.candidate].concat(), 1);
        let outcome = topdown_runner::run_in_pairs(
            (self.base, self.launcher),
            (self.candidate, self.launcher),
            self.fail_fast,
            &mut progress,
        );
        progress.finish();
        outcome.map_err(|error| match error {
            LaunchError::Interrupted => MeasureError::Interrupted,
            other => MeasureError::Launch(other),
        })
    }

    /// Launches the suspects again until they have [`MAX_SUSPECT_LAUNCHES`] launches.
    pub fn launch_again(
        &self,
        suspects: &[BenchmarkId],
    ) -> Result<(Collected, Collected), MeasureError> {
        if !self.quiet {
            let (looks, them) = match suspects.len() {
                1 => ("1 benchmark may be".to_owned(), "it"),
                count => (format!("{count} benchmarks may be"), "them"),
            };
            let side = match self.base {
                [] => " of the candidate",
                _ => " per side",
            };
            message!(
                "{looks} slower; launching {them} again, up to {MAX_SUSPECT_LAUNCHES} \
                 launches{side}"
            );
        }
        let (base, candidate) = Pairs {
            base: &relaunch::targets_of(suspects, self.base),
            candidate: &relaunch::targets_of(suspects, self.candidate),
            ..*self
        }
        .launch()?;
        check("base", &base)?;
        check("candidate", &candidate)?;
        Ok((base.collected, candidate.collected))
    }
}

/// Returns an error if anything of a side failed, since an incomplete side decides nothing.
pub fn check(side: &'static str, outcome: &Outcome) -> Result<(), MeasureError> {
    let failed = problems::count(outcome);
    if failed > 0 || !outcome.collected.lost_launches.is_empty() {
        message!("of the {side}:");
    }
    problems::report(outcome);
    match failed {
        0 => Ok(()),
        _ => Err(MeasureError::BenchesFailed { failed }),
    }
}
