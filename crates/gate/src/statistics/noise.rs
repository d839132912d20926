//! The noise of one metric over a suite, and what it says about each benchmark's difference.

use super::autocorrelation::{suite_autocorrelation, variance_factor};
use super::common_difference::CommonDifference;
use super::contrast::Contrast;
use super::densest::Deviating;
use super::drift::{Drift, Expected};
use super::prior::Prior;
use super::student::{upper_quantile, upper_tail};

/// With fewer launches on a side, the standard deviation is assumed to be at least
/// [`FEW_LAUNCHES_DEVIATION`].
const FEW_LAUNCHES: usize = 5;
const FEW_LAUNCHES_DEVIATION: f64 = 0.025;

/// How noisy a metric is over a suite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// The variances of the suite.
    pub prior: Prior,
    /// Correlation of a launch with the previous one. For launches in turn this does not matter:
    /// what slows neighbours slows both sides.
    pub autocorrelation: f64,
    /// What differs between the sides beyond their launches.
    pub drift: Drift,
    /// What the benchmarks have in common.
    pub common: Option<CommonDifference>,
}

impl Noise {
    /// Learns the noise from these benchmarks. Without `drift` there is none between the sides, and
    /// `known` is the drift of earlier runs. The order of `contrasts` decides the last bit of the
    /// result, so it must not depend on anything accidental.
    pub fn new(
        contrasts: &[Contrast],
        assumed_deviation: f64,
        drift: Option<Expected>,
        known: Option<Drift>,
    ) -> Noise {
        let spreads = contrasts
            .iter()
            .flat_map(|contrast| [contrast.baseline, contrast.candidate]);
        let of_launches = Noise {
            prior: Prior::fit(spreads.clone(), assumed_deviation),
            autocorrelation: drift.map_or(0.0, |_| suite_autocorrelation(spreads)),
            drift: Drift::NONE,
            common: CommonDifference::new(contrasts.iter().map(|c| c.difference).collect()),
        };
        let Some(expected) = drift else {
            return of_launches;
        };
        let deviating: Vec<Deviating> = contrasts
            .iter()
            .map(|contrast| of_launches.deviating(contrast))
            .collect();
        Noise {
            drift: Drift::new(&deviating, &expected, known),
            ..of_launches
        }
    }

    fn without_drift(&self) -> Noise {
        Noise {
            drift: Drift::NONE,
            ..*self
        }
    }

    fn deviating(&self, contrast: &Contrast) -> Deviating {
        Deviating {
            difference: contrast.difference,
            standard_error: self.estimate(contrast).whole.standard_error,
        }
    }

    /// Replaces the drift by that of the benchmarks that surely did not change, if these are enough
    /// to show it.
    #[must_use]
    pub fn with_drift_of_unchanged(&self, unchanged: &[Contrast]) -> Noise {
        let of_launches = self.without_drift();
        let deviating: Vec<Deviating> = unchanged
            .iter()
            .map(|contrast| of_launches.deviating(contrast))
            .collect();
        Noise {
            drift: Drift::from_unchanged(&deviating).unwrap_or(self.drift),
            ..*self
        }
    }

    /// Returns whether the whole suite moved in the direction of `difference`, by these margins.
    /// Then drift does not apply to it, unless benchmarks that surely did not change show it.
    pub fn moved(&self, difference: f64, point: f64, sure: f64) -> bool {
        let moved = |common: &CommonDifference| common.moved(difference, point, sure);
        self.drift.unchanged_benchmarks == 0 && self.common.as_ref().is_some_and(moved)
    }

    /// Returns the noise of what does not depend on when it ran: only values of one side differ.
    pub fn of_values_alone(&self) -> Noise {
        Noise {
            autocorrelation: 0.0,
            drift: Drift::NONE,
            ..*self
        }
    }

    /// Estimates a difference under this noise.
    pub fn estimate(&self, contrast: &Contrast) -> Estimate {
        let least = if contrast.min_launches() < FEW_LAUNCHES {
            FEW_LAUNCHES_DEVIATION.powi(2)
        } else {
            0.0
        };
        let [baseline, candidate] =
            [contrast.baseline, contrast.candidate].map(|spread| SideMean {
                variance: self.prior.moderate(spread).max(least),
                launches: spread.launches as f64,
                degrees_of_freedom: self.prior.degrees_of_freedom + spread.degrees_of_freedom(),
            });
        let [a, b] = [baseline, candidate].map(|side| side.of_mean(self.autocorrelation));
        // What differs between the sides does not shrink with more launches.
        let drift = self.drift.variance_at(contrast.difference);
        let uncertainty = |drift: f64| {
            let whole = a + b + drift;
            Uncertainty {
                standard_error: whole.sqrt(),
                // Welch–Satterthwaite, in shares of the sum: squares of huge variances overflow.
                degrees_of_freedom: 1.0
                    / ((a / whole).powi(2) / baseline.degrees_of_freedom
                        + (b / whole).powi(2) / candidate.degrees_of_freedom
                        + (drift / whole).powi(2) / self.drift.degrees_of_freedom),
            }
        };
        Estimate {
            difference: contrast.difference,
            baseline_deviation: baseline.variance.sqrt(),
            candidate_deviation: candidate.variance.sqrt(),
            of_launches: uncertainty(0.0),
            whole: uncertainty(drift),
            of_neighbour: 0.0,
            is_drift_assumed: false,
        }
    }
}

#[derive(Clone, Copy)]
struct SideMean {
    variance: f64,
    launches: f64,
    degrees_of_freedom: f64,
}

impl SideMean {
    fn of_mean(&self, autocorrelation: f64) -> f64 {
        self.variance / self.launches * variance_factor(autocorrelation, self.launches)
    }
}

/// A difference with its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Candidate minus baseline, as a fraction of the baseline's total.
    pub difference: f64,
    /// The moderated standard deviation between launches of the baseline.
    pub baseline_deviation: f64,
    /// The same for the candidate.
    pub candidate_deviation: f64,
    /// The uncertainty of the difference from launches alone.
    pub of_launches: Uncertainty,
    /// The same with the drift.
    pub whole: Uncertainty,
    /// The part of the difference that a neighbour of the machine explains.
    pub of_neighbour: f64,
    /// Whether the drift was assumed. It then keeps a change from failing, but nothing that seems
    /// unchanged from being so.
    pub is_drift_assumed: bool,
}

/// The uncertainty of a difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Uncertainty {
    /// The standard error.
    pub standard_error: f64,
    /// Its degrees of freedom.
    pub degrees_of_freedom: f64,
}

impl Uncertainty {
    const NONE: Uncertainty = Uncertainty {
        standard_error: 0.0,
        degrees_of_freedom: 0.0,
    };

    /// Returns the probability of a difference that is this far `beyond` a limit.
    pub fn p(&self, beyond: f64) -> f64 {
        match self.standard_error == 0.0 {
            true if beyond > 0.0 => 0.0,
            true => 1.0,
            false => upper_tail(beyond / self.standard_error, self.degrees_of_freedom),
        }
    }

    /// Returns half the length of the interval whose ends are each missed with probability `tail`.
    pub fn half(&self, tail: f64) -> f64 {
        upper_quantile(tail, self.degrees_of_freedom) * self.standard_error
    }
}

/// A test for a change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SureTest {
    /// What the difference must surely be above.
    pub limit: f64,
    /// The uncertainty that applies.
    pub uncertainty: Uncertainty,
    /// The p-value.
    pub p: f64,
}

impl Estimate {
    /// Makes a difference without noise: all its p-values are 0 or 1.
    pub fn exact(difference: f64) -> Estimate {
        Estimate {
            difference,
            baseline_deviation: 0.0,
            candidate_deviation: 0.0,
            of_launches: Uncertainty::NONE,
            whole: Uncertainty::NONE,
            of_neighbour: 0.0,
            is_drift_assumed: false,
        }
    }

    /// Adds up margin and drift: then what remains of the difference with the drift must surely be
    /// above the margin.
    pub fn added_up(self) -> Estimate {
        Estimate {
            of_launches: self.whole,
            ..self
        }
    }

    /// Tests for a change to slower: by launches alone the difference is more than `margin`, and
    /// with the drift it is more than zero. The margin is what unchanged benchmarks may differ by,
    /// and drift is what they do differ by: applying both at once would count the same thing twice.
    /// `resolution` is added to either.
    pub fn is_certainly_slower(&self, margin: f64, resolution: f64) -> SureTest {
        self.surely(self.difference, self.of_neighbour, margin, resolution)
    }

    /// Tests for a change to faster.
    pub fn is_certainly_faster(&self, margin: f64) -> SureTest {
        self.surely(-self.difference, -self.of_neighbour, margin, 0.0)
    }

    fn surely(&self, change: f64, of_neighbour: f64, margin: f64, resolution: f64) -> SureTest {
        let test = |limit: f64, uncertainty: Uncertainty| SureTest {
            limit,
            uncertainty,
            p: uncertainty.p(change - limit),
        };
        let by_launches = test(margin + resolution, self.of_launches);
        // The p-value is above one half below a limit, and below one half above it. So between the
        // two limits the first is the larger, whatever the second is.
        let drift_limit = of_neighbour.max(0.0) + resolution;
        if change < margin + resolution && change > drift_limit {
            return by_launches;
        }
        let with_drift = test(drift_limit, self.whole);
        if with_drift.p > by_launches.p {
            with_drift
        } else {
            by_launches
        }
    }

    /// Returns half the length of the interval whose end next to zero is beyond `margin` exactly if
    /// the test for a change has a p-value below `tail`.
    pub fn half_beyond(&self, margin: f64, tail: f64) -> f64 {
        let of_launches = self.of_launches.half(tail);
        if self.whole == self.of_launches {
            of_launches
        } else {
            of_launches.max(self.whole.half(tail) - margin)
        }
    }

    /// Returns the standard deviation of the drift in it; 0 if drift and margin were added up.
    pub fn drift_deviation(&self) -> f64 {
        let [whole, of_launches] = [self.whole, self.of_launches].map(|u| u.standard_error.powi(2));
        (whole - of_launches).max(0.0).sqrt()
    }

    /// Returns what the measurements alone show: without a drift that was assumed.
    pub fn measured(&self) -> Uncertainty {
        if self.is_drift_assumed {
            self.of_launches
        } else {
            self.whole
        }
    }

    /// Returns the p-value against "the true difference is at most `limit`".
    pub fn p_above(&self, limit: f64) -> f64 {
        self.whole.p(self.difference - limit)
    }

    /// Returns the p-value against "the true difference is at least `limit`".
    pub fn p_below(&self, limit: f64) -> f64 {
        self.whole.p(limit - self.difference)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::contrast::Launches;

    /// Twelve benchmarks of five launches per side; number 4 is 6 % slower. Integers, so that any
    /// other program can make the same numbers.
    fn suite() -> Vec<Contrast> {
        (0..12_i64)
            .map(|b| {
                let scale = 1 + b % 4;
                let value = |noise: i64, shift: i64| (1000 + scale * noise + shift) as f64;
                let baseline: Vec<f64> = (0..5)
                    .map(|r| value((7 * b + 13 * r + b * r * r) % 17 - 8, 0))
                    .collect();
                let shift = if b == 4 { 60 } else { 0 };
                let candidate: Vec<f64> = (0..5)
                    .map(|r| value((5 * b + 11 * r + 2 * b * r * r) % 19 - 9, shift))
                    .collect();
                Contrast::new(Launches {
                    baseline: &baseline,
                    baseline_total: &baseline,
                    candidate: &candidate,
                })
                .unwrap()
            })
            .collect()
    }

    const DRIFT: Expected = Expected {
        min_benchmarks: 10,
        max_deviation: 0.03,
        is_factor: false,
        centred: false,
        cautious: false,
        at_least: None,
    };

    fn close(value: f64, expected: f64) {
        assert!(
            (value / expected - 1.0).abs() < 1e-9,
            "{value} instead of {expected}"
        );
    }

    /// The expected numbers come from a program written only from the specification, in Python with
    /// numpy 2.4.6 and scipy 1.17.1: `special.digamma`, `special.polygamma`, `optimize.brentq` for
    /// the degrees of freedom, `stats.t.sf` for p.
    /// Also where one of the two is not computed.
    #[test]
    fn sure_test_has_the_larger_of_both_p_values() {
        let uncertainty = |standard_error, degrees_of_freedom| Uncertainty {
            standard_error,
            degrees_of_freedom,
        };
        let errors = [
            (uncertainty(0.004, 12.0), uncertainty(0.02, 9.0)),
            (uncertainty(0.01, 4.0), uncertainty(0.011, 40.0)),
            (Uncertainty::NONE, uncertainty(0.01, 8.0)),
            (Uncertainty::NONE, Uncertainty::NONE),
        ];
        for (of_launches, whole) in errors {
            for step in -40..=40 {
                let difference = f64::from(step) / 500.0;
                let estimate = Estimate {
                    of_launches,
                    whole,
                    ..Estimate::exact(difference)
                };
                let p_values = [of_launches.p(difference - 0.02), whole.p(difference)];
                let larger = p_values[0].max(p_values[1]);
                assert_eq!(
                    estimate.is_certainly_slower(0.02, 0.0).p,
                    larger,
                    "{difference}"
                );
                assert_eq!(
                    Estimate {
                        difference: -difference,
                        ..estimate
                    }
                    .is_certainly_faster(0.02)
                    .p,
                    larger,
                    "{difference}"
                );
            }
        }
    }

    #[test]
    fn moderated_test_agrees_with_scipy() {
        let contrasts = suite();
        let noise = Noise::new(&contrasts, 0.01, None, None);
        assert!(noise.prior.fitted);
        close(noise.prior.degrees_of_freedom, 3.314741935135422);
        close(noise.prior.variance, 0.00011836236489034536);
        let estimate = noise.estimate(&contrasts[4]);
        close(estimate.difference, 0.05888243540957347);
        // 0.007832221123452391 with a λ of 1.4273264881593195 in it.
        close(estimate.whole.standard_error, 0.005487336771527883);
        close(estimate.whole.degrees_of_freedom, 14.492668140449798);
    }

    /// As above, with the assumed prior of 3 degrees of freedom and 1 %.
    #[test]
    fn small_suite_uses_an_assumed_prior() {
        let contrasts = &suite()[4..5];
        let noise = Noise::new(contrasts, 0.01, Some(DRIFT), None);
        assert!(!noise.prior.fitted);
        assert_eq!(noise.drift, Drift::NONE);
        let estimate = noise.estimate(&contrasts[0]);
        close(estimate.whole.standard_error, 0.005117434178532046);
        close(estimate.whole.degrees_of_freedom, 13.811775338705795);
    }

    #[test]
    fn noisy_benchmark_ignores_quiet_ones() {
        let contrasts = suite();
        let noise = Noise::new(&contrasts, 0.01, Some(DRIFT), None);
        for contrast in &contrasts {
            let estimate = noise.estimate(contrast);
            assert!(estimate.baseline_deviation.powi(2) >= contrast.baseline.variance * 0.999);
            assert!(estimate.candidate_deviation.powi(2) >= contrast.candidate.variance * 0.999);
        }
    }

    #[test]
    fn drift_does_not_shrink_with_launches() {
        let contrasts = suite();
        let noise = Noise::new(&contrasts, 0.01, Some(DRIFT), None);
        assert!(noise.drift.deviation > 0.0);
        let mut more = contrasts[4];
        more.baseline.launches = 1_000_000;
        more.candidate.launches = 1_000_000;
        let estimate = noise.estimate(&more);
        let whole = estimate.whole;
        assert!((whole.standard_error / noise.drift.deviation - 1.0).abs() < 1e-3);
        assert!((whole.degrees_of_freedom / noise.drift.degrees_of_freedom - 1.0).abs() < 1e-3);
        assert!(estimate.of_launches.standard_error < 1e-4);
    }

    /// Above what drift allows, no margin is added; below it, only the margin counts.
    #[test]
    fn change_exceeds_margin_and_drift() {
        let drifting = |deviation: f64| Estimate {
            whole: Uncertainty {
                standard_error: deviation,
                degrees_of_freedom: 30.0,
            },
            of_launches: Uncertainty {
                standard_error: 0.002,
                degrees_of_freedom: 30.0,
            },
            ..Estimate::exact(0.05)
        };
        let [quiet, loud] =
            [0.002, 0.02].map(|deviation| drifting(deviation).is_certainly_slower(0.01, 0.004));
        assert_eq!(
            (quiet.limit, quiet.uncertainty.standard_error),
            (0.014, 0.002)
        );
        assert_eq!((loud.limit, loud.uncertainty.standard_error), (0.004, 0.02));
        let added_up = drifting(0.02).added_up().is_certainly_slower(0.01, 0.004);
        assert_eq!(
            (added_up.limit, added_up.uncertainty.standard_error),
            (0.014, 0.02)
        );
        let drifting = [0.002, 0.007, 0.01, 0.02].map(drifting);
        for estimate in drifting.into_iter().chain(drifting.map(Estimate::added_up)) {
            for tail in [1e-2, 1e-4, 1e-6] {
                let rejects = estimate.is_certainly_slower(0.01, 0.0).p < tail;
                let low = estimate.difference - estimate.half_beyond(0.01, tail);
                assert_eq!(rejects, low > 0.01, "{estimate:?} {tail}");
            }
        }
    }

    #[test]
    fn drift_does_not_excuse_a_common_move() {
        let mut contrasts = suite();
        for (index, contrast) in contrasts.iter_mut().enumerate() {
            contrast.difference += 0.03 + 0.01 * index as f64;
        }
        let noise = Noise::new(&contrasts, 0.01, Some(DRIFT), None);
        assert!(noise.drift.deviation > 0.01, "{:?}", noise.drift);
        assert!(noise.moved(0.1, 0.03, 0.01));
        assert!(!noise.moved(-0.1, 0.03, 0.01));
        assert!(!noise.moved(0.1, 0.2, 0.01));
    }

    #[test]
    fn exact_difference_is_beyond_a_limit_or_not() {
        let estimate = Estimate::exact(0.02);
        assert_eq!(
            [0.0, 0.02, 0.03].map(|limit| estimate.p_above(limit)),
            [0.0, 1.0, 1.0]
        );
        assert_eq!(
            [0.0, 0.02, 0.03].map(|limit| estimate.p_below(limit)),
            [1.0, 1.0, 0.0]
        );
    }

    #[test]
    fn fewer_than_five_launches_are_never_quiet() {
        let contrast = Contrast::new(Launches {
            baseline: &[1000.0, 1000.0, 1000.0, 1000.0, 1000.0],
            baseline_total: &[1000.0; 5],
            candidate: &[1050.0; 4],
        })
        .unwrap();
        let estimate = Noise::new(&[contrast], 0.01, None, None).estimate(&contrast);
        assert_eq!(estimate.baseline_deviation, FEW_LAUNCHES_DEVIATION);
        assert_eq!(estimate.candidate_deviation, FEW_LAUNCHES_DEVIATION);
    }
}
