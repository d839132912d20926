//! `cargo topdown history`: where the benchmarks of a baseline's runs changed for good.

use std::io::Write;

use crate::baseline_store::{BaselineStore, StoredBaseline};
use crate::cli::HistoryArgs;
use crate::error::{Error, Exit};
use crate::policy::Pattern;
use crate::report::style::{self, Look};
use crate::report::trend_text;
use crate::verdict::trend::{LEAST_RUNS, Trend, trend};

/// The probability of any change point in a suite that never changed, as the gate has it by default.
const ALPHA: f64 = 0.05;

/// Runs the subcommand.
///
/// # Errors
/// When there is no such baseline or benchmark, or none of its runs can be read.
pub fn run(args: &HistoryArgs) -> Result<Exit, Error> {
    let store = BaselineStore::open(&args.store)?;
    let stored = match (&args.name, &args.machine) {
        (Some(name), Some(key)) => store.of_name(name, Some(key))?.swap_remove(0),
        (Some(name), None) => store.find(name)?,
        (None, _) => store.only_one()?,
    };
    let mut trend = trend_of(&stored)?;
    // After the judgement, which must not depend on what is shown of it.
    if !args.benchmarks.is_empty() {
        let patterns: Vec<Pattern> = args.benchmarks.iter().map(|g| Pattern::new(g)).collect();
        trend.retain(|id| patterns.iter().any(|pattern| pattern.matches(id)));
        if trend.benchmarks.is_empty() {
            return Err(Error::NoSuchHistory {
                wanted: args.benchmarks.join("`, `"),
            });
        }
    }
    let mut out = style::stdout(args.output.color);
    if args.json {
        serde_json::to_writer_pretty(&mut out, &trend).map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else {
        trend_text::write(&trend, Look::of_environment(), &mut out)?;
    }
    if !args.fail_on_change {
        return Ok(Exit::Success);
    }
    if !trend.is_long_enough() {
        return Err(Error::ShortHistory {
            runs: trend.runs.len(),
            least: LEAST_RUNS,
        });
    }
    Ok(match trend.slower_within(args.newest).next() {
        Some(_) => Exit::Regressed,
        None => Exit::Success,
    })
}

/// The trend of the runs of a baseline.
///
/// # Errors
/// When none of them can be read.
pub fn trend_of(stored: &StoredBaseline) -> Result<Trend, Error> {
    let (runs, unreadable) = stored.read_runs()?;
    let problems = unreadable.iter().map(ToString::to_string).collect();
    match trend(stored.name.as_str(), &runs, problems, ALPHA) {
        Some(trend) => Ok(trend),
        // The baseline itself is among its runs, so its reason is among these.
        None => Err(match unreadable.into_iter().next_back() {
            Some(error) => Error::RunFile(error),
            None => Error::ShortHistory {
                runs: 0,
                least: LEAST_RUNS,
            },
        }),
    }
}
