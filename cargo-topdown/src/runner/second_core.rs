//! Outcomes of launches on two modelled cores, one for each.
//!
//! The launches are the same, since both cores receive the trace of one. Each outcome is what
//! launches on its core alone would yield, so further launches, where these differ, are of that
//! core alone.

use topdown_run::provenance::SourceKind;
use topdown_run::run_file::BenchmarkId;

use super::Outcome;
use super::collect::Collected;
use super::model_or_clock::with_settings;
use crate::bench_targets::BenchTarget;
use crate::config::measuring::Settings;

/// Returns the same targets, modelled on their first core alone.
pub fn on_first(targets: &[BenchTarget]) -> Vec<BenchTarget> {
    with_settings(targets, |settings| Settings {
        second_core: None,
        ..settings
    })
}

/// Returns those targets that have a second core, modelled on that alone.
pub fn on_second(targets: &[BenchTarget]) -> Vec<BenchTarget> {
    let has_second = |target: &&BenchTarget| target.settings.second_core.is_some();
    let targets: Vec<BenchTarget> = targets.iter().filter(has_second).cloned().collect();
    with_settings(&targets, |settings| Settings {
        model_core: settings.second_core.unwrap_or(settings.model_core),
        second_core: None,
        ..settings
    })
}

/// Returns the times in `timed`, to which the slots of the second core can be added.
pub fn times_of(timed: &Outcome) -> Outcome {
    Outcome {
        collected: Collected {
            benchmarks: timed.collected.benchmarks.clone(),
            samples: timed.collected.samples.clone(),
            ..Collected::default()
        },
        ..Outcome::default()
    }
}

/// Drops from `second` what has no modelled slots, and gives the rest the times in `first`, which
/// may have been timed again.
pub fn complete(second: &mut Outcome, first: &Outcome) {
    let timed = &first.collected;
    let Collected {
        benchmarks,
        samples,
        ..
    } = &mut second.collected;
    benchmarks.retain_mut(|benchmark| {
        let is_modelled = benchmark.provenance().source == SourceKind::Model;
        let same = timed.benchmarks.iter().find(|b| b.id == benchmark.id);
        let Some(same) = same.filter(|_| is_modelled) else {
            return false;
        };
        benchmark.times.launches.clone_from(&same.times.launches);
        true
    });
    let is_kept = |id: &BenchmarkId| benchmarks.iter().any(|benchmark| benchmark.id == *id);
    let times = timed.samples.iter();
    let times = times.filter(|of| of.source != SourceKind::Model);
    let modelled = samples.iter().filter(|of| of.source == SourceKind::Model);
    let kept = times.chain(modelled).filter(|of| is_kept(&of.benchmark));
    *samples = kept.cloned().collect();
}
