//! Recognizes what a bench's source is written for, and places in it that time themselves.
//!
//! This searches the text instead of parsing Rust: a false match costs the reader a glance, and
//! every run marks a missed one.

use std::path::Path;

use super::SourceLocation;

/// What a bench is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framework {
    /// criterion.
    Criterion,
    /// divan.
    Divan,
    /// `#[bench]` of nightly Rust.
    Libtest,
    /// Another harness, or the benches are in other files.
    Unknown,
}

impl Framework {
    /// Recognizes the framework of the source `text`.
    pub(super) fn new(text: &str) -> Framework {
        let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
        if has(&["criterion_main!", "criterion_group!", "criterion::"]) {
            Framework::Criterion
        } else if has(&["divan::"]) {
            Framework::Divan
        } else if has(&["#[bench]", "test::Bencher"]) {
            Framework::Libtest
        } else {
            Framework::Unknown
        }
    }
}

/// Finds calls of `iter_custom`, whose closures usually measure time by themselves. Those compile,
/// but only their time is measured.
pub(super) fn self_timed(text: &str, path: &Path) -> Vec<SourceLocation> {
    self_timed_lines(text, path, |line| line.contains(".iter_custom("))
}

/// Returns the lines that match, without comments.
pub(super) fn self_timed_lines(
    text: &str,
    path: &Path,
    matches: impl Fn(&str) -> bool,
) -> Vec<SourceLocation> {
    text.lines()
        .enumerate()
        .filter(|(_, line)| matches(line) && !line.trim_start().starts_with("//"))
        .map(|(index, line)| SourceLocation {
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
    fn calls_have_lines_and_comments_are_ignored() {
        let text = "fn a() {\n    // b.iter_custom(|n| x)\n    b.iter_custom(|n| x(n));\n}\n";
        let found = self_timed(text, Path::new("b.rs"));
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].line, &*found[0].text),
            (3, "b.iter_custom(|n| x(n));")
        );
    }

    #[test]
    fn frameworks_are_recognized_by_their_calls() {
        for (text, framework) in [
            ("criterion_main!(benches);", Framework::Criterion),
            ("fn main() { divan::main(); }", Framework::Divan),
            ("#[bench]\nfn b(b: &mut Bencher) {}", Framework::Libtest),
            ("fn main() {}", Framework::Unknown),
        ] {
            assert_eq!(Framework::new(text), framework, "{text}");
        }
    }
}
