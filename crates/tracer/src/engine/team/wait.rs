//! Conditions for which a thread waits. No thread waits in the kernel while others have their turn:
//! so who is next never depends on when the kernel wakes a thread.

use std::sync::atomic::Ordering;

use super::super::source;
use super::seat::Seat;
use crate::fixed_values::{kernel_ns, monotonic_ns, shown_ns};
use crate::kernel;

/// What a thread waits for before its next turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Wait {
    Nothing,
    /// For its turn, to perform the system call that it is at.
    Turn,
    /// For the end of the trace.
    End,
    /// For another thread that wakes this futex.
    Futex {
        address: u64,
        expected: u32,
        bitset: u32,
        /// On the program's monotonic clock.
        until_ns: Option<u64>,
    },
    /// Until the system call that it is at would not wait.
    Call {
        readiness: Readiness,
        /// On the program's monotonic clock.
        until_ns: Option<u64>,
    },
}

/// How to find out whether a system call would wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Readiness {
    /// Only time ends it.
    Time,
    /// By the descriptor in its first argument, which must have these events.
    Descriptor(i16),
    /// By doing it with these arguments, which make it not wait. The result 0 says that it would.
    Trial([u64; 6]),
}

impl Wait {
    pub(super) fn is_over(self) -> bool {
        matches!(self, Wait::Nothing | Wait::Turn)
    }

    /// Returns whether only another thread can end it.
    pub(super) fn is_for_threads(self) -> bool {
        matches!(self, Wait::Futex { until_ns: None, .. })
    }

    /// Returns whether it is for a futex that has changed since.
    pub(super) fn is_for_changed_futex(self) -> bool {
        matches!(self, Wait::Futex { address, expected, .. } if word_at(address) != Some(expected))
    }

    /// Returns whether something outside of the process may end it.
    pub(super) fn is_for_outside(self) -> bool {
        matches!(
            self,
            Wait::Call {
                readiness: Readiness::Descriptor(_) | Readiness::Trial(_),
                ..
            }
        )
    }

    pub(super) fn until_ns(self) -> Option<u64> {
        match self {
            Wait::Nothing | Wait::Turn | Wait::End => None,
            Wait::Futex { until_ns, .. } | Wait::Call { until_ns, .. } => until_ns,
        }
    }
}

impl Seat {
    /// Ends the thread's wait if what it waits for has happened, other than its deadline.
    pub(super) fn look(&self) {
        let wait = self.stopped().wait;
        if wait.is_over() || wait == Wait::End {
            return;
        }
        if self.is_interrupted.swap(false, Ordering::Relaxed) {
            return self.complete(-i64::from(libc::EINTR) as u64);
        }
        let Wait::Call { readiness, .. } = wait else {
            return;
        };
        let registers = &self.stopped().registers;
        match readiness {
            Readiness::Time => {}
            Readiness::Descriptor(events) => {
                const RDI: usize = 7;
                if is_ready(registers[RDI] as i32, events) {
                    self.stopped().wait = Wait::Turn;
                }
            }
            Readiness::Trial(arguments) => {
                let number = registers[0] as libc::c_long;
                // SAFETY: the program is about to make this very call; the kernel checks its
                // arguments.
                let result = unsafe { kernel::call(number, arguments) };
                if result != 0 {
                    self.complete(result);
                }
            }
        }
    }

    /// Ends the thread's wait at its deadline.
    pub(super) fn time_out(&self) {
        let timed_out = -i64::from(libc::ETIMEDOUT) as u64;
        let is_futex = matches!(self.stopped().wait, Wait::Futex { .. });
        self.complete(if is_futex { timed_out } else { 0 });
    }
}

/// Returns whether a descriptor has one of these events, or an error. If it does not exist, the
/// system call fails at once.
pub(super) fn is_ready(descriptor: i32, events: i16) -> bool {
    let mut asked = libc::pollfd {
        fd: descriptor,
        events,
        revents: 0,
    };
    let arguments = [&raw mut asked as u64, 1, 0, 0, 0, 0];
    // SAFETY: the kernel writes one entry, and does not wait.
    descriptor < 0 || unsafe { kernel::call(libc::SYS_poll, arguments) } != 0
}

/// Returns the number at an address of the program, if there is memory.
pub(super) fn word_at(address: u64) -> Option<u32> {
    let mut bytes = [0; 4];
    let read = source::read(address, &mut bytes)?;
    (read == bytes.len()).then(|| u32::from_ne_bytes(bytes))
}

/// Returns the nanoseconds of a `struct timespec` at an address of the program, if there is memory
/// and it is one.
pub(super) fn duration_at(address: u64) -> Option<u64> {
    let mut bytes = [0; 16];
    let read = source::read(address, &mut bytes)?;
    let [seconds, ns] = [0, 8].map(|at| {
        let mut word = [0; 8];
        word.copy_from_slice(&bytes[at..at + 8]);
        i64::from_ne_bytes(word)
    });
    let is_valid = read == bytes.len() && seconds >= 0 && (0..1_000_000_000).contains(&ns);
    is_valid.then(|| {
        (seconds as u64)
            .saturating_mul(1_000_000_000)
            .saturating_add(ns as u64)
    })
}

/// The kernel's monotonic clock.
pub(super) fn now_ns() -> u64 {
    kernel_ns(libc::CLOCK_MONOTONIC)
}

/// Returns the program's monotonic time in this many nanoseconds.
pub(super) fn after_ns(ns: u64) -> u64 {
    monotonic_ns().saturating_add(ns)
}

/// Returns a time of `clock` on the monotonic clock, both as the program sees them.
pub(super) fn on_monotonic_clock(clock: libc::clockid_t, ns: u64) -> u64 {
    after_ns(ns.saturating_sub(shown_ns(clock)))
}

/// Lets the kernel run something else for a while.
pub(super) fn rest(ns: u64) {
    let time = [0, ns.min(999_999_999)];
    // SAFETY: the kernel reads one `struct timespec`.
    unsafe { kernel::call(libc::SYS_nanosleep, [time.as_ptr() as u64, 0, 0, 0, 0, 0]) };
}
