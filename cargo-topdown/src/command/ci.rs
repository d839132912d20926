//! `cargo topdown ci`: the steps of the GitHub action, in the order in which `action.yml` runs
//! them.
//!
//! A step reads its inputs from the environment, where no shell interprets them, and hands results
//! on as outputs. The other steps of `action.yml` are commands of this program, or other actions.

mod comment;
mod gate;
mod gh;
mod github;
mod measure;
mod no_comparison;
mod outcome;
mod plan;
mod program;
mod trailers;
mod variables;

use self::github::annotate;
use self::variables::Variables;
use crate::cli::CiStep;
use crate::error::Error;
use crate::exit::Exit;
use topdown_report::workflow_command::Level;

/// Runs the step. An error is shown on the page of the workflow's run.
pub fn run(step: CiStep) -> Result<Exit, Error> {
    let variables = Variables::from_process();
    let ended = match step {
        CiStep::Plan => plan::run(&variables),
        CiStep::Measure => measure::run(&variables),
        CiStep::Comment => Ok(comment::run(&variables)),
        CiStep::Gate => gate::run(&variables),
    };
    Ok(ended.unwrap_or_else(|error| {
        annotate(Level::Error, &error.to_string());
        Exit::from(&error)
    }))
}
