//! Prior for the noise of one benchmark, from the whole suite.
//!
//! Five or ten launches say little about a variance. The suite's other variances say more, so all
//! are treated as draws from a scaled inverse chi-square, fitted by the moments of their logarithms
//! (Smyth 2004, "Linear models and empirical Bayes methods for assessing differential expression",
//! section 6.2).

use statrs::function::gamma::digamma;

use super::polygamma::{inverse_trigamma, trigamma};
use super::spread::Spread;
use super::{mean, variance};

/// A smaller variance means identical launches, not noise; its logarithm would dominate the fit.
const MIN_VARIANCE: f64 = 1e-10;
/// Nothing is fitted to fewer variances.
const MIN_VARIANCES: usize = 20;
/// The degrees of freedom of the prior that is used instead.
const DEFAULT_DEGREES_OF_FREEDOM: f64 = 3.0;
/// The prior weighs at most as much as a benchmark of seven launches: a suite of similar benchmarks
/// must not drown out one that differs.
const DEGREES_OF_FREEDOM: std::ops::RangeInclusive<f64> = 1.0..=6.0;
/// No suite is less noisy than this (standard deviation, as a fraction of the total).
const MIN_DEVIATION: f64 = 0.001;

/// The distribution of the variances of a metric over a suite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prior {
    /// Weight of the prior, in launches.
    pub degrees_of_freedom: f64,
    /// The typical variance, in squared fractions of the total.
    pub variance: f64,
    /// Whether it was fitted to the suite, or assumed because the suite is too small.
    pub fitted: bool,
}

impl Prior {
    /// Fits the prior to these variances. With fewer than 20 usable ones, it has 3 degrees of
    /// freedom and the standard deviation `assumed_deviation`.
    pub fn fit(spreads: impl Iterator<Item = Spread>, assumed_deviation: f64) -> Prior {
        let (logarithms, trigammas): (Vec<f64>, Vec<f64>) = spreads
            .filter(|spread| spread.launches > 1 && spread.variance > MIN_VARIANCE)
            .map(|spread| {
                let half = spread.degrees_of_freedom() / 2.0;
                (
                    spread.variance.ln() - digamma(half) + half.ln(),
                    trigamma(half),
                )
            })
            .unzip();
        if logarithms.len() < MIN_VARIANCES {
            return Prior {
                degrees_of_freedom: DEFAULT_DEGREES_OF_FREEDOM,
                variance: assumed_deviation.powi(2),
                fitted: false,
            };
        }
        let excess = variance(&logarithms) - mean(&trigammas);
        let degrees_of_freedom = if excess > 0.0 {
            (2.0 * inverse_trigamma(excess))
                .clamp(*DEGREES_OF_FREEDOM.start(), *DEGREES_OF_FREEDOM.end())
        } else {
            *DEGREES_OF_FREEDOM.end()
        };
        let half = degrees_of_freedom / 2.0;
        let variance = (mean(&logarithms) + digamma(half) - half.ln()).exp();
        Prior {
            degrees_of_freedom,
            variance: variance.max(MIN_DEVIATION.powi(2)),
            fitted: true,
        }
    }

    /// Returns the variance of one side, shrunk towards the prior, but never below its own: a
    /// benchmark noisier than the suite must not be judged as if it were not.
    pub fn moderate(&self, spread: Spread) -> f64 {
        let own = spread.degrees_of_freedom();
        let moderated = (self.degrees_of_freedom * self.variance + own * spread.variance)
            / (self.degrees_of_freedom + own);
        moderated.max(spread.variance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spreads(variances: impl Iterator<Item = f64>) -> Vec<Spread> {
        variances
            .map(|variance| Spread {
                launches: 5,
                variance,
                autocorrelation: None,
            })
            .collect()
    }

    #[test]
    fn equal_variances_give_the_strongest_prior() {
        let equal = spreads(std::iter::repeat_n(1e-4, 40));
        let prior = Prior::fit(equal.into_iter(), 0.01);
        assert_eq!(prior.degrees_of_freedom, 6.0);
    }

    #[test]
    fn wild_variances_give_the_weakest_prior() {
        let wild = spreads((0..40).map(|n| 1e-8 * 1.5_f64.powi(n)));
        assert_eq!(Prior::fit(wild.into_iter(), 0.01).degrees_of_freedom, 1.0);
    }

    #[test]
    fn identical_launches_give_no_prior() {
        let identical = spreads(std::iter::repeat_n(0.0, 100));
        let prior = Prior::fit(identical.into_iter(), 0.01);
        assert!(!prior.fitted);
        assert_eq!(prior.variance, 1e-4);
        let still = spreads(std::iter::repeat_n(1e-9, 100));
        let prior = Prior::fit(still.into_iter(), 0.01);
        assert_eq!(prior.variance, MIN_DEVIATION.powi(2));
    }
}
