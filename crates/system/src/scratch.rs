//! Temporary directories, all of which are made here.
//!
//! A killed program (`kill -9`) cleans up nothing. So each directory holds a lock while its program
//! lives, and whoever makes the next one clears those whose lock is free: the processes and control
//! groups of their launches, and the directories themselves.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use crate::cgroup::Cgroup;
use crate::processes;

/// The file in a launch's directory to which the bench writes its samples.
pub const SAMPLES_FILE: &str = "samples.jsonl";

/// The prefix of the directories' names.
const PREFIX: &str = "cargo-topdown-";
/// At least as many random characters follow it.
const RANDOM_BYTES: usize = 6;
/// Paths of directories are a multiple of this long: 64, unless that of the temporary files is
/// long. A bench reads its paths onto its heap, so in another directory for temporary files the
/// data of benchmarks would lie elsewhere, which moves modelled slots by up to 1.5 %.
const PATH_BYTES: usize = 64;
/// Held while the program lives.
const LOCK: &str = "lock";
/// The file that names the control group.
const CGROUP: &str = "cgroup";
/// Longer than it takes to put the lock into a new directory. One without a lock is then left by
/// a killed program.
const MAX_UNLOCKED: Duration = Duration::from_secs(60);

/// A directory of this program, removed on drop with its contents.
#[derive(Debug)]
pub struct Scratch {
    directory: TempDir,
    /// Declared after the directory: a locked file can be removed.
    _lock: File,
}

impl Scratch {
    /// Creates a directory among the temporary files, after clearing what killed programs have left
    /// there.
    ///
    /// # Errors
    /// Returns an error if it cannot be created.
    pub fn new() -> io::Result<Scratch> {
        Scratch::new_in(&std::env::temp_dir())
    }

    fn new_in(parent: &Path) -> io::Result<Scratch> {
        clear(parent);
        let named = parent.join(PREFIX).as_os_str().len();
        let random = (named + RANDOM_BYTES).next_multiple_of(PATH_BYTES) - named;
        let directory = tempfile::Builder::new()
            .prefix(PREFIX)
            .rand_bytes(random)
            .tempdir_in(parent)?;
        // Under its final name, it is never seen unlocked.
        let unlocked = directory.path().join("new-lock");
        let lock = File::create(&unlocked)?;
        // If the file system has no locks, the next program cannot take this one either.
        let _ = lock.try_lock();
        fs::rename(unlocked, directory.path().join(LOCK))?;
        Ok(Scratch {
            directory,
            _lock: lock,
        })
    }

    /// Returns the directory.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Records in the directory `scratch` that its launches run in `cgroup`.
pub fn note_cgroup(scratch: &Path, cgroup: &Cgroup) {
    // Without it, the next run finds the processes by what they inherited.
    let _ = fs::write(
        scratch.join(CGROUP),
        cgroup.directory().as_os_str().as_encoded_bytes(),
    );
}

/// Clears what killed programs have left in `parent`. What cannot be cleared stays.
fn clear(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_ours = entry.file_name().to_string_lossy().starts_with(PREFIX)
            && entry.file_type().is_ok_and(|kind| kind.is_dir())
            && is_own(&path);
        if is_ours && is_abandoned(&path) {
            if let Some(group) = cgroup_of(&path) {
                drop(Cgroup::abandoned(group));
            }
            processes::end_all(|| inheritors_among(processes::all(), &path));
            let _ = fs::remove_dir_all(&path);
        }
    }
}

/// Returns whether the program that owns the directory is gone.
fn is_abandoned(directory: &Path) -> bool {
    match File::open(directory.join(LOCK)) {
        Ok(lock) => lock.try_lock().is_ok(),
        Err(_) => fs::metadata(directory)
            .and_then(|metadata| metadata.modified())
            // A clock that was set back makes it no older.
            .is_ok_and(|made| made.elapsed().is_ok_and(|age| age > MAX_UNLOCKED)),
    }
}

/// Returns the control group recorded in `directory`, if it is one of ours.
fn cgroup_of(directory: &Path) -> Option<PathBuf> {
    let path = PathBuf::from(fs::read_to_string(directory.join(CGROUP)).ok()?);
    let is_ours = path.file_name() == directory.file_name() && path.join("cgroup.procs").exists();
    is_ours.then_some(path)
}

/// Returns those of `processes` that inherited the environment of a launch with this directory.
pub fn inheritors_among(processes: impl IntoIterator<Item = u32>, directory: &Path) -> Vec<u32> {
    let samples = directory.join(SAMPLES_FILE);
    let mut wanted = format!("{}=", topdown_run::environment::SAMPLES).into_bytes();
    wanted.extend(samples.as_os_str().as_encoded_bytes());
    let has_it = |process: &u32| {
        processes::environment_of(*process)
            .split(|byte| *byte == 0)
            .any(|variable| variable == wanted)
    };
    processes.into_iter().filter(has_it).collect()
}

#[cfg(unix)]
fn is_own(directory: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let own = rustix::process::geteuid().as_raw();
    fs::symlink_metadata(directory).is_ok_and(|metadata| metadata.uid() == own)
}

#[cfg(not(unix))]
fn is_own(_: &Path) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_length_ignores_temporary_directory() {
        let parent = tempfile::tempdir().unwrap();
        let below = parent.path().join("of-this-job");
        fs::create_dir(&below).unwrap();
        for parent in [parent.path(), &below] {
            let scratch = Scratch::new_in(parent).unwrap();
            assert_eq!(scratch.path().as_os_str().len() % PATH_BYTES, 0);
        }
    }

    #[test]
    fn only_leftovers_of_killed_program_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let alive = Scratch::new_in(parent.path()).unwrap();
        let mut killed = Scratch::new_in(parent.path()).unwrap();
        let being_made = parent.path().join("cargo-topdown-new");
        fs::create_dir(&being_made).unwrap();
        let of_others = parent.path().join("another");
        fs::create_dir(&of_others).unwrap();
        killed.directory.disable_cleanup(true);
        let left = killed.path().to_owned();
        #[cfg(target_os = "linux")]
        let mut orphan = {
            use std::io::Read;
            use std::process::{Command, Stdio};
            let mut orphan = Command::new("sh")
                .args(["-c", "echo; read -r _; exit 0"])
                .env("CARGO_TOPDOWN_SAMPLES", left.join("samples.jsonl"))
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            // Until it writes, it may still be a copy of this process that holds the lock. It
            // executes no other program: meanwhile it would seem to have no environment.
            let stdout = orphan.stdout.as_mut().unwrap();
            stdout.read_exact(&mut [0]).unwrap();
            orphan
        };
        drop(killed);
        let next = Scratch::new_in(parent.path()).unwrap();
        assert!(!left.exists());
        #[cfg(target_os = "linux")]
        assert!(!orphan.wait().unwrap().success());
        for path in [alive.path(), &being_made, &of_others, next.path()] {
            assert!(path.exists(), "{}", path.display());
        }
        let paths = [alive.path().to_owned(), next.path().to_owned()];
        drop((alive, next));
        assert!(!paths.iter().any(|path| path.exists()));
    }
}
