//! `cargo topdown report`: shows a stored run as a table, a page or JSON.

use std::io::Write;

use topdown_run::run_file;
use topdown_terminal::terminal::stdout_for_programs;

use super::run_output::{RunOutput, write_page, write_profile};
use super::stored_run::resolve_run;
use crate::cli::ReportArgs;
use crate::comparing::{history, selection};
use crate::error::Error;
use crate::exit::Exit;

/// Runs the subcommand.
///
/// # Errors
/// Returns an error if there is no such run, or the page cannot be written.
pub fn run(args: &ReportArgs) -> Result<Exit, Error> {
    let stored = match &args.run {
        Some(name) => Some(resolve_run(&args.store.store_location(), name)?),
        None => None,
    };
    let mut run = match &stored {
        Some(stored) => run_file::read_run(stored)?,
        None => args.store.store_location().store()?.newest()?,
    };
    let label = args.run.as_deref().unwrap_or("the newest run");
    if let Some(text) = args.selection.text() {
        let expression = selection::expression(&text, &args.store.store_location().config()?)?;
        selection::restrict(&mut run, label, &expression)?;
    }
    if let Some(path) = &args.html {
        let config = args.store.store_location().config()?;
        let history = stored.and_then(|at| history::page_history(label, &at, config.renames()));
        write_page(path, &run, label, history.as_ref())?;
        return Ok(Exit::Success);
    }
    if let Some(path) = &args.profile {
        write_profile(path, &run, label)?;
        return Ok(Exit::Success);
    }
    if let Some(format) = args.export {
        let mut text = Vec::new();
        format.write(&mut text, &run)?;
        stdout_for_programs().write_all(&text)?;
        return Ok(Exit::Success);
    }
    let output = RunOutput {
        json: args.json,
        events: args.events,
        functions: args.functions,
        color: args.output.color.into(),
    };
    output.print(&run)?;
    Ok(Exit::Success)
}
