//! The reports that a user requests in addition to the one on the terminal.

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use thiserror::Error;

use super::compared::Compared;
use super::{comparison_json, html, junit, markdown};

/// A report requested with `--report`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReportRequest {
    /// GitHub's workflow commands, among the program's messages.
    GithubAnnotations,
    /// A file in this format.
    File(FileFormat, PathBuf),
}

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFormat {
    /// A GitHub step summary.
    Markdown,
    /// A comment on a pull request: shorter, and its first line says whether there is news.
    Comment,
    /// JUnit XML.
    Junit,
    /// A page for a browser.
    Html,
    /// What `--json` prints.
    Json,
}

/// The text does not name a report.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("expected github, or markdown, comment, junit, html or json with =PATH")]
pub struct UnknownReport;

impl fmt::Display for ReportRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (format, path) = match self {
            ReportRequest::GithubAnnotations => return f.write_str("github"),
            ReportRequest::File(format, path) => (format, path.display()),
        };
        let format = match format {
            FileFormat::Markdown => "markdown",
            FileFormat::Comment => "comment",
            FileFormat::Junit => "junit",
            FileFormat::Html => "html",
            FileFormat::Json => "json",
        };
        write!(f, "{format}={path}")
    }
}

impl FromStr for ReportRequest {
    type Err = UnknownReport;

    fn from_str(text: &str) -> Result<ReportRequest, UnknownReport> {
        let (format, path) = match text.split_once('=') {
            None if text == "github" => return Ok(ReportRequest::GithubAnnotations),
            Some((format, path)) if !path.is_empty() => (format, path),
            _ => return Err(UnknownReport),
        };
        let format = match format {
            "markdown" => FileFormat::Markdown,
            "comment" => FileFormat::Comment,
            "junit" => FileFormat::Junit,
            "html" => FileFormat::Html,
            "json" => FileFormat::Json,
            _ => return Err(UnknownReport),
        };
        Ok(ReportRequest::File(format, path.into()))
    }
}

/// A report could not be written.
#[derive(Debug, Error)]
#[error("could not write the report {}: {error}", path.display())]
pub struct ReportError {
    path: PathBuf,
    #[source]
    error: io::Error,
}

impl ReportError {
    /// Makes the error for the report `path`.
    pub fn new(path: &Path, error: io::Error) -> ReportError {
        ReportError {
            path: path.to_owned(),
            error,
        }
    }
}

impl ReportRequest {
    /// Returns whether it shows the baseline's history.
    pub fn shows_history(&self) -> bool {
        matches!(self, ReportRequest::File(FileFormat::Html, _))
    }
}

impl FileFormat {
    /// Writes the report on `compared`.
    ///
    /// # Errors
    /// Returns an error if `out` cannot be written.
    pub fn write(self, compared: &Compared<'_>, out: &mut impl Write) -> io::Result<()> {
        let comparison = compared.comparison;
        match self {
            FileFormat::Markdown => {
                let (events, listing) = (compared.events, compared.listing);
                out.write_all(markdown::summary(comparison, events, listing).as_bytes())
            }
            FileFormat::Comment => {
                out.write_all(markdown::comment(comparison, compared.listing).as_bytes())
            }
            FileFormat::Junit => junit::write(comparison, out),
            FileFormat::Html => html::write_comparison(compared, out),
            FileFormat::Json => comparison_json::write_file(comparison, out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_is_format_and_path() {
        assert_eq!("github".parse(), Ok(ReportRequest::GithubAnnotations));
        assert_eq!(
            "junit=a=b.xml".parse(),
            Ok(ReportRequest::File(FileFormat::Junit, "a=b.xml".into()))
        );
        for text in ["", "junit", "junit=", "github=x", "pdf=x", "=x"] {
            assert_eq!(
                text.parse::<ReportRequest>(),
                Err(UnknownReport),
                "{text:?}"
            );
        }
    }
}
