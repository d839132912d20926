//! Wrapped paragraphs.

use std::io::{self, Write};

pub use topdown_terminal::columns::{
    ShortNames, head_within, shortened, shown_width, width_of, wrapped,
};

/// Paragraphs with indented continuation lines.
#[derive(Clone, Copy, Debug)]
pub struct HangingIndent {
    /// Columns of a line.
    pub width: usize,
}

impl HangingIndent {
    /// Writes `lead`, which is `indent` columns wide, followed by `text`.
    pub fn write(
        &self,
        out: &mut impl Write,
        lead: &str,
        indent: usize,
        text: &str,
    ) -> io::Result<()> {
        let lines = wrapped(text, self.width.saturating_sub(indent));
        writeln!(out, "{lead}{}", lines.join(&format!("\n{:indent$}", "")))
    }

    /// Writes `text` on the same line as `lead`, which is not wrapped, and indents the lines below.
    pub fn write_after(
        &self,
        out: &mut impl Write,
        lead: &str,
        indent: usize,
        text: &str,
    ) -> io::Result<()> {
        let used = shown_width(lead) + 1;
        let room = self.width.saturating_sub(indent);
        // The lead takes the place of a word.
        let filler = "x".repeat(used.saturating_sub(1 + indent).max(1));
        let lines = wrapped(&format!("{filler} {text}"), room);
        let rest = lines.join(&format!("\n{:indent$}", ""));
        writeln!(out, "{lead}{}", &rest[filler.len()..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn continuation_lines_are_aligned() {
        let mut out = Vec::new();
        HangingIndent { width: 12 }
            .write(&mut out, "note  ", 6, "one two three 5 %")
            .unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "note  one\n      two\n      three\n      5 %\n");
    }
}
