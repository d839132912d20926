//! Common causes of several benchmarks: the function that made them change, and the function that
//! most of a suite call.

use std::collections::BTreeMap;

use super::benchmark_verdict::BenchmarkVerdict;
use super::cause::Cause;
use super::code_change::{CodeChange, FunctionName};
use super::comparison::Comparison;
use super::rules::Verdict;
use crate::function_name::{FunctionKind, Origin};

/// At least this many benchmarks with one cause share a sentence.
const MIN_BENCHMARKS: usize = 3;
/// A function that changed by less is not called part of what moved a suite.
const MIN_DIFFERENCE: f64 = 0.005;

/// Benchmarks that changed for one reason.
#[derive(Clone, Debug, PartialEq)]
pub struct CommonCause<'a> {
    /// The project's own function that made them change; absent if no such function is known.
    pub changed: Option<&'a FunctionName>,
    /// Where most of them spend the difference, if elsewhere: often an allocator, or a sort.
    pub spent_in: Option<&'a FunctionName>,
    /// The benchmarks, in the order given.
    pub benchmarks: Vec<&'a BenchmarkVerdict>,
}

/// Groups benchmarks by the cause that they share with at least two others. Those with a cause of
/// their own are alone. The order is that of the first benchmark of each group.
pub fn common_causes<'a>(members: &[&'a BenchmarkVerdict]) -> Vec<CommonCause<'a>> {
    let mut common: BTreeMap<&FunctionName, usize> = BTreeMap::new();
    for name in members.iter().flat_map(|member| own_changed(member)) {
        *common.entry(name).or_default() += 1;
    }
    let is_explained = |member: &BenchmarkVerdict| {
        let is_told = matches!(member.verdict, Verdict::Regressed | Verdict::Improved);
        is_told && member.cause.as_ref().is_some_and(Cause::is_of_slots)
    };
    let keys: Vec<Option<&FunctionName>> = members
        .iter()
        .map(|member| key(member, &common).filter(|_| is_explained(member)))
        .collect();
    let count = |key| keys.iter().filter(|other| **other == key).count();
    let mut groups: Vec<CommonCause<'_>> = Vec::new();
    for (member, key) in members.iter().zip(&keys) {
        let shared = key.filter(|_| count(*key) >= MIN_BENCHMARKS);
        let is_it = |group: &&mut CommonCause<'_>| shared.is_some() && group.changed == shared;
        match groups.iter_mut().find(is_it) {
            Some(group) => group.benchmarks.push(member),
            None => groups.push(CommonCause {
                changed: shared,
                spent_in: None,
                benchmarks: vec![member],
            }),
        }
    }
    for group in &mut groups {
        let spent_in = most_common(
            group
                .benchmarks
                .iter()
                .filter_map(|benchmark| grown(benchmark)),
        );
        let Some(key) = group.changed else {
            continue;
        };
        if key.origin(&group.benchmarks[0].id) == Origin::Toolchain {
            group.changed = None;
            group.spent_in = Some(key);
        } else {
            group.spent_in = spent_in.filter(|spent_in| *spent_in != key);
        }
    }
    groups
}

/// Returns the function by which to group a benchmark: where it spends the difference, if that is
/// the project's own code; otherwise the own function whose code changed and that most benchmarks
/// share.
fn key<'a>(
    member: &'a BenchmarkVerdict,
    common: &BTreeMap<&FunctionName, usize>,
) -> Option<&'a FunctionName> {
    let grown = grown(member);
    let origin = |name: &FunctionName| name.origin(&member.id);
    if grown.is_some_and(|grown| origin(grown) != Origin::Toolchain) {
        return grown;
    }
    let shared = |name: &FunctionName| common.get(name).copied().unwrap_or(0);
    let own = own_changed(member);
    // On a tie, the first.
    let best = own
        .into_iter()
        .rev()
        .max_by_key(|name| (std::cmp::Reverse(origin(name)), shared(name)));
    best.or(grown)
}

/// Returns where a benchmark spends most of its difference.
fn grown(member: &BenchmarkVerdict) -> Option<&FunctionName> {
    let part = member.explaining_parts().next()?;
    let mut functions = part.functions.iter();
    functions.find(|function| function.kind() != Some(FunctionKind::Loop))
}

/// Returns the functions whose code changed and that are not of the toolchain.
fn own_changed(member: &BenchmarkVerdict) -> Vec<&FunctionName> {
    let Some(executed) = &member.executed else {
        return Vec::new();
    };
    if executed.change != CodeChange::Differs {
        return Vec::new();
    }
    let is_own = |name: &&FunctionName| {
        name.kind() == Some(FunctionKind::Measured) && name.origin(&member.id) != Origin::Toolchain
    };
    executed.functions.iter().filter(is_own).collect()
}

/// Returns the most common one; on a tie, the first in the order of names.
fn most_common<'a>(names: impl Iterator<Item = &'a FunctionName>) -> Option<&'a FunctionName> {
    let mut counts: BTreeMap<&FunctionName, usize> = BTreeMap::new();
    for name in names {
        *counts.entry(name).or_default() += 1;
    }
    let all = counts.into_iter().rev();
    all.max_by_key(|(_, count)| *count).map(|(name, _)| name)
}

/// The function that most benchmarks of a suite call.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedFunction {
    /// The function.
    pub name: FunctionName,
    /// Number of benchmarks that it made slower, or faster.
    pub benchmarks: usize,
    /// Number of benchmarks with known functions.
    pub of: usize,
}

/// Returns the function that changed in the direction of `difference` in most benchmarks; `None` if
/// there is none in at least half of those that know their functions.
pub fn shared_function(comparison: &Comparison, difference: f64) -> Option<SharedFunction> {
    let benchmarks = comparison.benchmarks.iter();
    let known: Vec<&BenchmarkVerdict> = benchmarks.filter(|b| !b.functions.is_empty()).collect();
    let mut sums: BTreeMap<FunctionName, (usize, f64)> = BTreeMap::new();
    for change in known.iter().flat_map(|benchmark| &benchmark.functions) {
        let size = change.difference * difference.signum();
        let name = FunctionName::of(change);
        let is_named = name.kind() == Some(FunctionKind::Measured);
        if is_named && size >= MIN_DIFFERENCE && change.is_certain() {
            let (count, sum) = sums.entry(name).or_default();
            *count += 1;
            *sum += size;
        }
    }
    let most = |a: &(usize, f64), b: &(usize, f64)| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1));
    let (name, (benchmarks, _)) = sums.into_iter().max_by(|(_, a), (_, b)| most(a, b))?;
    (2 * benchmarks >= known.len()).then_some(SharedFunction {
        name,
        benchmarks,
        of: known.len(),
    })
}

#[cfg(test)]
mod tests;
