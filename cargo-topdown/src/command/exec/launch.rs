//! One launch of a command.

use crate::counted_command::{CommandError, CountedCommand, Launched};
use crate::error::ExecError;
use topdown_system::interrupt;
use topdown_terminal::terminal::message;

/// Runs the command once, which must succeed.
pub(super) fn launch_once(
    command: &CountedCommand<'_>,
    (launch, launches): (u32, u32),
) -> Result<Launched, ExecError> {
    let failed = |error| ExecError::Launch {
        launch,
        launches,
        error,
    };
    let launched = command.launch().map_err(failed)?;
    let status = launched.status;
    if interrupt::requested() || interrupt::has_ended(status) {
        return Err(ExecError::Interrupted);
    }
    if !status.success() {
        return Err(failed(CommandError::Failed {
            command: command.program(),
            status,
        }));
    }
    if !launched.outlived.is_empty() {
        message!(
            "note: `{}` left processes running, which were killed: {}",
            command.program(),
            launched.outlived.join(", ")
        );
    }
    Ok(launched)
}
