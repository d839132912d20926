//! What in a bench source measures for itself, and so has no slots.

use std::path::Path;

use super::SourcePlace;

/// Calls of `iter_custom`, whose closures mostly return a `Duration`. They compile and are measured by
/// that time alone.
///
/// Found by text and not by parsing Rust: a name in a comment costs a glance, and what is missed is
/// marked `time` by every run.
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
