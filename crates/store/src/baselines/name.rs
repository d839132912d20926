//! Names of baselines.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use thiserror::Error;

/// The name of a baseline: like a git branch's, but a valid path on every system.
///
/// Parts are joined by `/`, as in `feature/x`, and become directories. A part may not begin with
/// `.` or `-`, end with `.` or a space, or contain any of `\ : * ? " < > |` or control characters.
/// A name has at most 200 bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BaselineName(String);

/// Why a string is not a baseline's name.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum BaselineNameError {
    /// Nothing before, after or between slashes.
    #[error("a name needs at least one character on either side of `/`")]
    EmptyPart,
    /// A part that would be hidden, look like a flag, or be `..`.
    #[error("the part `{0}` begins with `.` or `-`")]
    BadStart(String),
    /// A part whose last character Windows drops.
    #[error("the part `{0}` ends with `.` or a space")]
    BadEnd(String),
    /// A character that some file system forbids.
    #[error("{0:?} is not allowed in file names on some systems")]
    BadCharacter(char),
    #[error("it has {0} bytes; the limit is 200")]
    /// It has this many bytes.
    TooLong(usize),
}

impl BaselineName {
    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the name as a path relative to the store.
    pub fn as_path(&self) -> &Path {
        Path::new(&self.0)
    }
}

impl FromStr for BaselineName {
    type Err = BaselineNameError;

    fn from_str(name: &str) -> Result<BaselineName, BaselineNameError> {
        if name.len() > 200 {
            return Err(BaselineNameError::TooLong(name.len()));
        }
        for part in name.split('/') {
            if part.is_empty() {
                return Err(BaselineNameError::EmptyPart);
            }
            if part.starts_with(['.', '-']) {
                return Err(BaselineNameError::BadStart(part.to_owned()));
            }
            if part.ends_with(['.', ' ']) {
                return Err(BaselineNameError::BadEnd(part.to_owned()));
            }
            let is_bad = |c: char| c.is_control() || r#"\:*?"<>|"#.contains(c);
            if let Some(bad) = part.chars().find(|c| is_bad(*c)) {
                return Err(BaselineNameError::BadCharacter(bad));
            }
        }
        Ok(BaselineName(name.to_owned()))
    }
}

/// Returns whether a machine or a modelled core can have this key, which becomes a directory.
pub fn is_machine_key(key: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    key.len() <= 200
        && key.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && key.chars().all(is_allowed)
}

impl fmt::Display for BaselineName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_and_commits_are_valid_names() {
        for name in [
            "main",
            "feature/x",
            "release-1.2",
            "3f2a9c1",
            "größe",
            "a b",
        ] {
            assert_eq!(name.parse::<BaselineName>().unwrap().to_string(), name);
        }
    }

    #[test]
    fn path_escapes_and_invalid_file_names_are_refused() {
        use BaselineNameError::*;
        for (name, error) in [
            ("", EmptyPart),
            ("/etc", EmptyPart),
            ("a//b", EmptyPart),
            ("a/", EmptyPart),
            ("../x", BadStart("..".to_owned())),
            ("a/.git", BadStart(".git".to_owned())),
            ("-f", BadStart("-f".to_owned())),
            ("a.", BadEnd("a.".to_owned())),
            (r"a\b", BadCharacter('\\')),
            ("c:x", BadCharacter(':')),
            ("a\nb", BadCharacter('\n')),
        ] {
            assert_eq!(name.parse::<BaselineName>(), Err(error), "{name:?}");
        }
        for key in ["", "..", ".git", "-x", "a/b", r"a\b", "a\n", "ä"] {
            assert!(!is_machine_key(key), "{key:?}");
        }
        assert!(is_machine_key("x86_64-GenuineIntel-06-8f-08-kvm-smt"));
        let long = "x".repeat(201);
        assert_eq!(long.parse::<BaselineName>(), Err(TooLong(201)));
    }
}
