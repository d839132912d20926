//! Smallest change that the gate finds.
//!
//! The gate hits a metric if the measured difference reaches the point margin and is t standard
//! errors above the sure margin. The standard error itself is estimated from few launches, so the
//! required difference varies from comparison to comparison. The power is averaged over that:
//! variances of n launches of a normal quantity are σ²·χ²/(n − 1), and each side's χ² is replaced
//! by the middles of equally likely classes.

use statrs::distribution::{ChiSquared, ContinuousCDF, Normal};

use super::contrast::Contrast;
use super::noise::{Noise, Uncertainty};
use super::spread::Spread;
use super::student::Quantiles;

/// The probability with which a change is to be found.
pub const POWER: f64 = 0.8;

/// Classes of each side's variance. With 8 the power is off by at most two percentage points.
const CLASSES: usize = 8;

/// The largest smallest change that is searched for, and the precision of the search.
const LARGEST_CHANGE: f64 = 10.0;
const PRECISION: f64 = 1e-4;

/// A planned comparison.
pub struct Plan {
    launches: usize,
    /// The sample variance of each class, in units of the true one.
    variances: Vec<f64>,
    per_test: Quantiles,
}

/// One metric of one benchmark in a planned comparison, in fractions of the baseline's total.
#[derive(Clone, Copy, Debug)]
pub struct Planned<'a> {
    /// The true standard deviation between launches.
    pub deviation: f64,
    /// That of the total by which differences are divided; it matters more the larger the change
    /// is. Equal to `deviation` for the total itself.
    pub total_deviation: f64,
    /// What the suite says about noise.
    pub noise: &'a Noise,
    /// What the true difference must surely be above, including the resolution.
    pub sure_margin: f64,
    /// What the measured difference must be at least.
    pub point_margin: f64,
}

impl Plan {
    /// Plans a comparison of `launches` on each side, with an error probability of `alpha_per_test`
    /// for every metric and benchmark. Returns `None` for fewer than two launches, which find
    /// nothing.
    pub fn new(launches: usize, alpha_per_test: f64) -> Option<Plan> {
        let degrees_of_freedom = launches.checked_sub(1)? as f64;
        let chi_squared = ChiSquared::new(degrees_of_freedom).ok()?;
        let middle = |class| (class as f64 + 0.5) / CLASSES as f64;
        Some(Plan {
            launches,
            variances: (0..CLASSES)
                .map(|class| chi_squared.inverse_cdf(middle(class)) / degrees_of_freedom)
                .collect(),
            per_test: Quantiles::for_tail(alpha_per_test),
        })
    }

    /// Returns the smallest change that is hit with the probability [`POWER`]; `None` if it is more
    /// than ten times the baseline's total.
    pub fn smallest_change(&self, planned: Planned<'_>) -> Option<f64> {
        let is_found = |change: f64| self.power(planned, change) >= POWER;
        let mut high = planned.point_margin.max(PRECISION);
        while !is_found(high) {
            high *= 2.0;
            if high > LARGEST_CHANGE {
                return None;
            }
        }
        let mut low = high / 2.0;
        while high - low > PRECISION {
            let middle = (low + high) / 2.0;
            if is_found(middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
        Some(high)
    }

    /// Returns the probability that a true change is hit.
    fn power(&self, planned: Planned<'_>, change: f64) -> f64 {
        // As if the metric and the total varied together, which is the worst case.
        let deviations = [
            planned.deviation + change * planned.total_deviation,
            planned.deviation,
        ];
        let variances = deviations.map(|deviation| deviation.powi(2));
        let of_launches = variances.iter().sum::<f64>() / self.launches as f64;
        let error = of_launches.sqrt();
        let spread = |variance| Spread {
            launches: self.launches,
            variance,
            autocorrelation: None,
        };
        let mut hits = 0.0;
        for baseline in &self.variances {
            for candidate in &self.variances {
                let estimate = planned.noise.estimate(&Contrast {
                    baseline_mean: 1.0,
                    candidate_mean: 1.0 + change,
                    difference: change,
                    baseline: spread(baseline * variances[0]),
                    candidate: spread(candidate * variances[1]),
                });
                let Uncertainty {
                    standard_error,
                    degrees_of_freedom,
                } = estimate.of_launches;
                let sure =
                    planned.sure_margin + self.per_test.at(degrees_of_freedom) * standard_error;
                hits += probability_above(change - sure.max(planned.point_margin), error);
            }
        }
        hits / (CLASSES * CLASSES) as f64
    }
}

/// Returns the probability that a normal quantity with this mean and standard deviation is above 0.
pub(super) fn probability_above(mean: f64, deviation: f64) -> f64 {
    match Normal::new(0.0, deviation) {
        Ok(normal) => normal.cdf(mean),
        // Without noise there is no doubt.
        Err(_) if mean >= 0.0 => 1.0,
        Err(_) => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::normal;
    use crate::statistics::contrast::Launches;
    use crate::statistics::drift::Drift;
    use crate::statistics::prior::Prior;
    use fastrand::Rng;

    const ALPHA_PER_TEST: f64 = 0.05 / 100.0;
    const SURE: f64 = 0.01;
    const POINT: f64 = 0.03;

    fn noise(degrees_of_freedom: f64, deviation: f64) -> Noise {
        Noise {
            prior: Prior {
                degrees_of_freedom,
                variance: deviation.powi(2),
                fitted: true,
            },
            autocorrelation: 0.0,
            drift: Drift::NONE,
            common: None,
        }
    }

    fn smallest(launches: usize, deviation: f64, noise: &Noise) -> f64 {
        let plan = Plan::new(launches, ALPHA_PER_TEST).unwrap();
        plan.smallest_change(Planned {
            deviation,
            total_deviation: deviation,
            noise,
            sure_margin: SURE,
            point_margin: POINT,
        })
        .unwrap()
    }

    /// Returns how often the gate's own test hits a true change, with normal launches.
    fn simulated_power(launches: usize, deviation: f64, noise: &Noise, change: f64) -> f64 {
        const TRIALS: u32 = 4000;
        let mut rng = Rng::with_seed(20261121);
        let mut side = |mean: f64| -> Vec<f64> {
            (0..launches)
                .map(|_| mean + deviation * normal(&mut rng))
                .collect()
        };
        let hits = (0..TRIALS).filter(|_| {
            let (baseline, candidate) = (side(1.0), side(1.0 + change));
            let contrast = Contrast::new(Launches {
                baseline: &baseline,
                baseline_total: &baseline,
                candidate: &candidate,
            });
            let estimate = noise.estimate(&contrast.unwrap());
            estimate.difference >= POINT
                && estimate.is_certainly_slower(SURE, 0.0).p < ALPHA_PER_TEST
        });
        hits.count() as f64 / f64::from(TRIALS)
    }

    /// 4000 trials are off by 0.6 percentage points, or a few times that at worst.
    #[test]
    fn smallest_change_is_found_four_times_in_five() {
        for launches in [3, 5, 10, 20] {
            for (deviation, noise) in [
                (0.002, noise(3.0, 0.01)),
                (0.01, noise(3.0, 0.01)),
                (0.03, noise(6.0, 0.01)),
                (0.02, noise(6.0, 0.02)),
            ] {
                let change = smallest(launches, deviation, &noise);
                let power = simulated_power(launches, deviation, &noise, change);
                assert!(
                    (power - POWER).abs() < 0.025,
                    "{launches} launches, sd {deviation}: {change} is found with {power}"
                );
            }
        }
    }

    #[test]
    fn more_launches_see_more_down_to_the_margin() {
        let noise = noise(3.0, 0.01);
        let mut before = f64::INFINITY;
        for launches in [2, 5, 10, 20, 50] {
            let change = smallest(launches, 0.01, &noise);
            assert!(change < before && change >= POINT, "{launches}: {change}");
            before = change;
        }
        // Launches without any noise find the point margin itself.
        assert!((smallest(50, 0.0, &noise) - POINT).abs() <= PRECISION);
    }

    #[test]
    fn one_launch_or_hopeless_noise_sees_nothing() {
        let noise = noise(3.0, 0.01);
        let hopeless = Planned {
            deviation: 0.8,
            total_deviation: 0.8,
            noise: &noise,
            sure_margin: SURE,
            point_margin: POINT,
        };
        let plan = Plan::new(3, ALPHA_PER_TEST).unwrap();
        assert_eq!(plan.smallest_change(hopeless), None);
        assert!(Plan::new(1, ALPHA_PER_TEST).is_none());
        assert!(Plan::new(0, ALPHA_PER_TEST).is_none());
    }
}
