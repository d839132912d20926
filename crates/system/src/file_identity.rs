//! Identity of a file: whether it is still the one that was built, and whether two paths name one.

use std::path::Path;
use std::time::SystemTime;
use std::{fs, io};

use serde::{Deserialize, Serialize};

/// What cargo also uses to detect that a file has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileIdentity {
    bytes: u64,
    modified: SystemTime,
}

impl FileIdentity {
    /// # Errors
    /// Returns an error if the file does not exist.
    pub fn of(path: &Path) -> io::Result<FileIdentity> {
        let metadata = fs::metadata(path)?;
        Ok(FileIdentity {
            bytes: metadata.len(),
            modified: metadata.modified()?,
        })
    }

    /// Returns whether the file at `path` is still this one.
    pub fn is_at(&self, path: &Path) -> bool {
        FileIdentity::of(path).is_ok_and(|now| now == *self)
    }
}

/// Returns whether both paths name the same file, be it through links.
pub fn is_same_file(a: &Path, b: &Path) -> bool {
    match (fs::canonicalize(a), fs::canonicalize(b)) {
        (Ok(one), Ok(other)) => one == other || is_same_inode(&one, &other),
        // Missing files are found when they are launched.
        _ => false,
    }
}

#[cfg(unix)]
fn is_same_inode(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let inode = |path| fs::metadata(path).map(|metadata| (metadata.dev(), metadata.ino()));
    matches!((inode(a), inode(b)), (Ok(one), Ok(other)) if one == other)
}

#[cfg(not(unix))]
fn is_same_inode(_: &Path, _: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overwritten_file_is_another() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("bench");
        fs::write(&path, "one").unwrap();
        let built = FileIdentity::of(&path).unwrap();
        assert!(built.is_at(&path));
        fs::write(&path, "longer").unwrap();
        assert!(!built.is_at(&path));
        fs::remove_file(&path).unwrap();
        assert!(!built.is_at(&path));
    }

    #[test]
    #[cfg(unix)]
    fn links_are_the_same_file_and_copies_are_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::write(path("bench"), "").unwrap();
        fs::copy(path("bench"), path("copy")).unwrap();
        fs::hard_link(path("bench"), path("hard")).unwrap();
        std::os::unix::fs::symlink(path("bench"), path("soft")).unwrap();
        let same = ["bench", "hard", "soft", "./bench", "copy", "missing"]
            .map(|other| is_same_file(&path("bench"), &path(other)));
        assert_eq!(same, [true, true, true, true, false, false]);
    }
}
