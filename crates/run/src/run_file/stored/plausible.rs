//! Checks that what a file says about a benchmark is plausible.

use super::code_sample_columns::check_sampled;
use super::columns::Rows;
use super::error::RunFileProblem;
use crate::code::CodeCounts;
use crate::run_file::{CallPaths, Cold, Functions};

/// Checks every length and every number.
pub(super) fn check_cold(cold: &Cold) -> Result<(), RunFileProblem> {
    let rows = Rows {
        count: cold.slots.len(),
        what: "launches",
    };
    if cold.iterations == 0 || cold.slots.is_empty() {
        let what = "has no iterations or no launches".to_owned();
        return Err(RunFileProblem::field("iterations", what));
    }
    rows.length("instructions", &cold.instructions)?;
    rows.unsigned("slots", &cold.slots)?;
    rows.unsigned("instructions", &cold.instructions)
}

/// Checks that every number is plausible.
pub(super) fn check_functions(functions: &Functions) -> Result<(), RunFileProblem> {
    let one = Rows {
        count: 1,
        what: "number",
    };
    one.counts("iterations", &[functions.iterations])?;
    if functions.iterations == 0 {
        return Err(RunFileProblem::field("iterations", "is 0".to_owned()));
    }
    for (index, function) in functions.largest.iter().enumerate() {
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
    if let Some(sampled) = &functions.sampled {
        check_sampled(sampled).map_err(|problem| problem.under("sampled"))?;
    }
    if let Some(others) = &functions.others {
        one.counts("others.functions", &[others.functions])?;
        check_counts(&others.counts).map_err(|problem| problem.under("others.counts"))?;
    }
    Ok(())
}

/// Checks that every index and number is plausible.
pub(super) fn check_call_paths(call_paths: &CallPaths) -> Result<(), RunFileProblem> {
    let one = Rows {
        count: 1,
        what: "number",
    };
    one.counts("iterations", &[call_paths.iterations])?;
    if call_paths.iterations == 0 {
        return Err(RunFileProblem::field("iterations", "is 0".to_owned()));
    }
    for (index, path) in call_paths.paths.iter().enumerate() {
        let below = |field: &str, number: u32, count: usize| {
            if (number as usize) < count {
                return Ok(());
            }
            let field = format!("paths[{index}].{field}");
            Err(RunFileProblem::field(
                field,
                format!("is {number}, which must be below {count}"),
            ))
        };
        below("function", path.function, call_paths.functions.len())?;
        if let Some(caller) = path.caller {
            below("caller", caller, index)?;
        }
        check_counts(&path.counts)
            .map_err(|problem| problem.under(&format!("paths[{index}].counts")))?;
    }
    Ok(())
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
