//! The findings of `cargo topdown doctor`, for programs.

use std::io::{self, Write};

use serde::Serialize;
use topdown_counters::survey::{Pmu, Severity, TopdownEvents};
use topdown_run::machine::Machine;
use topdown_run::provenance::Provenance;

use crate::diagnosis::Diagnosis;

/// The version of this format.
pub const DOCTOR_SCHEMA_VERSION: u32 = 1;

/// Writes the diagnosis as one JSON object and a line end.
///
/// # Errors
/// Returns an error if writing to `out` fails.
pub fn write(out: &mut impl Write, diagnosis: &Diagnosis) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &DoctorReport::new(diagnosis))?;
    writeln!(out)
}

/// What a machine can measure: the JSON of `cargo topdown doctor --json`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DoctorReport<'a> {
    /// The version of this format.
    #[cfg_attr(test, schemars(extend("const" = DOCTOR_SCHEMA_VERSION)))]
    schema_version: u32,
    /// Runs of machines with equal keys are comparable.
    machine_key: String,
    /// The machine.
    machine: &'a Machine,
    /// The source that a bench would use: `hardware`, `model` or `time`; absent if the requested
    /// one cannot be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'static str>,
    /// The hardware counters.
    hardware: Hardware<'a>,
    /// The model.
    model: Model<'a>,
    /// What makes launches differ.
    disturbances: Vec<Finding<'a>>,
}

/// The hardware counters.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Hardware<'a> {
    /// Whether they could be opened and passed their self-check.
    usable: bool,
    /// What they measure.
    #[serde(skip_serializing_if = "Option::is_none")]
    provenance: Option<&'a Provenance>,
    /// `kernel.perf_event_paranoid`.
    #[serde(skip_serializing_if = "Option::is_none")]
    perf_event_paranoid: Option<i64>,
    /// Whether the NMI watchdog occupies a counter.
    #[serde(skip_serializing_if = "Option::is_none")]
    nmi_watchdog: Option<bool>,
    /// The PMUs that the kernel reports.
    pmus: Vec<PmuFacts<'a>>,
    /// What prevents or degrades their use.
    obstacles: Vec<ObstacleFacts<'a>>,
}

/// A PMU.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PmuFacts<'a> {
    /// Its name in sysfs.
    name: &'a str,
    /// The CPUs of its core type, as the kernel lists them.
    #[serde(skip_serializing_if = "Option::is_none")]
    cpus: Option<&'a str>,
    /// Its setting for user-space reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    rdpmc: Option<i64>,
    /// Its support for TopDown: `missing`, `plain` (events for general counters), `metrics-level-1`
    /// or `metrics-level-2` (`PERF_METRICS`).
    topdown: &'static str,
    /// The events that it names.
    events: &'a [String],
}

/// An obstacle for the counters.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ObstacleFacts<'a> {
    /// `prevents`, or `degrades` if counting is still possible.
    severity: &'static str,
    /// What it is, for people.
    #[serde(flatten)]
    finding: Finding<'a>,
}

/// A finding, for people.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Finding<'a> {
    /// What was found.
    what: &'a str,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<&'a str>,
}

/// The model.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Model<'a> {
    /// Whether it can trace on this machine.
    usable: bool,
    /// What it measures.
    #[serde(skip_serializing_if = "Option::is_none")]
    provenance: Option<&'a Provenance>,
    /// Why it cannot be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl<'a> DoctorReport<'a> {
    fn new(diagnosis: &'a Diagnosis) -> DoctorReport<'a> {
        let survey = &diagnosis.survey;
        DoctorReport {
            schema_version: DOCTOR_SCHEMA_VERSION,
            machine_key: diagnosis.machine.key(),
            machine: &diagnosis.machine,
            source: diagnosis.used().ok().map(|(source, _)| source),
            hardware: Hardware {
                usable: survey.opened.is_ok(),
                provenance: survey.opened.as_ref().ok(),
                perf_event_paranoid: survey.perf_event_paranoid.map(i64::from),
                nmi_watchdog: survey.nmi_watchdog,
                pmus: survey.pmus.iter().map(pmu).collect(),
                obstacles: survey
                    .obstacles
                    .iter()
                    .map(|obstacle| ObstacleFacts {
                        severity: match obstacle.severity {
                            Severity::Prevents => "prevents",
                            Severity::Degrades => "degrades",
                        },
                        finding: Finding {
                            what: &obstacle.what,
                            remedy: obstacle.remedy.as_deref(),
                        },
                    })
                    .collect(),
            },
            model: Model {
                usable: diagnosis.model.is_ok(),
                provenance: diagnosis.model.as_ref().ok(),
                reason: diagnosis.model.as_ref().err().map(ToString::to_string),
            },
            disturbances: diagnosis
                .disturbances
                .iter()
                .map(|found| Finding {
                    what: &found.what,
                    remedy: Some(&found.remedy),
                })
                .collect(),
        }
    }
}

fn pmu(pmu: &Pmu) -> PmuFacts<'_> {
    PmuFacts {
        name: &pmu.name,
        cpus: pmu.cpus.as_deref(),
        rdpmc: pmu.rdpmc.map(i64::from),
        topdown: match pmu.topdown {
            TopdownEvents::Missing => "missing",
            TopdownEvents::Plain => "plain",
            TopdownEvents::MetricsLevel1 => "metrics-level-1",
            TopdownEvents::MetricsLevel2 => "metrics-level-2",
        },
        events: &pmu.events,
    }
}
