//! Reads all counters of a group without system calls, at the two ends of a window.
//!
//! What is executed between the two readings of a counter is measured with the work. So at the
//! start everything else is done before the counters are read, and at the end after it. Plain
//! counters are read in the same order at both ends, so that each sees the same overhead and the
//! categories fit together. The slots and PERF_METRICS, which hold all categories, are read next to
//! the window. The results are written in place.
//!
//! The sum of the pages' sequence numbers, taken before the first reading and after the last,
//! proves that nothing was moved in between: then the offsets are those of the start, and no
//! further look at the pages is needed. Only if it changed are the counters read again, in the
//! usual way.

use std::cell::Cell;
use std::time::Instant;

use super::page::{Page, extended, locks, wait_for_earlier_instructions};
use super::readout::Readout;
use super::syscalls::current_cpu;
use crate::counter::MAX_COUNTERS;
use crate::sample::Flags;

/// How often to repeat a reading while the kernel keeps moving events. One disturbance in the few
/// dozen instructions of a reading is rare; if they continue, the kernel is broken.
const ATTEMPTS: u32 = 16;

/// The pages of a group, and how to read them.
#[derive(Debug)]
pub(super) struct UserReads {
    pages: Box<dyn Pages>,
    /// The first counters that reading clears: what a first look has taken, a second cannot find.
    cleared: usize,
    /// The first counters that are read last at the start, so that they see the least overhead.
    last_at_start: usize,
    /// Raw counters at the end of a window.
    last: Counts,
}

/// Slots and PERF_METRICS.
const REGISTERS: usize = 2;

type Counts = [Cell<u64>; MAX_COUNTERS];

/// The leader's page first. Their number is part of the type, so that reading has no loop, whose
/// instructions would be measured.
trait Pages: std::fmt::Debug {
    fn all(&self) -> &[Page];

    /// Reads the counters. Returns whether all events are on counters.
    fn read(&self, counts: &Counts) -> bool;

    /// Reads the counters, the first `last` of them last. Returns whether all events are on
    /// counters and the leader's page still has this sequence number.
    fn begin(&self, counts: &Counts, last: usize, lock: u32) -> bool;
}

#[inline(always)]
fn read(page: &Page, count: &Cell<u64>) -> bool {
    match page.raw() {
        Some(raw) => {
            count.set(raw);
            true
        }
        None => false,
    }
}

impl<const N: usize> Pages for [Page; N] {
    fn all(&self) -> &[Page] {
        self
    }

    fn read(&self, counts: &Counts) -> bool {
        (0..N).all(|at| read(&self[at], &counts[at]))
    }

    fn begin(&self, counts: &Counts, last: usize, lock: u32) -> bool {
        wait_for_earlier_instructions();
        let is_counting = match last {
            REGISTERS if N > REGISTERS => {
                (REGISTERS..N).all(|at| read(&self[at], &counts[at]))
                    && (0..REGISTERS).all(|at| read(&self[at], &counts[at]))
            }
            _ => self.read(counts),
        };
        wait_for_earlier_instructions();
        is_counting && self[0].lock() == lock
    }
}

/// # Panics
/// Panics if there are more pages than counters.
fn boxed(pages: Vec<Page>) -> Box<dyn Pages> {
    macro_rules! by_number {
        ($($number:literal)*) => {
            match pages.len() {
                $($number => {
                    Box::new(<[Page; $number]>::try_from(pages).expect("their number"))
                })*
                other => unreachable!("a group of {other} events"),
            }
        };
    }
    by_number!(1 2 3 4 5 6 7 8 9 10 11 12)
}

impl UserReads {
    /// For the pages of a group, the leader's first, of which reading clears the first `cleared`.
    pub fn new(pages: Vec<Page>, cleared: usize) -> UserReads {
        UserReads {
            pages: boxed(pages),
            cleared,
            last_at_start: 0,
            last: Default::default(),
        }
    }

    /// For the pages of a TopDown group: slots and PERF_METRICS, then plain counters.
    pub fn of_registers(pages: Vec<Page>, clears: bool) -> UserReads {
        UserReads {
            last_at_start: REGISTERS,
            ..UserReads::new(pages, if clears { REGISTERS } else { 0 })
        }
    }

    pub fn pages(&self) -> &[Page] {
        self.pages.all()
    }

    fn leader(&self) -> &Page {
        &self.pages()[0]
    }

    /// Reads the counters into `readout`, as the last thing before the window; what the pages say
    /// must be there. Returns whether that succeeded.
    #[inline(always)]
    pub fn begin(&self, readout: &mut Readout) -> bool {
        let counts = Cell::from_mut(&mut readout.counts[..]).as_slice_of_cells();
        let Some(counts) = counts.first_chunk::<MAX_COUNTERS>() else {
            return false;
        };
        self.pages.begin(counts, self.last_at_start, readout.lock)
    }

    /// Reads the counters at the end of a window, as the first thing after it. Returns whether all
    /// events are on counters.
    #[inline(always)]
    pub fn look(&self) -> bool {
        wait_for_earlier_instructions();
        let is_counting = self.pages.read(&self.last);
        wait_for_earlier_instructions();
        is_counting
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
    /// [`look`](UserReads::look) returned `is_counting`.
    pub fn end(&self, is_counting: bool, start: &Readout) -> Readout {
        let mut end = Readout {
            at: Instant::now(),
            cpu: current_cpu(),
            flags: Flags::NONE,
            ..*start
        };
        if is_counting && locks(self.pages()) == start.locks {
            self.put_last(&mut end);
        } else {
            self.read_again(is_counting, start, &mut end);
        }
        end
    }

    /// Notes what the pages say, before the counters are read.
    pub fn look_at_pages(&self, reading: &mut Readout) {
        reading.locks = locks(self.pages());
        reading.lock = self.leader().lock();
        (reading.time_enabled_ns, reading.time_running_ns) = self.leader().times_ns();
        for (offset, page) in reading.offsets.iter_mut().zip(self.pages()) {
            *offset = page.offset_and_width().0;
        }
    }

    fn put_last(&self, end: &mut Readout) {
        for (count, last) in end.counts.iter_mut().zip(&self.last) {
            *count = last.get();
        }
    }

    #[cold]
    fn read_again(&self, mut was_read: bool, start: &Readout, end: &mut Readout) {
        // The first attempt was made.
        for _ in 1..ATTEMPTS {
            self.look_at_pages(end);
            let first_look = self.last.each_ref().map(Cell::get);
            wait_for_earlier_instructions();
            let is_counting = self.pages.read(&self.last);
            wait_for_earlier_instructions();
            if was_read {
                for (last, first) in self.last.iter().zip(first_look).take(self.cleared) {
                    last.set(first);
                }
            }
            was_read = true;
            if !is_counting {
                break;
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
