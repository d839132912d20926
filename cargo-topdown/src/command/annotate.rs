//! `cargo topdown annotate`, and the two listings of a comparison.

use std::io::Write;

use topdown_run::run_file::{Benchmark, BenchmarkId};

use crate::cli::AnnotateArgs;
use crate::error::Error;
use crate::exit::Exit;
use crate::measure::{Session, problems};
use topdown_explain::ExplainError;
use topdown_explain::listing::Listing;
use topdown_report::listing_text::{self, Extent};
use topdown_report::style::{self, Look};
use topdown_run::code_samples::DEFAULT_PERIOD_CYCLES;
use topdown_runner::functions::{Symbols, Syntax, listing};
use topdown_runner::gathering::relaunch::restricted_to;
use topdown_runner::launching::launcher::Launcher;
use topdown_runner::modelling::model_or_clock;
use topdown_runner::sampling;
use topdown_runner::settings::Settings;
use topdown_runner::targets::bench_targets::BenchTarget;
use topdown_terminal::nearest::{Suggestion, nearest};

/// Runs the subcommand.
///
/// # Errors
/// Returns an error if there is no such benchmark or function, or if nothing is known of its
/// instructions.
pub fn run(args: &AnnotateArgs) -> Result<Exit, Error> {
    let mut session = Session::begin(args.request())?;
    let targets = session.build()?;
    if args.cargo.no_run {
        return Ok(Exit::Success);
    }
    let targets = session.without_left_out(targets)?;
    let syntax = args.listing.syntax.into();
    let mut listing = annotated(&session, &targets, &args.benchmark, syntax)?;
    let mut extent = args.listing.extent();
    if let Some(function) = &args.function {
        keep_functions(&mut listing, function)?;
        extent = Extent::All;
    }
    let mut out = style::stdout(args.output.color);
    listing_text::write(&mut out, &listing, extent, Look::from_environment())?;
    out.flush()?;
    Ok(Exit::Success)
}

fn keep_functions(listing: &mut Listing, wanted: &str) -> Result<(), ExplainError> {
    let functions = listing.functions.iter();
    let names: Vec<String> = functions.filter_map(|f| f.name.clone()).collect();
    if listing.keep_functions(wanted) {
        return Ok(());
    }
    Err(ExplainError::NoSuchFunction {
        wanted: wanted.to_owned(),
        id: Box::new(listing.id.clone()),
        nearest: Suggestion(nearest(wanted, &names)).to_string(),
    })
}

/// Launches the benchmark `wanted` for the slots of its instructions: on the model once, with
/// counters for their values and then for PMU samples.
///
/// # Errors
/// Returns an error if there is no such benchmark, or if nothing is known of its instructions.
pub fn annotated(
    session: &Session,
    targets: &[BenchTarget],
    wanted: &str,
    syntax: Syntax,
) -> Result<Listing, Error> {
    let targets = model_or_clock::with_settings(targets, |settings| Settings {
        launches: 1,
        instructions: true,
        paths: false,
        fingerprints: false,
        ..settings
    });
    let brief = model_or_clock::briefly_on_the_clock(&targets);
    let mut outcome = session.launch(&brief, session.launcher())?;
    if outcome.collected.benchmarks.is_empty() {
        problems::report(&outcome);
        return Err(session.empty_run_error(&targets, &outcome).into());
    }
    let id = the_one(&outcome.collected.benchmarks, wanted)?;
    let targets = restricted_to(std::slice::from_ref(&id), &targets, |_| 1);
    session.add_model(&targets, 1, &mut outcome)?;
    let to_sample = sampling::wanted(&targets, &outcome.collected.benchmarks);
    if !to_sample.is_empty() {
        let launcher = Launcher {
            hit_periods: vec![DEFAULT_PERIOD_CYCLES],
            ..session.launcher().clone()
        };
        let sampled = session.launch(&to_sample, &launcher)?.collected;
        outcome.collected.by_address.extend(sampled.by_address);
    }
    let collected = outcome.collected;
    let mut benchmarks = collected.benchmarks.iter();
    let benchmark = benchmarks.find(|benchmark| benchmark.id == id);
    let mut by_address = collected.by_address.iter();
    let code = by_address.find(|(of, _)| *of == id);
    let target = targets.iter().find(|target| target.has(&id));
    let (Some(benchmark), Some((_, code)), Some(target)) = (benchmark, code, target) else {
        let reason = benchmark.map(|benchmark| benchmark.provenance().reason.clone());
        return Err(ExplainError::NoInstructions {
            id: Box::new(id),
            reason: reason.unwrap_or_else(|| "it was not measured".to_owned()),
        }
        .into());
    };
    let mut symbols = Symbols::for_package(&target.executable, &target.package_root);
    Ok(listing(
        &id,
        benchmark.provenance(),
        code,
        &mut symbols,
        syntax,
    ))
}

/// Returns the benchmark of this name, or else the only one.
fn the_one(benchmarks: &[Benchmark], wanted: &str) -> Result<BenchmarkId, ExplainError> {
    let named = benchmarks.iter().find(|b| b.id.name == wanted);
    match (named, benchmarks) {
        (Some(one), _) | (None, [one]) => Ok(one.id.clone()),
        _ => Err(ExplainError::NotOne {
            wanted: wanted.to_owned(),
            ids: benchmarks.iter().map(|b| b.id.clone()).collect(),
        }),
    }
}
