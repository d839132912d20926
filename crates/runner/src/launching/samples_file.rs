//! The file to which a bench appends its samples.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use thiserror::Error;
use topdown_run::run_file::{COMPLETION_PENDING, COMPLETION_WRITTEN};

/// The longest addition that is read for one benchmark. Judgement: a modelled record with calls
/// takes 20 MiB, a hundred thousand samples as much.
const MAX_BENCHMARK_BYTES: u64 = 128 << 20;

/// The longest file. Judgement: a thousand benchmarks of one target, modelled with calls, need
/// less.
const MAX_LAUNCH_BYTES: u64 = 4 << 30;

/// Bytes read between checks of the launch's limits.
const PIECE_BYTES: u64 = 1 << 20;

/// Why the samples of a benchmark could not be read.
#[derive(Debug, Error)]
pub enum SamplesFileError {
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The bench wrote more than any benchmark needs.
    #[error(
        "the bench wrote {} MiB to it{part}, and at most {} MiB are read",
        bytes >> 20,
        max_bytes >> 20
    )]
    TooLong {
        bytes: u64,
        /// ` since the last benchmark`, or empty for the whole launch.
        part: &'static str,
        max_bytes: u64,
    },
}

/// The samples file of one launch, read while the bench writes it.
pub struct SamplesFile {
    file: File,
    position: u64,
    /// Completion markers still missing.
    owed: i64,
}

impl SamplesFile {
    /// Creates an empty file for a bench to append to.
    ///
    /// # Errors
    /// Returns an error if it cannot be created.
    pub fn create(path: &Path) -> io::Result<SamplesFile> {
        Ok(SamplesFile {
            file: File::options()
                .read(true)
                .write(true)
                .create(true)
                .truncate(true)
                .open(path)?,
            position: 0,
            owed: 0,
        })
    }

    /// Returns the records written since the last call, one per line. Calls `check_limits` between
    /// pieces.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, is too long, or `check_limits` fails.
    pub fn new_records(
        &mut self,
        check_limits: impl Fn() -> io::Result<()>,
    ) -> Result<String, SamplesFileError> {
        let lines = self.new_lines(check_limits)?;
        let mut records = String::new();
        for line in lines.split_inclusive('\n') {
            match line.trim_end_matches('\n') {
                COMPLETION_PENDING => self.owed += 1,
                COMPLETION_WRITTEN => self.owed -= 1,
                _ => records.push_str(line),
            }
        }
        Ok(records)
    }

    fn new_lines(
        &mut self,
        check_limits: impl Fn() -> io::Result<()>,
    ) -> Result<String, SamplesFileError> {
        // The bench chooses the length, and a sparse file costs it nothing.
        let length = self.file.metadata()?.len();
        let added = length.saturating_sub(self.position);
        for (bytes, part, max_bytes) in [
            (length, "", MAX_LAUNCH_BYTES),
            (added, " since the last benchmark", MAX_BENCHMARK_BYTES),
        ] {
            if bytes > max_bytes {
                return Err(SamplesFileError::TooLong {
                    bytes,
                    part,
                    max_bytes,
                });
            }
        }
        self.file.seek(SeekFrom::Start(self.position))?;
        let mut lines = Vec::new();
        let mut left = added;
        while left > 0 {
            check_limits()?;
            let piece = (&self.file)
                .take(left.min(PIECE_BYTES))
                .read_to_end(&mut lines)? as u64;
            if piece == 0 {
                // It was truncated.
                break;
            }
            left -= piece;
        }
        self.position += lines.len() as u64;
        let lines = String::from_utf8(lines);
        Ok(
            lines
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))?,
        )
    }

    /// Returns whether the bench, which has exited, has not written its last completion marker.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or is too long.
    pub fn lacks_completion_marker(&mut self) -> Result<bool, SamplesFileError> {
        self.new_records(|| Ok(()))?;
        Ok(self.owed > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unlimited() -> io::Result<()> {
        Ok(())
    }

    #[test]
    fn each_line_is_read_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("samples");
        let mut samples = SamplesFile::create(&path).unwrap();
        assert_eq!(samples.new_records(unlimited).unwrap(), "");
        std::fs::write(&path, "one\n").unwrap();
        assert_eq!(samples.new_records(unlimited).unwrap(), "one\n");
        std::fs::write(&path, "one\ntwo\n").unwrap();
        assert_eq!(samples.new_records(unlimited).unwrap(), "two\n");
        std::fs::write(&path, "").unwrap();
        assert_eq!(samples.new_records(unlimited).unwrap(), "");
    }

    /// A file without data, as long as the bench likes.
    fn sparse(bytes: u64) -> (tempfile::TempDir, SamplesFile) {
        let directory = tempfile::tempdir().unwrap();
        let samples = SamplesFile::create(&directory.path().join("samples")).unwrap();
        samples.file.set_len(bytes).unwrap();
        (directory, samples)
    }

    #[test]
    fn sparse_samples_file_is_refused_unread() {
        for (bytes, message) in [
            (
                8 << 30,
                "the bench wrote 8192 MiB to it, and at most 4096 MiB are read",
            ),
            (
                MAX_BENCHMARK_BYTES + 1,
                "the bench wrote 128 MiB to it since the last benchmark, and at most 128 MiB are \
                 read",
            ),
        ] {
            let (_directory, mut samples) = sparse(bytes);
            let never = || -> io::Result<()> { panic!("it was read") };
            let error = samples.new_records(never).unwrap_err().to_string();
            assert_eq!(error, message);
            assert!(samples.lacks_completion_marker().is_err());
        }
    }

    #[test]
    fn limits_are_checked_before_each_piece() {
        let (_directory, mut samples) = sparse(5 * PIECE_BYTES / 2);
        let checks = std::cell::Cell::new(0);
        let check = |last: u32| {
            checks.set(checks.get() + 1);
            match checks.get() <= last {
                true => Ok(()),
                false => Err(io::ErrorKind::TimedOut.into()),
            }
        };
        assert!(samples.new_records(|| check(2)).is_err());
        assert_eq!(checks.replace(0), 3);
        assert!(samples.new_records(|| check(3)).is_ok());
    }
}
