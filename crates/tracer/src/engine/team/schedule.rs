//! The choices of a schedule: who is next of the threads that wait for nothing, and how much a turn
//! may record.
//!
//! Schedule 0 makes none: then the order is that of the seats, and turns are full. The others draw
//! numbers, which depend on the schedule alone and begin again with each trace. So what came before
//! a trace does not decide its order.

use super::super::trace_buffer::TURN_BYTES;
use super::seat::{Seat, phase};
use super::{MAX_THREADS, Team};

/// A turn has one of this many lengths.
const LENGTHS: usize = 8;

/// The state of a schedule: that of SplitMix64 (Steele, Lea and Flood 2014), but for schedule 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Schedule(Option<u64>);

impl Schedule {
    pub(in super::super) const fn new(number: u32) -> Schedule {
        match number {
            0 => Schedule(None),
            number => Schedule(Some(number as u64)),
        }
    }

    /// Returns how many of this many threads are passed over.
    pub(super) fn passed_over(&mut self, threads: usize) -> usize {
        self.draw(threads).unwrap_or(0)
    }

    /// Returns how much the next turn may record.
    pub(super) fn turn_bytes(&mut self) -> usize {
        let shorter = self.draw(LENGTHS).unwrap_or(0);
        TURN_BYTES / LENGTHS * (LENGTHS - shorter)
    }

    /// Returns a number below `end`, if the schedule draws any.
    fn draw(&mut self, end: usize) -> Option<usize> {
        let state = self.0.as_mut().filter(|_| end > 1)?;
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut drawn = *state;
        drawn = (drawn ^ (drawn >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        drawn = (drawn ^ (drawn >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        drawn ^= drawn >> 31;
        Some((drawn % end as u64) as usize)
    }
}

impl Team {
    /// Returns a thread that waits for nothing: the first one after that of `last`, or the one that
    /// the schedule chooses. Returns `last` only if no other thread is ready.
    pub(super) fn next_ready(&self, last: usize) -> Option<usize> {
        let settles = self.order().turns_to_settle.is_some();
        let is_ready = |seat: &Seat| {
            let stopped = seat.stopped();
            seat.is(phase::MEMBER) && stopped.wait.is_over() && !(settles && stopped.never_waits)
        };
        let next = (1..=MAX_THREADS).map(|step| (last + step) % MAX_THREADS);
        let mut ready = next.filter(|&next| is_ready(&self.seats[next]));
        let others = ready.clone().filter(|&next| next != last).count();
        ready.nth(self.order().schedule.passed_over(others))
    }

    /// Returns how much the next turn may record. Called by the running thread.
    pub(in super::super) fn turn_bytes(&self) -> usize {
        self.order().schedule.turn_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the first choices among three threads, and the lengths of turns.
    fn choices(number: u32) -> Vec<(usize, usize)> {
        let mut schedule = Schedule::new(number);
        let choice = |_| (schedule.passed_over(3), schedule.turn_bytes());
        (0..40).map(choice).collect()
    }

    #[test]
    fn schedule_0_passes_nobody_over() {
        assert_eq!(choices(0), [(0, TURN_BYTES); 40]);
    }

    #[test]
    fn schedules_choose_differently_and_repeat() {
        for number in 1..20 {
            assert_eq!(choices(number), choices(number));
            assert_ne!(choices(number), choices(number + 1));
            for passed_over in 0..3 {
                assert!(choices(number).iter().any(|it| it.0 == passed_over));
            }
            let is_allowed = |bytes| (TURN_BYTES / LENGTHS..=TURN_BYTES).contains(&bytes);
            assert!(choices(number).iter().all(|it| is_allowed(it.1)));
        }
    }

    #[test]
    fn one_thread_needs_no_choice() {
        let mut schedule = Schedule::new(7);
        assert_eq!([0, 1].map(|threads| schedule.passed_over(threads)), [0; 2]);
        assert_eq!(schedule, Schedule::new(7));
    }
}
