//! The samples file of a bench that runs.

use crate::launching::bench_process::BenchProcess;
use crate::launching::samples_file::{SamplesFile, SamplesFileError};

/// A samples file, and the bench whose limits hold while it is read.
pub struct LiveSamples<'a> {
    pub file: &'a mut SamplesFile,
    pub bench: &'a BenchProcess,
}

impl LiveSamples<'_> {
    /// As [`SamplesFile::new_records`].
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or is too long, or if the bench has exceeded its
    /// time.
    pub fn new_records(&mut self) -> Result<String, SamplesFileError> {
        self.file.new_records(|| self.bench.check_limits())
    }
}
