//! One side of a measurement: the bench targets of one tree, and the run that they become.

use std::mem;

use topdown_run::run_file::Run;

use super::run::on_its_cores;
use super::{Session, problems};
use topdown_runner::Outcome;
use topdown_runner::modelling::fingerprints::Fingerprints;
use topdown_runner::targets::bench_targets::BenchTarget;

/// The bench targets of one tree. `bench` has one side, `bench --against` has two.
pub struct Side {
    /// The targets to launch.
    pub targets: Vec<BenchTarget>,
    /// What their benchmarks execute.
    pub fingerprints: Fingerprints,
    /// Their run, which has no benchmarks yet.
    pub run: Run,
}

impl Side {
    /// Returns the run with the benchmarks of `outcome`, which launches of the targets yielded.
    /// They are moved out of it.
    pub fn run_of(&self, outcome: &mut Outcome, session: &Session) -> Run {
        let mut benchmarks = mem::take(&mut outcome.collected.benchmarks);
        self.fingerprints.add_to(&mut benchmarks);
        on_its_cores(Run {
            benchmarks,
            failed: problems::names(outcome),
            competing_threads: session.competing_threads(),
            ..self.run.clone()
        })
    }
}
