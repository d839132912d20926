//! The launch that samples a metric group by the events that the core's maker names for it.

use topdown_counters::cpu::MetricGroup;
use topdown_run::run_file::BenchmarkId;

use super::run::{ExplanationLaunches, refusal};
use crate::error::Error;
use topdown_explain::GroupError;
use topdown_explain::sampled::{SampledGroup, periods_of};
use topdown_runner::launching::launcher::Launcher;
use topdown_runner::targets::bench_targets::BenchTarget;

impl ExplanationLaunches<'_> {
    /// Launches the target to find the functions in which the group's events happen, given what
    /// another launch counted. `None` if no event is to be sampled, or none happened. The inner
    /// error says why they are unknown, which does not keep the group from being measured.
    pub(super) fn sample_group(
        &self,
        group: &'static MetricGroup,
        counts: &[u64],
        target: &BenchTarget,
        id: &BenchmarkId,
    ) -> Result<Option<SampledGroup>, Error> {
        let Some(periods) = periods_of(group, counts) else {
            return Ok(None);
        };
        let launcher = Launcher {
            group: Some(group.name),
            hit_periods: periods,
            ..self.session.launcher().clone()
        };
        let outcome = self.launch_one(launcher, target, id)?;
        if let Some(failure) = outcome.failures.first() {
            return Ok(Some(Err(refusal(failure))));
        }
        let collected = outcome.collected;
        if let Some(error) = collected.errors.first() {
            return Ok(Some(Err(GroupError::Launch(error.to_string()))));
        }
        let mut found = collected.hit_groups.into_iter();
        let functions = found.find(|(of, _)| of == id).map(|(_, of)| of);
        Ok(Some(functions.ok_or(GroupError::NoHits)))
    }
}
