//! The table for the cores of a PMU.

use super::system::{CorePmu, CpuIdentity, core_pmu, cpus_of};
use super::{SystemPaths, given_core};
use crate::cpu::{CpuTable, LatencyTable, Level1Counting, MetricGroup, latencies_for};
use crate::error::OpenError;
use topdown_run::setting::Counters;

/// Returns the table of the cores counted by the PMU of this name: the one given by the user, if
/// any.
#[inline(never)]
pub(super) fn table_of(cpu: &CpuIdentity, pmu: &str) -> Result<&'static CpuTable, OpenError> {
    match given_core::given_core(cpu, pmu)? {
        Some(table) => Ok(table),
        None => cpu.table(pmu).ok_or_else(|| OpenError::UnsupportedCpu {
            pmu: pmu.to_owned(),
            cpu: cpu.in_words(),
            reason: "no table lists the events of its categories",
        }),
    }
}

/// Returns the table of cores whose level 1 can be counted.
pub(super) fn supported_table(
    cpu: &CpuIdentity,
    pmu: &CorePmu,
) -> Result<&'static CpuTable, OpenError> {
    let table = table_of(cpu, &pmu.name)?;
    match table.level1 {
        Level1Counting::Forms(_) => Ok(table),
        Level1Counting::Unsupported(reason) => Err(OpenError::UnsupportedCpu {
            pmu: pmu.name.clone(),
            cpu: cpu.in_words(),
            reason,
        }),
    }
}

/// Returns the table of a core type of this machine, or of its only one if there is no `core_type`.
///
/// # Errors
/// Returns [`OpenError::NoPmu`], [`OpenError::UnsupportedCpu`], or [`OpenError::DescribedCore`].
#[inline]
pub fn table(core_type: Option<&str>) -> Result<&'static CpuTable, OpenError> {
    let paths = SystemPaths::default();
    let cpu = CpuIdentity::read(&paths);
    match core_type {
        Some(pmu) => table_of(&cpu.of_cores(&paths, cpus_of(&paths, pmu).as_deref()), pmu),
        None => {
            let pmu = core_pmu(&paths, &cpu, Counters::Exact)?;
            table_of(&cpu.of_cores(&paths, pmu.cpus.as_deref()), &pmu.name)
        }
    }
}

/// Returns the retire latencies of a core type of this machine, or of its only one if there is no
/// `core_type`; `None` if no table has them.
#[inline]
pub fn latencies(core_type: Option<&str>) -> Option<&'static LatencyTable> {
    let paths = SystemPaths::default();
    let cpu = CpuIdentity::read(&paths);
    let pmu = match core_type {
        Some(pmu) => pmu.to_owned(),
        None => core_pmu(&paths, &cpu, Counters::Exact).ok()?.name,
    };
    latencies_for(&cpu.identity(&pmu))
}

/// Returns the slots per cycle of the cores of a PMU.
pub(super) fn slots_per_cycle(
    cpu: &CpuIdentity,
    pmu: &CorePmu,
    table: &CpuTable,
) -> Result<u32, OpenError> {
    if given_core::is_given(table) {
        given_core::check_width(table.slots_per_cycle, pmu.slots_per_cycle)?;
    }
    pmu.slots_per_cycle
        .or(table.slots_per_cycle)
        .or_else(width_by_cpuid)
        .ok_or_else(|| OpenError::UnsupportedCpu {
            pmu: pmu.name.clone(),
            cpu: cpu.in_words(),
            reason: "its slots per cycle are unknown to the kernel, the CPUID instruction and the \
                     tables",
        })
}

/// Returns the width of the core that executes this, which is of the measured kind.
fn width_by_cpuid() -> Option<u32> {
    #[cfg(target_arch = "x86_64")]
    return crate::machine::cpuid_slots_per_cycle();
    #[cfg(not(target_arch = "x86_64"))]
    None
}

/// Returns the metric group of this name.
pub(super) fn wanted_group(
    table: &'static CpuTable,
    name: &str,
) -> Result<&'static MetricGroup, OpenError> {
    table.group(name).ok_or_else(|| OpenError::UnknownGroup {
        name: name.to_owned(),
        cpu: table.name,
        known: names_of_groups(table),
    })
}

fn names_of_groups(table: &CpuTable) -> String {
    let mut names = String::new();
    for group in table.groups {
        if !names.is_empty() {
            names += ", ";
        }
        names += group.name;
    }
    names
}
