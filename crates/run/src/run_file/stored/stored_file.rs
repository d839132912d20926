//! One file of a store: the only place that opens and replaces them.
//!
//! Other users can write to a store. So a file is read only if it is a regular file under its own
//! name, and no longer than any legitimate one; and it is written under an unpredictable name.

use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, BufWriter, Read};
use std::path::Path;

use super::error::RunFileProblem;

/// Maximum length of a `run.json` to read or write, in bytes: a hundred thousand benchmarks of ten
/// launches with counters have 330 MB.
pub const MAX_RUN_FILE_BYTES: u64 = 384 << 20;

/// Maximum length of a samples file to read or write, in bytes.
pub const MAX_SAMPLES_FILE_BYTES: u64 = 1 << 30;

/// Suffix of the names of files that are still being written.
pub(super) const TEMPORARY_SUFFIX: &str = ".tmp";

/// Opens the regular file `path` for reading. If the file grows later, nothing beyond
/// `longest_bytes` is read.
///
/// # Errors
/// Returns an error if there is none, or if it is a link, a pipe, a device or longer.
pub fn open(path: &Path, longest_bytes: u64) -> Result<io::Take<File>, RunFileProblem> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // Reject links, and do not block on a pipe without a writer.
        options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    }
    // Also check before opening: opening a device can have side effects, and systems other than
    // Unix have no such flags.
    let metadata = fs::symlink_metadata(path).map_err(RunFileProblem::Io)?;
    check(&metadata, longest_bytes)?;
    let file = options.open(path).map_err(RunFileProblem::Io)?;
    check(&file.metadata().map_err(RunFileProblem::Io)?, longest_bytes)?;
    Ok(file.take(longest_bytes))
}

fn check(metadata: &fs::Metadata, longest_bytes: u64) -> Result<(), RunFileProblem> {
    if !metadata.is_file() {
        return Err(RunFileProblem::NotAFile {
            found: kind_of(metadata),
        });
    }
    check_length(metadata.len(), longest_bytes)
}

fn check_length(bytes: u64, longest_bytes: u64) -> Result<(), RunFileProblem> {
    if bytes <= longest_bytes {
        Ok(())
    } else {
        Err(RunFileProblem::TooLong { longest_bytes })
    }
}

fn kind_of(metadata: &fs::Metadata) -> &'static str {
    match metadata.file_type() {
        kind if kind.is_symlink() => "a link",
        kind if kind.is_dir() => "a directory",
        _ => "a pipe or a device",
    }
}

/// Returns the bytes of the regular file `path`.
///
/// # Errors
/// Same as [`open`].
pub fn read(path: &Path, longest_bytes: u64) -> Result<Vec<u8>, RunFileProblem> {
    let mut bytes = Vec::new();
    read_into(path, longest_bytes, &mut bytes)?;
    Ok(bytes)
}

/// Replaces `bytes` by those of the regular file `path`.
///
/// # Errors
/// Same as [`open`].
pub fn read_into(
    path: &Path,
    longest_bytes: u64,
    bytes: &mut Vec<u8>,
) -> Result<(), RunFileProblem> {
    let mut file = open(path, longest_bytes)?;
    let length = file.get_ref().metadata().map_err(RunFileProblem::Io)?.len();
    bytes.clear();
    // One more than it has, so that its end is found without growing.
    bytes.reserve_exact(usize::try_from(length).unwrap_or(0).saturating_add(1));
    file.read_to_end(bytes).map_err(RunFileProblem::Io)?;
    Ok(())
}

/// Replaces `path` atomically with a file that `write` fills, and flushes it to disk. Until then,
/// the new file has a random name in `temporary_in`, which must be on the same file system.
///
/// # Errors
/// Returns an error if the file cannot be written, or would be too long to be read again. The
/// previous file then stays, except if the problem is [`NotFlushed`](RunFileProblem::NotFlushed).
pub fn replace(
    path: &Path,
    temporary_in: &Path,
    longest_bytes: u64,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), RunFileProblem> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = temporary_in.join(format!("{name}.{}{TEMPORARY_SUFFIX}", random_word()));
    let result = (|| {
        // Create a new file, so that it is neither another writer's nor a planted link.
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&temporary)?;
        let mut file = BufWriter::new(file);
        write(&mut file)?;
        let file = file.into_inner().map_err(|e| e.into_error())?;
        file.sync_all()?;
        Ok(file.metadata()?.len())
    })()
    .map_err(RunFileProblem::Io)
    .and_then(|bytes| check_length(bytes, longest_bytes))
    .and_then(|()| fs::rename(&temporary, path).map_err(RunFileProblem::Io));
    if result.is_err() {
        // The remains of the attempt are useless; its failure is reported.
        let _ = fs::remove_file(&temporary);
    }
    result?;
    flush_directory_of(path)
}

/// Makes the rename to `path` survive a power failure, if the file system can do that.
///
/// # Errors
/// Returns [`NotFlushed`](RunFileProblem::NotFlushed) if the file system can, but the attempt
/// fails.
pub fn flush_directory_of(path: &Path) -> Result<(), RunFileProblem> {
    let (true, Some(directory)) = (cfg!(unix), path.parent()) else {
        return Ok(());
    };
    match File::open(directory).and_then(|directory| directory.sync_all()) {
        Err(error) if !cannot_flush_directories(&error) => Err(RunFileProblem::NotFlushed(error)),
        _ => Ok(()),
    }
}

/// Returns whether the error means that the file system does not support flushing directories, or
/// does not let us open one that we may write to.
fn cannot_flush_directories(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidInput, PermissionDenied, Unsupported};
    matches!(error.kind(), InvalidInput | PermissionDenied | Unsupported)
}

/// Returns sixteen random hexadecimal digits. Process ids and times would not be unique across
/// containers.
pub fn random_word() -> String {
    format!("{:016x}", RandomState::new().build_hasher().finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn text(path: &Path, longest_bytes: u64) -> Result<Vec<u8>, String> {
        read(path, longest_bytes).map_err(|problem| problem.to_string())
    }

    #[cfg(unix)]
    #[test]
    fn unflushable_directory_is_an_error() {
        let root = tempfile::tempdir().unwrap();
        assert!(flush_directory_of(&root.path().join("file")).is_ok());
        let gone = flush_directory_of(&root.path().join("gone/file"));
        assert!(matches!(gone, Err(RunFileProblem::NotFlushed(_))));
    }

    #[test]
    fn only_regular_file_of_limited_size_is_read() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("file");
        fs::write(&file, "text").unwrap();
        assert_eq!(text(&file, 4).unwrap(), b"text");
        let refused = |path: &Path, reason: &str| {
            let problem = text(path, 3).unwrap_err();
            assert!(problem.contains(reason), "{problem}");
        };
        refused(&file, "longer than the limit of 3 bytes");
        refused(root.path(), "is a directory");
        #[cfg(unix)]
        {
            let link = root.path().join("link");
            std::os::unix::fs::symlink(&file, &link).unwrap();
            refused(&link, "is a link");
            refused(Path::new("/dev/zero"), "a pipe or a device");
        }
        let problem = open(&root.path().join("none"), 3).unwrap_err();
        assert!(problem.is_missing(), "{problem}");
    }

    #[cfg(unix)]
    #[test]
    fn pipe_without_writer_does_not_hang_reader() {
        let root = tempfile::tempdir().unwrap();
        let pipe = root.path().join("run.json");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        assert!(text(&pipe, 3).unwrap_err().contains("a pipe or a device"));
    }

    #[test]
    fn file_is_replaced_whole_or_not_at_all() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("file");
        let put = |bytes: &[u8], longest_bytes| {
            replace(&path, root.path(), longest_bytes, |to| to.write_all(bytes))
        };
        put(b"one", 3).unwrap();
        put(b"two", 3).unwrap();
        let problem = put(b"four", 3).unwrap_err();
        assert!(
            matches!(problem, RunFileProblem::TooLong { longest_bytes: 3 }),
            "{problem}"
        );
        let full = |_: &mut BufWriter<File>| Err(io::ErrorKind::StorageFull.into());
        replace(&path, root.path(), 3, full).unwrap_err();
        assert_eq!(text(&path, 3).unwrap(), b"two");
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn link_is_replaced_not_followed() {
        let root = tempfile::tempdir().unwrap();
        let private = root.path().join("private");
        fs::write(&private, "mine").unwrap();
        let path = root.path().join("file");
        std::os::unix::fs::symlink(&private, &path).unwrap();
        replace(&path, root.path(), 3, |to| to.write_all(b"new")).unwrap();
        assert_eq!(fs::read(&private).unwrap(), b"mine");
        assert_eq!(text(&path, 3).unwrap(), b"new");
    }
}
