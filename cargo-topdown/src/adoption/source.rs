//! Finds places in a bench source that time themselves, and so have no slots.

use std::path::Path;

use super::SourcePlace;

/// Finds calls of `iter_custom`, whose closures usually return a `Duration`. Those still compile,
/// but only their time is measured.
///
/// This searches the text instead of parsing Rust: a false match costs the reader a glance, and
/// every run marks a missed one `time`.
pub(super) fn self_timed(text: &str, path: &Path) -> Vec<SourcePlace> {
    text.lines()
        .enumerate()
        .filter(|(_, line)| line.contains(".iter_custom(") && !line.trim_start().starts_with("//"))
        .map(|(index, line)| SourcePlace {
            path: path.to_owned(),
            line: index + 1,
            text: line.trim().to_owned(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_found_with_their_lines_and_comments_are_not() {
        let text = "fn a() {\n    // b.iter_custom(|n| x)\n    b.iter_custom(|n| x(n));\n}\n";
        let places = self_timed(text, Path::new("b.rs"));
        assert_eq!(places.len(), 1);
        assert_eq!(places[0].line, 3);
        assert_eq!(places[0].text, "b.iter_custom(|n| x(n));");
    }
}
