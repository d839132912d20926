//! The difference of two sets of launches, in units of the baseline's total.
//!
//! The difference of every category is divided by the same number, the baseline's total slots per
//! iteration. So the differences of the categories add up exactly to that of the total, and a tiny
//! category that doubles stays tiny.

use super::mean;
use super::spread::Spread;

/// The launches of one metric of one benchmark: both sides, and the total that is the unit.
#[derive(Clone, Copy, Debug)]
pub struct Launches<'a> {
    /// The metric, per iteration, for each launch of the baseline.
    pub baseline: &'a [f64],
    /// The total for the same launches: slots for slots and their categories, wall-clock time for
    /// itself.
    pub baseline_total: &'a [f64],
    /// The metric for each launch of the candidate.
    pub candidate: &'a [f64],
}

/// The difference of two sides, and how much the launches of each differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contrast {
    /// The mean of the baseline's launches, per iteration.
    pub baseline_mean: f64,
    /// The mean of the candidate's launches, per iteration.
    pub candidate_mean: f64,
    /// Candidate minus baseline, as a fraction of the baseline's total.
    pub difference: f64,
    /// The baseline's launches. Includes the uncertainty of the total that everything is divided
    /// by.
    pub baseline: Spread,
    /// The candidate's launches.
    pub candidate: Spread,
}

impl Contrast {
    /// Returns `None` if a side has no launch or the baseline's total is not a positive number.
    ///
    /// The difference D is a ratio of means. Its variance is that of the linear contrast v − u with
    /// v = candidate / T and u = (baseline + D · total) / T, where T is the mean total.
    pub fn new(launches: Launches<'_>) -> Option<Contrast> {
        let total = mean(launches.baseline_total);
        if launches.candidate.is_empty() || !(total > 0.0 && total.is_finite()) {
            return None;
        }
        let baseline_mean = mean(launches.baseline);
        let candidate_mean = mean(launches.candidate);
        let difference = (candidate_mean - baseline_mean) / total;
        let baseline: Vec<f64> = launches
            .baseline
            .iter()
            .zip(launches.baseline_total)
            .map(|(value, value_total)| (value + difference * value_total) / total)
            .collect();
        let candidate: Vec<f64> = launches.candidate.iter().map(|v| v / total).collect();
        let contrast = Contrast {
            baseline_mean,
            candidate_mean,
            difference,
            baseline: Spread::new(&baseline),
            candidate: Spread::new(&candidate),
        };
        (difference.is_finite()
            && contrast.baseline.variance.is_finite()
            && contrast.candidate.variance.is_finite())
        .then_some(contrast)
    }

    /// Returns the number of launches of the side with fewer.
    pub fn min_launches(&self) -> usize {
        self.baseline.launches.min(self.candidate.launches)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unit_is_the_baseline_total() {
        let contrast = Contrast::new(Launches {
            baseline: &[10.0, 20.0],
            baseline_total: &[100.0, 100.0],
            candidate: &[20.0, 30.0],
        })
        .unwrap();
        assert!((contrast.difference - 0.1).abs() < 1e-15);
        assert!((contrast.candidate.variance - 0.005).abs() < 1e-15);
    }

    #[test]
    fn variance_includes_the_total() {
        // u = (x + D·x)/T with D = 1 and T = 100: twice the baseline's relative spread.
        let contrast = Contrast::new(Launches {
            baseline: &[90.0, 110.0],
            baseline_total: &[90.0, 110.0],
            candidate: &[200.0, 200.0],
        })
        .unwrap();
        assert_eq!(contrast.difference, 1.0);
        assert!((contrast.baseline.variance - 4.0 * 0.02).abs() < 1e-12);
    }

    #[test]
    fn zero_total_has_no_contrast() {
        let zero = Launches {
            baseline: &[0.0],
            baseline_total: &[0.0],
            candidate: &[1.0],
        };
        assert_eq!(Contrast::new(zero), None);
        let empty = Launches {
            baseline: &[],
            baseline_total: &[],
            candidate: &[1.0],
        };
        assert_eq!(Contrast::new(empty), None);
        let no_candidate = Launches {
            baseline: &[1.0],
            baseline_total: &[1.0],
            candidate: &[],
        };
        assert_eq!(Contrast::new(no_candidate), None);
    }
}
