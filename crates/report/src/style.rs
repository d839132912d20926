//! Colours, and what the output can display.

use std::io::Stdout;

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};

use topdown_gate::verdict::Verdict;
use topdown_terminal::terminal::{self, Lines, Pipe};

/// Headings.
pub const HEADING: Style = Style::new().bold();
/// Less important text.
pub const DIM: Style = Style::new().dimmed();
/// Good news.
pub const GOOD: Style = AnsiColor::Green.on_default().bold();
/// Style of text that needs attention.
pub const WARNING: Style = AnsiColor::Yellow.on_default().bold();
/// Bad news.
pub const BAD: Style = AnsiColor::Red.on_default().bold();

/// Returns the style of a verdict.
pub fn of_class(class: Verdict) -> Style {
    match class {
        Verdict::TimeDisagrees | Verdict::Regressed => BAD,
        Verdict::NotComparable => AnsiColor::Magenta.on_default(),
        Verdict::SometimesSlower | Verdict::Shifted | Verdict::Inconclusive => {
            AnsiColor::Yellow.on_default()
        }
        Verdict::Accepted => AnsiColor::Cyan.on_default(),
        Verdict::Improved => AnsiColor::Green.on_default(),
        Verdict::Unchanged => Style::new(),
    }
}

/// Standard output, coloured as `choice` says. On `auto` the usual rules hold: a terminal, and the
/// variables `NO_COLOR`, `CLICOLOR` and `CLICOLOR_FORCE`.
pub fn stdout(choice: impl Into<ColorChoice>) -> Lines<Pipe<AutoStream<Stdout>>> {
    Lines::new(Pipe::new(AutoStream::new(std::io::stdout(), choice.into())))
}

/// What a report's output can display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Columns.
    pub width: usize,
    /// Whether it can show more than ASCII.
    pub unicode: bool,
}

/// The width of a report that does not go to a terminal: CI logs scroll sideways.
const DEFAULT_WIDTH: usize = 120;

impl Look {
    /// Reads the environment: the terminal's width, or else `COLUMNS`, or else 120, and the locale.
    pub fn from_environment() -> Look {
        let width = terminal::width(true).unwrap_or(DEFAULT_WIDTH);
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
            .iter()
            .filter_map(|name| std::env::var(name).ok())
            .find(|value| !value.is_empty());
        Look {
            width,
            // Windows has no such variables, and its terminals can show everything.
            unicode: cfg!(windows) || locale.is_some_and(|locale| is_utf8(&locale)),
        }
    }

    /// Returns the sign for what was left out.
    pub fn ellipsis(&self) -> &'static str {
        if self.unicode { "…" } else { "..." }
    }

    /// Returns what stands between a value before and after.
    pub fn arrow(&self) -> &'static str {
        if self.unicode { "→" } else { "->" }
    }
}

fn is_utf8(locale: &str) -> bool {
    let locale = locale.to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locale_names_its_encoding() {
        for (locale, expected) in [
            ("C.UTF-8", true),
            ("de_DE.utf8@euro", true),
            ("C", false),
            ("en_US.ISO-8859-1", false),
        ] {
            assert_eq!(is_utf8(locale), expected, "{locale}");
        }
    }
}
