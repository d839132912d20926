//! `cargo topdown bench`: build, launch, store, print.

mod against;
mod changed;
mod error;
mod missed_variables;
pub mod pairs;
mod shard;

use std::io::Write;
use std::path::Path;

use cargo_metadata::Metadata;
use criterion_topdown::machine::Machine;
use criterion_topdown::run_file::stored_file::random_word;
use criterion_topdown::run_file::{
    self, Benchmark, Filter, LaunchSettings, Run, Selection, write_run,
};
use jiff::Timestamp;

use crate::baseline_store::BaselineStore;
use crate::bench_targets::{BenchTarget, Cargo, cargo_program};
use crate::build_identity::build_identity;
use crate::cli::{BenchArgs, LaunchArgs};
use crate::command::baseline;
use crate::config::Workspace;
use crate::config::measuring::{Settings, WorkspaceSettings};
use crate::error::Error;
use crate::exit::Exit;
use crate::merge::check_whole;
use crate::report::event_table::write_event_table;
use crate::report::function_table::{advice_for_run, write_function_table};
use crate::report::run_table::write_run_table;
use crate::report::style::{self, Look};
use crate::runner::fingerprints::Fingerprints;
use crate::runner::launch::{LaunchError, Launcher};
use crate::runner::progress::{Progress, Style};
use crate::runner::record::LaunchRecord;
use crate::runner::scratch::Scratch;
use crate::runner::session::Starter;
use crate::runner::{
    self, OtherMeasurement, Outcome, fingerprints, interrupt, left_out, modelled, parting,
};
use crate::selection;
use crate::terminal::tell;
use topdown_gate::selection::NameFilter;

use changed::Changed;
pub use error::BenchError;

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
        "a run is kept as a baseline with `--save` only",
    ),
    ("--profile-time", "nothing is measured under it"),
    ("--list", "nothing is measured under it"),
    ("--test", "nothing is measured under it"),
    ("--ignored", "nothing is measured under it"),
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
    let names = checked_filter(&args.launch)?;
    let cargo = Cargo {
        program: cargo_program(),
        flags: args.launch.cargo.flags(args.output.color),
        manifest_path: args.store.manifest_path.as_deref(),
        directory: None,
    };
    let workspace = Workspace::of_metadata(cargo.metadata().map_err(BenchError::from)?)?;
    let metadata = &workspace.metadata;
    // Before the build, which can take long.
    let settings = workspace
        .config
        .measuring(&(&args.launch.measuring).into())?;
    let store = args.store.store_of(&workspace);
    let guard = interrupt::guard().map_err(BenchError::Interrupt)?;
    let targets = cargo
        .bench_targets(metadata, &settings)
        .map_err(BenchError::from)?;
    if targets.is_empty() {
        return Err(BenchError::NoBenchTargets.into());
    }
    if args.launch.cargo.no_run {
        return Ok(Exit::Success);
    }
    if !args.launch.cargo.quiet {
        missed_variables::tell(&targets);
    }
    let mut selection = selected(&args.launch, metadata, &targets);
    selection.left_out = selection::left_out(&settings.leave_out);
    if let Some(reference) = &args.against {
        let candidate = against::Candidate {
            cargo: &cargo,
            workspace: &workspace,
            settings: &settings,
            store: &store,
            targets: &targets,
            names: &names,
            selection: &selection,
        };
        return against::run(args, &candidate, reference, guard);
    }
    // Before the launches, which take long; the key of modelled benchmarks is not known yet.
    if let (Some(name), false) = (&args.save, args.partial)
        && let Ok(before) = store.find(name)
    {
        store.check_replaces_whole(name, &before.machine_key, &selection)?;
    }
    let base = match &args.changed {
        Some(name) => Some(whole_run(&store, name)?),
        None => None,
    };
    let started_at = Timestamp::now();
    let scratch = scratch_directory()?;
    let launcher = launcher(&args.launch, &cargo.program, scratch.path());
    let suite = without_left_out(&settings, targets, &names, &launcher)?;
    let (targets, shard) = match args.shard {
        None => (suite.clone(), None),
        Some(number) => {
            let part = shard::part(&args.launch, &names, number, &suite, &launcher)?;
            selection.only_benchmarks = Some(part.benchmarks);
            (part.targets, Some(part.shard))
        }
    };
    let workspace_root = metadata.workspace_root.as_std_path();
    let empty_run = measured_run(&args.launch, workspace_root, started_at, &suite, &settings);
    let fingerprints = fingerprints(&args.launch, &targets, &launcher)?;
    let targets = match (&args.changed, base) {
        (Some(name), Some(base)) => {
            let changed = Changed::since(&base, &empty_run.build, targets, &fingerprints);
            changed.tell(name);
            selection.unchanged = Some(changed.unchanged);
            changed.targets
        }
        _ => targets,
    };
    let mut outcome = launch(&args.launch, &targets, &launcher)?;
    fingerprints.put_beside(&mut outcome.collected.benchmarks);
    let failed = failures(&outcome);
    let is_all_left_out = selection.unchanged.is_some() && !targets.iter().any(|t| t.has_criterion);
    if outcome.collected.benchmarks.is_empty() && !is_all_left_out
        || (args.launch.measuring.fail_fast && failed > 0)
    {
        report_problems(&outcome);
        return Err(nothing_to_keep(&args.launch, &targets, &outcome).into());
    }
    let run = Run {
        benchmarks: outcome.collected.benchmarks.clone(),
        shard,
        selection,
        failed: failed_names(&outcome),
        ..empty_run
    };
    // Not below `--target-dir`, which `compare` does not know.
    let own = store
        .make_newest(|to| write_run(to, &run, &outcome.collected.samples))
        .map_err(BenchError::NotStored)?;
    let criterion = args.launch.criterion_without_filter();
    record_launches(&store, &run, &targets, &criterion);
    let saved = match &args.save {
        // A baseline without the benchmarks that failed would hide their failures from later
        // comparisons.
        Some(name) if failed == 0 => {
            if !args.partial {
                store.check_replaces_whole(name, &run.key(), &run.selection)?;
            }
            Some(store.save(name, own.path())?)
        }
        _ => None,
    };
    drop(guard);
    let mut out = style::stdout(args.output.color);
    if is_all_left_out {
        return Ok(Exit::Success);
    }
    write_run_table(&mut out, &run, Look::of_environment())?;
    if args.comparison.events {
        writeln!(out)?;
        write_event_table(&mut out, &run, Look::of_environment())?;
    }
    if args.functions {
        writeln!(out)?;
        write_function_table(&mut out, &run, Look::of_environment())?;
    }
    // Below the table, which can be long.
    report_problems(&outcome);
    report_untraced(&fingerprints, &outcome);
    baseline::warn_of_wild_launches(&run);
    if !args.functions
        && !args.launch.cargo.quiet
        && let Some(advice) = advice_for_run(&run)
    {
        anstream::eprintln!("note: {advice}");
    }
    if let Some(stored) = saved {
        baseline::report_saved(&mut out, &stored)?;
    }
    if failed > 0 {
        if let Some(name) = &args.save {
            tell!("error: baseline `{name}` was not saved, since the run is not whole");
        }
        return Err(BenchError::BenchesFailed { failed }.into());
    }
    Ok(Exit::Success)
}

/// Reads the run that `name` refers to, which must not be a shard.
fn whole_run(store: &BaselineStore, name: &str) -> Result<Run, Error> {
    let run = run_file::read_run(&store.resolve(name)?)?;
    check_whole(name, &run)?;
    Ok(run)
}

/// Traces what the benchmarks of `targets` execute, if the settings require it.
fn fingerprints(
    args: &LaunchArgs,
    targets: &[BenchTarget],
    launcher: &Launcher,
) -> Result<Fingerprints, BenchError> {
    let wanted = targets.iter().filter(|t| fingerprints::is_wanted(t));
    if !args.cargo.quiet
        && let count @ 1.. = wanted.count()
    {
        let s = if count == 1 { "" } else { "s" };
        tell!("     Tracing {count} bench target{s} for fingerprints");
    }
    Fingerprints::take(targets, launcher).map_err(|_| BenchError::Interrupted)
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
            tell!("note: `{name}` has no fingerprints, since tracing it failed: {error}");
        }
    }
}

/// Launches all of `targets` except what settings leave out, and returns their benchmarks. Any
/// failure is an error.
pub fn measure_all(
    args: &LaunchArgs,
    settings: &WorkspaceSettings,
    targets: Vec<BenchTarget>,
    cargo: &Cargo,
) -> Result<Vec<Benchmark>, BenchError> {
    if targets.is_empty() {
        return Err(BenchError::NoBenchTargets);
    }
    let scratch = scratch_directory()?;
    let launcher = launcher(args, &cargo.program, scratch.path());
    let names = checked_filter(args)?;
    let targets = without_left_out(settings, targets, &names, &launcher)?;
    let outcome = launch(args, &targets, &launcher)?;
    report_problems(&outcome);
    if failures(&outcome) > 0 || outcome.collected.benchmarks.is_empty() {
        return Err(nothing_to_keep(args, &targets, &outcome));
    }
    Ok(outcome.collected.benchmarks)
}

/// Returns `targets` without what settings leave out, and reports the omitted ones by name.
pub fn without_left_out(
    settings: &WorkspaceSettings,
    targets: Vec<BenchTarget>,
    names: &NameFilter,
    launcher: &Launcher,
) -> Result<Vec<BenchTarget>, BenchError> {
    if settings.leave_out.is_empty() {
        return Ok(targets);
    }
    let rest = left_out::without(&settings.leave_out, targets, names, launcher);
    let rest = rest.map_err(|_| BenchError::Interrupted)?;
    for name in &rest.left_out {
        anstream::eprintln!("note: `{name}` is left out, as the settings say (`leave-out`)");
    }
    match rest.targets.is_empty() {
        true => Err(BenchError::AllLeftOut),
        false => Ok(rest.targets),
    }
}

/// What the command line selects of the workspace.
fn selected(args: &LaunchArgs, metadata: &Metadata, targets: &[BenchTarget]) -> Selection {
    let are_named = !(args.cargo.package.is_empty() && args.cargo.bench.is_empty());
    selection::of_command_line(filter_of(args), are_named, metadata, targets)
}

/// The filter of the command line.
fn filter_of(args: &LaunchArgs) -> Option<Filter> {
    args.filter().map(|expression| Filter {
        expression: expression.to_owned(),
        exact: args.exact,
    })
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

/// Returns a run of the whole suite without its benchmarks.
pub fn measured_run(
    args: &LaunchArgs,
    workspace_root: &Path,
    started_at: Timestamp,
    targets: &[BenchTarget],
    settings: &WorkspaceSettings,
) -> Run {
    Run {
        id: run_id(started_at),
        started_at: started_at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        machine: Machine::of_this_machine(),
        build: build_identity(
            args.cargo.profile.as_deref(),
            args.cargo.target.as_deref(),
            workspace_root,
        ),
        launch_settings: launch_settings(targets, &settings.workspace),
        shard: None,
        selection: Selection::default(),
        failed: Vec::new(),
        benchmarks: Vec::new(),
    }
}

/// Creates the directory for a launch's files.
pub fn scratch_directory() -> Result<Scratch, BenchError> {
    Scratch::new().map_err(BenchError::Scratch)
}

fn launcher(args: &LaunchArgs, cargo: &Path, scratch: &Path) -> Launcher {
    let exact = args.exact.then(|| "--exact".to_owned());
    Launcher {
        scratch: scratch.to_owned(),
        cargo: cargo.to_owned(),
        arguments: args.criterion_without_filter(),
        filter: exact
            .into_iter()
            .chain(args.filter().map(str::to_owned))
            .collect(),
        shows_output: args.cargo.verbose > 0,
        through: None,
        group: None,
        starter: Starter::of_this_program(),
    }
}

/// Refuses an invalid filter before the build; criterion would only panic after it.
fn checked_filter(args: &LaunchArgs) -> Result<NameFilter, BenchError> {
    names_of(filter_of(args).as_ref())
}

/// Returns the names that `filter` lets through.
pub fn names_of(filter: Option<&Filter>) -> Result<NameFilter, BenchError> {
    NameFilter::of(filter).map_err(|error| BenchError::Filter {
        filter: filter.map_or(String::new(), |filter| filter.expression.clone()),
        error: Box::new(error),
    })
}

/// Refuses arguments that would break a launch, and says what to use instead.
fn check_criterion_arguments(arguments: &[String]) -> Result<(), BenchError> {
    for argument in arguments {
        let flag = argument.split('=').next().unwrap_or(argument);
        if let Some((flag, instead)) = REFUSED_FLAGS.iter().find(|(refused, _)| *refused == flag) {
            return Err(BenchError::CriterionArgument {
                flag: (*flag).to_owned(),
                instead,
            });
        }
    }
    Ok(())
}

fn launch(
    args: &LaunchArgs,
    targets: &[BenchTarget],
    launcher: &Launcher,
) -> Result<Outcome, BenchError> {
    let mut outcome = launch_all(args, &modelled::on_the_clock(targets), launcher)?;
    with_model(args, targets, launcher, &mut outcome)?;
    Ok(outcome)
}

/// Runs all launches of `targets`, one after the other.
fn launch_all(
    args: &LaunchArgs,
    targets: &[BenchTarget],
    launcher: &Launcher,
) -> Result<Outcome, BenchError> {
    let mut progress = Progress::new(Style::of_process(args.cargo.quiet), targets);
    let outcome = runner::run(targets, launcher, args.measuring.fail_fast, &mut progress);
    progress.finish();
    outcome.map_err(|error| match error {
        LaunchError::Interrupted => BenchError::Interrupted,
        other => BenchError::Launch(other),
    })
}

/// Adds modelled slots to the time of those targets that request the model or found no counters.
fn with_model(
    args: &LaunchArgs,
    targets: &[BenchTarget],
    launcher: &Launcher,
    timed: &mut Outcome,
) -> Result<(), BenchError> {
    let wanted = modelled::wanted(targets, &timed.collected);
    if wanted.is_empty() || (args.measuring.fail_fast && failures(timed) > 0) {
        return Ok(());
    }
    let launcher = Launcher {
        through: modelled::fixed_addresses(),
        ..launcher.clone()
    };
    if launcher.through.is_none() {
        tell!(
            "note: addresses cannot be fixed here (`setarch -R` is missing or forbidden), so \
             modelled launches may differ a little"
        );
    }
    let few = modelled::on_the_model(&wanted, modelled::LAUNCHES_THAT_AGREE);
    let mut outcome = launch_all(args, &few, &launcher)?;
    let disagreeing = modelled::disagreeing(&outcome);
    if !disagreeing.is_empty() {
        let targets = modelled::targets_of(&disagreeing, &wanted);
        let asked = parting::asked(&targets, &disagreeing, &outcome.collected);
        let all = modelled::on_the_model(&asked, u32::MAX);
        let more = launch_all(args, &all, &launcher)?;
        if !args.cargo.quiet {
            let partings =
                parting::partings(&targets, &disagreeing, &outcome.collected, &more.collected);
            for (id, parting) in partings {
                anstream::eprintln!("note: modelled launches of `{id}` differ: {parting}");
            }
        }
        outcome.replace(&targets, more);
    }
    if !args.cargo.quiet {
        for (id, took) in modelled::times(&outcome.collected) {
            tell!("    Modelled {} in {:.2} s", id.name, took.as_secs_f64());
        }
    }
    modelled::join(timed, outcome, &wanted);
    Ok(())
}

fn report_problems(outcome: &Outcome) {
    for target in &outcome.not_criterion {
        tell!(
            "note: bench target `{target}` is left out: it is not a criterion benchmark (one that \
             should be needs `harness = false` in its [[bench]] section)"
        );
    }
    for target in &outcome.not_connected {
        tell!(
            "note: bench target `{target}` is left out: it has criterion, but ended without looking for \
             its runner (it needs `harness = false` in its [[bench]] section and a `main` that runs its \
             groups; and `localhost` must resolve to 127.0.0.1)"
        );
    }
    for OtherMeasurement { id, one } in &outcome.other_measurements {
        anstream::eprintln!(
            "warning: benchmark `{id}` is left out: it has a measurement of its own, which writes the \
             value 1 as `{one}`; only criterion_topdown::TopDown and wall-clock time can be kept \
             (`leave-out` in the settings leaves it out without a warning)"
        );
    }
    for failure in &outcome.not_modelled {
        tell!("warning: it is not modelled and has time alone: {failure}; please report this");
    }
    for lost in &outcome.collected.lost_launches {
        tell!(
            "warning: launch {} of `{}` has too few usable samples and does not count",
            lost.launch,
            lost.id
        );
    }
    for residual in &outcome.collected.residuals {
        tell!("warning: {residual}");
    }
    for error in &outcome.collected.errors {
        tell!("error: {error}");
    }
    for failure in &outcome.failures {
        tell!("error: {failure}");
        if !failure.output.is_empty() {
            tell!("--- its output ---\n{}---", failure.output);
        }
    }
}

fn failures(outcome: &Outcome) -> usize {
    outcome.failures.len() + outcome.collected.errors.len()
}

/// Lists what failed, by name.
fn failed_names(outcome: &Outcome) -> Vec<String> {
    let targets = outcome
        .failures
        .iter()
        .map(|failure| failure.target.clone());
    let benchmarks = outcome.collected.errors.iter();
    targets
        .chain(benchmarks.map(|error| error.id().to_string()))
        .collect()
}

/// Explains why there is nothing to store.
fn nothing_to_keep(args: &LaunchArgs, targets: &[BenchTarget], outcome: &Outcome) -> BenchError {
    match args.filter() {
        _ if failures(outcome) > 0 => BenchError::BenchesFailed {
            failed: failures(outcome),
        },
        _ if outcome.not_criterion.len() + outcome.not_connected.len() == targets.len() => {
            BenchError::NoCriterion
        }
        Some(filter) => BenchError::NothingMatched {
            filter: filter.to_owned(),
        },
        None => BenchError::NoBenchmarks,
    }
}

/// Returns the time and a random word: containers that start together share process ids.
pub fn run_id(started_at: Timestamp) -> String {
    format!(
        "{}-{}",
        started_at.strftime("%Y%m%dT%H%M%SZ"),
        random_word()
    )
}

/// Returns the settings common to all targets, or the workspace's if they differ.
fn launch_settings(targets: &[BenchTarget], workspace: &Settings) -> LaunchSettings {
    let first = targets.first().map_or(workspace, |target| &target.settings);
    let settings = if targets.iter().all(|t| t.settings == *first) {
        first
    } else {
        workspace
    };
    let ms = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    LaunchSettings {
        launches: settings.launches,
        sample_size: settings.sample_size,
        warm_up_ms: ms(settings.warm_up_time),
        measurement_ms: ms(settings.measurement_time),
    }
}
