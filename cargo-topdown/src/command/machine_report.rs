//! `cargo topdown doctor --report`: everything that proves a CPU's row of docs/cpus.md, in a file.
//!
//! The file has no secrets: of the system it holds what the CPU, the kernel's PMUs and four kernel
//! settings say, and no name of a host or user, no path of theirs, and no environment variable.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use topdown_counters::hardware::{self, Hardware};
use topdown_counters::machine::this_machine;
use topdown_counters::proof::{LoopCounts, Loops};
use topdown_counters::survey::{Severity, Survey};
use topdown_counters::{Source, Wanted};
use topdown_run::machine::Machine;
use topdown_run::sample::Flags;
use topdown_run::setting::{Counters, Setting};

use crate::diagnosis::machine_report_json::{
    Attempt, Loop, MACHINE_REPORT_SCHEMA_VERSION, MachineReport, Obstacle, ReportedPmu, Shares,
};
use crate::error::Error;
use crate::host_environment::HostEnvironment;
use topdown_report::request::ReportError;
use topdown_system::whole_file;
use topdown_terminal::columns::folded;

/// Measures, and writes the file.
///
/// # Errors
/// Returns an error if the file cannot be written. What cannot be measured is in the file.
pub fn run(path: &Path, out: &mut impl Write, width: usize) -> Result<bool, Error> {
    let survey = hardware::commands::survey();
    let report = report(&survey);
    write(path, &report).map_err(|error| Error::Report(ReportError::new(path, error)))?;
    let mut say = |text: &str| writeln!(out, "{}", folded(text, width));
    say(&format!("wrote {}: {}", path.display(), summary(&report)))?;
    for refusal in report.categories.iter().filter_map(|a| a.refusal.as_ref()) {
        say(&format!("missing: {refusal}"))?;
    }
    if report.is_virtual {
        let place = report.place.as_deref().unwrap_or("virtual machine");
        let only = "only reports of physical machines prove a row of docs/cpus.md";
        say(&format!("measured in: {place}; {only}"))?;
    }
    say("to send it, see docs/cpus.md#send-a-report: it names no host, user or path")?;
    Ok(survey.opened.is_ok())
}

/// Says how much was counted.
fn summary(report: &MachineReport) -> String {
    let usable = |attempts: &[Attempt]| {
        let usable = attempts.iter().filter(|attempt| attempt.refusal.is_none());
        usable.count()
    };
    let (kinds, groups) = (usable(&report.categories), usable(&report.groups));
    if kinds + groups == 0 {
        return "no counters can be used here, and why".to_owned();
    }
    format!(
        "{kinds} of {} kinds of counters and {groups} of {} metric groups counted {} loops each",
        report.categories.len(),
        report.groups.len(),
        Loops::NAMES.len()
    )
}

fn write(path: &Path, report: &MachineReport) -> io::Result<()> {
    whole_file::write_named(path, |json| {
        serde_json::to_writer_pretty(&mut *json, report)?;
        json.write_all(b"\n")
    })
}

fn report(survey: &Survey) -> MachineReport {
    let mut loops = Loops::new();
    let categories: Vec<Attempt> = kinds_of_counters(survey)
        .iter()
        .map(|kind| {
            attempt(
                kind.name().to_owned(),
                Wanted::Categories(*kind),
                &[],
                &mut loops,
            )
        })
        .collect();
    let core_type = categories
        .iter()
        .find_map(|attempt| attempt.provenance.as_ref()?.core_type.clone());
    let table = hardware::table(core_type.as_deref()).ok();
    let groups = table.map_or(&[][..], |table| table.groups).iter();
    let groups = groups
        .map(|group| {
            let events: Vec<&str> = group.events.iter().map(|event| event.name).collect();
            let wanted = Wanted::Group(group.name.to_owned());
            attempt(group.name.to_owned(), wanted, &events, &mut loops)
        })
        .collect();
    let commands = hardware::commands::TreeCounters::prepare(Counters::Auto)
        .and_then(|counters| counters.check())
        .err();
    let machine = Machine {
        host: None,
        ..this_machine()
    };
    let place = HostEnvironment::of_this_machine(machine.hypervisor.as_deref());
    MachineReport {
        schema_version: MACHINE_REPORT_SCHEMA_VERSION,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        is_virtual: machine.hypervisor.is_some()
            || place.as_ref().is_some_and(|place| place.is_virtual),
        place: place.map(|place| place.name),
        machine,
        cpu: survey.cpu.clone(),
        table: table.map(|table| table.name.to_owned()),
        cores: arm_cores(),
        settings: settings(),
        pmus: survey
            .pmus
            .iter()
            .map(|pmu| ReportedPmu {
                name: pmu.name.clone(),
                files: files_of_pmu(&pmu.name),
            })
            .collect(),
        obstacles: survey
            .obstacles
            .iter()
            .map(|obstacle| Obstacle {
                severity: match obstacle.severity {
                    Severity::Prevents => "prevents",
                    Severity::Degrades => "degrades",
                },
                what: obstacle.what.clone(),
            })
            .collect(),
        commands: commands.map(|error| error.to_string()),
        categories,
        groups,
    }
}

/// Returns the kinds of counters that the cores have: on a hybrid machine, those that this thread
/// may run on.
fn kinds_of_counters(survey: &Survey) -> &'static [Counters] {
    let opened = survey.opened.as_ref().ok();
    let own = opened.and_then(|provenance| provenance.core_type.as_deref());
    let mut pmus = survey.pmus.iter();
    if pmus.any(|pmu| pmu.topdown.is_metrics() && own.is_none_or(|own| own == pmu.name)) {
        &[Counters::Metrics, Counters::Tma, Counters::Exact]
    } else {
        &[Counters::Exact]
    }
}

fn attempt(counters: String, wanted: Wanted, events: &[&str], loops: &mut Loops) -> Attempt {
    let measured = Hardware::open_own(wanted)
        .map(|hardware| (hardware.provenance().clone(), loops.measure(&hardware)));
    match measured {
        Ok((provenance, loops)) => Attempt {
            counters,
            provenance: Some(provenance),
            refusal: None,
            loops: loops.iter().map(|counts| of_loop(counts, events)).collect(),
        },
        Err(error) => Attempt {
            counters,
            provenance: None,
            refusal: Some(error.to_string()),
            loops: Vec::new(),
        },
    }
}

fn of_loop(counts: &LoopCounts, events: &[&str]) -> Loop {
    let sample = &counts.sample;
    let shares = sample
        .level1
        .zip(sample.slots)
        .filter(|(_, slots)| *slots > 0);
    Loop {
        name: counts.name,
        wall_ns: sample.wall_ns,
        slots: sample.slots,
        instructions: sample.instructions,
        cycles: sample.cycles,
        level1: shares.map(|(level1, slots)| Shares::new(level1.slots, slots)),
        smt_contention: shares.and_then(|(level1, slots)| {
            level1.smt_contention_slots.map(|part| part / slots as f64)
        }),
        level2: sample
            .level2
            .zip(shares)
            .map(|(level2, (_, slots))| Shares::new(level2, slots)),
        resolution: sample.resolution_fraction(),
        flags: Flags::NAMES
            .iter()
            .filter(|(flag, _)| sample.flags.intersects(*flag))
            .map(|(_, name)| *name)
            .collect(),
        group: sample.group_counts.map(|group| {
            let names = events.iter().map(|name| (*name).to_owned());
            names.zip(group.as_slice().iter().copied()).collect()
        }),
        counts: counts
            .counts
            .iter()
            .map(|(name, count)| ((*name).to_owned(), *count))
            .collect(),
    }
}

/// Returns the identities of the kinds of cores, in the kernel's spelling; none except on Arm.
fn arm_cores() -> Vec<String> {
    let mut cores: Vec<String> = std::fs::read_dir("/sys/devices/system/cpu")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|cpu| text(&cpu.path().join("regs/identification/midr_el1")))
        .collect();
    cores.sort();
    cores.dedup();
    cores
}

fn settings() -> BTreeMap<String, String> {
    let names = [
        "perf_event_paranoid",
        "perf_event_mlock_kb",
        "nmi_watchdog",
        "perf_user_access",
    ];
    let directory = Path::new("/proc/sys/kernel");
    names
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), text(&directory.join(name))?)))
        .collect()
}

/// Returns what sysfs says about a PMU: its type, CPUs, and the files of its directories.
fn files_of_pmu(name: &str) -> BTreeMap<String, String> {
    let pmu = Path::new("/sys/bus/event_source/devices").join(name);
    let mut files = BTreeMap::new();
    for name in ["type", "cpus", "rdpmc"] {
        files.extend(text(&pmu.join(name)).map(|text| (name.to_owned(), text)));
    }
    for directory in ["caps", "format", "events"] {
        for entry in std::fs::read_dir(pmu.join(directory))
            .into_iter()
            .flatten()
            .flatten()
        {
            let name = entry.file_name().to_string_lossy().into_owned();
            files.extend(text(&entry.path()).map(|text| (format!("{directory}/{name}"), text)));
        }
    }
    files
}

fn text(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use topdown_counters::survey::{Pmu, TopdownEvents};
    use topdown_run::provenance::{Provenance, SourceKind};

    use super::*;

    #[test]
    fn efficiency_cores_have_no_metrics_to_miss() {
        let pmu = |name: &str, topdown| Pmu {
            name: name.to_owned(),
            cpus: None,
            rdpmc: None,
            events: Vec::new(),
            topdown,
        };
        let kinds_on = |core_type: &str| {
            kinds_of_counters(&Survey {
                pmus: vec![
                    pmu("cpu_core", TopdownEvents::MetricsLevel2),
                    pmu("cpu_atom", TopdownEvents::Plain),
                ],
                cpu: String::new(),
                perf_event_paranoid: None,
                nmi_watchdog: None,
                smt_active: None,
                hypervisor: false,
                obstacles: Vec::new(),
                opened: Ok(Provenance {
                    core_type: Some(core_type.to_owned()),
                    ..Provenance::new(SourceKind::Hardware, "", "")
                }),
            })
        };
        assert_eq!(kinds_on("cpu_core").len(), 3);
        assert_eq!(kinds_on("cpu_atom"), [Counters::Exact]);
    }
}
