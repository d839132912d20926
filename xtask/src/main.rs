//! Tasks of this repository.
//!
//!     cargo xtask generate
//!
//! writes the files that are made from the program: `docs/schema`, `docs/commands.md` and
//! `docs/settings.md`. Tests fail while one of them is not current.
#![forbid(unsafe_code)]

use std::process::{Command, ExitCode};

/// Makes the tests write what they otherwise compare. They know the program's own types, which no
/// other crate can reach.
const WRITE: &str = "XTASK_GENERATE";

/// The tests that compare generated files.
const GENERATORS: [&str; 2] = ["documentation::generated", "schema::published_schemas"];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments != ["generate"] {
        eprintln!("usage: cargo xtask generate");
        return ExitCode::from(2);
    }
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
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: could not run cargo: {error}");
            ExitCode::FAILURE
        }
    }
}
