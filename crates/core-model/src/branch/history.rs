//! The path that led to a branch, from which directions and indirect targets are predicted.
//!
//! As on real cores, it contains only taken branches, each with its own address and its target's
//! (Yavarzadeh et al., "Half&Half: Demystifying Intel's Directional Branch Predictors for Fast,
//! Secure Partitioned Execution", IEEE S&P 2023). Branches that are not taken, such as bounds
//! checks, push nothing out of it.

use crate::calendar::boxed;

/// Taken branches kept: more than the longest history, and a power of two, since places wrap.
const HISTORY: usize = 512;
/// Odd numbers that spread addresses over 64 bits: the golden ratio's, and one by Steele and Vigna
/// ("Computationally easy, spectrally good multipliers", 2021).
pub(crate) const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
const STEP: u64 = 0xd134_2543_de82_ef95;

/// The newest taken branches of a path: their number, and the weight of the one before them.
#[derive(Clone, Copy)]
pub(crate) struct Newest {
    branches: usize,
    weight: u64,
}

impl Newest {
    pub(crate) fn new(branches: u32) -> Self {
        Newest {
            branches: branches as usize,
            weight: STEP.wrapping_pow(branches),
        }
    }
}

/// Taken branches, newest first, as one number for each number of them: a polynomial with one
/// coefficient for each branch.
pub(crate) struct PathHistory {
    /// The polynomial of all branches up to each one.
    sums: Box<[u64; HISTORY]>,
    newest: usize,
}

impl PathHistory {
    pub(crate) fn new() -> Self {
        const { assert!(HISTORY.is_power_of_two()) };
        PathHistory {
            sums: boxed(0),
            newest: 0,
        }
    }

    /// Adds a taken branch of any kind.
    #[inline]
    pub(crate) fn push(&mut self, ip: u64, target: u64) {
        let branch = (ip ^ target.rotate_left(20)).wrapping_mul(SPREAD);
        let sum = self.sums[self.newest % HISTORY].wrapping_mul(STEP);
        self.newest += 1;
        self.sums[self.newest % HISTORY] = sum.wrapping_add(branch);
    }

    /// Returns the polynomial of the newest branches.
    #[inline]
    pub(crate) fn of(&self, stretch: Newest) -> u64 {
        let before = self.sums[self.newest.wrapping_sub(stretch.branches) % HISTORY];
        self.sums[self.newest % HISTORY].wrapping_sub(before.wrapping_mul(stretch.weight))
    }
}
