//! Raw counts at an instant, and where those at the beginnings of open windows are kept.

use std::cell::{Cell, RefCell, RefMut};
use std::time::Instant;

use crate::counter::{MAX_COUNTERS, Reading};
use crate::sample::Flags;

/// Raw counts at an instant. Only the group that took it knows what each field means.
#[derive(Clone, Copy, Debug)]
pub(super) struct Readout {
    /// The clock.
    pub at: Instant,
    /// The window that it begins.
    pub ticket: u32,
    /// The sequence number of the leader's page.
    pub lock: u32,
    /// The sum of the sequence numbers of all pages.
    pub locks: u32,
    /// How often the group's counts had been interrupted: by a reset, or by a loss of the PMU.
    pub interruptions: u32,
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
    /// What to add to each of them.
    pub offsets: [i64; MAX_COUNTERS],
    /// Doubts that arose while reading.
    pub flags: Flags,
}

impl Readout {
    /// Nothing but the time.
    pub fn now() -> Readout {
        Readout {
            at: Instant::now(),
            ticket: 0,
            lock: 0,
            locks: 0,
            interruptions: 0,
            cpu: 0,
            time_enabled_ns: 0,
            time_running_ns: 0,
            slots: 0,
            counts: [0; MAX_COUNTERS],
            offsets: [0; MAX_COUNTERS],
            flags: Flags::NONE,
        }
    }
}

/// Windows that can be open at a time, one inside the other.
const OPEN_WINDOWS: usize = 4;

/// The beginnings of the windows opened last. They stay here, because copies would be measured.
#[derive(Debug)]
pub(super) struct Beginnings {
    latest: Cell<u32>,
    readouts: [RefCell<Readout>; OPEN_WINDOWS],
}

impl Default for Beginnings {
    fn default() -> Beginnings {
        Beginnings {
            latest: Cell::new(0),
            readouts: std::array::from_fn(|_| RefCell::new(Readout::now())),
        }
    }
}

impl Beginnings {
    /// Returns the place for the next window's beginning, with the time filled in.
    #[inline]
    pub fn next(&self) -> (Reading, RefMut<'_, Readout>) {
        let ticket = self.latest.get().wrapping_add(1);
        self.latest.set(ticket);
        let mut place = self.readouts[ticket as usize % OPEN_WINDOWS].borrow_mut();
        *place = Readout {
            ticket,
            ..Readout::now()
        };
        let reading = Reading {
            ticket,
            ..Reading::at(place.at)
        };
        (reading, place)
    }

    /// Passes the beginning of a window to `end`; none if too many windows were opened since.
    #[inline(always)]
    pub fn of<T>(&self, reading: &Reading, end: impl FnOnce(&Readout) -> T) -> Option<T> {
        let place = self.readouts[reading.ticket as usize % OPEN_WINDOWS].borrow();
        (place.ticket == reading.ticket).then(|| end(&place))
    }
}
