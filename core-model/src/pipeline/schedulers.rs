//! Schedulers: pools in which operations wait from issue to execution.
//!
//! Operations leave out of order, so a pool keeps how many leave in each coming cycle.

use crate::calendar::boxed;
use crate::parameters::SCHEDULERS;

/// Cycles ahead for which departures are kept apart; later ones leave at the horizon.
const HORIZON: usize = 1 << 16;

struct Pool {
    capacity: u32,
    waiting: u32,
    now: u64,
    leaving: Box<[u8; HORIZON]>,
}

impl Pool {
    fn new(capacity: u32) -> Self {
        Pool {
            capacity,
            waiting: 0,
            now: 0,
            leaving: boxed(0),
        }
    }

    #[inline]
    fn leave_one_cycle(&mut self) {
        let place = &mut self.leaving[self.now as usize % HORIZON];
        self.waiting = self.waiting.saturating_sub(u32::from(*place));
        *place = 0;
        self.now += 1;
    }

    /// Lets everything leave that executes before `at`.
    #[inline]
    fn advance(&mut self, at: u64) {
        if at.saturating_sub(self.now) >= HORIZON as u64 {
            self.leaving.fill(0);
            self.waiting = 0;
            self.now = at;
        }
        while self.now < at {
            if self.waiting == 0 {
                // Nobody waits: all coming departures are 0.
                self.now = at;
                return;
            }
            let from = self.now as usize % HORIZON;
            let chunk = (at - self.now).min(8).min((HORIZON - from) as u64) as usize;
            for place in &mut self.leaving[from..from + chunk] {
                self.waiting = self.waiting.saturating_sub(u32::from(*place));
                *place = 0;
            }
            self.now += chunk as u64;
        }
    }

    /// The first cycle at or after `at` with an entry for `operations`.
    #[inline]
    fn room(&mut self, operations: u32, at: u64) -> u64 {
        self.advance(at);
        let needed = operations.min(self.capacity);
        while self.waiting + needed > self.capacity {
            self.leave_one_cycle();
        }
        self.now.max(at)
    }

    #[inline]
    fn enter(&mut self, leaves: u64) {
        if leaves < self.now {
            return;
        }
        let leaves = leaves.min(self.now + HORIZON as u64 - 1);
        let place = &mut self.leaving[leaves as usize % HORIZON];
        if *place < u8::MAX {
            *place += 1;
            self.waiting += 1;
        }
    }
}

/// All schedulers of a core.
pub(crate) struct Schedulers {
    pools: [Pool; SCHEDULERS],
}

impl Schedulers {
    pub(crate) fn new(entries: [u32; SCHEDULERS]) -> Self {
        Schedulers {
            pools: entries.map(|entries| Pool::new(entries.max(1))),
        }
    }

    /// The first cycle at or after `at` in which the pool has room for so many operations. Calls
    /// for one pool come in the order of time.
    #[inline]
    pub(crate) fn room(&mut self, pool: usize, operations: u32, at: u64) -> u64 {
        self.pools[pool % SCHEDULERS].room(operations, at)
    }

    /// Puts an operation into the pool; it leaves when it executes.
    #[inline]
    pub(crate) fn enter(&mut self, pool: usize, executes: u64) {
        self.pools[pool % SCHEDULERS].enter(executes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_pool_has_room_when_the_first_operation_leaves() {
        let mut schedulers = Schedulers::new([2, 1, 1]);
        assert_eq!(schedulers.room(0, 1, 10), 10);
        schedulers.enter(0, 50);
        schedulers.enter(0, 20);
        assert_eq!(schedulers.room(0, 1, 11), 21);
        schedulers.enter(0, 22);
        assert_eq!(schedulers.room(0, 1, 22), 23);
    }

    #[test]
    fn pools_are_independent() {
        let mut schedulers = Schedulers::new([1, 1, 1]);
        schedulers.enter(0, 1000);
        assert_eq!(schedulers.room(1, 1, 5), 5);
        assert_eq!(schedulers.room(0, 1, 5), 1001);
    }

    #[test]
    fn a_departure_beyond_the_horizon_still_happens() {
        let mut schedulers = Schedulers::new([1, 1, 1]);
        schedulers.enter(0, 10_000_000);
        assert!(schedulers.room(0, 1, 0) <= 1 << 16);
    }
}
