//! Calls GitHub through its program `gh`, which reads the token from `GH_TOKEN`.

use std::io::{self, Write};
use std::process::{Command, Stdio};

use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::terminal::tell;

/// Why a call failed.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum GhError {
    #[error(
        "GitHub's program `gh` could not be started: {0}\n\
         To comment, the runner needs it: https://cli.github.com"
    )]
    NoProgram(String),
    #[error("could not {doing}: {reason}\n{}", remedy(reason))]
    Refused {
        doing: String,
        /// What `gh` said.
        reason: String,
    },
}

/// Returns what to do where `gh` fails for this reason.
fn remedy(reason: &str) -> &'static str {
    if reason.contains("(HTTP 401)") {
        "The token is not valid. Check the input `token`."
    } else if reason.contains("(HTTP 403)") || reason.contains("(HTTP 404)") {
        "The job needs the permission `pull-requests: write`, which those of pull requests from \
         forks never have: for these use comment/action.yml in a workflow of its own."
    } else {
        "To try again, run the job again."
    }
}

/// Calls `gh api` for a list. `doing` says what for.
///
/// # Errors
/// Returns an error if `gh` cannot be started or fails, or does not answer with
/// such a list.
pub fn list<T: DeserializeOwned>(doing: &str, arguments: &[&str]) -> Result<Vec<T>, GhError> {
    let listed = call(doing, arguments, "")?;
    pages(&listed).ok_or_else(|| GhError::Refused {
        doing: doing.to_owned(),
        reason: "the answer is not GitHub's".to_owned(),
    })
}

/// Reads the lists that `gh` prints one after the other, one per page.
pub fn pages<T: DeserializeOwned>(json: &[u8]) -> Option<Vec<T>> {
    let pages = serde_json::Deserializer::from_slice(json).into_iter::<Vec<T>>();
    let pages: Result<Vec<Vec<T>>, _> = pages.collect();
    Some(pages.ok()?.into_iter().flatten().collect())
}

/// Calls `gh api` and returns what it prints. `doing` says what for.
///
/// # Errors
/// Returns an error if `gh` cannot be started, or fails.
pub fn call(doing: &str, arguments: &[&str], input: &str) -> Result<Vec<u8>, GhError> {
    let not_started = |error: io::Error| GhError::NoProgram(error.to_string());
    let mut gh = Command::new("gh")
        .arg("api")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(not_started)?;
    // If it does not read everything, its exit code says so.
    if let Some(mut to_gh) = gh.stdin.take() {
        let _ = to_gh.write_all(input.as_bytes());
    }
    let output = gh.wait_with_output().map_err(not_started)?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    tell!("{}", said.trim_end());
    let first = said.lines().find(|line| !line.trim().is_empty());
    Err(GhError::Refused {
        doing: doing.to_owned(),
        reason: first.map_or_else(|| output.status.to_string(), str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_list_is_refused() {
        assert_eq!(pages::<u8>(b"[1, 2]\n[3]"), Some(vec![1, 2, 3]));
        assert_eq!(pages::<u8>(b""), Some(vec![]));
        assert_eq!(pages::<u8>(b"["), None);
        assert_eq!(pages::<u8>(b"{\"message\": \"Bad credentials\"}"), None);
    }

    #[test]
    fn a_refusal_says_what_failed_why_and_what_to_do() {
        let refused = |reason: &str| {
            let refused = GhError::Refused {
                doing: "read the pull requests of owner/name".to_owned(),
                reason: reason.to_owned(),
            };
            refused.to_string()
        };
        let begins = "could not read the pull requests of owner/name: ";
        for (reason, remedy) in [
            ("gh: Bad credentials (HTTP 401)", "The token is not valid."),
            ("gh: Not accessible (HTTP 403)", "`pull-requests: write`"),
            ("gh: Not Found (HTTP 404)", "`pull-requests: write`"),
            ("gh: Validation Failed (HTTP 422)", "run the job again"),
            ("error connecting to api.github.com", "run the job again"),
        ] {
            let text = refused(reason);
            assert!(text.starts_with(&format!("{begins}{reason}\n")), "{text}");
            assert!(text.contains(remedy), "{text}");
        }
    }
}
