//! Fingerprints what every benchmark executes, in one traced launch of each bench target.
//!
//! That launch has three iterations of each benchmark, whatever the source and before all
//! measurements. So fingerprints of counted, modelled and timed runs are comparable.

use std::collections::HashMap;
use std::time::Duration;

use topdown_run::provenance::SourceKind;
use topdown_run::run_file::{Benchmark, BenchmarkId, Fingerprint};

use crate::launching::launch::Launched;
use crate::launching::launch_error::LaunchError;
use crate::launching::launcher::Launcher;
use crate::settings::Settings;
use crate::targets::bench_targets::BenchTarget;
use topdown_run::setting::Sampling;
use topdown_run::setting::SourceChoice;
use topdown_system::tracing;

/// criterion ends a benchmark whose first sample took longer, its set-up included. The number of
/// samples decides where the next benchmark's data lies, so the limit is far above usual set-ups,
/// also on a busy machine. Benchmarks with criterion's own measurement, which have no fingerprint,
/// mostly end after a tenth of a second.
const TIME_LIMIT: Duration = Duration::from_secs(5);

/// What the benchmarks of a suite execute.
#[derive(Debug, Default)]
pub struct Fingerprints {
    /// For every benchmark that was seen.
    by_id: HashMap<BenchmarkId, Option<Fingerprint>>,
    /// Targets that failed, and why.
    pub failures: Vec<(BenchTarget, LaunchError)>,
}

impl Fingerprints {
    /// Launches those of `targets` whose settings request fingerprints.
    ///
    /// # Errors
    /// Returns only [`LaunchError::Interrupted`].
    pub fn take(targets: &[BenchTarget], launcher: &Launcher) -> Result<Fingerprints, LaunchError> {
        let mut taken = Fingerprints::default();
        let launcher = Launcher {
            through: tracing::fixed_addresses(),
            shows_output: false,
            ..launcher.clone()
        };
        for target in targets.iter().filter(|target| is_wanted(target)) {
            match launcher.launch(&traced(target), None, |_| {}) {
                Ok(Launched::Benchmarks(benchmarks)) => {
                    let (measured, others) = (benchmarks.measured, benchmarks.other_measurements);
                    let others = others.into_iter().map(|(name, _)| (name, None));
                    let all = measured
                        .into_iter()
                        .map(|benchmark| (benchmark.name, benchmark.fingerprint))
                        .chain(others);
                    taken
                        .by_id
                        .extend(all.map(|(name, fingerprint)| (target.id_of(name), fingerprint)));
                }
                Ok(Launched::NotCriterion) => {}
                Err(LaunchError::Interrupted) => return Err(LaunchError::Interrupted),
                Err(error) => taken.failures.push((target.clone(), error)),
            }
        }
        Ok(taken)
    }

    /// Uses known fingerprints, without a launch.
    pub fn new(
        known: impl IntoIterator<Item = (BenchmarkId, Option<Fingerprint>)>,
    ) -> Fingerprints {
        Fingerprints {
            by_id: known.into_iter().collect(),
            ..Fingerprints::default()
        }
    }

    /// Returns the benchmarks of `target` that were seen, sorted by name, with their fingerprints.
    pub fn of_target(&self, target: &BenchTarget) -> Vec<(&BenchmarkId, Option<&Fingerprint>)> {
        let all = self.by_id.iter().filter(|(id, _)| target.has(id));
        let mut all: Vec<_> = all.map(|(id, known)| (id, known.as_ref())).collect();
        all.sort_by_key(|(id, _)| *id);
        all
    }

    /// Adds the fingerprints to the measured benchmarks, but not to one whose modelled launches
    /// executed different code.
    pub fn add_to(&self, benchmarks: &mut [Benchmark]) {
        for benchmark in benchmarks {
            let known = self.by_id.get(&benchmark.id).cloned().flatten();
            let is_modelled = benchmark.provenance().source == SourceKind::Model;
            let is_about_the_work = benchmark.provenance().elsewhere.is_none()
                && (!is_modelled || benchmark.fingerprint.is_some());
            benchmark.fingerprint = known.filter(|_| is_about_the_work);
        }
    }
}

/// Returns whether `target` is launched for its fingerprints.
pub fn is_wanted(target: &BenchTarget) -> bool {
    tracing::CAN_TRACE && target.has_criterion && target.settings.fingerprints
}

/// Returns the target with the settings for that launch.
fn traced(target: &BenchTarget) -> BenchTarget {
    BenchTarget {
        settings: Settings {
            source: SourceChoice::ModelOrTime,
            sampling: Sampling::FirstTwo,
            measurement_time: TIME_LIMIT,
            ..target.settings
        },
        ..target.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use topdown_gate::scenario::{Planted, benchmark, id, modelled, with_fingerprint};
    use topdown_run::activity::UncountedWork;

    fn fingerprint(data: u64) -> Option<Fingerprint> {
        with_fingerprint(benchmark("b", Planted::default()), data, &[("f", 1)]).fingerprint
    }

    #[test]
    fn counted_and_modelled_fingerprints_agree() {
        let counted = benchmark("b", Planted::default());
        let own = with_fingerprint(modelled("b", Planted::default()), 2, &[("f", 1)]);
        let unsteady = modelled("b", Planted::default());
        let mut waiting = counted.clone();
        waiting.provenance_mut().elsewhere = Some(UncountedWork::Waiting { fraction: 0.9 });
        let unknown = benchmark("c", Planted::default());
        let mut benchmarks = [counted, own, unsteady, waiting, unknown];
        Fingerprints::new([(id("b"), fingerprint(1))]).add_to(&mut benchmarks);
        let put = benchmarks.map(|benchmark| benchmark.fingerprint);
        assert_eq!(put, [fingerprint(1), fingerprint(1), None, None, None]);
    }
}
