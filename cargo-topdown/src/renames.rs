//! Benchmarks that have a new name: the setting `renamed`, applied to stored runs.

use std::collections::{BTreeMap, HashSet};

use topdown_run::run_file::{BenchmarkId, Run};

/// New names by old ones: criterion's ids, or whole ids (`package::target::name`) on both sides.
#[derive(Clone, Copy, Debug)]
pub struct Renames<'a>(pub &'a BTreeMap<String, String>);

impl Renames<'_> {
    /// Gives the benchmarks of `run` their new names, so that it can be compared with newer runs. A
    /// benchmark keeps its name if the run has one with the new name, too. Returns whether any has
    /// a new one.
    pub fn apply(self, run: &mut Run) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let mut ids: HashSet<BenchmarkId> = run.benchmarks.iter().map(|b| b.id.clone()).collect();
        let mut is_renamed = false;
        for benchmark in &mut run.benchmarks {
            let newest = self.newest(&benchmark.id);
            if ids.insert(newest.clone()) {
                ids.remove(&benchmark.id);
                benchmark.id = newest;
                is_renamed = true;
            }
        }
        is_renamed
    }

    /// Gives the benchmarks of all `runs` their new names.
    pub fn apply_to_all(self, runs: &mut [Run]) {
        for run in runs {
            self.apply(run);
        }
    }

    /// Returns the newest name of a benchmark, which may have been renamed several times.
    pub fn newest(self, id: &BenchmarkId) -> BenchmarkId {
        let mut newest = id.clone();
        // Ends also where they form a circle.
        for _ in 0..self.0.len() {
            let Some(next) = self.next(&newest) else {
                break;
            };
            newest = next;
        }
        newest
    }

    fn next(self, id: &BenchmarkId) -> Option<BenchmarkId> {
        if let Some(whole) = self.0.get(&id.to_string())
            && let Some((package, rest)) = whole.split_once("::")
            && let Some((target, name)) = rest.split_once("::")
        {
            return Some(BenchmarkId {
                package: package.to_owned(),
                target: target.to_owned(),
                name: name.to_owned(),
            });
        }
        Some(BenchmarkId {
            name: self.0.get(&id.name)?.clone(),
            ..id.clone()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use topdown_gate::scenario::{self, Planted, benchmark};

    fn renamed(names: &[&str], renames: &[(&str, &str)]) -> Vec<String> {
        let planted = names
            .iter()
            .map(|name| benchmark(name, Planted::default()))
            .collect();
        let mut run = scenario::run(planted);
        let table = renames
            .iter()
            .map(|(old, new)| ((*old).to_owned(), (*new).to_owned()))
            .collect();
        let is_renamed = Renames(&table).apply(&mut run);
        let ids: Vec<String> = run.benchmarks.iter().map(|b| b.id.to_string()).collect();
        let before: Vec<String> = names
            .iter()
            .map(|name| format!("suite::bench::{name}"))
            .collect();
        assert_eq!(is_renamed, ids != before);
        ids
    }

    #[test]
    fn names_and_whole_ids_are_replaced() {
        assert_eq!(
            renamed(&["a/1", "b"], &[("a/1", "new/1")]),
            ["suite::bench::new/1", "suite::bench::b"]
        );
        assert_eq!(
            renamed(&["a", "b"], &[("suite::bench::a", "other::target::a::b")]),
            ["other::target::a::b", "suite::bench::b"]
        );
        assert_eq!(
            renamed(&["a"], &[("other::bench::a", "c")]),
            ["suite::bench::a"]
        );
    }

    #[test]
    fn several_renames_of_one_benchmark_are_followed() {
        let renames = [("a", "b"), ("b", "c")];
        assert_eq!(renamed(&["a"], &renames), ["suite::bench::c"]);
        assert_eq!(renamed(&["b"], &renames), ["suite::bench::c"]);
        assert_eq!(renamed(&["c"], &renames), ["suite::bench::c"]);
    }

    #[test]
    fn existing_benchmark_is_never_replaced() {
        let both = ["suite::bench::a", "suite::bench::b"];
        assert_eq!(renamed(&["a", "b"], &[("a", "b")]), both);
        assert_eq!(renamed(&["a", "b"], &[("a", "b"), ("b", "a")]), both);
        assert_eq!(
            renamed(&["a", "b"], &[("a", "c"), ("b", "c")]),
            ["suite::bench::c", "suite::bench::b"]
        );
    }
}
