//! The functions in which a benchmark's slots changed.

use std::collections::HashMap;

use serde::Serialize;
use topdown_run::run_file::{
    Benchmark, CallPaths, CalledFunction, Function, Functions, SourceLine,
};

use crate::function_name::FunctionKind;
use crate::statistics::share::share_margin;

/// The change of one function of a benchmark.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FunctionChange {
    /// Its name; absent for code without a symbol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its library; absent for the bench executable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// Its slots per iteration in the baseline; absent if it is not listed there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline_slots: Option<f64>,
    /// Its slots per iteration in the candidate; absent if it is not listed there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub candidate_slots: Option<f64>,
    /// The difference of its slots, as a fraction of all slots of the baseline's benchmark.
    pub difference: f64,
    /// The difference of its instructions per iteration; 0 if they are not counted.
    #[serde(skip)]
    pub instructions: f64,
    /// Half the width of the difference's 95 % interval, in the same unit, if the functions are
    /// sampled; absent if they are modelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
    /// The line of the workspace from which the candidate reaches it where it changed most, if the
    /// candidate has call paths and debug information.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub called_from: Option<SourceLine>,
}

impl FunctionChange {
    /// Returns whether the difference is more than the chance of sampling explains.
    pub fn is_certain(&self) -> bool {
        self.margin
            .is_none_or(|margin| self.difference.abs() > margin)
    }
}

/// The functions that begin and end windows are not part of the benchmark and are never blamed.
fn is_measured(function: &&Function) -> bool {
    let kind = function.name.as_deref().map(FunctionKind::new);
    function.module.is_some() || kind != Some(FunctionKind::Window)
}

/// Returns the functions that changed most, or the largest ones if nothing changed; none if a side
/// does not know its functions.
///
/// A function missing from one side's list may be among its others. It is left out if it could be.
/// Otherwise it is new, or gone, and counts as zero there.
pub fn changes(baseline: &Benchmark, candidate: &Benchmark) -> Vec<FunctionChange> {
    let (Some(before), Some(after)) = (&baseline.functions, &candidate.functions) else {
        return Vec::new();
    };
    let total = per_iteration(before, before.total().slots());
    if total <= 0.0 || before.sampled.is_some() != after.sampled.is_some() {
        return Vec::new();
    }
    let of_before = before.largest.iter().filter(is_measured);
    let new = after
        .largest
        .iter()
        .filter(is_measured)
        .filter(|function| find(before, function).is_none());
    let mut changes: Vec<FunctionChange> = of_before
        .chain(new)
        .filter_map(|function| change(function, before, after, total))
        .collect();
    let sides = [&baseline.call_paths, &candidate.call_paths].map(Option::as_ref);
    for change in &mut changes {
        change.called_from = called_from(change, sides);
    }
    let size = |c: &FunctionChange| {
        let sides = [c.baseline_slots, c.candidate_slots];
        sides.into_iter().flatten().fold(0.0, f64::max)
    };
    changes.sort_by(|a, b| {
        let by_change = b.difference.abs().total_cmp(&a.difference.abs());
        let by_size = || size(b).total_cmp(&size(a));
        let by_name = || (&a.name, &a.module).cmp(&(&b.name, &b.module));
        by_change.then_with(by_size).then_with(by_name)
    });
    changes
}

fn change(
    function: &Function,
    before: &Functions,
    after: &Functions,
    total: f64,
) -> Option<FunctionChange> {
    let slots = |side: &Functions| Some(per_iteration(side, find(side, function)?.counts.slots()));
    let hidden = |side: &Functions| {
        let others = side.others.map_or(0, |others| others.counts.slots());
        per_iteration(side, others)
    };
    let (baseline_slots, candidate_slots) = (slots(before), slots(after));
    let is_certain = match (baseline_slots, candidate_slots) {
        (None, Some(slots)) => slots > hidden(before),
        (Some(slots), None) => slots > hidden(after),
        _ => true,
    };
    let sides = [(before, baseline_slots), (after, candidate_slots)];
    let margins = sides.map(|(side, slots)| margin(side, slots.unwrap_or(0.0)));
    let margin = match margins {
        [Some(a), Some(b)] => Some(a.hypot(b) / total),
        _ => None,
    };
    let difference = candidate_slots.unwrap_or(0.0) - baseline_slots.unwrap_or(0.0);
    let instructions = |side: &Functions| {
        let found = find(side, function);
        found.map_or(0.0, |entry| per_iteration(side, entry.counts.instructions))
    };
    is_certain.then(|| FunctionChange {
        name: function.name.clone(),
        module: function.module.clone(),
        baseline_slots,
        candidate_slots,
        difference: difference / total,
        instructions: instructions(after) - instructions(before),
        margin,
        called_from: None,
    })
}

/// Returns half the width of the 95 % interval of a function's slots per iteration, if they are
/// sampled.
fn margin(side: &Functions, slots: f64) -> Option<f64> {
    let hits = side.sampled?.effective_hits;
    let total = per_iteration(side, side.total().slots());
    Some(share_margin(slots / total.max(slots).max(f64::MIN_POSITIVE), hits) * total)
}

/// Returns the innermost line of the workspace on the candidate's path to a function on which its
/// slots changed most.
fn called_from(
    change: &FunctionChange,
    [before, after]: [Option<&CallPaths>; 2],
) -> Option<SourceLine> {
    let (name, module) = (&change.name, &change.module);
    let after = after?;
    let before: HashMap<Vec<&CalledFunction>, f64> = before
        .map(|before| slots_by_path(before, name, module))
        .unwrap_or_default()
        .into_iter()
        .map(|(_, path, slots)| (path, slots))
        .collect();
    let grew = |(_, path, slots): &(usize, Vec<&CalledFunction>, f64)| {
        let difference = slots - before.get(path).copied().unwrap_or(0.0);
        difference * change.difference.signum()
    };
    let paths = slots_by_path(after, name, module).into_iter();
    // On a tie, the first.
    let (mut index, _, _) = paths.rev().max_by(|a, b| grew(a).total_cmp(&grew(b)))?;
    loop {
        let path = &after.paths[index];
        let line = path.called_at.as_ref().filter(|line| line.in_workspace);
        if line.is_some() {
            return line.cloned();
        }
        index = path.caller? as usize;
    }
}

/// Returns the paths that end with a function: the index of each, its functions from the last to
/// the first, and the slots per iteration.
fn slots_by_path<'a>(
    paths: &'a CallPaths,
    name: &Option<String>,
    module: &Option<String>,
) -> Vec<(usize, Vec<&'a CalledFunction>, f64)> {
    let with_callers = |index: usize| {
        let mut functions = vec![paths.function_of(&paths.paths[index])];
        let mut caller = paths.paths[index].caller;
        while let Some(index) = caller {
            let path = &paths.paths[index as usize];
            functions.push(paths.function_of(path));
            caller = path.caller;
        }
        functions
    };
    let is_it = |function: &CalledFunction| function.name == *name && function.module == *module;
    let ends = paths.paths.iter().enumerate();
    ends.filter(|(_, path)| is_it(paths.function_of(path)))
        .map(|(index, path)| {
            let slots = path.counts.slots() as f64 / paths.iterations as f64;
            (index, with_callers(index), slots)
        })
        .collect()
}

fn find<'a>(side: &'a Functions, wanted: &Function) -> Option<&'a Function> {
    let is_it = |f: &&Function| (&f.name, &f.module) == (&wanted.name, &wanted.module);
    side.largest.iter().find(is_it)
}

fn per_iteration(side: &Functions, count: u64) -> f64 {
    count as f64 / side.iterations as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Planted, modelled, with_call_paths, with_functions};
    use topdown_run::code_samples::Sampled;

    #[test]
    fn window_functions_are_not_blamed() {
        let window =
            "<criterion_topdown::topdown::TopDown as criterion::measurement::Measurement>::end";
        let with_window = |slots| side(&[("parse", 100), (window, slots)]);
        let changes = changes(&with_window(100), &with_window(300));
        let names: Vec<_> = changes.iter().map(|c| c.name.as_deref()).collect();
        assert_eq!(names, [Some("parse")]);
        assert_eq!(changes[0].difference, 0.0);
    }

    #[test]
    fn changed_function_has_its_calling_line() {
        let side = |more| with_call_paths("parse", more);
        let line_of = |changes: &[FunctionChange], name: &str| {
            let named = |change: &&FunctionChange| change.name.as_deref() == Some(name);
            let change = changes.iter().find(named).unwrap();
            change.called_from.as_ref().map(ToString::to_string)
        };
        let found = changes(&side(0), &side(100));
        assert_eq!(found[0].name.as_deref(), Some("memcpy"));
        assert_eq!(
            line_of(&found, "memcpy").as_deref(),
            Some("src/parse.rs:40")
        );
        let number = line_of(&found, "suite::parse::number");
        assert_eq!(number.as_deref(), Some("src/parse.rs:13"));
        // A line of a library is of no use: the line that calls the library counts.
        let mut after = side(100);
        let paths = &mut after.call_paths.as_mut().unwrap().paths;
        paths[2].called_at.as_mut().unwrap().in_workspace = false;
        let found = changes(&side(0), &after);
        assert_eq!(
            line_of(&found, "memcpy").as_deref(),
            Some("src/parse.rs:12")
        );
        after.call_paths = None;
        let found = changes(&side(0), &after);
        assert_eq!(line_of(&found, "memcpy"), None);
    }

    /// Functions of the executable with this many backend-bound slots per iteration; the others
    /// have six more.
    fn side(functions: &[(&str, u64)]) -> Benchmark {
        let functions: Vec<_> = functions
            .iter()
            .map(|(name, slots)| (Some(*name), None, [0, 0, 0, *slots]))
            .collect();
        with_functions(modelled("b", Planted::default()), &functions)
    }

    fn found(before: &Benchmark, after: &Benchmark) -> Vec<(String, f64)> {
        let changes = changes(before, after).into_iter();
        changes
            .map(|c| (c.name.unwrap(), (c.difference * 1000.0).round()))
            .collect()
    }

    #[test]
    fn largest_change_comes_first() {
        let before = side(&[("large", 500), ("small", 300), ("same", 194)]);
        let after = side(&[("large", 510), ("same", 194), ("small", 400)]);
        let expected = [("small", 100.0), ("large", 10.0), ("same", 0.0)];
        assert_eq!(
            found(&before, &after),
            expected.map(|(n, d)| (n.to_owned(), d))
        );
    }

    #[test]
    fn possibly_hidden_function_is_not_called_new() {
        let before = side(&[("a", 894), ("gone", 100)]);
        let after = side(&[("a", 894), ("new", 50), ("unknown", 6)]);
        let changes = changes(&before, &after);
        let expected = [("gone", -100.0), ("new", 50.0), ("a", 0.0)];
        assert_eq!(
            found(&before, &after),
            expected.map(|(n, d)| (n.to_owned(), d))
        );
        assert_eq!(
            (changes[0].baseline_slots, changes[0].candidate_slots),
            (Some(100.0), None)
        );
        assert_eq!(changes[1].baseline_slots, None);
    }

    fn sampled(mut benchmark: Benchmark, effective_hits: u64) -> Benchmark {
        if let Some(functions) = &mut benchmark.functions {
            functions.sampled = Some(Sampled {
                effective_hits,
                ..Sampled::default()
            });
        }
        benchmark
    }

    #[test]
    fn sampled_changes_are_certain_only_beyond_chance() {
        let [before, after] = [500, 560].map(|slots| side(&[("a", slots), ("b", 494)]));
        let change_with = |hits| {
            let changes = changes(
                &sampled(before.clone(), hits),
                &sampled(after.clone(), hits),
            );
            assert_eq!(changes[0].name.as_deref(), Some("a"));
            (changes[0].is_certain(), changes[0].margin.unwrap())
        };
        let (is_certain, margin) = change_with(20_000);
        assert!(is_certain && (0.009..0.011).contains(&margin), "{margin}");
        assert!(!change_with(200).0);
        assert!(changes(&before, &after)[0].is_certain());
        assert_eq!(changes(&sampled(before, 9), &after), []);
    }

    #[test]
    fn functions_of_one_side_have_no_changes() {
        let with = side(&[("a", 10)]);
        let without = modelled("b", Planted::default());
        assert_eq!(changes(&with, &without), []);
        assert_eq!(changes(&without, &with), []);
    }
}
