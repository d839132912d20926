//! The outcome of all launches.

use thiserror::Error;
use topdown_run::run_file::{Benchmark, BenchmarkId};

use crate::gathering::collect::Collected;
use crate::gathering::relaunch;
use crate::launching::launch_error::LaunchError;
use crate::targets::bench_targets::BenchTarget;

/// A bench target that failed, with details.
#[derive(Debug, Error)]
#[error("bench target `{target}` failed in launch {launch}: {error}")]
pub struct TargetFailure {
    /// `package::name`.
    pub target: String,
    /// The launch, from 1.
    pub launch: u32,
    /// What is wrong.
    pub error: LaunchError,
    /// What the bench printed about it.
    pub output: String,
}

/// The start of the line in which the library says why it cannot open a source.
const ERROR_PREFIX: &str = "error: ";

impl TargetFailure {
    /// Returns the bench's own message about its counters.
    pub fn own_error(&self) -> Option<&str> {
        let mut lines = self.output.lines().rev();
        lines.find_map(|line| line.strip_prefix(ERROR_PREFIX))
    }
}

/// The outcome of all launches.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The measurements.
    pub collected: Collected,
    /// Targets that failed; their results are not in `collected`.
    pub failures: Vec<TargetFailure>,
    /// Targets that have only time, because a launch on the model failed.
    pub not_modelled: Vec<TargetFailure>,
    /// Benchmarks that are left out because they use another measurement.
    pub other_measurements: Vec<OtherMeasurement>,
    /// Targets that are not criterion benches.
    pub not_criterion: Vec<BenchTarget>,
    /// Targets that contain criterion but did not connect to the runner, as `package::name`.
    pub not_connected: Vec<String>,
}

impl Outcome {
    /// Creates an outcome in which these benchmarks were measured, and nothing else happened.
    pub fn of(benchmarks: Vec<Benchmark>) -> Outcome {
        Outcome {
            collected: Collected {
                benchmarks,
                ..Collected::default()
            },
            ..Outcome::default()
        }
    }
}

/// A benchmark that uses neither our measurement nor wall-clock time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherMeasurement {
    /// The benchmark.
    pub id: BenchmarkId,
    /// The value 1 as its formatter prints it, such as `1 cycles`.
    pub one: String,
}

impl Outcome {
    /// Adds the launches of other targets.
    pub fn extend(&mut self, other: Outcome) {
        let collected = &mut self.collected;
        collected.benchmarks.extend(other.collected.benchmarks);
        collected.samples.extend(other.collected.samples);
        collected
            .lost_launches
            .extend(other.collected.lost_launches);
        collected.residuals.extend(other.collected.residuals);
        collected.errors.extend(other.collected.errors);
        collected.trails.extend(other.collected.trails);
        collected.by_address.extend(other.collected.by_address);
        collected.called.extend(other.collected.called);
        self.failures.extend(other.failures);
    }

    /// Replaces all results of `targets` with `other`.
    pub fn replace(&mut self, targets: &[BenchTarget], other: Outcome) {
        let is_of = |id: &BenchmarkId| targets.iter().any(|t| t.has(id));
        let collected = &mut self.collected;
        collected.benchmarks.retain(|b| !is_of(&b.id));
        collected.samples.retain(|sample| !is_of(&sample.benchmark));
        collected.lost_launches.retain(|lost| !is_of(&lost.id));
        collected.residuals.retain(|residual| !is_of(&residual.id));
        collected.errors.retain(|error| !is_of(error.id()));
        self.extend(other);
    }

    /// Appends `further` launches, numbered from `first`. A benchmark that failed in one of them
    /// has failed.
    pub fn append(&mut self, further: Outcome, first: u32) {
        let Outcome {
            collected: mut more,
            failures,
            ..
        } = further;
        let has_failed = |id: &BenchmarkId| {
            let target = format!("{}::{}", id.package, id.target);
            more.errors.iter().any(|error| error.id() == id)
                || failures.iter().any(|failure| failure.target == target)
        };
        let ids = self.collected.benchmarks.iter().map(|b| b.id.clone());
        let failed: Vec<BenchmarkId> = ids.filter(has_failed).collect();
        for id in &failed {
            self.collected.forget(id);
        }
        for lost in &mut more.lost_launches {
            lost.launch += first;
        }
        self.failures.extend(failures);
        self.collected.errors.append(&mut more.errors);
        self.collected.lost_launches.append(&mut more.lost_launches);
        let more = relaunch::numbered_from(more, |id| (!failed.contains(id)).then_some(first));
        relaunch::append_to(&mut self.collected.benchmarks, &more.benchmarks);
        self.collected.samples.extend(more.samples);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gathering::benchmark_error::BenchmarkError;
    use topdown_gate::scenario::{Planted, benchmark, id};

    #[test]
    fn further_launches_are_appended_without_failures() {
        let outcome_of = |names: &[&str]| {
            let benchmark = |name: &&str| benchmark(name, Planted::default());
            Outcome::of(names.iter().map(benchmark).collect())
        };
        let mut outcome = outcome_of(&["kept", "drops out", "not asked"]);
        let mut further = outcome_of(&["kept"]);
        further.collected.errors.push(BenchmarkError::DroppedOut {
            id: id("drops out"),
            ran: 1,
            launches: 8,
            missing: "launch 2".to_owned(),
        });
        let before = outcome.collected.benchmarks[0].times.launches.len();
        outcome.append(further, 100);
        let names = outcome.collected.benchmarks.iter().map(|b| &*b.id.name);
        assert_eq!(names.collect::<Vec<_>>(), ["kept", "not asked"]);
        let launches = &outcome.collected.benchmarks[0].times.launches;
        assert_eq!(launches.len(), 2 * before);
        assert_eq!(launches[before].launch, 100);
        assert_eq!(outcome.collected.errors.len(), 1);
    }
}
