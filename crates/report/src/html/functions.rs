//! The functions of a benchmark: a table of bars.

use topdown_run::run_file::Functions;

use super::Bar;
use crate::function_rows::{Known, rows_of};
use crate::number::slots;
use topdown_gate::metric::Metric;

/// A function in the table.
pub struct FunctionItem {
    pub label: String,
    /// Proportional to its slots, and divided into their categories.
    pub bar: Bar,
    pub share: String,
    /// Accuracy of the categories; empty if they are exact.
    pub known: String,
    pub slots: String,
    pub instructions: String,
}

/// Returns the rows of the table, largest function first; the longest bar fills the space.
pub fn items_of(functions: &Functions) -> Vec<FunctionItem> {
    let rows = rows_of(functions);
    let longest = rows.iter().map(|row| row.slots).fold(0.0, f64::max);
    rows.into_iter()
        .map(|row| {
            let parts = row.categories.iter();
            let parts: Vec<(Metric, f64)> = parts
                .map(|(category, share)| (category.into(), share * row.slots))
                .collect();
            FunctionItem {
                bar: Bar::new("slots", &parts, longest),
                share: row.share_in_words(true),
                known: match row.known {
                    Some(Known::Within(_)) => format!("{} points", row.known_in_words(true)),
                    Some(Known::Mixed) | None => row.known_in_words(true),
                },
                slots: slots(row.slots),
                instructions: row.instructions_in_words(),
                label: row.label,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use topdown_gate::scenario::with_some_functions;
    use topdown_run::code_samples::Sampled;

    #[test]
    fn sampled_functions_have_margins_or_are_mixed() {
        let mut functions = with_some_functions("parse").functions.unwrap();
        functions.sampled = Some(Sampled {
            hits: 5000,
            effective_hits: 5000,
            ..Sampled::default()
        });
        functions.largest[0].category_hits = Some(700);
        functions.largest[0].category_margin = Some(0.021);
        functions.largest[1].category_hits = Some(0);
        let items = items_of(&functions);
        assert_eq!(items[0].share, "35.0 ± 1.3 %");
        let known: Vec<&str> = items.iter().map(|item| &*item.known).collect();
        assert_eq!(known[..3], ["± 2.1 points", "mixed", ""]);
    }

    #[test]
    fn largest_function_fills_width_and_bars_have_text() {
        let items = items_of(&with_some_functions("parse").functions.unwrap());
        assert_eq!(items[0].bar.width, "100.000");
        assert_eq!(
            items[0].bar.description,
            "slots: retiring 57.1 %, bad speculation 25.7 %, frontend bound 5.7 %, backend bound \
             11.4 %"
        );
        assert_eq!((&*items[0].share, &*items[0].slots), ("35.0 %", "350.0"));
        assert_eq!(items[3].bar.width, format!("{:.3}", 100.0 / 3.5));
        assert_eq!(items.last().unwrap().label, "12 others");
    }
}
