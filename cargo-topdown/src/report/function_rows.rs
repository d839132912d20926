//! The functions of a benchmark as every report shows them: labels, amounts per iteration, shares.

use criterion_topdown::code::CodeCounts;
use criterion_topdown::run_file::{Functions, OtherFunctions};

/// A function in a table.
pub struct FunctionRow {
    /// Its name, or what is known in place of one.
    pub label: String,
    /// Per iteration.
    pub slots: f64,
    /// Per iteration.
    pub instructions: f64,
    /// Of the benchmark's slots.
    pub share: f64,
    /// Of the function's slots: retiring, bad speculation, frontend bound, backend bound.
    pub categories: [f64; 4],
}

/// The largest function first; the others last.
pub fn rows_of(functions: &Functions) -> Vec<FunctionRow> {
    let total_slots = functions.total().slots() as f64;
    let row = |label: String, counts: &CodeCounts| {
        let slots = counts.slots() as f64;
        let ratio = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        FunctionRow {
            label,
            slots: slots / functions.iterations as f64,
            instructions: counts.instructions as f64 / functions.iterations as f64,
            share: ratio(slots, total_slots),
            categories: counts.level1_slots().map(|part| ratio(part as f64, slots)),
        }
    };
    let largest = functions.largest.iter();
    let largest = largest.map(|f| row(label_of(&f.name, &f.module), &f.counts));
    let others = functions.others.iter();
    let others = others.map(|others| row(label_of_others(others), &others.counts));
    largest.chain(others).collect()
}

/// The name of a function, and where it is if that is not the bench executable.
pub fn label_of(name: &Option<String>, module: &Option<String>) -> String {
    match (name, module) {
        (Some(name), None) => name.clone(),
        (Some(name), Some(module)) => format!("{name} ({module})"),
        // The kernel's own names say enough.
        (None, Some(module)) if module.starts_with('[') => module.clone(),
        (None, Some(module)) => format!("no symbol ({module})"),
        (None, None) => "no symbol".to_owned(),
    }
}

fn label_of_others(others: &OtherFunctions) -> String {
    match others.functions {
        1 => "1 other".to_owned(),
        count => format!("{count} others"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::scenario::with_some_functions;

    #[test]
    fn shares_are_of_the_benchmark_and_categories_of_the_function() {
        let benchmark = with_some_functions("parse");
        let rows = rows_of(&benchmark.functions.unwrap());
        assert_eq!(rows[0].label, "suite::parse::number");
        assert_eq!((rows[0].slots, rows[0].instructions), (350.0, 180.0));
        assert_eq!(rows[0].share, 0.35);
        assert_eq!(rows[0].categories[0], 200.0 / 350.0);
        let shares: f64 = rows.iter().map(|row| row.share).sum();
        assert!((shares - 1.0).abs() < 1e-12);
    }

    #[test]
    fn what_has_no_name_is_called_by_its_module() {
        let benchmark = with_some_functions("parse");
        let rows = rows_of(&benchmark.functions.unwrap());
        let labels: Vec<&str> = rows[2..].iter().map(|row| &*row.label).collect();
        let expected = [
            "no symbol (libc.so.6)",
            "malloc (libc.so.6)",
            "no symbol",
            "[vdso]",
            "12 others",
        ];
        assert_eq!(labels, expected);
    }
}
