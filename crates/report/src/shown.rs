//! The visible text of a report, for tests.

use std::io;

use super::style::Look;

/// A terminal of `width` columns that knows Unicode.
pub fn terminal(width: usize) -> Look {
    Look {
        width,
        unicode: true,
    }
}

/// Returns what `write` writes, without colours.
pub fn shown(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> String {
    anstream::adapter::strip_str(&written(write)).to_string()
}

/// Returns what `write` writes, as it is.
pub fn written(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}
