//! A suite on two modelled cores.
//!
//! What is modelled on the second core is a run of its own, with the key of that core. So
//! baselines, histories and verdicts of a core are the same whether it was modelled alone or beside
//! another. The two runs share the build, the launch for fingerprints and the launches for time.

use criterion_topdown::run_file::Run;

use super::{MeasureError, Session};
use crate::bench_targets::BenchTarget;
use crate::runner::{Outcome, modelled};

impl Session {
    /// Models those of `targets` that ask for a second core on it, and returns what that yields,
    /// with the time in `first`. What the model cannot execute is only in the first run.
    ///
    /// # Errors
    /// Returns an error if a launch cannot be made, or the user interrupts.
    pub fn model_second_core(
        &self,
        targets: &[BenchTarget],
        first: &Outcome,
    ) -> Result<Option<Outcome>, MeasureError> {
        let targets = modelled::on_second_core(targets);
        if targets.is_empty() || self.has_to_stop(first) {
            return Ok(None);
        }
        let mut second = modelled::without_slots(first);
        let launches = modelled::LAUNCHES_THAT_AGREE;
        self.add_model(&targets, launches, &mut second)?;
        modelled::keep_modelled(&mut second);
        Ok(Some(second))
    }
}

/// Returns the run of the second core, which was taken with `first`.
pub fn run_of_second_core(first: &Run, second: &Outcome) -> Run {
    Run {
        id: format!("{}-2", first.id),
        benchmarks: second.collected.benchmarks.clone(),
        ..first.clone()
    }
}
