//! Files that git ignores, which a fresh checkout lacks.
//!
//! A base that does not build without them gets copies of those that the candidate's build reads.
//! Not before it has failed: a build script that writes such a file itself must find none, or the
//! base would be built from the candidate's. Nor of all that is ignored: objects of a C library in
//! the source tree would be the candidate's, too.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use super::error::BaseTreeError;
use crate::git::{GitError, git};

/// At most this many are named.
const MAX_NAMED: usize = 5;

/// The file that marks directories of caches, such as cargo's target directory.
const CACHE_TAG: &str = "CACHEDIR.TAG";

/// The files of a candidate that its base lacks.
#[derive(Debug)]
pub struct IgnoredFiles {
    /// The root of the candidate's work tree.
    pub candidate: PathBuf,
    /// The root of the base's.
    pub base: PathBuf,
    /// Names those that were copied, a line each.
    pub list: PathBuf,
}

impl IgnoredFiles {
    /// Copies those of `read` that git ignores and the base lacks, and returns their paths within
    /// the tree.
    pub fn copy(&self, read: &BTreeSet<PathBuf>) -> Result<Vec<String>, BaseTreeError> {
        let missing_files: Vec<&str> = read
            .iter()
            .filter_map(|path| path.strip_prefix(&self.candidate).ok()?.to_str())
            .filter(|path| !self.base.join(path).exists())
            .collect();
        if missing_files.is_empty() {
            return Ok(Vec::new());
        }
        let ignored = self.ignored(&[&["--"], &missing_files[..]].concat())?;
        for path in &ignored {
            self.copy_one(path)?;
        }
        let known = fs::read_to_string(&self.list).unwrap_or_default();
        let all: BTreeSet<&str> = known
            .lines()
            .chain(ignored.iter().map(String::as_str))
            .collect();
        let text: String = all.into_iter().map(|path| format!("{path}\n")).collect();
        fs::write(&self.list, text).map_err(BaseTreeError::at(&self.list))?;
        Ok(ignored)
    }

    /// Copies again what was copied for an earlier base and has changed since.
    pub fn renew(&self) -> Result<(), BaseTreeError> {
        let Ok(known) = fs::read_to_string(&self.list) else {
            return Ok(());
        };
        let is_there = |path: &&str| self.candidate.join(path).is_file();
        let known: Vec<&str> = known.lines().filter(is_there).collect();
        if known.is_empty() {
            return Ok(());
        }
        for path in self.ignored(&[&["--"], &known[..]].concat())? {
            self.copy_one(&path)?;
        }
        Ok(())
    }

    /// Names what git ignores in the candidate's tree and the base lacks, build directories apart;
    /// `None` if there is nothing.
    pub fn missing_files(&self) -> Option<String> {
        let is_lacking = |path: &String| {
            let ignored = self.candidate.join(path);
            let is_built = ignored.join(CACHE_TAG).exists() || self.list.starts_with(&ignored);
            !is_built && !self.base.join(path).exists()
        };
        let ignored = self.ignored(&["--directory"]).ok()?;
        let missing_files: Vec<String> = ignored.into_iter().filter(is_lacking).collect();
        let named = missing_files.iter().take(MAX_NAMED);
        let mut named: Vec<String> = named.map(|path| format!("`{path}`")).collect();
        if let more @ 1.. = missing_files.len().saturating_sub(MAX_NAMED) {
            named.push(format!("{more} more"));
        }
        (!named.is_empty()).then(|| named.join(", "))
    }

    fn ignored(&self, words: &[&str]) -> Result<Vec<String>, GitError> {
        let list = [
            "ls-files",
            "--others",
            "--ignored",
            "--exclude-standard",
            "-z",
        ];
        let listed = git(&self.candidate, &[&list[..], words].concat())?;
        Ok(listed.split_terminator('\0').map(str::to_owned).collect())
    }

    /// Copies a file, unless the base has it as it is: a new time would build the base again.
    pub fn copy_one(&self, path: &str) -> Result<(), BaseTreeError> {
        let (from, to) = (self.candidate.join(path), self.base.join(path));
        let content = fs::read(&from).map_err(BaseTreeError::at(&from))?;
        if fs::read(&to).is_ok_and(|there| there == content) {
            return Ok(());
        }
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent).map_err(BaseTreeError::at(parent))?;
        }
        fs::write(&to, content).map_err(BaseTreeError::at(&to))
    }
}
