//! A benchmark's functions as every report shows them: labels, amounts per iteration, shares.

use topdown_run::category::PerCategory;
use topdown_run::code::CodeCounts;
use topdown_run::run_file::{Function, Functions, OtherFunctions};
use topdown_terminal::count_of;

use super::number::{percent, slots};
use topdown_gate::function_name::FunctionKind;
use topdown_gate::statistics::share::share_margin;

/// The label of criterion's loop, into which the routine is inlined.
const CLOSURE: &str = "the benchmark's closure (inlined)";
/// The label of the code that begins and ends windows.
const WINDOW: &str = "cost of the window";

/// Settings that add missing names.
pub const NAMES_OF_INLINED: &str = "CARGO_PROFILE_BENCH_DEBUG=1 and without `strip`";
const NAMES_OF_ALL: &str = "CARGO_PROFILE_BENCH_STRIP=none";

/// Returns how to build for better names of these functions, given as names and modules, if that
/// helps. With debug information, what the loop itself does remains.
pub fn advice_for_names<'a>(
    functions: impl Iterator<Item = (&'a Option<String>, &'a Option<String>)>,
    debug_information: Option<bool>,
) -> Option<String> {
    let of_the_bench: Vec<&Option<String>> = functions
        .filter(|(_, module)| module.is_none())
        .map(|(name, _)| name)
        .collect();
    let named = || of_the_bench.iter().copied().flatten();
    if of_the_bench.is_empty() {
        None
    } else if named().next().is_none() {
        Some(format!(
            "the executable's function names are stripped; build with {NAMES_OF_ALL}"
        ))
    } else if debug_information != Some(false) {
        None
    } else if named().any(|name| FunctionKind::new(name) == FunctionKind::Loop) {
        Some(format!(
            "for the names of inlined functions, build with {NAMES_OF_INLINED}"
        ))
    } else {
        None
    }
}

/// A function in a table.
pub struct FunctionRow {
    /// Its name, or what is known instead.
    pub label: String,
    /// Per iteration.
    pub slots: f64,
    /// Per iteration, if counted.
    pub instructions: Option<f64>,
    /// The fraction of the benchmark's slots.
    pub share: f64,
    /// Half the width of the share's 95 % interval, if it is sampled.
    pub share_margin: Option<f64>,
    /// The fractions of the function's slots.
    pub categories: PerCategory<f64>,
    /// Accuracy of these, if the function is sampled.
    pub known: Option<Known>,
}

/// Accuracy of the categories of a sampled function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Known {
    /// At most half the width of their 95 % intervals.
    Within(f64),
    /// They include code that ran before it.
    Mixed,
}

impl Known {
    /// The fraction of a PMU sample's slots that a category has lies between 0 and 1, so that it
    /// varies at most as much as if a PMU sample were of one category alone.
    ///
    /// Returns `None` if the function is not sampled.
    fn new(function: &Function) -> Option<Known> {
        let categories = fractions(&function.counts);
        Some(match (function.category_hits?, function.category_margin) {
            (0, _) => Known::Mixed,
            (_, Some(margin)) => Known::Within(margin),
            (hits, None) => {
                let margins = categories.into_array().map(|part| share_margin(part, hits));
                Known::Within(margins.into_iter().fold(0.0, f64::max))
            }
        })
    }

    /// Returns how well the categories of several functions together are known.
    ///
    /// Each function adds its own share of what is unknown: margins of sums are at most the sums
    /// of margins. Returns `None` without functions, or if one is not sampled.
    fn from_all(functions: &[&Function]) -> Option<Known> {
        let slots = |function: &Function| function.counts.slots() as f64;
        let total: f64 = functions.iter().map(|function| slots(function)).sum();
        let mut margin = 0.0;
        for function in functions {
            match Known::new(function)? {
                Known::Mixed => return Some(Known::Mixed),
                Known::Within(own) => margin += own * ratio(slots(function), total),
            }
        }
        (!functions.is_empty()).then_some(Known::Within(margin))
    }
}

/// Returns the sign before half of an interval.
pub fn plus_minus(unicode: bool) -> &'static str {
    if unicode { "±" } else { "+-" }
}

impl FunctionRow {
    /// Returns the share, with its margin if it is sampled.
    pub fn share_in_words(&self, unicode: bool) -> String {
        let share = percent(self.share);
        match self.share_margin {
            Some(margin) => format!("{share} {} {} %", plus_minus(unicode), percent(margin)),
            None => format!("{share} %"),
        }
    }

    /// Returns how well the categories are known; empty if they are exact.
    pub fn known_in_words(&self, unicode: bool) -> String {
        match self.known {
            None => String::new(),
            Some(Known::Mixed) => "mixed".to_owned(),
            Some(Known::Within(margin)) => format!("{} {}", plus_minus(unicode), percent(margin)),
        }
    }

    /// Returns the instructions, or `-`.
    pub fn instructions_in_words(&self) -> String {
        self.instructions.map_or("-".to_owned(), slots)
    }
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// Returns the fraction of the slots that each category has.
fn fractions(counts: &CodeCounts) -> PerCategory<f64> {
    let slots = counts.slots() as f64;
    counts.level1_slots.map(|part| ratio(part as f64, slots))
}

/// Returns the largest function first, and the others last.
pub fn rows_of(functions: &Functions) -> Vec<FunctionRow> {
    let total = functions.total();
    let total_slots = total.slots() as f64;
    let hits = functions.sampled.map(|sampled| sampled.effective_hits);
    // No code executes none.
    let has_instructions = total.instructions > 0;
    let row = |label: String, counts: &CodeCounts, known_of: &[&Function]| {
        let slots = counts.slots() as f64;
        FunctionRow {
            label,
            slots: slots / functions.iterations as f64,
            instructions: has_instructions
                .then_some(counts.instructions as f64 / functions.iterations as f64),
            share: ratio(slots, total_slots),
            share_margin: hits.map(|hits| share_margin(ratio(slots, total_slots), hits)),
            known: Known::from_all(known_of),
            categories: fractions(counts),
        }
    };
    // Several functions begin and end a window, which is one cost to a reader.
    let is_window = |f: &&Function| label_of(&f.name, &f.module) == WINDOW;
    let (windows, own): (Vec<&Function>, Vec<_>) = functions.largest.iter().partition(is_window);
    let own = own.iter();
    let mut rows: Vec<FunctionRow> = own
        .map(|f| row(label_of(&f.name, &f.module), &f.counts, &[f]))
        .collect();
    if !windows.is_empty() {
        let mut counts = CodeCounts::default();
        windows.iter().for_each(|window| counts += window.counts);
        rows.push(row(WINDOW.to_owned(), &counts, &windows));
        rows.sort_by(|a, b| b.slots.total_cmp(&a.slots));
    }
    let others = functions.others.iter();
    rows.extend(others.map(|others| row(label_of_others(others), &others.counts, &[])));
    rows
}

/// Returns the name of a function, and its module unless that is the bench executable.
pub fn label_of(name: &Option<String>, module: &Option<String>) -> String {
    match (name, module) {
        (Some(name), None) => match FunctionKind::new(name) {
            FunctionKind::Loop => CLOSURE.to_owned(),
            FunctionKind::Window => WINDOW.to_owned(),
            FunctionKind::Measured => name.clone(),
        },
        (Some(name), Some(module)) => format!("{name} ({module})"),
        // The kernel's own names are clear enough.
        (None, Some(module)) if module.starts_with('[') => module.clone(),
        (None, Some(module)) => format!("unnamed code of {module}"),
        (None, None) => "unnamed code of the executable".to_owned(),
    }
}

fn label_of_others(others: &OtherFunctions) -> String {
    count_of(others.functions, "other")
}

#[cfg(test)]
mod tests {
    use super::*;
    use topdown_gate::scenario::with_some_functions;

    #[test]
    fn window_functions_are_one_row() {
        let window = |name: &str, retiring| Function {
            name: Some(name.to_owned()),
            module: None,
            counts: CodeCounts::from([1, retiring, 0, 0, 0, 0, 0, 0, 0]),
            category_hits: None,
            category_margin: None,
        };
        let mut functions = with_some_functions("parse").functions.unwrap();
        let before = functions.total().slots();
        functions.largest.push(window("topdown_tracer::end", 3));
        functions.largest.push(window(
            "<topdown_model::Model as topdown_counters::Source>::start",
            4,
        ));
        let rows = rows_of(&functions);
        let windows: Vec<&FunctionRow> = rows.iter().filter(|row| row.label == WINDOW).collect();
        assert_eq!(windows.len(), 1);
        let iterations = functions.iterations as f64;
        assert_eq!(windows[0].slots, 7.0 / iterations);
        let sum: f64 = rows.iter().map(|row| row.slots * iterations).sum();
        assert!((sum - (before + 7) as f64).abs() < 1e-6, "{sum}");
        assert!(rows.iter().all(|row| !row.label.contains("topdown")));
    }

    /// A window has 1000 slots, and the one before it three times as many.
    #[test]
    fn window_cost_and_functions_add_up() {
        let known = |first: (u64, f64), second: (u64, f64)| {
            let mut functions = with_some_functions("parse").functions.unwrap();
            functions.sampled = Some(Default::default());
            for (slots, (hits, margin)) in [(3000, first), (1000, second)] {
                functions.largest.push(Function {
                    name: Some("topdown_tracer::end".to_owned()),
                    module: None,
                    counts: CodeCounts::from([1, slots, 0, 0, 0, 0, 0, 0, 0]),
                    category_hits: Some(hits),
                    category_margin: Some(margin),
                });
            }
            let rows = rows_of(&functions);
            rows.iter().find(|row| row.label == WINDOW).unwrap().known
        };
        assert_eq!(known((50, 0.5), (50, 0.25)), Some(Known::Within(0.4375)));
        assert_eq!(known((50, 0.5), (0, 0.25)), Some(Known::Mixed));
    }

    #[test]
    fn shares_are_of_benchmark_categories_of_function() {
        let benchmark = with_some_functions("parse");
        let rows = rows_of(&benchmark.functions.unwrap());
        assert_eq!(rows[0].label, "suite::parse::number");
        assert_eq!((rows[0].slots, rows[0].instructions), (350.0, Some(180.0)));
        assert_eq!(rows[0].share, 0.35);
        assert_eq!(rows[0].categories.retiring, 200.0 / 350.0);
        let shares: f64 = rows.iter().map(|row| row.share).sum();
        assert!((shares - 1.0).abs() < 1e-12);
    }

    #[test]
    fn criterion_loop_is_closure_and_windows_are_cost() {
        let label = |name: &str| label_of(&Some(name.to_owned()), &None);
        assert_eq!(label("criterion::bencher::Bencher<M>::iter"), CLOSURE);
        assert_eq!(label("topdown_tracer::end"), "cost of the window");
    }

    #[test]
    fn better_names_are_suggested_if_available() {
        let advice_with = |debug_information, functions: &[(Option<&str>, Option<&str>)]| {
            let owned: Vec<(Option<String>, Option<String>)> = functions
                .iter()
                .map(|(name, module)| (name.map(str::to_owned), module.map(str::to_owned)))
                .collect();
            let functions = owned.iter().map(|(name, module)| (name, module));
            advice_for_names(functions, debug_information)
        };
        let advice = |functions: &[_]| advice_with(Some(false), functions);
        let in_loop = (Some("criterion::bencher::Bencher<M>::iter"), None);
        assert!(advice(&[in_loop]).unwrap().contains(NAMES_OF_INLINED));
        assert_eq!(advice_with(Some(true), &[in_loop]), None);
        assert_eq!(advice_with(None, &[in_loop]), None);
        let stripped = advice(&[(None, None), (Some("malloc"), Some("libc.so.6"))]).unwrap();
        assert!(stripped.contains("names are stripped") && stripped.contains(NAMES_OF_ALL));
        assert_eq!(advice(&[(Some("suite::parse"), None), (None, None)]), None);
        assert_eq!(advice(&[(None, Some("libc.so.6"))]), None);
    }

    #[test]
    fn unnamed_function_has_name_of_module() {
        let benchmark = with_some_functions("parse");
        let rows = rows_of(&benchmark.functions.unwrap());
        let labels: Vec<&str> = rows[2..].iter().map(|row| &*row.label).collect();
        let expected = [
            "unnamed code of libc.so.6",
            "malloc (libc.so.6)",
            "unnamed code of the executable",
            "[vdso]",
            "12 others",
        ];
        assert_eq!(labels, expected);
    }
}
