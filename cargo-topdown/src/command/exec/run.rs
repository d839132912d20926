//! `cargo topdown exec`: runs a command several times and counts all its processes.

use std::ffi::OsString;

use jiff::Timestamp;
use topdown_counters::hardware::commands::TreeCounters;
use topdown_counters::machine::this_machine_on;
use topdown_run::provenance::{CLOCK_REQUESTED, Provenance, SourceKind};
use topdown_run::run_file::{BenchmarkId, Build, IterationSample};
use topdown_run::setting::SourceChoice;

use super::functions;
use super::launch::launch_once;
use crate::cli::{ExecAfterGoArgs, ExecArgs};
use crate::command::finished_run::{Destination, WholeLaunches};
use crate::counted_command::{self, CountedCommand, Recorded};
use crate::error::{Error, ExecError};
use crate::exit::Exit;
use crate::measure::build_identity::build_identity;
use topdown_run::run_file::COMMANDS;
use topdown_system::interrupt;
use topdown_terminal::terminal::message;

/// Runs the command as often as requested, stores the run, and prints its table.
///
/// # Errors
/// Returns an error if a launch fails. Nothing is stored then.
pub fn run(args: &ExecArgs) -> Result<Exit, Error> {
    let destination = Destination::optional(&args.stored)?;
    let (counters, provenance) = counters(args)?;
    let wants_time = args.source == Some(SourceChoice::Time);
    if provenance.source == SourceKind::Time && !wants_time && !args.quiet {
        message!(
            "note: measuring time only: {}; see `cargo topdown doctor`",
            provenance.reason
        );
    }
    let started_at = Timestamp::now();
    let guard = interrupt::guard().map_err(ExecError::Interrupt)?;
    let command = CountedCommand {
        command: &args.command,
        quiet: args.quiet,
        recorded: counters.as_ref().map_or(Recorded::Time, Recorded::Counts),
    };
    let samples = launch_all(args, &command)?;
    let name = args.name.clone();
    let name = name.unwrap_or_else(|| command_line(&args.command));
    let functions = match &counters {
        _ if !args.functions => None,
        Some(counters) => functions::sampled(args, &name, counters, &samples)?,
        None => {
            message!("note: the functions of `{name}` are unknown: only counters can sample them");
            None
        }
    };
    drop(guard);
    let whole = WholeLaunches {
        id: BenchmarkId {
            package: COMMANDS.0.to_owned(),
            target: COMMANDS.1.to_owned(),
            name,
        },
        provenance,
        samples,
        functions,
    };
    let build = Build {
        profile: COMMANDS.1.to_owned(),
        // Some other compiler may have built the command.
        rustc: String::new(),
        target: String::new(),
        rustflags: String::new(),
        ..build_identity(None, None, destination.root())
    };
    let machine = this_machine_on(whole.provenance.core_type.as_deref());
    let run = whole
        .into_run(started_at, machine, build)
        .expect("a launch with an unusable sample has failed");
    destination.keep(&run, &args.stored, &args.output)?;
    Ok(Exit::Success)
}

fn launch_all(
    args: &ExecArgs,
    command: &CountedCommand<'_>,
) -> Result<Vec<IterationSample>, ExecError> {
    let launches = args.launches;
    (1..=launches)
        .map(|launch| {
            if !args.quiet {
                message!("      Launch {launch} of {launches}");
            }
            let launched = launch_once(command, (launch, launches))?;
            Ok(IterationSample {
                iterations: 1,
                sample: launched.sample,
            })
        })
        .collect()
}

/// Returns the counters to use, if any, and the provenance of the numbers.
fn counters(args: &ExecArgs) -> Result<(Option<TreeCounters>, Provenance), ExecError> {
    let time = |reason: String| Provenance::for_clock(reason);
    let source = args.source.unwrap_or_default();
    match source {
        SourceChoice::Model => return Err(ExecError::Model),
        SourceChoice::Time | SourceChoice::TimeBesideModel => {
            return Ok((None, time(CLOCK_REQUESTED.to_owned())));
        }
        SourceChoice::ModelOrTime => {
            return Ok((None, time("the model supports only benches".to_owned())));
        }
        SourceChoice::Auto | SourceChoice::Hardware => {}
    }
    match TreeCounters::prepare(args.counters.unwrap_or_default()) {
        Ok(counters) => {
            let provenance = counters.provenance().clone();
            Ok((Some(counters), provenance))
        }
        Err(error) if source == SourceChoice::Hardware => Err(ExecError::Counters(error)),
        Err(error) => Ok((None, time(error.in_short().to_owned()))),
    }
}

fn command_line(command: &[OsString]) -> String {
    let words: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}

/// Runs the subcommand that `exec` starts: becomes the command once the counters are attached.
///
/// # Errors
/// Never. The parent process learns of failures through its channel, or is already gone.
pub fn start(args: &ExecAfterGoArgs) -> Result<Exit, Error> {
    let _ = counted_command::become_after_go(args.parent, &args.command);
    Ok(Exit::BenchFailed)
}
