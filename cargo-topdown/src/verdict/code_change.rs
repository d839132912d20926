//! Whether the code that a benchmark ran is another one than before.
//!
//! The one place that answers this; whatever a run knows about its code is to be asked here.

use criterion_topdown::code::CodeCounts;
use criterion_topdown::run_file::{Benchmark, Functions};
use serde::Serialize;

/// What is known about the code that ran on the two sides of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CodeChange {
    /// Every function executed what it did before, and cost what it did.
    Same,
    /// Some function did not.
    Differs,
    /// A side does not know its functions.
    Unknown,
}

/// Compares the code of two sides, by what the model counted in each function.
pub fn of(baseline: &Benchmark, candidate: &Benchmark) -> CodeChange {
    match (&baseline.functions, &candidate.functions) {
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
    // In the order of their size: equal lists are in the same order.
    others
        && before.largest.len() == after.largest.len()
        && before.largest.iter().zip(&after.largest).all(|(a, b)| {
            (&a.name, &a.module) == (&b.name, &b.module) && same_counts(a.counts, b.counts)
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::scenario::{Planted, modelled, with_a_grown_function, with_functions};

    #[test]
    fn the_same_counts_in_the_same_functions_are_the_same_code() {
        let [before, after] = with_a_grown_function("m");
        assert_eq!(of(&before, &before), CodeChange::Same);
        assert_eq!(of(&before, &after), CodeChange::Differs);
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
        assert_eq!(of(&before, &longer), CodeChange::Same);
        longer.functions.as_mut().unwrap().largest[2]
            .counts
            .instructions += 1;
        assert_eq!(of(&before, &longer), CodeChange::Differs);
    }

    #[test]
    fn another_name_is_another_code_and_without_functions_nobody_knows() {
        let with = |name| {
            let functions = [(Some(name), None, [400, 100, 150, 350])];
            with_functions(modelled("m", Planted::default()), &functions)
        };
        assert_eq!(of(&with("old"), &with("new")), CodeChange::Differs);
        let without = modelled("m", Planted::default());
        assert_eq!(of(&with("old"), &without), CodeChange::Unknown);
        assert_eq!(of(&without, &without), CodeChange::Unknown);
    }
}
