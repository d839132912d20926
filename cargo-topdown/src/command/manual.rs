//! `cargo topdown completions` and `cargo topdown man`: files that a packager installs with the
//! program.

use std::io::{self, Write};
use std::path::Path;

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::cli::{Cli, CompletionsArgs, ManArgs};
use crate::error::Error;
use crate::exit::Exit;
use topdown_system::whole_file;
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
    let mut command = command.disable_help_subcommand(true);
    command.build();
    write_pages(&command, &args.directory)?;
    Ok(Exit::Success)
}

/// Writes the pages of `command` and its subcommands. `clap_mangen::generate_to` would write word
/// by word.
fn write_pages(command: &Command, directory: &Path) -> io::Result<()> {
    let shown = command.get_subcommands().filter(|sub| !sub.is_hide_set());
    for subcommand in shown {
        write_pages(subcommand, directory)?;
    }
    let page = Man::new(command.clone());
    let path = directory.join(page.get_filename());
    whole_file::write_named(&path, |to| page.render(to))
}
