//! `cargo topdown check`: checks a run against the budgets in the manifest.

use std::io::Write;

use topdown_run::run_file;

use crate::cli::CheckArgs;
use crate::comparing::history::ASSUMED_MERGES_PER_YEAR;
use crate::error::Error;
use crate::exit::Exit;
use topdown_gate::verdict::{LabelledRun, check_budgets};
use topdown_report::budget_text;
use topdown_report::style::{self, Look};

/// Runs the subcommand; its exit code is the gate.
pub fn run(args: &CheckArgs) -> Result<Exit, Error> {
    let workspace = args.store.store_location().workspace()?;
    let store = args.store.store_location().store_of(&workspace);
    let policy = workspace
        .config
        .policy(&args.policy.overrides())?
        .spent_over(ASSUMED_MERGES_PER_YEAR);
    if policy.budgets.is_empty() {
        return Err(Error::NoBudgets);
    }
    let run = match &args.run {
        Some(name) => run_file::read_run(&store.resolve(name)?)?,
        None => store.newest()?,
    };
    let label = args.run.as_deref().unwrap_or("the newest run");
    let check = check_budgets(LabelledRun { label, run: &run }, &policy);
    let mut text = Vec::new();
    if args.json {
        serde_json::to_writer_pretty(&mut text, &check).map_err(std::io::Error::from)?;
        text.push(b'\n');
    } else {
        budget_text::write(&check, Look::from_environment(), &mut text)?;
    }
    style::stdout(args.output.color).write_all(&text)?;
    Ok(check.outcome.into())
}
