//! Finds wild launches, which certainly differ in kind from the others on their side.
//!
//! A backup, a throttled core, a cold page cache: one of ten launches takes ten times as long, and
//! dominates mean and variance. The rule is fixed in advance and only sees one side, so that it
//! cannot select what suits. It only catches extremes: launches of an ordinary noisy benchmark stay
//! in, and so do the modes of a benchmark that has several.

use super::median;

/// A wild launch is farther from the median of its side than this fraction of it …
const MIN_DISTANCE: f64 = 0.2;
/// … and than this many robust standard deviations.
const MIN_DEVIATIONS: f64 = 6.0;
/// More than one in this many is not an accident but a mode of the benchmark.
const MIN_LAUNCHES_PER_WILD: usize = 5;
/// Converts a median absolute deviation to a standard deviation, for normal values.
const MAD_TO_DEVIATION: f64 = 1.4826;

/// Returns the indices of the wild launches of one side, ascending.
pub fn wild(launches: &[f64]) -> Vec<usize> {
    // The median is among them, so none is farther from it than they are apart. This spares sorting
    // the launches of most benchmarks.
    let [min, max] = [f64::min, f64::max].map(|end| launches.iter().copied().reduce(end));
    if let (Some(min), Some(max)) = (min, max)
        && max - min < MIN_DISTANCE * min
    {
        return Vec::new();
    }
    let Some(middle) = median(launches.to_vec()).filter(|middle| *middle > 0.0) else {
        return Vec::new();
    };
    let distances: Vec<f64> = launches
        .iter()
        .map(|launch| (launch / middle - 1.0).abs())
        .collect();
    let deviation = MAD_TO_DEVIATION * median(distances.clone()).unwrap_or(0.0);
    let limit = MIN_DISTANCE.max(MIN_DEVIATIONS * deviation);
    let wild: Vec<usize> = (0..launches.len())
        .filter(|&index| distances[index] > limit)
        .collect();
    if wild.len() * MIN_LAUNCHES_PER_WILD > launches.len() {
        Vec::new()
    } else {
        wild
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::normal;
    use fastrand::Rng;

    const STEADY: [f64; 10] = [1.0, 1.01, 0.99, 1.02, 0.98, 1.0, 1.01, 0.99, 1.0, 1.01];

    fn with(indices: &[(usize, f64)]) -> Vec<usize> {
        let mut launches = STEADY;
        for (index, factor) in indices {
            launches[*index] *= factor;
        }
        wild(&launches)
    }

    #[test]
    fn up_to_two_wild_launches_of_ten_are_excluded() {
        assert_eq!(with(&[]), [0; 0]);
        assert_eq!(with(&[(3, 1.3)]), [3]);
        assert_eq!(with(&[(3, 10.0), (7, 0.5)]), [3, 7]);
        assert_eq!(with(&[(3, 10.0), (7, 10.0), (8, 10.0)]), [0; 0]);
        assert_eq!(with(&[(3, 1.15)]), [0; 0]);
    }

    #[test]
    fn one_of_five_launches_may_be_wild_none_of_four() {
        assert_eq!(wild(&[1.0, 1.0, 1.0, 1.0, 2.0]), [4]);
        assert_eq!(wild(&[1.0, 1.0, 1.0, 2.0]), [0; 0]);
        assert_eq!(wild(&[0.0, 0.0, 0.0, 0.0, 1.0]), [0; 0]);
        assert_eq!(wild(&[]), [0; 0]);
    }

    /// Wild launches are rare among launches that only vary, however much.
    #[test]
    fn noisy_launches_are_not_wild() {
        let mut rng = Rng::with_seed(20261122);
        for deviation in [0.03, 0.1, 0.25] {
            for (launches, most) in [(5, 60), (10, 15)] {
                let sides = 1000;
                let with_wild = (0..sides)
                    .filter(|_| {
                        let side: Vec<f64> = (0..launches)
                            .map(|_| (1.0 + deviation * normal(&mut rng)).max(0.1))
                            .collect();
                        !wild(&side).is_empty()
                    })
                    .count();
                assert!(with_wild <= most, "{deviation}, {launches}: {with_wild}");
            }
        }
    }

    /// Half of the launches in each mode: the smaller half is never cut off.
    #[test]
    fn modes_stay_together() {
        let mut rng = Rng::with_seed(20261122);
        for _ in 0..1000 {
            let side: Vec<f64> = (0..10)
                .map(|_| (1.0 + 0.6 * f64::from(rng.bool())) * (1.0 + 0.01 * normal(&mut rng)))
                .collect();
            let slow = side.iter().filter(|launch| **launch > 1.3).count();
            assert!(wild(&side).is_empty() || !(3..=7).contains(&slow));
        }
    }
}
