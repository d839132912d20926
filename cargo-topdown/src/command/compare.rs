//! `cargo topdown compare`: two stored runs, one verdict.

use std::io::{self, Write};
use std::thread;

use criterion_topdown::run_file::{self, Run};

use crate::baseline_store::{BaselineStore, resolve_run};
use crate::cli::CompareArgs;
use crate::error::{Error, Exit};
use crate::policy::Policy;
use crate::report::request::Compared;
use crate::report::{comparison_json, comparison_text, style};
use crate::verdict::{self, Comparison, LabelledRun};

/// Lines of a report that goes to no terminal: logs of CI scroll sideways.
const WIDTH_ELSEWHERE: usize = 120;

/// Runs the subcommand; its exit code is the gate.
pub fn run(args: CompareArgs) -> Result<Exit, Error> {
    let (baseline, candidate) = both(
        || named_run(&args, &args.base),
        || match &args.candidate {
            Some(candidate) => named_run(&args, candidate),
            None => Ok(BaselineStore::open(&args.store)?.newest()?),
        },
    )?;
    let label = args.candidate.as_deref().unwrap_or("the newest run");
    let policy = Policy {
        compare_across_builds: args.across_builds,
        ..Policy::default()
    };
    let comparison = verdict::compare(
        LabelledRun {
            label: &args.base,
            run: &baseline,
        },
        LabelledRun {
            label,
            run: &candidate,
        },
        &policy,
    );
    print(&args, &comparison)?;
    for report in &args.reports {
        report.write(&Compared {
            comparison: &comparison,
            baseline: &baseline,
            candidate: &candidate,
        })?;
    }
    Ok(verdict::exit_of(comparison.outcome))
}

fn named_run(args: &CompareArgs, name: &str) -> Result<Run, Error> {
    let path = resolve_run(&args.store, name)?;
    Ok(run_file::read_run(&path)?)
}

/// Reads both runs at once: parsing them is most of the time that a comparison takes.
fn both(
    baseline: impl FnOnce() -> Result<Run, Error>,
    candidate: impl FnOnce() -> Result<Run, Error> + Send,
) -> Result<(Run, Run), Error> {
    thread::scope(|scope| {
        let candidate = scope.spawn(candidate);
        let baseline = baseline();
        let candidate = match candidate.join() {
            Ok(candidate) => candidate,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        Ok((baseline?, candidate?))
    })
}

fn print(args: &CompareArgs, comparison: &Comparison) -> io::Result<()> {
    if args.json {
        return comparison_json::write(comparison, io::BufWriter::new(io::stdout()));
    }
    let width = terminal_size::terminal_size().map_or(WIDTH_ELSEWHERE, |(w, _)| w.0.into());
    let mut text = Vec::new();
    comparison_text::write(comparison, width, &mut text)?;
    style::stdout(args.output.color).write_all(&text)
}
