//! Builds the bench targets of a suite or a side.

use crate::cli::BenchArgs;
use crate::measure::{MeasureError, Session};
use topdown_runner::event::Event;
use topdown_runner::targets::bench_targets::BenchTarget;

/// Builds the bench targets; `None` if that is all that was asked for.
///
/// # Errors
/// As [`Session::build`].
pub(super) fn build(
    args: &BenchArgs,
    session: &mut Session,
) -> Result<Option<Vec<BenchTarget>>, MeasureError> {
    let targets = session.build()?;
    if args.launch.cargo.no_run {
        return Ok(None);
    }
    session.report_missed_variables(&targets);
    if session.request.events {
        let targets: Vec<String> = targets.iter().map(ToString::to_string).collect();
        Event::BuildFinished { targets: &targets }.print();
    }
    Ok(Some(targets))
}
