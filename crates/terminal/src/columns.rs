//! Text in columns: measured as the terminal shows it, shortened and wrapped.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

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

/// Names that are shortened together, so that no two become the same text.
#[derive(Clone, Debug, Default)]
pub struct ShortNames(HashMap<String, String>);

impl ShortNames {
    /// Shortens `names` to at most `width` columns, as far as they are longer.
    pub fn new<'a>(
        names: impl IntoIterator<Item = &'a str>,
        width: usize,
        unicode: bool,
    ) -> ShortNames {
        let names: BTreeSet<&str> = names.into_iter().collect();
        let mut by_text: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for name in names {
            let text = shortened(name, width, unicode);
            by_text.entry(text).or_default().push(name);
        }
        let mut taken: HashSet<String> = by_text.keys().cloned().collect();
        let mut all = HashMap::new();
        for (text, names) in by_text {
            if let [name] = names[..] {
                all.insert(name.to_owned(), text);
                continue;
            }
            for (index, name) in names.iter().enumerate() {
                let text = with_difference(name, &names, width, unicode)
                    .filter(|text| !taken.contains(text))
                    .unwrap_or_else(|| numbered(name, index, width, unicode, &taken));
                taken.insert(text.clone());
                all.insert((*name).to_owned(), text);
            }
        }
        ShortNames(all)
    }

    /// Returns the short form of a name, or the name if it is none of them.
    pub fn of<'a>(&'a self, name: &'a str) -> &'a str {
        self.0.get(name).map_or(name, String::as_str)
    }
}

/// Shortens `name` in two places, so that what `names` differ in stays: `head…difference…tail`.
fn with_difference(name: &str, names: &[&str], width: usize, unicode: bool) -> Option<String> {
    let ellipsis = if unicode { "…" } else { "..." };
    let third = width.checked_sub(2 * width_of(ellipsis))? / 3;
    let same = |other: &str| {
        let pairs = name.char_indices().zip(other.chars());
        let mut differing = pairs.filter(|((_, a), b)| a != b);
        differing.next().map_or(name.len(), |((at, _), _)| at)
    };
    let others = names.iter().filter(|other| **other != name);
    let from = others.map(|other| same(other)).min()?;
    let head = head_within(name.chars(), third);
    let difference = head_within(name.get(from..)?.chars(), third);
    let tail: Vec<char> = head_within(name.chars().rev(), third)
        .chars()
        .rev()
        .collect();
    let tail: String = tail.into_iter().collect();
    (third > 0).then(|| format!("{head}{ellipsis}{difference}{ellipsis}{tail}"))
}

/// Shortens `name` with a number that makes it none of `taken`.
fn numbered(
    name: &str,
    index: usize,
    width: usize,
    unicode: bool,
    taken: &HashSet<String>,
) -> String {
    let with_number = |number: usize| {
        let number = format!("#{number}");
        shortened(name, width.saturating_sub(number.len()), unicode) + &number
    };
    let mut all = (index + 1..).map(with_number);
    all.find(|text| !taken.contains(text)).unwrap_or_default()
}

/// Returns as many of the characters as fit into `width` columns.
pub fn head_within(characters: impl Iterator<Item = char>, width: usize) -> String {
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
    fn names_stay_distinct_when_shortened() {
        let short = |names: &[&str], width, unicode| -> Vec<String> {
            let all = ShortNames::new(names.iter().copied(), width, unicode);
            names.iter().map(|name| all.of(name).to_owned()).collect()
        };
        let names = [
            "nearest/uniform/k=1/10000/f64/euclidean",
            "nearest/uniform/k=5/10000/f64/euclidean",
            "nearest/short",
        ];
        for (width, unicode) in [(24, true), (24, false), (26, true)] {
            let short = short(&names, width, unicode);
            assert!(
                short[0].contains('1') && short[1].contains('5'),
                "{short:?}"
            );
        }
        assert_eq!(
            short(&names, 24, true),
            [
                "nearest…1/10000…clidean",
                "nearest…5/10000…clidean",
                "nearest/short"
            ]
        );
        // However many there are, and wherever they differ.
        let many: Vec<String> = (0..4096)
            .map(|n| {
                format!(
                    "group/{n:012b}/{}/{:b}/same-at-the-end",
                    "x".repeat(40),
                    n % 7
                )
            })
            .collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        for width in [8, 24, 40] {
            let short = short(&many, width, true);
            let distinct: HashSet<&String> = short.iter().collect();
            assert_eq!(distinct.len(), many.len(), "{width}");
            assert!(short.iter().all(|text| width_of(text) <= width), "{width}");
        }
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
    fn long_lines_are_folded() {
        let text = "error: no baseline `mian`\n  use `a b`, or none\nshort";
        assert_eq!(
            folded(text, 18),
            "error: no\n  baseline `mian`\n  use `a b`, or\n    none\nshort"
        );
        assert_eq!(folded(text, 30), text);
        assert_eq!(folded("", 0), "");
    }
}
