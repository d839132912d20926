//! Number of launches that would decide an inconclusive benchmark.
//!
//! The true difference is unknown. Either the benchmark did not change, or the estimate and its
//! standard error say where the difference probably is. For each number of launches, the
//! probability of a decision is averaged over both. If the true difference is at the margin, no
//! number of launches decides; that is said only if it is likely.

use super::noise::{Estimate, Uncertainty};
use super::power::probability_above;
use super::student::Quantiles;

/// More launches than this are not worth running.
pub const MAX_LAUNCHES: u32 = 50;
const MIN_LAUNCHES: u32 = 5;
/// The middles of nine equally likely classes of a standard normal quantity.
const CLASSES: [f64; 9] = [
    -1.593_2, -0.967_4, -0.589_5, -0.282_2, 0.0, 0.282_2, 0.589_5, 0.967_4, 1.593_2,
];

/// Half of the inconclusive benchmarks did not change; the others changed by anything within a
/// range of this width. Without this, a wide estimate would be taken for one near the margin.
const UNCHANGED: f64 = 0.5;
const RANGE_OF_CHANGES: f64 = 0.2;
/// No number of launches is likely to decide if the most launches do so with at most this
/// probability.
const UNLIKELY: f64 = 0.2;

/// A metric of an inconclusive benchmark, in fractions of the baseline's total.
pub struct Outlook<'a> {
    /// What has been measured so far.
    pub estimate: Estimate,
    /// The standard deviation between launches.
    pub launch_deviation: f64,
    /// What differs between the sides and does not shrink.
    pub drift_deviation: f64,
    /// What the suite adds to the degrees of freedom.
    pub prior_degrees_of_freedom: f64,
    /// The true difference must surely be above this.
    pub sure_margin: f64,
    /// The measured difference must be at least this.
    pub point_margin: f64,
    /// For the tests for a change.
    pub per_test: &'a Quantiles,
    /// For the two tests for no change.
    pub one_sided: &'a Quantiles,
}

/// What to do about an inconclusive benchmark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Advice {
    /// Launches per side that decide one in two of such benchmarks, and about three in four;
    /// `None` if more than [`MAX_LAUNCHES`].
    Launches(u32, Option<u32>),
    /// [`MAX_LAUNCHES`] decide fewer than one in two, but some: with this probability.
    Open(f64),
    /// No number of launches is likely to decide.
    Hopeless(Obstacle),
}

/// What prevents any number of launches from deciding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The difference is about as large as the margin.
    Margin,
    /// The sides drift.
    Drift,
    /// The launches differ too much.
    Noise,
}

impl Outlook<'_> {
    /// Returns the advice for a benchmark that has `launches` a side. Launches that decide `most`
    /// often are advised where there are such.
    pub fn advice(&self, [half, most]: [f64; 2], launches: u32) -> Advice {
        match self.launches(half, launches) {
            Some(needed) => Advice::Launches(needed, self.launches(most, launches)),
            None => match self.probability(MAX_LAUNCHES) {
                probability if probability > UNLIKELY => Advice::Open(probability),
                _ => Advice::Hopeless(self.obstacle()),
            },
        }
    }

    /// Returns the least number of launches per side, above `launches`, that decides with
    /// `probability`; `None` if 50 do not.
    fn launches(&self, probability: f64, launches: u32) -> Option<u32> {
        let least = (launches + 1).max(MIN_LAUNCHES);
        let (mut low, mut high) = (least, MAX_LAUNCHES);
        if low > high || self.probability(high) < probability {
            return None;
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if self.probability(middle) >= probability {
                high = middle
            } else {
                low = middle + 1
            }
        }
        Some(low)
    }

    /// Returns why 50 launches are not enough: if they would decide a benchmark that did not change
    /// at all, the reason is how close this one is to the margin.
    fn obstacle(&self) -> Obstacle {
        const SURE_MARGIN: f64 = 0.8;
        if self.decided(0.0, MAX_LAUNCHES, self.drift_deviation) >= SURE_MARGIN {
            Obstacle::Margin
        } else if self.decided(0.0, MAX_LAUNCHES, 0.0) >= SURE_MARGIN {
            Obstacle::Drift
        } else {
            Obstacle::Noise
        }
    }

    fn probability(&self, launches: u32) -> f64 {
        let Uncertainty { standard_error, .. } = self.estimate.whole;
        let difference = self.estimate.difference;
        let largest = difference.abs().max(RANGE_OF_CHANGES / 2.0);
        let decided = CLASSES.map(|class| {
            let truth = (difference + class * standard_error).clamp(-largest, largest);
            self.decided(truth, launches, self.drift_deviation)
        });
        let if_changed = decided.iter().sum::<f64>() / CLASSES.len() as f64;
        let if_unchanged = self.decided(0.0, launches, self.drift_deviation);
        // How likely each of the two makes the estimate (Bayes).
        let density = |deviations: f64| {
            (-deviations.powi(2) / 2.0).exp() / (standard_error * std::f64::consts::TAU.sqrt())
        };
        let unchanged = UNCHANGED * density(difference / standard_error);
        let unchanged = unchanged / (unchanged + (1.0 - UNCHANGED) / RANGE_OF_CHANGES);
        unchanged * if_unchanged + (1.0 - unchanged) * if_changed
    }

    /// Returns the probability that this many launches per side decide if `truth` is the
    /// difference.
    fn decided(&self, truth: f64, launches: u32, drift: f64) -> f64 {
        let of_launches = 2.0 * self.launch_deviation.powi(2) / f64::from(launches);
        // Drift within the error of the present launches may be that error, which shrinks.
        let now = self.estimate.of_launches.standard_error;
        let drift = if drift > now {
            drift
        } else {
            drift * (of_launches.sqrt() / now).min(1.0)
        };
        let error = (of_launches + drift.powi(2)).sqrt();
        let of_launches = of_launches.sqrt();
        let degrees_of_freedom = 2.0 * (self.prior_degrees_of_freedom + f64::from(launches) - 1.0);
        let t = self.per_test.at(degrees_of_freedom);
        let surely = (self.sure_margin + t * of_launches).max(t * error);
        let changed = surely.max(self.point_margin);
        let above = |limit: f64| probability_above(truth - limit, error);
        let within = self.point_margin - self.one_sided.at(degrees_of_freedom) * error;
        let unchanged = if within > 0.0 {
            above(-within) - above(within)
        } else {
            0.0
        };
        above(changed) + (1.0 - above(-changed)) + unchanged
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::normal;
    use fastrand::Rng;

    const SURE_MARGIN: f64 = 0.01;
    const POINT: f64 = 0.03;
    const ALPHA_PER_TEST: f64 = 0.05 / 100.0;
    const PRIOR: f64 = 6.0;
    const SURELY: Uncertainty = Uncertainty {
        standard_error: 0.0005,
        degrees_of_freedom: 30.0,
    };

    /// Draws an estimate of a true difference from this many launches per side, with a known
    /// deviation.
    fn drawn(truth: f64, deviation: f64, launches: u32, rng: &mut Rng) -> Estimate {
        let error = deviation * (2.0 / f64::from(launches)).sqrt();
        let uncertainty = Uncertainty {
            standard_error: error,
            degrees_of_freedom: 2.0 * (PRIOR + f64::from(launches) - 1.0),
        };
        Estimate {
            difference: truth + error * normal(rng),
            baseline_deviation: deviation,
            candidate_deviation: deviation,
            of_launches: uncertainty,
            whole: uncertainty,
            of_neighbour: 0.0,
            is_drift_assumed: false,
        }
    }

    fn is_decided(estimate: &Estimate) -> bool {
        let hit = |p: f64| p < ALPHA_PER_TEST && estimate.difference.abs() >= POINT;
        hit(estimate.is_certainly_slower(SURE_MARGIN, 0.0).p)
            || hit(estimate.is_certainly_faster(SURE_MARGIN).p)
            || estimate.p_above(-POINT) < 0.05 && estimate.p_below(POINT) < 0.05
    }

    /// Makes as many fresh launches as advised; half of the benchmarks did not change.
    #[test]
    fn advice_is_kept() {
        let mut rng = Rng::with_seed(20261122);
        for (probability, least, most) in [(0.5, 0.44, 0.70), (0.8, 0.68, 0.92)] {
            let rate = decided(0.05, &mut rng, |outlook| outlook.launches(probability, 10));
            assert!((least..most).contains(&rate), "{probability}: {rate}");
        }
    }

    #[test]
    fn hopeless_cases_get_no_launch_count() {
        let share = |is: fn(Advice) -> bool| {
            let mut rng = Rng::with_seed(20261122);
            decided(0.3, &mut rng, |outlook| {
                is(outlook.advice([0.5, 0.8], 10)).then_some(MAX_LAUNCHES)
            })
        };
        let hopeless = share(|advice| matches!(advice, Advice::Hopeless(_)));
        assert!(hopeless < UNLIKELY, "{hopeless}");
        let open = share(|advice| matches!(advice, Advice::Open(_)));
        assert!((hopeless..0.5).contains(&open), "{open}");
    }

    /// Returns the fraction of inconclusive benchmarks that were decided by as many fresh launches
    /// as `advised`; benchmarks without such advice are skipped. Half of them did not change, and
    /// launches differ by up to `max_deviation`.
    fn decided(
        max_deviation: f64,
        rng: &mut Rng,
        advised: impl Fn(&Outlook) -> Option<u32>,
    ) -> f64 {
        let per_test = Quantiles::for_tail(ALPHA_PER_TEST);
        let one_sided = Quantiles::for_tail(0.05);
        let (mut tried, mut decided) = (0, 0);
        for _ in 0..4000 {
            let truth = if rng.bool() {
                0.0
            } else {
                RANGE_OF_CHANGES * (rng.f64() - 0.5)
            };
            let deviation = 0.005 + max_deviation * rng.f64();
            let estimate = drawn(truth, deviation, 10, rng);
            if is_decided(&estimate) {
                continue;
            }
            let outlook = Outlook {
                estimate,
                launch_deviation: deviation,
                drift_deviation: 0.0,
                prior_degrees_of_freedom: PRIOR,
                sure_margin: SURE_MARGIN,
                point_margin: POINT,
                per_test: &per_test,
                one_sided: &one_sided,
            };
            if let Some(launches) = advised(&outlook) {
                tried += 1;
                let again = drawn(truth, deviation, launches, rng);
                decided += u32::from(is_decided(&again));
            }
        }
        assert!(tried >= 100, "{tried}");
        f64::from(decided) / f64::from(tried)
    }

    #[test]
    fn marginal_noisy_and_drifting_are_distinguished() {
        let per_test = Quantiles::for_tail(ALPHA_PER_TEST);
        let one_sided = Quantiles::for_tail(0.05);
        let outlook = |deviation: f64, drift_deviation: f64| Outlook {
            estimate: Estimate {
                difference: 0.0295,
                baseline_deviation: deviation,
                candidate_deviation: deviation,
                of_launches: SURELY,
                whole: SURELY,
                of_neighbour: 0.0,
                is_drift_assumed: false,
            },
            launch_deviation: deviation,
            drift_deviation,
            prior_degrees_of_freedom: PRIOR,
            sure_margin: SURE_MARGIN,
            point_margin: POINT,
            per_test: &per_test,
            one_sided: &one_sided,
        };
        assert_eq!(outlook(0.01, 0.0).launches(0.5, 10), None);
        assert_eq!(outlook(0.01, 0.0).obstacle(), Obstacle::Margin);
        assert_eq!(outlook(0.01, 0.03).obstacle(), Obstacle::Drift);
        assert_eq!(outlook(0.3, 0.03).obstacle(), Obstacle::Noise);
    }
}
