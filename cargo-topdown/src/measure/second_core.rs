//! The run of a second modelled core.
//!
//! It is a run of its own, with the key of that core. So baselines, histories and verdicts of a
//! core are the same whether it was modelled alone or beside another. The two runs share the build
//! and all launches.

use topdown_run::run_file::Run;

use crate::runner::Outcome;

/// Returns the run of the second core, which was taken with `first`.
pub fn run_of_second_core(first: &Run, second: &Outcome) -> Run {
    Run {
        id: format!("{}-2", first.id),
        benchmarks: second.collected.benchmarks.clone(),
        ..first.clone()
    }
}
