//! Ctrl-C: what must be put away first, and who is told.
//!
//! Pressed in a terminal, Ctrl-C reaches the bench too; a signal sent to this process alone does
//! not. In both cases the conversation with the bench is cut off, so that whoever waits for the
//! bench's next word goes on, sees that the run is to end, and puts everything away on the way out.

use std::net::{Shutdown, TcpStream};
use std::process::ExitStatus;
use std::sync::Mutex;

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
    conversation: Option<TcpStream>,
}

static STATE: Mutex<State> = Mutex::new(State {
    guarded: false,
    requested: false,
    conversation: None,
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
        if let Some(stream) = &state.conversation {
            // It fails where the bench has hung up itself, which serves as well.
            let _ = stream.shutdown(Shutdown::Both);
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

/// While the result lives, Ctrl-C hangs up on `stream`.
pub fn hangs_up(stream: &TcpStream) -> Registered {
    // Without a second handle Ctrl-C waits for the bench's next word.
    state().conversation = stream.try_clone().ok();
    Registered(())
}

/// See [`hangs_up`].
#[must_use]
pub struct Registered(());

impl Drop for Registered {
    fn drop(&mut self) {
        state().conversation = None;
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
