//! Raw counts at an instant, and where those at the beginning of the open window are kept.

use std::cell::{Cell, Ref, RefCell, RefMut};

use crate::{MAX_COUNTERS, Reading, clock};
use topdown_run::sample::Flags;

/// Raw counts at an instant. Only the group that took it knows what each field means.
#[derive(Clone, Copy, Debug)]
pub(super) struct Readout {
    /// The clock.
    pub at_ns: u64,
    /// The sequence number of the leader's page.
    pub lock: u32,
    /// The sum of the sequence numbers of all pages.
    pub locks: u32,
    /// How many reads of the thread had been refused.
    pub faults: u32,
    /// The CPU on which the thread ran.
    pub cpu: u32,
    /// How long the group was enabled, and how much of that it was on the PMU.
    pub time_enabled_ns: u64,
    /// See `time_enabled_ns`.
    pub time_running_ns: u64,
    /// The slots counter, where it is apart from `counts`.
    pub slots: u64,
    /// Counters in the order of the group's events.
    pub counts: [u64; MAX_COUNTERS],
    /// Doubts that arose while reading.
    pub flags: Flags,
}

impl Readout {
    /// Nothing but the time.
    pub fn now() -> Readout {
        Readout::at(clock::now_ns())
    }

    fn at(at_ns: u64) -> Readout {
        Readout {
            at_ns,
            lock: 0,
            locks: 0,
            faults: 0,
            cpu: 0,
            time_enabled_ns: 0,
            time_running_ns: 0,
            slots: 0,
            counts: [0; MAX_COUNTERS],
            flags: Flags::NONE,
        }
    }
}

/// Numbers the windows of a source. A window is right only if it ends before another one begins:
/// otherwise it holds the cost of the other one, or lacks what its reset discarded.
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

/// The beginning of the latest window. It stays here, because a copy would be measured.
#[derive(Debug)]
pub(super) struct Beginning {
    tickets: Tickets,
    readout: RefCell<Readout>,
}

impl Default for Beginning {
    fn default() -> Beginning {
        Beginning {
            tickets: Tickets::default(),
            readout: RefCell::new(Readout::now()),
        }
    }
}

impl Beginning {
    /// Returns the place for the beginning of the next window, with the time filled in.
    #[inline]
    pub fn next(&self, at_ns: u64) -> (Reading, RefMut<'_, Readout>) {
        let mut readout = self.readout.borrow_mut();
        // The groups fill in the rest.
        readout.at_ns = at_ns;
        readout.slots = 0;
        readout.flags = Flags::NONE;
        let reading = Reading::of_window(self.tickets.next(), at_ns);
        (reading, readout)
    }

    /// Returns the beginning of a window; none if another one has begun since.
    #[inline]
    pub fn of(&self, reading: &Reading) -> Option<Ref<'_, Readout>> {
        let is_latest = self.tickets.is_latest(reading);
        is_latest.then(|| self.readout.borrow())
    }
}
