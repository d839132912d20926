//! The launch that samples the retire latencies which a metric group needs.

use topdown_counters::cpu::{LatencyTable, MetricGroup};
use topdown_run::run_file::BenchmarkId;

use super::run::{ExplanationLaunches, recorded};
use crate::error::Error;
use topdown_explain::GroupError;
use topdown_explain::latencies::{SampledLatency, sampled_of};
use topdown_runner::launching::launcher::Launcher;
use topdown_runner::targets::bench_targets::BenchTarget;

impl ExplanationLaunches<'_> {
    /// Launches the target to sample retire latencies, if the cores record those that the group
    /// needs. The inner error says why they have none, which does not keep the group from being
    /// measured.
    pub(super) fn sample_latencies(
        &self,
        group: &'static MetricGroup,
        table: Option<&'static LatencyTable>,
        target: &BenchTarget,
        id: &BenchmarkId,
    ) -> Result<Result<Vec<SampledLatency>, GroupError>, Error> {
        let Some(table) = table.filter(|table| !table.recorded_for(group).is_empty()) else {
            return Ok(Ok(Vec::new()));
        };
        let launcher = Launcher {
            latencies_of: Some(group.name),
            ..self.session.launcher().clone()
        };
        let outcome = self.launch_one(launcher, target, id)?;
        Ok(recorded(outcome)
            .and_then(|(provenance, samples)| sampled_of(group, table, &provenance, &samples)))
    }
}
