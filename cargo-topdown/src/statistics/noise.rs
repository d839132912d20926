//! The noise of one metric over a suite, and what it makes of each benchmark's difference.

use super::contrast::Contrast;
use super::median;
use super::prior::Prior;
use super::student::upper_tail;

/// With fewer launches on a side no standard deviation below [`FEW_LAUNCHES_DEVIATION`] is
/// believed.
const FEW_LAUNCHES: usize = 5;
const FEW_LAUNCHES_DEVIATION: f64 = 0.025;
/// With fewer benchmarks the suite says nothing about its own spread.
const LEAST_BENCHMARKS_FOR_INFLATION: usize = 10;
/// Makes a median absolute deviation a standard deviation, for normal values.
const MAD_TO_DEVIATION: f64 = 1.4826;
/// The differences of an unchanged suite, each divided by its standard error, spread by this much
/// because t is wider than the normal distribution.
const EXPECTED_SPREAD: f64 = 1.05;

/// How noisy a metric is over a suite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// The variances of the suite.
    pub prior: Prior,
    /// λ ≥ 1: by how much the benchmarks of the suite differ between the sides more than their
    /// launches predict. A drift between two sessions shows here and nowhere else. The idea is
    /// genomic control (Devlin & Roeder 1999).
    pub inflation: f64,
}

impl Noise {
    /// The noise that these benchmarks show. The order of `contrasts` decides the last bit of the
    /// result: it must not depend on anything accidental.
    pub fn of(contrasts: &[Contrast], assumed_deviation: f64) -> Noise {
        let spreads = contrasts
            .iter()
            .flat_map(|contrast| [contrast.baseline, contrast.candidate]);
        let mut noise = Noise {
            prior: Prior::fit(spreads, assumed_deviation),
            inflation: 1.0,
        };
        if contrasts.len() >= LEAST_BENCHMARKS_FOR_INFLATION {
            let centre = median(contrasts.iter().map(|c| c.difference).collect()).unwrap_or(0.0);
            let scaled = contrasts.iter().map(|contrast| {
                (contrast.difference - centre).abs() / noise.estimate(contrast).standard_error
            });
            let spread = median(scaled.collect()).unwrap_or(0.0) * MAD_TO_DEVIATION;
            noise.inflation = (spread / EXPECTED_SPREAD).max(1.0);
        }
        noise
    }

    /// What this noise makes of a difference.
    pub fn estimate(&self, contrast: &Contrast) -> Estimate {
        let least = if contrast.least_launches() < FEW_LAUNCHES {
            FEW_LAUNCHES_DEVIATION.powi(2)
        } else {
            0.0
        };
        let [baseline, candidate] = [contrast.baseline, contrast.candidate].map(|spread| Side {
            variance: self.prior.moderate(spread).max(least),
            launches: spread.launches as f64,
            degrees_of_freedom: self.prior.degrees_of_freedom + spread.degrees_of_freedom(),
        });
        let (a, b) = (baseline.of_mean(), candidate.of_mean());
        Estimate {
            difference: contrast.difference,
            baseline_deviation: baseline.variance.sqrt(),
            candidate_deviation: candidate.variance.sqrt(),
            standard_error: self.inflation * (a + b).sqrt(),
            // Welch–Satterthwaite.
            degrees_of_freedom: (a + b).powi(2)
                / (a.powi(2) / baseline.degrees_of_freedom
                    + b.powi(2) / candidate.degrees_of_freedom),
        }
    }
}

struct Side {
    variance: f64,
    launches: f64,
    degrees_of_freedom: f64,
}

impl Side {
    fn of_mean(&self) -> f64 {
        self.variance / self.launches
    }
}

/// A difference with its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Candidate less baseline, a fraction of the baseline's total.
    pub difference: f64,
    /// The moderated standard deviation between launches of the baseline.
    pub baseline_deviation: f64,
    /// The same of the candidate.
    pub candidate_deviation: f64,
    /// The standard error of the difference, inflation included.
    pub standard_error: f64,
    /// The degrees of freedom of the standard error.
    pub degrees_of_freedom: f64,
}

impl Estimate {
    /// The p-value against "the true difference is at most `limit`".
    pub fn p_above(&self, limit: f64) -> f64 {
        upper_tail(
            (self.difference - limit) / self.standard_error,
            self.degrees_of_freedom,
        )
    }

    /// The p-value against "the true difference is at least `limit`".
    pub fn p_below(&self, limit: f64) -> f64 {
        upper_tail(
            (limit - self.difference) / self.standard_error,
            self.degrees_of_freedom,
        )
    }
}
