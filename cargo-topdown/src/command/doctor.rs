//! `cargo topdown doctor`: shows what this machine can measure, and what prevents more.

use std::io::Write;

use super::{machine_report, noise};
use crate::cli::DoctorArgs;
use crate::diagnosis::Diagnosis;
use crate::diagnosis::json;
use crate::diagnosis::text::write_text;
use crate::error::Error;
use crate::exit::Exit;
use topdown_report::style::{self, Look};

/// Inspects the machine, and tries to open its counters and the model.
pub fn run(args: &DoctorArgs) -> Result<Exit, Error> {
    if args.noise {
        return noise::run(args);
    }
    if let Some(path) = &args.report {
        let mut out = style::stdout(args.output.color);
        let is_usable = machine_report::run(path, &mut out, Look::from_environment().width)?;
        out.flush()?;
        return Ok(exit(args, is_usable));
    }
    let diagnosis =
        Diagnosis::for_this_machine(args.launch.measuring.launch.source.unwrap_or_default());
    let mut out = style::stdout(args.output.color);
    if args.json {
        json::write(&mut out, &diagnosis)?;
    } else {
        write_text(&mut out, &diagnosis, Look::from_environment())?;
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
