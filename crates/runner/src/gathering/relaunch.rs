//! Further launches of suspects: benchmarks that look slower but not with certainty.

use std::collections::HashMap;

use topdown_run::provenance::SourceKind;
use topdown_run::run_file::{Benchmark, BenchmarkId, LaunchSamples, Run};

use crate::gathering::collect::Collected;
use crate::settings::Settings;
use crate::targets::bench_targets::BenchTarget;

/// A suspect's final number of launches. `docs/gate.md` has the resulting power.
pub const MAX_SUSPECT_LAUNCHES: u32 = 20;

/// Returns whether further launches could decide anything about `run`; those of a model cannot.
pub fn is_measured(run: &Run) -> bool {
    let is_measured = |benchmark: &Benchmark| benchmark.provenance().source != SourceKind::Model;
    run.benchmarks.iter().any(is_measured)
}

/// Returns whether these targets have few enough launches for more to decide anything.
pub fn would_help(targets: &[BenchTarget]) -> bool {
    let has_few = |target: &BenchTarget| target.settings.launches < MAX_SUSPECT_LAUNCHES;
    targets.iter().all(has_few)
}

/// Returns the targets with suspects, restricted to those and to the launches they lack.
pub fn targets_of(suspects: &[BenchmarkId], targets: &[BenchTarget]) -> Vec<BenchTarget> {
    restricted_to(suspects, targets, |launches| {
        MAX_SUSPECT_LAUNCHES.saturating_sub(launches)
    })
}

/// Returns the targets of the benchmarks `ids`, restricted to those. `further` says how many
/// launches to add to those in a target's settings.
pub fn restricted_to(
    ids: &[BenchmarkId],
    targets: &[BenchTarget],
    further: impl Fn(u32) -> u32,
) -> Vec<BenchTarget> {
    let restricted = |target: &BenchTarget| {
        let of_target = ids.iter().filter(|id| target.has(id));
        let names: Vec<String> = of_target.map(|id| id.name.clone()).collect();
        (!names.is_empty()).then(|| BenchTarget {
            settings: Settings {
                launches: further(target.settings.launches),
                ..target.settings
            },
            benchmarks: Some(names),
            ..target.clone()
        })
    };
    targets.iter().filter_map(restricted).collect()
}

/// Returns the suspects' part of `more`, with launches numbered after those of `run`.
pub fn numbered_behind(run: &Run, suspects: &[BenchmarkId], more: Collected) -> Collected {
    let before: HashMap<&BenchmarkId, u32> = run
        .benchmarks
        .iter()
        .filter(|b| suspects.contains(&b.id))
        .map(|b| {
            let last = b.times.launches.last();
            (&b.id, last.map_or(0, |last| last.launch + 1))
        })
        .collect();
    numbered_from(more, |id| before.get(id).copied())
}

/// Returns the benchmarks of `more` for which `first` has a number, with launches numbered from it.
pub fn numbered_from(more: Collected, first: impl Fn(&BenchmarkId) -> Option<u32>) -> Collected {
    let benchmarks = more.benchmarks.into_iter().filter_map(|mut benchmark| {
        let first = first(&benchmark.id)?;
        for time in &mut benchmark.times.launches {
            time.launch += first;
        }
        for slots in benchmark.slots_launches_mut() {
            slots.launch += first;
        }
        Some(benchmark)
    });
    let samples = more.samples.into_iter().filter_map(|samples| {
        let launch = samples.launch + first(&samples.benchmark)?;
        Some(LaunchSamples { launch, ..samples })
    });
    Collected {
        benchmarks: benchmarks.collect(),
        samples: samples.collect(),
        ..Collected::default()
    }
}

/// Appends further launches to the benchmarks of `run`.
pub fn append(run: &mut Run, further: &[Benchmark]) {
    append_to(&mut run.benchmarks, further);
}

/// Appends further launches to `benchmarks`.
pub fn append_to(benchmarks: &mut [Benchmark], further: &[Benchmark]) {
    for benchmark in benchmarks {
        if let Some(more) = further.iter().find(|b| b.id == benchmark.id) {
            benchmark.extend(more);
        }
    }
}
