//! The file to which a bench appends its samples.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use criterion_topdown::run_file::{LAST_WORD_OWED, LAST_WORD_SAID};

/// The samples file of one launch, read while the bench writes it.
pub struct SamplesFile {
    file: File,
    position: u64,
    /// Last words that were announced but not written yet.
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

    /// Returns the records written since the last call, one per line.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub fn new_records(&mut self) -> io::Result<String> {
        let mut lines = String::new();
        self.file.seek(SeekFrom::Start(self.position))?;
        self.position += self.file.read_to_string(&mut lines)? as u64;
        let mut records = String::new();
        for line in lines.split_inclusive('\n') {
            match line.trim_end_matches('\n') {
                LAST_WORD_OWED => self.owed += 1,
                LAST_WORD_SAID => self.owed -= 1,
                _ => records.push_str(line),
            }
        }
        Ok(records)
    }

    /// Returns whether the bench, which has exited, did so before it was done: it owes a last word.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub fn owes_a_last_word(&mut self) -> io::Result<bool> {
        self.new_records()?;
        Ok(self.owed > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_read_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("samples");
        let mut samples = SamplesFile::create(&path).unwrap();
        assert_eq!(samples.new_records().unwrap(), "");
        std::fs::write(&path, "one\n").unwrap();
        assert_eq!(samples.new_records().unwrap(), "one\n");
        std::fs::write(&path, "one\ntwo\n").unwrap();
        assert_eq!(samples.new_records().unwrap(), "two\n");
    }
}
