//! `cargo topdown merge`: the shards of a suite become one run.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use criterion_topdown::run_file::{
    LaunchSamples, Run, RunFileProblem, read_run, read_samples, write_run,
    write_run_without_samples,
};
use jiff::Timestamp;

use super::baseline::report_saved;
use super::bench::{BenchError, run_id};
use crate::baseline_store::BaselineStore;
use crate::cli::MergeArgs;
use crate::error::{Error, Exit};
use crate::merge::{Part, merge};
use crate::report::style;

/// Runs the subcommand.
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
        anstream::eprintln!("note: {note}");
    }
    let merged = Merged { run, parts: count };
    let mut out = style::stdout(args.printing.color);
    match &args.output {
        Some(directory) => merged.write(args, directory, &mut out)?,
        None => {
            let store = BaselineStore::open(&args.store)?;
            merged.write(args, store.newest_directory(), &mut out)?;
            if let Some(name) = &args.save {
                if !args.partial {
                    let Run { selection, .. } = &merged.run;
                    store.check_replaces_whole(name, &merged.run.key(), selection)?;
                }
                report_saved(&mut out, &store.save(name, store.newest_directory())?)?;
            }
        }
    }
    Ok(Exit::Success)
}

struct Merged {
    run: Run,
    parts: usize,
}

impl Merged {
    fn write(&self, args: &MergeArgs, directory: &Path, out: &mut impl Write) -> Result<(), Error> {
        match samples_of(&args.runs)? {
            Some(samples) => write_run(directory, &self.run, &samples),
            None => write_run_without_samples(directory, &self.run),
        }
        .map_err(BenchError::NotStored)?;
        writeln!(
            out,
            "merged {} runs with {} benchmarks into {}",
            self.parts,
            self.run.benchmarks.len(),
            directory.display()
        )?;
        Ok(())
    }
}

/// All samples;/// All samples; `None` where a run came without its own, since a part of them would be no run's.
fn samples_of(runs: &[PathBuf]) -> Result<Option<Vec<LaunchSamples>>, Error> {
    let mut all = Vec::new();
    for path in runs {
        match read_samples(path) {
            Ok(samples) => all.extend(samples),
            Err(error) if is_missing(&error.problem) => {
                anstream::eprintln!(
                    "note: {} came without its samples, so the merged run has none",
                    Path::new(path).display()
                );
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Some(all))
}

fn is_missing(problem: &RunFileProblem) -> bool {
    matches!(problem, RunFileProblem::Io(error) if error.kind() == io::ErrorKind::NotFound)
}
