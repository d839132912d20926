//! `cargo topdown versus`: compares benchmarks of one run with each other.

use std::io::Write;

use topdown_gate::verdict::LabelledRun;
use topdown_gate::versus::Versus;
use topdown_report::request::ReportError;
use topdown_report::style::{self, Look};
use topdown_report::{html, versus_text};
use topdown_run::run_file::{self, Benchmark, Run};
use topdown_system::whole_file;
use topdown_terminal::nearest::{Suggestion, nearest};

use super::stored_run::resolve_run;
use crate::cli::VersusArgs;
use crate::comparing::wanted_id;
use crate::error::Error;
use crate::exit::Exit;

/// Runs the subcommand.
///
/// # Errors
/// Returns an error if there is no such run, benchmark or group, or the page cannot be written.
pub fn run(args: &VersusArgs) -> Result<Exit, Error> {
    let store_location = args.store.store_location();
    // A run file can be read outside of any workspace.
    let policy = store_location.config()?.policy(&Default::default())?;
    let run = match &args.run {
        Some(name) => run_file::read_run(&resolve_run(&store_location, name)?)?,
        None => store_location.store()?.newest()?,
    };
    let labelled = LabelledRun {
        label: args.run.as_deref().unwrap_or("the newest run"),
        run: &run,
    };
    let versus = match &args.reference {
        Some(reference) => {
            let sides = [
                benchmark(&args.benchmark, &run)?,
                benchmark(reference, &run)?,
            ];
            Versus::pair(labelled, sides, &policy)
        }
        None => Versus::ranking(labelled, &args.benchmark, &policy)
            .ok_or_else(|| no_such_group(&args.benchmark, &run))?,
    };
    if let (Some(path), Some(ranking)) = (&args.html, &versus.ranking) {
        whole_file::write_named(path, |to| html::write_ranking(&versus.run, ranking, to))
            .map_err(|error| ReportError::new(path, error))?;
        return Ok(Exit::Success);
    }
    let mut text = Vec::new();
    if args.json {
        serde_json::to_writer_pretty(&mut text, &versus).map_err(std::io::Error::from)?;
        text.push(b'\n');
    } else {
        versus_text::write(&mut text, &versus, Look::from_environment())?;
    }
    style::stdout(args.output.color).write_all(&text)?;
    Ok(Exit::Success)
}

fn benchmark<'a>(wanted: &str, run: &'a Run) -> Result<&'a Benchmark, Error> {
    let id = wanted_id(wanted, run.benchmarks.iter().map(|b| &b.id));
    let id = id.map_err(|(like, nearest)| Error::NotInRun {
        wanted: wanted.to_owned(),
        like,
        nearest,
    })?;
    let found = run.benchmarks.iter().find(|b| b.id == *id);
    Ok(found.expect("the id is that of a benchmark"))
}

fn no_such_group(group: &str, run: &Run) -> Error {
    let groups = run.benchmarks.iter();
    let groups = groups.filter_map(|b| b.id.name.split_once('/').map(|(group, _)| group));
    Error::NoSuchGroup {
        group: group.to_owned(),
        nearest: Suggestion(nearest(group, groups)),
    }
}
