//! Shortened names of benchmarks in a comparison.

use std::collections::HashSet;

use topdown_gate::verdict::Comparison;
use topdown_run::run_file::BenchmarkId;

/// Length of the shown ids, so that they are unique in the table.
#[derive(Clone, Copy, Debug)]
pub enum Names {
    /// The benchmark's name.
    Short,
    /// The target and the name, where targets share names.
    WithTarget,
    /// All of it, where there are several packages.
    Full,
}

impl Names {
    /// Returns the part of the ids in which the benchmarks of `comparison` differ.
    pub fn new(comparison: &Comparison) -> Names {
        let compared = comparison.benchmarks.iter().map(|benchmark| &benchmark.id);
        Names::of(compared.chain(&comparison.missing).chain(&comparison.new))
    }

    /// Returns the part of their ids in which these benchmarks differ.
    pub fn of<'a>(ids: impl IntoIterator<Item = &'a BenchmarkId>) -> Names {
        let ids: Vec<&BenchmarkId> = ids.into_iter().collect();
        let packages: HashSet<&str> = ids.iter().map(|id| id.package.as_str()).collect();
        let names: HashSet<&str> = ids.iter().map(|id| id.name.as_str()).collect();
        match () {
            () if packages.len() > 1 => Names::Full,
            () if names.len() < ids.len() => Names::WithTarget,
            () => Names::Short,
        }
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

#[cfg(test)]
mod tests {
    use topdown_gate::scenario::{self, Planted};

    use super::*;
    use crate::examples::compared;

    fn names(ids: &[[&str; 3]]) -> Vec<String> {
        let benchmark = |[package, target, name]: &[&str; 3]| {
            let mut benchmark = scenario::benchmark(name, Planted::default());
            benchmark.id.package = package.to_string();
            benchmark.id.target = target.to_string();
            benchmark
        };
        let run = scenario::run(ids.iter().map(benchmark).collect());
        let comparison = compared(&run, &run);
        let names = Names::new(&comparison);
        let benchmarks = comparison.benchmarks.iter();
        benchmarks
            .map(|benchmark| names.name(&benchmark.id))
            .collect()
    }

    #[test]
    fn names_are_shortened_while_unique() {
        assert_eq!(
            names(&[["p", "words", "words/a"], ["p", "chars", "chars/a"]]),
            ["chars/a", "words/a"]
        );
        assert_eq!(
            names(&[["p", "b", "same"], ["p", "c", "same"], ["p", "c", "other"]]),
            ["b::same", "c::other", "c::same"]
        );
        assert_eq!(
            names(&[["p", "b", "one"], ["q", "b", "two"]]),
            ["p::b::one", "q::b::two"]
        );
    }
}
