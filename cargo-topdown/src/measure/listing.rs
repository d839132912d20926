//! Lists the benchmarks of bench targets, in launches that measure nothing.

use topdown_run::run_file::BenchmarkId;

use super::{MeasureError, Session};
use topdown_runner::launching::launch_error::LaunchError;
use topdown_runner::targets::bench_targets::BenchTarget;

/// An item of the bench target with this index: the name of a benchmark, or `None` if it failed to
/// list them.
pub type Item = (usize, Option<String>);

impl Session {
    /// Lists the benchmarks of `targets` that the filters let through; there is at least one item.
    ///
    /// # Errors
    /// Returns an error if there is none, or the user interrupts.
    pub fn list(&self, targets: &[BenchTarget]) -> Result<Vec<Item>, MeasureError> {
        let mut items = Vec::new();
        let mut unwanted = Vec::new();
        for (index, target) in targets.iter().enumerate().filter(|(_, t)| t.has_criterion) {
            match self.launcher().list(target) {
                Ok(names) => {
                    let is_wanted = |name: &String| {
                        let only = target.benchmarks.as_ref();
                        self.wanted.names.lets_through(name)
                            && only.is_none_or(|only| only.contains(name))
                    };
                    let names = names.unwrap_or_default().into_iter();
                    let (mut names, others): (Vec<_>, Vec<_>) = names.partition(is_wanted);
                    // A process with random hashes lists them in any order.
                    names.sort();
                    items.extend(names.into_iter().map(|name| (index, Some(name))));
                    unwanted.extend(others);
                }
                Err(LaunchError::Interrupted) => return Err(MeasureError::Interrupted),
                Err(_) => items.push((index, None)),
            }
        }
        if items.is_empty() {
            Err(self.no_match_error(&unwanted))
        } else {
            Ok(items)
        }
    }
}

/// Returns the ids of the benchmarks in `items`.
pub fn ids(targets: &[BenchTarget], items: &[Item]) -> Vec<BenchmarkId> {
    let id = |(index, name): &Item| Some(targets[*index].id_of(name.clone()?));
    items.iter().filter_map(id).collect()
}
