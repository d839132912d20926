//! `cargo topdown history`: shows where the benchmarks of a baseline's runs changed for good.

use std::io::Write;

use topdown_run::run_file::BenchmarkId;

use crate::cli::HistoryArgs;
use crate::comparing::history;
use crate::error::Error;
use crate::exit::Exit;
use topdown_gate::pattern::Pattern;
use topdown_gate::trend::MIN_RUNS;
use topdown_report::style::{self, Look};
use topdown_report::trend_text;
use topdown_terminal::nearest::{Suggestion, nearest};

/// Runs the subcommand.
///
/// # Errors
/// Returns an error if there is no such baseline or benchmark, or none of its runs can be read.
pub fn run(args: &HistoryArgs) -> Result<Exit, Error> {
    let workspace = args.store.store_location().workspace()?;
    let store = args.store.store_location().store_of(&workspace);
    let stored = match (&args.name, &args.machine) {
        (Some(name), Some(key)) => store.of_name(name, Some(key))?.swap_remove(0),
        (Some(name), None) => store.find(name)?,
        (None, _) => store.default_one()?,
    };
    let mut trend = history::trend_of(
        stored.name.as_str(),
        &stored.directory,
        workspace.config.renames(),
    )?;
    // After the judgement, which must not depend on what is shown.
    if !args.benchmarks.is_empty() {
        let patterns: Vec<Pattern> = args.benchmarks.iter().map(|g| Pattern::new(g)).collect();
        let matches = |id: &BenchmarkId| patterns.iter().any(|pattern| pattern.matches(id));
        if !trend.benchmarks.iter().any(|b| matches(&b.id)) {
            let names = trend.benchmarks.iter().map(|b| &b.id.name);
            return Err(Error::NoSuchHistory {
                nearest: Suggestion(nearest(&args.benchmarks[0], names)),
                wanted: args.benchmarks.join("`, `"),
            });
        }
        trend.retain(matches);
    }
    let mut out = style::stdout(args.output.color);
    if args.json {
        serde_json::to_writer_pretty(&mut out, &trend).map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else {
        trend_text::write(&trend, Look::from_environment(), &mut out)?;
    }
    if !args.fail_on_change {
        return Ok(Exit::Success);
    }
    if !trend.is_long_enough() {
        return Err(Error::ShortHistory {
            runs: trend.runs.len(),
            least: MIN_RUNS,
        });
    }
    Ok(match trend.slower_within(args.newest).next() {
        Some(_) => Exit::Regressed,
        None => Exit::Success,
    })
}
