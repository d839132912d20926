//! `cargo topdown doctor --noise`: compares the suite with itself.

use std::io::Write;

use criterion_topdown::run_file::{self, Run};
use jiff::Timestamp;

use super::bench::{self, BenchError};
use crate::bench_targets::{BenchTarget, Cargo, cargo_program};
use crate::cli::DoctorArgs;
use crate::config::Workspace;
use crate::config::measuring::Settings;
use crate::error::Error;
use crate::exit::Exit;
use crate::report::noise_table;
use crate::report::style::{self, Look};
use crate::runner::interrupt;
use topdown_gate::verdict::{LabelledRun, noise_of};

/// Runs the suite, or reads the given run. Stores nothing.
pub fn run(args: &DoctorArgs) -> Result<Exit, Error> {
    let (policy, run, launches) = match &args.run {
        Some(name) => {
            // A run file can be read outside of any workspace.
            let policy = args.store.config()?.policy(&args.policy.overrides())?;
            let path = args.store.resolve_run(name)?;
            let run = run_file::read_run(&path)?;
            let launches = run.launch_settings.launches;
            (policy, run, launches)
        }
        None => {
            let cargo = Cargo {
                program: cargo_program(),
                flags: args.launch.cargo.flags(args.output.color),
                manifest_path: args.store.manifest_path.as_deref(),
                directory: None,
            };
            let metadata = cargo.metadata().map_err(BenchError::from)?;
            let workspace = Workspace::of_metadata(metadata)?;
            let policy = workspace.config.policy(&args.policy.overrides())?;
            let (run, launches) = measure(args, &cargo, &workspace)?;
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
        noise_table::write(&mut text, &report, Look::of_environment())?;
    }
    style::stdout(args.output.color).write_all(&text)?;
    Ok(Exit::Success)
}

/// Runs the suite with twice the launches. Returns with how many it would be compared.
fn measure(
    args: &DoctorArgs,
    cargo: &Cargo<'_>,
    workspace: &Workspace,
) -> Result<(Run, u32), Error> {
    let Workspace { metadata, config } = workspace;
    let settings = config.measuring(&(&args.launch.measuring).into())?;
    let guard = interrupt::guard().map_err(BenchError::Interrupt)?;
    let targets = cargo
        .bench_targets(metadata, &settings)
        .map_err(BenchError::from)?;
    let both_sides: Vec<BenchTarget> = targets
        .iter()
        .map(|target| BenchTarget {
            settings: Settings {
                launches: target.settings.launches.saturating_mul(2),
                ..target.settings
            },
            ..target.clone()
        })
        .collect();
    let started_at = Timestamp::now();
    let benchmarks = bench::measure_all(&args.launch, &settings, both_sides, cargo)?;
    drop(guard);
    let root = metadata.workspace_root.as_std_path();
    let mut run = bench::measured_run(&args.launch, root, started_at, &targets, &settings);
    let launches = run.launch_settings.launches;
    run.launch_settings.launches = launches.saturating_mul(2);
    Ok((Run { benchmarks, ..run }, launches))
}
