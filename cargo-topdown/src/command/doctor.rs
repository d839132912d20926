//! `cargo topdown doctor`: shows what this machine can measure, and what prevents more.

use std::io::Write;
use std::path::Path;

use criterion_topdown::counter::{choose, hardware};
use criterion_topdown::machine::Machine;
use criterion_topdown::setting::SourceChoice;

use super::{machine_report, noise};
use crate::cli::DoctorArgs;
use crate::disturbances::disturbances;
use crate::error::Error;
use crate::exit::Exit;
use crate::place::place;
use crate::report::diagnosis::{Diagnosis, write_text};
use crate::report::diagnosis_json;
use crate::report::style::{self, Look};

/// Inspects the machine, and tries to open its counters and the model.
pub fn run(args: &DoctorArgs) -> Result<Exit, Error> {
    if args.noise {
        return noise::run(args);
    }
    if let Some(path) = &args.report {
        let mut out = style::stdout(args.output.color);
        let is_usable = machine_report::run(path, &mut out)?;
        out.flush()?;
        return Ok(exit(args, is_usable));
    }
    let diagnosis = diagnosis(args.launch.measuring.source.unwrap_or_default());
    let mut out = style::stdout(args.output.color);
    if args.json {
        diagnosis_json::write(&mut out, &diagnosis)?;
    } else {
        write_text(&mut out, &diagnosis, Look::of_environment())?;
    }
    out.flush()?;
    Ok(exit(args, diagnosis.survey.opened.is_ok()))
}

fn exit(args: &DoctorArgs, is_usable: bool) -> Exit {
    if args.strict && !is_usable {
        Exit::NoComparison
    } else {
        Exit::Success
    }
}

/// Returns what the machine can measure if `choice` is requested.
pub fn diagnosis(choice: SourceChoice) -> Diagnosis {
    let machine = Machine::of_this_machine();
    Diagnosis {
        disturbances: disturbances(&machine, Path::new("/")),
        survey: hardware::survey(),
        place: place(machine.hypervisor.as_deref(), Path::new("/"), |name| {
            std::env::var(name).ok()
        }),
        model: choose(SourceChoice::Model).map(|source| source.provenance().clone()),
        machine,
        choice,
    }
}
