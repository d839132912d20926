//! `cargo topdown`: runs criterion benches, compares TopDown slots with a baseline, and fails CI.
//!
//! Data flow: `command::bench` has [`topdown_runner`] build the bench targets and launch them.
//! Their samples become a run file. `command::compare` reads two run files, [`topdown_gate`] judges
//! them, and [`topdown_report`] prints the result without computing anything.
#![forbid(unsafe_code)]

mod accepted_file;
mod base_tree;
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
mod exit;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod git;
mod host_environment;
mod measure;
mod merge;
mod renames;
mod saved;
#[cfg(test)]
mod schema;
mod shard;
mod store_location;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = cli::Cli::parse_from(cli::arguments());
    match command::run(cli.command) {
        Ok(exit) => exit.into(),
        Err(error) => {
            topdown_terminal::message!("error: {error}");
            exit::Exit::from(&error).into()
        }
    }
}
