//! Ctrl-C: what must be cleaned up first, and whom it reaches.
//!
//! SIGTERM is treated the same, and SIGHUP unless the program was started with `nohup`. A bench has
//! its own session, and a signal to this process alone does not reach compilers. So the handler
//! kills the processes that are being waited for, with their descendants; the waiting code then
//! continues, sees the request, and cleans up on the way out.

use std::io;
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
pub fn guard() -> io::Result<Guard> {
    let mut state = state();
    if !state.handled {
        listen()?;
        state.handled = true;
    }
    state.guarded = true;
    Ok(Guard(()))
}

#[cfg(unix)]
fn listen() -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    if !is_ignored(SIGHUP) {
        signals.handle().add_signal(SIGHUP)?;
    }
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || signals.forever().for_each(|_| handle()))?;
    Ok(())
}

#[cfg(not(unix))]
fn listen() -> io::Result<()> {
    ctrlc::set_handler(handle).map_err(io::Error::other)
}

/// Returns whether whoever started this process has told it to ignore the signal; false where the
/// system does not say.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mut lines = status.lines();
    let mask = lines.find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
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

    /// Rust's runtime ignores SIGPIPE.
    #[cfg(target_os = "linux")]
    #[test]
    fn ignored_signals_are_known() {
        use signal_hook::consts::{SIGALRM, SIGPIPE};
        assert!(is_ignored(SIGPIPE));
        assert!(!is_ignored(SIGALRM));
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
