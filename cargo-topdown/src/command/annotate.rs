//! `cargo topdown annotate`, and the two listings of a comparison.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use topdown_run::run_file::{Benchmark, BenchmarkId};

use crate::cli::{AnnotateArgs, ColorChoice, ComparisonArgs};
use crate::comparing::second_look::ComparedRun;
use crate::comparing::wanted_verdict;
use crate::error::Error;
use crate::exit::Exit;
use crate::measure::{Request, Session, problems};
use topdown_explain::ExplainError;
use topdown_explain::listing::{Listing, ListingComparison};
use topdown_gate::metric::Metric;
use topdown_gate::verdict::{BenchmarkVerdict, Comparison, Verdict};
use topdown_report::changed_lines::changed_lines;
use topdown_report::html::{self, NamedPage};
use topdown_report::listing_comparison_text;
use topdown_report::listing_text::{self, Extent};
use topdown_report::request::ReportError;
use topdown_report::style::{self, Look};
use topdown_run::code_samples::DEFAULT_PERIOD_CYCLES;
use topdown_runner::functions::{Symbols, Syntax, listing};
use topdown_runner::gathering::relaunch::restricted_to;
use topdown_runner::launching::launcher::Launcher;
use topdown_runner::modelling::model_or_clock;
use topdown_runner::record::LaunchRecord;
use topdown_runner::sampling;
use topdown_runner::settings::Settings;
use topdown_runner::targets::bench_targets::BenchTarget;
use topdown_system::whole_file;
use topdown_terminal::nearest::{Suggestion, nearest};
use topdown_terminal::terminal::message;

/// Runs the subcommand.
///
/// # Errors
/// Returns an error if there is no such benchmark or function, or if nothing is known of its
/// instructions.
pub fn run(args: &AnnotateArgs) -> Result<Exit, Error> {
    let mut session = Session::begin(args.one.request())?;
    let targets = session.build()?;
    if args.one.cargo.no_run {
        return Ok(Exit::Success);
    }
    let targets = session.without_left_out(targets)?;
    let syntax = args.listing.syntax();
    let mut listing = annotated(&session, &targets, &args.one.benchmark, syntax)?;
    let mut extent = args.listing.extent();
    if let Some(function) = &args.function {
        keep_functions(&mut listing, function)?;
        extent = Extent::All;
    }
    if let Some(directory) = &args.listing.pages {
        write_pages(directory, &html::listing_pages(&listing))?;
    }
    let mut out = style::stdout(args.one.output.color);
    listing_text::write(&mut out, &listing, extent, Look::from_environment())?;
    out.flush()?;
    Ok(Exit::Success)
}

fn write_pages(directory: &Path, pages: &[NamedPage]) -> Result<(), ReportError> {
    let written = fs::create_dir_all(directory);
    written.map_err(|error| ReportError::new(directory, error))?;
    for (name, text) in pages {
        let path = directory.join(name);
        whole_file::write(&path, text.as_bytes())
            .map_err(|error| ReportError::new(&path, error))?;
    }
    Ok(())
}

fn keep_functions(listing: &mut Listing, wanted: &str) -> Result<(), ExplainError> {
    // Few people type a whole path.
    let last_part = |name: &str| name.rsplit("::").next().unwrap_or(name).to_owned();
    let functions = listing.functions.iter();
    let names = functions.filter_map(|function| function.name.as_deref());
    let names: Vec<String> = names
        .flat_map(|name| [name.to_owned(), last_part(name)])
        .collect();
    if listing.keep_functions(wanted) {
        return Ok(());
    }
    Err(ExplainError::NoSuchFunction {
        wanted: wanted.to_owned(),
        id: Box::new(listing.id.clone()),
        nearest: Suggestion(nearest(wanted, &names)).to_string(),
    })
}

/// Returns the benchmark of a comparison whose lines to show; if `wanted` is empty, the one whose
/// slots grew most, of those that regressed if any did.
///
/// # Errors
/// Returns an error if there is no such benchmark.
fn benchmark_of(wanted: &str, comparison: &Comparison) -> Result<BenchmarkId, Error> {
    if !wanted.is_empty() {
        return Ok(wanted_verdict(wanted, comparison)?.id.clone());
    }
    let change = |of: &BenchmarkVerdict| of.effect(Metric::Slots).map_or(0.0, |e| e.difference);
    let key = |of: &BenchmarkVerdict| (of.verdict == Verdict::Regressed, change(of).abs());
    let changed = comparison.benchmarks.iter();
    let changed = changed.filter(|of| change(of) != 0.0);
    let most = changed.max_by(|a, b| {
        let (a, b) = (key(a), key(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
    most.map(|of| of.id.clone()).ok_or(Error::NothingToAnnotate)
}

/// Launches the executables of two stored runs for the lines of the benchmark `id`.
///
/// # Errors
/// Returns an error if those of a side are gone, or if nothing is known of its instructions.
pub fn of_runs(
    runs: [&ComparedRun; 2],
    id: &BenchmarkId,
    args: &ComparisonArgs,
    manifest_path: Option<PathBuf>,
) -> Result<ListingComparison, Error> {
    let record_of = |side: &ComparedRun| {
        let record = LaunchRecord::read(&side.directory, &side.run);
        record.map_err(|reason| Error::NotAnnotated {
            run: side.label.clone(),
            reason,
        })
    };
    let [base, candidate] = [record_of(runs[0])?, record_of(runs[1])?];
    let session = Session::begin(Request {
        criterion: candidate.criterion,
        manifest_path,
        ..Request::default()
    })?;
    of_targets(&session, [&base.targets, &candidate.targets], id, args)
}

/// Launches both sides of a comparison for the lines of the benchmark `id`.
///
/// # Errors
/// Returns an error if nothing is known of its instructions on a side.
pub fn of_targets(
    session: &Session,
    sides: [&[BenchTarget]; 2],
    id: &BenchmarkId,
    args: &ComparisonArgs,
) -> Result<ListingComparison, Error> {
    let listing = |targets: &[BenchTarget]| {
        let targets = restricted_to(std::slice::from_ref(id), targets, |_| 1);
        annotated(session, &targets, &id.name, args.listing.syntax())
    };
    let [before, after] = sides;
    Ok(ListingComparison::new(listing(before)?, listing(after)?))
}

/// Returns the lines that `--annotate` asks for, which `list` finds for the benchmark, and adds
/// those that tell most to the comparison.
///
/// # Errors
/// Returns an error if there is no such benchmark, and those of `list`.
pub fn requested(
    args: &ComparisonArgs,
    comparison: &mut Comparison,
    list: impl FnOnce(&BenchmarkId) -> Result<ListingComparison, Error>,
) -> Result<Option<ListingComparison>, Error> {
    let Some(wanted) = &args.annotate else {
        return Ok(None);
    };
    let listing = list(&benchmark_of(wanted, comparison)?)?;
    comparison.lines = changed_lines(&listing);
    Ok(Some(listing))
}

/// Prints the lines of both sides after their comparison. If no benchmark was named, unknown lines
/// are worth a note, since the verdict stands without them.
///
/// # Errors
/// Returns the error of `listing`, or an error if standard output cannot be written.
pub fn print(
    listing: Result<Option<ListingComparison>, Error>,
    args: &ComparisonArgs,
    color: ColorChoice,
) -> Result<(), Error> {
    let listing = match listing {
        Ok(Some(listing)) => listing,
        Ok(None) => return Ok(()),
        Err(
            error @ (Error::NothingToAnnotate
            | Error::NotAnnotated { .. }
            | Error::Explain(ExplainError::NoInstructions { .. })),
        ) if args.annotate.as_deref() == Some("") => {
            message!("note: {error}");
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    if let Some(directory) = &args.listing.pages {
        write_pages(directory, &html::comparison_pages(&listing))?;
    }
    let mut out = style::stdout(color);
    writeln!(out)?;
    let look = Look::from_environment();
    listing_comparison_text::write(&mut out, &listing, args.listing.extent(), look)?;
    Ok(out.flush()?)
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
        schedules: 1,
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
    let called = session.model_calls(&targets, &outcome)?;
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
    problems::report(&outcome);
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
    let called = called.iter().find(|(of, _)| *of == id);
    Ok(listing(
        &id,
        benchmark.provenance(),
        code,
        called.map(|(_, called)| called),
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
