//! The CPU, its PMUs and the kernel's settings, as sysfs and procfs report them.

use std::fs;
use std::path::{Path, PathBuf};

use super::syscalls::affinity;
use crate::cpu::{CoreType, CpuTable, Identity, table_for};
use crate::error::OpenError;
use crate::machine::cores::{self, parse_cpu_list};
use crate::machine::{arm_core, identity_from_files};
use crate::survey::{Pmu, TopdownEvents};
use topdown_run::setting::Counters;

/// Where the kernel's file systems are mounted. Tests substitute their own directories.
#[derive(Clone, Debug)]
pub struct SystemPaths {
    /// sysfs: `/sys`.
    pub sys: PathBuf,
    /// procfs: `/proc`.
    pub proc: PathBuf,
}

// As text: comparing paths by component is more code in every bench.
impl PartialEq for SystemPaths {
    fn eq(&self, other: &SystemPaths) -> bool {
        self.sys.as_os_str() == other.sys.as_os_str()
            && self.proc.as_os_str() == other.proc.as_os_str()
    }
}

impl Eq for SystemPaths {}

impl Default for SystemPaths {
    fn default() -> SystemPaths {
        SystemPaths {
            sys: PathBuf::from("/sys"),
            proc: PathBuf::from("/proc"),
        }
    }
}

impl SystemPaths {
    /// Returns where the kernel lists its PMUs.
    pub(super) fn pmus(&self) -> PathBuf {
        cores::pmus_below(&self.sys)
    }

    pub(super) fn perf_event_paranoid(&self) -> Option<i32> {
        number(&self.proc.join("sys/kernel/perf_event_paranoid"))
    }

    pub(super) fn perf_event_mlock_kb(&self) -> Option<i32> {
        number(&self.proc.join("sys/kernel/perf_event_mlock_kb"))
    }

    pub(super) fn nmi_watchdog(&self) -> Option<bool> {
        number::<u32>(&self.proc.join("sys/kernel/nmi_watchdog")).map(|value| value != 0)
    }

    /// Returns whether the kernel lets user code read counters; `None` except on Arm.
    pub(super) fn user_access_on_arm(&self) -> Option<bool> {
        number::<u32>(&self.proc.join("sys/kernel/perf_user_access")).map(|value| value != 0)
    }

    pub(super) fn smt_active(&self) -> Option<bool> {
        number::<u32>(&self.sys.join("devices/system/cpu/smt/active")).map(|value| value != 0)
    }
}

fn text(path: &Path) -> Option<String> {
    fs::read_to_string(path)
        .ok()
        .map(|text| text.trim().to_owned())
}

fn number<T: std::str::FromStr>(path: &Path) -> Option<T> {
    text(path)?.parse().ok()
}

/// The vendor and model of the CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CpuIdentity {
    pub vendor: String,
    pub family: u32,
    pub model: u32,
    pub stepping: u32,
    pub name: String,
    pub hypervisor: bool,
}

impl CpuIdentity {
    pub fn read(paths: &SystemPaths) -> CpuIdentity {
        let machine = identity_from_files(&paths.sys, &paths.proc);
        let or = |text: String, otherwise: &str| match text.as_str() {
            "" => otherwise.to_owned(),
            _ => text,
        };
        CpuIdentity {
            vendor: or(machine.vendor, "unknown"),
            family: machine.family,
            model: machine.model,
            stepping: machine.stepping,
            name: machine.name,
            hypervisor: machine.hypervisor.is_some(),
        }
    }

    /// Returns the table of the cores that the PMU of this name counts.
    #[inline]
    pub fn table(&self, pmu: &str) -> Option<&'static CpuTable> {
        table_for(&self.identity(pmu))
    }

    /// Returns the identity of the cores that the PMU of this name counts.
    pub fn identity(&self, pmu: &str) -> Identity<'_> {
        Identity {
            vendor: &self.vendor,
            family: self.family,
            model: self.model,
            stepping: self.stepping,
            core: CoreType::from_pmu(pmu),
        }
    }

    /// Returns whether these cores have the slots counter, and with it PERF_METRICS, even if the
    /// kernel does not see it.
    fn has_slots_counter(&self, pmu: &str) -> bool {
        let forms = self.table(pmu).map_or(&[][..], |table| table.forms());
        for form in forms {
            if form
                .events
                .iter()
                .any(|event| event.name == "TOPDOWN.SLOTS")
            {
                return true;
            }
        }
        false
    }

    /// Returns the identity of the cores on `cpus`, which may differ from those of CPU 0 on Arm.
    pub fn of_cores(self, paths: &SystemPaths, cpus: Option<&[u32]>) -> CpuIdentity {
        let first = cpus.and_then(|cpus| cpus.first());
        let Some(machine) = first.and_then(|cpu| arm_core(&paths.sys, *cpu)) else {
            return self;
        };
        CpuIdentity {
            vendor: machine.vendor,
            family: machine.family,
            model: machine.model,
            stepping: machine.stepping,
            name: machine.name,
            ..self
        }
    }

    pub fn in_words(&self) -> String {
        let (vendor, family, model) = (&self.vendor, self.family, self.model);
        let is_arm = vendor.starts_with("0x");
        let name = match (self.name.as_str(), is_arm) {
            ("", true) => "an Arm core",
            ("", false) => "a CPU",
            (name, _) => name,
        };
        if !is_arm {
            return format!("{name} ({vendor} family {family} model {model:#x})");
        }
        let (variant, revision) = (self.stepping >> 4, self.stepping & 0xf);
        format!("{name} (implementer {vendor}, part {model:#x}, r{variant}p{revision})")
    }
}

/// A PMU that counts the cores that the thread runs on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CorePmu {
    /// The directory in sysfs: `cpu`, `cpu_core`, `armv8_pmuv3_0`.
    pub name: String,
    /// `type` of `perf_event_attr`.
    pub type_number: u32,
    /// The CPUs that it counts; `None` if it counts all.
    pub cpus: Option<Vec<u32>>,
    /// Whether the machine has other types of core, which this PMU does not count.
    pub is_one_of_several: bool,
    /// The TopDown events that the kernel lists for it.
    pub topdown: TopdownEvents,
    /// Whether RDPMC of PERF_METRICS can be made to clear it and the slots.
    pub clears_metrics: bool,
    /// The width of the pipeline, if the kernel reports it, as on Arm.
    pub slots_per_cycle: Option<u32>,
}

/// Returns the CPUs that the PMU of this name counts, if it counts not all.
#[inline]
pub(super) fn cpus_of(paths: &SystemPaths, pmu: &str) -> Option<Vec<u32>> {
    parse_cpu_list(&text(&paths.pmus().join(pmu).join("cpus"))?)
}

/// Returns the core PMUs of this machine, in order of preference.
pub(super) fn core_pmus(paths: &SystemPaths) -> Vec<Pmu> {
    let mut pmus = Vec::new();
    for name in cores::core_pmus(&paths.sys) {
        pmus.push(describe(paths, name));
    }
    pmus
}

#[inline(never)]
fn describe(paths: &SystemPaths, name: String) -> Pmu {
    let directory = paths.pmus().join(&name);
    let mut events = cores::names_in(&directory.join("events"));
    events.retain(|event| !event.as_bytes().contains(&b'.'));
    Pmu {
        name,
        cpus: text(&directory.join("cpus")),
        rdpmc: number(&directory.join("rdpmc")),
        topdown: topdown_events(&directory.join("events"), &events),
        events,
    }
}

/// Distinguishes PERF_METRICS from plain events of the same names: efficiency cores publish
/// `topdown-retiring`, too, but with the code of a general counter. The pseudo events of
/// PERF_METRICS have umasks from 0x80 on.
fn topdown_events(directory: &Path, events: &[String]) -> TopdownEvents {
    let has = |name: &str| events.iter().any(|event| event == name);
    let is_fraction = text(&directory.join("topdown-retiring"))
        .and_then(|code| umask_of(&code))
        .is_some_and(|umask| umask >= 0x80);
    if has("slots") && is_fraction {
        if has("topdown-heavy-ops") {
            TopdownEvents::MetricsLevel2
        } else {
            TopdownEvents::MetricsLevel1
        }
    } else if events
        .iter()
        .any(|event| event.starts_with("topdown-") || event.starts_with("stall_slot"))
    {
        TopdownEvents::Plain
    } else {
        TopdownEvents::Missing
    }
}

/// Returns the umask of a code such as `event=0x00,umask=0x80`.
fn umask_of(code: &str) -> Option<u32> {
    code.split(',')
        .filter_map(|term| term.split_once('='))
        .find(|(key, _)| key.trim() == "umask")
        .and_then(|(_, value)| u32::from_str_radix(value.trim().strip_prefix("0x")?, 16).ok())
}

/// Returns the PMU to count with: the first that counts a CPU on which this thread may run.
///
/// So `taskset` selects the measured cores of a hybrid machine; by default they are the performance
/// cores.
///
/// # Errors
/// Returns why none can be used with the requested `counters`.
#[inline(never)]
pub(super) fn core_pmu(
    paths: &SystemPaths,
    cpu: &CpuIdentity,
    counters: Counters,
) -> Result<CorePmu, OpenError> {
    // If this fails, `cores::confine` will report it.
    let allowed = affinity().unwrap_or_default();
    let pmus = core_pmus(paths);
    let Some(first) = pmus.first() else {
        return Err(OpenError::NoPmu {
            directory: paths.pmus().display().to_string(),
            hypervisor: cpu.hypervisor,
        });
    };
    let need_metrics = matches!(counters, Counters::Metrics | Counters::Tma);
    let (mut usable, mut others) = (None, None);
    for pmu in &pmus {
        if need_metrics && !pmu.topdown.is_metrics() {
            continue;
        }
        let identified = identify(paths, pmu, pmus.len() > 1)?;
        let counts_an_allowed_cpu = match &identified.cpus {
            None => true,
            Some(cpus) => cpus.iter().any(|cpu| allowed.contains(cpu)),
        };
        let location = if counts_an_allowed_cpu {
            &mut usable
        } else {
            &mut others
        };
        location.get_or_insert(identified);
    }
    if let Some(pmu) = usable.or(others) {
        return Ok(pmu);
    }
    let pmu = first.name.clone();
    Err(if cpu.hypervisor && cpu.has_slots_counter(&pmu) {
        OpenError::HiddenByHypervisor {
            pmu,
            missing: "slots",
            cpu: cpu.in_words(),
        }
    } else {
        OpenError::UnsupportedCpu {
            pmu,
            cpu: cpu.in_words(),
            reason: "it has no PERF_METRICS",
        }
    })
}

#[inline(never)]
fn identify(paths: &SystemPaths, pmu: &Pmu, is_one_of_several: bool) -> Result<CorePmu, OpenError> {
    let directory = paths.pmus().join(&pmu.name);
    let bad = |file: &str, problem: String| OpenError::BadDescription {
        path: directory.join(file).display().to_string(),
        problem,
    };
    let type_text = fs::read_to_string(directory.join("type"))
        .map_err(|error| bad("type", error.to_string()))?;
    Ok(CorePmu {
        name: pmu.name.clone(),
        type_number: type_text
            .trim()
            .parse()
            .map_err(|_| bad("type", format!("`{}` is not a number", type_text.trim())))?,
        cpus: match &pmu.cpus {
            None => None,
            Some(list) => Some(
                parse_cpu_list(list)
                    .ok_or_else(|| bad("cpus", format!("`{list}` is not a list of CPUs")))?,
            ),
        },
        is_one_of_several,
        topdown: pmu.topdown,
        // Linux since 6.14 on Lunar Lake and later, as `config1:0`.
        clears_metrics: directory.join("format/metrics_clear").exists(),
        slots_per_cycle: text(&directory.join("caps/slots"))
            .and_then(|hex| u32::from_str_radix(hex.trim_start_matches("0x"), 16).ok())
            // 0 means that the core does not say.
            .filter(|slots| *slots > 0),
    })
}

/// Writes CPUs as a list such as `0-3,8`.
#[inline(never)]
pub(super) fn cpu_list(cpus: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &cpu in cpus {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => ranges.push((cpu, cpu)),
        }
    }
    let mut list = String::new();
    for (first, last) in ranges {
        if !list.is_empty() {
            list.push(',');
        }
        list += &first.to_string();
        if last > first {
            list += &format!("-{last}");
        }
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn umask_separates_fractions_from_plain_events() {
        assert_eq!(umask_of("event=0x00,umask=0x80"), Some(0x80));
        assert_eq!(umask_of("event=0xc2"), None);
        assert_eq!(umask_of("event=0x73,umask=0x06"), Some(6));
    }

    #[test]
    fn cpu_lists_are_read_and_written() {
        assert_eq!(parse_cpu_list("0-3,8"), Some(vec![0, 1, 2, 3, 8]));
        assert_eq!(parse_cpu_list("0"), Some(vec![0]));
        assert_eq!(parse_cpu_list(""), None);
        assert_eq!(parse_cpu_list("3-1"), None);
        assert_eq!(parse_cpu_list("0-4000000000"), None);
        assert_eq!(cpu_list(&[0, 1, 2, 3, 8]), "0-3,8");
        assert_eq!(cpu_list(&[]), "");
    }
}
