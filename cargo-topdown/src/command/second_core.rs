//! Text around the comparisons on two modelled cores.

use std::io::Write;

use topdown_run::run_file::Run;

use crate::cli::ColorChoice;
use crate::error::Error;
use topdown_report::cores::{self, OnCore};
use topdown_report::style::{self, Look};

/// Prints which core the comparison below is on, apart from one above.
///
/// # Errors
/// Returns an error if it cannot be printed.
pub fn write_heading(candidate: &Run, is_second: bool, color: ColorChoice) -> Result<(), Error> {
    let mut text = Vec::new();
    if is_second {
        writeln!(text)?;
    }
    cores::write_heading(candidate, &mut text)?;
    Ok(style::stdout(color).write_all(&text)?)
}

/// Prints on which of two cores what is slower, below both comparisons.
///
/// # Errors
/// Returns an error if it cannot be printed.
pub fn write_summary(cores: &[OnCore; 2], color: ColorChoice) -> Result<(), Error> {
    let mut text = Vec::new();
    writeln!(text)?;
    cores::write_summary(cores, Look::of_environment(), &mut text)?;
    Ok(style::stdout(color).write_all(&text)?)
}
