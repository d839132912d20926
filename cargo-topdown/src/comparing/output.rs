//! Printing and reports of a comparison.

use std::io::{self, Write};
use std::path::Path;

use anstream::ColorChoice;
use topdown_explain::listing::ListingComparison;
use topdown_gate::trend::Trend;
use topdown_gate::verdict::Comparison;
use topdown_run::run_file::Run;

use crate::error::Error;
use crate::measure::build_identity;
use topdown_report::annotations;
use topdown_report::commit_pages::CommitPages;
use topdown_report::compared::Compared;
use topdown_report::comparison_json;
use topdown_report::comparison_text;
use topdown_report::detail::Detail;
use topdown_report::event_table::write_event_changes;
use topdown_report::request::{ReportError, ReportRequest};
use topdown_report::style::{self, Look};
use topdown_system::whole_file;
use topdown_terminal::terminal::stdout_for_programs;

/// Returns where the commits of the repository around the current directory have pages.
pub fn commit_pages() -> Option<CommitPages> {
    CommitPages::from_remote(&build_identity::origin()?)
}

/// The two runs of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct Sides<'a> {
    pub baseline: &'a Run,
    pub candidate: &'a Run,
    /// The baseline's history, for pages.
    pub history: Option<&'a Trend>,
    /// The lines of one benchmark, if they were requested.
    pub listing: Option<&'a ListingComparison>,
}

/// What the user wants to see of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct Output<'a> {
    /// Whether to print JSON instead of text.
    pub json: bool,
    /// Whether to show the events too.
    pub events: bool,
    /// The level of detail.
    pub detail: Detail,
    /// The reports to write.
    pub reports: &'a [ReportRequest],
    /// When to use colours.
    pub color: ColorChoice,
}

impl Output<'_> {
    /// Prints a comparison and writes the requested reports.
    ///
    /// # Errors
    /// Returns an error if anything cannot be written.
    pub fn report(self, comparison: &Comparison, sides: Sides<'_>) -> Result<(), Error> {
        self.print(comparison)?;
        self.write_reports(comparison, sides)
    }

    /// Writes the requested reports.
    ///
    /// # Errors
    /// Returns an error if one cannot be written.
    pub fn write_reports(self, comparison: &Comparison, sides: Sides<'_>) -> Result<(), Error> {
        // Only a page shows them, like the history.
        let has_page = self.reports.iter().any(ReportRequest::shows_history);
        let commits = has_page.then(commit_pages).flatten();
        let compared = Compared {
            comparison,
            baseline: sides.baseline,
            candidate: sides.candidate,
            history: sides.history,
            listing: sides.listing,
            events: self.events,
            commits: commits.as_ref(),
        };
        for report in self.reports {
            match report {
                // Standard output is for results; GitHub reads commands from both streams.
                ReportRequest::GithubAnnotations => {
                    annotations::write(comparison, io::stderr().lock())
                        .map_err(|error| ReportError::new(Path::new("/dev/stderr"), error))?;
                }
                ReportRequest::File(format, path) => {
                    whole_file::write_named(path, |to| format.write(&compared, to))
                        .map_err(|error| ReportError::new(path, error))?;
                }
            }
        }
        Ok(())
    }

    fn print(self, comparison: &Comparison) -> io::Result<()> {
        if self.json {
            return comparison_json::write(comparison, io::BufWriter::new(stdout_for_programs()));
        }
        let look = Look::from_environment();
        let mut text = Vec::new();
        comparison_text::write(comparison, self.detail, look, &mut text)?;
        if self.events {
            writeln!(text)?;
            write_event_changes(&mut text, comparison, look)?;
        }
        style::stdout(self.color).write_all(&text)
    }
}
