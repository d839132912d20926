//! `cargo topdown report`: shows a stored run as a table or a page.

use std::fs::File;
use std::io::{BufWriter, Write};

use criterion_topdown::run_file;

use crate::cli::ReportArgs;
use crate::comparing::history;
use crate::error::Error;
use crate::exit::Exit;
use crate::report::event_table::write_event_table;
use crate::report::function_table::write_function_table;
use crate::report::html;
use crate::report::request::ReportError;
use crate::report::run_table::write_run_table;
use crate::report::style::{self, Look};

/// Runs the subcommand.
///
/// # Errors
/// Returns an error if there is no such run, or the page cannot be written.
pub fn run(args: &ReportArgs) -> Result<Exit, Error> {
    let stored = match &args.run {
        Some(name) => Some(args.store.resolve_run(name)?),
        None => None,
    };
    let run = match &stored {
        Some(stored) => run_file::read_run(stored)?,
        None => args.store.store()?.newest()?,
    };
    let Some(path) = &args.html else {
        let mut out = style::stdout(args.output.color);
        write_run_table(&mut out, &run, Look::of_environment())?;
        if args.events {
            writeln!(out)?;
            write_event_table(&mut out, &run, Look::of_environment())?;
        }
        if args.functions {
            writeln!(out)?;
            write_function_table(&mut out, &run, Look::of_environment())?;
        }
        return Ok(Exit::Success);
    };
    let label = args.run.as_deref().unwrap_or("the newest run");
    let history = stored.and_then(|stored| history::beside(label, &stored));
    let write = || {
        let mut out = BufWriter::new(File::create(path)?);
        html::write_run(&run, label, history.as_ref(), &mut out)?;
        out.flush()
    };
    write().map_err(|error| ReportError::of(path, error))?;
    Ok(Exit::Success)
}
