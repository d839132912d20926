//! A run before its benchmarks are known.

use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use topdown_counters::machine::{this_machine, this_machine_on};
use topdown_run::run_file::stored_file::random_word;
use topdown_run::run_file::{Build, LaunchSettings, Run, Selection};

use super::build_identity::build_identity;
use topdown_runner::settings::Settings;
use topdown_runner::targets::bench_targets::{BenchTarget, CargoFlags};

/// Returns a run of `targets` without its benchmarks. `root` is the root of the workspace that they
/// were built in, and `workspace` its settings.
pub(super) fn without_benchmarks(
    started_at: Timestamp,
    root: &Path,
    flags: &CargoFlags,
    targets: &[BenchTarget],
    workspace: &Settings,
) -> Run {
    Run {
        id: run_id(started_at),
        started_at: started_at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        machine: this_machine(),
        build: Build {
            debug_information: Some(targets.iter().all(|target| target.has_debug_information)),
            ..build_identity(flags.profile.as_deref(), flags.target.as_deref(), root)
        },
        launch_settings: launch_settings(targets, workspace),
        competing_threads: None,
        shard: None,
        selection: Selection::default(),
        failed: Vec::new(),
        benchmarks: Vec::new(),
    }
}

/// Returns the time and a random word: containers that start together share process ids.
pub fn run_id(started_at: Timestamp) -> String {
    let at = started_at.strftime("%Y%m%dT%H%M%SZ");
    format!("{at}-{}", random_word())
}

/// Returns this run of this machine as one of the cores that measured its benchmarks.
pub fn on_its_cores(run: Run) -> Run {
    Run {
        machine: this_machine_on(run.core_type()),
        ..run
    }
}

/// Returns the settings common to all targets, or the workspace's if they differ.
fn launch_settings(targets: &[BenchTarget], workspace: &Settings) -> LaunchSettings {
    let first = targets.first().map_or(workspace, |target| &target.settings);
    let settings = if targets.iter().all(|target| target.settings == *first) {
        first
    } else {
        workspace
    };
    let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    LaunchSettings {
        launches: settings.launches,
        sample_size: settings.sample_size,
        warm_up_ms: ms(settings.warm_up_time),
        measurement_ms: ms(settings.measurement_time),
    }
}
