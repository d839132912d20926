//! Schedulers: pools in which operations wait from issue to execution.
//!
//! Operations leave out of order, so a pool keeps how many leave in each coming cycle. Departures
//! are counted lazily, because most pools are far from full.

use std::mem::take;

use crate::calendar::boxed;
use crate::parameters::SCHEDULERS;

/// Number of cycles ahead for which departures are kept separately; later ones leave at the
/// horizon.
const HORIZON: usize = 1 << 16;

/// Number of cycles whose departures are processed together if the last time was long ago.
const CHUNK: usize = 8;

/// Not a pool: for operations that do not wait.
pub(crate) const NO_POOL: u8 = SCHEDULERS as u8;
const PLACES: usize = (SCHEDULERS + 1).next_power_of_two();

/// When the operations of a pool leave it.
struct Pool {
    /// Everything that leaves before this cycle has been counted.
    counted: u64,
    leaving: Box<[u8; HORIZON]>,
}

impl Pool {
    fn new() -> Self {
        Pool {
            counted: 0,
            leaving: boxed(0),
        }
    }

    /// Removes everything that executes before `now`, and returns how many of the `waiting` stay.
    fn advance(&mut self, mut waiting: u32, now: u64) -> u32 {
        if waiting == 0 {
            self.counted = now;
        } else if now - self.counted >= HORIZON as u64 {
            self.leaving.fill(0);
            waiting = 0;
            self.counted = now;
        }
        while self.counted < now {
            let place = self.counted as usize % HORIZON;
            let is_far = now - self.counted >= CHUNK as u64;
            match self.leaving[place..].first_chunk_mut::<CHUNK>() {
                Some(chunk) if is_far => {
                    if *chunk != [0; CHUNK] {
                        waiting -= chunk.iter().map(|&count| u32::from(count)).sum::<u32>();
                        *chunk = [0; CHUNK];
                    }
                    self.counted += CHUNK as u64;
                }
                _ => waiting -= self.leave_one_cycle(),
            }
        }
        waiting
    }

    /// Removes the operations of one more cycle, and returns how many.
    #[inline]
    fn leave_one_cycle(&mut self) -> u32 {
        let place = &mut self.leaving[self.counted as usize % HORIZON];
        self.counted += 1;
        u32::from(take(place))
    }
}

/// All schedulers of a core.
pub(crate) struct Schedulers {
    pools: [Pool; SCHEDULERS],
    /// Capacity of each pool. Here and below, indices from [`NO_POOL`] on represent pools that are
    /// never full.
    capacity: [u32; PLACES],
    /// Number of operations that leave each pool from its `counted` on.
    waiting: [u32; PLACES],
    /// The last cycle for which room was requested: earlier departures need not be counted any
    /// more.
    now: u64,
}

impl Schedulers {
    pub(crate) fn new(entries: [u32; SCHEDULERS]) -> Self {
        let mut capacity = [u32::MAX; PLACES];
        for (place, entries) in capacity.iter_mut().zip(entries) {
            *place = entries.max(1);
        }
        Schedulers {
            pools: entries.map(|_| Pool::new()),
            capacity,
            waiting: [0; PLACES],
            now: 0,
        }
    }

    /// Returns the first cycle at or after `at` in which each of the pools has room for an
    /// operation. Calls must be in order of time.
    #[inline]
    pub(crate) fn room(&mut self, pools: [u8; 3], at: u64) -> u64 {
        self.now = at;
        // No branch for each, because the pools an instruction needs are hard to predict.
        let is_full = pools.map(|pool| self.is_full(pool));
        if is_full[0] | is_full[1] | is_full[2] {
            for (pool, is_full) in pools.into_iter().zip(is_full) {
                if is_full {
                    self.wait(pool);
                }
            }
        }
        self.now
    }

    #[inline]
    fn is_full(&self, pool: u8) -> bool {
        let place = usize::from(pool) % PLACES;
        self.waiting[place] >= self.capacity[place]
    }

    /// Advances to the first cycle in which the pool has a free entry.
    #[inline(never)]
    fn wait(&mut self, pool: u8) {
        let place = usize::from(pool);
        let pool = &mut self.pools[place];
        let mut waiting = pool.advance(self.waiting[place], self.now);
        while waiting >= self.capacity[place] {
            waiting -= pool.leave_one_cycle();
            self.now = pool.counted;
        }
        self.waiting[place] = waiting;
    }

    /// Puts an operation into the pool; it leaves when it executes.
    #[inline]
    pub(crate) fn enter(&mut self, pool: u8, executes: u64) {
        let place = usize::from(pool);
        let Some(pool) = self.pools.get_mut(place) else {
            return;
        };
        if executes - pool.counted >= HORIZON as u64 {
            self.waiting[place] = pool.advance(self.waiting[place], self.now);
        }
        let leaves = executes.min(pool.counted + HORIZON as u64 - 1);
        let leaving = &mut pool.leaving[leaves as usize % HORIZON];
        if *leaving < u8::MAX {
            *leaving += 1;
            self.waiting[place] += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the pools of an instruction that needs one.
    fn only(pool: u8) -> [u8; 3] {
        [pool, NO_POOL, NO_POOL]
    }

    #[test]
    fn a_full_pool_has_room_when_the_first_operation_leaves() {
        let mut schedulers = Schedulers::new([2, 1, 1]);
        assert_eq!(schedulers.room(only(0), 10), 10);
        schedulers.enter(0, 50);
        schedulers.enter(0, 20);
        assert_eq!(schedulers.room(only(0), 11), 21);
        schedulers.enter(0, 22);
        assert_eq!(schedulers.room(only(0), 22), 23);
    }

    #[test]
    fn pools_are_independent() {
        let mut schedulers = Schedulers::new([1, 1, 1]);
        schedulers.enter(0, 1000);
        assert_eq!(schedulers.room(only(1), 5), 5);
        assert_eq!(schedulers.room([NO_POOL, 2, 1], 6), 6);
        assert_eq!(schedulers.room([1, 0, 2], 7), 1001);
    }

    #[test]
    fn a_departure_beyond_the_horizon_still_happens() {
        let mut schedulers = Schedulers::new([1, 1, 1]);
        schedulers.enter(0, 10_000_000);
        assert!(schedulers.room(only(0), 0) <= 1 << 16);
    }
}
