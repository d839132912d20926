//! Tasks of this repository.
//!
//!     cargo xtask generate
//!
//! writes the files that are made from the program: `docs/schema`, `docs/commands.md` and
//! `docs/settings.md`. Tests fail while one of them is not current.
//!
//!     cargo xtask cpus [FOLDER | --diff FOLDER]
//!
//! writes the events and metric groups of CPUs: see [`cpus`].
//!
//!     cargo xtask accept-report FILE
//!
//! makes a report of `cargo topdown doctor --report` the proof of a CPU's row: see
//! [`accept_report`].
#![forbid(unsafe_code)]

mod accept_report;
mod cpus;

use std::path::Path;
use std::process::{Command, ExitCode};

const USAGE: &str = "\
usage: cargo xtask generate            write docs/schema, docs/commands.md and docs/settings.md
       cargo xtask cpus                write the tables of CPUs from crates/counters/cpus
       cargo xtask cpus FOLDER         take event codes from vendors' files in FOLDER first
       cargo xtask cpus --diff FOLDER  say which event codes the files would change
       cargo xtask accept-report FILE  make a report of `cargo topdown doctor --report` a proof

FOLDER has perfmon (github.com/intel/perfmon), telemetry (Arm's telemetry-solution) and
linux-VERSION (tools/perf/pmu-events of a kernel).";

/// Makes the tests write what they otherwise compare. They know the program's own types, which no
/// other crate can reach.
const WRITE: &str = "XTASK_GENERATE";

/// The tests that compare generated files.
const GENERATORS: [&str; 2] = ["documentation::generated", "schema::published_schemas"];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["generate"] => generate(),
        ["cpus"] => cpus::run(&cpus::Task::Make),
        ["cpus", "--diff", folder] => cpus::run(&cpus::Task::Compare(Path::new(folder))),
        ["cpus", folder] if !folder.starts_with('-') => {
            cpus::run(&cpus::Task::Take(Path::new(folder)))
        }
        ["accept-report", file] if !file.starts_with('-') => accept_report::run(Path::new(file)),
        ["--help"] => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn generate() -> Result<(), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args([
            "test",
            "--quiet",
            "--package",
            "cargo-topdown",
            "--bins",
            "--",
        ])
        .args(GENERATORS)
        .env(WRITE, "1")
        .status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err("the files could not be written".to_owned()),
        Err(error) => Err(format!("could not run cargo: {error}")),
    }
}
