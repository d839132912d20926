//! A comparison for programs: [`Comparison`] as it is.

use std::io::{self, Write};

use topdown_gate::verdict::Comparison;

/// Writes `comparison` as one JSON object and a line end.
///
/// # Errors
/// Returns an error if writing to `out` fails.
pub fn write(comparison: &Comparison, mut out: impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut out, comparison)?;
    out.write_all(b"\n")
}
