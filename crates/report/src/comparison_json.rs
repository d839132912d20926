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

/// The longest file that is written and read. Judgement: one of ten thousand benchmarks takes a
/// fifth of it.
pub const MAX_FILE_BYTES: u64 = 256 << 20;

/// Writes `comparison` into a file: on one line, which halves it.
///
/// # Errors
/// Returns an error if writing to `out` fails, or if the file would be too long to be read again.
pub fn write_file(comparison: &Comparison, out: impl Write) -> io::Result<()> {
    write_limited(comparison, out, MAX_FILE_BYTES)
}

fn write_limited(comparison: &Comparison, out: impl Write, max_bytes: u64) -> io::Result<()> {
    let mut out = Limited {
        out,
        left_bytes: max_bytes,
        is_full: false,
    };
    let written = serde_json::to_writer(&mut out, comparison).map_err(io::Error::from);
    match written.and_then(|()| out.write_all(b"\n")) {
        Err(_) if out.is_full => Err(io::Error::other(format!(
            "the comparison of {} benchmarks is longer than the {} MiB that are read again; \
             compare fewer at once, for example by package",
            comparison.benchmarks.len(),
            max_bytes >> 20
        ))),
        written => written,
    }
}

/// Takes no more than this many bytes.
struct Limited<W> {
    out: W,
    left_bytes: u64,
    /// Whether more was to be written.
    is_full: bool,
}

impl<W: Write> Write for Limited<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() as u64 > self.left_bytes {
            self.is_full = true;
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let written = self.out.write(bytes)?;
        self.left_bytes -= written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use topdown_gate::scenario;

    use super::*;
    use crate::examples::{compared, one_of_each};
    use crate::shown::written;

    #[test]
    fn json_is_complete() {
        let (baseline, candidate) = one_of_each();
        let baseline = scenario::run(baseline);
        let comparison = compared(&baseline, &candidate);
        let text = written(|out| write(&comparison, out));
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(json["schema_version"], 1);
        assert_eq!(json["outcome"], "failed");
        assert_eq!(json["exit_code"], 100);
        let first = &json["benchmarks"][1];
        assert_eq!(first["verdict"], "inconclusive");
        assert_eq!(first["effects"][0]["metric"], "slots");
    }
    #[test]
    fn overlong_file_is_refused_by_name() {
        let (baseline, candidate) = one_of_each();
        let comparison = compared(&scenario::run(baseline), &candidate);
        let mut whole = Vec::new();
        write_file(&comparison, &mut whole).unwrap();
        let length = whole.len() as u64;
        let write = |max_bytes| write_limited(&comparison, io::sink(), max_bytes);
        assert!(write(length).is_ok());
        let error = write(length - 1).unwrap_err().to_string();
        assert!(
            error.contains("benchmarks is longer than the 0 MiB that are read again"),
            "{error}"
        );
    }
}
