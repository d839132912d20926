//! The functions to which a benchmark's slots went.

use serde::{Deserialize, Serialize};

#[cfg(feature = "files")]
use super::{columns::Rows, error::RunFileProblem, hit_columns::check_sampled};
use crate::code::CodeCounts;
use crate::hits::Sampled;

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
    /// The number of hits that its categories are taken from, if it is sampled: those that came
    /// after another hit of the function, or those of events that have a period of their own. 0 if
    /// there are too few: then all its hits, which include what ran before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category_hits: Option<u64>,
    /// At most half the width of the 95 % intervals of its categories, as a fraction of its slots,
    /// if they are taken from events that have a period of their own. Otherwise the number of hits
    /// tells it.
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

    /// Checks that every number is plausible.
    #[cfg(feature = "files")]
    pub(super) fn check(&self) -> Result<(), RunFileProblem> {
        let one = Rows {
            count: 1,
            what: "number",
        };
        one.counts("iterations", &[self.iterations])?;
        if self.iterations == 0 {
            return Err(RunFileProblem::field("iterations", "is 0".to_owned()));
        }
        for (index, function) in self.largest.iter().enumerate() {
            check_counts(&function.counts)
                .map_err(|problem| problem.under(&format!("largest[{index}].counts")))?;
            one.counts("category_hits", &[function.category_hits.unwrap_or(0)])
                .and_then(|()| match function.category_margin {
                    None | Some(0.0..=1.0) => Ok(()),
                    Some(margin) => {
                        let problem = format!("is {margin}, not between 0 and 1");
                        Err(RunFileProblem::field("category_margin", problem))
                    }
                })
                .map_err(|problem| problem.under(&format!("largest[{index}]")))?;
        }
        if let Some(sampled) = &self.sampled {
            check_sampled(sampled).map_err(|problem| problem.under("sampled"))?;
        }
        if let Some(others) = &self.others {
            one.counts("others.functions", &[others.functions])?;
            check_counts(&others.counts).map_err(|problem| problem.under("others.counts"))?;
        }
        Ok(())
    }
}

#[cfg(feature = "files")]
pub(super) fn check_counts(counts: &CodeCounts) -> Result<(), RunFileProblem> {
    let one = Rows {
        count: 1,
        what: "number",
    };
    one.counts("instructions", &[counts.instructions])?;
    let slots = counts.level1_slots.zip(counts.level2_slots);
    for (category, &(whole, part)) in slots.iter() {
        let (whole_name, part_name) = (category.name(), category.measured_part().name());
        one.counts(whole_name, &[whole])?;
        if part > whole {
            let what = format!("is {part}, more than the {whole} of {whole_name}");
            return Err(RunFileProblem::field(part_name, what));
        }
    }
    Ok(())
}
