//! Keeps a thread on the cores that have the counters.
//!
//! On a hybrid machine each type of core has its own PMU. A thread that moves to another type stops
//! counting, so it is pinned; windows in which somebody moves it are flagged. Rejected: reading
//! with system calls on any core, whose counts would have holes.

use super::SystemPaths;
use super::syscalls::{affinity, set_affinity};
use super::system::{CorePmu, CpuIdentity, core_pmu, cpu_list};
use crate::Wanted;
use crate::cpu::CoreType;
use crate::error::OpenError;
use topdown_run::setting::Counters;

/// The cores whose counters are used, on which the thread is kept.
pub(super) struct CountedCores {
    /// The identity of the cores.
    pub cpu: CpuIdentity,
    /// Their PMU.
    pub pmu: CorePmu,
    /// The list of their CPUs, if the thread could run on others before.
    pub confined_to: Option<String>,
}

/// Returns the kind of counters for `wanted`: a metric group consists of plain ones.
pub(super) fn counters_for(wanted: &Wanted) -> Counters {
    match wanted {
        Wanted::Categories(counters) => *counters,
        Wanted::Group(_) => Counters::Exact,
    }
}

/// Finds the cores that `counters` can count, and keeps the calling thread on them.
pub(super) fn keep_on_counted(
    paths: &SystemPaths,
    counters: Counters,
) -> Result<CountedCores, OpenError> {
    let cpu = CpuIdentity::read(paths);
    let pmu = core_pmu(paths, &cpu, counters)?;
    let cpu = cpu.of_cores(paths, pmu.cpus.as_deref());
    let confined_to = confine(&pmu)?;
    Ok(CountedCores {
        cpu,
        pmu,
        confined_to,
    })
}

/// Restricts the calling thread to those of its CPUs that `pmu` counts. Returns the list of these
/// CPUs if that changed anything.
fn confine(pmu: &CorePmu) -> Result<Option<String>, OpenError> {
    let Some(counted) = &pmu.cpus else {
        return Ok(None);
    };
    let failed = |error| OpenError::Pinning {
        pmu: pmu.name.clone(),
        performance: cpu_list(counted),
        error,
    };
    let allowed = affinity().map_err(failed)?;
    let common: Vec<u32> = allowed
        .iter()
        .copied()
        .filter(|cpu| counted.contains(cpu))
        .collect();
    if common.is_empty() {
        return Err(OpenError::EfficiencyCores {
            pmu: pmu.name.clone(),
            performance: cpu_list(counted),
            allowed: cpu_list(&allowed),
        });
    }
    if common.len() == allowed.len() {
        return Ok(None);
    }
    set_affinity(&common).map_err(failed)?;
    Ok(Some(cpu_list(&common)))
}

/// Returns what the cores of a PMU are called.
pub(super) fn kind_of_cores(pmu: &str) -> &'static str {
    match CoreType::from_pmu(pmu) {
        CoreType::Performance if pmu.starts_with("armv") => "cores of this PMU",
        CoreType::Performance => "performance cores",
        CoreType::Efficient => "efficiency cores",
        CoreType::LowPower => "low-power cores",
    }
}
