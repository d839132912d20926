//! Launches on a modelled core, and the time that belongs to them.
//!
//! A traced window takes some hundred times as long as the code itself, so the time is measured in
//! launches of its own and put beside the modelled slots afterwards. Modelled launches are asked for
//! the fewest iterations that criterion knows: one per sample. What is modelled then does not
//! depend on the clock, and two launches that execute the same instructions at the same addresses
//! agree bit for bit. While they do, further launches would say nothing new.

use std::collections::HashMap;
use std::process::{Command, Stdio};
use std::time::Duration;

use criterion_topdown::provenance::SourceKind;
use criterion_topdown::run_file::{Benchmark, BenchmarkId, LaunchValue};

use super::Outcome;
use super::collect::Collected;
use crate::bench_targets::BenchTarget;
use crate::cli::SourceChoice;
use crate::settings::Settings;
use crate::statistics::launch::slots_agree;

/// How many launches have to agree.
pub const LAUNCHES_THAT_AGREE: u32 = 2;

/// criterion's smallest number of samples.
const SAMPLES: u32 = 10;

/// So short that criterion plans one iteration for every sample, whatever the benchmark.
const NO_TIME: Duration = Duration::from_micros(1);

/// The targets that are to be modelled, as they are launched on the model.
pub fn on_the_model(targets: &[BenchTarget], launches: u32) -> Vec<BenchTarget> {
    with_settings(targets, |settings| Settings {
        launches: launches.min(settings.launches),
        sample_size: SAMPLES,
        warm_up_time: NO_TIME,
        measurement_time: NO_TIME,
        source: SourceChoice::Model,
        ..settings
    })
}

/// The same targets, as their time is measured.
pub fn on_the_clock(targets: &[BenchTarget]) -> Vec<BenchTarget> {
    with_settings(targets, |settings| match settings.source {
        SourceChoice::Model => Settings {
            source: SourceChoice::Time,
            ..settings
        },
        _ => settings,
    })
}

fn with_settings(
    targets: &[BenchTarget],
    change: impl Fn(Settings) -> Settings,
) -> Vec<BenchTarget> {
    targets
        .iter()
        .map(|target| BenchTarget {
            settings: change(target.settings),
            ..target.clone()
        })
        .collect()
}

/// The command that starts a program with the same addresses every time, if this system has it and
/// allows it; container runtimes often do not.
pub fn fixed_addresses() -> Option<&'static [&'static str]> {
    const SETARCH: &[&str] = &["setarch", "-R"];
    let works = Command::new(SETARCH[0])
        .args(&SETARCH[1..])
        .arg("true")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    works.then_some(SETARCH)
}

/// The bench targets of which a benchmark was modelled differently in different launches.
pub fn disagreeing(modelled: &Outcome, targets: &[BenchTarget]) -> Vec<BenchTarget> {
    let disagrees = |benchmark: &Benchmark| {
        benchmark.provenance.source == SourceKind::Model && !slots_agree(&benchmark.launches)
    };
    let ids: Vec<&BenchmarkId> = modelled
        .collected
        .benchmarks
        .iter()
        .filter(|b| disagrees(b))
        .map(|b| &b.id)
        .collect();
    targets
        .iter()
        .filter(|t| {
            ids.iter()
                .any(|id| (&id.package, &id.target) == (&t.package, &t.name))
        })
        .cloned()
        .collect()
}

/// Puts the modelled slots beside the measured time. What could not be modelled keeps its time.
pub fn join(mut timed: Collected, modelled: Collected) -> Collected {
    let mut by_id: HashMap<BenchmarkId, Benchmark> = modelled
        .benchmarks
        .into_iter()
        .map(|benchmark| (benchmark.id.clone(), benchmark))
        .collect();
    for benchmark in &mut timed.benchmarks {
        let Some(model) = by_id.remove(&benchmark.id) else {
            continue;
        };
        benchmark.provenance = model.provenance;
        if benchmark.provenance.source != SourceKind::Model || model.launches.is_empty() {
            continue;
        }
        // What agrees holds for every launch; what differs, or was said once, counts as often as it
        // was said.
        if model.launches.len() < LAUNCHES_THAT_AGREE as usize || !slots_agree(&model.launches) {
            benchmark.launches.truncate(model.launches.len());
        }
        for (value, slots) in benchmark
            .launches
            .iter_mut()
            .zip(model.launches.iter().cycle())
        {
            *value = LaunchValue {
                launch: value.launch,
                wall_ns: value.wall_ns,
                ..*slots
            };
        }
    }
    timed.samples.extend(modelled.samples);
    timed.errors.extend(modelled.errors);
    timed.lost_launches.extend(modelled.lost_launches);
    timed
}

#[cfg(test)]
mod tests {
    use super::*;
    use criterion_topdown::provenance::Provenance;

    fn benchmark(name: &str, source: SourceKind, launches: Vec<LaunchValue>) -> Benchmark {
        Benchmark {
            id: BenchmarkId {
                package: "p".to_owned(),
                target: "t".to_owned(),
                name: name.to_owned(),
            },
            provenance: Provenance {
                source,
                formula: format!("{source}/1"),
                core_type: None,
                slots_per_cycle: None,
                reason: String::new(),
                empty_window: None,
            },
            throughput: None,
            launches,
        }
    }

    fn launch(launch: u32, wall_ns: f64, slots: Option<f64>) -> LaunchValue {
        LaunchValue {
            launch,
            wall_ns,
            slots,
            ..LaunchValue::default()
        }
    }

    #[test]
    fn slots_are_the_models_and_time_is_the_clocks() {
        let timed = Collected {
            benchmarks: vec![benchmark(
                "b",
                SourceKind::Time,
                (0..3)
                    .map(|r| launch(r, 10.0 + f64::from(r), None))
                    .collect(),
            )],
            ..Collected::default()
        };
        let modelled = Collected {
            benchmarks: vec![benchmark(
                "b",
                SourceKind::Model,
                (0..2).map(|r| launch(r, 9999.0, Some(100.0))).collect(),
            )],
            ..Collected::default()
        };
        let joined = join(timed, modelled);
        assert_eq!(joined.benchmarks[0].provenance.source, SourceKind::Model);
        let values = &joined.benchmarks[0].launches;
        assert_eq!(values.len(), 3);
        assert!(values.iter().all(|value| value.slots == Some(100.0)));
        assert_eq!(values[2].wall_ns, 12.0);
        assert_eq!(values[2].launch, 2);
    }

    #[test]
    fn a_value_that_no_other_launch_confirmed_is_not_repeated() {
        let side = |source, launches: &[f64]| {
            let values = launches.iter().zip(0..);
            let values = values.map(|(slots, r)| launch(r, 10.0, Some(*slots)));
            Collected {
                benchmarks: vec![benchmark("b", source, values.collect())],
                ..Collected::default()
            }
        };
        for (modelled, expected) in [
            (&[7.0][..], &[7.0][..]),
            (&[7.0, 8.0], &[7.0, 8.0]),
            (&[7.0, 7.0], &[7.0; 5]),
        ] {
            let timed = side(SourceKind::Time, &[0.0; 5]);
            let joined = join(timed, side(SourceKind::Model, modelled));
            let slots = joined.benchmarks[0].launches.iter().filter_map(|l| l.slots);
            assert_eq!(slots.collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn what_was_not_modelled_keeps_its_time_and_learns_why() {
        let timed = Collected {
            benchmarks: vec![benchmark(
                "b",
                SourceKind::Time,
                vec![launch(0, 10.0, None)],
            )],
            ..Collected::default()
        };
        let mut long = benchmark("b", SourceKind::Time, vec![launch(0, 9999.0, None)]);
        long.provenance.reason = "too long".to_owned();
        let modelled = Collected {
            benchmarks: vec![long],
            ..Collected::default()
        };
        let joined = join(timed, modelled);
        assert_eq!(joined.benchmarks[0].launches[0].wall_ns, 10.0);
        assert_eq!(joined.benchmarks[0].provenance.reason, "too long");
    }
}
