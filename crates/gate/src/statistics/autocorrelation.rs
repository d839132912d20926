//! Autocorrelation of consecutive launches.
//!
//! Load on the machine that slows one launch slows the next one, too. The mean of consecutive
//! launches is then less certain than their variance suggests (the variance of the mean of a
//! first-order autoregression; Bartlett 1946, "On the theoretical specification and sampling
//! properties of autocorrelated time-series"). Ten launches of one benchmark do not show how much,
//! but those of a suite do.

use super::spread::Spread;
use super::{mean, variance};

/// Shorter series say next to nothing.
const MIN_LAUNCHES: usize = 8;
/// Nor does a suite with fewer series.
const MIN_SERIES: usize = 20;
/// Beyond this, a run counts as one launch.
const MAX_AUTOCORRELATION: f64 = 0.8;

/// Returns the correlation of neighbouring launches over a suite, as far as it is certain: minus
/// its standard error, and not below 0.
pub fn suite_autocorrelation(spreads: impl Iterator<Item = Spread>) -> f64 {
    let correlations: Vec<f64> = spreads
        .filter(|spread| spread.launches >= MIN_LAUNCHES)
        .filter_map(|spread| {
            // Deviations from their own mean alternate by this much (Marriott & Pope 1954).
            let launches = spread.launches as f64;
            let correlation = spread.autocorrelation?;
            Some((correlation + 1.0 / launches) / (1.0 - 4.0 / launches))
        })
        .collect();
    if correlations.len() < MIN_SERIES {
        return 0.0;
    }
    let error = (variance(&correlations) / correlations.len() as f64).sqrt();
    (mean(&correlations) - error).clamp(0.0, MAX_AUTOCORRELATION)
}

/// Returns the variance of the mean of this many launches whose neighbours have this `correlation`,
/// in units of their sample variance over their number.
pub fn variance_factor(correlation: f64, launches: f64) -> f64 {
    if correlation == 0.0 || launches < 2.0 {
        return 1.0;
    }
    let apart = 1.0 - correlation;
    let sum = (1.0 + correlation) / apart
        - 2.0 * correlation * (1.0 - correlation.powf(launches)) / (launches * apart * apart);
    // The sample variance is too small by as much as the mean varies.
    sum * (launches - 1.0) / (launches - sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::normal;
    use fastrand::Rng;

    fn series(correlation: f64, launches: usize, rng: &mut Rng) -> Vec<f64> {
        let mut state = normal(rng);
        (0..launches)
            .map(|_| {
                state =
                    correlation * state + (1.0 - correlation * correlation).sqrt() * normal(rng);
                state
            })
            .collect()
    }

    #[test]
    fn suite_estimates_autocorrelation() {
        let mut rng = Rng::with_seed(20261122);
        for planted in [0.0, 0.2, 0.4, 0.6] {
            let spreads = (0..400).map(|_| Spread::new(&series(planted, 10, &mut rng)));
            let found = suite_autocorrelation(spreads.collect::<Vec<_>>().into_iter());
            assert!((planted - found).abs() < 0.09, "{planted}: {found}");
        }
        let few = (0..19).map(|_| Spread::new(&series(0.6, 10, &mut rng)));
        assert_eq!(
            suite_autocorrelation(few.collect::<Vec<_>>().into_iter()),
            0.0
        );
    }

    #[test]
    fn means_of_correlated_launches_vary_as_stated() {
        let mut rng = Rng::with_seed(20261122);
        for launches in [5, 10] {
            for planted in [0.0, 0.4] {
                let drawn: Vec<(f64, f64)> = (0..4000)
                    .map(|_| {
                        let values = series(planted, launches, &mut rng);
                        (mean(&values), variance(&values))
                    })
                    .collect();
                let (means, variances): (Vec<f64>, Vec<f64>) = drawn.into_iter().unzip();
                let factor = variance(&means) * launches as f64 / mean(&variances);
                let said = variance_factor(planted, launches as f64);
                assert!(
                    (said / factor - 1.0).abs() < 0.1,
                    "{planted}: {said} {factor}"
                );
            }
        }
    }
}
