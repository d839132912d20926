//! `cargo topdown bench`: builds, launches, stores and prints one suite.

use std::io::Write;
use std::path::Path;

use topdown_run::run_file::{self, Benchmark, Run, write_run};

use super::build::build;
use crate::cli::BenchArgs;
use crate::command::run_output::{self, RunOutput};
use crate::error::Error;
use crate::exit::Exit;
use crate::measure::changed::Changed;
use crate::measure::{MeasureError, Session, Side, build_identity, listing, problems, shards};
use crate::merge::check_whole;
use crate::saved;
use topdown_report::function_table::advice_for_run;
use topdown_report::style;
use topdown_runner::Outcome;
use topdown_runner::event::Event;
use topdown_runner::modelling::fingerprints::Fingerprints;
use topdown_runner::record::LaunchRecord;
use topdown_runner::targets::bench_targets::BenchTarget;
use topdown_store::baselines::{BaselineName, BaselineStore, StoredBaseline};
use topdown_terminal::terminal::{Lines, message};

/// Runs the benches, stores the run, and prints its table.
///
/// # Errors
/// Returns an error if the benches could not be built, or there is nothing to store.
pub fn run(args: &BenchArgs) -> Result<Exit, Error> {
    run_output::check_reports(&args.comparison.reports)?;
    let mut session = Session::begin(args.request())?;
    let store = args.store.store_location().store_of(&session.workspace);
    // Before the build, which takes long.
    if let Some(name) = &args.save {
        warn_of_changes(name, &session);
    }
    let changed_since = match &args.changed {
        Some(name) => Some(whole_run(&store, name)?),
        None => None,
    };
    let Some(targets) = build(args, &mut session)? else {
        return Ok(Exit::Success);
    };
    let suite = suite(args, &session, &store, targets)?;
    if args.list {
        return list(args, &session, &suite.targets);
    }
    let side = side(args, &session, suite, changed_since.as_ref())?;

    let before = usual_baseline(&store, args.save.as_ref());
    let mut outcome = session.measure(&side.targets, &before)?;
    if args.prints_functions() {
        session.add_sampled_functions(&side.targets, &mut outcome)?;
    }

    let failed = problems::count(&outcome);
    let is_all_left_out =
        side.run.selection.unchanged.is_some() && !side.targets.iter().any(|t| t.has_criterion);
    if outcome.collected.benchmarks.is_empty() && !is_all_left_out
        || (session.request.fail_fast && failed > 0)
    {
        problems::report(&outcome);
        return Err(session.empty_run_error(&side.targets, &outcome).into());
    }
    let run = side.run_of(&mut outcome, &session);
    session.report_load(&run);

    // Not below `--target-dir`, which `compare` does not know.
    let own = store
        .make_newest(|to| write_run(to, &run, &outcome.collected.samples))
        .map_err(Error::NotStored)?;
    record_launches(&store, &run, &side.targets, &session.request.criterion);
    // A baseline without the benchmarks that failed would hide their failures from later
    // comparisons.
    let saved = match &args.save {
        Some(name) if failed == 0 => {
            if !args.partial {
                store.check_replaces_whole(name, &run.key(), &run.selection)?;
            }
            Some(store.save_own(name, &own)?)
        }
        _ => None,
    };
    session.end();

    if args.message_format.is_some() {
        report_events(&run, store.newest_directory(), failed);
    }
    run_output::write_reports(&args.comparison.reports, &run, "the newest run")?;
    if is_all_left_out && !args.comparison.json {
        return Ok(Exit::Success);
    }
    print(args, &run, &side.fingerprints, &outcome)?;
    if let Some(saved) = &saved {
        report_saved(args, saved)?;
    }
    if failed > 0 {
        if let Some(name) = &args.save {
            message!("error: baseline `{name}` was not saved, because the run is incomplete");
        }
        return Err(MeasureError::BenchesFailed { failed }.into());
    }
    Ok(Exit::Success)
}

/// What is selected of the built targets, before anything is traced or left out as unchanged.
struct Suite {
    targets: Vec<BenchTarget>,
    /// Their run, without benchmarks.
    run: Run,
}

/// Selects what the command line and the settings let through, and of that this machine's shard.
fn suite(
    args: &BenchArgs,
    session: &Session,
    store: &BaselineStore,
    targets: Vec<BenchTarget>,
) -> Result<Suite, Error> {
    let mut selection = session.selection(&session.workspace, &targets);
    // Before the launches, which take long; the key of modelled benchmarks is not known yet.
    if let (Some(name), false) = (&args.save, args.partial)
        && let Ok(before) = store.find(name)
    {
        store.check_replaces_whole(name, &before.machine_key, &selection)?;
    }
    let targets = session.without_left_out(targets)?;
    let root = session.workspace.metadata.workspace_root.as_std_path();
    let run = session.run_without_benchmarks(root, &targets);
    let (targets, shard) = match args.shard {
        None => (targets, None),
        Some(number) => {
            let part = shards::part(session, number, &targets)?;
            selection.only_benchmarks = Some(part.benchmarks);
            (part.targets, Some(part.shard))
        }
    };
    let run = Run {
        shard,
        selection,
        ..run
    };
    Ok(Suite { targets, run })
}

/// Takes fingerprints, and leaves out what is the same as in the run `changed_since`.
fn side(
    args: &BenchArgs,
    session: &Session,
    Suite { targets, mut run }: Suite,
    changed_since: Option<&Run>,
) -> Result<Side, MeasureError> {
    let fingerprints = session.fingerprints(&targets, "")?;
    let targets = match (&args.changed, changed_since) {
        (Some(name), Some(base)) => {
            let changed = Changed::since(base, &run.build, targets, &fingerprints);
            changed.report(name);
            run.selection.unchanged = Some(changed.unchanged);
            changed.targets
        }
        _ => targets,
    };
    Ok(Side {
        targets,
        fingerprints,
        run,
    })
}

/// Prints the run, and below its table, which can be long, the problems and warnings.
fn print(
    args: &BenchArgs,
    run: &Run,
    fingerprints: &Fingerprints,
    outcome: &Outcome,
) -> Result<(), Error> {
    if args.message_format.is_none() {
        RunOutput {
            json: args.comparison.json,
            events: args.comparison.events,
            functions: args.prints_functions(),
            color: args.output.color.into(),
        }
        .print(run)?;
    }
    problems::report(outcome);
    report_untraced(fingerprints, outcome);
    saved::warn_of_wild_launches(run);
    if !args.prints_functions()
        && !args.launch.cargo.quiet
        && let Some(advice) = advice_for_run(run)
    {
        message!("note: {advice}");
    }
    Ok(())
}

/// Says where the baseline was saved: on standard error if standard output is for programs.
fn report_saved(args: &BenchArgs, stored: &StoredBaseline) -> Result<(), Error> {
    if args.comparison.json || args.message_format.is_some() {
        saved::report(&mut Lines::new(anstream::stderr()), stored)?;
    } else {
        saved::report(&mut style::stdout(args.output.color), stored)?;
    }
    Ok(())
}

/// Returns the benchmarks that the run will probably be compared with: those of the baseline that
/// it replaces, or of the only one.
fn usual_baseline(store: &BaselineStore, replaced: Option<&BaselineName>) -> Vec<Benchmark> {
    let stored = match replaced {
        Some(name) => store.find(name),
        None => store.default_one(),
    };
    let run = stored
        .ok()
        .and_then(|stored| run_file::read_run(&stored.directory).ok());
    run.map_or(Vec::new(), |run| run.benchmarks)
}

/// Says at once that a baseline will include uncommitted code, or have no commit.
fn warn_of_changes(name: &BaselineName, session: &Session) {
    let root = session.workspace.metadata.workspace_root.as_std_path();
    if build_identity::has_changes(root) == Some(true) {
        message!(
            "warning: the work tree has uncommitted changes; `{name}` will include them, so its \
             commit will not identify what was measured"
        );
    }
    if let Err(error) = build_identity::commit(root) {
        message!("warning: `{name}` will have no commit, so `history` cannot name one: {error}");
    }
}

/// Prints the events of a finished run.
fn report_events(run: &Run, directory: &Path, failed: usize) {
    for benchmark in &run.benchmarks {
        Event::BenchmarkFinished {
            id: &benchmark.id,
            launches: benchmark.launches(),
        }
        .print();
    }
    for name in &run.failed {
        Event::Failed { name }.print();
    }
    Event::RunFinished {
        id: &run.id,
        directory,
        benchmarks: run.benchmarks.len(),
        failed,
    }
    .print();
}

/// Prints the benchmarks that would be launched.
fn list(args: &BenchArgs, session: &Session, targets: &[BenchTarget]) -> Result<Exit, Error> {
    let items = session.list(targets)?;
    let ids = listing::ids(targets, &items);
    let mut out = style::stdout(args.output.color);
    if args.comparison.json {
        serde_json::to_writer_pretty(&mut out, &ids).map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else {
        for id in &ids {
            writeln!(out, "{id}")?;
        }
    }
    let failed: Vec<String> = items
        .iter()
        .filter(|(_, name)| name.is_none())
        .map(|(index, _)| targets[*index].to_string())
        .collect();
    if failed.is_empty() {
        return Ok(Exit::Success);
    }
    message!(
        "error: could not list the benchmarks of {}",
        failed.join(", ")
    );
    Err(MeasureError::BenchesFailed {
        failed: failed.len(),
    }
    .into())
}

/// Reads the run that `name` refers to, which must not be a shard.
fn whole_run(store: &BaselineStore, name: &str) -> Result<Run, Error> {
    let run = run_file::read_run(&store.resolve(name)?)?;
    check_whole(name, &run)?;
    Ok(run)
}

/// Reports targets that failed while they were traced but not while they were measured.
fn report_untraced(fingerprints: &Fingerprints, outcome: &Outcome) {
    for (target, error) in &fingerprints.failures {
        let name = target.to_string();
        if !outcome
            .failures
            .iter()
            .any(|failure| failure.target == name)
        {
            message!("note: `{name}` has no fingerprints, because tracing it failed: {error}");
        }
    }
}

/// Writes down how the newest run was launched. Without it only `compare --relaunch` is poorer.
fn record_launches(
    store: &BaselineStore,
    run: &Run,
    targets: &[BenchTarget],
    criterion: &[String],
) {
    if let Err(error) = LaunchRecord::write(store.newest_directory(), run, targets, criterion) {
        message!("note: `compare --relaunch` will not be able to launch this run again: {error}");
    }
}
