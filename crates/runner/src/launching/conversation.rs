//! The conversation with a bench in one launch, from its hello until it hangs up.

use std::collections::HashSet;
use std::io::{Read, Write};

use topdown_run::run_file::Throughput;

use crate::functions::{
    InstructionRecord, Symbols, attribute, attribute_paths, attribute_samples, fingerprint_of,
};
use crate::launching::bench_progress::BenchProgress;
use crate::launching::join::{JoinError, Joined, Reported, is_ours, join};
use crate::launching::launch_error::LaunchError;
use crate::launching::live_samples::LiveSamples;
use crate::launching::measured::{Benchmarks, Measured, SlotsOrigin};
use crate::launching::protocol::{Connection, Event, Plan};
use crate::launching::trail::LaunchTrail;
use crate::settings::Settings;
use topdown_run::setting::Sampling;
use topdown_run::setting::SourceChoice;

/// Talks to the bench until it hangs up, keeping `bench_progress` up to date.
pub fn converse(
    mut bench: Connection<impl Read + Write>,
    settings: &Settings,
    samples: &mut LiveSamples<'_>,
    progress: &mut BenchProgress,
    symbols: &mut Symbols,
    on_benchmark: &mut impl FnMut(&str),
) -> Result<Benchmarks, LaunchError> {
    let mut benchmarks = Benchmarks::default();
    let mut is_as_wanted = true;
    while let Some(event) = bench.receive()? {
        match event {
            Event::BeginningBenchmarkGroup {} => progress.open_groups += 1,
            Event::BeginningBenchmark { id } => {
                let name = id.name();
                on_benchmark(&name);
                progress.begin(name);
            }
            Event::Warmup {} if settings.sampling.doubles() => {
                return Err(LaunchError::ignores_arguments(progress));
            }
            Event::MeasurementStart(plan) => is_as_wanted = is_wanted(&plan, settings),
            Event::MeasurementComplete { id, iters, times } => {
                // By the time the bench answers, its recorder has written the samples.
                let one = bench.format_value(1.0)?;
                let records = samples.new_records().map_err(JoinError::File)?;
                let name = id.name();
                progress.complete();
                let reported = Reported {
                    name: &name,
                    iterations: &iters,
                    scalars: &times,
                    one: &one,
                    sampling: settings.sampling,
                };
                match join(&reported, &records)? {
                    Some(joined) => {
                        let measured = Measured {
                            instructions: instructions(&joined, settings),
                            ..measured(&name, id.throughput(), joined, symbols)
                        };
                        let is_ours = is_ours(&measured.provenance);
                        if is_ours && !is_as_wanted {
                            return Err(LaunchError::OtherPlan(name));
                        }
                        // On the model its time is not needed.
                        let doubles = settings.sampling.doubles();
                        if !is_ours && doubles && !is_modelled(settings) {
                            return Err(LaunchError::CannotDouble(name));
                        }
                        benchmarks.measured.push(measured);
                    }
                    None => benchmarks.other_measurements.push((name, one)),
                }
                bench.proceed()?;
            }
            Event::FinishedBenchmarkGroup {} => {
                // A benchmark that panicked leaves samples that no completion will claim.
                bench.format_value(1.0)?;
                samples.new_records().map_err(JoinError::File)?;
                progress.cut_short();
                progress.open_groups = progress.open_groups.saturating_sub(1);
                bench.proceed()?;
            }
            _ => {}
        }
    }
    Ok(benchmarks)
}

/// Returns whether criterion's plan follows the settings, or has the minimum of one iteration per
/// sample, which may take any time.
fn is_wanted(plan: &Plan, settings: &Settings) -> bool {
    /// criterion rounds iterations up, at most to twice the time.
    const ROUNDED_UP: f64 = 2.5;
    let limit_ns = settings.measurement_time.as_nanos() as f64 * ROUNDED_UP;
    settings.sampling != Sampling::Planned
        || plan.sample_count == u64::from(settings.sample_size)
            && (plan.iter_count == plan.sample_count || plan.estimate_ns <= limit_ns)
}

/// Returns whether launches with these settings are on the model.
pub fn is_modelled(settings: &Settings) -> bool {
    matches!(
        settings.source,
        SourceChoice::Model | SourceChoice::ModelOrTime
    )
}

/// Returns the ids of the benchmarks that the bench, which is launched to skip all, skips until it
/// hangs up.
pub fn skipped(
    mut bench: Connection<impl Read + Write>,
    progress: &mut BenchProgress,
) -> Result<Vec<String>, LaunchError> {
    let mut names = Vec::new();
    let mut seen = HashSet::new();
    while let Some(event) = bench.receive()? {
        match event {
            Event::BeginningBenchmark { id } => {
                progress.begin(id.name());
                return Err(LaunchError::ignores_arguments(progress));
            }
            Event::SkippingBenchmark { id } if seen.insert(id.name()) => names.push(id.name()),
            Event::BeginningBenchmarkGroup {} => progress.open_groups += 1,
            Event::FinishedBenchmarkGroup {} => {
                bench.proceed()?;
                progress.open_groups = progress.open_groups.saturating_sub(1);
            }
            _ => {}
        }
    }
    Ok(names)
}

/// Returns what is known of single instructions, if it was requested.
fn instructions(joined: &Joined, settings: &Settings) -> Option<InstructionRecord> {
    if !settings.instructions {
        return None;
    }
    match (&joined.code, &joined.hits) {
        (Some(code), _) => Some(InstructionRecord::Modelled(code.clone())),
        (None, Some(hits)) => Some(InstructionRecord::Sampled(hits.clone())),
        (None, None) => None,
    }
}

/// Attributes the slots of the benchmark `name` to its functions.
fn measured(
    name: &str,
    throughput: Option<Throughput>,
    joined: Joined,
    symbols: &mut Symbols,
) -> Measured {
    let code = joined.code.as_ref();
    Measured {
        throughput,
        name: name.to_owned(),
        functions: code.map(|code| attribute(code, symbols)),
        hits: joined
            .hits
            .as_ref()
            .map(|hits| attribute_samples(hits, symbols, &joined.provenance)),
        provenance: joined.provenance,
        samples: joined.samples,
        first: joined.first,
        groups: joined.groups,
        paths: code.and_then(|code| attribute_paths(code, symbols)),
        fingerprint: code.and_then(|code| fingerprint_of(code, symbols)),
        trail: code.map(LaunchTrail::new),
        instructions: None,
        own_thread_alone: false,
        slots_of: SlotsOrigin::Own,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plans_of_wanted_length_are_accepted() {
        let wanted = |sample_count, iter_count, seconds: f64| {
            let plan = Plan {
                sample_count,
                iter_count,
                estimate_ns: seconds * 1e9,
            };
            is_wanted(&plan, &Settings::default())
        };
        assert!(wanted(20, 2100, 0.25));
        assert!(wanted(20, 210, 0.5));
        // Slow, and flat sampling at its minimum.
        assert!(wanted(20, 20, 60.0));
        assert!(!wanted(100, 5050, 0.25));
        assert!(!wanted(20, 21_000, 5.0));
        let author = Settings {
            sampling: Sampling::Author,
            ..Settings::default()
        };
        let plan = Plan {
            sample_count: 100,
            iter_count: 1,
            estimate_ns: 5e9,
        };
        assert!(is_wanted(&plan, &author));
    }
}
