//! Surveys the machine for `cargo topdown doctor`.

use super::super::opener::Opener;
use super::super::syscalls::Counted;
use super::super::system::{CpuIdentity, SystemPaths, core_pmu, core_pmus};
use super::super::{Hardware, watchdog};
use super::TreeCounters;
use crate::Source;
use crate::survey::{Obstacle, Severity, Survey};
use topdown_run::setting::Counters;

/// Surveys this machine, and tries to open its counters on the calling thread.
#[inline]
pub fn survey() -> Survey {
    survey_in(&SystemPaths::default())
}

/// Like [`survey`], with the kernel's file systems mounted elsewhere.
#[inline]
pub fn survey_in(paths: &SystemPaths) -> Survey {
    let cpu = CpuIdentity::read(paths);
    // That of the cores that would be measured.
    let cpu = match core_pmu(paths, &cpu, Counters::Auto) {
        Ok(pmu) => cpu.of_cores(paths, pmu.cpus.as_deref()),
        Err(_) => cpu,
    };
    let mut survey = Survey {
        pmus: core_pmus(paths),
        cpu: cpu.in_words(),
        perf_event_paranoid: paths.perf_event_paranoid(),
        nmi_watchdog: paths.nmi_watchdog(),
        smt_active: paths.smt_active(),
        hypervisor: cpu.hypervisor,
        obstacles: Vec::new(),
        opened: Hardware::open_in(paths).map(|hardware| hardware.provenance().clone()),
    };
    survey.obstacles = obstacles(paths, &survey);
    survey
}

#[inline]
fn obstacles(paths: &SystemPaths, survey: &Survey) -> Vec<Obstacle> {
    let mut obstacles = Vec::new();
    if let Err(error) = &survey.opened {
        obstacles.push(Obstacle {
            severity: Severity::Prevents,
            what: error.to_string(),
            remedy: error.remedy().map(str::to_owned),
        });
    }
    let mut degrades = |what: String, remedy: Option<String>| {
        obstacles.push(Obstacle {
            severity: Severity::Degrades,
            what,
            remedy,
        });
    };
    if survey.pmus.is_empty() {
        return obstacles;
    }
    if survey.opened.is_ok() {
        let commands =
            TreeCounters::prepare_in(paths, Counters::Auto).and_then(|counters| counters.check());
        if let Err(error) = commands {
            degrades(
                format!("`cargo topdown exec` cannot count commands: {error}"),
                error.remedy().map(str::to_owned),
            );
        }
    }
    for pmu in survey.pmus.iter().filter(|pmu| pmu.rdpmc == Some(0)) {
        degrades(
            format!(
                "RDPMC is off for PMU `{}` (rdpmc is 0): every reading costs a system call",
                pmu.name
            ),
            Some(format!(
                "echo 1 | sudo tee /sys/bus/event_source/devices/{}/rdpmc",
                pmu.name
            )),
        );
    }
    if paths.user_access_on_arm() == Some(false) {
        degrades(
            "user code may not read counters (kernel.perf_user_access is 0): every reading costs a \
             system call"
                .to_owned(),
            Some("sudo sysctl kernel.perf_user_access=1".to_owned()),
        );
    }
    if let Some(what) = watchdog_in_words(paths) {
        let remedy = Some("sudo sysctl kernel.nmi_watchdog=0".to_owned());
        degrades(what.to_owned(), remedy);
    }
    obstacles
}

/// Says that the NMI watchdog holds a counter, if it does or may.
#[inline]
fn watchdog_in_words(paths: &SystemPaths) -> Option<&'static str> {
    let pmu = core_pmu(paths, &CpuIdentity::read(paths), Counters::Exact).ok()?;
    let opener = Opener::of(paths, &pmu, Counted::ThisThread);
    match watchdog::holds_a_counter(&opener) {
        Some(true) => Some(
            "the NMI watchdog is on (kernel.nmi_watchdog is 1) and holds a counter of every CPU",
        ),
        Some(false) => None,
        None => Some(
            "the NMI watchdog is on (kernel.nmi_watchdog is 1): it may hold a counter of every CPU",
        ),
    }
}
