//! The difference that the benchmarks of a suite have in common.

use statrs::distribution::{Binomial, DiscreteCDF};

use super::densest::{densest_centre, densest_size};
use super::margin::reaches;
use super::median;

/// The error of each end of the interval of a median.
const ONE_SIDED_ERROR: f64 = 0.025;

/// The common part of a suite's differences.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CommonDifference {
    /// The median of the differences.
    pub median: f64,
    /// The lower end of its 95 % interval, which is one of the suite's differences: nothing is
    /// assumed about their distribution.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The centre of the densest 40 %.
    pub densest: f64,
}

impl CommonDifference {
    /// Returns `None` for fewer than ten differences.
    pub fn new(mut differences: Vec<f64>) -> Option<CommonDifference> {
        const MIN_BENCHMARKS: usize = 10;
        let size = differences.len();
        if size < MIN_BENCHMARKS {
            return None;
        }
        differences.sort_unstable_by(f64::total_cmp);
        // The number of differences below the median is binomial.
        let below = Binomial::new(0.5, size as u64).ok()?;
        let beyond = usize::try_from(below.inverse_cdf(ONE_SIDED_ERROR)).ok()?;
        let rank = beyond.checked_sub(1)?;
        Some(CommonDifference {
            low: *differences.get(rank)?,
            high: *differences.get(size - 1 - rank)?,
            median: median(differences.clone())?,
            densest: densest_centre(differences, densest_size(size)),
        })
    }

    /// Returns whether the suite as a whole moved in the direction of `difference`: by at least
    /// `point`, surely by more than `sure`, and without an unchanged part.
    ///
    /// A benchmark's difference from the others is then not a sign of drift: if it is drift, the
    /// benchmark changed as the others did; if it is not, it changed by all it shows.
    pub fn moved(&self, difference: f64, point: f64, sure: f64) -> bool {
        let (median, surely, densest) = if difference > 0.0 {
            (self.median, self.low, self.densest)
        } else {
            (-self.median, -self.high, -self.densest)
        };
        reaches(median, point) && surely > sure && densest > sure
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_part_is_a_median_with_interval() {
        let slower: Vec<f64> = (0..12).map(|n| 0.02 + 0.01 * f64::from(n)).collect();
        let common = CommonDifference::new(slower).unwrap();
        // P(two or fewer of twelve below the median) = 79/4096 < 2.5 %.
        assert!((common.low - 0.04).abs() < 1e-12, "{common:?}");
        assert!((common.high - 0.11).abs() < 1e-12);
        assert!((common.median - 0.075).abs() < 1e-12);
        assert!(common.moved(0.1, 0.03, 0.01));
        assert!(!common.moved(-0.1, 0.03, 0.01));
        assert_eq!(CommonDifference::new(vec![0.1; 9]), None);
    }

    #[test]
    fn unchanged_half_prevents_a_common_move() {
        let mut half: Vec<f64> = vec![0.0; 13];
        half.extend((0..17).map(|n| 0.05 + 0.01 * f64::from(n)));
        let common = CommonDifference::new(half).unwrap();
        assert!(
            common.median > 0.03 && !common.moved(0.1, 0.03, 0.01),
            "{common:?}"
        );
    }
}
