//! `cargo topdown bench`: build, launch, store, print.

use std::io::Write;
use std::path::Path;

use topdown_run::run_file::{self, Benchmark, Run, write_run};

use super::against;
use crate::base_tree::{BaseTree, BaseTreeError};
use crate::baseline_store::{BaselineName, BaselineStore};
use crate::cli::BenchArgs;
use crate::command::run_output::{self, RunOutput};
use crate::error::Error;
use crate::exit::Exit;
use crate::measure::changed::Changed;
use crate::measure::{
    MeasureError, Session, build_identity, listing, on_its_cores, problems, shards,
};
use crate::merge::check_whole;
use crate::saved;
use topdown_report::function_table::advice_for_run;
use topdown_report::style;
use topdown_runner::Outcome;
use topdown_runner::bench_targets::BenchTarget;
use topdown_runner::event::Event;
use topdown_runner::fingerprints::Fingerprints;
use topdown_runner::record::LaunchRecord;
use topdown_terminal::terminal::{Lines, tell};

/// Flags of criterion that this program sets itself, with our flag to use instead, and flags under
/// which criterion measures nothing, or nothing that can be stored.
const REFUSED_FLAGS: [(&str, &str); 18] = [
    ("--bench", "it is always set"),
    ("--save-baseline", "use `--save NAME` before the `--`"),
    ("-s", "use `--save NAME` before the `--`"),
    ("--baseline", "use `cargo topdown compare NAME`"),
    ("-b", "use `cargo topdown compare NAME`"),
    ("--baseline-lenient", "use `cargo topdown compare NAME`"),
    ("--load-baseline", "use `cargo topdown compare`"),
    (
        "--discard-baseline",
        "runs become baselines only with `--save`",
    ),
    ("--profile-time", "it measures nothing"),
    ("--list", "it measures nothing"),
    ("--test", "it measures nothing"),
    ("--ignored", "it measures nothing"),
    ("--quick", "it leaves too few samples"),
    ("--sample-size", "use it before the `--`"),
    ("--warm-up-time", "use it before the `--`"),
    ("--measurement-time", "use it before the `--`"),
    ("--exact", "use it before the `--`"),
    ("--help", "use `cargo bench -- --help`"),
];

/// Runs the benches, stores the run, and prints its table.
///
/// # Errors
/// Returns an error if the benches could not be built, or there is nothing to store.
pub fn run(args: &BenchArgs) -> Result<Exit, Error> {
    check_criterion_arguments(&args.launch.criterion)?;
    if args.against.is_none() {
        run_output::check_reports(&args.comparison.reports)?;
    }
    let mut session = Session::begin(args.request())?;
    let store = args.store.place().store_of(&session.workspace);
    // Before the build, which takes long.
    if let Some(name) = &args.save {
        warn_of_changes(name, &session);
    }
    let tree = match &args.against {
        Some(reference) => match base_tree(reference, &session) {
            Err(MeasureError::BaseTree(itself @ BaseTreeError::IsCandidate { .. }))
                if allows_nothing_decided(args, &session)? =>
            {
                tell!("note: {itself}");
                return Ok(Exit::Success);
            }
            tree => Some(tree?),
        },
        None => None,
    };
    let base = match &args.changed {
        Some(name) => Some(whole_run(&store, name)?),
        None => None,
    };
    let targets = session.build()?;
    if args.launch.cargo.no_run {
        return Ok(Exit::Success);
    }
    session.report_missed_variables(&targets);
    if session.request.events {
        let targets: Vec<String> = targets.iter().map(ToString::to_string).collect();
        Event::BuildFinished { targets: &targets }.print();
    }
    if let (Some(reference), Some(tree)) = (&args.against, tree) {
        return against::run(args, session, &store, targets, (reference, tree));
    }
    let mut selection = session.selection(&session.workspace, &targets);
    // Before the launches, which take long; the key of modelled benchmarks is not known yet.
    if let (Some(name), false) = (&args.save, args.partial)
        && let Ok(before) = store.find(name)
    {
        store.check_replaces_whole(name, &before.machine_key, &selection)?;
    }
    let suite = session.without_left_out(targets)?;
    let (targets, shard) = match args.shard {
        None => (suite.clone(), None),
        Some(number) => {
            let part = shards::part(&session, number, &suite)?;
            selection.only_benchmarks = Some(part.benchmarks);
            (part.targets, Some(part.shard))
        }
    };
    if args.list {
        return list(args, &session, &targets);
    }
    let root = session.workspace.metadata.workspace_root.as_std_path();
    let empty_run = session.run_without_benchmarks(root, &suite);
    let fingerprints = session.fingerprints(&targets, "")?;
    let targets = match (&args.changed, base) {
        (Some(name), Some(base)) => {
            let changed = Changed::since(&base, &empty_run.build, targets, &fingerprints);
            changed.tell(name);
            selection.unchanged = Some(changed.unchanged);
            changed.targets
        }
        _ => targets,
    };
    let before = usual_baseline(&store, args.save.as_ref());
    let mut outcome = session.measure(&targets, &before)?;
    if args.prints_functions() {
        session.add_hits(&targets, &mut outcome)?;
    }
    fingerprints.put_beside(&mut outcome.collected.benchmarks);
    let failed = problems::count(&outcome);
    let is_all_left_out = selection.unchanged.is_some() && !targets.iter().any(|t| t.has_criterion);
    if outcome.collected.benchmarks.is_empty() && !is_all_left_out
        || (session.request.fail_fast && failed > 0)
    {
        problems::report(&outcome);
        return Err(session.nothing_to_keep(&targets, &outcome).into());
    }
    let run = on_its_cores(Run {
        benchmarks: outcome.collected.benchmarks.clone(),
        shard,
        selection,
        failed: problems::names(&outcome),
        competing_threads: session.competing_threads(),
        ..empty_run
    });
    session.tell_load(&run);
    // Not below `--target-dir`, which `compare` does not know.
    let own = store
        .make_newest(|to| write_run(to, &run, &outcome.collected.samples))
        .map_err(Error::NotStored)?;
    record_launches(&store, &run, &targets, &session.request.criterion);
    let mut stored = None;
    // A baseline without the benchmarks that failed would hide their failures from later
    // comparisons.
    if let (Some(name), 0) = (&args.save, failed) {
        if !args.partial {
            store.check_replaces_whole(name, &run.key(), &run.selection)?;
        }
        stored = Some(store.save_own(name, &own)?);
    }
    // Everything is stored: from here on, Ctrl-C may end the program at once.
    drop(session);
    let directory = store.newest_directory();
    if args.message_format.is_some() {
        report_events(&run, directory, failed);
    }
    run_output::write_reports(&args.comparison.reports, &run, "the newest run")?;
    if is_all_left_out && !args.comparison.json {
        return Ok(Exit::Success);
    }
    let output = RunOutput {
        json: args.comparison.json,
        events: args.comparison.events,
        functions: args.prints_functions(),
        color: args.output.color.into(),
    };
    if args.message_format.is_none() {
        output.print(&run)?;
    }
    // Below the table, which can be long.
    problems::report(&outcome);
    report_untraced(&fingerprints, &outcome);
    saved::warn_of_wild_launches(&run);
    if !args.prints_functions()
        && !args.launch.cargo.quiet
        && let Some(advice) = advice_for_run(&run)
    {
        tell!("note: {advice}");
    }
    if let Some(stored) = stored {
        // Standard output may be JSON.
        if args.comparison.json || args.message_format.is_some() {
            saved::report(&mut Lines::new(anstream::stderr()), &stored)?
        } else {
            saved::report(&mut style::stdout(args.output.color), &stored)?
        }
    }
    if failed > 0 {
        if let Some(name) = &args.save {
            tell!("error: baseline `{name}` was not saved, because the run is incomplete");
        }
        return Err(MeasureError::BenchesFailed { failed }.into());
    }
    Ok(Exit::Success)
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
        tell!(
            "warning: the work tree has uncommitted changes; `{name}` will include them, so its \
             commit will not identify what was measured"
        );
    }
    if let Err(error) = build_identity::commit(root) {
        tell!("warning: `{name}` will have no commit, so `history` cannot name one: {error}");
    }
}

fn allows_nothing_decided(args: &BenchArgs, session: &Session) -> Result<bool, Error> {
    let policy = session.workspace.config.policy(&args.policy.overrides())?;
    Ok(policy.allow_nothing_decided)
}

/// Prepares the sources to compare against, and says what follows.
fn base_tree(reference: &str, session: &Session) -> Result<BaseTree, MeasureError> {
    let metadata = &session.workspace.metadata;
    let tree = BaseTree::prepare(
        reference,
        metadata.workspace_root.as_std_path(),
        &session.workspace.kept_directory(),
    )
    .map_err(MeasureError::BaseTree)?;
    if !session.request.quiet {
        let directory = &tree.target_directory;
        let directory = directory.strip_prefix(&metadata.workspace_root);
        tell!(
            "note: also building the base, {}, in {}; its build is kept, so the next time is \
             faster",
            tree.label,
            directory.unwrap_or(&tree.target_directory).display()
        );
    }
    Ok(tree)
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
    tell!(
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
            tell!("note: `{name}` has no fingerprints, because tracing it failed: {error}");
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
        tell!("note: `compare --relaunch` will not be able to launch this run again: {error}");
    }
}

/// Refuses arguments that would break a launch, and says what to use instead.
fn check_criterion_arguments(arguments: &[String]) -> Result<(), MeasureError> {
    for argument in arguments {
        let flag = argument.split('=').next().unwrap_or(argument);
        if let Some((flag, instead)) = REFUSED_FLAGS.iter().find(|(refused, _)| *refused == flag) {
            return Err(MeasureError::CriterionArgument {
                flag: (*flag).to_owned(),
                instead,
            });
        }
    }
    Ok(())
}
