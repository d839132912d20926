//! Launches that record where the code is, and the functions of counted benchmarks.

use criterion_topdown::hits::DEFAULT_PERIOD_CYCLES;

use super::{MeasureError, Session};
use crate::bench_targets::BenchTarget;
use crate::runner::launcher::Launcher;
use crate::runner::{Outcome, hits};
use crate::terminal::tell;

impl Session {
    /// Adds the functions of those benchmarks that the hardware has counted, in further launches.
    /// Reports benchmarks that have none, which is not a failure.
    ///
    /// # Errors
    /// Returns an error if a launch cannot be made, or the user interrupts.
    pub fn add_hits(
        &self,
        targets: &[BenchTarget],
        counted: &mut Outcome,
    ) -> Result<(), MeasureError> {
        if self.has_to_stop(counted) {
            return Ok(());
        }
        let benchmarks = &mut counted.collected.benchmarks;
        let wanted = hits::wanted(targets, benchmarks);
        let launcher = Launcher {
            hit_period_cycles: Some(DEFAULT_PERIOD_CYCLES),
            ..self.launcher().clone()
        };
        let mut hit = match wanted.is_empty() {
            true => Outcome::default(),
            false => self.launch(&wanted, &launcher)?,
        };
        for note in hits::join(benchmarks, &mut hit) {
            tell!("note: {note}");
        }
        Ok(())
    }
}
