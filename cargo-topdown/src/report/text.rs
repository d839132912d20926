//! Text in columns: measured as the terminal shows it, shortened and wrapped.

use std::io::{self, Write};

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::style::DIM;

/// Returns how many columns `text` takes.
pub fn width_of(text: &str) -> usize {
    text.width()
}

/// Returns how many columns `text` takes, which may contain styles.
pub fn shown_width(text: &str) -> usize {
    if text.contains('\u{1b}') {
        width_of(&anstream::adapter::strip_str(text).to_string())
    } else {
        width_of(text)
    }
}

/// Shortens `text` to at most `width` columns in the middle, since benchmarks of a group differ at
/// their ends.
pub fn shortened(text: &str, width: usize, unicode: bool) -> String {
    let ellipsis = if unicode { "…" } else { "..." };
    if width_of(text) <= width {
        return text.to_owned();
    }
    let Some(room) = width.checked_sub(width_of(ellipsis)) else {
        return ellipsis.chars().take(width).collect();
    };
    let head = head_within(text.chars(), room / 2);
    let tail: Vec<char> = head_within(text.chars().rev(), room - room / 2)
        .chars()
        .rev()
        .collect();
    format!("{head}{ellipsis}{}", tail.into_iter().collect::<String>())
}

fn head_within(characters: impl Iterator<Item = char>, width: usize) -> String {
    let mut used = 0;
    characters
        .take_while(|c| {
            used += c.width().unwrap_or(0);
            used <= width
        })
        .collect()
}

/// Pads `text` with spaces to `width` columns.
pub fn padded(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(width_of(text))))
}

/// Wraps `text` at spaces into lines of at most `width` columns. Longer words stay whole, and a
/// percent sign stays with its number.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line)
                if shown_width(line) + 1 + shown_width(word) <= width || word.starts_with('%') =>
            {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Paragraphs with indented continuation lines.
#[derive(Clone, Copy, Debug)]
pub struct Hanging {
    /// Columns of a line.
    pub width: usize,
}

impl Hanging {
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

/// The width of the names of facts, in columns.
const FACT_NAME_WIDTH: usize = 12;

/// Writes a named value, wrapped next to its name; nothing if there is no value.
pub fn write_fact(out: &mut impl Write, name: &str, value: &str, width: usize) -> io::Result<()> {
    let lines = wrapped(value, width.saturating_sub(FACT_NAME_WIDTH + 2));
    for (index, line) in lines.iter().enumerate() {
        let name = padded(if index == 0 { name } else { "" }, FACT_NAME_WIDTH);
        writeln!(out, "  {DIM}{name}{DIM:#}{line}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_shortened_in_the_middle() {
        assert_eq!(shortened("json/twitter", 12, true), "json/twitter");
        assert_eq!(shortened("json/twitter/1024", 11, true), "json/…/1024");
        assert_eq!(shortened("json/twitter/1024", 11, false), "json...1024");
        assert_eq!(shortened("json", 2, false), "..");
        // Wide characters count twice.
        assert_eq!(
            shortened("日本語日本語", 7, true),
            "日…本語".replace("本語", "語")
        );
    }

    #[test]
    fn shortening_never_exceeds_the_width() {
        for width in 0..20 {
            for text in ["日本語日本語日本語", "abcdefghijklmnopqrst", "a日b本c語"] {
                assert!(width_of(&shortened(text, width, true)) <= width);
                assert!(width_of(&shortened(text, width, false)) <= width);
            }
        }
    }

    #[test]
    fn lines_break_at_spaces() {
        assert_eq!(
            wrapped("no hardware counters here", 12),
            ["no hardware", "counters", "here"]
        );
        assert!(wrapped(" ", 10).is_empty());
        assert_eq!(wrapped("by 5 % in all", 4), ["by 5 %", "in", "all"]);
    }

    #[test]
    fn later_lines_stand_under_the_first() {
        let mut out = Vec::new();
        Hanging { width: 12 }
            .write(&mut out, "note  ", 6, "one two three 5 %")
            .unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "note  one\n      two\n      three\n      5 %\n");
    }
}
