//! Files that are whole at any time, also if this process is killed.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::Duration;

use tempfile::{Builder, NamedTempFile};

/// Replaces the file at `path`, whose permissions stay.
///
/// # Errors
/// Returns an error if there is none, or the new one cannot be written.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let file = write_temporary(path, content)?;
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
    let file = write_temporary(path, content)?;
    file.persist_noclobber(path).map_err(|error| error.error)?;
    Ok(())
}

/// Makes or replaces the file at `path`. The permissions of one that is there stay.
///
/// # Errors
/// Returns an error if it cannot be written. The one that is there then stays.
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    persist(write_temporary(path, content)?, path)
}

fn persist(file: NamedTempFile, path: &Path) -> io::Result<()> {
    if let Ok(metadata) = fs::metadata(path) {
        file.as_file().set_permissions(metadata.permissions())?;
    }
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Writes the file that a user named for a report, with `fill`. A regular file is whole at any
/// time; a pipe, a device, or what a link such as `/dev/stdout` leads to is written directly.
///
/// `fill` is called a second time if a file beside it can be filled but not put in its place.
///
/// # Errors
/// Returns an error if `fill` fails, or the file cannot be written. A regular file that is there
/// then stays.
pub fn write_named(
    path: &Path,
    fill: impl Fn(&mut BufWriter<&File>) -> io::Result<()>,
) -> io::Result<()> {
    let is_replaceable = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata.is_file(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    };
    if is_replaceable {
        match fill_temporary(path, &fill).and_then(|file| persist(file, path)) {
            Err(error) if prevents_replacing(&error) => {}
            written => return written,
        }
    }
    fill_file(&File::create(path)?, &fill)
}

/// Returns whether the error means that a file can be written where it is and not be replaced: its
/// directory belongs to somebody else, or it is mounted on its own, as into a container.
fn prevents_replacing(error: &io::Error) -> bool {
    use io::ErrorKind::{CrossesDevices, PermissionDenied, ReadOnlyFilesystem, ResourceBusy};
    matches!(
        error.kind(),
        CrossesDevices | PermissionDenied | ReadOnlyFilesystem | ResourceBusy
    )
}

/// The end of the names of unfinished files.
const SUFFIX: &str = ".cargo-topdown.tmp";

/// The writer of an older unfinished file no longer exists.
const ABANDONED_AFTER: Duration = Duration::from_secs(60 * 60);

fn write_temporary(path: &Path, content: &[u8]) -> io::Result<NamedTempFile> {
    fill_temporary(path, &|file: &mut BufWriter<&File>| file.write_all(content))
}

/// Fills a temporary file in the directory of `path`, to the disk, and clears what killed writers
/// of this file have left there.
fn fill_temporary(
    path: &Path,
    fill: &impl Fn(&mut BufWriter<&File>) -> io::Result<()>,
) -> io::Result<NamedTempFile> {
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
    let file = builder.tempfile_in(directory)?;
    fill_file(file.as_file(), fill)?;
    file.as_file().sync_all()?;
    Ok(file)
}

fn fill_file(
    file: &File,
    fill: &impl Fn(&mut BufWriter<&File>) -> io::Result<()>,
) -> io::Result<()> {
    let mut out = BufWriter::new(file);
    fill(&mut out)?;
    out.flush()
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
            let file = File::create(path).unwrap();
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

    #[test]
    fn failed_report_leaves_the_one_before() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("report");
        write_named(&path, |to| to.write_all(b"one")).unwrap();
        let fails = |to: &mut BufWriter<&File>| {
            to.write_all(b"tw")?;
            Err(io::ErrorKind::StorageFull.into())
        };
        write_named(&path, fails).unwrap_err();
        assert_eq!(fs::read(&path).unwrap(), b"one");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        write_named(directory.path(), |to| to.write_all(b"two")).unwrap_err();
    }

    /// As root, replacing `/dev/stdout` would take it from everybody.
    #[cfg(unix)]
    #[test]
    fn pipes_and_links_stay_what_they_are() {
        use std::os::unix::fs::{FileTypeExt, symlink};
        let directory = tempfile::tempdir().unwrap();
        let [pipe, target, link] = ["pipe", "target", "link"].map(|n| directory.path().join(n));
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read(pipe)
        });
        write_named(&pipe, |to| to.write_all(b"one")).unwrap();
        assert_eq!(reader.join().unwrap().unwrap(), b"one");
        assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
        fs::write(&target, "longer than that").unwrap();
        symlink(&target, &link).unwrap();
        write_named(&link, |to| to.write_all(b"two")).unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read(&target).unwrap(), b"two");
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
