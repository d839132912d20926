//! The lines that tell most of a change, in a comparison's file and in the comment made of it.

use topdown_explain::listing::ListingComparison;
use topdown_gate::verdict::ChangedLine;

use super::listing_comparison_text::MAX_TELLING_LINES;
use super::listing_words::{line_in_words, signed, telling_function};
use super::markdown_text::{Bounded, code};
use super::number::slots;

/// Returns the lines of `comparison` that tell most, as a comparison's file has them.
pub fn changed_lines(comparison: &ListingComparison) -> Vec<ChangedLine> {
    let telling = comparison.most_telling().into_iter();
    let lines = telling.take(MAX_TELLING_LINES).map(|(function, line)| {
        let [baseline_slots, candidate_slots] = [0, 1].map(|side| line.slots_with_calls(side));
        ChangedLine {
            benchmark: comparison.id.clone(),
            line: line_in_words(line),
            function: telling_function(function),
            is_edited: line.is_edited,
            baseline_slots,
            candidate_slots,
        }
    });
    lines.collect()
}

/// Writes a table of lines that a pull request may have made up: their text as code.
pub(super) fn table(lines: &[ChangedLine], text: &mut Bounded) {
    text.push("| change | before | after | line | edited | function | benchmark |\n");
    text.push("|--:|--:|--:|:--|:--|:--|:--|\n");
    let rows: Vec<String> = lines.iter().map(row).collect();
    text.first_items(MAX_TELLING_LINES, rows.into_iter());
    text.push("\n");
}

fn row(line: &ChangedLine) -> String {
    let [before, after] = [line.baseline_slots, line.candidate_slots];
    format!(
        "| {} | {} | {} | {} | {} | {} | {} |\n",
        signed(after - before),
        slots(before),
        slots(after),
        code(&line.line),
        if line.is_edited { "yes" } else { "" },
        code(&line.function),
        code(&line.benchmark.to_string())
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listing_examples::decode;

    #[test]
    fn line_has_place_text_and_slots() {
        let comparison = ListingComparison::new(decode(0.0), decode(400.0));
        let lines = changed_lines(&comparison);
        let [before, after] = [lines[0].baseline_slots, lines[0].candidate_slots];
        assert!(after > before, "{lines:?}");
        assert!(lines[0].line.contains(":42"), "{lines:?}");
        assert_eq!(lines[0].function, "codec::decode");
    }
}
