//! Tells `cargo topdown` that a bench ran to its end.
//!
//! A bench that calls `process::exit` halfway looks like one that is done. So every measurement
//! announces a last word when it starts, and writes it when dropped. `process::exit` drops nothing.

use crate::records_file::RecordsFile;
use topdown_run::record::{COMPLETION_PENDING, COMPLETION_WRITTEN};

/// Writes the last word when dropped.
#[derive(Debug)]
pub struct CompletionMarker {
    /// The file to write to; `None` in a plain `cargo bench`, where nothing waits for it.
    file: Option<&'static RecordsFile>,
    /// The process that owes the last word, as opposed to its forks.
    process: u32,
}

impl CompletionMarker {
    /// Makes `cargo topdown`, if it runs this process, wait for the last word from now on.
    pub fn announce() -> CompletionMarker {
        let announce = CompletionMarker {
            file: RecordsFile::from_environment(),
            process: std::process::id(),
        };
        announce.write(COMPLETION_PENDING);
        announce
    }

    fn write(&self, line: &str) {
        if let Some(file) = self.file {
            file.append(|out| writeln!(out, "{line}"));
        }
    }
}

impl Drop for CompletionMarker {
    fn drop(&mut self) {
        if self.process == std::process::id() {
            self.write(COMPLETION_WRITTEN);
        }
    }
}
