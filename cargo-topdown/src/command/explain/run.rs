//! `cargo topdown explain`: launches one benchmark for level 1, then once for each metric group
//! that the decision tree names for the category that loses most slots.

use std::io::Write;

use topdown_counters::Wanted;
use topdown_counters::cpu::{LatencyTable, MetricGroup};
use topdown_counters::error::OpenError;
use topdown_counters::hardware::{self, Hardware};
use topdown_counters::machine::{this_machine, this_machine_on};
use topdown_run::category::Category;
use topdown_run::provenance::{Provenance, SourceKind};
use topdown_run::run_file::{Benchmark, BenchmarkId, IterationSample};
use topdown_run::setting::{Counters, SourceChoice};

use super::against;
use crate::cli::ExplainArgs;
use crate::error::Error;
use crate::exit::Exit;
use crate::measure::{MeasureError, Session, problems};
use topdown_explain::latencies::can_be_known;
use topdown_explain::{
    ExplainError, Explained, GroupError, KnownLatencies, MeasuredGroup, Values, categories_of,
    dominant_category, groups_for, may_hide_events, stalled_cycles, stalling_category, values_of,
};
use topdown_gate::summary::Summary;
use topdown_report::style::{self, Look};
use topdown_report::{metric_groups, metric_groups_json};
use topdown_runner::Outcome;
use topdown_runner::TargetFailure;
use topdown_runner::launching::launcher::Launcher;
use topdown_runner::modelling::model_or_clock;
use topdown_runner::settings::Settings;
use topdown_runner::targets::bench_targets::BenchTarget;

/// Runs the subcommand.
///
/// # Errors
/// Returns an error if there is no such benchmark, or nothing about it can be explained. A group
/// that cannot be counted is reported in the explanation.
pub fn run(args: &ExplainArgs) -> Result<Exit, Error> {
    if let Some(base) = &args.against {
        return against::run(args, base);
    }
    let mut session = Session::begin(args.one.request())?;
    let targets = session.build()?;
    if args.one.cargo.no_run {
        return Ok(Exit::Success);
    }
    let targets = session.without_left_out(targets)?;
    let explanation = ExplanationLaunches { args, session };
    let explained = explanation.explain(&targets)?;
    let mut out = style::stdout(args.one.output.color);
    if args.json {
        metric_groups_json::write(&mut out, &explained)?;
    } else {
        metric_groups::write(&mut out, &explained, Look::from_environment())?;
    }
    out.flush()?;
    let measured = explained.groups.iter().any(|group| group.values.is_ok());
    Ok(if measured || explained.groups.is_empty() {
        Exit::Success
    } else {
        Exit::NoComparison
    })
}

/// The launches for one explanation.
pub(super) struct ExplanationLaunches<'a> {
    args: &'a ExplainArgs,
    pub(super) session: Session,
}

impl ExplanationLaunches<'_> {
    fn explain(&self, targets: &[BenchTarget]) -> Result<Explained, Error> {
        let (benchmark, samples) = self.the_benchmark(targets)?;
        let id = benchmark.id.clone();
        let wanted = self.args.category.map(Category::from);
        match benchmark.provenance().source {
            SourceKind::Time => return self.explain_stalls(benchmark, targets),
            SourceKind::Model => {
                let machine = this_machine();
                return Ok(Explained::modelled(&benchmark, &samples, wanted, machine)?);
            }
            SourceKind::Hardware => {}
        }
        let (summary, shares) = categories_of(&benchmark)?;
        let category = wanted.unwrap_or_else(|| dominant_category(&shares));
        let table = topdown_counters::table_of_provenance(benchmark.provenance())
            .map_err(ExplainError::NoTable)?;
        let latencies = topdown_counters::latencies_of_provenance(benchmark.provenance());
        let target = target_of(targets, &id)?;
        let groups = groups_for(table, category, shares.level2.is_some())
            .filter(|group| can_be_known(group, latencies))
            .map(|group| self.measure(group, latencies, target, &id))
            .collect::<Result<_, _>>()?;
        Ok(Explained {
            id,
            machine: this_machine_on(benchmark.provenance().core_type.as_deref()),
            provenance: benchmark.provenance().clone(),
            summary,
            shares: Some(shares),
            category,
            groups,
            functions: benchmark.functions,
            launches_differ: None,
        })
    }

    /// Explains a benchmark without slots, where stalled cycles are counted instead.
    fn explain_stalls(
        &self,
        benchmark: Benchmark,
        targets: &[BenchTarget],
    ) -> Result<Explained, Error> {
        let id = benchmark.id.clone();
        // If the slots are missing for a reason other than the core or what a hypervisor hides, the
        // error gives its remedy.
        let opened = Hardware::open_own(Wanted::Categories(Counters::Auto));
        let are_hidden = matches!(opened, Err(OpenError::HiddenEvents { .. }));
        let table = hardware::table(None).ok();
        let stalls = table.and_then(|table| Some((table, stalled_cycles(table, are_hidden)?)));
        let (Some((table, stalls)), Some(summary)) = (stalls, Summary::new(&benchmark)) else {
            let reason = benchmark.provenance().reason.clone();
            return Err(ExplainError::NoSlots { id, reason }.into());
        };
        let target = target_of(targets, &id)?;
        let first = self.measure(stalls, None, target, &id)?;
        let stalling = || stalling_category(first.values.as_deref().unwrap_or_default());
        let category = self.args.category.map_or_else(stalling, Category::from);
        let mut groups = vec![first];
        for group in groups_for(table, category, false).filter(|group| group.name != stalls.name) {
            groups.push(self.measure(group, None, target, &id)?);
        }
        Ok(Explained {
            id,
            machine: this_machine_on(benchmark.provenance().core_type.as_deref()),
            provenance: benchmark.provenance().clone(),
            summary,
            shares: None,
            category,
            groups,
            functions: None,
            launches_differ: None,
        })
    }

    /// Launches every target that has a benchmark of this name once, for level 1; on the model as
    /// often as shows whether its launches differ.
    fn the_benchmark(
        &self,
        targets: &[BenchTarget],
    ) -> Result<(Benchmark, Vec<IterationSample>), Error> {
        let wanted = &self.args.one.benchmark;
        let session = &self.session;
        let on_the_clock = model_or_clock::on_the_clock(targets);
        let mut outcome = session.launch(&on_the_clock, session.launcher())?;
        let several = model_or_clock::MIN_AGREEING_LAUNCHES;
        let of_model = model_or_clock::with_settings(targets, |settings| Settings {
            launches: several,
            schedules: 1,
            ..settings
        });
        session.add_model(&of_model, several, &mut outcome)?;
        session.add_sampled_functions(targets, &mut outcome)?;
        if outcome.collected.benchmarks.is_empty() {
            problems::report(&outcome);
            return Err(session.empty_run_error(targets, &outcome).into());
        }
        let samples_of = |benchmark: Benchmark| {
            let source = benchmark.provenance().source;
            let mut samples = outcome.collected.samples.into_iter();
            let samples =
                samples.find(|sample| sample.benchmark == benchmark.id && sample.source == source);
            (
                benchmark,
                samples.map_or(Vec::new(), |sample| sample.samples),
            )
        };
        let mut benchmarks = outcome.collected.benchmarks;
        match benchmarks.iter().position(|b| b.id.name == *wanted) {
            Some(at) => Ok(samples_of(benchmarks.swap_remove(at))),
            None if benchmarks.len() == 1 => Ok(samples_of(benchmarks.swap_remove(0))),
            None => Err(ExplainError::NotOne {
                wanted: wanted.clone(),
                ids: benchmarks.into_iter().map(|b| b.id).collect(),
            }
            .into()),
        }
    }

    /// Launches the target once to count `group` instead of the categories; before that once for
    /// the retire latencies that it needs, if the cores record them; and after it once to sample
    /// it, if the maker of the core names events for that.
    fn measure(
        &self,
        group: &'static MetricGroup,
        table: Option<&'static LatencyTable>,
        target: &BenchTarget,
        id: &BenchmarkId,
    ) -> Result<MeasuredGroup, Error> {
        let sampled = self.sample_latencies(group, table, target, id)?;
        let launcher = Launcher {
            group: Some(group.name),
            ..self.session.launcher().clone()
        };
        let outcome = self.launch_one(launcher, target, id)?;
        let known = KnownLatencies {
            table,
            sampled: sampled.as_deref().unwrap_or_default(),
        };
        let not_sampled = sampled.as_ref().err();
        let values = values(group, outcome, known);
        let functions = match &values {
            Ok(measured) => self.sample_group(group, &measured.counts, target, id)?,
            Err(_) => None,
        };
        Ok(MeasuredGroup {
            functions,
            ..MeasuredGroup::new(group, values, table, not_sampled)
        })
    }

    /// Launches `target` once for the benchmark `id`.
    pub(super) fn launch_one(
        &self,
        launcher: Launcher,
        target: &BenchTarget,
        id: &BenchmarkId,
    ) -> Result<Outcome, Error> {
        let launcher = Launcher {
            filter: vec!["--exact".to_owned(), id.name.clone()],
            ..launcher
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
        Ok(self.session.launch(&targets, &launcher)?)
    }
}

fn target_of<'a>(
    targets: &'a [BenchTarget],
    id: &BenchmarkId,
) -> Result<&'a BenchTarget, MeasureError> {
    targets
        .iter()
        .find(|target| target.has(id))
        .ok_or(MeasureError::NoBenchTargets)
}

fn values(
    group: &'static MetricGroup,
    outcome: Outcome,
    known: KnownLatencies<'_>,
) -> Result<Values, GroupError> {
    let (provenance, samples) = recorded(outcome)?;
    let may_hide = may_hide_events(&this_machine());
    values_of(group, &provenance, &samples, may_hide, known)
}

/// Returns what the bench recorded of its one benchmark.
pub(super) fn recorded(outcome: Outcome) -> Result<(Provenance, Vec<IterationSample>), GroupError> {
    if let Some(failure) = outcome.failures.first() {
        return Err(refusal(failure));
    }
    let collected = outcome.collected;
    let samples = collected.samples.into_iter().next();
    match (collected.benchmarks.first(), samples) {
        (Some(benchmark), Some(launch)) => Ok((benchmark.provenance().clone(), launch.samples)),
        _ => Err(GroupError::Launch(match collected.errors.first() {
            Some(error) => error.to_string(),
            None => "the benchmark did not run".to_owned(),
        })),
    }
}

/// Returns the bench's message about the group, or else how the bench ended.
pub(super) fn refusal(failure: &TargetFailure) -> GroupError {
    match failure.own_error() {
        Some(reason) => GroupError::Refused(reason.to_owned()),
        None => GroupError::Launch(failure.error.to_string()),
    }
}
