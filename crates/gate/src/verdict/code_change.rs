//! Evidence for changed code of a benchmark.
//!
//! This is the only place that decides whether code changed, from everything a run knows about it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use topdown_run::code::CodeCounts;
use topdown_run::provenance::SourceKind;
use topdown_run::run_file::{Benchmark, BenchmarkId, Fingerprint, Functions, Hash};

use super::functions::FunctionChange;
use crate::function_name::{FunctionKind, Origin};
use crate::statistics::agreement::{is_exact, slots_agree};
use crate::statistics::median;

/// How the code that ran on the two sides of a comparison differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CodeChange {
    /// The same instructions were executed, on data in the same places or at the same cost.
    Same,
    /// The same instructions were executed equally often, in another order or on data in other
    /// places.
    OtherData,
    /// Some function executed something different.
    Differs,
    /// A side does not know.
    Unknown,
}

/// The result of comparing the fingerprints of two sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExecutedChange {
    /// Whether they are the same.
    pub change: CodeChange,
    /// Whether the counts agree: modelled slots and all their parts bit for bit, instructions
    /// counted by hardware to 1 %. Without counts, this is true.
    pub same_counts: bool,
    /// The functions that executed something different: those of the bench executable first, at
    /// most ten.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<FunctionName>,
    /// The number of further functions.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_functions: usize,
}

/// A function, as named by its symbol.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FunctionName {
    /// Its library; absent for the bench executable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// Its name; absent if it has no symbol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl FunctionName {
    /// Returns the name of the function that changed.
    pub fn of(change: &FunctionChange) -> FunctionName {
        FunctionName {
            module: change.module.clone(),
            name: change.name.clone(),
        }
    }

    /// Returns its role in a benchmark, if it has a name.
    pub fn kind(&self) -> Option<FunctionKind> {
        self.name.as_deref().map(FunctionKind::new)
    }

    /// Returns whose code it is, in the benchmark `id`.
    pub fn origin(&self, id: &BenchmarkId) -> Origin {
        match (&self.module, &self.name) {
            (None, Some(name)) => Origin::new(name, id),
            _ => Origin::Toolchain,
        }
    }
}

/// Counted instructions of the same code differ by less: interrupts add some, and windows are
/// closed at other times.
const SAME_INSTRUCTIONS: f64 = 0.01;

/// At most this many functions are named.
const MAX_FUNCTIONS: usize = 10;

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Compares what an iteration executed on the two sides; `None` if either does not know.
pub fn executed(baseline: &Benchmark, candidate: &Benchmark) -> Option<ExecutedChange> {
    let before = baseline.fingerprint.as_ref()?;
    let after = candidate.fingerprint.as_ref()?;
    let change = change_between(before, after);
    let mut functions = match change {
        CodeChange::Differs => differing_functions(before, after),
        _ => Vec::new(),
    };
    let more_functions = functions.len().saturating_sub(MAX_FUNCTIONS);
    functions.truncate(MAX_FUNCTIONS);
    Some(ExecutedChange {
        change,
        same_counts: same_counts(baseline, candidate),
        functions,
        more_functions,
    })
}

/// Returns whether both sides surely executed the same; see [`ExecutedChange::is_proof`].
pub fn is_proven_same(baseline: &Benchmark, candidate: &Benchmark) -> bool {
    let sides = baseline
        .fingerprint
        .as_ref()
        .zip(candidate.fingerprint.as_ref());
    sides.is_some_and(|(before, after)| change_between(before, after) == CodeChange::Same)
        && same_counts(baseline, candidate)
}

fn change_between(before: &Fingerprint, after: &Fingerprint) -> CodeChange {
    match before.code == after.code {
        true if before.is_same(after) => CodeChange::Same,
        true => CodeChange::OtherData,
        false => CodeChange::Differs,
    }
}

impl ExecutedChange {
    /// Returns whether the sides cannot differ in what the benchmark itself does. Fingerprints are
    /// of the first iterations: if counts differ, they missed something.
    pub fn is_proof(&self) -> bool {
        self.change == CodeChange::Same && self.same_counts
    }
}

fn same_counts(baseline: &Benchmark, candidate: &Benchmark) -> bool {
    if candidate.provenance().source == SourceKind::Model {
        return is_exact(baseline)
            && is_exact(candidate)
            && slots_agree([
                &baseline.slots_launches()[0],
                &candidate.slots_launches()[0],
            ]);
    }
    let instructions = |benchmark: &Benchmark| -> Option<f64> {
        let launches = benchmark.slots_launches().iter();
        let counts = launches.map(|launch| launch.instructions);
        median(counts.collect::<Option<Vec<f64>>>()?)
    };
    match (instructions(baseline), instructions(candidate)) {
        (Some(before), Some(after)) => (after - before).abs() <= SAME_INSTRUCTIONS * before,
        _ => true,
    }
}

fn differing_functions(before: &Fingerprint, after: &Fingerprint) -> Vec<FunctionName> {
    let by_name = |side: &Fingerprint| -> BTreeMap<FunctionName, Hash> {
        let functions = side.functions.iter();
        let functions = functions.map(|function| {
            let name = FunctionName {
                module: function.module.clone(),
                name: function.name.clone(),
            };
            (name, function.code)
        });
        functions.collect()
    };
    let (before, after) = (by_name(before), by_name(after));
    let names: BTreeSet<&FunctionName> = before.keys().chain(after.keys()).collect();
    let differs = |name: &&FunctionName| before.get(name) != after.get(name);
    names.into_iter().filter(differs).cloned().collect()
}

/// Compares the code of two sides, by their fingerprints and by what the model counted in each
/// function over all iterations. The code differs if either says so.
pub fn classify(baseline: &Benchmark, candidate: &Benchmark) -> CodeChange {
    let executed = executed(baseline, candidate).map(|executed| executed.change);
    match (executed, by_functions(baseline, candidate)) {
        (Some(CodeChange::Differs), _) => CodeChange::Differs,
        (Some(change), CodeChange::Same) => change,
        (_, by_functions) => by_functions,
    }
}

fn by_functions(baseline: &Benchmark, candidate: &Benchmark) -> CodeChange {
    // Samples differ by chance.
    fn exact(side: &Benchmark) -> Option<&Functions> {
        side.functions
            .as_deref()
            .filter(|function| function.sampled.is_none())
    }
    match (exact(baseline), exact(candidate)) {
        (Some(before), Some(after)) if same_functions(before, after) => CodeChange::Same,
        (Some(_), Some(_)) => CodeChange::Differs,
        _ => CodeChange::Unknown,
    }
}

fn same_functions(before: &Functions, after: &Functions) -> bool {
    let same_counts = |a: CodeCounts, b: CodeCounts| {
        let per_iteration = |counts: CodeCounts, other: &Functions| {
            <[u64; 9]>::from(counts).map(|count| u128::from(count) * u128::from(other.iterations))
        };
        per_iteration(a, after) == per_iteration(b, before)
    };
    let others = match (before.others, after.others) {
        (Some(a), Some(b)) => a.functions == b.functions && same_counts(a.counts, b.counts),
        (None, None) => true,
        _ => false,
    };
    // By size: equal lists are in the same order.
    others
        && before.largest.len() == after.largest.len()
        && before.largest.iter().zip(&after.largest).all(|(a, b)| {
            (&a.name, &a.module) == (&b.name, &b.module) && same_counts(a.counts, b.counts)
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{
        Planted, benchmark, modelled, timed, with_a_grown_function, with_fingerprint,
        with_functions,
    };

    #[test]
    fn fingerprints_separate_code_and_data_changes() {
        let side = |data, functions: &[(&str, u64)]| {
            with_fingerprint(modelled("m", Planted::default()), data, functions)
        };
        let before = side(1, &[("same", 1), ("changed", 2), ("gone", 3)]);
        assert!(executed(&before, &before).unwrap().is_proof());
        let moved = side(2, &[("same", 1), ("changed", 2), ("gone", 3)]);
        let change = executed(&before, &moved).unwrap();
        assert_eq!(change.change, CodeChange::OtherData);
        assert!(change.same_counts && !change.is_proof());
        let after = side(1, &[("same", 1), ("changed", 22), ("new", 4)]);
        let change = executed(&before, &after).unwrap();
        assert_eq!(change.change, CodeChange::Differs);
        let names = change.functions.iter().map(|f| f.name.as_deref().unwrap());
        assert_eq!(names.collect::<Vec<_>>(), ["changed", "gone", "new"]);
        let many: Vec<String> = (0..15).map(|n| format!("f{n:02}")).collect();
        let many: Vec<(&str, u64)> = many.iter().map(|name| (&**name, 5)).collect();
        let change = executed(&before, &side(1, &many)).unwrap();
        assert_eq!((change.functions.len(), change.more_functions), (10, 8));
        let unknown = modelled("m", Planted::default());
        assert_eq!(executed(&before, &unknown), None);
    }

    #[test]
    fn equal_fingerprint_with_other_slots_is_no_proof() {
        let side = |backend_bound, cost| {
            let planted = Planted {
                categories: [0.0, 0.0, 0.0, backend_bound].into(),
                ..Planted::default()
            };
            let benchmark = with_fingerprint(modelled("m", planted), 1, &[("f", 1)]);
            with_functions(benchmark, &[(Some("f"), None, [400, 100, 150, cost])])
        };
        let before = side(0.0, 350);
        assert_eq!(classify(&before, &before), CodeChange::Same);
        let slower = side(0.001, 351);
        let change = executed(&before, &slower).unwrap();
        assert_eq!(change.change, CodeChange::Same);
        assert!(!change.same_counts && !change.is_proof());
        assert_eq!(classify(&before, &slower), CodeChange::Differs);
    }

    #[test]
    fn differing_instruction_counts_are_no_proof() {
        let side = |factor: f64, benchmark: Benchmark| {
            let mut side = with_fingerprint(benchmark, 1, &[("f", 1)]);
            for launch in side.slots_launches_mut() {
                launch.instructions = launch.instructions.map(|count| count * factor);
            }
            side
        };
        let counted = |factor| side(factor, benchmark("m", Planted::default()));
        let is_proof = |a: &Benchmark, b: &Benchmark| executed(a, b).unwrap().is_proof();
        assert!(is_proof(&counted(1.0), &counted(1.005)));
        // A later iteration does more than those that were traced.
        assert!(!is_proof(&counted(1.0), &counted(1.02)));
        assert!(!is_proof(&counted(1.02), &counted(1.0)));
        let timed = side(1.0, timed("m", Planted::default()));
        assert!(is_proof(&timed, &timed));
    }

    #[test]
    fn equal_counts_in_equal_functions_are_same_code() {
        let [before, after] = with_a_grown_function("m");
        assert_eq!(classify(&before, &before), CodeChange::Same);
        assert_eq!(classify(&before, &after), CodeChange::Differs);
        // Twice the iterations with twice the counts is the same code.
        let mut longer = before.clone();
        let functions = longer.functions.as_mut().unwrap();
        functions.iterations *= 2;
        let others = functions.others.iter_mut().map(|o| &mut o.counts);
        for counts in functions
            .largest
            .iter_mut()
            .map(|f| &mut f.counts)
            .chain(others)
        {
            *counts += *counts;
        }
        assert_eq!(classify(&before, &longer), CodeChange::Same);
        longer.functions.as_mut().unwrap().largest[2]
            .counts
            .instructions += 1;
        assert_eq!(classify(&before, &longer), CodeChange::Differs);
    }

    #[test]
    fn sampled_functions_leave_code_change_unknown() {
        let side = || {
            let functions = [(Some("f"), None, [400, 100, 150, 350])];
            with_functions(modelled("m", Planted::default()), &functions)
        };
        assert_eq!(classify(&side(), &side()), CodeChange::Same);
        let mut sampled = side();
        sampled.functions.as_mut().unwrap().sampled = Some(Default::default());
        assert_eq!(classify(&sampled, &sampled), CodeChange::Unknown);
    }

    #[test]
    fn renamed_function_is_changed_code() {
        let with = |name| {
            let functions = [(Some(name), None, [400, 100, 150, 350])];
            with_functions(modelled("m", Planted::default()), &functions)
        };
        assert_eq!(classify(&with("old"), &with("new")), CodeChange::Differs);
        let without = modelled("m", Planted::default());
        assert_eq!(classify(&with("old"), &without), CodeChange::Unknown);
        assert_eq!(classify(&without, &without), CodeChange::Unknown);
    }
}
