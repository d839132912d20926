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
use std::time::Instant;

use super::faults;
use super::page::{Counter, Page, extended, locks, wait_for_earlier_instructions};
use super::readout::Readout;
use super::syscalls::current_cpu;
use crate::MAX_COUNTERS;
use crate::cpu::MAX_CORRECTION_EVENTS;
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
    /// The leader's sequence number when they were noted.
    lock: Cell<u32>,
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
        UserReads {
            pages,
            counters: [const { Cell::new(Counter::UNKNOWN) }; MAX_COUNTERS],
            lock: Cell::new(NOT_NOTED),
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
            at: Instant::now(),
            cpu: current_cpu(),
            flags: Flags::NONE,
            ..*start
        };
        if is_unmoved && locks(self.pages()) == start.locks {
            self.put_last(&mut end);
        } else {
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
        reading.lock = self.leader().lock();
        (reading.time_enabled_ns, reading.time_running_ns) = self.leader().times_ns();
        for (offset, page) in reading.offsets.iter_mut().zip(self.pages()) {
            *offset = page.offset_and_width().0;
        }
        self.note(reading.lock)
    }

    /// Notes where the events are, as long as the leader's sequence number is `lock`. Returns
    /// whether all are on counters.
    fn note(&self, lock: u32) -> bool {
        let mut are_all = true;
        for (noted, page) in self.counters.iter().zip(&self.pages) {
            match page.counter() {
                Some(counter) => noted.set(counter),
                None => are_all = false,
            }
        }
        self.lock.set(if are_all { lock } else { NOT_NOTED });
        are_all
    }

    fn put_last(&self, end: &mut Readout) {
        for (count, last) in end.counts.iter_mut().zip(&self.last) {
            *count = last.get();
        }
    }

    #[cold]
    fn read_again(&self, start: &Readout, end: &mut Readout) {
        let looked = || {
            self.has_read
                .get()
                .then(|| self.last.each_ref().map(Cell::get))
        };
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
                self.put_last(end);
                if end.lock == start.lock {
                    // Members were moved without their leader, perhaps while the start was read.
                    end.flags = Flags::NOT_COUNTING;
                }
                return;
            }
        }
        end.flags = Flags::NOT_COUNTING;
    }

    /// Returns by how much a plain counter advanced; negative if something set it back.
    ///
    /// A wide counter is taken modulo its width: after a reset, the kernel's offset is 2^48 short
    /// until the next switch. A narrow one may wrap in a window, and its offset counts the wraps.
    pub fn advance(&self, at: usize, start: &Readout, end: &Readout) -> i64 {
        const NARROW: u16 = 40;
        let (_, width) = self.pages()[at].offset_and_width();
        let full = |reading: &Readout| extended(reading.counts[at], reading.offsets[at], width);
        let advance = full(end).wrapping_sub(full(start));
        match width {
            NARROW..64 => extended(advance, 0, width) as i64,
            _ => advance as i64,
        }
    }
}
