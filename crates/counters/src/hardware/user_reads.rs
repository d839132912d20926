//! Reads all counters of a group without system calls, at the two ends of a window.
//!
//! What is executed between the two readings of a counter is measured with the work. So at the
//! start everything else is done before the counters are read, and at the end after it. Plain
//! counters are read in the same order at both ends, so that each sees the same overhead and the
//! categories fit together. The slots and PERF_METRICS, which hold all categories, are read next to
//! the window. The results are written in place.
//!
//! Where the counters are is noted before the window, and they are read there at its end if the
//! leader's sequence number is still the same. The sum of all pages' sequence numbers, taken before
//! the first reading and after the last, then proves that nothing was moved in between: so they
//! were there, and the offsets are those of the start. Only if it changed are the counters read
//! again, in the usual way.

use std::cell::Cell;

use super::faults;
use super::page::{Counter, Page, locks, wait_for_earlier_instructions};
use super::readout::Readout;
use super::syscalls::current_cpu;
use crate::cpu::MAX_CORRECTION_EVENTS;
use crate::{MAX_COUNTERS, clock};
use topdown_run::sample::Flags;

/// How often to repeat a reading while the kernel keeps moving events. One disturbance in the few
/// dozen instructions of a reading is rare; if they continue, the kernel is broken.
const ATTEMPTS: u32 = 16;

/// The pages of a group, and how to read them.
#[derive(Debug)]
pub(super) struct UserReads {
    /// The leader's page first.
    pages: Vec<Page>,
    /// Where the counters were noted to be.
    counters: Counters,
    /// The leader's sequence number when they were noted, and the sum of all.
    lock: Cell<u32>,
    locks: Cell<u32>,
    /// What else the pages said then.
    times_ns: Cell<(u64, u64)>,
    offsets: [Cell<i64>; MAX_COUNTERS],
    /// The bits that each counter lacks.
    unused_bits: [u32; MAX_COUNTERS],
    /// Whether the kernel moved events in the window that ended last, and what it counted apart
    /// from the counters since that began.
    has_moved: Cell<bool>,
    moved: [Cell<i64>; MAX_COUNTERS],
    readings: Readings,
    /// Whether the look at the end of a window, if there was one, has read the counters.
    has_read: Cell<bool>,
    /// The first counters that reading clears: what a first look has taken, a second cannot find.
    cleared: usize,
    /// Raw counters at the end of a window.
    last: Counts,
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
    begin: fn(&UserReads, &Counts) -> bool,
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

/// Reading itself.
impl UserReads {
    /// Reads the counters as the last thing before a window, slots and PERF_METRICS last of all.
    /// Returns whether they were where they were noted, and still are.
    fn begin_of<const N: usize, const TOPDOWN: bool>(&self, counts: &Counts) -> bool {
        let leader = self.leader();
        if leader.lock() != self.lock.get() {
            return false;
        }
        wait_for_earlier_instructions();
        if TOPDOWN {
            // The nearer to the registers at the end, the nearer at the start.
            self.read_some(counts, (REGISTERS..N).rev());
            self.read_some(counts, 0..REGISTERS);
        } else {
            self.read_some(counts, 0..N);
        }
        wait_for_earlier_instructions();
        leader.lock() == self.lock.get()
    }

    /// Reads the counters as the first thing after a window. Returns whether they still are where
    /// they were noted: if not, the counts may be anything.
    fn end_of<const N: usize>(&self) -> bool {
        let leader = self.leader();
        // A thread that was moved to cores without these counters must not read them. `faults`
        // would notice, but it is not to be relied on where it is not needed.
        if leader.lock() != self.lock.get() {
            self.has_read.set(false);
            return false;
        }
        wait_for_earlier_instructions();
        self.read_some(&self.last, 0..N);
        wait_for_earlier_instructions();
        // Not before, where it would be measured.
        leader.lock() == self.lock.get()
    }

    #[inline(always)]
    fn read_some(&self, counts: &Counts, positions: impl Iterator<Item = usize>) {
        for at in positions {
            // SAFETY: the page has shown the counter, since `note` has succeeded, now or before the
            // window, and is mapped. `with` has called `survive`.
            unsafe { self.counters[at].get().read_into(&counts[at]) };
        }
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
    pub fn of_registers(pages: Vec<Page>, clears: bool) -> UserReads {
        let readings = WITH_REGISTERS[pages.len() - UNCORRECTED];
        UserReads::with(pages, readings, if clears { REGISTERS } else { 0 })
    }

    fn with(pages: Vec<Page>, readings: Readings, cleared: usize) -> UserReads {
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
        UserReads {
            unused_bits,
            has_moved: Cell::new(false),
            moved: [const { Cell::new(0) }; MAX_COUNTERS],
            pages,
            counters: [const { Cell::new(Counter::UNKNOWN) }; MAX_COUNTERS],
            lock: Cell::new(NOT_NOTED),
            locks: Cell::new(0),
            times_ns: Cell::new((0, 0)),
            offsets: [const { Cell::new(0) }; MAX_COUNTERS],
            readings,
            has_read: Cell::new(false),
            cleared,
            last: [const { Cell::new(0) }; MAX_COUNTERS],
        }
    }

    pub fn pages(&self) -> &[Page] {
        &self.pages
    }

    fn leader(&self) -> &Page {
        &self.pages[0]
    }

    /// Reads the counters into `readout`, as the last thing before the window; what the pages say
    /// must be there. Returns whether that succeeded.
    #[inline(always)]
    pub fn begin(&self, readout: &mut Readout) -> bool {
        let counts = Cell::from_mut(&mut readout.counts[..]).as_slice_of_cells();
        counts
            .first_chunk::<MAX_COUNTERS>()
            .is_some_and(|counts| (self.readings.begin)(self, counts))
    }

    /// Reads the counters at the end of a window, as the first thing after it. Returns whether that
    /// succeeded. They must have been noted once.
    #[inline(always)]
    pub fn look(&self) -> bool {
        (self.readings.end)(self)
    }

    /// Returns what the leader's counter holds, if it is on one.
    pub fn leader_count(&self) -> Option<u64> {
        let count = Cell::new(0);
        // SAFETY: its page, which is mapped, has just shown the counter. `with` has called
        // `survive`.
        unsafe { self.leader().counter()?.read_into(&count) };
        Some(count.get())
    }

    /// Does both parts of a beginning, and repeats them while the kernel moves events. Returns
    /// whether the events are on counters.
    pub fn start(&self, readout: &mut Readout) -> bool {
        for _ in 0..ATTEMPTS {
            self.look_at_pages(readout);
            if self.begin(readout) {
                return true;
            }
        }
        false
    }

    /// Returns the counts at the end of the window that `start` began, after
    /// [`look`](UserReads::look) returned `is_unmoved`.
    pub fn end(&self, is_unmoved: bool, start: &Readout) -> Readout {
        let mut end = Readout {
            at_ns: clock::now_ns(),
            cpu: current_cpu(),
            flags: Flags::NONE,
            counts: self.last.each_ref().map(Cell::get),
            ..*start
        };
        let has_moved = !is_unmoved || locks(self.pages()) != start.locks;
        self.has_moved.set(has_moved);
        if has_moved {
            self.read_again(start, &mut end);
        }
        if faults::count() != start.faults {
            end.flags = Flags::NOT_COUNTING;
        }
        end
    }

    /// Notes what the pages say, and where the counters are, before the counters are read.
    /// Returns whether all are on counters.
    pub fn look_at_pages(&self, reading: &mut Readout) -> bool {
        self.has_read.set(true);
        reading.faults = faults::count();
        reading.locks = locks(self.pages());
        // A page whose sequence number is the same says the same.
        if self.lock.get() == NOT_NOTED || reading.locks != self.locks.get() {
            self.note(reading.locks);
        }
        reading.lock = self.leader().lock();
        (reading.time_enabled_ns, reading.time_running_ns) = self.times_ns.get();
        self.lock.get() != NOT_NOTED
    }

    /// Notes what the pages say as long as the sum of their sequence numbers is `locks`, if all
    /// events are on counters.
    #[inline(never)]
    fn note(&self, locks: u32) {
        let lock = self.leader().lock();
        let mut are_all = true;
        self.times_ns.set(self.leader().times_ns());
        let noted = self.counters.iter().zip(&self.offsets);
        for ((counter, offset), page) in noted.zip(&self.pages) {
            offset.set(page.offset());
            match page.counter() {
                Some(shown) => counter.set(shown),
                None => are_all = false,
            }
        }
        self.locks.set(locks);
        self.lock.set(if are_all { lock } else { NOT_NOTED });
    }

    #[cold]
    fn read_again(&self, start: &Readout, end: &mut Readout) {
        let looked = || {
            self.has_read
                .get()
                .then(|| self.last.each_ref().map(Cell::get))
        };
        let offsets = self.offsets.each_ref().map(Cell::get);
        // What it cleared is right if the group is still there: slots and PERF_METRICS never move.
        let mut first_look = looked();
        // The first attempt was made.
        for _ in 1..ATTEMPTS {
            if !self.look_at_pages(end) {
                break;
            }
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
            if !is_unmoved {
                continue;
            }
            if locks(self.pages()) == end.locks {
                end.counts = self.last.each_ref().map(Cell::get);
                for ((moved, now), before) in self.moved.iter().zip(&self.offsets).zip(offsets) {
                    moved.set(now.get().wrapping_sub(before));
                }
                if end.lock == start.lock {
                    // Members were moved without their leader, perhaps while the start was read.
                    end.flags = Flags::NOT_COUNTING;
                }
                return;
            }
        }
        end.flags = Flags::NOT_COUNTING;
    }

    /// Returns by how much a plain counter advanced in the window that ended last; negative if
    /// something set it back.
    #[inline(always)]
    pub fn advance(&self, at: usize, start: &Readout, end: &Readout) -> i64 {
        let (start, end) = (start.counts[at], end.counts[at]);
        if self.has_moved.get() {
            return self.moved_advance(at, start, end);
        }
        extended(end.wrapping_sub(start), self.unused_bits[at])
    }

    /// A wide counter is taken modulo its width: after a reset, the kernel's offset is 2^48 short
    /// until the next switch. A narrow one may wrap in a window, and its offset counts the wraps.
    #[cold]
    fn moved_advance(&self, at: usize, start: u64, end: u64) -> i64 {
        const MAX_UNUSED_OF_WIDE: u32 = 24;
        let (unused_bits, moved) = (self.unused_bits[at], self.moved[at].get());
        match unused_bits {
            1..=MAX_UNUSED_OF_WIDE => {
                let advance = end.wrapping_sub(start).wrapping_add(moved as u64);
                extended(advance, unused_bits)
            }
            _ => extended(end, unused_bits)
                .wrapping_sub(extended(start, unused_bits))
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
