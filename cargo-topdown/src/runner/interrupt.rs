//! Ctrl-C: what must be put away first, and who is told.
//!
//! SIGTERM and SIGHUP are the same. A bench is in a session of its own, and a signal sent to this process
//! alone reaches no compiler. So the process that is waited for is ended, with all that it has started;
//! whoever waits for it goes on, sees that the run is to end, and puts everything away on the way out.

use std::process::ExitStatus;
use std::sync::Mutex;

use crate::processes;

/// The signal of Ctrl-C, by its number in POSIX.
#[cfg(unix)]
const SIGINT: i32 = 2;

/// The exit code of a process that Ctrl-C ended, as shells have it: 128 and the signal's number.
const EXIT_CODE: i32 = 130;

#[derive(Debug, Default)]
struct State {
    /// Whether there is anything to put away.
    guarded: bool,
    requested: bool,
    /// What is waited for.
    process: Option<u32>,
}

static STATE: Mutex<State> = Mutex::new(State {
    guarded: false,
    requested: false,
    process: None,
});

fn state() -> std::sync::MutexGuard<'static, State> {
    // Nothing under this lock can panic; were it poisoned, its content would still be right.
    STATE
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Until it is dropped, Ctrl-C asks the program to end; before and after, it ends it.
#[must_use]
pub struct Guard(());

impl Drop for Guard {
    fn drop(&mut self) {
        state().guarded = false;
    }
}

/// Begins to handle Ctrl-C.
///
/// # Errors
/// When the system refuses the handler.
pub fn guard() -> Result<Guard, ctrlc::Error> {
    ctrlc::set_handler(|| {
        let mut state = state();
        if !state.guarded || state.requested {
            std::process::exit(EXIT_CODE);
        }
        state.requested = true;
        if let Some(process) = state.process {
            processes::end_tree(process);
        }
    })?;
    state().guarded = true;
    Ok(Guard(()))
}

/// Whether Ctrl-C was pressed.
pub fn requested() -> bool {
    state().requested
}

/// Whether Ctrl-C ended the process with this status.
#[cfg(unix)]
pub fn has_ended(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;
    status.signal() == Some(SIGINT)
}

/// Whether Ctrl-C ended the process with this status; without signals, nothing tells.
#[cfg(not(unix))]
pub fn has_ended(_: ExitStatus) -> bool {
    false
}

/// While the result lives, Ctrl-C ends `process` and what it has started.
pub fn ends(process: u32) -> Registered {
    let mut state = state();
    state.process = Some(process);
    // It was pressed before there was anything to end.
    if state.requested {
        processes::end_tree(process);
    }
    Registered(())
}

/// See [`ends`].
#[must_use]
pub struct Registered(());

impl Drop for Registered {
    fn drop(&mut self) {
        state().process = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_handler_is_refused_as_an_error() {
        let _first = guard();
        assert!(guard().is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_bench_that_ctrl_c_ended_is_told_from_one_that_failed() {
        use std::os::unix::process::ExitStatusExt;
        assert!(has_ended(ExitStatus::from_raw(2)));
        assert!(!has_ended(ExitStatus::from_raw(11)));
        assert!(!has_ended(ExitStatus::from_raw(2 << 8)));
    }
}
