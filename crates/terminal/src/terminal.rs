//! All text for people goes through here, to a terminal or to the log of a CI job.
//!
//! Text quotes others: names, output of benches, messages of git and cargo. Of control characters,
//! only line breaks, tabs and colours pass. No line is a command to GitHub, which obeys lines that
//! start with `::` and `##[` anywhere. Intentional commands are written by
//! `report::workflow_command`.

use std::fmt;
use std::io::{self, ErrorKind, IsTerminal, Stdout, Write};

use topdown_run::visible::is_hidden;

use crate::columns::folded;

/// Writes a line for people to standard error, like `eprintln!`, but ignores errors.
#[macro_export]
macro_rules! message {
    ($($argument:tt)*) => { $crate::terminal::print_message(format_args!($($argument)*)) };
}
pub use message;

/// See [`message!`]. A terminal gets lines that fit; the lines of a log are as long as they are.
pub fn print_message(text: fmt::Arguments<'_>) {
    let is_terminal = io::stderr().is_terminal();
    let text = match width(is_terminal) {
        Some(width) => folded(&text.to_string(), width),
        None => text.to_string(),
    };
    print_text(&format!("{text}\n"));
}

/// Returns the columns that the environment asks for: those of the terminal, else `COLUMNS`.
pub fn width(is_terminal: bool) -> Option<usize> {
    let terminal = is_terminal.then(terminal_size::terminal_size).flatten();
    terminal
        .map(|(width, _)| usize::from(width.0))
        .or_else(|| std::env::var("COLUMNS").ok()?.parse().ok())
        .filter(|width| *width > 0)
}

/// Writes `text` for people to standard error as it is, without adding a line end.
pub fn print_text(text: &str) {
    let _ = Lines::new(anstream::stderr()).write_all(text.as_bytes());
}

/// Standard output for programs: as it is, and as [`Pipe`].
pub fn stdout_for_programs() -> Pipe<Stdout> {
    Pipe::new(io::stdout())
}

/// Writes to `inner` until its reader closes it, as `head` and `grep -q` do once they have seen
/// enough. That is no failure: what the command does, and its exit code, are the same without a
/// reader.
pub struct Pipe<W: Write> {
    inner: W,
    is_closed: bool,
}

impl<W: Write> Pipe<W> {
    /// Wraps `inner`.
    pub fn new(inner: W) -> Pipe<W> {
        Pipe {
            inner,
            is_closed: false,
        }
    }

    fn unless_closed<T>(
        &mut self,
        otherwise: T,
        act: impl FnOnce(&mut W) -> io::Result<T>,
    ) -> io::Result<T> {
        if self.is_closed {
            return Ok(otherwise);
        }
        match act(&mut self.inner) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.is_closed = true;
                Ok(otherwise)
            }
            result => result,
        }
    }
}

impl<W: Write> Write for Pipe<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.unless_closed(bytes.len(), |inner| inner.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.unless_closed((), W::flush)
    }
}

/// Writes whole lines to `inner`, sanitized.
pub struct Lines<W: Write> {
    inner: W,
    /// The line that has no end yet.
    line: Vec<u8>,
}

impl<W: Write> Lines<W> {
    /// Wraps `inner`.
    pub fn new(inner: W) -> Lines<W> {
        Lines {
            inner,
            line: Vec::new(),
        }
    }

    fn write_line(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        self.inner
            .write_all(harmless(&String::from_utf8_lossy(&line)).as_bytes())
    }
}

impl<W: Write> Write for Lines<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                self.write_line()?;
            }
        }
        Ok(bytes.len())
    }

    /// An unfinished line is kept, since what follows may still change what it means.
    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<W: Write> Drop for Lines<W> {
    fn drop(&mut self) {
        if !self.line.is_empty() {
            let _ = self.write_line();
        }
    }
}

/// Sanitizes a line, which may have a line end.
fn harmless(line: &str) -> String {
    let mut shown = String::with_capacity(line.len() + 8);
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let passed = match c {
            '\n' | '\t' => 1,
            '\u{1b}' => colour_at(rest),
            _ if is_hidden(c) => 0,
            _ => c.len_utf8(),
        };
        match passed {
            0 => {
                shown.extend(c.escape_default());
                rest = &rest[c.len_utf8()..];
            }
            _ => {
                shown.push_str(&rest[..passed]);
                rest = &rest[passed..];
            }
        }
    }
    not_a_command(shown)
}

/// Returns the length of the colour or style sequence at the start of `rest`, or 0 if there is
/// none.
fn colour_at(rest: &str) -> usize {
    let Some(parameters) = rest.strip_prefix("\u{1b}[") else {
        return 0;
    };
    let end = parameters.find(|c: char| !c.is_ascii_digit() && c != ';');
    match end {
        Some(end) if parameters[end..].starts_with('m') => "\u{1b}[".len() + end + "m".len(),
        _ => 0,
    }
}

/// GitHub ignores a line's colours and leading spaces.
fn not_a_command(line: String) -> String {
    let mut start = 0;
    loop {
        let rest = &line[start..];
        let colour = colour_at(rest);
        match rest.chars().next() {
            _ if colour > 0 => start += colour,
            Some(c) if c.is_whitespace() && c != '\n' => start += c.len_utf8(),
            _ => break,
        }
    }
    let line = if line[start..].starts_with("::") {
        format!("{}\\u{{3a}}{}", &line[..start], &line[start + 1..])
    } else {
        line
    };
    if line.contains("##[") {
        line.replace("##[", "## [")
    } else {
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(parts: &[&str]) -> String {
        let mut bytes = Vec::new();
        let mut lines = Lines::new(&mut bytes);
        for part in parts {
            lines.write_all(part.as_bytes()).unwrap();
        }
        drop(lines);
        String::from_utf8(bytes).unwrap()
    }

    /// A reader that wants no more, or a disk that is full.
    struct Fails(ErrorKind);

    impl Write for Fails {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(self.0.into())
        }
    }

    #[test]
    fn closed_pipe_is_not_a_failure() {
        let mut closed = Pipe::new(Fails(ErrorKind::BrokenPipe));
        closed.write_all(b"text").unwrap();
        closed.write_all(b"more").unwrap();
        closed.flush().unwrap();
        let mut full = Pipe::new(Fails(ErrorKind::StorageFull));
        assert!(full.write_all(b"text").is_err());
    }

    #[test]
    fn only_colours_reach_terminal() {
        for (text, shown) in [
            (
                "\u{1b}[1mbold\u{1b}[0m größe\n",
                "\u{1b}[1mbold\u{1b}[0m größe\n",
            ),
            ("\u{1b}[2Jx\n", "\\u{1b}[2Jx\n"),
            ("\u{1b}]0;title\u{7}\n", "\\u{1b}]0;title\\u{7}\n"),
            ("100 %\rPASSED\n", "100 %\\rPASSED\n"),
            ("\u{9b}2J\u{202e}\u{1b}", "\\u{9b}2J\\u{202e}\\u{1b}"),
        ] {
            assert_eq!(written(&[text]), shown);
        }
    }

    #[test]
    fn no_line_is_a_github_command() {
        for (text, shown) in [
            ("::stop-commands::x\n", "\\u{3a}:stop-commands::x\n"),
            (" \t::error::x", " \t\\u{3a}:error::x"),
            ("\u{1b}[1m ::error::x", "\u{1b}[1m \\u{3a}:error::x"),
            ("a ##[add-mask]a\n", "a ## [add-mask]a\n"),
            ("kernels::sum\n", "kernels::sum\n"),
            ("one\n::two\n", "one\n\\u{3a}:two\n"),
        ] {
            assert_eq!(written(&[text]), shown);
            // Written in any number of parts.
            let characters: Vec<String> = text.chars().map(String::from).collect();
            let parts: Vec<&str> = characters.iter().map(String::as_str).collect();
            assert_eq!(written(&parts), shown);
        }
    }
}
