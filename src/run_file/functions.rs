//! The functions that a benchmark's slots went to.

use serde::{Deserialize, Serialize};

use super::columns::Rows;
use super::error::RunFileProblem;
use crate::code::CodeCounts;

/// Where a benchmark's slots went, function by function: sums over the samples that its launch values
/// were made of, in all launches that were modelled.
///
/// All counts together, those of the others included, are the benchmark's slots per iteration times
/// `iterations`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Functions {
    /// Calls of the benchmarked routine that the counts are sums over; at least 1.
    pub iterations: u64,
    /// The functions with the most slots, the largest first.
    pub largest: Vec<Function>,
    /// What remains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others: Option<OtherFunctions>,
}

/// A function and what it cost, without the functions that it called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Function {
    /// Its path, as a demangler writes it without the hash; absent for code without a symbol. All
    /// functions of one name are one here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The file name of the library that it is in, or the kernel's name for it; absent for the bench
    /// executable itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// What it cost.
    pub counts: CodeCounts,
}

/// The functions that are too small for a row of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OtherFunctions {
    /// How many they are.
    pub functions: u64,
    /// What they cost.
    pub counts: CodeCounts,
}

impl Functions {
    /// What all functions cost together.
    pub fn total(&self) -> CodeCounts {
        let all = self.largest.iter().map(|function| function.counts);
        let mut total = CodeCounts::default();
        for counts in all.chain(self.others.map(|others| others.counts)) {
            total += counts;
        }
        total
    }

    /// Whether every number can be what it says it is.
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
        }
        if let Some(others) = &self.others {
            one.counts("others.functions", &[others.functions])?;
            check_counts(&others.counts).map_err(|problem| problem.under("others.counts"))?;
        }
        Ok(())
    }
}

fn check_counts(counts: &CodeCounts) -> Result<(), RunFileProblem> {
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
