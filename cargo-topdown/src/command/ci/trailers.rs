//! Regressions that the head commit accepts: trailers `Benchmark-Accepted: BENCH: REASON`.
//!
//! GitHub says who opened a pull request, so that is asked. The author in a commit can be anybody.

use std::path::Path;

use topdown_gate::policy::AcceptedBenchmark;
use topdown_report::workflow_command::Level;

use super::github::annotate;
use super::variables::Variables;
use crate::git::{GitError, git};

const KEY: &str = "Benchmark-Accepted";
/// The digits of a commit by which people know it.
const COMMIT_DIGITS: usize = 9;

/// A trailer with a benchmark and a reason.
#[derive(Debug, PartialEq)]
pub struct Trailer {
    accepted: AcceptedBenchmark,
    /// The commit that has it.
    commit: String,
}

impl Trailer {
    /// Returns the flag of `compare` that does what the trailer says, and who said it.
    pub fn flag(&self) -> String {
        let AcceptedBenchmark { benchmark, reason } = &self.accepted;
        let commit: String = self.commit.chars().take(COMMIT_DIGITS).collect();
        format!("--accept={benchmark}: {reason} ({KEY} in {commit})")
    }
}

/// Returns the trailers of the head commit, unless its author may not accept anything. Says what is
/// ignored, and why.
pub fn accepted(variables: &Variables, directory: &Path) -> Vec<Trailer> {
    let allowed = variables.text("INPUT_ACCEPT_FROM");
    if allowed.trim().is_empty() {
        return Vec::new();
    }
    let head = variables.some("HEAD_COMMIT").unwrap_or("HEAD");
    let lines = match trailers(directory, head) {
        Ok(lines) => lines,
        Err(error) => {
            let message = format!("the head commit's message cannot be read: {error}");
            annotate(Level::Notice, &message);
            return Vec::new();
        }
    };
    let association = variables.some("AUTHOR_ASSOCIATION");
    if let Some(association) = association.filter(|_| !lines.is_empty())
        && !allowed.split(',').any(|word| word.trim() == association)
    {
        let message = format!(
            "{KEY} is ignored: the pull request's author is {association}, and the input \
             `accept-from` is {allowed}"
        );
        annotate(Level::Warning, &message);
        return Vec::new();
    }
    let parsed = lines.iter().filter_map(|line| match line.parse() {
        Ok(accepted) => Some(Trailer {
            accepted,
            commit: head.to_owned(),
        }),
        Err(error) => {
            annotate(Level::Warning, &format!("{KEY} is ignored: {error}"));
            None
        }
    });
    parsed.collect()
}

/// Returns the values of the trailers of `commit`, which a shallow checkout may lack.
fn trailers(directory: &Path, commit: &str) -> Result<Vec<String>, GitError> {
    let format = format!("--format=%(trailers:key={KEY},valueonly,unfold)");
    let read = || {
        git(
            directory,
            &["log", "-1", &format, "--end-of-options", commit, "--"],
        )
    };
    let text = read().or_else(|_| {
        git(
            directory,
            &[
                "fetch",
                "--quiet",
                "--no-tags",
                "--depth=1",
                "origin",
                commit,
            ],
        )?;
        read()
    })?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    Ok(lines.map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A repository whose head commit has this message.
    fn repository(message: &str) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for words in [
            &["init", "--quiet"][..],
            &[
                "-c",
                "user.name=a",
                "-c",
                "user.email=a@example.com",
                "commit",
                "--quiet",
                "--allow-empty",
                "--message",
                message,
            ],
        ] {
            git(directory.path(), words).unwrap();
        }
        directory
    }

    fn flags(message: &str, variables: &[(&'static str, &'static str)]) -> Vec<String> {
        let repository = repository(message);
        let trailers = accepted(&Variables::of(variables.iter().copied()), repository.path());
        trailers.iter().map(Trailer::flag).collect()
    }

    const MESSAGE: &str = "Check more\n\nBody: not a trailer\n\nReviewed-by: b\n\
        Benchmark-Accepted: parse/1k: checks more\nBenchmark-Accepted: s::b::sort: stable now\n\
        benchmark-accepted: nonsense\n";

    #[test]
    fn trailers_become_flags_with_their_commit() {
        let push = [("INPUT_ACCEPT_FROM", "OWNER")];
        assert_eq!(
            flags(MESSAGE, &push),
            [
                "--accept=parse/1k: checks more (Benchmark-Accepted in HEAD)",
                "--accept=s::b::sort: stable now (Benchmark-Accepted in HEAD)",
            ]
        );
        assert!(flags("Benchmark-Accepted: parse/1k: in the subject", &push).is_empty());
    }

    #[test]
    fn only_listed_associations_accept() {
        for (association, expected) in
            [("OWNER", 2), ("MEMBER", 2), ("CONTRIBUTOR", 0), ("NONE", 0)]
        {
            let variables = [
                ("INPUT_ACCEPT_FROM", "OWNER, MEMBER"),
                ("AUTHOR_ASSOCIATION", association),
            ];
            assert_eq!(flags(MESSAGE, &variables).len(), expected, "{association}");
        }
        assert!(flags(MESSAGE, &[("INPUT_ACCEPT_FROM", "")]).is_empty());
    }

    #[test]
    fn unknown_commit_accepts_nothing() {
        let variables = [
            ("INPUT_ACCEPT_FROM", "OWNER"),
            ("HEAD_COMMIT", "0123456789012345678901234567890123456789"),
        ];
        assert!(flags(MESSAGE, &variables).is_empty());
    }
}
