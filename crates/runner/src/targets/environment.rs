//! Environment variables that a bench inherits.
//!
//! Others may have written a bench, and the environment of a CI job holds tokens, store
//! credentials, and files that control the job's next steps. So a bench inherits only a list of
//! variables, and those that the settings add.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;

use memchr::memmem;
use wildmatch::WildMatch;

use crate::targets::bench_targets::BenchTarget;

/// The variables of one process.
pub type Variables = BTreeMap<OsString, OsString>;

/// Variables that every bench inherits; `*` matches any characters.
const KEPT: [&str; 57] = [
    // User and location.
    "HOME",
    "HOSTNAME",
    "LOGNAME",
    "OLDPWD",
    "PATH",
    "PWD",
    "SHELL",
    "SHLVL",
    "TEMP",
    "TMP",
    "TMPDIR",
    "USER",
    "XDG_*",
    "_",
    // Language, time, terminal, screen.
    "CLICOLOR*",
    "COLORTERM",
    "COLUMNS",
    "DISPLAY",
    "FORCE_COLOR",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "LINES",
    "NO_COLOR",
    "TERM",
    "TZ",
    "TZDIR",
    "WAYLAND_DISPLAY",
    // Linker, allocators, threads, devices: they change how fast a program runs.
    "CUDA_*",
    "DYLD_*",
    "GLIBC_TUNABLES",
    "GOMP_*",
    "JEMALLOC_*",
    "KMP_*",
    "LD_*",
    "MALLOC_*",
    "MIMALLOC_*",
    "MKL_*",
    "OMP_*",
    "OPENBLAS_*",
    "RAYON_*",
    "TCMALLOC_*",
    "TOKIO_*",
    "_RJEM_*",
    // Rust, cargo, criterion, and the variable that nearly every CI sets.
    "CARGO",
    "CARGO_*",
    "CI",
    "CRITERION_*",
    "PROPTEST_*",
    "RUST*",
    // Windows programs do not start without these.
    "APPDATA",
    "COMSPEC",
    "LOCALAPPDATA",
    "NUMBER_OF_PROCESSORS",
    "PATHEXT",
    "SYSTEM*",
    "USERPROFILE",
];

/// Exceptions from that list, which no bench inherits unless the settings name them. A launch sets
/// this program's own variables anew.
const DROPPED: [&str; 8] = [
    "CARGO_HTTP_*",
    "CARGO_REGISTR*",
    "CARGO_TOPDOWN_*",
    "*CREDENTIAL*",
    "*PASSW*",
    "*SECRET*",
    "*TOKEN*",
    "*_KEY",
];

/// Shorter names occur in executables by chance.
const MIN_SEARCHED_LENGTH: usize = 4;

/// Returns the variables of `all` that a bench inherits; `more` are the settings' patterns.
pub fn inherited(
    all: impl IntoIterator<Item = (OsString, OsString)>,
    more: &[String],
) -> Variables {
    let all = all.into_iter();
    all.filter(|(name, _)| is_inherited(name, more)).collect()
}

fn is_inherited(name: &OsStr, more: &[String]) -> bool {
    let name = name.to_string_lossy();
    let is_one_of = |patterns: &[&str]| {
        let upper = name.to_uppercase();
        patterns.iter().any(|p| WildMatch::new(p).matches(&upper))
    };
    let is_added = more.iter().any(|p| WildMatch::new(p).matches(&name));
    is_added || is_one_of(&KEPT) && !is_one_of(&DROPPED)
}

/// Returns the set variables that `target` does not inherit although its executable contains their
/// names, so it may expect them. Variables of this program do not count.
///
/// # Errors
/// Returns an error if the executable cannot be read.
pub fn missed(
    target: &BenchTarget,
    all: impl IntoIterator<Item = (OsString, OsString)>,
) -> io::Result<Vec<String>> {
    let names = all.into_iter().filter_map(|(name, _)| {
        let name = name.into_string().ok()?;
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        (name.len() >= MIN_SEARCHED_LENGTH
            && name.chars().all(is_word)
            && !name.starts_with("CARGO_TOPDOWN_")
            && !is_inherited(OsStr::new(&name), &target.keep_env))
        .then_some(name)
    });
    let names: Vec<String> = names.collect();
    found_in(&target.executable, &names)
}

fn found_in(executable: &Path, names: &[String]) -> io::Result<Vec<String>> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let mut content = std::fs::read(executable)?;
    // The longest first, since one name can be a part of another.
    let mut sorted = names.to_vec();
    sorted.sort_by_key(|name| std::cmp::Reverse(name.len()));
    sorted.retain(|name| {
        let found: Vec<usize> = memmem::find_iter(&content, name).collect();
        for &start in &found {
            content[start..start + name.len()].fill(0);
        }
        !found.is_empty()
    });
    sorted.sort();
    Ok(sorted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names_kept(names: &[&str], more: &[&str]) -> Vec<String> {
        let all = names.iter().map(|name| (name.into(), "value".into()));
        let more: Vec<String> = more.iter().map(ToString::to_string).collect();
        let kept = inherited(all, &more);
        kept.into_keys()
            .map(|name| name.into_string().unwrap())
            .collect()
    }

    #[test]
    fn job_variables_and_secrets_are_not_inherited() {
        let of_a_job = [
            "GITHUB_ENV",
            "GITHUB_PATH",
            "GITHUB_OUTPUT",
            "GITHUB_TOKEN",
            "ACTIONS_RUNTIME_TOKEN",
            "ACTIONS_ID_TOKEN_REQUEST_URL",
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
            "AZURE_STORAGE_ACCOUNT_KEY",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "CARGO_REGISTRY_TOKEN",
            "CARGO_REGISTRIES_MINE_TOKEN",
            "CARGO_TOPDOWN_STORE",
            "RUST_SECRET",
            "SSH_AUTH_SOCK",
            "CI_JOB_TOKEN",
            "DATABASE_URL",
            "MY_OWN",
        ];
        assert_eq!(names_kept(&of_a_job, &[]), [""; 0]);
        let usual = [
            "CARGO_HOME",
            "HOME",
            "LC_ALL",
            "LD_LIBRARY_PATH",
            "PATH",
            "RAYON_NUM_THREADS",
            "RUSTUP_HOME",
            "RUST_LOG",
            "SystemRoot",
            "TMPDIR",
        ];
        assert_eq!(names_kept(&usual, &[]), usual);
        assert_eq!(
            names_kept(&of_a_job, &["MY_*", "DATABASE_URL"]),
            ["DATABASE_URL", "MY_OWN"]
        );
        assert_eq!(names_kept(&of_a_job, &["*"]).len(), of_a_job.len());
    }

    #[test]
    fn variable_name_is_found_in_executable() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("bench");
        std::fs::write(&path, b"\x7fELF..could not readMY_SIZE\0and MY_SIZE_TWO").unwrap();
        let names = ["MY_SIZE", "MY_SIZE_TWO", "SIZE_TWO", "OTHER"].map(str::to_owned);
        assert_eq!(found_in(&path, &names).unwrap(), ["MY_SIZE", "MY_SIZE_TWO"]);
    }
}
