//! Machines with several kinds of cores: which kinds there are, and which of them measure.
//!
//! Each kind has a PMU of its own: `cpu_core` and `cpu_atom` on hybrid x86 machines,
//! `armv8_cortex_a55` and `armv8_cortex_a76` on Arm.

use std::cmp::Reverse;
use std::fs;
use std::path::{Path, PathBuf};

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

/// What measures.
#[derive(Debug)]
pub(super) struct Measured {
    /// One of its CPUs.
    pub cpu: u32,
    /// What x86 machines with several kinds call these: CPUID does not tell them apart.
    pub kind: Option<&'static str>,
}

/// The kind of cores of a run that may have been on any.
pub(super) const MIXED: &str = "mixed";

/// Returns the cores that the calling thread measures on.
pub(super) fn measured(sys: &Path, proc: &Path, measuring: Measuring<'_>) -> Measured {
    let allowed = allowed_cpus(proc)
        .or_else(|| cpu_list_in(&sys.join("devices/system/cpu/online")))
        .unwrap_or_default();
    let kinds: Vec<(String, Vec<u32>)> = core_pmus(sys)
        .into_iter()
        .filter_map(|pmu| {
            let mut cpus = cpu_list_in(&pmus_below(sys).join(&pmu).join("cpus"))?;
            // Unknown is not none.
            cpus.retain(|cpu| allowed.is_empty() || allowed.contains(cpu));
            Some((pmu, cpus))
        })
        .collect();
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

/// Returns whether a key may call its cores so.
pub(super) fn is_kind(word: &str) -> bool {
    matches!(word, "performance" | "efficiency" | "lowpower" | MIXED)
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
    let mut of_arm: Vec<String> = fs::read_dir(&directory)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.starts_with("armv"))
        .collect();
    let capacity = |pmu: &String| {
        let cpus = cpu_list_in(&directory.join(pmu).join("cpus"))?;
        let path = format!("devices/system/cpu/cpu{}/cpu_capacity", cpus.first()?);
        let text = fs::read_to_string(sys.join(path)).ok()?;
        text.trim().parse::<u32>().ok()
    };
    of_arm.sort_by_cached_key(|pmu| (Reverse(capacity(pmu)), pmu.clone()));
    ["cpu", "cpu_core", "cpu_atom", "cpu_lowpower"]
        .into_iter()
        .filter(|name| directory.join(name).is_dir())
        .map(str::to_owned)
        .chain(of_arm)
        .collect()
}

/// Returns the CPUs that the calling thread may run on.
fn allowed_cpus(proc: &Path) -> Option<Vec<u32>> {
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
