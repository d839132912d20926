//! Extracts the part of a failed bench's output that says what went wrong.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// Bytes of the end to search: more than any backtrace.
const LOOKED_AT_BYTES: u64 = 64 << 10;

/// Number of lines to show.
const SHOWN_LINES: usize = 20;

/// Marks the start of a panic message, which the last lines could miss after a long backtrace.
const PANIC: &str = "panicked at";

/// Returns the first panic near the end of the file at `path`, or its last lines; at most 20 lines.
///
/// # Errors
/// Returns an error if the file cannot be read.
pub fn excerpt_of_file(path: &Path) -> io::Result<String> {
    Ok(excerpt(&end_of_file(path, LOOKED_AT_BYTES)?))
}

/// Returns at most the last `longest_bytes` bytes of the file at `path`.
///
/// # Errors
/// Returns an error if the file cannot be read.
pub fn end_of_file(path: &Path, longest_bytes: u64) -> io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(longest_bytes)))?;
    let mut bytes = Vec::new();
    file.take(longest_bytes).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn excerpt(text: &str) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let last_lines = lines.len().saturating_sub(SHOWN_LINES);
    // The first panic: later ones are usually its consequences.
    let panic = lines.iter().position(|line| line.contains(PANIC));
    let start = panic.unwrap_or(last_lines).min(last_lines);
    let shown = &lines[start..];
    let mut excerpt = String::new();
    for line in shown.iter().take(SHOWN_LINES) {
        excerpt += line;
        excerpt.push('\n');
    }
    if shown.len() > SHOWN_LINES {
        excerpt += &format!("... and {} more lines\n", shown.len() - SHOWN_LINES);
    }
    excerpt
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(count: usize) -> String {
        (1..=count).map(|n| format!("line {n}\n")).collect()
    }

    #[test]
    fn short_output_is_shown_whole() {
        assert_eq!(excerpt("one\ntwo\n\n"), "one\ntwo\n");
        assert_eq!(excerpt(""), "");
    }

    #[test]
    fn end_of_long_output_is_shown() {
        let shown = excerpt(&numbered(30));
        assert!(shown.starts_with("line 11\n"), "{shown}");
        assert!(shown.ends_with("line 30\n"), "{shown}");
    }

    #[test]
    fn backtrace_does_not_hide_its_panic() {
        let panic = "thread 'main' panicked at b.rs:1:1:\nthe data is missing\n";
        let shown = excerpt(&(numbered(30) + panic + &numbered(50)));
        assert!(shown.starts_with(panic), "{shown}");
        assert!(
            shown.ends_with("line 18\n... and 32 more lines\n"),
            "{shown}"
        );
    }

    #[test]
    fn lines_before_a_panic_are_shown() {
        let shown = excerpt("a word\nthread 'main' panicked at b.rs:1:1:\nno data\n");
        assert!(shown.starts_with("a word\n"), "{shown}");
    }
}
