//! Keeps a thread on the cores that have the counters.
//!
//! On a hybrid machine each type of core has its own PMU. A thread that moves to another type stops
//! counting. If it moves between reading the page and RDPMC, the instruction can fault and kill the
//! process, since the efficiency cores have neither the slots counter nor PERF_METRICS. So the
//! thread must not be able to move there. Reading with system calls on any core was rejected: the
//! counts would have holes.

use super::syscalls::{affinity, set_affinity};
use super::system::{CorePmu, cpu_list};
use crate::error::OpenError;

/// Restricts the calling thread to those of its CPUs that `pmu` counts. Returns the list of these
/// CPUs if that changed anything.
pub(super) fn confine(pmu: &CorePmu) -> Result<Option<String>, OpenError> {
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
