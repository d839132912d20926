//! Warnings before trusting a comparison, and the check for them in two runs.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use topdown_run::provenance::SourceKind;
use topdown_run::run_file::{Benchmark, BenchmarkId, Run};

use super::PairedBenchmarks;
use super::allocations::Uncounted;
use super::benchmark_verdict::BenchmarkVerdict;
use super::left_out::{WildLaunch, named, wild_launches};
use super::rules::{Method, Rule, Verdict};
use crate::comparability::{self, Difference};
use crate::policy::Policy;
use crate::selection::{self, RunSelection};
use crate::summary::Summary;

/// What a reader should know before trusting a comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "warning")]
pub enum Warning {
    /// A field that should be equal but need not be.
    Differs(Difference),
    /// Accepted changes that were relative to a run that is no longer the baseline.
    AcceptedExpired {
        /// Number of changes.
        changes: usize,
    },
    /// The baseline is of part of the suite, and the candidate has more.
    PartialBaseline {
        /// Which part, in words.
        selection: String,
        /// Number of the candidate's benchmarks outside that part.
        benchmarks: usize,
    },
    /// The baseline was taken from uncommitted code.
    UncommittedBaseline,
    /// The modelled benchmarks ran on another CPU. Their slots are those of the modelled core and
    /// are compared; their times are not.
    ModelledOnOtherCpu {
        /// How the CPUs differ.
        differences: Vec<Difference>,
    },
    /// Other work competed for the CPUs, so that times that grew by less than a factor say nothing.
    BusyMachine {
        /// Whether it was the candidate's machine; otherwise the baseline's.
        of_candidate: bool,
        /// The mean number of other threads that were ready to run.
        competing_threads: f64,
        /// The CPUs.
        cpus: u32,
        /// Upper bound of the factor by which launches were lengthened.
        load_factor: f64,
    },
    /// Too few launches for any failure, or to make a true one likely.
    FewLaunches {
        /// The fewest launches of any benchmark and side.
        launches: u32,
    },
    /// Launches of the baseline that differ in kind from the others of their benchmark.
    LaunchesOfBaselineLeftOut {
        /// The launches.
        launches: Vec<WildLaunch>,
    },
    /// Launches of the candidate that differ in kind from the others of their benchmark.
    LaunchesOfCandidateLeftOut {
        /// The launches.
        launches: Vec<WildLaunch>,
    },
    /// Benchmarks whose slots are not about their work on one side or both.
    JudgedByTime {
        /// The benchmarks.
        benchmarks: Vec<BenchmarkId>,
    },
    /// Benchmarks whose functions were sampled in another way than in the baseline. Their slots are
    /// compared; their categories are not known equally well.
    SampledOtherwise {
        /// The benchmarks.
        benchmarks: Vec<BenchmarkId>,
    },
    /// Benchmarks whose functions launches have failed to sample, for one of many reasons.
    FunctionsUnknown {
        /// The benchmarks.
        benchmarks: Vec<BenchmarkId>,
        /// Whether it was those of the baseline; otherwise those of the candidate.
        of_baseline: bool,
        /// Why, such as too few PMU samples.
        reason: String,
    },
    /// Benchmarks whose allocations a modelled launch could have counted, or the policy gates, and
    /// that one side or both did not count. Not those that are not comparable for that reason.
    AllocationsUnknown {
        /// The benchmarks.
        benchmarks: Vec<BenchmarkId>,
        /// The sides that did not count them.
        of: Uncounted,
    },
    /// Benchmarks whose measured thread hardly executes user code, or whose other threads were not
    /// watched.
    MostlyWaiting {
        /// Number of benchmarks.
        benchmarks: usize,
    },
    /// Benchmarks that did some work in the baseline and execute no more than an empty loop in the
    /// candidate.
    WorkRemoved {
        /// The benchmarks.
        benchmarks: Vec<BenchmarkId>,
    },
}

/// Returns the names of the first benchmarks, and how many more there are.
fn first_names(benchmarks: &[BenchmarkId]) -> String {
    const MAX_NAMES: usize = 5;
    let is_shared = |name: &str| benchmarks.iter().filter(|id| id.name == name).count() > 1;
    let shown = benchmarks.iter().take(MAX_NAMES);
    let names: Vec<String> = shown
        .map(|id| match is_shared(&id.name) {
            true => id.to_string(),
            false => id.name.clone(),
        })
        .collect();
    let names = names.join(", ");
    match benchmarks.len().saturating_sub(MAX_NAMES) {
        0 => names,
        more => format!("{names} and {more} more"),
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::Differs(difference) => {
                write!(f, "{difference}; this may explain the difference")
            }
            Warning::AcceptedExpired { changes } => write!(
                f,
                "{changes} accepted changes have expired with their baseline; accept again those \
                 that you still expect"
            ),
            Warning::PartialBaseline {
                selection,
                benchmarks,
            } => {
                write!(
                    f,
                    "the baseline is partial ({selection}): {benchmarks} new benchmark{} not \
                     compared; retake it",
                    if *benchmarks == 1 { "" } else { "s" }
                )
            }
            Warning::UncommittedBaseline => {
                f.write_str("the baseline has uncommitted changes; retake it from a commit")
            }
            Warning::ModelledOnOtherCpu { differences } => {
                let differences: Vec<String> = differences.iter().map(|d| d.to_string()).collect();
                write!(
                    f,
                    "different CPUs ({}): times are not compared, and code that detects CPU \
                     features may differ",
                    differences.join("; ")
                )
            }
            Warning::LaunchesOfBaselineLeftOut { launches } => write!(
                f,
                "the baseline is judged without {}; retake it",
                named(launches)
            ),
            Warning::LaunchesOfCandidateLeftOut { launches } => {
                write!(f, "the candidate is judged without {}", named(launches))
            }
            Warning::JudgedByTime { benchmarks } => write!(
                f,
                "judged by time alone, since other threads do the work, or the measured one \
                 waits: {}",
                first_names(benchmarks)
            ),
            Warning::SampledOtherwise { benchmarks } => write!(
                f,
                "functions of {} were sampled with different interrupts than in the baseline; \
                 only their slots are compared",
                first_names(benchmarks)
            ),
            Warning::FunctionsUnknown {
                benchmarks,
                of_baseline,
                reason,
            } => {
                let side = if *of_baseline {
                    "baseline"
                } else {
                    "candidate"
                };
                let names = first_names(benchmarks);
                write!(
                    f,
                    "functions of {names} are unknown in the {side}: {reason}"
                )
            }
            Warning::AllocationsUnknown { benchmarks, of } => write!(
                f,
                "allocations of {} are not compared: they were not counted {}",
                first_names(benchmarks),
                of.side_text()
            ),
            Warning::MostlyWaiting { benchmarks } => {
                match benchmarks {
                    1 => f.write_str("one benchmark mostly waits")?,
                    count => write!(f, "{count} benchmarks mostly wait")?,
                }
                f.write_str(
                    ": work in the kernel and on other threads has no slots, so look at \
                             the time",
                )
            }
            Warning::WorkRemoved { benchmarks } => write!(
                f,
                "the compiler seems to have removed the work of {}, which the baseline still did; \
                 pass inputs and results through `black_box`",
                first_names(benchmarks)
            ),
            Warning::BusyMachine {
                of_candidate,
                competing_threads,
                cpus,
                load_factor,
            } => {
                let run = if *of_candidate {
                    "candidate"
                } else {
                    "baseline"
                };
                write!(
                    f,
                    "the {run} was measured beside {competing_threads:.0} busy threads on {cpus} \
                     CPUs: its times may be up to {load_factor:.1} times too long"
                )
            }
            Warning::FewLaunches { launches: 1 } => f.write_str(
                "a single launch can never fail, because launches differ; run at least 5",
            ),
            Warning::FewLaunches { launches } => write!(
                f,
                "only {launches} launches on a side: only large differences show; run at least 5, \
                 preferably 10"
            ),
        }
    }
}

/// Returns the warnings on two runs, given their verdicts.
pub(super) fn warnings(
    [baseline, candidate]: [&Run; 2],
    pairs: &PairedBenchmarks<'_>,
    benchmarks: &[BenchmarkVerdict],
    policy: &Policy,
) -> Vec<Warning> {
    let worrying = comparability::worrying(baseline, candidate, policy.compare_across_builds);
    let mut warnings: Vec<Warning> = worrying.into_iter().map(Warning::Differs).collect();
    let is_uncommitted = baseline.build.git_dirty == Some(true);
    warnings.extend(modelled_on_other_cpus(baseline, candidate));
    warnings.extend(is_uncommitted.then_some(Warning::UncommittedBaseline));
    warnings.extend(few_launches(benchmarks));
    warnings.extend(busy_machine(baseline, false));
    warnings.extend(busy_machine(candidate, true));
    warnings.extend(launches_left_out(baseline, candidate, benchmarks));
    warnings.extend(judged_by_time(benchmarks));
    warnings.extend(sampled_otherwise(pairs));
    warnings.extend(allocations_unknown(pairs, benchmarks, policy));
    warnings.extend(mostly_waiting(pairs));
    warnings.extend(work_removed(pairs));
    warnings.extend(not_in_baseline(baseline, pairs));
    warnings
}

fn modelled_on_other_cpus(baseline: &Run, candidate: &Run) -> Option<Warning> {
    let differences = comparability::modelled_on_other_cpus(baseline, candidate);
    (!differences.is_empty()).then_some(Warning::ModelledOnOtherCpu { differences })
}

/// The smallest reported load factor: time that grew by as much could fail.
pub const MIN_REPORTED_LOAD_FACTOR: f64 = 1.25;

fn busy_machine(run: &Run, of_candidate: bool) -> Option<Warning> {
    let load_factor = run.load_factor();
    (load_factor >= MIN_REPORTED_LOAD_FACTOR).then(|| Warning::BusyMachine {
        of_candidate,
        competing_threads: run.competing_threads.unwrap_or_default(),
        cpus: run.machine.cpus,
        load_factor,
    })
}

fn few_launches(benchmarks: &[BenchmarkVerdict]) -> Option<Warning> {
    const FEW: u32 = 5;
    let launches = benchmarks
        .iter()
        .filter(|b| b.evidence.is_some_and(|e| e.method == Method::Statistics))
        .map(|b| b.baseline_launches.used().min(b.candidate_launches.used()))
        .min()?;
    (launches < FEW).then_some(Warning::FewLaunches { launches })
}

/// Names wild launches, but not those that are what a verdict is about.
fn launches_left_out(
    baseline: &Run,
    candidate: &Run,
    benchmarks: &[BenchmarkVerdict],
) -> impl Iterator<Item = Warning> {
    let is_told = |id: &BenchmarkId| {
        let side_text = benchmarks.binary_search_by(|b| b.id.cmp(id));
        side_text.is_ok_and(|side_text| benchmarks[side_text].verdict == Verdict::SometimesSlower)
    };
    let mut launches = wild_launches(candidate);
    launches.retain(|launch| !is_told(&launch.benchmark));
    let of_baseline = Some(wild_launches(baseline))
        .filter(|launches| !launches.is_empty())
        .map(|launches| Warning::LaunchesOfBaselineLeftOut { launches });
    let of_candidate = Some(launches)
        .filter(|launches| !launches.is_empty())
        .map(|launches| Warning::LaunchesOfCandidateLeftOut { launches });
    of_baseline.into_iter().chain(of_candidate)
}

fn judged_by_time(benchmarks: &[BenchmarkVerdict]) -> Option<Warning> {
    let benchmarks: Vec<BenchmarkId> = benchmarks
        .iter()
        .filter(|b| b.elsewhere.is_some())
        .map(|b| b.id.clone())
        .collect();
    (!benchmarks.is_empty()).then_some(Warning::JudgedByTime { benchmarks })
}

pub(super) fn sampled_otherwise(pairs: &PairedBenchmarks<'_>) -> Option<Warning> {
    let engine = |benchmark: &Benchmark| Some(benchmark.functions.as_ref()?.sampled?.engine);
    let differs = |(old, new): &&(&Benchmark, &Benchmark)| {
        let engines = engine(old).zip(engine(new));
        engines.is_some_and(|(old, new)| old != new)
    };
    let benchmarks: Vec<BenchmarkId> = (pairs.both.iter().filter(differs))
        .map(|(_, new)| new.id.clone())
        .collect();
    (!benchmarks.is_empty()).then_some(Warning::SampledOtherwise { benchmarks })
}

/// Returns a warning for each reason why functions are unknown, with all that it applies to.
pub(super) fn functions_unknown(
    unknown: &[(BenchmarkId, String)],
    of_baseline: bool,
) -> Vec<Warning> {
    let mut by_reason: BTreeMap<&String, Vec<BenchmarkId>> = BTreeMap::new();
    for (id, reason) in unknown {
        by_reason.entry(reason).or_default().push(id.clone());
    }
    let warning = |(reason, benchmarks): (&String, Vec<BenchmarkId>)| Warning::FunctionsUnknown {
        benchmarks,
        of_baseline,
        reason: reason.clone(),
    };
    by_reason.into_iter().map(warning).collect()
}

/// Returns a warning for each combination of sides that did not count allocations.
fn allocations_unknown(
    pairs: &PairedBenchmarks<'_>,
    benchmarks: &[BenchmarkVerdict],
    policy: &Policy,
) -> Vec<Warning> {
    let mut by_sides: BTreeMap<Uncounted, Vec<BenchmarkId>> = BTreeMap::new();
    for ((old, new), verdict) in pairs.both.iter().zip(benchmarks) {
        let is_modelled =
            |benchmark: &Benchmark| benchmark.provenance().source == SourceKind::Model;
        let could_count = is_modelled(old) && is_modelled(new);
        let is_gated = policy.rules_of(&old.id).gates_allocations();
        let Some(uncounted) = Uncounted::allocations_of(old, new) else {
            continue;
        };
        // Its own sentence says so.
        if verdict.rule == Some(Rule::AllocationsUnknown) {
            continue;
        }
        // Where neither counts them and the policy does not gate them, nobody asked.
        if is_gated || could_count && uncounted != Uncounted::Both {
            by_sides.entry(uncounted).or_default().push(new.id.clone());
        }
    }
    let warning = |(of, benchmarks)| Warning::AllocationsUnknown { benchmarks, of };
    by_sides.into_iter().map(warning).collect()
}

fn mostly_waiting(pairs: &PairedBenchmarks<'_>) -> Option<Warning> {
    let waits = |benchmark| Summary::new(benchmark).is_some_and(|summary| summary.mostly_waits());
    let benchmarks = pairs.both.iter().filter(|(_, new)| waits(new)).count();
    (benchmarks > 0).then_some(Warning::MostlyWaiting { benchmarks })
}

fn work_removed(pairs: &PairedBenchmarks<'_>) -> Option<Warning> {
    let is_removed =
        |benchmark: &Benchmark| Summary::new(benchmark).map(|summary| summary.seems_removed());
    let both = pairs.both.iter();
    let benchmarks: Vec<BenchmarkId> = both
        .filter(|(old, new)| is_removed(new) == Some(true) && is_removed(old) == Some(false))
        .map(|(_, new)| new.id.clone())
        .collect();
    (!benchmarks.is_empty()).then_some(Warning::WorkRemoved { benchmarks })
}

/// A baseline of part of the suite only guards that part.
fn not_in_baseline(baseline: &Run, pairs: &PairedBenchmarks<'_>) -> Option<Warning> {
    let selection = RunSelection::new(&baseline.selection);
    let left_out = |id: &&BenchmarkId| selection.left_out(id).is_some();
    let benchmarks = pairs.new.iter().filter(left_out).count();
    (benchmarks > 0).then(|| Warning::PartialBaseline {
        selection: selection::in_words(baseline).unwrap_or_default(),
        benchmarks,
    })
}
