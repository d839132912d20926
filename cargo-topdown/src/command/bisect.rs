//! `cargo topdown bisect`: finds the commit, or the toolchain, at which benchmarks became slower.
//!
//! [`topdown_bisect`] chooses what to try, [`points`] lists the history, and [`trial`] builds and
//! measures one point of it. After each, the search is written to a file, so that the same command
//! goes on where an earlier one was interrupted: what was found at a commit stays true.

mod points;
mod trial;

use std::fs;
use std::io::Write;
use std::path::Path;

use sha2::{Digest, Sha256};
use topdown_bisect::{BISECTION_SCHEMA_VERSION, Bisection, Kind, Outcome, Search, alpha_of_look};
use topdown_run::run_file::{BenchmarkId, Hash};

use crate::base_tree::shown;
use crate::cli::BisectArgs;
use crate::comparing::history::ASSUMED_MERGES_PER_YEAR;
use crate::comparing::output::commit_pages;
use crate::error::{BisectError, Error};
use crate::exit::Exit;
use crate::git::git;
use crate::measure::build_identity::build_identity;
use crate::measure::{MeasureError, Session};
use points::Points;
use topdown_gate::policy::Policy;
use topdown_report::request::ReportError;
use topdown_report::style::{self, Look};
use topdown_report::{bisection_text, html};
use topdown_system::whole_file;
use topdown_terminal::count_of;
use topdown_terminal::terminal::message;
use trial::Trials;

/// The file of the search, below the directory that keeps its trees.
const FILE: &str = "search.json";

/// Runs the subcommand.
///
/// # Errors
/// Returns an error if there is nothing to search, or the first or last point cannot be measured.
pub fn run(args: &BisectArgs) -> Result<Exit, Error> {
    if args.cargo.no_run {
        return Err(BisectError::NoRun.into());
    }
    let session = Session::begin(args.request())?;
    let root = session
        .workspace
        .metadata
        .workspace_root
        .as_std_path()
        .to_owned();
    let policy = session.workspace.config.policy(&args.policy.overrides())?;
    let mut policy = policy.spent_over(ASSUMED_MERGES_PER_YEAR);
    let points = points::of(args, &session)?;
    let directory = session.workspace.kept_directory().join("bisect");
    let not_kept = |error| BisectError::NotKept {
        path: directory.clone(),
        error,
    };
    fs::create_dir_all(&directory).map_err(not_kept)?;
    let file = directory.join(FILE);
    let mut bisection = begun(&points, &session, &policy);
    let earlier =
        read(&file).filter(|earlier| !args.restart && bisection.is_same_question(earlier));
    let goes_on = earlier.is_some();
    if let Some(earlier) = earlier {
        if !args.cargo.quiet && !earlier.tried.is_empty() {
            message!(
                "note: going on after {} of an earlier search; `--restart` begins anew",
                count_of(earlier.tried.len(), "result")
            );
        }
        bisection = earlier;
    }
    policy.alpha = bisection.alpha_of_look;
    policy.compare_across_builds |= bisection.kind == Kind::Toolchains;
    let save = |bisection: &Bisection| {
        let json = serde_json::to_vec(bisection).map_err(std::io::Error::from);
        json.and_then(|json| whole_file::write(&file, &json))
            .map_err(not_kept)
    };
    let interrupted = |error, bisection: &Bisection| match error {
        Error::Measure(MeasureError::Interrupted) => BisectError::Interrupted {
            tried: bisection.tried.len(),
        }
        .into(),
        error => error,
    };
    let mut trials = Trials::begin(session, policy, directory.clone(), &points, goes_on)
        .map_err(|error| interrupted(error, &bisection))?;
    save(&bisection)?;
    while let Some((point, asked)) = next(&bisection, &trials) {
        if !args.cargo.quiet {
            report_next(&bisection, point);
        }
        let tried = trials.run(&bisection, point, &asked);
        let tried = tried.map_err(|error| interrupted(error, &bisection))?;
        if let (true, Some(reason)) = (bisection.tried.is_empty(), &tried.skipped) {
            return Err(BisectError::End {
                point: bisection.points[point].id.clone(),
                reason: reason.clone(),
            }
            .into());
        }
        bisection.tried.push(tried);
        save(&bisection)?;
    }
    drop(trials);
    let ids: Vec<String> = bisection
        .points
        .iter()
        .map(|point| point.id.clone())
        .collect();
    bisection.end(|point| match points.kind {
        Kind::Commits => diffstat(&root, &ids[point]),
        Kind::Toolchains => None,
    });
    save(&bisection)?;
    print(args, &bisection)?;
    let has = |kind: fn(&Outcome) -> bool| bisection.results.iter().any(|r| kind(&r.outcome));
    let is_found = has(|outcome| matches!(outcome, Outcome::Found { .. }));
    let has_range = has(|outcome| matches!(outcome, Outcome::Range { .. }));
    Ok(if is_found && !has_range {
        Exit::Success
    } else {
        Exit::Inconclusive
    })
}

/// Returns a search that has not tried anything.
fn begun(points: &Points, session: &Session, policy: &Policy) -> Bisection {
    let request = &session.request;
    let root = session.workspace.metadata.workspace_root.as_std_path();
    let build = build_identity(request.cargo.profile.as_deref(), None, root);
    // Settings of packages are in a map, whose order is not fixed.
    let mut packages: Vec<String> = (session.settings.packages.iter())
        .map(|(id, settings)| format!("{id} {settings:?}"))
        .collect();
    packages.sort();
    let all = format!(
        "{} {} {:?} {:?} {:?} {:?} {:?} {:?} {packages:?} {policy:?}",
        env!("CARGO_PKG_VERSION"),
        build.rustc,
        points.commit,
        request.expression,
        request.cargo,
        session.settings.workspace,
        session.settings.leave_out,
        points.overlay.digest,
    );
    let digest = Sha256::digest(all.as_bytes());
    let question = digest[..8]
        .iter()
        .fold(0, |hash, byte| hash << 8 | u64::from(*byte));
    Bisection {
        schema_version: BISECTION_SCHEMA_VERSION,
        kind: points.kind,
        question: Hash(question),
        alpha_of_look: alpha_of_look(policy.alpha, points.points.len() - 1),
        points: points.points.clone(),
        tried: Vec::new(),
        results: Vec::new(),
    }
}

/// Returns the stored search; `None` if there is none that can be read.
fn read(file: &Path) -> Option<Bisection> {
    serde_json::from_slice(&fs::read(file).ok()?).ok()
}

/// Returns the point to try next, and the benchmarks that ask for it.
fn next(bisection: &Bisection, trials: &Trials) -> Option<(usize, Vec<BenchmarkId>)> {
    let Some(search) = bisection.search() else {
        return Some((bisection.points.len() - 1, trials.benchmarks()));
    };
    let point = search.next()?;
    let ids: Vec<&BenchmarkId> = bisection.benchmarks().collect();
    let asking = search.asking(point).into_iter();
    Some((
        point,
        asking.map(|benchmark| ids[benchmark].clone()).collect(),
    ))
}

fn report_next(bisection: &Bisection, point: usize) {
    let what = &bisection.points[point];
    let suspects = bisection.search().as_ref().map(Search::suspects);
    let left = suspects.map_or(String::new(), |suspects| {
        format!(" ({} left)", count_of(suspects, "suspect"))
    });
    message!("      Trying {} {}{left}", shown(&what.id), what.title);
}

/// Returns which files a commit changed.
fn diffstat(root: &Path, commit: &str) -> Option<String> {
    let parent = format!("{commit}^");
    let words = [
        "diff",
        "--stat=78",
        "--stat-count=20",
        "--no-color",
        "--no-ext-diff",
        &parent,
        commit,
        "--",
    ];
    git(root, &words).ok()
}

fn print(args: &BisectArgs, bisection: &Bisection) -> Result<(), Error> {
    if let Some(path) = &args.html {
        let pages = commit_pages();
        let pages = pages.as_ref();
        whole_file::write_named(path, |to| html::write_bisection(bisection, pages, to))
            .map_err(|error| ReportError::new(path, error))?;
    }
    let mut out = style::stdout(args.output.color);
    if args.json {
        serde_json::to_writer_pretty(&mut out, bisection).map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else {
        bisection_text::write(bisection, Look::from_environment(), &mut out)?;
    }
    Ok(())
}
