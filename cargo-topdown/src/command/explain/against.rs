//! `cargo topdown explain --against`: explains how the newest run differs from a baseline.

use std::io::Write;

use regex::Regex;
use topdown_run::run_file::BenchmarkId;

use crate::cli::ExplainArgs;
use crate::comparing::functions_hint::functions_hint_for;
use crate::comparing::judged::{ComparisonRequest, judged};
use crate::comparing::sampled_functions::Sampled;
use crate::comparing::second_look::Relaunch;
use crate::error::Error;
use crate::exit::Exit;
use topdown_explain::ExplainError;
use topdown_explain::difference::Difference;
use topdown_gate::policy::Overrides;
use topdown_gate::verdict::{BenchmarkVerdict, Comparison};
use topdown_report::style::{self, Look};
use topdown_report::{difference, difference_json};
use topdown_terminal::terminal::message;

/// Runs the subcommand with `--against base`. The exit code judges nothing: `compare` does.
///
/// # Errors
/// Returns an error if the runs cannot be compared, or not in this benchmark.
pub fn run(args: &ExplainArgs, base: &str) -> Result<Exit, Error> {
    let request = ComparisonRequest {
        base: Some(base),
        candidate: None,
        selection: None,
        overrides: Overrides::default(),
        relaunch: None,
        // Launches that `compare --relaunch` made count, for the same verdict.
        launches: Relaunch::Forbidden,
        sampled: Sampled::None,
        store: args.one.store.store_location(),
    };
    let judged = judged(&request)?;
    let comparison = &judged.comparison;
    let verdict = wanted(args, comparison)?;
    check_measured(verdict, comparison)?;
    let runs = [&judged.baseline.run, &judged.candidate.run];
    let difference = Difference::new(verdict, comparison, runs);
    let mut out = style::stdout(args.one.output.color);
    if args.json {
        difference_json::write(&mut out, &difference)?;
    } else {
        let mut text = Vec::new();
        difference::write(&mut text, &difference, Look::from_environment())?;
        out.write_all(&text)?;
    }
    out.flush()?;
    if !args.json
        && let Some(hint) = functions_hint_for(verdict, &judged.baseline, &judged.candidate)
    {
        message!("note: {hint}");
    }
    Ok(Exit::Success)
}

/// Finds the benchmark that is to be explained: as for a launch, by its id or by a regular
/// expression.
fn wanted<'a>(
    args: &ExplainArgs,
    comparison: &'a Comparison,
) -> Result<&'a BenchmarkVerdict, Error> {
    let wanted = &args.one.benchmark;
    let is_whole = |id: &BenchmarkId| id.name == *wanted || id.to_string() == *wanted;
    let pattern = Regex::new(wanted).ok().filter(|_| !args.one.exact);
    let is_like = |id: &BenchmarkId| {
        pattern
            .as_ref()
            .is_some_and(|p| p.is_match(&id.to_string()))
    };
    let find = |matches: &dyn Fn(&BenchmarkId) -> bool| -> Vec<&'a BenchmarkVerdict> {
        let all = comparison.benchmarks.iter();
        all.filter(|verdict| matches(&verdict.id)).collect()
    };
    let one_sided = |matches: &dyn Fn(&BenchmarkId) -> bool| {
        let (baseline, candidate) = (&comparison.baseline.label, &comparison.candidate.label);
        let missing = comparison.missing.iter();
        let mut missing = missing.chain(comparison.not_run.iter().map(|not_run| &not_run.id));
        let of_baseline = missing
            .find(|id| matches(id))
            .map(|id| ExplainError::OneSided {
                id: Box::new(id.clone()),
                lacking: candidate.clone(),
                having: baseline.clone(),
                remedy: format!("measure it: `cargo topdown bench --exact '{}'`", id.name),
            });
        let new = comparison.new.iter().find(|id| matches(id));
        of_baseline.or_else(|| {
            new.map(|id| ExplainError::OneSided {
                id: Box::new(id.clone()),
                lacking: baseline.clone(),
                having: candidate.clone(),
                remedy: format!(
                    "retake the baseline: `cargo topdown bench --save {baseline}` at its commit"
                ),
            })
        })
    };
    for matches in [&is_whole as &dyn Fn(&BenchmarkId) -> bool, &is_like] {
        match find(matches)[..] {
            [verdict] => return Ok(verdict),
            [] => {}
            ref several => {
                return Err(ExplainError::NotOne {
                    wanted: wanted.clone(),
                    ids: several.iter().map(|verdict| verdict.id.clone()).collect(),
                }
                .into());
            }
        }
        if let Some(error) = one_sided(matches) {
            return Err(error.into());
        }
    }
    // Says so, and suggests a name.
    crate::comparing::wanted_verdict(wanted, comparison)
}

/// Checks that both sides have what explains a difference.
fn check_measured(verdict: &BenchmarkVerdict, comparison: &Comparison) -> Result<(), ExplainError> {
    let id = verdict.id.clone();
    if !verdict.is_compared() {
        let differences = verdict.differences.iter().map(ToString::to_string);
        return Err(ExplainError::NotComparable {
            id,
            differences: differences.collect::<Vec<_>>().join("; "),
        });
    }
    if verdict.shares.is_empty() {
        return Err(ExplainError::NoSlotsCompared(id));
    }
    let lacking = match &verdict.events {
        Some(events) if events.baseline.is_none() => &comparison.baseline,
        Some(events) if events.candidate.is_none() => &comparison.candidate,
        _ => return Ok(()),
    };
    Err(ExplainError::EventsOfOneSide {
        id,
        lacking: lacking.label.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use topdown_gate::scenario::{self, Planted, benchmark, modelled, timed};
    use topdown_report::examples::compared;
    use topdown_run::event::{Event, Events, LaunchEvents};
    use topdown_run::run_file::Benchmark;

    fn refusal(baseline: Benchmark, candidate: Benchmark) -> String {
        let (baseline, candidate) = (
            scenario::run(vec![baseline]),
            scenario::run(vec![candidate]),
        );
        let comparison = compared(&baseline, &candidate);
        let checked = check_measured(&comparison.benchmarks[0], &comparison);
        checked.unwrap_err().to_string()
    }

    #[test]
    fn one_sided_measurements_are_named() {
        let planted = Planted::default();
        let mut counted = benchmark("a", planted);
        let mut plain = counted.clone();
        for launch in counted.slots_launches_mut() {
            launch.events = Events::NONE.with(Event::L2Misses, 4.0).into();
        }
        for launch in plain.slots_launches_mut() {
            (launch.instructions, launch.events) = (None, LaunchEvents::default());
        }
        let text = refusal(counted, plain);
        assert!(
            text.starts_with("`the newest run` has no events of"),
            "{text}"
        );
        let text = refusal(timed("a", planted), timed("a", planted));
        assert!(
            text.contains("has no slots by category on both sides"),
            "{text}"
        );
        let text = refusal(benchmark("a", planted), modelled("a", planted));
        assert!(text.contains("cannot be compared: "), "{text}");
    }
}
