//! `cargo topdown merge`: merges the shards of a suite into one run.

use std::io::Write;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use topdown_run::run_file::{
    LaunchSamples, read_run, read_samples, write_run, write_run_without_samples,
};
use topdown_terminal::count_of;

use crate::cli::MergeArgs;
use crate::error::Error;
use crate::exit::Exit;
use crate::measure::run_id;
use crate::merge::{Part, merge};
use crate::saved;
use topdown_report::style;
use topdown_terminal::terminal::message;

pub fn run(args: &MergeArgs) -> Result<Exit, Error> {
    let parts = args.runs.iter().map(|path| {
        Ok(Part {
            label: path.display().to_string(),
            run: read_run(path)?,
        })
    });
    let parts = parts.collect::<Result<Vec<Part>, Error>>()?;
    let count = parts.len();
    let (run, notes) = merge(parts, run_id(Timestamp::now()), args.partial)?;
    for note in notes {
        message!("note: {note}");
    }
    let samples = samples_of(&args.runs)?;
    let write = |to: &Path| match &samples {
        Some(samples) => write_run(to, &run, samples),
        None => write_run_without_samples(to, &run),
    };
    let mut out = style::stdout(args.printing.color);
    let mut message = |directory: &Path| {
        let runs = count_of(count, "run");
        let benchmarks = count_of(run.benchmarks.len(), "benchmark");
        let directory = directory.display();
        writeln!(out, "merged {runs} with {benchmarks} into {directory}")
    };
    match &args.output {
        Some(directory) => {
            write(directory).map_err(Error::NotStored)?;
            message(directory)?;
        }
        None => {
            let store = args.store.store_location().store()?;
            let own = store.make_newest(write).map_err(Error::NotStored)?;
            message(store.newest_directory())?;
            if let Some(name) = &args.save {
                if !args.partial {
                    store.check_replaces_whole(name, &run.key(), &run.selection)?;
                }
                saved::report(&mut out, &store.save_own(name, &own)?)?;
            }
        }
    }
    Ok(Exit::Success)
}

/// Reads all samples; `None` if any run lacks its own, since partial samples would not match the
/// run.
fn samples_of(runs: &[PathBuf]) -> Result<Option<Vec<LaunchSamples>>, Error> {
    let mut all = Vec::new();
    for path in runs {
        match read_samples(path) {
            Ok(samples) => all.extend(samples),
            Err(error) if error.problem.is_missing() => {
                message!(
                    "note: {} has no samples, so the merged run has none",
                    Path::new(path).display()
                );
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Some(all))
}
