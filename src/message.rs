//! Prints library messages.

use std::fmt::Display;
use std::io::{self, Write};

/// Prints a line to standard error. Unlike `eprintln!`, this does not panic if it cannot be
/// written, as to a file on a full disk: a bench continues without it.
pub(crate) fn print(line: impl Display) {
    let _ = writeln!(io::stderr(), "{line}");
}
