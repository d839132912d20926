//! Calls GitHub through its program `gh`, which reads the token from `GH_TOKEN`.
//!
//! What to do about a refusal follows from the status and headers of GitHub's answer, which `gh`
//! prints if asked to, or from the exit code of `gh`; never from the words of a message.

use std::io;
use std::process::Command;

use serde::de::DeserializeOwned;
use thiserror::Error;

use topdown_system::waits;
use topdown_terminal::terminal::message;

/// The most entries that GitHub puts on a page.
const PAGE: usize = 100;

/// The exit code of `gh` that says that it has no token, or none that it can use.
const NEEDS_AUTHENTICATION: i32 = 4;

/// Why a call failed.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum GhError {
    #[error(
        "GitHub's program `gh` could not be started: {0}\n\
         To comment, the runner needs it: https://cli.github.com"
    )]
    NoProgram(String),
    #[error("could not {doing}: {reason}\n{}", cause.remedy())]
    Refused {
        doing: String,
        /// What `gh` said.
        reason: String,
        cause: Cause,
    },
}

/// The presumed reason of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    Token,
    Permission,
    TooManyRequests,
    Other,
}

impl Cause {
    fn remedy(self) -> &'static str {
        match self {
            Cause::Token => "The token is not valid. Check the input `token`.",
            Cause::Permission => {
                "The job needs the permission `pull-requests: write`, which those of pull requests \
                 from forks never have: for these use comment/action.yml in a workflow of its own."
            }
            Cause::TooManyRequests => {
                "The token has made too many requests. Run the job again in an hour."
            }
            Cause::Other => "To try again, run the job again.",
        }
    }

    fn of(exit_code: Option<i32>, answer: &Answer<'_>) -> Cause {
        let is_limited = answer.has_header("retry-after", |_| true)
            || answer.has_header("x-ratelimit-remaining", |left| left == "0");
        match (answer.status, exit_code) {
            (Some(401), _) | (None, Some(NEEDS_AUTHENTICATION)) => Cause::Token,
            (Some(429), _) => Cause::TooManyRequests,
            (Some(403), _) if is_limited => Cause::TooManyRequests,
            (Some(403 | 404), _) => Cause::Permission,
            _ => Cause::Other,
        }
    }
}

/// GitHub's answer, as `gh api --include` prints it.
#[derive(Debug, PartialEq, Eq)]
struct Answer<'a> {
    /// `None` if there was no answer.
    status: Option<u16>,
    head: &'a str,
    body: &'a [u8],
}

impl Answer<'_> {
    fn of(printed: &[u8]) -> Answer<'_> {
        let ends = |end: &[u8]| {
            let at = printed.windows(end.len()).position(|window| window == end);
            at.map(|at| (at, at + end.len()))
        };
        // Lines of the head end in CRLF, but the first one, of the status.
        let first = [ends(b"\r\n\r\n"), ends(b"\n\r\n"), ends(b"\n\n")];
        let end = first.into_iter().flatten().min_by_key(|(_, end)| *end);
        let (head, body) = end.map_or((printed, &printed[printed.len()..]), |(head, body)| {
            (&printed[..head], &printed[body..])
        });
        let head = std::str::from_utf8(head).unwrap_or_default();
        let mut words = head.lines().next().unwrap_or_default().split_whitespace();
        let is_http = words.next().is_some_and(|word| word.starts_with("HTTP/"));
        let status = words.next().filter(|_| is_http);
        match status.and_then(|status| status.parse().ok()) {
            Some(status) => Answer {
                status: Some(status),
                head,
                body,
            },
            None => Answer {
                status: None,
                head: "",
                body: printed,
            },
        }
    }

    fn has_header(&self, name: &str, is: impl Fn(&str) -> bool) -> bool {
        let mut headers = self.head.lines().filter_map(|line| line.split_once(':'));
        headers.any(|(header, value)| header.eq_ignore_ascii_case(name) && is(value.trim()))
    }
}

/// Calls `gh api` with `arguments` for all pages of a list. `doing` says what for.
///
/// # Errors
/// Returns an error if `gh` cannot be started or fails, or does not answer with such a list.
pub fn list<T: DeserializeOwned>(doing: &str, arguments: &[&str]) -> Result<Vec<T>, GhError> {
    let mut all = Vec::new();
    for page in 1.. {
        let (page, most) = (format!("page={page}"), format!("per_page={PAGE}"));
        let paged = ["--method", "GET", "-f", &most, "-f", &page];
        let printed = call(doing, &[arguments, &paged].concat(), "")?;
        let entries: Vec<T> = serde_json::from_slice(&printed).map_err(|_| GhError::Refused {
            doing: doing.to_owned(),
            reason: "the answer is not GitHub's".to_owned(),
            cause: Cause::Other,
        })?;
        let is_last = entries.len() < PAGE;
        all.extend(entries);
        if is_last {
            break;
        }
    }
    Ok(all)
}

/// Calls `gh api` and returns GitHub's answer. `doing` says what for.
///
/// # Errors
/// Returns an error if `gh` cannot be started, or fails.
pub fn call(doing: &str, arguments: &[&str], input: &str) -> Result<Vec<u8>, GhError> {
    let not_started = |error: io::Error| GhError::NoProgram(error.to_string());
    let mut gh = Command::new("gh");
    gh.args(["api", "--include"]).args(arguments);
    let output = waits::GH
        .output_for(&mut gh, input.as_bytes())
        .map_err(not_started)?;
    let answer = Answer::of(&output.stdout);
    if output.status.success() {
        return Ok(answer.body.to_vec());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    message!("{}", said.trim_end());
    let first = said.lines().find(|line| !line.trim().is_empty());
    Err(GhError::Refused {
        doing: doing.to_owned(),
        reason: first.map_or_else(|| output.status.to_string(), str::to_owned),
        cause: Cause::of(output.status.code(), &answer),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answer_has_status_headers_and_body() {
        // As `gh` prints it: only headers end in CRLF.
        let printed = b"HTTP/2.0 200 OK\nEtag: W/\"a\"\r\nLink: <x>\r\n\r\n[1,\r\n\r\n2]";
        let answer = Answer::of(printed);
        assert_eq!(answer.status, Some(200));
        assert_eq!(answer.body, b"[1,\r\n\r\n2]");
        assert!(answer.has_header("link", |value| value == "<x>"));
        let bare = Answer::of(b"HTTP/1.1 204 No Content\n\r\n");
        assert_eq!((bare.status, bare.body), (Some(204), &b""[..]));
        // What has no status is a body.
        for text in [
            &b"[]"[..],
            b"",
            b"200 OK\n\n[]",
            b"HTTP/2.0 OK\n\n[]",
            b"\xff\n\n",
        ] {
            let answer = Answer::of(text);
            assert_eq!((answer.status, answer.body), (None, text));
        }
    }

    #[test]
    fn action_depends_on_status_not_on_text() {
        let cause = |code, printed: &str| Cause::of(Some(code), &Answer::of(printed.as_bytes()));
        for (printed, expected) in [
            ("HTTP/2.0 401 Unauthorized\n\r\n{}", Cause::Token),
            ("HTTP/2.0 403 Forbidden\n\r\n{}", Cause::Permission),
            ("HTTP/2.0 404 Not Found\n\r\n{}", Cause::Permission),
            (
                "HTTP/2.0 403 Forbidden\nX-Ratelimit-Remaining: 0\r\n\r\n{}",
                Cause::TooManyRequests,
            ),
            (
                "HTTP/2.0 403 Forbidden\nX-Ratelimit-Remaining: 4999\r\n\r\n{}",
                Cause::Permission,
            ),
            (
                "HTTP/2.0 403 Forbidden\nRetry-After: 60\r\n\r\n{}",
                Cause::TooManyRequests,
            ),
            (
                "HTTP/2.0 429 Too Many Requests\n\r\n{}",
                Cause::TooManyRequests,
            ),
            ("HTTP/2.0 422 Unprocessable Entity\n\r\n{}", Cause::Other),
            ("HTTP/2.0 502 Bad Gateway\n\r\n(HTTP 401)", Cause::Other),
            ("", Cause::Other),
            ("(HTTP 403)", Cause::Other),
        ] {
            assert_eq!(cause(1, printed), expected, "{printed}");
        }
        assert_eq!(cause(NEEDS_AUTHENTICATION, ""), Cause::Token);
    }

    #[test]
    fn refusal_has_operation_cause_and_remedy() {
        let causes = [
            Cause::Token,
            Cause::Permission,
            Cause::TooManyRequests,
            Cause::Other,
        ];
        let refused = causes.map(|cause| {
            let refused = GhError::Refused {
                doing: "read the pull requests of owner/name".to_owned(),
                reason: "gh: Not accessible".to_owned(),
                cause,
            };
            refused.to_string()
        });
        insta::assert_snapshot!(refused.join("\n\n"));
    }
}
