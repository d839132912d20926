//! Output of a run by `bench` and `report`: tables and report files.

use std::io::Write;
use std::path::Path;

use anstream::ColorChoice;
use topdown_gate::trend::Trend;
use topdown_run::run_file::{self, Run, write_run_without_samples};

use crate::comparing::output::commit_pages;
use crate::error::Error;
use topdown_report::event_table::write_event_table;
use topdown_report::function_table::write_function_table;
use topdown_report::html;
use topdown_report::profile::ProfileFormat;
use topdown_report::request::{FileFormat, ReportError, ReportRequest};
use topdown_report::run_table::write_run_table;
use topdown_report::style::{self, Look};
use topdown_system::scratch::Scratch;
use topdown_system::whole_file;
use topdown_terminal::terminal::stdout_for_programs;

/// What to print of a run.
pub struct RunOutput {
    /// Print the run file instead of tables.
    pub json: bool,
    /// Print the events, too.
    pub events: bool,
    /// Print the functions, too.
    pub functions: bool,
    pub color: ColorChoice,
}

impl RunOutput {
    /// Prints `run`.
    ///
    /// # Errors
    /// Returns an error if it cannot be printed.
    pub fn print(&self, run: &Run) -> Result<(), Error> {
        if self.json {
            return Ok(stdout_for_programs().write_all(&json_of(run)?)?);
        }
        let mut out = style::stdout(self.color);
        write_run_table(&mut out, run, Look::from_environment())?;
        if self.events {
            writeln!(out)?;
            write_event_table(&mut out, run, Look::from_environment())?;
        }
        if self.functions {
            writeln!(out)?;
            write_function_table(&mut out, run, Look::from_environment())?;
        }
        Ok(())
    }
}

/// Refuses reports of a comparison, before anything that takes long.
///
/// # Errors
/// Returns an error that names the first one.
pub fn check_reports(reports: &[ReportRequest]) -> Result<(), Error> {
    let is_of_run = |report: &&ReportRequest| {
        matches!(
            report,
            ReportRequest::File(FileFormat::Html | FileFormat::Json, _)
        )
    };
    match reports.iter().find(|report| !is_of_run(report)) {
        Some(report) => Err(Error::ReportNeedsComparison {
            report: report.to_string(),
        }),
        None => Ok(()),
    }
}

/// Writes the reports of a run that [`check_reports`] lets through.
///
/// # Errors
/// Returns an error if a file cannot be written.
pub fn write_reports(reports: &[ReportRequest], run: &Run, label: &str) -> Result<(), Error> {
    for report in reports {
        match report {
            ReportRequest::File(FileFormat::Html, path) => write_page(path, run, label, None)?,
            ReportRequest::File(FileFormat::Json, path) => {
                let json = json_of(run)?;
                whole_file::write_named(path, |to| to.write_all(&json))
                    .map_err(|error| ReportError::new(path, error))?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Writes a page for a browser.
///
/// # Errors
/// Returns an error if the file cannot be written.
pub fn write_page(
    path: &Path,
    run: &Run,
    label: &str,
    history: Option<&Trend>,
) -> Result<(), Error> {
    let commits = commit_pages();
    whole_file::write_named(path, |to| {
        html::write_run(run, label, history, commits.as_ref(), to)
    })
    .map_err(|error| ReportError::new(path, error))?;
    Ok(())
}

/// Writes the call paths for another program.
///
/// # Errors
/// Returns an error if the file's name has no known end, if the run has no call paths, or if the
/// file cannot be written.
pub fn write_profile(path: &Path, run: &Run, label: &str) -> Result<(), Error> {
    let format = ProfileFormat::of(path).ok_or_else(|| Error::ProfileFormat {
        path: path.to_owned(),
    })?;
    if run.benchmarks.iter().all(|b| b.call_paths.is_none()) {
        return Err(Error::NoCallPaths {
            run: label.to_owned(),
        });
    }
    whole_file::write_named(path, |to| format.write(run, label, to))
        .map_err(|error| ReportError::new(path, error))?;
    Ok(())
}

/// Returns the run as the file format has it, without its samples.
fn json_of(run: &Run) -> Result<Vec<u8>, Error> {
    let directory = Scratch::new()?;
    write_run_without_samples(directory.path(), run)?;
    Ok(run_file::read_bytes(&run_file::run_file_of(
        directory.path(),
    ))?)
}
