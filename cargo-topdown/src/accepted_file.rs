//! Changes that the user accepted, stored next to the baseline that they are relative to.
//!
//! `accepted.json` names the run it belongs to. Replacing the baseline invalidates the file, so an
//! acceptance cannot outlive its reason.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;
use topdown_run::run_file::stored_file::{self, MAX_RUN_FILE_BYTES};
use topdown_run::run_file::{Run, RunFileProblem};
use topdown_run::visible::visible_json;

use topdown_gate::policy::{Accepted, AcceptedChange};
use topdown_system::whole_file;

/// The file's name in the directory of the baseline's run.
const FILE: &str = "accepted.json";
/// The version of the format.
pub const ACCEPTED_SCHEMA_VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
/// Changes that the user accepted, relative to the baseline next to the file.
pub struct AcceptedFile {
    /// The version of the format.
    #[cfg_attr(test, schemars(extend("const" = ACCEPTED_SCHEMA_VERSION)))]
    schema_version: u32,
    /// The run that the changes are relative to.
    baseline: String,
    /// By `package::target::name`.
    accepted: BTreeMap<String, AcceptedChange>,
}

#[derive(Deserialize)]
struct Version {
    schema_version: u32,
}

fn parse<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T, Problem> {
    let deserializer = &mut serde_json::Deserializer::from_slice(json);
    serde_path_to_error::deserialize(deserializer).map_err(|error| Problem::Json {
        // Metric keys are not strings, so their part of the path is `?`.
        field: error.path().to_string().trim_end_matches(".?").to_owned(),
        error: error.into_inner(),
    })
}

impl AcceptedFile {
    fn from_json(json: &[u8]) -> Result<AcceptedFile, Problem> {
        let json = visible_json(json);
        // Check the version first, so that another one is not reported as an unknown field.
        let Version { schema_version } = parse(&json)?;
        if schema_version != ACCEPTED_SCHEMA_VERSION {
            return Err(Problem::SchemaVersion(schema_version));
        }
        let wire: AcceptedFile = parse(&json)?;
        for (id, change) in &wire.accepted {
            let bad = |difference: &&f64| !(difference.is_finite() && **difference > 0.0);
            if let Some(difference) = change.differences.values().find(bad) {
                return Err(Problem::Difference(id.clone(), *difference));
            }
        }
        Ok(wire)
    }
}

/// Returns whether `json` is a file of accepted changes.
#[cfg(any(test, fuzzing))]
pub fn is_accepted(json: &[u8]) -> bool {
    AcceptedFile::from_json(json).is_ok()
}

/// Accepted changes as found on disk.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// The accepted changes of this baseline; empty without a file.
    Holding(Accepted),
    /// The file belongs to an earlier baseline; holds how many changes it lists.
    Expired(usize),
}

/// Accepted changes could not be read or written.
#[derive(Debug, Error)]
#[error("{}: {problem}", path.display())]
pub struct AcceptedError {
    path: PathBuf,
    problem: Problem,
}

impl AcceptedError {
    /// Returns whether the file could not be written; otherwise it could not be read.
    pub fn is_of_writing(&self) -> bool {
        matches!(self.problem, Problem::NotWritten(_))
    }
}

#[derive(Debug, Error)]
enum Problem {
    #[error("could not write: {0}")]
    NotWritten(#[source] io::Error),
    #[error("{0}")]
    File(#[source] RunFileProblem),
    #[error("not a file of accepted changes: field `{field}`: {error}")]
    Json {
        field: String,
        #[source]
        error: serde_json::Error,
    },
    #[error(
        "schema version {0} is not known to this release, which reads version \
         {ACCEPTED_SCHEMA_VERSION}; update cargo-topdown"
    )]
    SchemaVersion(u32),
    #[error("`{0}` is accepted with a difference of {1}; it must be a number above 0")]
    Difference(String, f64),
}

/// Reads the accepted changes for `baseline`, the run at `path` (its file or directory).
///
/// # Errors
/// Returns an error if the file exists but cannot be read or parsed.
pub fn read(path: &Path, baseline: &Run) -> Result<Found, AcceptedError> {
    let path = path_for_run(path);
    let error = |problem| AcceptedError {
        path: path.clone(),
        problem,
    };
    let json = match stored_file::read(&path, MAX_RUN_FILE_BYTES) {
        Ok(json) => json,
        Err(problem) if problem.is_missing() => {
            return Ok(Found::Holding(Accepted::default()));
        }
        Err(problem) => return Err(error(Problem::File(problem))),
    };
    let wire = AcceptedFile::from_json(&json).map_err(error)?;
    Ok(if wire.baseline == baseline.id {
        Found::Holding(wire.accepted.into())
    } else {
        Found::Expired(wire.accepted.len())
    })
}

/// Writes `accepted` for `baseline`, the run at `path`, and returns the file's path.
///
/// # Errors
/// Returns an error if it cannot be written. The previously accepted changes then still apply.
pub fn write(accepted: &Accepted, path: &Path, baseline: &Run) -> Result<PathBuf, AcceptedError> {
    let path = path_for_run(path);
    let wire = AcceptedFile {
        schema_version: ACCEPTED_SCHEMA_VERSION,
        baseline: baseline.id.clone(),
        accepted: accepted.changes().clone(),
    };
    let write = || {
        let mut json = serde_json::to_vec_pretty(&wire)?;
        json.push(b'\n');
        whole_file::write(&path, &json)
    };
    match write() {
        Ok(()) => Ok(path),
        Err(e) => Err(AcceptedError {
            problem: Problem::NotWritten(e),
            path,
        }),
    }
}

fn path_for_run(run: &Path) -> PathBuf {
    if run.is_dir() {
        run.join(FILE)
    } else {
        run.with_file_name(FILE)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use topdown_gate::allocated::Allocated;
    use topdown_gate::metric::Metric;
    use topdown_gate::scenario;

    fn one() -> Accepted {
        let mut accepted = Accepted::default();
        let change = AcceptedChange {
            reason: "checks every input now".to_owned(),
            differences: BTreeMap::from([(Metric::Slots, 0.083)]),
            allocations: Some(Allocated {
                times: 3.0,
                bytes: 96.0,
            }),
        };
        accepted.insert("suite::bench::a".to_owned(), change);
        accepted
    }

    #[test]
    fn acceptance_lasts_until_baseline_is_renewed() {
        let directory = tempfile::tempdir().unwrap();
        let baseline = scenario::run(vec![]);
        let read = |run: &Run| read(directory.path(), run).unwrap();
        assert_eq!(read(&baseline), Found::Holding(Accepted::default()));
        write(&one(), directory.path(), &baseline).unwrap();
        assert_eq!(read(&baseline), Found::Holding(one()));
        let renewed = Run {
            id: "another".to_owned(),
            ..baseline
        };
        assert_eq!(read(&renewed), Found::Expired(1));
    }

    #[test]
    fn malformed_file_is_refused_by_path() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(FILE);
        let change = |difference: &str| {
            format!(
                r#"{{"schema_version": 1, "baseline": "x", "accepted":
                {{"a": {{"reason": "r", "differences": {{"slots": {difference}}}}}}}}}"#
            )
        };
        for (json, words) in [
            ("{".to_owned(), "not a file of accepted changes"),
            (String::new(), "not a file of accepted changes"),
            ("[]".to_owned(), "not a file of accepted changes"),
            (
                r#"{"baseline": "x", "accepted": {}}"#.to_owned(),
                "missing field `schema_version`",
            ),
            (
                r#"{"schema_version": 9, "other": "x"}"#.to_owned(),
                "schema version 9",
            ),
            (
                r#"{"schema_version": 1, "baseline": "x"}"#.to_owned(),
                "missing field `accepted`",
            ),
            (
                r#"{"schema_version": 1, "baseline": "x", "accepted": {}, "colour": 1}"#.to_owned(),
                "field `colour`: unknown field",
            ),
            (
                r#"{"schema_version": 1, "baseline": "x", "accepted": {"a": {"reason": "r"}}}"#
                    .to_owned(),
                "field `accepted.a`: missing field `differences`",
            ),
            (change("0"), "must be a number above 0"),
            (change("-0.1"), "must be a number above 0"),
            (change("NaN"), "field `accepted`: expected value"),
            (change("null"), "field `accepted.a.differences`: "),
            (change("1e999"), "number out of range"),
            (change("\"much\""), "field `accepted.a.differences`: "),
            (
                change("1").replace("slots", "cycles"),
                "unknown variant `cycles`",
            ),
        ] {
            fs::write(&path, json).unwrap();
            let error = read(&path, &scenario::run(vec![])).unwrap_err();
            let error = error.to_string();
            assert!(error.contains(words) && error.contains(FILE), "{error}");
        }
        let nowhere = directory.path().join("no/such/run.json");
        assert!(write(&one(), &nowhere, &scenario::run(vec![])).is_err());
    }
}
