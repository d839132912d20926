//! Launches that record where the code is, and the functions of counted benchmarks.

use topdown_run::code_samples::DEFAULT_PERIOD_CYCLES;
use topdown_run::run_file::{Benchmark, BenchmarkId};

use super::{MeasureError, Session};
use topdown_runner::Outcome;
use topdown_runner::launching::launcher::Launcher;
use topdown_runner::sampling;
use topdown_runner::targets::bench_targets::BenchTarget;
use topdown_terminal::terminal::message;

impl Session {
    /// Adds the functions of those benchmarks that the hardware has counted, in further launches.
    /// Reports benchmarks that have none, which is not a failure.
    ///
    /// # Errors
    /// Returns an error if a launch cannot be made, or the user interrupts.
    pub fn add_sampled_functions(
        &self,
        targets: &[BenchTarget],
        counted: &mut Outcome,
    ) -> Result<(), MeasureError> {
        if self.has_to_stop(counted) {
            return Ok(());
        }
        let benchmarks = &mut counted.collected.benchmarks;
        for (id, why) in self.sample_functions(targets, benchmarks)? {
            message!("note: the functions of `{}` are unknown: {why}", id.name);
        }
        Ok(())
    }

    /// Adds the functions of those benchmarks that the hardware has counted. Returns each that has
    /// none, and why.
    ///
    /// # Errors
    /// As [`add_sampled_functions`](Session::add_sampled_functions).
    pub fn sample_functions(
        &self,
        targets: &[BenchTarget],
        counted: &mut [Benchmark],
    ) -> Result<Vec<(BenchmarkId, String)>, MeasureError> {
        sample_functions(targets, counted, self.launcher(), |wanted, launcher| {
            self.launch(wanted, launcher)
        })
    }
}

/// Adds the functions of those benchmarks that the hardware has counted, in launches as `launcher`
/// makes them, but which record where the code is. Returns each that has none, and why.
///
/// # Errors
/// Returns those of `launch`.
pub fn sample_functions(
    targets: &[BenchTarget],
    counted: &mut [Benchmark],
    launcher: &Launcher,
    launch: impl FnOnce(&[BenchTarget], &Launcher) -> Result<Outcome, MeasureError>,
) -> Result<Vec<(BenchmarkId, String)>, MeasureError> {
    let wanted = sampling::wanted(targets, counted);
    let launcher = Launcher {
        hit_periods: vec![DEFAULT_PERIOD_CYCLES],
        ..launcher.clone()
    };
    let mut hit = match wanted.is_empty() {
        true => Outcome::default(),
        false => launch(&wanted, &launcher)?,
    };
    Ok(sampling::join(counted, &mut hit))
}
