//! The first level of direction prediction, which answers at once.
//!
//! The tagged tables answer some cycles later. Until then prediction follows the first level, and
//! goes back where the tables differ. So a branch that only the tables predict costs a few cycles
//! although it is predicted correctly.

use super::counter::step;
use super::history::SPREAD;
use crate::calendar::boxed;
use crate::parameters::FirstLevel as Parameters;

const WAYS: usize = 4;
/// Counters of the branches themselves.
const BRANCHES: usize = 4096;

/// A branch behind certain outcomes of branches.
#[derive(Clone, Copy, Default)]
struct Entry {
    tag: u32,
    /// -2 to 1; taken from 0 on.
    counter: i8,
}

/// The usual outcome of each branch, and when it differs.
pub(super) struct FirstLevel {
    branches: Box<[i8; BRANCHES]>,
    /// The entry that was used last comes first.
    sets: Box<[[Entry; WAYS]]>,
    /// The outcomes of conditional branches, of which `outcomes_mask` has the newest.
    outcomes: u64,
    outcomes_mask: u64,
    correction_cycles: u64,
    taken_correction_cycles: u64,
}

impl FirstLevel {
    pub(super) fn new(parameters: &Parameters) -> Self {
        let sets = (parameters.entries as usize / WAYS).next_power_of_two();
        FirstLevel {
            branches: boxed(0),
            sets: vec![[Entry::default(); WAYS]; sets].into_boxed_slice(),
            outcomes: 0,
            outcomes_mask: (1 << parameters.history_outcomes) - 1,
            correction_cycles: parameters.correction_cycles.into(),
            taken_correction_cycles: parameters.taken_correction_cycles.into(),
        }
    }

    /// Learns whether the branch at `ip` was `taken`. Returns for how many cycles prediction goes
    /// back if the tables know that.
    #[inline]
    pub(super) fn correct(&mut self, ip: u64, taken: bool) -> u64 {
        let behind = (self.outcomes & self.outcomes_mask) + 1;
        let hash = (behind.wrapping_mul(SPREAD) ^ ip).wrapping_mul(SPREAD);
        self.outcomes = self.outcomes << 1 | u64::from(taken);
        let tag = (hash >> 32) as u32;
        let last = self.sets.len() - 1;
        let set = &mut self.sets[(hash >> 20) as usize & last];
        let branch = &mut self.branches[(ip.wrapping_mul(SPREAD) >> 52) as usize % BRANCHES];
        let way = set.iter().position(|entry| entry.tag == tag);
        let is_right = (way.map_or(*branch, |way| set[way].counter) >= 0) == taken;
        *branch = step(*branch, taken, -2, 1);
        if let Some(way) = way {
            set[way].counter = step(set[way].counter, taken, -2, 1);
            if way > 0 {
                set[..=way].rotate_right(1);
            }
        } else if !is_right {
            set.rotate_right(1);
            let counter = if taken { 0 } else { -1 };
            set[0] = Entry { tag, counter };
        }
        if is_right {
            0
        } else if taken {
            self.taken_correction_cycles
        } else {
            self.correction_cycles
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cores::ZEN_4;

    const BRANCH: u64 = 0x40_1000;

    /// Returns how often prediction goes back for a branch in a loop whose outcomes repeat, for
    /// each of them.
    fn corrected(outcomes: &[bool]) -> f64 {
        let parameters = ZEN_4.prediction.first_level.expect("this core has one");
        let mut first = FirstLevel::new(&parameters);
        let mut pass = || {
            let mut corrected = 0;
            for &taken in outcomes {
                corrected += u64::from(first.correct(BRANCH, taken) > 0);
                corrected += u64::from(first.correct(BRANCH + 32, true) > 0);
            }
            corrected
        };
        for _ in 0..4000 / outcomes.len() + 10 {
            pass();
        }
        pass() as f64 / outcomes.len() as f64
    }

    fn random(count: usize) -> Vec<bool> {
        let mut state = 1_u64;
        let next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state >> 32 & 1 == 1
        };
        std::iter::repeat_with(next).take(count).collect()
    }

    /// As measured: an outcome that is seldom costs nothing up to 12 iterations apart, and is
    /// corrected from 16 on.
    #[test]
    fn recent_outcome_is_predicted_early() {
        for seldom in [true, false] {
            let every = |period: usize| -> Vec<bool> {
                let outcomes = 0..period * 8;
                outcomes.map(|n| (n % period == 0) == seldom).collect()
            };
            for period in [3, 6, 8, 12] {
                assert_eq!(corrected(&every(period)), 0.0, "{period}");
            }
            for period in [16, 24, 64] {
                let once = 1.0 / period as f64;
                assert!(corrected(&every(period)) >= once, "{period}");
            }
        }
    }

    /// As measured: of outcomes that repeat after 64, 256, 512 and 1024, the share of those that a
    /// guess gets wrong is 0, 10, 53 and 87 %.
    #[test]
    fn soon_repeated_random_outcomes_are_predicted_early() {
        assert!(corrected(&random(64)) < 0.02);
        assert!(corrected(&random(256)) < 0.12);
        assert!((0.2..0.4).contains(&corrected(&random(512))));
        assert!((0.4..0.6).contains(&corrected(&random(2048))));
    }
}
