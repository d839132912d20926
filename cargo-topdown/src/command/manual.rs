//! `cargo topdown completions` and `cargo topdown man`: files that a packager installs with the
//! program.

use std::io::Write;

use clap::CommandFactory;

use crate::cli::{Cli, CompletionsArgs, ManArgs};
use crate::error::Error;
use crate::exit::Exit;
use topdown_terminal::terminal::stdout_for_programs;

/// The program's file name, for shell completions and `man`. As a cargo subcommand it is completed
/// by cargo's own completions.
const PROGRAM: &str = "cargo-topdown";

/// Prints the completions for a shell.
///
/// # Errors
/// Returns an error if standard output cannot be written.
pub fn completions(args: &CompletionsArgs) -> Result<Exit, Error> {
    let mut script = Vec::new();
    let mut command = Cli::command().bin_name(PROGRAM);
    clap_complete::generate(args.shell, &mut command, PROGRAM, &mut script);
    stdout_for_programs().write_all(&script)?;
    Ok(Exit::Success)
}

/// Writes the manual pages, one for the program and one for each subcommand.
///
/// # Errors
/// Returns an error if they cannot be written.
pub fn man(args: &ManArgs) -> Result<Exit, Error> {
    std::fs::create_dir_all(&args.directory)?;
    let command = Cli::command().name(PROGRAM).display_name(PROGRAM);
    clap_mangen::generate_to(command, &args.directory)?;
    Ok(Exit::Success)
}
