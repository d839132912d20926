//! Launches on a slow path: far above the others of their side.
//!
//! Hash seeds and memory layout choose a path per process, so a change can slow two launches of ten
//! and leave the others as they were. A mean hides that, and a test of means calls it noise. So the
//! tails are compared: how many launches are far above the median of their own side, and how often
//! that happens to the suite.

use statrs::function::beta::ln_beta;
use statrs::function::factorial::ln_binomial;

use super::median;

/// A slow launch is farther above the median than this many robust standard deviations.
const MIN_DEVIATIONS: f64 = 6.0;
/// Converts a median absolute deviation to a standard deviation, for normal values.
const MAD_TO_DEVIATION: f64 = 1.4826;
/// One slow launch is an accident.
const MIN_SLOW: usize = 2;
/// Each slow launch of the baseline demands this many more of the candidate.
const PER_BASELINE: usize = 2;
/// Prior of a probability (Jeffreys).
const PRIOR: f64 = 0.5;

/// The slow launches of one side, or of many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tail {
    /// Number of slow ones.
    pub slow: usize,
    /// Their number.
    pub launches: usize,
}

impl Tail {
    /// Counts the launches that are more than the fraction `min_distance` above their median.
    pub fn of(launches: &[f64], min_distance: f64) -> Tail {
        Tail {
            slow: slow(launches, min_distance).len(),
            launches: launches.len(),
        }
    }

    /// Returns whether these launches of a candidate may have a slow path that `baseline` lacks.
    pub fn is_beyond(self, baseline: Tail) -> bool {
        // With half of them on it, it is a mode, and the mean shows it.
        self.slow >= MIN_SLOW + PER_BASELINE * baseline.slow && 2 * self.slow < self.launches
    }

    /// Returns whether these are at most accidents.
    pub fn is_accidental(self) -> bool {
        self.slow < MIN_SLOW
    }

    /// Returns the sum of two.
    #[must_use]
    pub fn plus(self, other: Tail) -> Tail {
        Tail {
            slow: self.slow + other.slow,
            launches: self.launches + other.launches,
        }
    }

    /// Returns the probability of this many slow launches or more, if a launch is slow as often as
    /// in `others`: the tail of the beta-binomial distribution.
    pub fn tail_probability(self, others: Tail) -> f64 {
        let a = others.slow as f64 + PRIOR;
        let b = (others.launches - others.slow) as f64 + PRIOR;
        let all = self.launches as u64;
        let probability = |slow: u64| {
            let (slow_now, fast_now) = (slow as f64, (all - slow) as f64);
            (ln_binomial(all, slow) + ln_beta(a + slow_now, b + fast_now) - ln_beta(a, b)).exp()
        };
        let p: f64 = (self.slow as u64..=all).map(probability).sum();
        p.min(1.0)
    }
}

/// Returns how much slower the slow launches are than the median, as a fraction of it: in the
/// middle. `None` if none is slow.
pub fn excess(launches: &[f64], min_distance: f64) -> Option<f64> {
    median(slow(launches, min_distance))
}

/// Returns by how much each slow launch is above the median.
fn slow(launches: &[f64], min_distance: f64) -> Vec<f64> {
    let Some(middle) = median(launches.to_vec()).filter(|middle| *middle > 0.0) else {
        return Vec::new();
    };
    let above = launches.iter().map(|launch| launch / middle - 1.0);
    let distances: Vec<f64> = above.clone().map(f64::abs).collect();
    let deviation = MAD_TO_DEVIATION * median(distances).unwrap_or(0.0);
    let limit = min_distance.max(MIN_DEVIATIONS * deviation);
    above.filter(|above| *above > limit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::normal;
    use fastrand::Rng;

    const STEADY: [f64; 10] = [1.0, 1.01, 0.99, 1.02, 0.98, 1.0, 1.01, 0.99, 1.0, 1.01];

    fn with(indices: &[(usize, f64)]) -> Vec<f64> {
        let mut launches = STEADY.to_vec();
        for (index, factor) in indices {
            launches[*index] *= factor;
        }
        launches
    }

    fn tail(slow: usize, launches: usize) -> Tail {
        Tail { slow, launches }
    }

    #[test]
    fn slow_launches_are_counted_fast_ones_are_not() {
        assert_eq!(Tail::of(&STEADY, 0.06), tail(0, 10));
        let launches = with(&[(1, 2.0), (4, 1.2), (7, 0.5)]);
        assert_eq!(Tail::of(&launches, 0.06), tail(2, 10));
        assert!((excess(&launches, 0.06).unwrap() - 0.598).abs() < 0.01);
        assert_eq!(Tail::of(&[], 0.06), tail(0, 0));
        assert_eq!(Tail::of(&[0.0, 0.0, 5.0], 0.06), tail(0, 3));
        assert_eq!(excess(&STEADY, 0.06), None);
    }

    #[test]
    fn noisy_launches_have_no_slow_path() {
        let mut rng = Rng::with_seed(20261128);
        for deviation in [0.01, 0.03, 0.1] {
            let sides = 1000;
            let beyond = (0..sides)
                .filter(|_| {
                    let side: Vec<f64> = (0..10)
                        .map(|_| (1.0 + deviation * normal(&mut rng)).max(0.1))
                        .collect();
                    Tail::of(&side, 0.06).is_beyond(tail(0, 10))
                })
                .count();
            assert!(beyond <= 2, "{deviation}: {beyond}");
        }
    }

    #[test]
    fn baseline_with_slow_launches_demands_more() {
        assert!(tail(2, 10).is_beyond(tail(0, 10)));
        assert!(!tail(1, 10).is_beyond(tail(0, 10)));
        assert!(!tail(3, 10).is_beyond(tail(1, 10)));
        assert!(tail(4, 10).is_beyond(tail(1, 10)));
        assert!(!tail(5, 10).is_beyond(tail(0, 10)));
    }

    /// Expected values by scipy 1.16.3, `stats.betabinom.sf(k - 1, n, slow + 0.5, fast + 0.5)`.
    #[test]
    fn p_value_equals_scipy() {
        for (side, others, expected) in [
            (tail(2, 10), tail(0, 100), SCIPY[0]),
            (tail(2, 10), tail(10, 500), SCIPY[1]),
            (tail(3, 10), tail(0, 20), SCIPY[2]),
            (tail(0, 10), tail(3, 20), 1.0),
        ] {
            let p = side.tail_probability(others);
            assert!((p / expected - 1.0).abs() < 1e-9, "{side:?}: {p}");
        }
    }

    const SCIPY: [f64; 3] = [
        0.0028870056568512936,
        0.018934063872628748,
        0.01027844502009101,
    ];
}
