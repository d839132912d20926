//! Opens the requested group, and describes it.

use super::engine::Engine;
use super::exact_group::ExactGroup;
use super::metrics_group::MetricsGroup;
use super::metrics_shape::MetricsShape;
use super::opener::Opener;
use super::read_group::ReadGroup;
use super::system::{CorePmu, CpuIdentity};
use super::tables::{slots_per_cycle, supported_table, table_of, wanted_group};
use super::watchdog;
use crate::Wanted;
use crate::error::OpenError;
use topdown_run::setting::Counters;

/// A group and its provenance.
pub(super) struct Group {
    pub engine: Engine,
    pub formula: String,
    pub slots_per_cycle: Option<u32>,
    pub reason: String,
}

/// Opens the group that counts `wanted` on these cores.
pub(super) fn open(
    opener: &Opener<'_>,
    cpu: &CpuIdentity,
    pmu: &CorePmu,
    wanted: &Wanted,
) -> Result<Group, OpenError> {
    let group = match wanted {
        Wanted::Group(name) => open_metric_group(opener, cpu, pmu, name),
        Wanted::Categories(counters)
            if pmu.topdown.is_metrics() && *counters != Counters::Exact =>
        {
            open_metrics(opener, cpu, pmu, *counters)
        }
        Wanted::Categories(_) => open_exact(opener, cpu, pmu),
    };
    group.map_err(|error| watchdog::with_verified_watchdog(opener, error))
}

/// Opens a metric group in place of the categories.
#[inline(never)]
fn open_metric_group(
    opener: &Opener<'_>,
    cpu: &CpuIdentity,
    pmu: &CorePmu,
    name: &str,
) -> Result<Group, OpenError> {
    let table = table_of(cpu, &pmu.name)?;
    let wanted = wanted_group(table, name)?;
    let slots_per_cycle = match slots_per_cycle(cpu, pmu, table) {
        Ok(width) => Some(width),
        // Only metrics in slots need it, and no core without a known width has those.
        Err(OpenError::UnsupportedCpu { .. }) => None,
        Err(error) => return Err(error),
    };
    let group = ExactGroup::open_group(opener, table, wanted, slots_per_cycle.unwrap_or(0))?;
    Ok(Group {
        engine: Engine::Exact(group),
        formula: wanted.formula(),
        slots_per_cycle,
        reason: format!("metric group {name} of PMU `{}` ({})", pmu.name, table.name),
    })
}

fn open_metrics(
    opener: &Opener<'_>,
    cpu: &CpuIdentity,
    pmu: &CorePmu,
    counters: Counters,
) -> Result<Group, OpenError> {
    let shape = MetricsShape::of(cpu, pmu, counters)?;
    let (engine, way) = match MetricsGroup::open(opener, shape)? {
        Some(group) if shape.clears => {
            (Engine::Rdpmc(group), "read with RDPMC, which sets it to 0")
        }
        Some(group) => (Engine::Rdpmc(group), "read with RDPMC"),
        None => (
            Engine::Read(ReadGroup::open(opener, shape)?),
            "read with system calls, because RDPMC is off",
        ),
    };
    let corrected = match shape.correction {
        Some(_) => " with the corrections of Intel's metrics",
        None => "",
    };
    Ok(Group {
        engine,
        formula: shape.formula().to_owned(),
        slots_per_cycle: shape.slots_per_cycle,
        reason: format!("PERF_METRICS of PMU `{}`{corrected}, {way}", pmu.name),
    })
}

/// Opens plain counters of the categories.
#[inline(never)]
pub(super) fn open_exact(
    opener: &Opener<'_>,
    cpu: &CpuIdentity,
    pmu: &CorePmu,
) -> Result<Group, OpenError> {
    let table = supported_table(cpu, pmu)?;
    let slots_per_cycle = slots_per_cycle(cpu, pmu, table)?;
    let (group, form, refusal) = ExactGroup::open(opener, table, slots_per_cycle)?;
    let way = if group.reads_in_user_code() {
        "without system calls"
    } else {
        "with system calls, because the kernel lets user code read none"
    };
    let mut reason = format!(
        "plain counters of PMU `{}` ({}), read {way}",
        pmu.name, table.name
    );
    if let Some(refusal) = refusal {
        reason += "; not all events of the best group could be counted";
        if matches!(refusal, OpenError::TooFewCounters { .. }) {
            reason += " beside the NMI watchdog";
        }
    }
    Ok(Group {
        formula: form.formula.to_owned(),
        slots_per_cycle: Some(slots_per_cycle),
        engine: Engine::Exact(group),
        reason,
    })
}
