//! What sysfs and procfs say about the CPU, its PMUs and the kernel's settings.

use std::fs;
use std::path::{Path, PathBuf};

use crate::counter::survey::{Pmu, TopdownEvents};
use crate::error::OpenError;

/// Where the kernel's file systems are mounted. A test puts its own directories in their place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemPaths {
    /// sysfs: `/sys`.
    pub sys: PathBuf,
    /// procfs: `/proc`.
    pub proc: PathBuf,
}

impl Default for SystemPaths {
    fn default() -> SystemPaths {
        SystemPaths {
            sys: PathBuf::from("/sys"),
            proc: PathBuf::from("/proc"),
        }
    }
}

impl SystemPaths {
    /// Where the kernel lists its PMUs.
    pub(super) fn pmus(&self) -> PathBuf {
        self.sys.join("bus/event_source/devices")
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

/// Who made the CPU and which it is, as `/proc/cpuinfo` tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CpuIdentity {
    pub vendor: String,
    pub family: u32,
    pub model: u32,
    pub name: String,
    pub hypervisor: bool,
}

impl CpuIdentity {
    pub fn read(paths: &SystemPaths) -> CpuIdentity {
        let cpuinfo = text(&paths.proc.join("cpuinfo")).unwrap_or_default();
        // The first CPU speaks for all: hybrid CPUs share these values.
        let field = |name: &str| {
            cpuinfo
                .lines()
                .filter_map(|line| line.split_once(':'))
                .find(|(key, _)| key.trim() == name)
                .map(|(_, value)| value.trim())
        };
        let number = |name| field(name).and_then(|value| value.parse().ok());
        CpuIdentity {
            vendor: field("vendor_id").unwrap_or("unknown").to_owned(),
            family: number("cpu family").unwrap_or(0),
            model: number("model").unwrap_or(0),
            name: field("model name")
                .unwrap_or("a CPU without a name")
                .to_owned(),
            hypervisor: field("flags")
                .is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor")),
        }
    }

    pub fn in_words(&self) -> String {
        format!(
            "{} ({} family {} model {:#x})",
            self.name, self.vendor, self.family, self.model
        )
    }

    /// Issue slots per cycle of the cores with PERF_METRICS; `None` for every other CPU.
    ///
    /// Source: Intel perfmon, mapfile.csv and TMA_Metrics-full.csv 5.2 (`Pipeline_Width`).
    pub fn metrics_width(&self) -> Option<u32> {
        if self.vendor != "GenuineIntel" || self.family != 6 {
            return None;
        }
        match self.model {
            // Ice Lake, Tiger Lake and Rocket Lake.
            0x7d | 0x7e | 0x6a | 0x6c | 0x8c | 0x8d | 0xa7 => Some(5),
            // Golden Cove to Redwood Cove: Alder, Raptor and Meteor Lake, Sapphire to Granite Rapids.
            0x97 | 0x9a | 0xb7 | 0xba | 0xbf | 0x8f | 0xcf | 0xad | 0xae | 0xaa | 0xac | 0xb5 => {
                Some(6)
            }
            // Lion Cove and Cougar Cove: Lunar, Arrow and Panther Lake.
            0xbd | 0xc5 | 0xc6 | 0xcc | 0xd5 | 0xe5 => Some(8),
            _ => None,
        }
    }
}

/// A PMU with the slots counter and PERF_METRICS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MetricsPmu {
    /// `cpu`, or `cpu_core` of a hybrid machine.
    pub name: String,
    /// `type` of `perf_event_attr`.
    pub type_number: u32,
    /// The CPUs that it counts; `None` where it counts all.
    pub cpus: Option<Vec<u32>>,
    /// Whether PERF_METRICS has the four fractions of level 2.
    pub level2: bool,
}

/// The core PMUs of this machine, in the order in which they are preferred.
pub(super) fn core_pmus(paths: &SystemPaths) -> Vec<Pmu> {
    ["cpu", "cpu_core", "cpu_atom", "cpu_lowpower"]
        .into_iter()
        .filter_map(|name| describe(paths, name))
        .collect()
}

fn describe(paths: &SystemPaths, name: &str) -> Option<Pmu> {
    let directory = paths.pmus().join(name);
    if !directory.is_dir() {
        return None;
    }
    let mut events: Vec<String> = fs::read_dir(directory.join("events"))
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|event| !event.contains('.'))
        .collect();
    events.sort();
    Some(Pmu {
        name: name.to_owned(),
        cpus: text(&directory.join("cpus")),
        rdpmc: number(&directory.join("rdpmc")),
        topdown: topdown_events(&directory.join("events"), &events),
        events,
    })
}

/// Tells PERF_METRICS from plain events that have the same names: efficiency cores publish
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
    } else if events.iter().any(|event| event.starts_with("topdown-")) {
        TopdownEvents::Plain
    } else {
        TopdownEvents::Missing
    }
}

/// The umask of a code such as `event=0x00,umask=0x80`.
fn umask_of(code: &str) -> Option<u32> {
    code.split(',')
        .filter_map(|term| term.split_once('='))
        .find(|(key, _)| key.trim() == "umask")
        .and_then(|(_, value)| u32::from_str_radix(value.trim().strip_prefix("0x")?, 16).ok())
}

/// The PMU with PERF_METRICS.
///
/// # Errors
/// Why this machine has none.
pub(super) fn metrics_pmu(paths: &SystemPaths, cpu: &CpuIdentity) -> Result<MetricsPmu, OpenError> {
    let pmus = core_pmus(paths);
    let Some(pmu) = pmus.first() else {
        return Err(OpenError::NoPmu {
            directory: paths.pmus().display().to_string(),
            hypervisor: cpu.hypervisor,
        });
    };
    let level2 = match pmu.topdown {
        TopdownEvents::MetricsLevel1 => false,
        TopdownEvents::MetricsLevel2 => true,
        TopdownEvents::Plain => {
            return Err(OpenError::UnsupportedCpu {
                pmu: pmu.name.clone(),
                cpu: cpu.in_words(),
                reason: "its TopDown events are plain counters, and there is no formula for them here",
            });
        }
        TopdownEvents::Missing if cpu.hypervisor && cpu.metrics_width().is_some() => {
            return Err(OpenError::HiddenByHypervisor {
                pmu: pmu.name.clone(),
                missing: "slots",
                cpu: cpu.in_words(),
            });
        }
        TopdownEvents::Missing => {
            return Err(OpenError::UnsupportedCpu {
                pmu: pmu.name.clone(),
                cpu: cpu.in_words(),
                reason: "it has no slots counter, and there is no formula without one here",
            });
        }
    };
    let bad = |file: &str, problem: String| OpenError::BadDescription {
        path: paths
            .pmus()
            .join(&pmu.name)
            .join(file)
            .display()
            .to_string(),
        problem,
    };
    let type_text = fs::read_to_string(paths.pmus().join(&pmu.name).join("type"))
        .map_err(|error| bad("type", error.to_string()))?;
    Ok(MetricsPmu {
        name: pmu.name.clone(),
        type_number: type_text
            .trim()
            .parse()
            .map_err(|_| bad("type", format!("`{}` is no number", type_text.trim())))?,
        cpus: match &pmu.cpus {
            None => None,
            Some(list) => Some(
                parse_cpu_list(list)
                    .ok_or_else(|| bad("cpus", format!("`{list}` is no list of CPUs")))?,
            ),
        },
        level2,
    })
}

/// Reads a list such as `0-3,8`.
fn parse_cpu_list(list: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        // No machine has more; the limit keeps a damaged file from filling the memory.
        if last < first || last >= 1 << 16 {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

/// Writes CPUs as a list such as `0-3,8`.
pub(super) fn cpu_list(cpus: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &cpu in cpus {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => ranges.push((cpu, cpu)),
        }
    }
    let words: Vec<String> = ranges
        .into_iter()
        .map(|(first, last)| {
            if first == last {
                first.to_string()
            } else {
                format!("{first}-{last}")
            }
        })
        .collect();
    words.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_umask_tells_fractions_from_plain_events() {
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

    #[test]
    fn widths_are_those_of_the_cores_with_perf_metrics() {
        let cpu = |vendor: &str, family, model| {
            CpuIdentity {
                vendor: vendor.to_owned(),
                family,
                model,
                ..CpuIdentity::default()
            }
            .metrics_width()
        };
        assert_eq!(cpu("GenuineIntel", 6, 0x6a), Some(5));
        assert_eq!(cpu("GenuineIntel", 6, 0x8f), Some(6));
        assert_eq!(cpu("GenuineIntel", 6, 0xc6), Some(8));
        assert_eq!(cpu("GenuineIntel", 6, 0x55), None);
        assert_eq!(cpu("AuthenticAMD", 25, 0x11), None);
    }
}
