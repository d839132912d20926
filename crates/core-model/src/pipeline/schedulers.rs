//! Schedulers: pools in which operations wait from issue to execution.
//!
//! Operations leave out of order, so it is kept how many leave in each coming cycle. Departures are
//! counted lazily, because most pools are far from full.

use std::mem::take;

use crate::calendar::boxed;
use crate::parameters::SCHEDULERS;
use crate::pools::{FULL, LANE_BITS, Pools};

/// Number of cycles ahead for which departures are kept separately; later ones leave at the
/// horizon.
const HORIZON: usize = 1 << 16;

/// Number of cycles whose departures are counted together.
const CHUNK: usize = 8;

/// One operation in each pool; nothing for numbers of no pool.
const ONE: [u32; 8] = {
    let mut one = [0; 8];
    let mut pool = 0;
    while pool < SCHEDULERS {
        one[pool] = 1 << (pool as u32 * LANE_BITS);
        pool += 1;
    }
    one
};

/// All schedulers of a core.
pub(crate) struct Schedulers {
    /// Cycles for which an operation keeps its entry after it began to execute.
    release_cycles: u64,
    /// The levels at which all pools are empty.
    empty: u32,
    /// The level of each pool, one lane each: `empty` plus the number of operations that leave it
    /// from
    /// `counted` on.
    levels: u32,
    /// Everything that leaves before this cycle has been counted.
    counted: u64,
    /// Number of operations that leave in each cycle, one lane for each pool.
    leaving: Box<[u32; HORIZON]>,
    /// The last cycle for which room was requested: earlier departures need not be counted.
    now: u64,
}

impl Schedulers {
    pub(crate) fn new(entries: [u32; SCHEDULERS], release_cycles: u32) -> Self {
        const { assert!(SCHEDULERS as u32 * LANE_BITS <= u32::BITS) };
        let lanes = (0_u32..).zip(entries.map(|entries| FULL - entries.clamp(1, FULL)));
        let empty = lanes.map(|(pool, level)| level << (pool * LANE_BITS)).sum();
        Schedulers {
            release_cycles: release_cycles.into(),
            empty,
            levels: empty,
            counted: 0,
            leaving: boxed(0),
            now: 0,
        }
    }

    /// Returns the first cycle at or after `at` in which each of `pools` has room for an operation.
    /// Calls must be in order of time.
    #[inline]
    pub(crate) fn room(&mut self, pools: Pools, at: u64) -> u64 {
        self.now = at;
        if self.levels & pools.0 != 0 {
            self.wait(pools);
        }
        self.now
    }

    /// Advances to the first cycle in which each of `pools` has a free entry.
    #[inline(never)]
    fn wait(&mut self, pools: Pools) {
        self.advance();
        while self.levels & pools.0 != 0 {
            self.leave_one_cycle();
        }
        self.now = self.counted;
    }

    /// Removes everything that leaves before `now`.
    fn advance(&mut self) {
        let cycles = self.now - self.counted;
        if self.levels == self.empty {
            self.counted = self.now;
        } else if cycles >= HORIZON as u64 {
            self.leaving.fill(0);
            self.levels = self.empty;
            self.counted = self.now;
        }
        while self.counted < self.now {
            let place = self.counted as usize % HORIZON;
            match self.leaving[place..].first_chunk_mut::<CHUNK>() {
                Some(chunk) if self.counted + CHUNK as u64 <= self.now => {
                    self.levels -= take(chunk).iter().sum::<u32>();
                    self.counted += CHUNK as u64;
                }
                _ => self.leave_one_cycle(),
            }
        }
    }

    /// Removes the operations of one more cycle.
    #[inline]
    fn leave_one_cycle(&mut self) {
        self.levels -= take(&mut self.leaving[self.counted as usize % HORIZON]);
        self.counted += 1;
    }

    /// Puts an operation into the pool, if it is one; it leaves some time after it `executes`.
    #[inline]
    pub(crate) fn enter(&mut self, pool: u8, executes: u64) {
        let one = ONE[usize::from(pool) % ONE.len()];
        let mut leaves = executes + self.release_cycles;
        if leaves - self.counted >= HORIZON as u64 {
            leaves = self.enter_far(leaves);
        }
        self.leaving[leaves as usize % HORIZON] += one;
        self.levels += one;
    }

    /// Advances for an operation that `leaves` beyond the horizon, and returns when it leaves
    /// instead.
    #[cold]
    fn enter_far(&mut self, leaves: u64) -> u64 {
        self.advance();
        leaves.min(self.counted + HORIZON as u64 - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pools::NO_POOL;

    /// Returns the pools of an instruction that needs one.
    fn only(pool: u8) -> Pools {
        Pools::new([pool, NO_POOL, NO_POOL])
    }

    #[test]
    fn full_pool_has_room_after_first_departure() {
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
    fn departure_beyond_the_horizon_happens() {
        let mut schedulers = Schedulers::new([1, 1, 1], 0);
        schedulers.enter(0, 10_000_000);
        assert!(schedulers.room(only(0), 0) <= 1 << 16);
    }
}
