//! `cargo topdown baseline accept`: accepts an expected regression, with a reason.

use std::io::Write;

use topdown_run::run_file;

use crate::accepted_file::{self, Found};
use crate::cli::BaselineAcceptArgs;
use crate::comparing::second_look::{self, ComparedRun, Relaunch};
use crate::comparing::{history, wanted_verdict};
use crate::error::Error;
use crate::exit::Exit;
use topdown_gate::metric::Metric;
use topdown_gate::policy::{Accepted, AcceptedChange};
use topdown_gate::verdict::{AllocationChange, Verdict};
use topdown_report::style;

pub fn run(args: &BaselineAcceptArgs) -> Result<Exit, Error> {
    let workspace = args.store.store_location().workspace()?;
    let store = args.store.store_location().store_of(&workspace);
    let policy = workspace.config.policy(&args.policy.overrides())?;
    let candidate_path = match &args.run {
        Some(name) => store.resolve(name)?,
        None => store.newest_path()?,
    };
    let mut candidate = run_file::read_run(&candidate_path)?;
    let path = store.resolve_for(&args.base, || Some(candidate.key()))?;
    let mut baseline = run_file::read_run(&path)?;
    let renames = workspace.config.renames();
    renames.apply(&mut baseline);
    renames.apply(&mut candidate);
    let earlier = history::behind(&path, &candidate, renames);
    // Count launches that `compare --relaunch` made, if any; nothing is launched here.
    let comparison = second_look::judge(
        &mut ComparedRun::new(&args.base, &path, baseline.clone()),
        &mut ComparedRun::new("the newest run", &candidate_path, candidate),
        &policy,
        &earlier,
        Relaunch::Forbidden,
    )?;
    let benchmark = wanted_verdict(&args.benchmark, &comparison)?;
    if !matches!(
        benchmark.verdict,
        Verdict::Regressed | Verdict::TimeDisagrees
    ) {
        return Err(Error::NothingToAccept {
            id: benchmark.id.to_string(),
            verdict: benchmark.verdict.name(),
        });
    }
    let mut accepted = match accepted_file::read(&path, &baseline)? {
        Found::Holding(accepted) => accepted,
        Found::Expired(_) => Accepted::default(),
    };
    let by_time = benchmark.verdict == Verdict::TimeDisagrees;
    let effects = benchmark.effects.iter();
    let hits = effects.filter(|e| e.is_worse() || by_time && e.metric == Metric::Wall);
    let change = AcceptedChange {
        reason: args.reason.clone(),
        differences: hits.map(|hit| (hit.metric, hit.difference)).collect(),
        allocations: benchmark
            .allocations
            .filter(AllocationChange::may_fail)
            .map(|change| change.candidate),
    };
    accepted.insert(benchmark.id.to_string(), change);
    let file = accepted_file::write(&accepted, &path, &baseline)?;
    writeln!(
        style::stdout(args.output.color),
        "accepted the change of `{}` until the baseline is renewed, in {}",
        benchmark.id,
        file.display()
    )?;
    Ok(Exit::Success)
}
