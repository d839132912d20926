//! How `cargo topdown` learns that a bench came to its end.
//!
//! A bench that calls `process::exit` in the middle looks like one that has nothing more to say. So
//! whatever is going to measure owes the runner a last word from its beginning on, and says it when it
//! is dropped. `process::exit` drops nothing.

use std::path::PathBuf;

use crate::record::{LAST_WORD_OWED, LAST_WORD_SAID, SAMPLES_VARIABLE, append};

/// Says the last word when it is dropped.
#[derive(Debug)]
pub struct LastWord {
    /// To whom; nobody waits for it in a plain `cargo bench`.
    file: Option<PathBuf>,
    /// Who owes it: not a copy of this process that `fork` made.
    process: u32,
}

impl LastWord {
    /// From now on `cargo topdown`, if it runs this process, waits for the last word.
    pub fn owed() -> LastWord {
        let owed = LastWord {
            file: std::env::var_os(SAMPLES_VARIABLE).map(PathBuf::from),
            process: std::process::id(),
        };
        owed.write(LAST_WORD_OWED);
        owed
    }

    fn write(&self, line: &str) {
        let Some(file) = &self.file else {
            return;
        };
        if let Err(error) = append(file, |out| writeln!(out, "{line}")) {
            // The runner refuses this launch; the cause is here.
            eprintln!("error: could not write to {}: {error}", file.display());
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
