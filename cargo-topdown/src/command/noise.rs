//! `cargo topdown doctor --noise`: compares the suite with itself.

use std::io::Write;

use topdown_run::run_file::{self, Run};

use super::stored_run::resolve_run;
use crate::cli::DoctorArgs;
use crate::comparing::history::ASSUMED_MERGES_PER_YEAR;
use crate::error::Error;
use crate::exit::Exit;
use crate::measure::{Session, on_its_cores, problems};
use topdown_gate::verdict::{LabelledRun, noise_of};
use topdown_report::noise_table;
use topdown_report::style::{self, Look};
use topdown_runner::settings::Settings;
use topdown_runner::targets::bench_targets::BenchTarget;

/// Runs the suite, or reads the given run. Stores nothing.
pub fn run(args: &DoctorArgs) -> Result<Exit, Error> {
    let (policy, run, launches) = match &args.run {
        Some(name) => {
            // A run file can be read outside of any workspace.
            let policy = args
                .store
                .store_location()
                .config()?
                .policy(&args.policy.overrides())?;
            let path = resolve_run(&args.store.store_location(), name)?;
            let run = run_file::read_run(&path)?;
            let launches = run.launch_settings.launches;
            (policy, run, launches)
        }
        None => {
            let session = Session::begin(args.launch.request(&args.store, &args.output))?;
            let policy = session
                .workspace
                .config
                .policy(&args.policy.overrides())?
                .spent_over(ASSUMED_MERGES_PER_YEAR);
            let (run, launches) = measure(session)?;
            (policy, run, launches)
        }
    };
    let label = args.run.as_deref().unwrap_or("the suite");
    let report = noise_of(LabelledRun { label, run: &run }, &policy, launches);
    let mut text = Vec::new();
    if args.json {
        serde_json::to_writer_pretty(&mut text, &report).map_err(std::io::Error::from)?;
        text.push(b'\n');
    } else {
        noise_table::write(&mut text, &report, Look::from_environment())?;
    }
    style::stdout(args.output.color).write_all(&text)?;
    Ok(Exit::Success)
}

/// Runs the suite with twice the launches, and returns how many launches each half has.
fn measure(mut session: Session) -> Result<(Run, u32), Error> {
    let targets = session.build()?;
    let twice = |target: &BenchTarget| BenchTarget {
        settings: Settings {
            launches: target.settings.launches.saturating_mul(2),
            ..target.settings
        },
        ..target.clone()
    };
    let both_sides = session.without_left_out(targets.iter().map(twice).collect())?;
    let outcome = session.measure_in_full(&both_sides)?;
    problems::report(&outcome);
    if problems::count(&outcome) > 0 || outcome.collected.benchmarks.is_empty() {
        return Err(session.empty_run_error(&both_sides, &outcome).into());
    }
    let root = session.workspace.metadata.workspace_root.as_std_path();
    let mut run = session.run_without_benchmarks(root, &targets);
    run.benchmarks = outcome.collected.benchmarks;
    let mut run = on_its_cores(run);
    let launches = run.launch_settings.launches;
    run.launch_settings.launches = launches.saturating_mul(2);
    Ok((run, launches))
}
