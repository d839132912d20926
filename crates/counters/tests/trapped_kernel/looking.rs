//! Features of the machine according to its files: no system call on an event is needed.

use topdown_counters::error::OpenError;
use topdown_counters::hardware::Hardware;
use topdown_counters::hardware::commands::survey_in;
use topdown_counters::survey::{Severity, TopdownEvents};
use topdown_run::setting::Counters;
use topdown_skipped::{Need, skip};

use crate::machine::{CYCLES, Machine};
use crate::system::System;
use crate::{SLOTS_PER_LOOK_AT_OPEN, allowed_cpus, trapped};

fn refusal(system: &System) -> OpenError {
    Hardware::open_in(&system.paths()).unwrap_err()
}

fn refusal_of_metrics(system: &System) -> OpenError {
    Hardware::open_with(&system.paths(), Counters::Metrics).unwrap_err()
}

#[test]
fn missing_pmu_error_depends_on_virtualization() {
    let error = refusal(&System::empty(0x8f, false));
    assert!(
        matches!(
            error,
            OpenError::NoPmu {
                hypervisor: false,
                ..
            }
        ),
        "{error:?}"
    );
    let error = refusal(&System::empty(0x8f, true));
    assert!(
        matches!(
            error,
            OpenError::NoPmu {
                hypervisor: true,
                ..
            }
        ),
        "{error:?}"
    );
    assert!(error.to_string().contains("virtual machine"), "{error}");
}

#[test]
fn virtual_pmu_without_slots_blames_hypervisor() {
    let system = System::empty(0x6a, true);
    system.add_bare_pmu("cpu");
    let error = refusal_of_metrics(&system);
    assert!(
        matches!(error, OpenError::HiddenByHypervisor { .. }),
        "{error:?}"
    );
    // A CPU that has none, virtual or not.
    let system = System::empty(0x55, true);
    system.add_bare_pmu("cpu");
    let error = refusal_of_metrics(&system);
    assert!(
        matches!(error, OpenError::UnsupportedCpu { .. }),
        "{error:?}"
    );
}

#[test]
fn plain_slots_event_is_not_perf_metrics() {
    let system = System::empty(0x96, false);
    system.add_plain_pmu("cpu");
    system.write_pmu("cpu/events/slots", "event=0x00,umask=0x4");
    let error = refusal_of_metrics(&system);
    assert!(
        matches!(error, OpenError::UnsupportedCpu { .. }),
        "{error:?}"
    );
    assert!(error.to_string().contains("model 0x96"), "{error}");
}

#[test]
fn damaged_descriptions_are_named() {
    let system = System::sapphire_rapids();
    system.write_pmu("cpu/type", "four");
    let error = refusal(&system);
    assert!(
        matches!(error, OpenError::BadDescription { .. }),
        "{error:?}"
    );
    assert!(error.to_string().contains("cpu/type"), "{error}");
    let system = System::hybrid("3-1", "4");
    assert!(matches!(refusal(&system), OpenError::BadDescription { .. }));
}

#[test]
fn survey_lists_resources_and_obstacles() {
    let system = System::sapphire_rapids();
    system.set("nmi_watchdog", "1");
    system.set("perf_event_paranoid", "4");
    system.write_pmu("cpu/rdpmc", "0");
    let refusing = |machine: &mut Machine| {
        machine.slots_per_look = SLOTS_PER_LOOK_AT_OPEN;
        machine.refuse_open = Some((crate::machine::SLOTS, libc::EACCES));
        machine.pmu_is_taken = true;
    };
    let Some(survey) = trapped(refusing, || survey_in(&system.paths())) else {
        return;
    };
    let [pmu] = &survey.pmus[..] else {
        panic!("{survey:?}");
    };
    assert_eq!(pmu.name, "cpu");
    assert_eq!(pmu.topdown, TopdownEvents::MetricsLevel2);
    assert_eq!(pmu.rdpmc, Some(0));
    assert!(pmu.events.contains(&"slots".to_owned()));
    assert_eq!(survey.perf_event_paranoid, Some(4));
    assert!(!survey.hypervisor);
    assert!(survey.opened.is_err());
    let remedies: Vec<&str> = survey
        .obstacles
        .iter()
        .map(|obstacle| obstacle.remedy.as_deref().unwrap_or(""))
        .collect();
    assert_eq!(survey.obstacles[0].severity, Severity::Prevents);
    for (remedy, expected) in remedies.iter().zip([
        "perf_event_paranoid=2",
        "devices/cpu/rdpmc",
        "nmi_watchdog=0",
    ]) {
        assert!(remedy.contains(expected), "{remedies:?}");
    }
    assert_eq!(remedies.len(), 3);
}

#[test]
fn survey_finds_counter_held_by_watchdog() {
    let system = System::empty(0x55, false);
    system.add_bare_pmu("cpu");
    system.set("nmi_watchdog", "1");
    let told = |prepare: fn(&mut Machine)| -> Option<Vec<String>> {
        let prepare = |machine: &mut Machine| {
            machine.has_metrics = false;
            prepare(machine);
        };
        let survey = trapped(prepare, || survey_in(&system.paths()))?;
        let obstacles = survey.obstacles.into_iter();
        let told = obstacles.map(|obstacle| obstacle.what);
        Some(told.filter(|what| what.contains("nmi_watchdog")).collect())
    };
    let Some(of_buddies) = told(|_| ()) else {
        return;
    };
    assert_eq!(of_buddies, [""; 0]);
    let counting = told(|machine| machine.pmu_is_taken = true).unwrap();
    assert_eq!(counting.len(), 2, "{counting:?}");
    assert!(counting[0].contains("never ran"), "{counting:?}");
    assert!(counting[1].contains("holds a counter"), "{counting:?}");
    let forbidden = told(|machine| machine.refuse_open = Some((CYCLES, libc::EACCES))).unwrap();
    assert!(forbidden[0].contains("may hold"), "{forbidden:?}");
}

#[test]
fn arm_core_and_missing_events_are_named() {
    let system = System::arm("0x00000000413fd0c1", "0x0");
    system.set("nmi_watchdog", "1");
    system.set("perf_user_access", "0");
    let survey = survey_in(&system.paths());
    assert_eq!(
        survey.cpu,
        "Neoverse N1 (implementer 0x41, part 0xd0c, r3p1)"
    );
    let told: Vec<&str> = survey.obstacles.iter().map(|o| o.what.as_str()).collect();
    assert!(told[0].contains("Cycle_Accounting"), "{told:?}");
    assert!(told[1].contains("perf_user_access is 0"), "{told:?}");
    // On Arm the watchdog counts nothing.
    assert_eq!(told.len(), 2, "{told:?}");
}

#[test]
fn arm_slot_events_are_topdown_events() {
    let system = System::arm("0x00000000410fd4f1", "0x8");
    assert_eq!(
        survey_in(&system.paths()).pmus[0].topdown,
        TopdownEvents::Missing
    );
    system.write_pmu("armv8_pmuv3_0/events/stall_slot_backend", "event=0x003d");
    assert_eq!(
        survey_in(&system.paths()).pmus[0].topdown,
        TopdownEvents::Plain
    );
}

/// The kernel's PMU of the second cluster, whose cores are others than CPU 0.
#[test]
fn cores_are_identified_by_cpu_of_pmu() {
    let cpu = allowed_cpus().pop().unwrap();
    if cpu == 0 {
        skip(Need::Cpus, "this thread may run on CPU 0 only");
        return;
    }
    let system = System::arm("0x00000000413fd0c1", "0x0");
    let midr = format!("sys/devices/system/cpu/cpu{cpu}/regs/identification/midr_el1");
    system.write(&midr, "0x00000000410fd4f1");
    system.write_pmu("armv8_pmuv3_0/cpus", &cpu.to_string());
    let error = refusal(&system).to_string();
    assert!(!error.contains("Neoverse N1"), "{error}");
    assert_eq!(
        survey_in(&system.paths()).cpu,
        "Neoverse V2 (implementer 0x41, part 0xd4f, r0p1)"
    );
}

#[test]
fn survey_separates_cores_of_a_hybrid() {
    let system = System::hybrid("4000-4003", "0-3999");
    let survey = survey_in(&system.paths());
    let kinds: Vec<(&str, TopdownEvents)> = survey
        .pmus
        .iter()
        .map(|pmu| (pmu.name.as_str(), pmu.topdown))
        .collect();
    assert_eq!(
        kinds,
        [
            ("cpu_core", TopdownEvents::MetricsLevel2),
            ("cpu_atom", TopdownEvents::Plain)
        ]
    );
    assert_eq!(survey.pmus[0].cpus.as_deref(), Some("4000-4003"));
}
