//! `cargo topdown comment`: prints what a privileged job posts on a pull request.

use std::io::Write;

use crate::cli::{ColorChoice, CommentArgs};
use crate::error::Error;
use crate::exit::Exit;
use crate::report::foreign_comment::ForeignComparison;
use crate::report::style;

/// Runs the subcommand.
///
/// # Errors
/// Returns an error if the file is missing or is not a valid comparison.
pub fn run(args: &CommentArgs) -> Result<Exit, Error> {
    let comparison = ForeignComparison::read(&args.comparison)?;
    write!(style::stdout(ColorChoice::Never), "{comparison}")?;
    Ok(Exit::Success)
}
