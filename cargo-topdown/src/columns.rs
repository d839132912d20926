//! Text in columns: measured as the terminal shows it, shortened and wrapped.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

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

/// Wraps `text` at spaces into lines of at most `width` columns. Longer words stay whole, a percent
/// sign stays with its number, and words in backticks stay together where they fit.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words(text, width) {
        match lines.last_mut() {
            Some(line)
                if shown_width(line) + 1 + shown_width(&word) <= width || word.starts_with('%') =>
            {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

/// Splits at the spaces at which a line may break.
fn words(text: &str, width: usize) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut is_quoted = false;
    for word in text.split_whitespace() {
        match words.last_mut() {
            Some(last) if is_quoted => {
                last.push(' ');
                last.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
        is_quoted ^= word.matches('`').count() % 2 == 1;
    }
    let parts = words.into_iter().flat_map(|word| {
        if shown_width(&word) <= width {
            return vec![word];
        }
        word.split_whitespace().map(str::to_owned).collect()
    });
    parts.collect()
}

/// Wraps the lines of `text` that are longer than `width`, and indents what follows in each.
pub fn folded(text: &str, width: usize) -> String {
    let fold = |line: &str| {
        if shown_width(line) <= width {
            return line.to_owned();
        }
        let indent = line.len() - line.trim_start_matches(' ').len();
        let below = indent + 2;
        let lines = wrapped(line, width.saturating_sub(below));
        format!("{:indent$}{}", "", lines.join(&format!("\n{:below$}", "")))
    };
    let lines: Vec<String> = text.split('\n').map(fold).collect();
    lines.join("\n")
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
        assert_eq!(wrapped("run `a b c` now", 9), ["run", "`a b c`", "now"]);
        assert_eq!(wrapped("run `a b c` now", 6), ["run `a", "b c`", "now"]);
    }

    #[test]
    fn issue_17_2_long_lines_are_folded_below_themselves() {
        let text = "error: no baseline `mian`\n  use `a b`, or none\nshort";
        assert_eq!(
            folded(text, 18),
            "error: no\n  baseline `mian`\n  use `a b`, or\n    none\nshort"
        );
        assert_eq!(folded(text, 30), text);
        assert_eq!(folded("", 0), "");
    }
}
