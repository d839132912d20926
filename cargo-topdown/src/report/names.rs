//! What benchmarks are called in a comparison.

use criterion_topdown::run_file::BenchmarkId;
use topdown_gate::verdict::Comparison;

/// How much of the ids is needed to make them unique in the table.
#[derive(Clone, Copy, Debug)]
pub enum Names {
    /// The benchmark's name.
    Short,
    /// The target and the name.
    WithTarget,
    /// All of it.
    Full,
}

impl Names {
    /// Returns what tells the benchmarks of `comparison` apart.
    pub fn new(comparison: &Comparison) -> Names {
        let compared = comparison.benchmarks.iter().map(|benchmark| &benchmark.id);
        let mut ids = compared.chain(&comparison.missing).chain(&comparison.new);
        let Some(first) = ids.next() else {
            return Names::Short;
        };
        ids.fold(Names::Short, |names, id| {
            if id.package != first.package {
                Names::Full
            } else if id.target != first.target && matches!(names, Names::Short) {
                Names::WithTarget
            } else {
                names
            }
        })
    }

    /// Returns the name of a benchmark.
    pub fn name(self, id: &BenchmarkId) -> String {
        match self {
            Names::Short => id.name.clone(),
            Names::WithTarget => format!("{}::{}", id.target, id.name),
            Names::Full => id.to_string(),
        }
    }
}
