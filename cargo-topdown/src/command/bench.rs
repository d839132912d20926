//! `cargo topdown bench`: builds the benches, launches them, and stores the run; with `--against`,
//! two sides of them, which are compared.

mod against;
pub mod base_build;
mod build;
mod suite;

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
