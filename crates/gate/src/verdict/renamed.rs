//! Finds benchmarks that probably have a new name: one that is missing and a new one that execute
//! the same code.

use std::collections::HashMap;

use serde::Serialize;
use topdown_run::run_file::{Benchmark, BenchmarkId, Hash};

/// A missing benchmark, and the only new one that executes its code. No verdict depends on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Renamed {
    /// The missing benchmark.
    pub missing: BenchmarkId,
    /// The new benchmark.
    pub new: BenchmarkId,
}

/// Returns those of `missing` whose code exactly one of `new` executes, and no other of `missing`.
pub fn renamed(missing: &[&Benchmark], new: &[&Benchmark]) -> Vec<Renamed> {
    let (before, after) = (by_code(missing), by_code(new));
    let mut renamed: Vec<Renamed> = before
        .iter()
        .filter_map(
            |(code, missing)| match (&missing[..], &after.get(code)?[..]) {
                ([missing], [new]) => Some(Renamed {
                    missing: (*missing).clone(),
                    new: (*new).clone(),
                }),
                _ => None,
            },
        )
        .collect();
    renamed.sort_by(|a, b| a.missing.cmp(&b.missing));
    renamed
}

fn by_code<'a>(benchmarks: &[&'a Benchmark]) -> HashMap<Hash, Vec<&'a BenchmarkId>> {
    let mut by_code: HashMap<Hash, Vec<&BenchmarkId>> = HashMap::new();
    for benchmark in benchmarks {
        if let Some(fingerprint) = &benchmark.fingerprint {
            by_code
                .entry(fingerprint.code)
                .or_default()
                .push(&benchmark.id);
        }
    }
    by_code
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Planted, modelled, with_fingerprint};

    fn of_code(name: &str, code: u64) -> Benchmark {
        let benchmark = modelled(name, Planted::default());
        with_fingerprint(benchmark, 1, &[("f", code)])
    }

    fn pairs(missing: &[Benchmark], new: &[Benchmark]) -> Vec<(String, String)> {
        let [missing, new] = [missing, new].map(|all| all.iter().collect::<Vec<_>>());
        let renamed = renamed(&missing, &new).into_iter();
        renamed.map(|r| (r.missing.name, r.new.name)).collect()
    }

    #[test]
    fn only_unique_code_matches_make_a_rename() {
        let unknown = modelled("unknown", Planted::default());
        let missing = [of_code("b", 2), of_code("a", 1), unknown.clone()];
        let new = [of_code("x", 1), of_code("y", 3), of_code("z", 2), unknown];
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(pairs(&missing, &new), [pair("a", "x"), pair("b", "z")]);
        // Which of the two would it be?
        let twice = [of_code("x", 1), of_code("y", 1)];
        assert_eq!(pairs(&missing, &twice), []);
        assert_eq!(pairs(&twice, &missing), []);
    }
}
