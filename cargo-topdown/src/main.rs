//! `cargo topdown`: runs criterion benches, compares TopDown slots with a baseline, and fails CI.
//!
//! Data flow: `command::bench` builds the bench targets, and [`runner`] launches them; their
//! samples become a run file. `command::compare` reads two run files, [`topdown_gate`] judges them,
//! and [`topdown_report`] prints the result without computing anything.
#![forbid(unsafe_code)]

mod absent_names;
mod accepted_file;
mod adoption;
mod arm_specification;
mod base_tree;
mod baseline_store;
mod bench_targets;
mod built;
mod cargo_runner;
mod cgroup;
mod cli;
mod command;
mod comparing;
mod config;
mod counted_command;
mod diagnosis;
mod disturbances;
#[cfg(test)]
mod documentation;
mod error;
mod event;
mod executable;
mod exit;
mod file_identity;
mod functions;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod git;
mod import;
mod interrupt;
mod launch_features;
mod measure;
mod merge;
mod nearest;
mod place;
mod processes;
mod renames;
mod required_features;
mod runner;
mod saved;
#[cfg(test)]
mod schema;
mod scratch;
mod selected_packages;
mod shard;
mod shared_store;
mod waits;
mod whole_file;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = cli::Cli::parse_from(cli::arguments());
    match command::run(cli.command) {
        Ok(exit) => exit.into(),
        Err(error) => {
            topdown_terminal::tell!("error: {error}");
            exit::Exit::from(&error).into()
        }
    }
}
