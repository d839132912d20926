//! Files that are whole at any time, also if this process is killed.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use tempfile::{Builder, NamedTempFile};

/// Replaces the file at `path`, whose permissions stay.
///
/// # Errors
/// Returns an error if there is none, or the new one cannot be written.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let file = written_beside(path, content)?;
    let permissions = fs::metadata(path)?.permissions();
    file.as_file().set_permissions(permissions)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Makes the file at `path`, with the permissions of any new file.
///
/// # Errors
/// Returns an error if it exists, or cannot be written.
pub fn create(path: &Path, content: &[u8]) -> io::Result<()> {
    let file = written_beside(path, content)?;
    file.persist_noclobber(path).map_err(|error| error.error)?;
    Ok(())
}

/// Makes or replaces the file at `path`. The permissions of one that is there stay.
///
/// # Errors
/// Returns an error if it cannot be written. The one that is there then stays.
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let file = written_beside(path, content)?;
    if let Ok(metadata) = fs::metadata(path) {
        file.as_file().set_permissions(metadata.permissions())?;
    }
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// The end of the names of unfinished files.
const SUFFIX: &str = ".cargo-topdown.tmp";

/// The writer of an older unfinished file no longer exists.
const ABANDONED_AFTER: Duration = Duration::from_secs(60 * 60);

/// Writes a temporary file in the directory of `path`, to the disk, and clears what killed writers
/// of this file have left there.
fn written_beside(path: &Path, content: &[u8]) -> io::Result<NamedTempFile> {
    let directory = match path.parent() {
        Some(directory) if directory != Path::new("") => directory,
        _ => Path::new("."),
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let prefix = format!(".{name}.");
    remove_abandoned(directory, &prefix);
    let mut builder = Builder::new();
    builder.prefix(&prefix).suffix(SUFFIX);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Less the umask, as of any new file.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(directory)?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    Ok(file)
}

/// Such files are never read and do no harm, so failures are not reported.
fn remove_abandoned(directory: &Path, prefix: &str) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_unfinished = name
            .to_str()
            .is_some_and(|name| name.starts_with(prefix) && name.ends_with(SUFFIX));
        let is_old = || {
            let modified = entry.metadata().and_then(|metadata| metadata.modified());
            modified.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > ABANDONED_AFTER))
        };
        if is_unfinished && is_old() {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn existing_file_is_replaced_only_on_request() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        assert!(replace(&path, b"one").is_err());
        create(&path, b"one").unwrap();
        let exists = create(&path, b"two").unwrap_err();
        assert_eq!(exists.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"one");
        replace(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn old_unfinished_files_are_cleared_by_the_next_write() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let [old, new, other] =
            ["file.a", "file.b", "other.a"].map(|name| path(&format!(".{name}{SUFFIX}")));
        for (path, age_hours) in [(&old, 2), (&new, 0), (&other, 2)] {
            let file = fs::File::create(path).unwrap();
            let age = Duration::from_secs(age_hours * 60 * 60);
            file.set_modified(std::time::SystemTime::now() - age)
                .unwrap();
        }
        for content in [b"one", b"two"] {
            write(&path("file"), content).unwrap();
            assert_eq!(fs::read(path("file")).unwrap(), content);
        }
        assert!(!old.exists());
        assert!(new.exists() && other.exists());
    }

    #[cfg(unix)]
    #[test]
    fn new_file_has_usual_permissions() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let mode = |name: &str| {
            let path = directory.path().join(name);
            fs::metadata(path).unwrap().permissions().mode()
        };
        create(&directory.path().join("ours"), b"").unwrap();
        fs::write(directory.path().join("any"), b"").unwrap();
        assert_eq!(mode("ours"), mode("any"));
    }
}
