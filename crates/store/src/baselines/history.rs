//! The past runs of a baseline, as read by `cargo topdown history`.
//!
//! Each is stored as `NAME/MACHINE-KEY/history/STAMP-DIGEST.json`: the `run.json` of its time, byte
//! for byte and without samples. Such a file never changes, since its name states when the run
//! started and a digest of the file. So writers never collide, and two stores' histories are merged
//! by copying the files that the other lacks.

use std::collections::HashSet;
use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use topdown_run::run_file::stored_file::{self, MAX_RUN_FILE_BYTES};
use topdown_run::run_file::{
    RUN_FILE_NAME, Run, RunFileError, RunFileProblem, parse_run, read_bytes,
};

/// The directory of the history, inside the baseline's directory.
pub const HISTORY_DIRECTORY: &str = "history";

/// The extension of a run's file in a history.
const FILE_SUFFIX: &str = ".json";

/// Maximum lead of a measuring machine's clock over ours or the store's.
pub const CLOCK_SKEW: SignedDuration = SignedDuration::from_hours(1);

/// The length of a SHA-256 in hexadecimal digits.
const DIGEST_DIGITS: usize = 64;

/// The format of a stamp, in UTC: `20261121T204659Z`.
const STAMP_FORMAT: &str = "%Y%m%dT%H%M%SZ";

/// The name of a run in a history. Names sort by the start of the run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunName {
    /// When the run started, in UTC: `20261121T204659Z`.
    stamp: String,
    /// The file's SHA-256 in hexadecimal.
    digest: String,
}

impl RunName {
    /// Returns the name for the run with these `run.json` bytes.
    ///
    /// # Errors
    /// Returns an error if they are not a run, or its `started_at` is not a time.
    pub fn new(json: &[u8]) -> Result<RunName, RunFileProblem> {
        RunName::from_start(&parse_run(json)?.started_at, json)
    }

    /// As [`new`](RunName::new), also for a run in a format that only newer programs read.
    ///
    /// # Errors
    /// As [`new`](RunName::new).
    pub fn from_any_version(json: &[u8]) -> Result<RunName, RunFileProblem> {
        #[derive(Deserialize)]
        struct Start {
            started_at: String,
        }
        match RunName::new(json) {
            Err(problem @ RunFileProblem::SchemaVersion { .. }) => {
                match serde_json::from_slice(json) {
                    Ok(Start { started_at }) => RunName::from_start(&started_at, json),
                    Err(_) => Err(problem),
                }
            }
            name => name,
        }
    }

    fn from_start(started_at: &str, json: &[u8]) -> Result<RunName, RunFileProblem> {
        let stamp = started_at
            .parse::<Timestamp>()
            .map(|at| at.strftime(STAMP_FORMAT).to_string())
            .ok()
            .filter(|stamp| is_stamp(stamp))
            .ok_or_else(|| RunFileProblem::Field {
                field: "started_at".to_owned(),
                what: format!("is {started_at:?}; it must be an RFC 3339 time"),
            })?;
        Ok(RunName {
            stamp,
            digest: digest(json),
        })
    }

    /// Returns whether the run claims to have started after `moment`, beyond what clock skew
    /// explains.
    pub fn is_after(&self, moment: Timestamp) -> bool {
        let latest = moment.checked_add(CLOCK_SKEW).unwrap_or(Timestamp::MAX);
        self.stamp > latest.strftime(STAMP_FORMAT).to_string()
    }
}

impl fmt::Display for RunName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.stamp, self.digest)
    }
}

/// The error for a name that no run in a history has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownRunName;

impl FromStr for RunName {
    type Err = UnknownRunName;

    fn from_str(name: &str) -> Result<RunName, UnknownRunName> {
        let (stamp, digest) = name.split_once('-').ok_or(UnknownRunName)?;
        let is_digest = digest.len() == DIGEST_DIGITS
            && digest
                .bytes()
                .all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if !is_digest || !is_stamp(stamp) {
            return Err(UnknownRunName);
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
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the names in the history of the baseline in directory `baseline`, oldest first, or none
/// if it has no history. Files with other names are ignored.
///
/// # Errors
/// Returns an error if the directory cannot be read.
pub fn names(baseline: &Path) -> io::Result<Vec<RunName>> {
    let history = baseline.join(HISTORY_DIRECTORY);
    let entries = match fs::symlink_metadata(&history) {
        // A link would lead out of the store.
        Ok(found) if found.is_symlink() => return Err(io::ErrorKind::NotADirectory.into()),
        Ok(_) => fs::read_dir(history)?,
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

/// Returns the files of all runs of the baseline in directory `baseline`, oldest first. The current
/// run comes last if it is not in the history, as in a store from before there were histories, or
/// if it cannot be read.
///
/// # Errors
/// Returns an error if the directory cannot be read.
pub fn runs(baseline: &Path) -> Result<Vec<PathBuf>, RunFileError> {
    let names = names(baseline).map_err(|error| RunFileError {
        path: baseline.join(HISTORY_DIRECTORY),
        problem: RunFileProblem::Io(error),
    })?;
    let kept: HashSet<&str> = names.iter().map(|name| name.digest.as_str()).collect();
    let newest = baseline.join(RUN_FILE_NAME);
    let newest = match read_bytes(&newest) {
        Ok(json) => (!kept.contains(digest(&json).as_str())).then_some(newest),
        Err(error) if error.problem.is_missing() => None,
        Err(_) => Some(newest),
    };
    Ok(names
        .iter()
        .map(|name| path_of(baseline, name))
        .chain(newest)
        .collect())
}

/// Reads the run in a file returned by [`runs`]. A file in a history must hold what its name says.
///
/// # Errors
/// Returns an error if the file cannot be read or was changed.
pub fn read(path: &Path) -> Result<(RunName, Run), RunFileError> {
    let json = read_bytes(path)?;
    let in_file = |problem| RunFileError {
        path: path.to_owned(),
        problem,
    };
    let run = parse_run(&json).map_err(in_file)?;
    let name = RunName::from_start(&run.started_at, &json).map_err(in_file)?;
    let promised = path
        .file_name()
        .and_then(|file| file.to_str()?.strip_suffix(FILE_SUFFIX)?.parse().ok());
    if promised.is_some_and(|promised: RunName| promised != name) {
        return Err(in_file(RunFileProblem::Field {
            field: "run.json".to_owned(),
            what: format!("does not match its name: its content is that of {name}"),
        }));
    }
    Ok((name, run))
}

/// Returns the path of this run in the history of the baseline in directory `baseline`.
pub fn path_of(baseline: &Path, name: &RunName) -> PathBuf {
    baseline
        .join(HISTORY_DIRECTORY)
        .join(format!("{name}{FILE_SUFFIX}"))
}

/// Adds the run in `json`, the bytes of a `run.json`, to the history of the baseline in directory
/// `baseline`. A run that is already there is left as it is.
///
/// # Errors
/// Returns an error if `json` is not a run or cannot be written. The history is then unchanged.
pub fn add(baseline: &Path, json: &[u8]) -> Result<RunName, RunFileError> {
    let error = |problem| RunFileError {
        path: baseline.join(HISTORY_DIRECTORY),
        problem,
    };
    let name = RunName::from_any_version(json).map_err(error)?;
    let history = baseline.join(HISTORY_DIRECTORY);
    let path = path_of(baseline, &name);
    // A file with other bytes is overwritten below, which repairs it.
    if read_bytes(&path).is_ok_and(|there| there == json) {
        return Ok(name);
    }
    fs::create_dir_all(&history).map_err(|e| error(RunFileProblem::Io(e)))?;
    // Written next to the baseline's `run.json`, where the next save removes what a killed writer
    // left.
    stored_file::replace(&path, baseline, MAX_RUN_FILE_BYTES, |to| to.write_all(json))
        .map_err(|problem| RunFileError { path, problem })?;
    Ok(name)
}

/// Removes the history of the baseline in directory `baseline`. Foreign files stay, and so does the
/// directory if it has any.
///
/// # Errors
/// Returns an error if a file cannot be removed. The files before it are then gone.
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
    // Fails if there is no directory, or other files are in it.
    let _ = fs::remove_dir(&history);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../run/tests/data/run-v1/run.json"
    );

    /// `printf abc | sha256sum`
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    /// The golden run, as if it had started at another time.
    fn run_of(started_at: &str) -> Vec<u8> {
        let mut run: serde_json::Value = serde_json::from_slice(&fs::read(RUN).unwrap()).unwrap();
        run["started_at"] = started_at.into();
        serde_json::to_vec(&run).unwrap()
    }

    #[test]
    fn run_name_has_start_time_and_digest() {
        let one = RunName::new(&run_of("2026-11-21T20:46:59Z")).unwrap();
        assert!(one.to_string().starts_with("20261121T204659Z-"), "{one}");
        assert_eq!(one.to_string().parse(), Ok(one.clone()));
        let elsewhere = RunName::new(&run_of("2026-11-21T21:46:59+01:00")).unwrap();
        assert_eq!(elsewhere.stamp, one.stamp);
        assert_ne!(elsewhere.digest, one.digest);
        assert_eq!(digest(b"abc"), ABC);
    }

    #[test]
    fn other_files_are_not_history() {
        for name in [
            "run.json".to_owned(),
            format!("20261121T204659Z-{ABC}.json"),
            format!("20261121T204659Z-{}", &ABC[1..]),
            format!("20261121T204659Z-{}", ABC.to_uppercase()),
            format!("20261121T2046590-{ABC}"),
            format!("../../../../../../-{ABC}"),
            format!("20261121T204659Z-{ABC}.7.tmp"),
        ] {
            assert_eq!(name.parse::<RunName>(), Err(UnknownRunName), "{name}");
        }
    }

    #[test]
    fn only_clock_beyond_skew_is_from_the_future() {
        let run = |started_at: &str| RunName::new(&run_of(started_at)).unwrap();
        let now: Timestamp = "2026-11-21T20:00:00Z".parse().unwrap();
        assert!(!run("2026-11-21T21:00:00Z").is_after(now));
        assert!(run("2026-11-21T21:00:01Z").is_after(now));
        assert!(run("9000-01-01T00:00:00Z").is_after(now));
        assert!(!run("2026-11-21T21:00:00Z").is_after(Timestamp::MAX));
    }

    #[test]
    fn altered_history_run_is_not_read() {
        let root = tempfile::tempdir().unwrap();
        let json = run_of("2026-11-21T20:46:59Z");
        let name = add(root.path(), &json).unwrap();
        let path = path_of(root.path(), &name);
        assert_eq!(read(&path).unwrap().0, name);
        let mut changed = json.clone();
        changed.push(b' ');
        fs::write(&path, &changed).unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains("does not match its name"), "{error}");
        // Saving the run again repairs the file.
        add(root.path(), &json).unwrap();
        assert_eq!(read(&path).unwrap().0, name);
    }

    #[test]
    fn runs_are_listed_by_start_time() {
        let root = tempfile::tempdir().unwrap();
        let baseline = root.path();
        assert_eq!(runs(baseline).unwrap(), Vec::<PathBuf>::new());
        let days = ["2026-11-03", "2026-11-01", "2026-11-02"].map(|day| format!("{day}T10:00:00Z"));
        for day in &days {
            add(baseline, &run_of(day)).unwrap();
        }
        // Adding a run twice changes nothing.
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
        // The current run, first in the history and then not.
        let newest = baseline.join(RUN_FILE_NAME);
        fs::write(&newest, run_of(&days[1])).unwrap();
        assert_eq!(runs(baseline).unwrap().len(), 3);
        fs::write(&newest, run_of("2026-10-01T10:00:00Z")).unwrap();
        assert_eq!(runs(baseline).unwrap().last(), Some(&newest));
        assert_eq!(runs(baseline).unwrap().len(), 4);
    }

    #[test]
    fn invalid_or_undated_run_is_not_added() {
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
    fn inaccessible_history_is_an_error() {
        let root = tempfile::tempdir().unwrap();
        let baseline = root.path().join("main");
        let run = run_of("2026-11-01T10:00:00Z");
        let name = add(&baseline, &run).unwrap();
        // Other kinds of files fail even for root, who ignores permissions.
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
