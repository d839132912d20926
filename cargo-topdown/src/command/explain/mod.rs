//! `cargo topdown explain`: launches one benchmark for level 1, then once for each metric group
//! that the decision tree names for the category that loses most slots.

mod error;

use std::io::Write;

use criterion_topdown::cpu::MetricGroup;
use criterion_topdown::machine::Machine;
use criterion_topdown::provenance::SourceKind;
use criterion_topdown::run_file::{Benchmark, BenchmarkId, Filter, IterationSample};
use criterion_topdown::setting::SourceChoice;

use super::bench::{self, BenchError};
use crate::bench_targets::{BenchTarget, Cargo, cargo_program};
use crate::cli::ExplainArgs;
use crate::config::Config;
use crate::config::measuring::Settings;
use crate::error::Error;
use crate::exit::Exit;
use crate::explained::{
    Explained, GroupError, MeasuredGroup, dominant_category, groups_for, modelled_values_of,
    stalled_cycles, stalling_category, values_of,
};
use crate::report::style::{self, Look};
use crate::report::{metric_groups, metric_groups_json};
use crate::runner::launch::{LaunchError, Launcher};
use crate::runner::progress::{Progress, Style};
use crate::runner::session::Starter;
use crate::runner::{self, Outcome, TargetFailure, interrupt, modelled};
use crate::terminal::tell;
use topdown_gate::summary::Summary;

pub use error::ExplainError;

/// The start of the line in which the library says why it cannot open a source.
const ERROR_PREFIX: &str = "error: ";

/// Runs the subcommand.
///
/// # Errors
/// Returns an error if there is no such benchmark, or nothing about it can be explained. A group
/// that cannot be counted is reported in the explanation.
pub fn run(args: &ExplainArgs) -> Result<Exit, Error> {
    let cargo = Cargo {
        program: cargo_program(),
        flags: args.cargo.flags(args.output.color),
        manifest_path: args.manifest_path.as_deref(),
        directory: None,
    };
    let metadata = cargo.metadata().map_err(BenchError::from)?;
    let settings = Config::read(&metadata)?.measuring(&(&args.measuring).into())?;
    let _guard = interrupt::guard().map_err(BenchError::Interrupt)?;
    let targets = cargo
        .bench_targets(&metadata, &settings)
        .map_err(BenchError::from)?;
    if targets.is_empty() {
        return Err(BenchError::NoBenchTargets.into());
    }
    let names = bench::names_of(Some(&Filter {
        expression: args.benchmark.clone(),
        exact: args.exact,
    }))?;
    if args.cargo.no_run {
        return Ok(Exit::Success);
    }
    let scratch = bench::scratch_directory()?;
    let mut filter = vec![args.benchmark.clone()];
    if args.exact {
        filter.insert(0, "--exact".to_owned());
    }
    let session = Session {
        args,
        launcher: Launcher {
            scratch: scratch.path().to_owned(),
            cargo: cargo.program.clone(),
            arguments: Vec::new(),
            filter,
            shows_output: args.cargo.verbose > 0,
            through: None,
            group: None,
            starter: Starter::of_this_program(),
        },
    };
    let targets = bench::without_left_out(&settings, targets, &names, &session.launcher)?;
    let explained = session.explain(&targets)?;
    let mut out = style::stdout(args.output.color);
    if args.json {
        metric_groups_json::write(&mut out, &explained)?;
    } else {
        metric_groups::write(&mut out, &explained, Look::of_environment())?;
    }
    out.flush()?;
    let measured = explained.groups.iter().any(|group| group.values.is_ok());
    Ok(match measured || explained.groups.is_empty() {
        true => Exit::Success,
        false => Exit::NoComparison,
    })
}

/// The launches for one explanation.
struct Session<'a> {
    args: &'a ExplainArgs,
    launcher: Launcher,
}

impl Session<'_> {
    fn explain(&self, targets: &[BenchTarget]) -> Result<Explained, Error> {
        let (benchmark, samples) = self.the_benchmark(targets)?;
        let id = benchmark.id.clone();
        if benchmark.provenance().source == SourceKind::Time {
            return self.explain_stalls(benchmark, targets);
        }
        let summary = Summary::of(&benchmark);
        let Some((summary, shares)) = summary.and_then(|s| s.shares.map(|shares| (s, shares)))
        else {
            return Err(ExplainError::NoCategories(id).into());
        };
        let category = match self.args.category {
            Some(choice) => choice.into(),
            None => dominant_category(&shares),
        };
        let table = criterion_topdown::counter::table_behind(benchmark.provenance())
            .map_err(ExplainError::NoTable)?;
        let target = target_of(targets, &id)?;
        let groups = groups_for(table, category, shares.level2.is_some())
            .map(|group| match benchmark.provenance().source {
                SourceKind::Model => Ok(MeasuredGroup {
                    group,
                    values: modelled_values_of(group, benchmark.provenance(), &samples),
                }),
                _ => self.measure(group, target, &id),
            })
            .collect::<Result<_, _>>()?;
        Ok(Explained {
            id,
            machine: Machine::of_this_machine(),
            provenance: benchmark.provenance().clone(),
            summary,
            shares: Some(shares),
            category,
            groups,
        })
    }

    /// Explains a benchmark without slots, on cores that count stalled cycles instead.
    fn explain_stalls(
        &self,
        benchmark: Benchmark,
        targets: &[BenchTarget],
    ) -> Result<Explained, Error> {
        let id = benchmark.id.clone();
        // If the slots are missing for a reason other than the core, the error gives its remedy.
        let table = criterion_topdown::counter::hardware::table(None).ok();
        let stalls = table.and_then(|table| Some((table, stalled_cycles(table)?)));
        let (Some((table, stalls)), Some(summary)) = (stalls, Summary::of(&benchmark)) else {
            let reason = benchmark.provenance().reason.clone();
            return Err(ExplainError::NoSlots { id, reason }.into());
        };
        let target = target_of(targets, &id)?;
        let first = self.measure(stalls, target, &id)?;
        let category = match self.args.category {
            Some(choice) => choice.into(),
            None => stalling_category(first.values.as_deref().unwrap_or_default()),
        };
        let mut groups = vec![first];
        for group in groups_for(table, category, false).filter(|group| group.name != stalls.name) {
            groups.push(self.measure(group, target, &id)?);
        }
        Ok(Explained {
            id,
            machine: Machine::of_this_machine(),
            provenance: benchmark.provenance().clone(),
            summary,
            shares: None,
            category,
            groups,
        })
    }

    /// Launches every target that has a benchmark of this name once, for level 1.
    fn the_benchmark(
        &self,
        targets: &[BenchTarget],
    ) -> Result<(Benchmark, Vec<IterationSample>), Error> {
        let wanted = &self.args.benchmark;
        let mut outcome = self.launch(&modelled::on_the_clock(targets), &self.launcher)?;
        let on_the_model = modelled::wanted(targets, &outcome.collected);
        if !on_the_model.is_empty() {
            let launcher = Launcher {
                through: modelled::fixed_addresses(),
                ..self.launcher.clone()
            };
            let modelled = self.launch(&modelled::on_the_model(&on_the_model, 1), &launcher)?;
            modelled::join(&mut outcome, modelled, &on_the_model);
        }
        let samples_of = |benchmark: Benchmark| {
            let source = benchmark.provenance().source;
            let mut samples = outcome.collected.samples.into_iter();
            let samples = samples.find(|of| of.benchmark == benchmark.id && of.source == source);
            (benchmark, samples.map_or(Vec::new(), |of| of.samples))
        };
        let mut benchmarks = outcome.collected.benchmarks;
        if let Some(at) = benchmarks.iter().position(|b| b.id.name == *wanted) {
            return Ok(samples_of(benchmarks.swap_remove(at)));
        }
        if benchmarks.len() > 1 {
            return Err(ExplainError::NotOne {
                wanted: wanted.clone(),
                ids: benchmarks.into_iter().map(|b| b.id).collect(),
            }
            .into());
        }
        benchmarks.pop().map(samples_of).ok_or_else(|| {
            for failure in &outcome.failures {
                tell!("error: {failure}");
            }
            for error in &outcome.collected.errors {
                tell!("error: {error}");
            }
            match outcome.failures.len() + outcome.collected.errors.len() {
                0 => BenchError::NothingMatched {
                    filter: wanted.clone(),
                },
                failed => BenchError::BenchesFailed { failed },
            }
            .into()
        })
    }

    /// Launches the target once to count `group` instead of the categories.
    fn measure(
        &self,
        group: &'static MetricGroup,
        target: &BenchTarget,
        id: &BenchmarkId,
    ) -> Result<MeasuredGroup, Error> {
        let launcher = Launcher {
            group: Some(group.name),
            filter: vec!["--exact".to_owned(), id.name.clone()],
            ..self.launcher.clone()
        };
        let targets = [BenchTarget {
            settings: Settings {
                source: SourceChoice::Hardware,
                ..target.settings
            },
            // The filter selects one of them.
            benchmarks: None,
            ..target.clone()
        }];
        let outcome = self.launch(&targets, &launcher)?;
        Ok(MeasuredGroup {
            group,
            values: values(group, outcome),
        })
    }

    fn launch(&self, targets: &[BenchTarget], launcher: &Launcher) -> Result<Outcome, Error> {
        let mut progress = Progress::new(Style::of_process(self.args.cargo.quiet), targets);
        let outcome = runner::run(targets, launcher, false, &mut progress);
        progress.finish();
        Ok(outcome.map_err(|error| match error {
            LaunchError::Interrupted => BenchError::Interrupted,
            other => BenchError::Launch(other),
        })?)
    }
}

fn target_of<'a>(
    targets: &'a [BenchTarget],
    id: &BenchmarkId,
) -> Result<&'a BenchTarget, BenchError> {
    targets
        .iter()
        .find(|target| target.has(id))
        .ok_or(BenchError::NoBenchTargets)
}

fn values(group: &'static MetricGroup, outcome: Outcome) -> Result<Vec<Option<f64>>, GroupError> {
    if let Some(failure) = outcome.failures.first() {
        return Err(refusal(failure));
    }
    let collected = outcome.collected;
    match (collected.benchmarks.first(), collected.samples.first()) {
        (Some(benchmark), Some(of)) => values_of(group, benchmark.provenance(), &of.samples),
        _ => Err(GroupError::Launch(match collected.errors.first() {
            Some(error) => error.to_string(),
            None => "the benchmark did not run".to_owned(),
        })),
    }
}

/// Returns the bench's message about the group, or else how the bench ended.
fn refusal(failure: &TargetFailure) -> GroupError {
    let mut lines = failure.output.lines().rev();
    match lines.find_map(|line| line.strip_prefix(ERROR_PREFIX)) {
        Some(reason) => GroupError::Refused(reason.to_owned()),
        None => GroupError::Launch(failure.error.to_string()),
    }
}
