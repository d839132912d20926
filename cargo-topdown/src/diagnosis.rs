//! Diagnosis of a machine: its ways to measure, and obstacles to others.

pub mod json;
pub mod machine_report_json;
pub mod text;

use std::path::Path;

use topdown_counters::error::OpenError;
use topdown_counters::hardware;
use topdown_counters::machine::this_machine;
use topdown_counters::survey::Survey;
use topdown_run::machine::Machine;
use topdown_run::provenance::{CLOCK_REQUESTED, Provenance};
use topdown_run::setting::SourceChoice;

use crate::disturbances::{Disturbance, disturbances};
use crate::host_environment::HostEnvironment;

/// All findings about a machine.
#[derive(Debug)]
pub struct Diagnosis {
    pub machine: Machine,
    /// Which source is wanted: `CARGO_TOPDOWN_SOURCE`, or the best.
    pub choice: SourceChoice,
    /// The hardware counters.
    pub survey: Survey,
    /// Where the machine is, if that decides about counters.
    pub place: Option<HostEnvironment>,
    /// The result of opening the model.
    pub model: Result<Provenance, OpenError>,
    /// What makes launches differ.
    pub disturbances: Vec<Disturbance>,
}

impl Diagnosis {
    /// Inspects this machine as if `choice` was requested.
    pub fn for_this_machine(choice: SourceChoice) -> Diagnosis {
        let machine = this_machine();
        Diagnosis {
            disturbances: disturbances(&machine, Path::new("/")),
            survey: hardware::commands::survey(),
            place: HostEnvironment::of_this_machine(machine.hypervisor.as_deref()),
            model: topdown_model::open().map(|source| source.provenance().clone()),
            machine,
            choice,
        }
    }

    /// Returns the source that a bench would use, and why; an error if it would fail.
    pub fn used(&self) -> Result<(&'static str, String), String> {
        let hardware = self.survey.opened.as_ref().ok();
        let model = self.model.as_ref().ok();
        let will_fail = |what: &str| {
            Err(format!(
                "{what} requested, but cannot be used: benches will fail"
            ))
        };
        let because_of = |provenance: &Provenance| provenance.reason.clone();
        match self.choice {
            SourceChoice::Time | SourceChoice::TimeBesideModel => {
                Ok(("time", CLOCK_REQUESTED.to_owned()))
            }
            SourceChoice::Hardware => match hardware {
                Some(hardware) => Ok(("hardware", because_of(hardware))),
                None => will_fail("hardware counters were"),
            },
            SourceChoice::Model => match model {
                Some(model) => Ok(("model", because_of(model))),
                None => will_fail("the model was"),
            },
            SourceChoice::Auto | SourceChoice::ModelOrTime => Ok(match (hardware, model) {
                (Some(hardware), _) if self.choice == SourceChoice::Auto => {
                    ("hardware", because_of(hardware))
                }
                (_, Some(model)) => (
                    "model",
                    format!(
                        "{}; plain `cargo bench` measures only time",
                        because_of(model)
                    ),
                ),
                (_, None) => (
                    "time",
                    "only wall-clock time is available: no slots, and no causes".to_owned(),
                ),
            }),
        }
    }
}
