//! The most telling lines of a comparison as Markdown.

use topdown_explain::listing::ListingComparison;

use super::listing_comparison_text::MAX_TELLING_LINES;
use super::listing_words::{line_in_words, reason_in_words, telling_function, telling_slots};
use super::markdown_text::{Bounded, code, inline};

/// Appends a table of the lines that changed most.
pub fn push_lines(comparison: &ListingComparison, text: &mut Bounded) {
    let telling = comparison.most_telling().into_iter();
    let rows: Vec<String> = telling
        .take(MAX_TELLING_LINES)
        .map(|(function, line)| {
            let [change, before, after] = telling_slots(line);
            format!(
                "| {change} | {before} | {after} | {} | {} | {} |\n",
                code(&line_in_words(line)),
                code(&telling_function(function)),
                reason_in_words(line)
            )
        })
        .collect();
    if rows.is_empty() {
        return;
    }
    text.push(&format!(
        "\n**Lines of {} with the greatest change** (slots per iteration)\n\n",
        inline(&comparison.id.name)
    ));
    text.push("| change | before | after | line | function | why |\n|--:|--:|--:|:--|:--|:--|\n");
    text.items(rows.into_iter());
    text.push("\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listing_examples::decode;

    #[test]
    fn ten_most_telling_lines_are_escaped() {
        let mut after = decode(400.0);
        after.functions[0].lines[0].text = Some("a | b <script> @me `c`".to_owned());
        let comparison = ListingComparison::new(decode(0.0), after);
        let mut text = Bounded::new(10_000, 1_000);
        push_lines(&comparison, &mut text);
        insta::assert_snapshot!(text.finish());
    }

    #[test]
    fn equal_listings_have_no_table() {
        let comparison = ListingComparison::new(decode(0.0), decode(0.0));
        let mut text = Bounded::new(10_000, 1_000);
        push_lines(&comparison, &mut text);
        assert_eq!(text.finish(), "");
    }
}
