//! The functions to which a benchmark's slots went.

use serde::{Deserialize, Serialize};

use crate::code::CodeCounts;
use crate::code_samples::Sampled;

/// Where a benchmark's slots went, by function.
///
/// If they are modelled, these are sums over the samples that determined its launch values, in all
/// modelled launches: all counts together, including those of `others`, are the benchmark's slots
/// per iteration times `iterations`. If they are `sampled`, these are sums over all usable samples
/// of launches of their own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Functions {
    /// Number of calls of the benchmarked routine that the counts cover; at least 1.
    pub iterations: u64,
    /// The functions with the most slots, in descending order.
    pub largest: Vec<Function>,
    /// The remaining functions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others: Option<OtherFunctions>,
    /// How the functions were sampled, in all launches that did so; absent if they are modelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampled: Option<Sampled>,
    /// The function that takes the lock for which threads wait most, if the model knows one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<String>,
}

/// A function and its cost, excluding the functions it called.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Function {
    /// Its demangled path without the hash; absent for code without a symbol. Functions with the
    /// same name are merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The file name of the library that contains it, or the kernel's name for it; absent for the
    /// bench executable itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// Its cost.
    pub counts: CodeCounts,
    /// The number of PMU samples that its categories are taken from, if it is sampled: those that
    /// came after another PMU sample of the function, or those of events that have a period of
    /// their own. 0 if there are too few: then all its PMU samples, which include what ran before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category_hits: Option<u64>,
    /// At most half the width of the 95 % intervals of its categories, as a fraction of its slots,
    /// if they are taken from events that have a period of their own. Otherwise the number of PMU
    /// samples tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category_margin: Option<f64>,
}

/// The functions too small for their own row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OtherFunctions {
    /// Number of functions.
    pub functions: u64,
    /// Their cost.
    pub counts: CodeCounts,
}

impl Functions {
    /// Returns the total cost of all functions.
    pub fn total(&self) -> CodeCounts {
        let all = self.largest.iter().map(|function| function.counts);
        let mut total = CodeCounts::default();
        for counts in all.chain(self.others.map(|others| others.counts)) {
            total += counts;
        }
        total
    }
}
