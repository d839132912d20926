//! `cargo topdown baseline`: lists, shows, saves and removes baselines.

use std::io::{self, Write};

use serde::Serialize;
use topdown_counters::machine::this_machine;
use topdown_run::machine::Machine;
use topdown_run::provenance::SourceKind;
use topdown_run::run_file::{self, Run, RunFileError};

use super::stored_run::resolve_run;
use crate::cli::{
    BaselineCommand, BaselineListArgs, BaselineRemoveArgs, BaselineSaveArgs, BaselineShowArgs,
};
use crate::error::Error;
use crate::exit::Exit;
use crate::saved;
use topdown_gate::policy::Overrides;
use topdown_gate::verdict::{self, LabelledRun};
use topdown_report::noise_table;
use topdown_report::run_origin::write_run_origin;
use topdown_report::run_table::write_run_table;
use topdown_report::style::{self, Look};
use topdown_report::table::{Cell, Column, Table};
use topdown_store::baselines::{StoreError, StoredBaseline, history};
use topdown_terminal::count_of;

pub fn run(command: BaselineCommand) -> Result<Exit, Error> {
    match command {
        BaselineCommand::List(args) => list(&args),
        BaselineCommand::Show(args) => show(&args),
        BaselineCommand::Save(args) => save(&args),
        BaselineCommand::Remove(args) => remove(&args),
        BaselineCommand::Push(args) => super::share::push(&args),
        BaselineCommand::Pull(args) => super::share::pull(&args),
        BaselineCommand::Gc(args) => super::share::gc(&args),
        BaselineCommand::Accept(args) => super::accept::run(&args),
    }
}

/// The version of `list`'s JSON format.
pub const BASELINES_SCHEMA_VERSION: u32 = 1;

/// The baselines of a store: the JSON of `cargo topdown baseline list --json`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BaselineList {
    /// The version of this format.
    #[cfg_attr(test, schemars(extend("const" = BASELINES_SCHEMA_VERSION)))]
    schema_version: u32,
    /// By name, then by machine.
    baselines: Vec<Entry>,
}

/// A baseline: one name on one class of machines.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Entry {
    /// Its name.
    name: String,
    /// The class of machines.
    machine_key: String,
    /// Whether this machine is one of them.
    this_machine: bool,
    /// Where it is stored.
    directory: String,
    /// Its newest run, or why that cannot be read.
    #[serde(flatten)]
    content: Content,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
enum Content {
    /// It can be read.
    Run {
        /// When the run began, RFC 3339 in UTC.
        started_at: String,
        /// The machine's name for people.
        machine: String,
        /// Where the numbers of its benchmarks come from.
        sources: Vec<SourceKind>,
        /// Number of its benchmarks.
        benchmarks: usize,
        /// The commit that was measured.
        #[serde(skip_serializing_if = "Option::is_none")]
        git_commit: Option<String>,
        /// Runs in the history, this one among them.
        kept_runs: usize,
    },
    /// A run that cannot be read is listed with the reason: leaving it out would hide it.
    Unreadable {
        /// Why not.
        error: String,
    },
}

fn list(args: &BaselineListArgs) -> Result<Exit, Error> {
    let store = args.store.store_location().store()?;
    let machine = this_machine();
    let baselines: Vec<Entry> = store
        .list()?
        .iter()
        .map(|stored| entry(stored, &machine))
        .collect::<Result<_, StoreError>>()?;
    let mut out = style::stdout(args.output.color);
    if args.json {
        let list = BaselineList {
            schema_version: BASELINES_SCHEMA_VERSION,
            baselines,
        };
        write_json(&mut out, &list)?;
    } else if baselines.is_empty() {
        writeln!(
            out,
            "no baselines in {}; to make one: `cargo topdown bench --save NAME{}`",
            store.directory().display(),
            store.flags()
        )?;
    } else {
        write_list(&mut out, &baselines, Look::from_environment())?;
    }
    Ok(Exit::Success)
}

fn entry(stored: &StoredBaseline, machine: &Machine) -> Result<Entry, StoreError> {
    Ok(Entry {
        name: stored.name.to_string(),
        machine_key: stored.machine_key.clone(),
        this_machine: machine.may_compare(&stored.machine_key),
        directory: stored.directory.display().to_string(),
        content: match run_file::read_run(&stored.directory) {
            Ok(run) => Content::Run {
                sources: sources_of(&run),
                started_at: run.started_at,
                machine: run.machine.to_string(),
                benchmarks: run.benchmarks.len(),
                git_commit: run.build.git_commit,
                kept_runs: stored.runs()?.len(),
            },
            Err(RunFileError { problem, .. }) => Content::Unreadable {
                error: problem.to_string(),
            },
        },
    })
}

fn sources_of(run: &Run) -> Vec<SourceKind> {
    let mut sources: Vec<SourceKind> = run
        .benchmarks
        .iter()
        .map(|benchmark| benchmark.provenance().source)
        .collect();
    sources.sort_unstable();
    sources.dedup();
    sources
}

/// Writes a block per name with a line per machine.
fn write_list(out: &mut impl Write, entries: &[Entry], look: Look) -> io::Result<()> {
    let (heading, bad, dim) = (style::HEADING, style::BAD, style::DIM);
    let mut table = Table::new([
        Column::name("", 24),
        Column::text("").starts_line(),
        Column::text(""),
        Column::number(""),
        Column::number(""),
        Column::text(""),
    ])
    .indented(2);
    for of_name in entries.chunk_by(|a, b| a.name == b.name) {
        table.text(format!("{heading}{}{heading:#}", of_name[0].name));
        for entry in of_name {
            let mark = if entry.this_machine { "*" } else { " " };
            let mut cells = vec![Cell::from(format!("{mark} {}", entry.machine_key))];
            match &entry.content {
                Content::Run {
                    started_at,
                    sources,
                    benchmarks,
                    git_commit,
                    kept_runs,
                    ..
                } => {
                    let sources: Vec<&str> = sources.iter().map(|s| s.name()).collect();
                    let commit = git_commit.as_deref().map_or("", abbreviated);
                    cells.extend([
                        started_at.into(),
                        sources.join("+").into(),
                        count_of(benchmarks, "benchmark").into(),
                        count_of(*kept_runs, "run").into(),
                        Cell::styled(commit, dim),
                    ]);
                    table.row(cells);
                }
                Content::Unreadable { error } => {
                    cells.resize(6, Cell::default());
                    table.row(cells);
                    table.text(format!("    {bad}unreadable{bad:#}: {error}"));
                }
            }
        }
    }
    table.write(out, look)?;
    if entries.iter().any(|entry| entry.this_machine) {
        writeln!(
            out,
            "{dim}* taken on a machine like this one, or modelled{dim:#}"
        )?;
    }
    Ok(())
}

/// Returns a commit as git abbreviates it.
fn abbreviated(commit: &str) -> &str {
    commit.get(..9).unwrap_or(commit)
}

fn show(args: &BaselineShowArgs) -> Result<Exit, Error> {
    let path = match &args.machine {
        None => resolve_run(&args.store.store_location(), &args.name)?,
        Some(key) => {
            let name = args.name.parse().map_err(Error::BaselineName)?;
            let store = args.store.store_location().store()?;
            store.of_name(&name, Some(key))?.swap_remove(0).directory
        }
    };
    let mut out = style::stdout(args.output.color);
    let run = run_file::read_run(&path)?;
    if args.json {
        let file = run_file::run_file_of(&path);
        out.write_all(&run_file::read_bytes(&file)?)?;
    } else {
        let look = Look::from_environment();
        // A run that is not a baseline has no history.
        let kept = history::names(&path).map_or(0, |names| names.len());
        write_run_origin(&mut out, &run, kept, look)?;
        writeln!(out)?;
        write_run_table(&mut out, &run, look)?;
        write_noise(&mut out, args, &run, look)?;
    }
    Ok(Exit::Success)
}

/// Shows how much the launches differ, and how large a change the gate can find with this baseline.
fn write_noise(
    out: &mut impl Write,
    args: &BaselineShowArgs,
    run: &Run,
    look: Look,
) -> Result<(), Error> {
    // A run file can be read outside of any workspace.
    let policy = args
        .store
        .store_location()
        .config()?
        .policy(&Overrides::default())?;
    let label = &args.name;
    let launches = run.launch_settings.launches;
    let report = verdict::noise_of(LabelledRun { label, run }, &policy, launches);
    writeln!(out)?;
    Ok(noise_table::write_table(out, &report, look)?)
}

fn save(args: &BaselineSaveArgs) -> Result<Exit, Error> {
    let store = args.store.store_location().store()?;
    let from = match &args.run {
        Some(run) => store.resolve(run)?,
        // If there is none, the error says what to do.
        None => store.newest_path()?,
    };
    let run = run_file::read_run(&from)?;
    if !args.partial {
        store.check_replaces_whole(&args.name, &run.key(), &run.selection)?;
    }
    let stored = store.save(&args.name, &from)?;
    saved::warn_of_wild_launches(&run);
    saved::report(&mut style::stdout(args.output.color), &stored)?;
    Ok(Exit::Success)
}

fn remove(args: &BaselineRemoveArgs) -> Result<Exit, Error> {
    let store = args.store.store_location().store()?;
    let this_key = this_machine().key();
    let found = match (&args.machine, args.all) {
        (Some(key), _) => store.of_name(&args.name, Some(key)),
        (None, true) => store.of_name(&args.name, None),
        (None, false) => store.find(&args.name).map(|found| vec![found]),
    };
    let removed = found.map_err(StoreError::of_removal)?;
    let mut out = style::stdout(args.output.color);
    for stored in &removed {
        store.remove(stored)?;
        let machine = if stored.machine_key == this_key {
            "this machine"
        } else {
            &stored.machine_key
        };
        writeln!(out, "removed baseline `{}` of {machine}", stored.name)?;
    }
    let others = store.list()?;
    let left = others.iter().filter(|s| s.name == args.name).count();
    if left > 0 {
        writeln!(
            out,
            "{left} of other machines remain; `--all` removes them too"
        )?;
    }
    Ok(Exit::Success)
}

fn write_json(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)
}
