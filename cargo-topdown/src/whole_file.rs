//! Files that are whole at any time, also if this process is killed.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

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

/// Writes a temporary file in the directory of `path`, to the disk.
fn written_beside(path: &Path, content: &[u8]) -> io::Result<NamedTempFile> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let mut builder = Builder::new();
    builder.suffix(".tmp");
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_there_is_replaced_only_on_purpose() {
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

    #[cfg(unix)]
    #[test]
    fn a_new_file_has_the_permissions_of_any_other() {
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
