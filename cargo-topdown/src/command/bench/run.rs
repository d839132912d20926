//! Chooses what `bench` measures: one suite, or two sides of it.

use super::{against, suite};
use crate::cli::BenchArgs;
use crate::error::Error;
use crate::exit::Exit;

/// Runs the subcommand.
///
/// # Errors
/// Returns an error if the benches could not be built, or there is nothing to store or compare.
pub fn run(args: &BenchArgs) -> Result<Exit, Error> {
    args.comparison.check_listing(args.against.is_some())?;
    match &args.against {
        Some(reference) => against::run(args, reference),
        None => suite::run(args),
    }
}
