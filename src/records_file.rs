//! The file to which a bench process appends its records.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::OnceLock;

use topdown_run::environment;

use crate::message;

/// The file of [`environment::SAMPLES`]. Opened early, because a benchmark may change its root
/// directory or user, or use up the file descriptors, before there is anything to write.
#[derive(Debug)]
pub(crate) struct RecordsFile {
    path: PathBuf,
    file: io::Result<File>,
}

impl RecordsFile {
    /// Returns `None` if `cargo topdown` does not run this process.
    pub(crate) fn from_environment() -> Option<&'static RecordsFile> {
        static FILE: OnceLock<Option<RecordsFile>> = OnceLock::new();
        let open = || {
            let path = PathBuf::from(std::env::var_os(environment::SAMPLES)?);
            let file = OpenOptions::new().append(true).create(true).open(&path);
            Some(RecordsFile { path, file })
        };
        FILE.get_or_init(open).as_ref()
    }

    /// Appends what `write` writes, in pieces. On failure, reports the cause here; the runner finds
    /// a line missing and rejects the launch.
    pub(crate) fn append(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
        let appended = self.file.as_ref().map(BufWriter::new).map(|mut out| {
            write(&mut out)?;
            out.flush()
        });
        let error = match &appended {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error,
            Err(error) => *error,
        };
        let path = self.path.display();
        message::print(format_args!("error: could not write to {path}: {error}"));
    }
}
