//! The findings of `cargo topdown doctor` as text; `diagnosis_json` has them for programs.

use std::io::{self, Write};

use anstyle::Style;
use topdown_counters::error::OpenError;
use topdown_counters::survey::{Pmu, Severity, TopdownEvents};
use topdown_run::first_contact::FirstContact;
use topdown_run::provenance::Provenance;

use crate::diagnosis::Diagnosis;
use topdown_report::style::{BAD, DIM, GOOD, HEADING, Look, WARNING};
use topdown_report::table::{Cell, Column, Table};

/// Writes the diagnosis for people, with ANSI colours.
///
/// # Errors
/// Returns an error if writing to `out` fails.
pub fn write_text(out: &mut impl Write, diagnosis: &Diagnosis, look: Look) -> io::Result<()> {
    writeln!(out, "{HEADING}{}{HEADING:#}", diagnosis.machine)?;
    Table::facts(facts(diagnosis)).write(out, look)?;
    let mut findings = Findings::new();
    findings.heading("sources");
    match &diagnosis.survey.opened {
        Ok(provenance) => findings.row(GOOD, "yes", &hardware_in_words(provenance)),
        Err(_) => findings.row(BAD, "no", "hardware: cannot be used, see below"),
    }
    match &diagnosis.model {
        Ok(provenance) => findings.row(GOOD, "yes", &model_in_words(provenance)),
        Err(error) => findings.row(BAD, "no", &why_no_model(error)),
    }
    findings.row(GOOD, "yes", "time: wall clock only, on every machine");
    match diagnosis.used() {
        Ok((source, why)) => findings.row(GOOD, "use", &format!("{source}: {why}")),
        Err(why) => findings.row(BAD, "fail", &why),
    }
    let obstacles = &diagnosis.survey.obstacles;
    if !obstacles.is_empty() {
        findings.heading("obstacles to the counters");
    }
    for obstacle in obstacles {
        let (style, word) = match obstacle.severity {
            Severity::Prevents => (BAD, "stop"),
            Severity::Degrades => (WARNING, "warn"),
        };
        // An error's message ends with its remedy, which gets its own line here.
        let remedy = obstacle.remedy.as_deref().unwrap_or_default();
        let what = obstacle.what.strip_suffix(remedy);
        let what = what.unwrap_or(&obstacle.what);
        findings.row(style, word, what.trim_end_matches("; "));
        findings.remedy(remedy);
    }
    if let (Err(_), Some(place)) = (&diagnosis.survey.opened, &diagnosis.place) {
        let what = format!(
            "{}: for its counters, see docs/where-counters.md#{}",
            place.name, place.section
        );
        findings.row(DIM, "see", &what);
    }
    if !diagnosis.disturbances.is_empty() {
        findings.heading("sources of noise on this machine");
    }
    for disturbance in &diagnosis.disturbances {
        findings.row(WARNING, "warn", &disturbance.what);
        findings.remedy(&disturbance.remedy);
    }
    findings.table.write(out, look)
}

fn facts(diagnosis: &Diagnosis) -> Vec<(String, String)> {
    let machine = &diagnosis.machine;
    let survey = &diagnosis.survey;
    let mut system = vec![format!("{} CPUs", machine.cpus)];
    let mut more = |name: &str, value: &Option<String>| {
        if let Some(value) = value {
            system.push(format!("{name} {value}"));
        }
    };
    more("kernel", &machine.kernel);
    more("microcode", &machine.microcode);
    more("governor", &machine.governor);
    let yes_no = |value: bool| if value { "on" } else { "off" };
    let settings: Vec<String> = [
        survey
            .perf_event_paranoid
            .map(|level| format!("perf_event_paranoid {level}")),
        survey
            .nmi_watchdog
            .map(|on| format!("NMI watchdog {}", yes_no(on))),
        machine.smt_active.map(|on| format!("SMT {}", yes_no(on))),
    ]
    .into_iter()
    .flatten()
    .collect();
    let mut facts = vec![
        ("key".to_owned(), machine.key()),
        ("system".to_owned(), system.join(", ")),
        ("settings".to_owned(), settings.join(", ")),
    ];
    facts.extend(
        diagnosis
            .place
            .iter()
            .map(|place| ("place".to_owned(), place.name.clone())),
    );
    facts.extend(
        survey
            .pmus
            .iter()
            .map(|pmu| ("PMU".to_owned(), pmu_in_words(pmu))),
    );
    facts
}

fn pmu_in_words(pmu: &Pmu) -> String {
    let topdown = match pmu.topdown {
        TopdownEvents::Missing => "the kernel names no TopDown events",
        TopdownEvents::Plain => "TopDown events for general counters",
        TopdownEvents::MetricsLevel1 => "PERF_METRICS with level 1",
        TopdownEvents::MetricsLevel2 => "PERF_METRICS with levels 1 and 2",
    };
    let rdpmc = match pmu.rdpmc {
        Some(value) => format!(", rdpmc {value}"),
        None => String::new(),
    };
    let cpus = match &pmu.cpus {
        Some(cpus) => format!(", CPUs {cpus}"),
        None => String::new(),
    };
    let (name, events) = (&pmu.name, pmu.events.len());
    format!("{name}: {topdown}, {events} events{rdpmc}{cpus}")
}

fn hardware_in_words(provenance: &Provenance) -> String {
    let mut text = format!("hardware: {}", provenance.formula);
    if let Some(width) = provenance.slots_per_cycle {
        text += &format!(", {width} slots per cycle");
    }
    if let Some(window) = &provenance.empty_window {
        let slots = window
            .slots
            .map(|slots| format!("{slots} slots, "))
            .unwrap_or_default();
        text += &format!("; an empty window costs {slots}{} ns", window.wall_ns);
    }
    text
}

fn model_in_words(provenance: &Provenance) -> String {
    let width = provenance.slots_per_cycle.unwrap_or(0);
    let error = match FirstContact::of(&provenance.formula) {
        Some(contact) => contact.to_string(),
        None => "the error on code that nobody had tuned to is not known".to_owned(),
    };
    format!(
        "model: {}, {width} slots per cycle; traces code and models where its slots would go; {error}",
        provenance.formula
    )
}

fn why_no_model(error: &OpenError) -> String {
    match error {
        OpenError::Model { reason } => format!("model: {reason}"),
        other => format!("model: {other}"),
    }
}

/// A word and a sentence for each finding.
struct Findings {
    table: Table,
}

impl Findings {
    fn new() -> Findings {
        Findings {
            table: Table::new([Column::text(""), Column::wrapped("")]).indented(2),
        }
    }

    fn heading(&mut self, text: &str) {
        self.table.text(format!("\n{HEADING}{text}{HEADING:#}"));
    }

    fn row(&mut self, style: Style, word: &str, what: &str) {
        self.table.row([Cell::styled(word, style), what.into()]);
    }

    fn remedy(&mut self, remedy: &str) {
        if !remedy.is_empty() {
            let text = format!("{DIM}try:{DIM:#} {remedy}");
            // A command is copied as it is; prose quotes its commands.
            let is_prose = remedy.contains('`');
            let cell = if is_prose {
                text.into()
            } else {
                Cell::one_line(text)
            };
            self.table.row([Cell::default(), cell]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::json;
    use crate::disturbances::Disturbance;
    use crate::host_environment::HostEnvironment;
    use crate::schema;
    use topdown_counters::survey::{Obstacle, Survey};
    use topdown_gate::scenario;
    use topdown_report::shown::{shown, terminal, written};
    use topdown_run::machine::Machine;
    use topdown_run::provenance::{EmptyWindow, SourceKind};
    use topdown_run::setting::SourceChoice;

    fn machine() -> Machine {
        Machine {
            governor: Some("powersave".to_owned()),
            ..scenario::run(Vec::new()).machine
        }
    }

    fn provenance() -> Provenance {
        Provenance {
            slots_per_cycle: Some(6),
            empty_window: Some(EmptyWindow {
                slots: Some(210),
                wall_ns: 41,
                ..EmptyWindow::default()
            }),
            ..Provenance::new(
                SourceKind::Hardware,
                "intel-perf-metrics/1",
                "the counters passed their self-check",
            )
        }
    }

    fn able() -> Diagnosis {
        Diagnosis {
            machine: machine(),
            choice: SourceChoice::Auto,
            survey: Survey {
                pmus: vec![Pmu {
                    name: "cpu".to_owned(),
                    cpus: None,
                    rdpmc: Some(1),
                    events: vec!["slots".to_owned(), "topdown-retiring".to_owned()],
                    topdown: TopdownEvents::MetricsLevel2,
                }],
                cpu: "Intel family 6 model 143".to_owned(),
                perf_event_paranoid: Some(2),
                nmi_watchdog: Some(true),
                smt_active: Some(true),
                hypervisor: false,
                obstacles: vec![Obstacle {
                    severity: Severity::Degrades,
                    what: "the NMI watchdog is on: it occupies one counter of every CPU".to_owned(),
                    remedy: Some("sudo sysctl kernel.nmi_watchdog=0".to_owned()),
                }],
                opened: Ok(provenance()),
            },
            place: None,
            model: Ok(Provenance {
                source: SourceKind::Model,
                formula: "model-golden-cove/2".to_owned(),
                reason: "a model of the core golden-cove".to_owned(),
                empty_window: None,
                ..provenance()
            }),
            disturbances: vec![Disturbance {
                what: "the frequency governor is `powersave`: the clock frequency follows the load"
                    .to_owned(),
                remedy: "echo performance | sudo tee \
                         /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"
                    .to_owned(),
            }],
        }
    }

    fn unable() -> Diagnosis {
        let error = OpenError::NoPmu {
            directory: "/sys/bus/event_source/devices".to_owned(),
            hypervisor: true,
        };
        Diagnosis {
            survey: Survey {
                pmus: Vec::new(),
                nmi_watchdog: None,
                hypervisor: true,
                obstacles: vec![Obstacle {
                    severity: Severity::Prevents,
                    what: error.to_string(),
                    remedy: error.remedy().map(str::to_owned),
                }],
                opened: Err(error),
                ..able().survey
            },
            place: Some(HostEnvironment {
                name: "Amazon EC2 m7i.large".to_owned(),
                section: "aws",
                is_virtual: true,
            }),
            model: Err(OpenError::Model {
                reason: "tracing needs x86-64 Linux; this is aarch64 linux".to_owned(),
            }),
            ..able()
        }
    }

    fn text(diagnosis: &Diagnosis) -> String {
        text_at(diagnosis, 80)
    }

    fn text_at(diagnosis: &Diagnosis, width: usize) -> String {
        shown(|out| write_text(out, diagnosis, terminal(width)))
    }

    fn json_of(diagnosis: &Diagnosis) -> serde_json::Value {
        let text = written(|out| json::write(out, diagnosis));
        let json = serde_json::from_str(&text).unwrap();
        schema::check("doctor", &json);
        json
    }

    #[test]
    fn machine_with_counters() {
        insta::assert_snapshot!(text(&able()));
    }

    #[test]
    fn machine_without_counters() {
        insta::assert_snapshot!(text(&unable()));
    }

    /// Only commands, which are copied, may be longer than a line.
    #[test]
    fn only_commands_exceed_the_width() {
        for (width, diagnosis) in [(60, unable()), (60, able()), (120, unable()), (120, able())] {
            for line in text_at(&diagnosis, width).lines() {
                let is_command = line.trim_start().starts_with("try: ") && !line.contains('`');
                assert!(is_command || line.chars().count() <= width, "{line}");
            }
        }
    }

    #[test]
    fn the_json_has_the_same_facts() {
        let json = json_of(&able());
        insta::assert_snapshot!(format!("{json:#}"));
        let json = json_of(&unable());
        assert_eq!(json["source"], "time");
        assert_eq!(json["model"]["usable"], false);
        assert_eq!(json["hardware"]["usable"], false);
        assert_eq!(json["hardware"]["obstacles"][0]["severity"], "prevents");
    }

    #[test]
    fn requested_source_decides() {
        let clock = Diagnosis {
            choice: SourceChoice::Time,
            ..able()
        };
        assert_eq!(clock.used().unwrap().0, "time");
        let impossible = Diagnosis {
            choice: SourceChoice::Hardware,
            ..unable()
        };
        assert!(text(&impossible).contains("fail  hardware counters were requested"));
        assert_eq!(json_of(&impossible)["source"], serde_json::Value::Null);
        let modelled = Diagnosis {
            choice: SourceChoice::Model,
            ..able()
        };
        assert_eq!(modelled.used().unwrap().0, "model");
        let impossible = Diagnosis {
            choice: SourceChoice::Model,
            ..unable()
        };
        assert!(text(&impossible).contains("fail  the model was requested"));
    }

    #[test]
    fn model_is_second_choice() {
        assert_eq!(able().used().unwrap().0, "hardware");
        let no_counters = Diagnosis {
            place: None,
            model: able().model,
            ..unable()
        };
        assert_eq!(no_counters.used().unwrap().0, "model");
        assert_eq!(json_of(&no_counters)["source"], "model");
        assert_eq!(unable().used().unwrap().0, "time");
    }
}
