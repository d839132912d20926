//! The command line of `ci`.

use clap::Subcommand;

/// `cargo topdown ci`: a step of action.yml. Its inputs are variables that action.yml sets.
#[derive(Clone, Copy, Debug, Subcommand)]
pub enum CiStep {
    /// Check the inputs, show what the machine can measure, and say where files go
    Plan,
    /// Run the benches, compare the run, and make one outcome of both
    Measure,
    /// Keep one comment on the pull request up to date
    Comment,
    /// End with the exit code of the outcome
    Gate,
}
