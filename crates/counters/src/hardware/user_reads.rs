//! Reads all counters of a group without system calls, at the two ends of a window.
//!
//! Code between the two readings of a counter is measured. So the counters are read last at the
//! start, and first at the end. Plain counters are read in the same order at both ends, so that
//! each sees the same overhead and the categories fit together. The slots and PERF_METRICS, which
//! hold all categories, are read next to the window. The results are written in place.
//!
//! The counters' locations are noted before the window, and read at its end if the leader's
//! sequence number is the same. If the sum of all pages' sequence numbers is the same before the
//! first reading and after the last, nothing was moved in between. Otherwise the counters are read
//! again, in the usual way.

use std::cell::Cell;

use super::doubts;
use super::faults;
use super::page::{Counter, Page, locks, wait_for_earlier_instructions};
use super::readout::Presence;
use super::syscalls::current_cpu;
use crate::MAX_COUNTERS;
use crate::cpu::MAX_CORRECTION_EVENTS;
use topdown_run::sample::Flags;

/// Maximum number of repeated readings while the kernel keeps moving events. One disturbance in the
/// few dozen instructions of a reading is rare; if they continue, the kernel is broken.
const ATTEMPTS: u32 = 16;

/// The pages of a group, how to read them, and what was read at the two ends of a window.
#[derive(Debug)]
pub(super) struct UserReads {
    leader: Page,
    members: Vec<Page>,
    /// The noted locations of the counters.
    counters: Counters,
    /// The sum of all sequence numbers when they were noted, and what else the pages said.
    locks: Cell<u32>,
    noted: Cell<Presence>,
    offsets: [Cell<i64>; MAX_COUNTERS],
    /// The bits that each counter lacks.
    unused_bits: [u32; MAX_COUNTERS],
    /// A difference without these bits is the advance of any of the counters.
    doubtful_bits: u64,
    /// Whether the kernel moved events in the window that ended last, and its counts apart from the
    /// counters since that began.
    has_moved: Cell<bool>,
    moved: [Cell<i64>; MAX_COUNTERS],
    readings: Readings,
    /// Number of refused reads of the thread before the window.
    faults: Cell<u32>,
    /// Whether the first attempt at the end of a window has read the counters.
    has_read: Cell<bool>,
    /// The number of first counters that reading clears, so that they can be read only once.
    cleared: usize,
    /// Raw counters at the two ends of a window.
    first: Counts,
    last: Counts,
}

/// What happened to the counters in a window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Disturbance {
    pub flags: Flags,
    /// Upper bound of the number of times that the thread was switched out.
    pub switches: u32,
}

impl Disturbance {
    const NONE: Disturbance = Disturbance {
        flags: Flags::NONE,
        switches: 0,
    };

    const LOST: Disturbance = Disturbance {
        flags: Flags::NOT_COUNTING,
        switches: 0,
    };
}

/// Slots and PERF_METRICS, the first of their group.
const REGISTERS: usize = 2;

/// No page at rest has an odd sequence number.
const NOT_NOTED: u32 = 1;

type Counts = [Cell<u64>; MAX_COUNTERS];

/// As many as any group has, so that they are of one type.
type Counters = [Cell<Counter>; MAX_COUNTERS];

/// How to read groups of one size. The size is part of the functions, so that they have no loop,
/// whose instructions would be measured.
#[derive(Clone, Copy, Debug)]
struct Readings {
    begin: fn(&UserReads) -> bool,
    end: fn(&UserReads) -> bool,
}

impl Readings {
    /// `TOPDOWN`: the first events are slots and PERF_METRICS.
    const fn of<const N: usize, const TOPDOWN: bool>() -> Readings {
        Readings {
            begin: UserReads::begin_of::<N, TOPDOWN>,
            end: UserReads::end_of::<N>,
        }
    }
}

/// By the number of counters.
const PLAIN: [Readings; MAX_COUNTERS] = [
    Readings::of::<1, false>(),
    Readings::of::<2, false>(),
    Readings::of::<3, false>(),
    Readings::of::<4, false>(),
    Readings::of::<5, false>(),
    Readings::of::<6, false>(),
    Readings::of::<7, false>(),
    Readings::of::<8, false>(),
    Readings::of::<9, false>(),
    Readings::of::<10, false>(),
    Readings::of::<11, false>(),
    Readings::of::<12, false>(),
];

/// By the number of events that correct PERF_METRICS, after it, slots, instructions and cycles.
const WITH_REGISTERS: [Readings; MAX_CORRECTION_EVENTS + 1] = [
    Readings::of::<UNCORRECTED, true>(),
    Readings::of::<{ UNCORRECTED + 1 }, true>(),
    Readings::of::<{ UNCORRECTED + 2 }, true>(),
];
const UNCORRECTED: usize = 4;

impl UserReads {
    /// Reads the counters as the last thing before a window, slots and PERF_METRICS last of all.
    /// Returns whether they were where they were noted, and still are.
    fn begin_of<const N: usize, const TOPDOWN: bool>(&self) -> bool {
        if !self.are_unmoved::<N>() {
            return false;
        }
        self.faults.set(faults::count());
        self.has_read.set(true);
        wait_for_earlier_instructions();
        if TOPDOWN {
            // In the reverse order of the end.
            self.read_some(&self.first, (REGISTERS..N).rev());
            self.read_some(&self.first, 0..REGISTERS);
        } else {
            self.read_some(&self.first, 0..N);
        }
        wait_for_earlier_instructions();
        self.is_leader_unmoved()
    }

    /// Reads the counters as the first thing after a window. Returns whether they still are where
    /// they were noted, all of them: if not, the counts may be anything.
    fn end_of<const N: usize>(&self) -> bool {
        // A thread that was moved to cores without these counters must not read them: `faults` is
        // for the unavoidable cases.
        if !self.is_leader_unmoved() {
            self.has_read.set(false);
            return false;
        }
        wait_for_earlier_instructions();
        self.read_some(&self.last, 0..N);
        wait_for_earlier_instructions();
        // Not before, where it would be measured.
        self.are_unmoved::<N>()
    }

    #[inline(always)]
    fn read_some(&self, counts: &Counts, positions: impl Iterator<Item = usize>) {
        for at in positions {
            // SAFETY: the page has shown the counter, since `note` has succeeded, now or before the
            // window, and is mapped. `with` has called `survive`.
            unsafe { self.counters[at].get().read_into(&counts[at]) };
        }
    }

    /// A page whose sequence number is the same says the same.
    #[inline(always)]
    fn are_unmoved<const N: usize>(&self) -> bool {
        let members = self.members.get(..N - 1);
        members.is_some_and(|members| {
            let locks = self.leader.lock().wrapping_add(locks(members));
            locks == self.locks.get()
        })
    }

    #[inline(always)]
    fn is_leader_unmoved(&self) -> bool {
        self.leader.lock() == self.noted.get().lock
    }
}

impl UserReads {
    /// For the pages of a group of plain counters, the leader's first.
    ///
    /// # Panics
    /// Panics if there is no page, or more than [`MAX_COUNTERS`].
    pub fn new(pages: Vec<Page>) -> UserReads {
        let readings = PLAIN[pages.len() - 1];
        UserReads::with(pages, readings, 0)
    }

    /// For the pages of a TopDown group: slots and PERF_METRICS, which reading may clear, then
    /// instructions, cycles, and the events of a correction.
    ///
    /// # Panics
    /// Panics if there are fewer, or more than [`MAX_CORRECTION_EVENTS`] of the last.
    pub fn for_registers(pages: Vec<Page>, clears: bool) -> UserReads {
        let readings = WITH_REGISTERS[pages.len() - UNCORRECTED];
        UserReads::with(pages, readings, if clears { REGISTERS } else { 0 })
    }

    fn with(mut pages: Vec<Page>, readings: Readings, cleared: usize) -> UserReads {
        faults::survive();
        let mut unused_bits = [0; MAX_COUNTERS];
        for (unused, page) in unused_bits.iter_mut().zip(&pages) {
            let width = page.width();
            *unused = if width < 64 {
                64 - u32::from(width.max(1))
            } else {
                0
            };
        }
        let max_unused = unused_bits.iter().fold(0, |most, bits| most.max(*bits));
        UserReads {
            unused_bits,
            // Also the sign of the narrowest.
            doubtful_bits: !(u64::MAX >> max_unused >> 1),
            has_moved: Cell::new(false),
            moved: [const { Cell::new(0) }; MAX_COUNTERS],
            leader: pages.remove(0),
            members: pages,
            counters: [const { Cell::new(Counter::UNKNOWN) }; MAX_COUNTERS],
            locks: Cell::new(NOT_NOTED),
            noted: Cell::new(Presence {
                lock: NOT_NOTED,
                ..Presence::default()
            }),
            offsets: [const { Cell::new(0) }; MAX_COUNTERS],
            readings,
            faults: Cell::new(0),
            has_read: Cell::new(false),
            cleared,
            first: [const { Cell::new(0) }; MAX_COUNTERS],
            last: [const { Cell::new(0) }; MAX_COUNTERS],
        }
    }

    pub fn leader(&self) -> &Page {
        &self.leader
    }

    /// Returns the pages, the leader's first.
    pub fn pages(&self) -> impl Iterator<Item = &Page> {
        std::iter::once(&self.leader).chain(&self.members)
    }

    /// Reads the counters as the last thing before the window. Returns whether they are where they
    /// were noted.
    #[inline(always)]
    pub fn begin(&self) -> bool {
        (self.readings.begin)(self)
    }

    /// Reads the counters at the end of a window, as the first thing after it. Returns whether
    /// nothing moved in the window. They must have been noted once.
    #[inline(always)]
    pub fn look(&self) -> bool {
        (self.readings.end)(self)
    }

    /// Returns the leader's count, if all events are on counters.
    #[inline]
    pub fn leader_count(&self) -> Option<u64> {
        if !self.is_leader_unmoved() && !self.look_at_pages() {
            return None;
        }
        let count = Cell::new(0);
        // SAFETY: as in `read_some`.
        unsafe { self.counters[0].get().read_into(&count) };
        Some(count.get())
    }

    /// Begins a window, noting the counters' locations again while the kernel moves events. Returns
    /// whether the events are on counters.
    pub fn start(&self) -> bool {
        for _ in 0..ATTEMPTS {
            self.look_at_pages();
            if self.begin() {
                return true;
            }
        }
        false
    }

    /// Notes the content of the pages and the counters' locations. Returns whether all events are
    /// on counters.
    #[inline(never)]
    pub fn look_at_pages(&self) -> bool {
        let locks = locks(self.pages());
        let (time_enabled_ns, time_running_ns) = self.leader.times_ns();
        let mut noted = Presence {
            lock: self.leader.lock(),
            cpu: current_cpu(),
            time_enabled_ns,
            time_running_ns,
        };
        let mut are_all = true;
        let locations = self.counters.iter().zip(&self.offsets);
        for ((counter, offset), page) in locations.zip(self.pages()) {
            offset.set(page.offset());
            match page.counter() {
                Some(shown) => counter.set(shown),
                None => are_all = false,
            }
        }
        if !are_all {
            noted.lock = NOT_NOTED;
        }
        self.locks.set(if are_all { locks } else { NOT_NOTED });
        self.noted.set(noted);
        are_all
    }

    /// Returns what happened to the counters in the window that ended last, after
    /// [`look`](UserReads::look) returned `is_unmoved`.
    #[inline]
    pub fn disturbance(&self, is_unmoved: bool) -> Disturbance {
        self.has_moved.set(false);
        if is_unmoved && faults::count() == self.faults.get() {
            // The thread was not even switched out.
            return Disturbance::NONE;
        }
        self.look_again(is_unmoved)
    }

    #[cold]
    fn look_again(&self, is_unmoved: bool) -> Disturbance {
        let faults = self.faults.get();
        let start = self.noted.get();
        let mut is_counting = is_unmoved || self.read_again(&start);
        is_counting &= faults::count() == faults;
        if !is_counting {
            return Disturbance::LOST;
        }
        let end = self.noted.get();
        Disturbance {
            flags: doubts::between(&start, &end),
            switches: doubts::switches(start.lock, end.lock),
        }
    }

    /// Reads the counters at the end of a window again, at their current locations. Returns whether
    /// that succeeded.
    fn read_again(&self, start: &Presence) -> bool {
        self.has_moved.set(true);
        let looked = || {
            self.has_read
                .get()
                .then(|| self.last.each_ref().map(Cell::get))
        };
        let offsets = self.offsets.each_ref().map(Cell::get);
        // Its cleared counts are right if the group is there: slots and PERF_METRICS never move.
        let mut first_look = looked();
        // The first attempt was made.
        for _ in 1..ATTEMPTS {
            if !self.look_at_pages() {
                return false;
            }
            self.has_read.set(true);
            let is_unmoved = self.look();
            first_look = first_look.or_else(looked);
            for (last, first) in self
                .last
                .iter()
                .zip(first_look.iter().flatten())
                .take(self.cleared)
            {
                last.set(*first);
            }
            if is_unmoved {
                for ((moved, now), before) in self.moved.iter().zip(&self.offsets).zip(offsets) {
                    moved.set(now.get().wrapping_sub(before));
                }
                // Otherwise members were moved without their leader, perhaps while the start was
                // read.
                return self.noted.get().lock != start.lock;
            }
        }
        false
    }

    /// Returns the raw counters at the two ends of the window that ended last.
    #[inline]
    pub fn ends(&self, at: usize) -> (u64, u64) {
        (self.first[at].get(), self.last[at].get())
    }

    /// Returns by how much a plain counter advanced in the window that ended last; negative if
    /// something set it back.
    #[inline]
    pub fn advance(&self, at: usize) -> i64 {
        let (first, last) = self.ends(at);
        if self.has_moved.get() {
            return self.moved_advance(at, first, last);
        }
        extended(last.wrapping_sub(first), self.unused_bits[at])
    }

    /// Returns by how much each counter of a group of plain counters advanced; `None` if something
    /// set one back.
    #[inline]
    pub fn advances(&self) -> Option<[u64; MAX_COUNTERS]> {
        let mut advances = [0; MAX_COUNTERS];
        let mut all_bits = 0;
        for (advance, (first, last)) in advances.iter_mut().zip(self.first.iter().zip(&self.last)) {
            *advance = last.get().wrapping_sub(first.get());
            all_bits |= *advance;
        }
        if self.has_moved.get() || all_bits & self.doubtful_bits != 0 {
            return self.careful_advances();
        }
        Some(advances)
    }

    #[cold]
    fn careful_advances(&self) -> Option<[u64; MAX_COUNTERS]> {
        let advances: [i64; MAX_COUNTERS] = std::array::from_fn(|at| self.advance(at));
        let are_forward = advances.iter().all(|advance| *advance >= 0);
        are_forward.then(|| advances.map(|advance| advance as u64))
    }

    /// A wide counter is taken modulo its width: after a reset, the kernel's offset is 2^48 short
    /// until the next switch. A narrow one may wrap in a window, and its offset counts the wraps.
    #[cold]
    fn moved_advance(&self, at: usize, first: u64, last: u64) -> i64 {
        const MAX_UNUSED_OF_WIDE: u32 = 24;
        let (unused_bits, moved) = (self.unused_bits[at], self.moved[at].get());
        match unused_bits {
            1..=MAX_UNUSED_OF_WIDE => {
                let advance = last.wrapping_sub(first).wrapping_add(moved as u64);
                extended(advance, unused_bits)
            }
            _ => extended(last, unused_bits)
                .wrapping_sub(extended(first, unused_bits))
                .wrapping_add(moved),
        }
    }
}

/// Returns a counter without its unused bits. Its highest bit is a sign.
fn extended(raw: u64, unused_bits: u32) -> i64 {
    (raw << unused_bits) as i64 >> unused_bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn highest_bit_of_a_counter_is_its_sign() {
        assert_eq!(extended(0x0000_ffff_ffff_fff0, 16), -16);
        assert_eq!(extended(0xdead_7fff_ffff_fff0, 16), 0x7fff_ffff_fff0);
        assert_eq!(extended(0xdead_beef_ffff_fff0, 32), -16);
        assert_eq!(extended(7, 0), 7);
    }
}
