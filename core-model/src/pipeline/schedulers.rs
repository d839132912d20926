//! Schedulers: pools in which operations wait from issue to execution.
//!
//! Operations leave out of order, so a pool keeps how many leave in each coming cycle.

use crate::calendar::boxed;
use crate::parameters::SCHEDULERS;

/// Cycles ahead for which departures are kept apart; later ones leave at the horizon.
const HORIZON: usize = 1 << 16;

/// Cycles whose departures are looked at together when the last look was long ago.
const CHUNK: usize = 8;

struct Pool {
    capacity: u32,
    /// Those that leave from the cycle `counted` on.
    waiting: u32,
    counted: u64,
    /// The cycle for which room was asked last: who leaves before it need not be counted any more.
    now: u64,
    leaving: Box<[u8; HORIZON]>,
}

impl Pool {
    fn new(capacity: u32) -> Self {
        Pool {
            capacity,
            waiting: 0,
            counted: 0,
            now: 0,
            leaving: boxed(0),
        }
    }

    /// Lets everything leave that executes before `now`.
    #[inline]
    fn advance(&mut self) {
        if self.waiting == 0 {
            self.counted = self.now;
        } else if self.now - self.counted >= HORIZON as u64 {
            self.leaving.fill(0);
            self.waiting = 0;
            self.counted = self.now;
        }
        while self.counted < self.now {
            let place = self.counted as usize % HORIZON;
            let is_far = self.now - self.counted >= CHUNK as u64;
            match self.leaving[place..].first_chunk_mut::<CHUNK>() {
                Some(chunk) if is_far => {
                    if *chunk != [0; CHUNK] {
                        self.waiting -= chunk.iter().map(|&count| u32::from(count)).sum::<u32>();
                        *chunk = [0; CHUNK];
                    }
                    self.counted += CHUNK as u64;
                }
                _ => self.leave_one_cycle(),
            }
        }
    }

    /// The first cycle at or after `at` with an entry for an operation.
    #[inline]
    fn room(&mut self, at: u64) -> u64 {
        self.now = at;
        if self.waiting >= self.capacity {
            self.wait();
        }
        self.now
    }

    /// Advances `now` to the first cycle in which an entry is free.
    fn wait(&mut self) {
        self.advance();
        while self.waiting >= self.capacity {
            self.leave_one_cycle();
            self.now = self.counted;
        }
    }

    #[inline]
    fn leave_one_cycle(&mut self) {
        let place = &mut self.leaving[self.counted as usize % HORIZON];
        self.waiting -= u32::from(*place);
        *place = 0;
        self.counted += 1;
    }

    #[inline]
    fn enter(&mut self, leaves: u64) {
        if leaves < self.now {
            return;
        }
        if leaves - self.counted >= HORIZON as u64 {
            self.advance();
        }
        let leaves = leaves.min(self.counted + HORIZON as u64 - 1);
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

    /// The first cycle at or after `at` in which the pool has room for an operation. Calls for one
    /// pool come in the order of time.
    #[inline]
    pub(crate) fn room(&mut self, pool: usize, at: u64) -> u64 {
        self.pools.get_mut(pool).map_or(at, |pool| pool.room(at))
    }

    /// Puts an operation into the pool; it leaves when it executes.
    #[inline]
    pub(crate) fn enter(&mut self, pool: usize, executes: u64) {
        if let Some(pool) = self.pools.get_mut(pool) {
            pool.enter(executes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_pool_has_room_when_the_first_operation_leaves() {
        let mut schedulers = Schedulers::new([2, 1, 1]);
        assert_eq!(schedulers.room(0, 10), 10);
        schedulers.enter(0, 50);
        schedulers.enter(0, 20);
        assert_eq!(schedulers.room(0, 11), 21);
        schedulers.enter(0, 22);
        assert_eq!(schedulers.room(0, 22), 23);
    }

    #[test]
    fn pools_are_independent() {
        let mut schedulers = Schedulers::new([1, 1, 1]);
        schedulers.enter(0, 1000);
        assert_eq!(schedulers.room(1, 5), 5);
        assert_eq!(schedulers.room(0, 5), 1001);
    }

    #[test]
    fn a_departure_beyond_the_horizon_still_happens() {
        let mut schedulers = Schedulers::new([1, 1, 1]);
        schedulers.enter(0, 10_000_000);
        assert!(schedulers.room(0, 0) <= 1 << 16);
    }
}
