//! A group's readout at one instant, and the numbering of windows.

use std::cell::Cell;

use crate::{MAX_COUNTERS, Reading};
use topdown_run::sample::Flags;

/// The state of a group at an instant, and the time that it was on the PMU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Presence {
    /// The sequence number of the leader's page.
    pub lock: u32,
    /// The CPU on which the thread ran.
    pub cpu: u32,
    /// Nanoseconds for which the group was enabled, and on the PMU.
    pub time_enabled_ns: u64,
    /// See `time_enabled_ns`.
    pub time_running_ns: u64,
}

/// Counts that a system call has read. Only the group that took it knows what each field means.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Readout {
    /// The state of the group.
    pub presence: Presence,
    /// The slots counter, where it is apart from `counts`.
    pub slots: u64,
    /// Counters in the order of the group's events.
    pub counts: [u64; MAX_COUNTERS],
    /// Doubts that arose while reading.
    pub flags: Flags,
}

impl Readout {
    /// Returns by how much each counter advanced since `before`; `None` if something set one back.
    pub fn since(&self, before: &Readout) -> Option<[u64; MAX_COUNTERS]> {
        let mut advances = self.counts;
        for (advance, before) in advances.iter_mut().zip(before.counts) {
            *advance = advance.checked_sub(before)?;
        }
        Some(advances)
    }
}

/// Numbers the windows of a source. A window must end before another one begins: otherwise it
/// holds the cost of the other one, or lacks the counts that its reset discarded.
#[derive(Debug, Default)]
pub(super) struct Tickets {
    latest: Cell<u32>,
}

impl Tickets {
    /// Returns the number of a new window.
    #[inline]
    pub fn next(&self) -> u32 {
        let ticket = self.latest.get().wrapping_add(1);
        self.latest.set(ticket);
        ticket
    }

    /// Returns whether no window has begun since this one.
    #[inline]
    pub fn is_latest(&self, reading: &Reading) -> bool {
        reading.ticket == self.latest.get()
    }
}
