//! Drift: what differs between two sessions but not between the launches of one.
//!
//! The launches of one run do not show it, but the suite does: unchanged benchmarks differ by more
//! than their launches predict. Changed benchmarks must not count as drift, so it is learned from
//! the densest 40 % of the suite and the benchmarks near them. The densest part is unchanged as
//! long as there are that many unchanged benchmarks (the empirical null; Efron 2004, "Large-scale
//! simultaneous hypothesis testing: the choice of a null hypothesis", JASA 99(465)).
//!
//! Drift is a variance that is added to that of the launches. A factor on the standard errors, as
//! in genomic control (Devlin & Roeder 1999), would give the quiet benchmarks of a suite too little
//! drift, and the noisy ones too much.
//!
//! A machine that drifts multiplies times. What one session halves, another doubles, so drift is
//! symmetric in logarithms, not in differences. So the drift of time is learned in logarithms, and
//! a benchmark that grew by a factor r has √r times as much drift in units of the baseline, since
//! (r − 1) / √r equals the logarithm of r within 1 % up to r = 1.6.

use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::densest::{Deviating, EXPECTED_SPREAD, NEAR_VARIANCE, near_the_densest};
use super::{mean, median};

/// The choice of near benchmarks is itself an estimate, which costs the variance degrees of
/// freedom: this fraction of them is left.
const EFFICIENCY: f64 = 0.8;
/// The degrees of freedom that each benchmark of each pair of earlier runs contributes.
const KNOWLEDGE: f64 = 0.26;
/// This many benchmarks of a pair contribute at most if their common factor is not taken out.
const MAX_INDEPENDENT: usize = 2;
/// A suite that shows its own drift is assumed to be among this fraction of suites, those that look
/// steadier than they are.
const STEADIEST: f64 = 0.1;
/// The variance of a median, in units of that of a mean.
const MEDIAN_VARIANCE: f64 = std::f64::consts::FRAC_PI_2;
/// Fewer pairs of earlier runs do not show how far sessions drift.
const MIN_PAIRS: usize = 5;
/// Fewer benchmarks that did not change do not show it.
const MIN_UNCHANGED: usize = 4;
/// The relative precision of the search for a variance.
const PRECISION: f64 = 1e-4;
/// Between earlier runs, code that differs by more deviations changed.
const CHANGED: f64 = 3.0;
/// No other difference between earlier runs counts for more than this many deviations.
const MAX_DEVIATIONS: f64 = 1.5;
/// The mean square of a standard normal quantity that is bounded like this.
const BOUNDED_VARIANCE: f64 = 0.778_465;

/// Prior knowledge of a drift.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// Fewer benchmarks show no drift.
    pub min_benchmarks: usize,
    /// It is not larger than this.
    pub max_deviation: f64,
    /// Whether it multiplies, as that of time does.
    pub is_factor: bool,
    /// Whether the median of the suite was taken out of the differences, which makes each as
    /// uncertain as the median is.
    pub centred: bool,
    /// Whether to allow for a suite that looks steadier than it is.
    pub cautious: bool,
    /// What other benchmarks of the same two sessions show: it is at least as large.
    pub at_least: Option<Drift>,
}

/// Drift of each benchmark between two sessions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// The standard deviation over benchmarks, as a fraction of the total.
    pub deviation: f64,
    /// Degrees of freedom of that estimate.
    pub degrees_of_freedom: f64,
    /// Whether it multiplies: then the deviation is that of the logarithm.
    pub is_factor: bool,
    /// The number of earlier runs that also contributed.
    pub earlier_runs: usize,
    /// The number of benchmarks that surely did not change, if these showed it.
    pub unchanged_benchmarks: usize,
    /// Whether nothing showed it.
    pub is_assumed: bool,
}

impl Drift {
    /// No drift, as between launches made in turn.
    pub const NONE: Drift = Drift {
        deviation: 0.0,
        degrees_of_freedom: f64::INFINITY,
        is_factor: false,
        earlier_runs: 0,
        unchanged_benchmarks: 0,
        is_assumed: false,
    };

    /// Returns this drift times `factor`.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Drift {
        Drift {
            deviation: self.deviation * factor,
            ..self
        }
    }

    /// Returns the larger of two.
    #[must_use]
    pub fn at_least(self, other: Drift) -> Drift {
        if other.deviation > self.deviation {
            other
        } else {
            self
        }
    }

    /// Returns the sum of two that are independent (Satterthwaite).
    #[must_use]
    pub fn plus(self, other: Drift) -> Drift {
        let (own, others) = (self.deviation.powi(2), other.deviation.powi(2));
        let variance = own + others;
        if others == 0.0 || variance == 0.0 {
            return self;
        }
        let share =
            |part: f64, degrees_of_freedom: f64| (part / variance).powi(2) / degrees_of_freedom;
        Drift {
            deviation: variance.sqrt(),
            degrees_of_freedom: 1.0
                / (share(own, self.degrees_of_freedom) + share(others, other.degrees_of_freedom)),
            ..self
        }
    }

    /// Returns its variance for a benchmark that differs by `difference`.
    pub fn variance_at(&self, difference: f64) -> f64 {
        let variance = self.deviation.powi(2);
        if self.is_factor {
            variance * (1.0 + difference)
        } else {
            variance
        }
    }

    /// Returns the drift of a suite, from the differences of its benchmarks, their standard errors
    /// by launches, what is `known` from earlier runs, and what others show: at least as large as
    /// any of these.
    pub fn new(benchmarks: &[Deviating], expected: &Expected, known: Option<Drift>) -> Drift {
        let benchmarks: Vec<Deviating> = benchmarks
            .iter()
            .map(|benchmark| {
                if expected.is_factor {
                    benchmark.in_logarithms()
                } else {
                    *benchmark
                }
            })
            .filter(|benchmark| benchmark.difference.is_finite())
            .collect();
        let size = benchmarks.len();
        if size < expected.min_benchmarks {
            return known.unwrap_or(Drift::NONE);
        }
        let near = near_the_densest(&benchmarks);
        let degrees_of_freedom = EFFICIENCY * (near.len() as f64 - 1.0);
        // What is known needs no caution.
        let unit = if expected.cautious && known.is_none() {
            NEAR_VARIANCE * steadiest(degrees_of_freedom)
        } else {
            NEAR_VARIANCE
        };
        let variance = excess_variance(&near, unit);
        // Noise of the launches is no reason to doubt what is known.
        let of_launches = benchmarks.iter().map(|b| b.standard_error.powi(2));
        let doubt = known.map_or(0.0, |_| {
            median(of_launches.collect()).unwrap_or(0.0) * (2.0 / degrees_of_freedom).sqrt()
        });
        let variance = (variance - doubt).max(0.0);
        let own = Drift {
            deviation: variance.sqrt().min(expected.max_deviation),
            degrees_of_freedom,
            is_factor: expected.is_factor,
            ..Drift::NONE
        };
        let mut drift = [known, expected.at_least]
            .into_iter()
            .flatten()
            .fold(own, Drift::with);
        if expected.centred {
            let variance = drift.deviation.powi(2);
            let whole = |b: &Deviating| b.standard_error.powi(2) + variance;
            let typical = median(benchmarks.iter().map(whole).collect()).unwrap_or(0.0);
            drift.deviation = (variance + MEDIAN_VARIANCE * typical / size as f64).sqrt();
        }
        drift
    }

    /// Returns the drift of benchmarks that did not change; `None` if they are too few to show it.
    ///
    /// All that they differ by beyond their launches is drift, and so is what they have in common:
    /// the variance is about zero. It has no limit, but a benchmark that memory layout moved far
    /// must not hide the changes of others, so it is bounded as that of earlier runs.
    pub fn from_unchanged(benchmarks: &[Deviating]) -> Option<Drift> {
        (benchmarks.len() >= MIN_UNCHANGED).then_some(())?;
        Some(Drift {
            deviation: variance_without_outliers(benchmarks).sqrt(),
            degrees_of_freedom: EFFICIENCY * benchmarks.len() as f64,
            unchanged_benchmarks: benchmarks.len(),
            ..Drift::NONE
        })
    }

    /// Returns the drift between consecutive earlier runs, which multiplies; `pairs` has the
    /// benchmarks of each pair of runs.
    ///
    /// Some pairs include changed code, so no difference counts for more than `MAX_DEVIATIONS`,
    /// and none beyond `CHANGED` counts at all. The more pairs there are, the more degrees of
    /// freedom it has. In pairs of fewer than `min_with_median` benchmarks, what all have in
    /// common is still in their differences, so further benchmarks show little more than two do.
    pub fn between_earlier(pairs: &[Vec<Deviating>], min_with_median: usize) -> Option<Drift> {
        let all: Vec<Deviating> = pairs
            .iter()
            .flatten()
            .map(Deviating::in_logarithms)
            .collect();
        if pairs.len() < MIN_PAIRS {
            return None;
        }
        let independent = |pair: &Vec<Deviating>| match pair.len() {
            size if size < min_with_median => size.min(MAX_INDEPENDENT),
            size => size,
        };
        let independent: usize = pairs.iter().map(independent).sum();
        Some(Drift {
            deviation: variance_without_outliers(&all).sqrt(),
            degrees_of_freedom: (KNOWLEDGE * independent as f64).min(pairs.len() as f64),
            is_factor: true,
            earlier_runs: pairs.len() + 1,
            ..Drift::NONE
        })
    }

    /// Combines what the suite shows with what is `known` from elsewhere.
    fn with(self, known: Drift) -> Drift {
        let (own, expected) = (self.deviation.powi(2), known.deviation.powi(2));
        let variance = own.max(expected);
        let beyond = variance - expected;
        // The suite can reveal more drift, but cannot make the known drift more certain
        // (Satterthwaite).
        let degrees_of_freedom = variance.powi(2)
            / (expected.powi(2) / known.degrees_of_freedom
                + beyond.powi(2) / self.degrees_of_freedom);
        Drift {
            deviation: variance.sqrt(),
            degrees_of_freedom: if variance > 0.0 {
                degrees_of_freedom
            } else {
                known.degrees_of_freedom
            },
            earlier_runs: self.earlier_runs.max(known.earlier_runs),
            ..known
        }
    }
}

/// Returns the lower tenth of an estimated variance, in units of its expectation.
fn steadiest(degrees_of_freedom: f64) -> f64 {
    ChiSquared::new(degrees_of_freedom).map_or(1.0, |chi_squared| {
        chi_squared.inverse_cdf(STEADIEST) / degrees_of_freedom
    })
}

/// Returns the variance beyond that of the launches.
///
/// With it, the squared differences from their mean, each in units of its own variance, add up to
/// `unit` times their degrees of freedom (Paule & Mandel 1982, "Consensus values and weighting
/// factors", J. Res. NBS 87(5)).
fn excess_variance(benchmarks: &[Deviating], unit: f64) -> f64 {
    let expected = unit * (benchmarks.len() as f64 - 1.0);
    let squares = |variance: f64| {
        let weight =
            |b: &Deviating| 1.0 / ((EXPECTED_SPREAD * b.standard_error).powi(2) + variance);
        let weights: f64 = benchmarks.iter().map(weight).sum();
        let weighted = benchmarks.iter().map(|b| weight(b) * b.difference);
        let mean = weighted.sum::<f64>() / weights;
        let square = |b: &Deviating| weight(b) * (b.difference - mean).powi(2);
        benchmarks.iter().map(square).sum::<f64>()
    };
    let differences: Vec<f64> = benchmarks.iter().map(|b| b.difference).collect();
    largest_above(expected, super::variance(&differences) / unit, squares)
}

/// Returns the variance about zero beyond that of the launches, without what is farther from zero
/// than [`CHANGED`] deviations.
fn variance_without_outliers(benchmarks: &[Deviating]) -> f64 {
    let with_outliers = bounded_variance(benchmarks);
    let mut rest = benchmarks.to_vec();
    rest.retain(|b| {
        let whole = b.standard_error.powi(2) + with_outliers;
        b.difference.powi(2) <= CHANGED.powi(2) * whole
    });
    bounded_variance(&rest)
}

/// Returns the variance beyond that of the launches with which the squared differences, each in
/// units of its own variance and at most [`MAX_DEVIATIONS`] squared, are as large as they should
/// be (Huber 1964, "Robust estimation of a location parameter", Ann. Math. Statist. 35(1),
/// proposal 2). The median alone would know as little as from half as many runs.
fn bounded_variance(benchmarks: &[Deviating]) -> f64 {
    let squares = |variance: f64| {
        let square = |b: &Deviating| {
            let whole = b.standard_error.powi(2) + variance;
            (b.difference.powi(2) / whole).min(MAX_DEVIATIONS.powi(2))
        };
        mean(&benchmarks.iter().map(square).collect::<Vec<f64>>())
    };
    let squared: Vec<f64> = benchmarks.iter().map(|b| b.difference.powi(2)).collect();
    largest_above(BOUNDED_VARIANCE, mean(&squared) / BOUNDED_VARIANCE, squares)
}

/// Returns the largest variance with which `squares`, which fall as it grows, are above `expected`;
/// 0 if there is none. At `most` they are not above it.
fn largest_above(expected: f64, most: f64, squares: impl Fn(f64) -> f64) -> f64 {
    if most == 0.0 || squares(0.0) <= expected {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, most);
    while high - low > PRECISION * high {
        let middle = low + (high - low) / 2.0;
        if squares(middle) > expected {
            low = middle
        } else {
            high = middle
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::normal;
    use crate::statistics::student::upper_quantile;
    use fastrand::Rng;

    const BOUNDED: Expected = Expected {
        min_benchmarks: 10,
        max_deviation: 0.03,
        is_factor: false,
        centred: false,
        cautious: false,
        at_least: None,
    };

    fn drawn(size: usize, standard_error: f64, drift: f64, rng: &mut Rng) -> Vec<Deviating> {
        (0..size)
            .map(|_| Deviating {
                difference: standard_error * EXPECTED_SPREAD * normal(rng) + drift * normal(rng),
                standard_error,
            })
            .collect()
    }

    fn typical(suites: usize, mut next: impl FnMut() -> f64) -> f64 {
        median((0..suites).map(|_| next()).collect()).unwrap()
    }

    #[test]
    fn drift_is_found_despite_launch_noise() {
        let mut rng = Rng::with_seed(20261122);
        for size in [12, 30, 200] {
            for standard_error in [0.001, 0.005, 0.01] {
                let found = typical(200, || {
                    let suite = drawn(size, standard_error, 0.01, &mut rng);
                    Drift::new(&suite, &BOUNDED, None).deviation
                });
                assert!(
                    (0.007..0.013).contains(&found),
                    "{size}, {standard_error}: {found}"
                );
            }
        }
    }

    #[test]
    fn cautious_suite_underestimates_drift_in_10_percent() {
        let cautious = Expected {
            cautious: true,
            ..BOUNDED
        };
        let mut rng = Rng::with_seed(20261122);
        for size in [10, 12, 20, 30, 200] {
            let less = (0..1000).filter(|_| {
                let suite = drawn(size, 0.001, 0.01, &mut rng);
                Drift::new(&suite, &cautious, None).deviation < 0.01
            });
            let less = less.count();
            assert!((60..160).contains(&less), "{size}: {less} of 1000");
        }
    }

    /// The densest part alone would give 4 degrees of freedom, and a benchmark would have to differ
    /// by 7.3 deviations instead of 6.4.
    #[test]
    fn suite_of_twelve_uses_all_near_values() {
        let mut rng = Rng::with_seed(20261122);
        let cautious = Expected {
            cautious: true,
            ..BOUNDED
        };
        let beyond = typical(1000, || {
            let suite = drawn(12, 0.0, 0.01, &mut rng);
            let drift = Drift::new(&suite, &cautious, None);
            let t = upper_quantile(0.05 / 60.0, drift.degrees_of_freedom);
            t * drift.deviation / 0.01
        });
        assert!((6.0..6.8).contains(&beyond), "{beyond}");
    }

    #[test]
    fn changes_are_not_drift_and_drift_is_capped() {
        let mut rng = Rng::with_seed(20261122);
        for changed in [0.05, -0.05] {
            let mut suite = drawn(12, 0.002, 0.0, &mut rng);
            for (index, benchmark) in suite.iter_mut().take(7).enumerate() {
                benchmark.difference += changed * (1.0 + index as f64);
            }
            let drift = Drift::new(&suite, &BOUNDED, None);
            assert!(drift.deviation < 0.02, "{drift:?}");
        }
        let wild = drawn(30, 0.002, 0.5, &mut rng);
        assert_eq!(
            Drift::new(&wild, &BOUNDED, None).deviation,
            BOUNDED.max_deviation
        );
        assert_eq!(Drift::new(&wild[..9], &BOUNDED, None), Drift::NONE);
    }

    #[test]
    fn unchanged_benchmarks_show_their_drift() {
        let mut rng = Rng::with_seed(20261128);
        for drift in [0.005, 0.02, 0.2] {
            let found = typical(400, || {
                let found = Drift::from_unchanged(&drawn(12, 0.002, drift, &mut rng)).unwrap();
                assert_eq!(found.degrees_of_freedom, EFFICIENCY * 12.0);
                assert_eq!(found.unchanged_benchmarks, 12);
                found.deviation
            });
            assert!((found / drift - 1.0).abs() < 0.1, "{drift}: {found}");
        }
        // What they have in common is drift too.
        let common = [0.03; 4].map(|difference| Deviating {
            difference,
            standard_error: 0.0,
        });
        let found = Drift::from_unchanged(&common).unwrap();
        // Bounded, so that it is a little more.
        assert!((0.03..0.035).contains(&found.deviation), "{found:?}");
        assert_eq!(Drift::from_unchanged(&common[..3]), None);
        let none = common.map(|b| Deviating {
            difference: 0.0,
            ..b
        });
        assert_eq!(Drift::from_unchanged(&none).unwrap().deviation, 0.0);
    }

    #[test]
    fn removed_median_adds_uncertainty() {
        let suite: Vec<Deviating> = [0.0; 4]
            .map(|difference| Deviating {
                difference,
                standard_error: 0.02,
            })
            .to_vec();
        let centred = Expected {
            min_benchmarks: 3,
            max_deviation: f64::INFINITY,
            is_factor: false,
            centred: true,
            cautious: false,
            at_least: None,
        };
        let drift = Drift::new(&suite, &centred, None);
        assert!((drift.deviation / (0.02 * (MEDIAN_VARIANCE / 4.0).sqrt()) - 1.0).abs() < 1e-9);
        assert_eq!(drift.degrees_of_freedom, EFFICIENCY * 3.0);
    }

    #[test]
    fn earlier_runs_estimate_drift_despite_a_change() {
        let mut rng = Rng::with_seed(20261122);
        for size in [1, 8] {
            let known = typical(200, || {
                let mut pairs: Vec<Vec<Deviating>> =
                    (0..9).map(|_| drawn(size, 0.02, 0.1, &mut rng)).collect();
                for benchmark in &mut pairs[4] {
                    benchmark.difference += 1.0;
                }
                let known = Drift::between_earlier(&pairs, 5).unwrap();
                assert_eq!(
                    known.degrees_of_freedom,
                    [KNOWLEDGE * 9.0, 9.0][usize::from(size > 1)]
                );
                assert_eq!(known.earlier_runs, 10);
                assert_eq!(Drift::new(&[], &BOUNDED, Some(known)), known);
                known.deviation
            });
            assert!((known / 0.1 - 1.0).abs() < 0.2, "{size}: {known}");
        }
        let few = vec![drawn(30, 0.02, 0.1, &mut rng); 4];
        assert_eq!(Drift::between_earlier(&few, 5), None);
    }

    #[test]
    fn larger_observed_drift_prevails() {
        let drift = |deviation: f64, degrees_of_freedom: f64| Drift {
            deviation,
            degrees_of_freedom,
            is_factor: true,
            ..Drift::NONE
        };
        let known = drift(0.05, 8.0);
        let with = |own: f64| drift(own, 3.0).with(known);
        for less in [0.0, 0.03, 0.05] {
            assert_eq!(
                (with(less).deviation, with(less).degrees_of_freedom),
                (0.05, 8.0)
            );
        }
        let more = with(0.5);
        assert!((more.deviation - 0.5).abs() < 1e-12);
        assert!((more.degrees_of_freedom - 3.0).abs() < 0.1, "{more:?}");
        // It continues from where it was.
        assert!((with(0.0501).degrees_of_freedom - 8.0).abs() < 0.1);
    }

    #[test]
    fn multiplicative_drift_is_symmetric() {
        let mut rng = Rng::with_seed(20261122);
        let factors: Vec<f64> = (0..200).map(|_| (0.2 * normal(&mut rng)).exp()).collect();
        let expected = Expected {
            max_deviation: f64::INFINITY,
            is_factor: true,
            ..BOUNDED
        };
        let drift_of = |factor_of: fn(f64) -> f64| {
            let suite: Vec<Deviating> = factors
                .iter()
                .map(|factor| Deviating {
                    difference: factor_of(*factor) - 1.0,
                    standard_error: 0.0,
                })
                .collect();
            Drift::new(&suite, &expected, None)
        };
        let (up, down) = (drift_of(|f| f), drift_of(f64::recip));
        assert!((up.deviation / down.deviation - 1.0).abs() < 1e-9);
        assert!((up.deviation / 0.2 - 1.0).abs() < 0.2, "{up:?}");
        for factor in [1.3, 1.6_f64] {
            let errors = |difference: f64| difference / up.variance_at(difference).sqrt();
            let (up, down) = (errors(factor - 1.0), errors(1.0 / factor - 1.0));
            assert!((up / down + 1.0).abs() < 1e-9);
        }
    }
}
