//! `cargo topdown compare`: judges two stored runs.

use std::io::Write;

use topdown_run::run_file::Run;

use super::annotate;
use crate::cli::CompareArgs;
use crate::comparing::functions_hint::functions_hint;
use crate::comparing::judged::{ComparisonRequest, Judged, judged};
use crate::comparing::output::Sides;
use crate::comparing::sampled_functions::Sampled;
use crate::comparing::second_look::{self, Relaunch};
use crate::comparing::{history, wanted_verdict};
use crate::error::Error;
use crate::exit::Exit;
use topdown_explain::difference::Difference;
use topdown_gate::verdict::Comparison;
use topdown_report::explanation::{self, Explanation};
use topdown_report::function_table;
use topdown_report::style::{self, Look};
use topdown_terminal::terminal::message;

/// Runs the subcommand; its exit code is the gate.
pub fn run(args: &CompareArgs) -> Result<Exit, Error> {
    args.comparison.check_listing(true)?;
    let Judged {
        baseline,
        candidate,
        comparison,
        base_path,
        relaunched,
        config,
    } = judged(&request(args))?;
    let mut comparison = if args.becomes_baseline {
        comparison.of_next_baseline()
    } else {
        comparison
    };
    let history = args
        .comparison
        .shows_history()
        .then(|| history::page_history(&baseline.label, &base_path, config.renames()))
        .flatten();
    let listing = annotate::requested(&args.comparison, &mut comparison, |id| {
        let manifest_path = args.store.manifest_path.clone();
        annotate::of_runs([&baseline, &candidate], id, &args.comparison, manifest_path)
    });
    let sides = Sides {
        listing: listing.as_ref().ok().and_then(Option::as_ref),
        baseline: &baseline.run,
        candidate: &candidate.run,
        history: history.as_ref(),
    };
    let output = args.comparison.output(args.verbose, args.output.color);
    match &args.explain {
        Some(wanted) => {
            explain(args, wanted, &comparison, sides)?;
            output.write_reports(&comparison, sides)?;
        }
        None => output.report(&comparison, sides)?,
    }
    annotate::print(listing, &args.comparison, args.output.color)?;
    if args.relaunch.is_none() && !relaunched {
        second_look::hint(&baseline, &candidate, &comparison);
    }
    if !args.comparison.json {
        print_functions_of_candidate(args, &comparison, (&baseline.run, &candidate.run))?;
        if let Some(hint) = functions_hint(&baseline, &candidate, &comparison) {
            message!("note: {hint}");
        }
    }
    Ok(Exit::from(&comparison))
}

fn request(args: &CompareArgs) -> ComparisonRequest<'_> {
    ComparisonRequest {
        base: args.base.as_deref(),
        candidate: args.candidate.as_deref(),
        selection: args.selection.text(),
        overrides: args.policy.overrides(),
        relaunch: args.relaunch,
        launches: Relaunch::Allowed,
        sampled: Sampled::requested(args.functions),
        store: args.store.store_location(),
    }
}

fn print_functions_of_candidate(
    args: &CompareArgs,
    comparison: &Comparison,
    runs: (&Run, &Run),
) -> Result<(), Error> {
    let mut text = Vec::new();
    let look = Look::from_environment();
    function_table::write_candidate_only(&mut text, comparison, runs, look)?;
    Ok(style::stdout(args.output.color).write_all(&text)?)
}

fn explain(
    args: &CompareArgs,
    wanted: &str,
    comparison: &Comparison,
    sides: Sides<'_>,
) -> Result<(), Error> {
    let verdict = wanted_verdict(wanted, comparison)?;
    let position_in = |run: &Run| run.benchmarks.iter().position(|b| b.id == verdict.id);
    // A verdict is about a benchmark that both runs have.
    if let (Some(a), Some(b)) = (position_in(sides.baseline), position_in(sides.candidate)) {
        let runs = [sides.baseline, sides.candidate];
        let explanation = Explanation {
            difference: Difference::new(verdict, comparison, runs),
            suite: &comparison.suite,
            baseline: &sides.baseline.benchmarks[a],
            candidate: &sides.candidate.benchmarks[b],
        };
        let mut text = Vec::new();
        explanation::write(&explanation, Look::from_environment(), &mut text)?;
        style::stdout(args.output.color).write_all(&text)?;
    }
    Ok(())
}
