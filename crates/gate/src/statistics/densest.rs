//! The densest part of a suite: the benchmarks that did not change, as long as there are that many.

use statrs::distribution::{ContinuousCDF, Normal};

/// Drift is learned from this fraction of a suite, and from at least three benchmarks.
const DENSEST: f64 = 0.4;
const MIN_DENSEST_BENCHMARKS: usize = 3;
/// The centre of the densest part is closer to its benchmarks than the true centre is. With k
/// benchmarks in it, their distance from it shrinks by 1 − a·k^(−2/3); a test simulates it.
const SHRINKAGE: f64 = 1.57;
/// Benchmarks within this many deviations of the densest part count too.
const NEAR: f64 = 2.5;
/// The variance of a normal quantity that is kept within `NEAR`.
pub const NEAR_VARIANCE: f64 = 0.911;
/// With k benchmarks in the densest part, the lower quartile of its reach is below the median by
/// this over √k.
const DENSEST_QUARTILE: f64 = 0.55;

/// The spread of the differences of an unchanged suite, each divided by its standard error: more
/// than 1, because t is wider than the normal distribution.
pub const EXPECTED_SPREAD: f64 = 1.05;

/// The difference of one benchmark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deviating {
    /// Candidate minus baseline, as a fraction of the baseline's total.
    pub difference: f64,
    /// Of that difference, from its launches.
    pub standard_error: f64,
}

impl Deviating {
    /// Returns the same for the logarithms of the two sides.
    pub fn in_logarithms(&self) -> Deviating {
        Deviating {
            difference: self.difference.ln_1p(),
            standard_error: self.standard_error / (1.0 + self.difference),
        }
    }
}

/// Returns how many of `size` benchmarks are the densest part.
pub fn densest_size(size: usize) -> usize {
    let part = (DENSEST * size as f64).ceil() as usize;
    part.max(MIN_DENSEST_BENCHMARKS).min(size)
}

/// Returns the densest part and the benchmarks that lie no farther from its centre than drift takes
/// them. In a small suite, the densest part alone has too few benchmarks to show the drift.
pub fn near_the_densest(benchmarks: &[Deviating]) -> Vec<Deviating> {
    let size = benchmarks.len();
    let within = densest_size(size);
    let centre = densest_centre(benchmarks.iter().map(|b| b.difference).collect(), within);
    let steadiest = 1.0 - DENSEST_QUARTILE / (within as f64).sqrt();
    let normal_distance = steadiest * normal_distance(size, within);
    // The smallest variance at which the k-th closest is as close as chance predicts.
    let mut variances: Vec<f64> = benchmarks
        .iter()
        .map(|b| ((b.difference - centre) / normal_distance).powi(2) - b.standard_error.powi(2))
        .collect();
    let (_, variance, _) = variances.select_nth_unstable_by(within - 1, f64::total_cmp);
    let variance = variance.max(0.0);
    let is_near = |b: &&Deviating| {
        let whole = b.standard_error.powi(2) + variance;
        (b.difference - centre).powi(2) <= (NEAR * EXPECTED_SPREAD).powi(2) * whole
    };
    benchmarks.iter().filter(is_near).copied().collect()
}

/// Returns the middle of the shortest interval that holds `within` of the differences.
pub fn densest_centre(mut differences: Vec<f64>, within: usize) -> f64 {
    differences.sort_unstable_by(f64::total_cmp);
    let ends = differences.windows(within).map(|w| (w[0], w[within - 1]));
    ends.min_by(|a, b| (a.1 - a.0).total_cmp(&(b.1 - b.0)))
        .map_or(0.0, |(low, high)| (low + high) / 2.0)
}

/// Returns the distance from the centre of the densest part to the farthest of its `within`
/// benchmarks, in standard errors, if all `size` of them are unchanged and there is no drift: the
/// median over suites.
fn normal_distance(size: usize, within: usize) -> f64 {
    let part = (within as f64 / size as f64).min(1.0 - 0.5 / size as f64);
    let quantile = Normal::standard().inverse_cdf(0.5 + part / 2.0);
    EXPECTED_SPREAD * quantile * (1.0 - SHRINKAGE * (within as f64).powf(-2.0 / 3.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::normal;
    use crate::statistics::median;
    use fastrand::Rng;

    #[test]
    fn normal_distance_matches_chance() {
        let mut rng = Rng::with_seed(20261122);
        for size in [10, 12, 16, 20, 30, 50, 100, 200, 1000] {
            let within = densest_size(size);
            let drawn = (0..1000).map(|_| {
                let values: Vec<f64> = (0..size)
                    .map(|_| EXPECTED_SPREAD * normal(&mut rng))
                    .collect();
                let centre = densest_centre(values.clone(), within);
                let mut distances: Vec<f64> =
                    values.iter().map(|value| (value - centre).abs()).collect();
                distances.sort_by(f64::total_cmp);
                distances[within - 1]
            });
            let drawn = median(drawn.collect()).unwrap();
            let ratio = normal_distance(size, within) / drawn;
            assert!((0.94..1.06).contains(&ratio), "{size}: {ratio}");
        }
    }
}
