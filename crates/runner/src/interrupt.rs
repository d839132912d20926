//! Ctrl-C: what must be cleaned up first, and whom it reaches.
//!
//! SIGTERM and SIGHUP are treated the same. A bench has its own session, and a signal to this
//! process alone does not reach compilers. So the handler kills the processes that are being
//! waited for, with their descendants; the waiting code then continues, sees the request, and
//! cleans up on the way out.

use std::process::ExitStatus;
use std::sync::Mutex;

use crate::processes;

/// SIGINT, by its POSIX number.
#[cfg(unix)]
const SIGINT: i32 = 2;

/// The exit code after Ctrl-C, following the shells' convention: 128 plus the signal's number.
const EXIT_CODE: i32 = 130;

#[derive(Debug, Default)]
struct State {
    /// Whether the handler is registered.
    handled: bool,
    /// Whether there is anything to clean up.
    guarded: bool,
    requested: bool,
    /// The processes that are being waited for.
    processes: Vec<u32>,
}

static STATE: Mutex<State> = Mutex::new(State {
    handled: false,
    guarded: false,
    requested: false,
    processes: Vec::new(),
});

fn state() -> std::sync::MutexGuard<'static, State> {
    // Nothing panics while holding this lock; even if it were poisoned, its content would be right.
    STATE
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// While it lives, Ctrl-C only requests that the program end; before and after, it ends it at once.
#[must_use]
pub struct Guard(());

impl Drop for Guard {
    fn drop(&mut self) {
        state().guarded = false;
    }
}

/// Begins to handle Ctrl-C. Guards follow one another: at most one lives at a time.
///
/// # Errors
/// Returns an error if the system refuses the handler.
pub fn guard() -> Result<Guard, ctrlc::Error> {
    let mut state = state();
    if !state.handled {
        ctrlc::set_handler(handle)?;
        state.handled = true;
    }
    state.guarded = true;
    Ok(Guard(()))
}

fn handle() {
    let mut state = state();
    if !state.guarded || state.requested {
        std::process::exit(EXIT_CODE);
    }
    state.requested = true;
    for process in &state.processes {
        processes::end_tree(*process);
    }
}

/// Returns whether Ctrl-C was pressed.
pub fn requested() -> bool {
    state().requested
}

/// Returns whether Ctrl-C killed the process with this status.
#[cfg(unix)]
pub fn has_ended(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;
    status.signal() == Some(SIGINT)
}

/// Without signals, this is unknown.
#[cfg(not(unix))]
pub fn has_ended(_: ExitStatus) -> bool {
    false
}

/// While the result lives, Ctrl-C kills `process` and its descendants.
pub fn ends(process: u32) -> Registered {
    let mut state = state();
    state.processes.push(process);
    // It was pressed before there was anything to kill.
    if state.requested {
        processes::end_tree(process);
    }
    Registered(process)
}

/// See [`ends`].
#[must_use]
pub struct Registered(u32);

impl Drop for Registered {
    fn drop(&mut self) {
        state().processes.retain(|process| *process != self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guards_can_be_taken_in_turn() {
        for _ in 0..2 {
            let guard = guard().unwrap();
            assert!(state().guarded);
            drop(guard);
            assert!(!state().guarded);
        }
    }

    #[cfg(unix)]
    #[test]
    fn ctrl_c_is_distinct_from_failure() {
        use std::os::unix::process::ExitStatusExt;
        assert!(has_ended(ExitStatus::from_raw(2)));
        assert!(!has_ended(ExitStatus::from_raw(11)));
        assert!(!has_ended(ExitStatus::from_raw(2 << 8)));
    }
}
