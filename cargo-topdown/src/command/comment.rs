//! `cargo topdown comment`: what a privileged job posts on a pull request.

use std::io::Write;

use crate::cli::{ColorChoice, CommentArgs};
use crate::error::Error;
use crate::exit::Exit;
use crate::report::foreign_comment::ForeignComparison;
use crate::report::style;

/// Runs the subcommand.
///
/// # Errors
/// When the file is missing or holds no valid comparison.
pub fn run(args: &CommentArgs) -> Result<Exit, Error> {
    let comparison = ForeignComparison::read(&args.comparison)?;
    write!(style::stdout(ColorChoice::Never), "{comparison}")?;
    Ok(Exit::Success)
}
