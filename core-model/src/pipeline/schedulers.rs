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

/// Number of cycles whose departures are counted together.
const CHUNK: usize = 8;

/// Returns the sum of the eight bytes.
#[inline]
fn sum_of_bytes(bytes: u64) -> u32 {
    const EVEN: u64 = 0x00ff_00ff_00ff_00ff;
    let pairs = (bytes & EVEN) + (bytes >> 8 & EVEN);
    (pairs.wrapping_mul(0x0001_0001_0001_0001) >> 48) as u32
}

/// Not a pool: for operations that do not wait.
pub(crate) const NO_POOL: u8 = SCHEDULERS as u8;
/// Nor this: for operations that wait in the queue of vector operations.
pub(crate) const VECTOR_QUEUE: u8 = NO_POOL + 1;

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
            let cycles = (now - self.counted).min(CHUNK as u64);
            match self.leaving[place..].first_chunk_mut::<CHUNK>() {
                Some(chunk) => {
                    let counts = u64::from_le_bytes(*chunk);
                    let gone = counts & u64::MAX >> (u64::BITS as u64 - 8 * cycles);
                    waiting -= sum_of_bytes(gone);
                    *chunk = (counts ^ gone).to_le_bytes();
                    self.counted += cycles;
                }
                None => waiting -= self.leave_one_cycle(),
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

/// Bits per lane. Each pool has one lane of the same word, so that all are compared at once.
const LANE_BITS: u32 = 10;
/// The level at which a pool is full. Half of a lane is left for instructions of several
/// operations, which need room for one only.
const FULL: u32 = 1 << (LANE_BITS - 1);

/// One operation in each pool.
const ONE: [u32; SCHEDULERS] = {
    let mut one = [0; SCHEDULERS];
    let mut pool = 0;
    while pool < SCHEDULERS {
        one[pool] = 1 << (pool as u32 * LANE_BITS);
        pool += 1;
    }
    one
};

/// A set of pools.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pools(u32);

impl Pools {
    /// Those of `pools` that are pools.
    pub(crate) fn new<const COUNT: usize>(pools: [u8; COUNT]) -> Pools {
        let lanes = pools
            .into_iter()
            .filter(|&pool| usize::from(pool) < SCHEDULERS)
            .map(|pool| FULL << (u32::from(pool) * LANE_BITS));
        Pools(lanes.fold(0, |all, lane| all | lane))
    }
}

/// All schedulers of a core.
pub(crate) struct Schedulers {
    pools: [Pool; SCHEDULERS],
    /// Cycles for which an operation keeps its entry after it began to execute.
    release_cycles: u64,
    /// For each pool, the level at which it is empty.
    empty: [u32; SCHEDULERS],
    /// The level of each pool, one lane each: that plus the number of operations that leave it from
    /// its `counted` on.
    levels: u32,
    /// The last cycle for which room was requested: earlier departures need not be counted any
    /// more.
    now: u64,
}

impl Schedulers {
    pub(crate) fn new(entries: [u32; SCHEDULERS], release_cycles: u32) -> Self {
        const { assert!(SCHEDULERS as u32 * LANE_BITS <= u32::BITS) };
        let empty = entries.map(|entries| FULL - entries.clamp(1, FULL));
        let lanes = (0_u32..).zip(empty);
        Schedulers {
            pools: entries.map(|_| Pool::new()),
            release_cycles: release_cycles.into(),
            empty,
            levels: lanes.map(|(pool, level)| level << (pool * LANE_BITS)).sum(),
            now: 0,
        }
    }

    /// Returns the first cycle at or after `at` in which each of `pools` has room for an operation.
    /// Calls must be in order of time.
    #[inline]
    pub(crate) fn room(&mut self, pools: Pools, at: u64) -> u64 {
        self.now = at;
        let full = self.levels & pools.0;
        if full != 0 {
            self.wait(Pools(full));
        }
        self.now
    }

    /// Advances to the first cycle in which each of `full` has a free entry.
    #[inline(never)]
    fn wait(&mut self, full: Pools) {
        let mut left = full.0;
        while left != 0 {
            let place = (left.trailing_zeros() / LANE_BITS) as usize % SCHEDULERS;
            left &= left - 1;
            let capacity = FULL - self.empty[place];
            let before = self.waiting(place);
            let pool = &mut self.pools[place];
            let mut waiting = pool.advance(before, self.now);
            while waiting >= capacity {
                waiting -= pool.leave_one_cycle();
                self.now = pool.counted;
            }
            self.leave(place, before - waiting);
        }
    }

    /// Returns the number of operations that leave the pool from its `counted` on.
    #[inline]
    fn waiting(&self, place: usize) -> u32 {
        let level = self.levels >> (place as u32 * LANE_BITS) & ((1 << LANE_BITS) - 1);
        level - self.empty[place]
    }

    #[inline]
    fn leave(&mut self, place: usize, operations: u32) {
        self.levels -= operations * ONE[place];
    }

    /// Puts an operation into the pool; it leaves some time after it `executes`.
    #[inline]
    pub(crate) fn enter(&mut self, pool: u8, executes: u64) {
        let place = usize::from(pool);
        let Some(pool) = self.pools.get(place) else {
            return;
        };
        let mut leaves = executes + self.release_cycles;
        if leaves - pool.counted >= HORIZON as u64 {
            leaves = self.enter_far(place, leaves);
        }
        let leaving = &mut self.pools[place].leaving[leaves as usize % HORIZON];
        if *leaving < u8::MAX {
            *leaving += 1;
            self.levels += ONE[place];
        }
    }

    /// Advances the pool for an operation that `leaves` beyond the horizon, and returns when it
    /// does instead.
    #[cold]
    fn enter_far(&mut self, place: usize, leaves: u64) -> u64 {
        let before = self.waiting(place);
        let pool = &mut self.pools[place];
        let waiting = pool.advance(before, self.now);
        let last = pool.counted + HORIZON as u64 - 1;
        self.leave(place, before - waiting);
        leaves.min(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the pools of an instruction that needs one.
    fn only(pool: u8) -> Pools {
        Pools::new([pool, NO_POOL, NO_POOL])
    }

    #[test]
    fn a_full_pool_has_room_when_the_first_operation_leaves() {
        let mut schedulers = Schedulers::new([2, 1, 1], 0);
        assert_eq!(schedulers.room(only(0), 10), 10);
        schedulers.enter(0, 50);
        schedulers.enter(0, 20);
        assert_eq!(schedulers.room(only(0), 11), 21);
        schedulers.enter(0, 22);
        assert_eq!(schedulers.room(only(0), 22), 23);
    }

    #[test]
    fn pools_are_independent() {
        let mut schedulers = Schedulers::new([1, 1, 1], 0);
        schedulers.enter(0, 1000);
        assert_eq!(schedulers.room(only(1), 5), 5);
        assert_eq!(schedulers.room(Pools::new([NO_POOL, 2, 1]), 6), 6);
        assert_eq!(schedulers.room(Pools::new([1, 0, 2]), 7), 1001);
    }

    #[test]
    fn a_departure_beyond_the_horizon_still_happens() {
        let mut schedulers = Schedulers::new([1, 1, 1], 0);
        schedulers.enter(0, 10_000_000);
        assert!(schedulers.room(only(0), 0) <= 1 << 16);
    }
}
