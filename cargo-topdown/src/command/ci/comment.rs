//! `cargo topdown ci comment`: keeps one comment on a pull request up to date. Where nothing
//! changed it writes none, and corrects the one that is there.
//!
//! The pull request's own code made the reports. So none of them is posted: the comment is made
//! here, of what `ForeignComparison` takes from comparison.json, and which pull request it is for
//! comes from the event.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use thiserror::Error;

use super::gh::{self, GhError};
use super::github::annotate;
use super::no_comparison;
use super::outcome::Ending;
use super::variables::Variables;
use crate::exit::Exit;
use topdown_report::comparison_json::MAX_FILE_BYTES;
use topdown_report::foreign_comparison::ForeignComparison;
use topdown_report::workflow_command::Level;
use topdown_terminal::terminal::message;

/// Runs the step. A comment that cannot be posted is worth a warning; the gate does not fail for
/// it.
pub fn run(variables: &Variables) -> Exit {
    match Inputs::of(variables).and_then(|inputs| inputs.comment()) {
        Ok(done) => message!("{done}"),
        Err(reason) => annotate(Level::Warning, &format!("no comment: {reason}")),
    }
    Exit::Success
}

/// Why no comment was posted. Never quotes the comparison, which the pull request's code wrote.
#[derive(Debug, Error, PartialEq, Eq)]
enum NoComment {
    #[error("`{0}` is not set; `cargo topdown ci` runs in the steps of action.yml only")]
    Unset(&'static str),
    #[error("the event names neither a pull request nor a branch; its fork may have been deleted")]
    NoHead,
    #[error("no open pull request has this commit; it was closed, or has newer commits")]
    NoPullRequest,
    #[error(
        "comparison.json is not what this program writes; both workflows must use the same version \
         of the action"
    )]
    NoComparison,
    #[error(
        "comparison.json is longer than {} MiB, the limit; compare fewer benchmarks at once",
        MAX_FILE_BYTES >> 20
    )]
    TooLong,
    #[error("the reports have no comparison.json and no reason for it; see the log of the run")]
    NoEnding,
    #[error(transparent)]
    Gh(#[from] GhError),
}

/// What the step did, for its log.
#[derive(Debug, PartialEq, Eq)]
enum CommentResult {
    Posted { number: u64 },
    Updated { number: u64 },
    NothingNew,
    NothingCompared,
}

impl fmt::Display for CommentResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CommentResult::Posted { number } => {
                write!(f, "posted a comment on pull request {number}")
            }
            CommentResult::Updated { number } => {
                write!(f, "updated the comment on pull request {number}")
            }
            CommentResult::NothingNew => f.write_str("no comment: there is nothing to report"),
            CommentResult::NothingCompared => f.write_str(
                "no comment: there was nothing to \
                                                           compare",
            ),
        }
    }
}

#[derive(Debug)]
struct Inputs {
    /// `OWNER/NAME`.
    repository: String,
    pull_request: PullRequest,
    /// The directory of the reports.
    report: PathBuf,
    /// The name of the artifact with the reports, by which comments are distinguished.
    artifact: String,
    run_url: String,
    /// How the run ended: our word for it, or GitHub's.
    ended: String,
}

#[derive(Debug, PartialEq)]
enum PullRequest {
    Number(u64),
    /// GitHub names no pull request of a fork in the event, but the branch and the commit.
    Head {
        owner: String,
        branch: String,
        sha: String,
    },
}

impl PullRequest {
    fn of(variables: &Variables) -> Result<PullRequest, NoComment> {
        if let Some(number) = variables.some("PULL_REQUEST") {
            let number = number.parse().map_err(|_| NoComment::NoPullRequest)?;
            return Ok(PullRequest::Number(number));
        }
        let part = |name| {
            let text = variables.some(name).ok_or(NoComment::NoHead);
            text.map(str::to_owned)
        };
        Ok(PullRequest::Head {
            owner: part("HEAD_OWNER")?,
            branch: part("HEAD_BRANCH")?,
            sha: part("HEAD_SHA")?,
        })
    }
}

impl Inputs {
    fn of(variables: &Variables) -> Result<Inputs, NoComment> {
        let required = |name| variables.some(name).ok_or(NoComment::Unset(name));
        Ok(Inputs {
            repository: required("GITHUB_REPOSITORY")?.to_owned(),
            pull_request: PullRequest::of(variables)?,
            report: required("REPORT")?.into(),
            artifact: required("ARTIFACT")?.to_owned(),
            run_url: required("RUN_URL")?.to_owned(),
            ended: variables.text("ENDED").to_owned(),
        })
    }

    fn comment(&self) -> Result<CommentResult, NoComment> {
        let number = self.number()?;
        let Some(comment_text) = comment_text(&self.report, &self.ended)? else {
            return Ok(CommentResult::NothingCompared);
        };
        let repository = &self.repository;
        let comments = format!("repos/{repository}/issues/{number}/comments");
        let reading = format!("read the comments on pull request {number} of {repository}");
        let listed: Vec<Comment> = gh::list(&reading, &[&comments])?;
        let (method, path, done) = match existing(&listed, &self.marker()) {
            Some(id) => {
                let path = format!("repos/{repository}/issues/comments/{id}");
                ("PATCH", path, CommentResult::Updated { number })
            }
            None if comment_text.has_news => ("POST", comments, CommentResult::Posted { number }),
            None => return Ok(CommentResult::NothingNew),
        };
        let body = self.body(&comment_text.text);
        let request = serde_json::json!({ "body": body }).to_string();
        let writing = format!("write a comment on pull request {number} of {repository}");
        gh::call(
            &writing,
            &["--method", method, &path, "--input", "-"],
            &request,
        )?;
        Ok(done)
    }

    fn number(&self) -> Result<u64, NoComment> {
        let (owner, branch, sha) = match &self.pull_request {
            PullRequest::Number(number) => return Ok(*number),
            PullRequest::Head { owner, branch, sha } => (owner, branch, sha),
        };
        let path = format!("repos/{}/pulls", self.repository);
        let head = format!("head={owner}:{branch}");
        let open = [&*path, "-f", "state=open", "-f", &head];
        let reading = format!("read the pull requests of {}", self.repository);
        let open: Vec<OpenPullRequest> = gh::list(&reading, &open)?;
        // Its branch may have moved on.
        let found = open.iter().find(|open| open.head.sha == *sha);
        found
            .map(|open| open.number)
            .ok_or(NoComment::NoPullRequest)
    }

    /// Returns the first line of the comment, by which the next run finds it.
    fn marker(&self) -> String {
        format!("<!-- cargo-topdown: {} -->", self.artifact)
    }

    fn body(&self, text: &str) -> String {
        let text = text.trim_end();
        let link = format!("[Reports and raw data]({})", self.run_url);
        format!("{}\n{text}\n\n{link}", self.marker())
    }
}

/// The text of a comment.
struct CommentText {
    /// Whether it is worth a new comment.
    has_news: bool,
    text: String,
}

/// Makes the text of the comparison in `report`. If there is none, says why, as far as the reports
/// or how the run `ended` tell. Returns `None` if it was not meant to compare.
fn comment_text(report: &Path, ended: &str) -> Result<Option<CommentText>, NoComment> {
    let comparison = report.join("comparison.json");
    // A link is there too, and is refused.
    if fs::symlink_metadata(&comparison).is_ok() {
        let read = ForeignComparison::read(&comparison).map_err(|error| {
            message!("{error}");
            if error.is_too_long() {
                NoComment::TooLong
            } else {
                NoComment::NoComparison
            }
        })?;
        return Ok(Some(CommentText {
            has_news: read.has_news(),
            text: read.to_string(),
        }));
    }
    match ended {
        // There was nothing to compare, as was asked for, or nothing ran.
        "success" | "skipped" | "neutral" | "stale" | "action_required" => Ok(None),
        _ if Ending::named(ended) == Some(Ending::Measured) => Ok(None),
        _ => {
            let text = no_comparison::comment(report, ended).ok_or(NoComment::NoEnding)?;
            Ok(Some(CommentText {
                has_news: true,
                text,
            }))
        }
    }
}

#[derive(Debug, Deserialize)]
struct OpenPullRequest {
    number: u64,
    head: Head,
}

#[derive(Debug, Deserialize)]
struct Head {
    sha: String,
}

#[derive(Debug, Deserialize)]
struct Comment {
    id: u64,
    /// `None` for a deleted account.
    user: Option<User>,
    body: Option<String>,
}

#[derive(Debug, Deserialize)]
struct User {
    #[serde(rename = "type")]
    kind: String,
}

/// Returns the comment that an earlier run wrote. Users can imitate the marker, but not the author.
fn existing(comments: &[Comment], marker: &str) -> Option<u64> {
    let ours = comments.iter().find(|comment| {
        comment.user.as_ref().is_some_and(|user| user.kind == "Bot")
            && comment
                .body
                .as_ref()
                .is_some_and(|body| body.starts_with(marker))
    });
    ours.map(|comment| comment.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    const VARIABLES: [(&str, &str); 6] = [
        ("GITHUB_REPOSITORY", "owner/name"),
        ("PULL_REQUEST", "7"),
        ("REPORT", "reports"),
        ("ARTIFACT", "topdown-report"),
        ("RUN_URL", "https://github.com/owner/name/actions/runs/100"),
        ("ENDED", "regressed"),
    ];

    fn inputs(changed: &[(&'static str, &'static str)]) -> Result<Inputs, NoComment> {
        Inputs::of(&Variables::of(VARIABLES.iter().chain(changed).copied()))
    }

    #[test]
    fn pull_request_comes_from_event() {
        let number_for = |changed: &[_]| inputs(changed).map(|inputs| inputs.pull_request);
        assert_eq!(number_for(&[]), Ok(PullRequest::Number(7)));
        let head = [
            ("HEAD_OWNER", "fork$(id)"),
            ("HEAD_BRANCH", "patch`id`"),
            ("HEAD_SHA", "aaaa"),
        ];
        // The number is surer.
        assert_eq!(number_for(&head), Ok(PullRequest::Number(7)));
        let fork = [&head[..], &[("PULL_REQUEST", "")]].concat();
        let expected = PullRequest::Head {
            owner: "fork$(id)".to_owned(),
            branch: "patch`id`".to_owned(),
            sha: "aaaa".to_owned(),
        };
        assert_eq!(number_for(&fork), Ok(expected));
        for text in ["seven", "-7", "7/../../8", "7 "] {
            let number = [("PULL_REQUEST", text)];
            assert_eq!(number_for(&number), Err(NoComment::NoPullRequest), "{text}");
        }
        // As of a fork that was deleted.
        assert_eq!(number_for(&[("PULL_REQUEST", "")]), Err(NoComment::NoHead));
    }

    #[test]
    fn missing_variable_is_named() {
        for name in ["GITHUB_REPOSITORY", "REPORT", "ARTIFACT", "RUN_URL"] {
            assert_eq!(inputs(&[(name, "")]).unwrap_err(), NoComment::Unset(name));
        }
    }

    #[test]
    fn only_marked_bot_comment_is_ours() {
        let marker = inputs(&[]).unwrap().marker();
        let json = br#"[
            {"id": 1, "user": {"type": "User"}, "body": "<!-- cargo-topdown: topdown-report -->"},
            {"id": 2, "user": {"type": "Bot"}, "body": "another bot"},
            {"id": 3, "user": null, "body": "<!-- cargo-topdown: topdown-report -->"},
            {"id": 4, "user": {"type": "Bot"}, "body": null},
            {"id": 5, "user": {"type": "Bot"}, "body": "<!-- cargo-topdown: other -->\nold"},
            {"id": 6, "user": {"type": "Bot"},
             "body": "<!-- cargo-topdown: topdown-report -->\nold"}
        ]"#;
        let listed: Vec<Comment> = serde_json::from_slice(json).unwrap();
        assert_eq!(listed.len(), 6);
        assert_eq!(existing(&listed, &marker), Some(6));
        assert_eq!(existing(&listed[..5], &marker), None);
    }

    #[test]
    fn missing_comparison_is_posted_only_on_request() {
        let text = |ended| {
            comment_text(Path::new("missing"), ended)
                .map(|comment_text| comment_text.map(|comment_text| comment_text.text))
        };
        let failed = text("not-comparable").unwrap().unwrap();
        assert!(
            failed.starts_with("## TopDown: no comparison\n"),
            "{failed}"
        );
        for ended in ["success", "skipped", "action_required", "measured"] {
            assert_eq!(text(ended), Ok(None));
        }
        assert_eq!(text("regressed"), Err(NoComment::NoEnding));
    }

    #[test]
    fn invalid_comparison_is_not_posted() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("comparison.json");
        for text in ["", "@everyone", "{}", "[]", "{\"schema_version\": 1}"] {
            fs::write(&path, text).unwrap();
            let made = comment_text(root.path(), "failure").map(|_| ());
            assert_eq!(made, Err(NoComment::NoComparison), "{text}");
        }
        let file = fs::File::create(&path).unwrap();
        file.set_len(MAX_FILE_BYTES + 1).unwrap();
        let made = comment_text(root.path(), "failure").map(|_| ());
        assert_eq!(made, Err(NoComment::TooLong));
        #[cfg(unix)]
        {
            fs::remove_file(&path).unwrap();
            std::os::unix::fs::symlink(root.path().join("none"), &path).unwrap();
            let made = comment_text(root.path(), "failure").map(|_| ());
            assert_eq!(made, Err(NoComment::NoComparison));
        }
    }

    #[test]
    fn comment_starts_with_marker_and_ends_with_run() {
        assert_eq!(
            inputs(&[]).unwrap().body("## TopDown: passed\n\nText.\n"),
            "<!-- cargo-topdown: topdown-report -->\n## TopDown: passed\n\nText.\n\n\
             [Reports and raw data](https://github.com/owner/name/actions/runs/100)"
        );
    }
}
