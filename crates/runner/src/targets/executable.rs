//! Content of a bench target's executable.

use std::path::{Path, PathBuf};
use std::{fs, io};

use memchr::memmem;
use object::read::{File, Object};

use topdown_system::file_identity::FileIdentity;

/// The runner that criterion looks for. Its name is in every executable with criterion.
pub const RUNNER_NAME: &[u8] = b"cargo-criterion";

/// An executable that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("could not read {}: {error}", path.display())]
pub struct Unreadable {
    path: PathBuf,
    error: io::Error,
}

/// What is linked into an executable.
#[derive(Debug)]
pub struct Content {
    /// Whether it has criterion.
    ///
    /// cargo's metadata does not distinguish `harness = false` from the libtest harness, nor
    /// criterion from another harness. Every executable with criterion contains the runner's name.
    /// Rejected: running it, which could take minutes, or pass arguments that it rejects.
    pub has_criterion: bool,
    /// Whether it may have debug information: a profile with `strip` removes what its `debug` asked
    /// for, which cargo's messages do not say. Other formats than ELF keep it elsewhere.
    pub has_debug_information: bool,
    /// The file that was read.
    pub identity: FileIdentity,
}

impl Content {
    /// # Errors
    /// Returns an error if the executable cannot be read.
    pub fn read(executable: &Path) -> Result<Content, Unreadable> {
        let unreadable = |error| Unreadable {
            path: executable.to_owned(),
            error,
        };
        // Before its content: a file written over it meanwhile has another identity.
        let identity = FileIdentity::of(executable).map_err(unreadable)?;
        let content = fs::read(executable).map_err(unreadable)?;
        let file = File::parse(&*content);
        Ok(Content {
            has_criterion: memmem::find(&content, RUNNER_NAME).is_some(),
            has_debug_information: !file
                .is_ok_and(|file| file.section_by_name(".debug_info").is_none()),
            identity,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unreadable_executable_is_named() {
        let error = Content::read(Path::new("/nowhere/bench")).unwrap_err();
        assert!(error.to_string().contains("/nowhere/bench"), "{error}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn stripped_executable_has_no_debug_information() {
        let directory = tempfile::tempdir().unwrap();
        let source = directory.path().join("program.rs");
        fs::write(&source, "fn main() {}").unwrap();
        let has_some = |strip: &str| {
            let program = directory.path().join("program");
            let built = std::process::Command::new("rustc")
                .args(["--edition=2024", "-Cdebuginfo=2"])
                .arg(format!("-Cstrip={strip}"))
                .arg(&source)
                .arg("-o")
                .arg(&program)
                .status();
            assert!(built.unwrap().success());
            Content::read(&program).unwrap().has_debug_information
        };
        let found = ["none", "debuginfo", "symbols"].map(has_some);
        assert_eq!(found, [true, false, false]);
    }
}
