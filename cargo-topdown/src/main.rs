//! `cargo topdown`: runs criterion benches, compares TopDown slots with a baseline, and fails CI.
//!
//! The way of the data: `command::bench` builds the bench targets and lets [`runner`] launch
//! them; their samples become a run file. `command::compare` reads two of them, [`topdown_gate`]
//! judges, and [`report`] prints without computing anything.
#![forbid(unsafe_code)]

mod accepted_file;
mod adoption;
mod arm_specification;
mod base_tree;
mod baseline_store;
mod bench_targets;
mod build_identity;
mod cli;
mod command;
mod counted_command;
mod disturbances;
#[cfg(test)]
mod documentation;
mod error;
mod exit;
mod explained;
mod functions;
mod import;
mod merge;
mod policy_table;
mod processes;
mod report;
mod runner;
#[cfg(test)]
mod schema;
mod selection;
mod settings;
mod shard;
mod shared_store;
mod terminal;

use std::io::ErrorKind;
use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = cli::Cli::parse_from(cli::arguments());
    match command::run(cli.command) {
        Ok(exit) => exit.into(),
        // The reader of our output has seen enough, as in `… | head`. Not a failure, but not
        // a success either: a gate may have been cut short.
        Err(error::Error::Output(error)) if error.kind() == ErrorKind::BrokenPipe => {
            exit::Exit::BenchFailed.into()
        }
        Err(error) => {
            terminal::tell!("error: {error}");
            exit::Exit::from(&error).into()
        }
    }
}
