//! Machines with several kinds of cores: the kinds, and those that measure.
//!
//! Each kind has a PMU of its own: `cpu_core` and `cpu_atom` on hybrid x86 machines,
//! `armv8_cortex_a55` and `armv8_cortex_a76` on Arm.

use std::fs;
use std::path::{Path, PathBuf};

use topdown_run::machine::MIXED;

/// The cores that a process measures on, where a machine has several kinds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Measuring<'a> {
    /// Those whose counters would be used.
    AsCounted,
    /// Those of the PMU of this name.
    Pmu(&'a str),
    /// All that the thread may run on.
    Anywhere,
}

/// The cores that measure.
#[derive(Debug)]
pub(super) struct Measured {
    /// One of its CPUs.
    pub cpu: u32,
    /// The name of the kind on x86, where CPUID does not distinguish them.
    pub kind: Option<&'static str>,
}

/// Returns the cores that the calling thread measures on.
pub(super) fn measured(sys: &Path, proc: &Path, measuring: Measuring<'_>) -> Measured {
    let allowed = allowed_cpus(proc)
        .or_else(|| cpu_list_in(&sys.join("devices/system/cpu/online")))
        .unwrap_or_default();
    let mut kinds = Vec::new();
    for pmu in core_pmus(sys) {
        if let Some(mut cpus) = cpu_list_in(&pmus_below(sys).join(&pmu).join("cpus")) {
            // An unknown affinity allows all.
            cpus.retain(|cpu| allowed.is_empty() || allowed.contains(cpu));
            kinds.push((pmu, cpus));
        }
    }
    let mut usable = kinds.iter().filter(|(_, cpus)| !cpus.is_empty());
    let one = match measuring {
        Measuring::AsCounted => usable.next(),
        Measuring::Pmu(name) => usable.find(|(pmu, _)| pmu == name),
        Measuring::Anywhere => match (usable.next(), usable.next()) {
            (Some(only), None) => Some(only),
            _ => None,
        },
    };
    match (one, kinds.iter().find(|(_, cpus)| !cpus.is_empty())) {
        (Some((pmu, cpus)), _) => Measured {
            cpu: cpus[0],
            kind: name_of_kind(pmu).filter(|_| kinds.len() > 1),
        },
        // Named after the fastest that it may have been.
        (None, Some((_, cpus))) => Measured {
            cpu: cpus[0],
            kind: Some(MIXED),
        },
        (None, None) => Measured {
            cpu: allowed.first().copied().unwrap_or(0),
            kind: None,
        },
    }
}

fn name_of_kind(pmu: &str) -> Option<&'static str> {
    match pmu {
        "cpu_core" => Some("performance"),
        "cpu_atom" => Some("efficiency"),
        "cpu_lowpower" => Some("lowpower"),
        _ => None,
    }
}

/// Returns where the kernel lists its PMUs.
pub(crate) fn pmus_below(sys: &Path) -> PathBuf {
    sys.join("bus/event_source/devices")
}

/// Returns the names of the PMUs that count cores, in order of preference: those of the fastest
/// cores first.
///
/// On Arm their names begin with the architecture's version, as in `armv8_pmuv3_0` and
/// `armv8_cortex_a76`; PMUs of other parts are called `arm_…`.
pub(crate) fn core_pmus(sys: &Path) -> Vec<String> {
    let directory = pmus_below(sys);
    let mut names = Vec::new();
    for name in ["cpu", "cpu_core", "cpu_atom", "cpu_lowpower"] {
        if directory.join(name).is_dir() {
            names.push(name.to_owned());
        }
    }
    let mut capacities = Vec::new();
    for name in names_in(&directory) {
        if name.starts_with("armv") {
            let capacity = capacity_of(sys, &name);
            let at = capacities.partition_point(|before| *before >= capacity);
            capacities.insert(at, capacity);
            names.insert(names.len() + 1 + at - capacities.len(), name);
        }
    }
    names
}

/// Returns the names of a directory's entries, sorted; none if it cannot be read.
#[inline(never)]
pub(crate) fn names_in(directory: &Path) -> Vec<String> {
    let mut names = Vec::new();
    let Ok(entries) = fs::read_dir(directory) else {
        return names;
    };
    for entry in entries.flatten() {
        if let Ok(name) = entry.file_name().into_string() {
            // Every bench would compile a sorting algorithm for these few names.
            let at = names.partition_point(|before| *before < name);
            names.insert(at, name);
        }
    }
    names
}

/// Returns how fast the cores of a PMU are, relative to others, if the kernel knows.
fn capacity_of(sys: &Path, pmu: &str) -> Option<u32> {
    let cpus = cpu_list_in(&pmus_below(sys).join(pmu).join("cpus"))?;
    let path = format!("devices/system/cpu/cpu{}/cpu_capacity", cpus.first()?);
    let text = fs::read_to_string(sys.join(path)).ok()?;
    text.trim().parse().ok()
}

/// Returns the CPUs that the calling thread may run on.
pub(super) fn allowed_cpus(proc: &Path) -> Option<Vec<u32>> {
    let status = fs::read_to_string(proc.join("thread-self/status")).ok()?;
    let mut lines = status.lines();
    parse_cpu_list(lines.find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?)
}

fn cpu_list_in(path: &Path) -> Option<Vec<u32>> {
    parse_cpu_list(&fs::read_to_string(path).ok()?)
}

/// Reads a list such as `0-3,8`.
pub(crate) fn parse_cpu_list(list: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        // No machine has more; the limit keeps a damaged file from exhausting memory.
        if last < first || last >= 1 << 16 {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}
