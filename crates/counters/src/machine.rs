//! The identity of the machine that this process runs on.
//!
//! `detect` reads it from `/proc` and `/sys`, `cpuid` from the CPU itself. `cores` finds out which
//! of several kinds of cores measure.

pub(crate) mod cores;
#[cfg(target_arch = "x86_64")]
mod cpuid;
mod detect;

use std::path::Path;

use topdown_run::machine::Machine;

use cores::Measuring;

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub(crate) use cpuid::slots_per_cycle as cpuid_slots_per_cycle;
#[cfg(target_arch = "x86_64")]
pub use cpuid::{family as cpuid_family, vendor as cpuid_vendor};
#[cfg(target_os = "linux")]
pub(crate) use detect::arm_core;

/// Returns the machine this process runs on. Never fails: unknown fields stay empty.
///
/// Of several kinds of cores on which the calling thread may run, these are the ones that are
/// counted by default.
#[inline]
pub fn this_machine() -> Machine {
    detect::this_machine(Measuring::AsCounted)
}

/// Reads the identity from sysfs and procfs mounted at these paths; other fields stay unknown.
#[cfg(target_os = "linux")]
pub(crate) fn identity_from_files(sys: &Path, proc: &Path) -> Machine {
    detect::identity(sys, proc, Measuring::AsCounted)
}

/// Returns the CPUs that the calling thread may run on, if the system says.
pub fn allowed_cpus() -> Option<Vec<u32>> {
    cores::allowed_cpus(Path::new("/proc"))
}

/// Returns this machine as a run measured it: on the cores of the PMU `core_type` of a provenance,
/// or else wherever the calling thread may run.
#[inline]
pub fn this_machine_on(core_type: Option<&str>) -> Machine {
    detect::this_machine(core_type.map_or(Measuring::Anywhere, Measuring::Pmu))
}
