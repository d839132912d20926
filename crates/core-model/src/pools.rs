//! Sets of scheduler pools.

use crate::parameters::SCHEDULERS;

/// Not a pool: for operations that do not wait.
pub(crate) const NO_POOL: u8 = SCHEDULERS as u8;
/// Not a pool either: for operations that wait in the queue of vector operations.
pub(crate) const VECTOR_QUEUE: u8 = NO_POOL + 1;

/// Bits per lane. Each pool has one lane of the same word, so that all are compared at once.
pub(crate) const LANE_BITS: u32 = 10;
/// The level at which a pool is full. Half of a lane is left for instructions of several
/// operations, which need room for one only.
pub(crate) const FULL: u32 = 1 << (LANE_BITS - 1);

/// A set of pools.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pools(pub u32);

impl Pools {
    /// Creates a set of `pools`, without those that are not pools.
    pub(crate) fn new<const COUNT: usize>(pools: [u8; COUNT]) -> Pools {
        let lanes = pools
            .into_iter()
            .filter(|&pool| usize::from(pool) < SCHEDULERS)
            .map(|pool| FULL << (u32::from(pool) * LANE_BITS));
        Pools(lanes.fold(0, |all, lane| all | lane))
    }
}
