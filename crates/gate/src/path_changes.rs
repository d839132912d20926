//! Changes of the slots of call paths between two runs of a benchmark.

use std::collections::HashMap;

use topdown_run::category::PerCategory;
use topdown_run::run_file::{CallPaths, CalledFunction, SourceLine};

/// A call path of the candidate, and how it differs from the baseline's.
#[derive(Clone, Debug, PartialEq)]
pub struct PathChange {
    /// Index of the caller's path, which is before it.
    pub caller: Option<usize>,
    /// The function.
    pub function: CalledFunction,
    /// Where the caller calls it, if known.
    pub called_at: Option<SourceLine>,
    /// The candidate's slots per iteration by category, with those of the functions it called.
    pub slots: PerCategory<f64>,
    /// The same, minus the baseline's.
    pub difference: PerCategory<f64>,
}

/// Returns the candidate's paths in its order. A path without a counterpart in the baseline has
/// grown from nothing; paths that only the baseline has are not listed, but their callers have
/// shrunk.
pub fn path_changes(baseline: &CallPaths, candidate: &CallPaths) -> Vec<PathChange> {
    let before = with_callees(baseline);
    let after = with_callees(candidate);
    let mut index_of: HashMap<(Option<usize>, &CalledFunction), usize> = HashMap::new();
    for (index, path) in baseline.paths.iter().enumerate() {
        let caller = path.caller.map(|caller| caller as usize);
        index_of.insert((caller, baseline.function_of(path)), index);
    }
    let mut counterparts: Vec<Option<usize>> = Vec::with_capacity(candidate.paths.len());
    let mut changes = Vec::with_capacity(candidate.paths.len());
    for (path, slots) in candidate.paths.iter().zip(after) {
        let caller = path.caller.map(|caller| caller as usize);
        let function = candidate.function_of(path);
        let counterpart = match caller {
            None => index_of.get(&(None, function)),
            Some(caller) => counterparts[caller]
                .and_then(|counterpart| index_of.get(&(Some(counterpart), function))),
        };
        let was = counterpart.map_or(PerCategory::default(), |index| before[*index]);
        changes.push(PathChange {
            caller,
            function: function.clone(),
            called_at: path.called_at.clone(),
            slots,
            difference: slots.zip(was).map(|(now, was)| now - was),
        });
        counterparts.push(counterpart.copied());
    }
    changes
}

/// Returns the slots per iteration of each path with its callees.
fn with_callees(paths: &CallPaths) -> Vec<PerCategory<f64>> {
    let iterations = paths.iterations as f64;
    let totals = paths.totals().into_iter();
    totals
        .map(|counts| counts.level1_slots.map(|slots| slots as f64 / iterations))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::with_call_paths;

    #[test]
    fn grown_path_grows_its_callers() {
        let [before, after] = [0, 200].map(|more| with_call_paths("parse", more).call_paths);
        let changes = path_changes(&before.unwrap(), &after.unwrap());
        let rows: Vec<(f64, f64)> = changes
            .iter()
            .map(|change| (change.slots.sum(), change.difference.sum()))
            .collect();
        let expected = [
            (1200.0, 200.0),
            (900.0, 200.0),
            (500.0, 200.0),
            (230.0, 0.0),
        ];
        assert_eq!(rows, expected);
    }

    #[test]
    fn new_path_has_grown_from_zero() {
        let after = with_call_paths("parse", 0).call_paths.unwrap();
        let mut before = after.clone();
        before.paths[1].function = 3;
        before.paths.truncate(3);
        let changes = path_changes(&before, &after);
        // Another function is in the place of `scan`, and `memcpy` is below that.
        assert_eq!(changes[1].difference, changes[1].slots);
        assert_eq!(changes[2].difference, changes[2].slots);
    }
}
