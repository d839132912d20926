//! `cargo topdown import`: makes a run from another tool's measurements.

use jiff::Timestamp;
use topdown_counters::machine::this_machine;
use topdown_run::run_file::{BenchmarkId, Build};

use super::finished_run::{Destination, WholeLaunches};
use crate::cli::ImportArgs;
use crate::error::Error;
use crate::exit::Exit;
use topdown_import::ImportOptions;
use topdown_run::code_samples::MIN_PMU_SAMPLES;
use topdown_terminal::terminal::message;

/// The package and cargo profile of an imported run.
const PACKAGE: &str = "import";
const PROFILE: &str = "unknown";

/// Reads the files, stores the run, and prints its table.
///
/// # Errors
/// Returns an error if a file has nothing comparable, or the run cannot be written.
pub fn run(args: &ImportArgs) -> Result<Exit, Error> {
    let destination = Destination::new(&args.stored)?;
    let machine = args.machine.clone().unwrap_or_else(this_machine);
    let imported = topdown_import::read(
        &args.files,
        &ImportOptions {
            format: args.format,
            tool_version: args.tool_version.as_deref(),
            seconds: &args.seconds,
            slots_per_cycle: args.slots_per_cycle.map(|width| width.get()),
            machine: &machine,
        },
    )?;
    let functions = imported.functions.filter(|functions| {
        let hits = functions.sampled.unwrap_or_default().hits;
        if hits < MIN_PMU_SAMPLES {
            message!(
                "note: the functions are unknown: only {hits} PMU samples; at least {MIN_PMU_SAMPLES} are \
                 needed"
            );
        }
        hits >= MIN_PMU_SAMPLES
    });
    let whole = WholeLaunches {
        id: BenchmarkId {
            package: PACKAGE.to_owned(),
            target: imported.tool.to_owned(),
            name: args.name.clone(),
        },
        provenance: imported.provenance,
        samples: imported.samples,
        functions,
    };
    // How the command was built is unknown.
    let build = Build {
        profile: PROFILE.to_owned(),
        ..Build::default()
    };
    let run = whole
        .into_run(Timestamp::now(), machine, build)
        .expect("imported samples have slots and no doubts");
    destination.keep(&run, &args.stored, &args.output)?;
    Ok(Exit::Success)
}
