//! How `cargo topdown` learns that a bench came to its end.
//!
//! A bench that calls `process::exit` in the middle looks like one that has nothing more to say. So
//! whatever is going to measure owes the runner a last word from its beginning on, and says it when it
//! is dropped. `process::exit` drops nothing.

use crate::record::{LAST_WORD_OWED, LAST_WORD_SAID};
use crate::records_file::RecordsFile;

/// Says the last word when it is dropped.
#[derive(Debug)]
pub struct LastWord {
    /// To whom; nobody waits for it in a plain `cargo bench`.
    file: Option<&'static RecordsFile>,
    /// Who owes it: not a copy of this process that `fork` made.
    process: u32,
}

impl LastWord {
    /// From now on `cargo topdown`, if it runs this process, waits for the last word.
    pub fn owed() -> LastWord {
        let owed = LastWord {
            file: RecordsFile::of_environment(),
            process: std::process::id(),
        };
        owed.write(LAST_WORD_OWED);
        owed
    }

    fn write(&self, line: &str) {
        if let Some(file) = self.file {
            file.append(|out| writeln!(out, "{line}"));
        }
    }
}

impl Drop for LastWord {
    fn drop(&mut self) {
        if self.process == std::process::id() {
            self.write(LAST_WORD_SAID);
        }
    }
}
