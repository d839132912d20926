//! The runs that a baseline has had: what `cargo topdown history` reads.
//!
//! Each is the `run.json` of its time, byte for byte and without samples, as
//! `NAME/MACHINE-KEY/history/STAMP-DIGEST.json`. Such a file never changes: its name says when the
//! run started and what the file holds. So writers never take each other's names, and the histories
//! of two stores are joined by copying the files that the other has not.

use std::collections::HashSet;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use criterion_topdown::run_file::{RUN_FILE_NAME, RunFileError, RunFileProblem, parse_run};
use jiff::Timestamp;
use sha2::{Digest, Sha256};

/// The directory of the history, below that of the baseline.
pub const HISTORY_DIRECTORY: &str = "history";

/// How a run's file is called in a history: its name, and this.
const FILE_SUFFIX: &str = ".json";

/// How many hexadecimal digits of the SHA-256 of a file are in its name. Two different runs that
/// start in the same second meet in 48 bits once in 10^14.
const DIGEST_DIGITS: usize = 12;

/// The name of a run in a history. Names sort by the time of the run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunName {
    /// When the run started, in UTC: `20261121T204659Z`.
    stamp: String,
    /// The first [`DIGEST_DIGITS`] hexadecimal digits of the file's SHA-256.
    digest: String,
}

impl RunName {
    /// The name of the run with these bytes, which are those of a `run.json`.
    ///
    /// # Errors
    /// When they are no run, or its `started_at` is no time.
    pub fn of(json: &[u8]) -> Result<RunName, RunFileProblem> {
        let run = parse_run(json)?;
        let stamp = run
            .started_at
            .parse::<Timestamp>()
            .map(|at| at.strftime("%Y%m%dT%H%M%SZ").to_string())
            .ok()
            .filter(|stamp| is_stamp(stamp))
            .ok_or_else(|| RunFileProblem::Field {
                field: "started_at".to_owned(),
                what: format!("is {:?} and must be a time as in RFC 3339", run.started_at),
            })?;
        Ok(RunName {
            stamp,
            digest: digest(json),
        })
    }
}

impl fmt::Display for RunName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.stamp, self.digest)
    }
}

/// Not the name of a run in a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotInHistory;

impl FromStr for RunName {
    type Err = NotInHistory;

    fn from_str(name: &str) -> Result<RunName, NotInHistory> {
        let (stamp, digest) = name.split_once('-').ok_or(NotInHistory)?;
        let is_digest = digest.len() == DIGEST_DIGITS
            && digest
                .bytes()
                .all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if !is_digest || !is_stamp(stamp) {
            return Err(NotInHistory);
        }
        Ok(RunName {
            stamp: stamp.to_owned(),
            digest: digest.to_owned(),
        })
    }
}

fn is_stamp(text: &str) -> bool {
    text.len() == "20261121T204659Z".len()
        && text.bytes().enumerate().all(|(index, byte)| match index {
            8 => byte == b'T',
            15 => byte == b'Z',
            _ => byte.is_ascii_digit(),
        })
}

fn digest(bytes: &[u8]) -> String {
    let hash = Sha256::digest(bytes);
    let mut digits: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    digits.truncate(DIGEST_DIGITS);
    digits
}

/// The names in the history of the baseline in `baseline`, oldest first. Files of other names are
/// no part of it. None where there is no history.
///
/// # Errors
/// When the directory cannot be read.
pub fn names(baseline: &Path) -> io::Result<Vec<RunName>> {
    let entries = match fs::read_dir(baseline.join(HISTORY_DIRECTORY)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut names = Vec::new();
    for entry in entries {
        if let Some(name) = entry?.file_name().to_str()
            && let Some(name) = name.strip_suffix(FILE_SUFFIX)
            && let Ok(name) = name.parse()
        {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// The files of all runs that the baseline in `baseline` has had, oldest first. The run that it is
/// now comes last if it is not in the history, as in a store from before there were histories.
///
/// # Errors
/// When the directory or the run that the baseline is now cannot be read.
pub fn runs(baseline: &Path) -> io::Result<Vec<PathBuf>> {
    let names = names(baseline)?;
    let kept: HashSet<&str> = names.iter().map(|name| name.digest.as_str()).collect();
    let newest = baseline.join(RUN_FILE_NAME);
    let newest = match fs::read(&newest) {
        Ok(json) => (!kept.contains(digest(&json).as_str())).then_some(newest),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    Ok(names
        .iter()
        .map(|name| path_of(baseline, name))
        .chain(newest)
        .collect())
}

/// Where the history of the baseline in `baseline` has this run.
pub fn path_of(baseline: &Path, name: &RunName) -> PathBuf {
    baseline
        .join(HISTORY_DIRECTORY)
        .join(format!("{name}{FILE_SUFFIX}"))
}

/// Adds the run in `json`, the bytes of a `run.json`, to the history of the baseline in `baseline`.
/// A run that is there already is left as it is.
///
/// # Errors
/// When it is no run, or cannot be written. The history is then as before.
pub fn add(baseline: &Path, json: &[u8]) -> Result<RunName, RunFileError> {
    let error = |problem| RunFileError {
        path: baseline.join(HISTORY_DIRECTORY),
        problem,
    };
    let name = RunName::of(json).map_err(error)?;
    let path = path_of(baseline, &name);
    if !path.is_file() {
        write_renamed(baseline, &name, json).map_err(|e| RunFileError {
            path,
            problem: RunFileProblem::Io(e),
        })?;
    }
    Ok(name)
}

/// Writes to a temporary name beside the baseline's `run.json`, where the next save removes what a
/// killed writer left, flushes to disk, and renames.
fn write_renamed(baseline: &Path, name: &RunName, json: &[u8]) -> io::Result<()> {
    let history = baseline.join(HISTORY_DIRECTORY);
    let path = path_of(baseline, name);
    fs::create_dir_all(&history)?;
    let temporary = baseline.join(format!("{name}.{}.tmp", std::process::id()));
    let write = || {
        let mut file = File::create(&temporary)?;
        file.write_all(json)?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    };
    write().inspect_err(|_| {
        // Of no use to anybody; that it failed is reported.
        let _ = fs::remove_file(&temporary);
    })?;
    if cfg!(unix) {
        // The rename is to outlive a power failure, where the file system can do that.
        let _ = File::open(&history).and_then(|directory| directory.sync_all());
    }
    Ok(())
}

/// Removes the history of the baseline in `baseline`; what is not of it stays, and its directory
/// with it.
///
/// # Errors
/// When a file cannot be removed. Those before it are then gone.
pub fn remove(baseline: &Path) -> Result<(), RunFileError> {
    let history = baseline.join(HISTORY_DIRECTORY);
    let error = |path: &Path, error| RunFileError {
        path: path.to_owned(),
        problem: RunFileProblem::Io(error),
    };
    for name in names(baseline).map_err(|e| error(&history, e))? {
        let path = path_of(baseline, &name);
        fs::remove_file(&path).map_err(|e| error(&path, e))?;
    }
    // Fails where there is none, or where something else is in it.
    let _ = fs::remove_dir(&history);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/run-v1/run.json");

    /// The golden run, as if it had started at another time.
    fn run_of(started_at: &str) -> Vec<u8> {
        let mut run: serde_json::Value = serde_json::from_slice(&fs::read(RUN).unwrap()).unwrap();
        run["started_at"] = started_at.into();
        serde_json::to_vec(&run).unwrap()
    }

    #[test]
    fn a_name_says_when_the_run_started_and_what_it_holds() {
        let one = RunName::of(&run_of("2026-11-21T20:46:59Z")).unwrap();
        assert!(one.to_string().starts_with("20261121T204659Z-"), "{one}");
        assert_eq!(one.to_string().parse(), Ok(one.clone()));
        let elsewhere = RunName::of(&run_of("2026-11-21T21:46:59+01:00")).unwrap();
        assert_eq!(elsewhere.stamp, one.stamp);
        assert_ne!(elsewhere.digest, one.digest);
        // `printf abc | sha256sum`
        assert_eq!(digest(b"abc"), "ba7816bf8f01");
    }

    #[test]
    fn other_files_are_no_part_of_a_history() {
        for name in [
            "run.json",
            "20261121T204659Z-ba7816bf8f01.json",
            "20261121T204659Z-ba7816bf8f0",
            "20261121T204659Z-BA7816BF8F01",
            "20261121T2046590-ba7816bf8f01",
            "../../../../../../-ba7816bf8f01",
            "20261121T204659Z-ba7816bf8f01.7.tmp",
        ] {
            assert_eq!(name.parse::<RunName>(), Err(NotInHistory), "{name}");
        }
    }

    #[test]
    fn runs_are_listed_by_their_time_whatever_the_order_of_writing() {
        let root = tempfile::tempdir().unwrap();
        let baseline = root.path();
        assert_eq!(runs(baseline).unwrap(), Vec::<PathBuf>::new());
        let days = ["2026-11-03", "2026-11-01", "2026-11-02"].map(|day| format!("{day}T10:00:00Z"));
        for day in &days {
            add(baseline, &run_of(day)).unwrap();
        }
        // Again: nothing more.
        add(baseline, &run_of(&days[0])).unwrap();
        fs::write(baseline.join(HISTORY_DIRECTORY).join("notes.txt"), "").unwrap();
        let stamps: Vec<String> = names(baseline)
            .unwrap()
            .into_iter()
            .map(|name| name.stamp)
            .collect();
        assert_eq!(
            stamps,
            ["20261101T100000Z", "20261102T100000Z", "20261103T100000Z"]
        );
        assert_eq!(runs(baseline).unwrap().len(), 3);
        // The run that the baseline is now: in the history, and not in the history.
        let newest = baseline.join(RUN_FILE_NAME);
        fs::write(&newest, run_of(&days[1])).unwrap();
        assert_eq!(runs(baseline).unwrap().len(), 3);
        fs::write(&newest, run_of("2026-10-01T10:00:00Z")).unwrap();
        assert_eq!(runs(baseline).unwrap().last(), Some(&newest));
        assert_eq!(runs(baseline).unwrap().len(), 4);
    }

    #[test]
    fn what_is_no_run_or_has_no_time_is_not_added() {
        let root = tempfile::tempdir().unwrap();
        let error = add(root.path(), b"{").unwrap_err();
        assert!(error.to_string().contains(HISTORY_DIRECTORY), "{error}");
        for started_at in ["yesterday", "-000100-01-01T00:00:00Z"] {
            let error = add(root.path(), &run_of(started_at))
                .unwrap_err()
                .to_string();
            assert!(error.contains("`started_at` is"), "{error}");
        }
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_history_that_cannot_be_written_read_or_removed_is_an_error() {
        let root = tempfile::tempdir().unwrap();
        let baseline = root.path().join("main");
        let run = run_of("2026-11-01T10:00:00Z");
        let name = add(&baseline, &run).unwrap();
        // Other kinds of files: works for root too, whom permissions do not stop.
        fs::remove_file(path_of(&baseline, &name)).unwrap();
        fs::create_dir(path_of(&baseline, &name)).unwrap();
        assert!(add(&baseline, &run).is_err());
        assert!(remove(&baseline).is_err());
        let in_the_way = root.path().join("other");
        fs::create_dir(&in_the_way).unwrap();
        fs::write(in_the_way.join(HISTORY_DIRECTORY), "").unwrap();
        assert!(add(&in_the_way, &run).is_err());
        assert!(names(&in_the_way).is_err());
        assert_eq!(fs::read_dir(&in_the_way).unwrap().count(), 1);
    }
}
