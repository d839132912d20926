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

use statrs::distribution::{Binomial, ChiSquared, ContinuousCDF, DiscreteCDF, Normal};

use super::median;
use super::noise::EXPECTED_SPREAD;

/// Drift is learned from this fraction of a suite, and from at least three benchmarks.
const DENSEST: f64 = 0.4;
const LEAST_DENSEST: usize = 3;
/// The centre of the densest part is closer to its benchmarks than the true centre is. With k
/// benchmarks in it, their distance from it shrinks by 1 − a·k^(−2/3); a test simulates it.
const SHRINKAGE: f64 = 1.57;
/// Benchmarks within this many deviations of the densest part count too.
const NEAR: f64 = 2.5;
/// The variance of a normal quantity that is kept within [`NEAR`].
const NEAR_VARIANCE: f64 = 0.911;
/// The choice of near benchmarks is itself an estimate, which costs the variance degrees of
/// freedom: this fraction of them is left.
const EFFICIENCY: f64 = 0.8;
/// The degrees of freedom that each benchmark of each pair of earlier runs contributes.
const KNOWLEDGE: f64 = 1.0 / 3.0;
/// A suite that shows its own drift is assumed to be among this fraction of suites, those that look
/// steadier than they are.
const STEADIEST: f64 = 0.1;
/// With k benchmarks in the densest part, the lower quartile of its reach is below the median by
/// this over √k.
const DENSEST_QUARTILE: f64 = 0.55;
/// The variance of a median, in units of that of a mean.
const MEDIAN_VARIANCE: f64 = std::f64::consts::FRAC_PI_2;
/// Fewer pairs of earlier runs do not show how far sessions drift.
const LEAST_PAIRS: usize = 5;
/// The relative precision of the search for a variance.
const PRECISION: f64 = 1e-4;
/// The median of a squared standard normal quantity.
const CHI_SQUARED_MEDIAN: f64 = 0.454_936;
/// The error of each end of the interval of a median.
const ONE_SIDED_ERROR: f64 = 0.025;

/// What is known about a drift beforehand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// Fewer benchmarks show no drift.
    pub least_benchmarks: usize,
    /// It is not larger than this.
    pub most_deviation: f64,
    /// Whether it multiplies, as that of time does.
    pub is_factor: bool,
    /// Whether the median of the suite was taken out of the differences, which makes each as
    /// uncertain as the median is.
    pub centred: bool,
    /// Whether to allow for a suite that looks steadier than it is.
    pub cautious: bool,
}

/// How far each benchmark drifts between two sessions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// The standard deviation over benchmarks, as a fraction of the total.
    pub deviation: f64,
    /// How well that is known.
    pub degrees_of_freedom: f64,
    /// Whether it multiplies: then the deviation is that of the logarithm.
    pub is_factor: bool,
    /// The number of earlier runs that also contributed.
    pub earlier_runs: usize,
}

impl Drift {
    /// No drift, as between launches made in turn.
    pub const NONE: Drift = Drift {
        deviation: 0.0,
        degrees_of_freedom: f64::INFINITY,
        is_factor: false,
        earlier_runs: 0,
    };

    /// Returns its variance for a benchmark that differs by `difference`.
    pub fn variance_at(&self, difference: f64) -> f64 {
        let variance = self.deviation.powi(2);
        match self.is_factor {
            true => variance * (1.0 + difference),
            false => variance,
        }
    }

    /// Returns the drift of a suite, from the differences of its benchmarks, their standard errors
    /// by launches, and what is `known` from earlier runs: at least as large as either shows.
    pub fn of(benchmarks: &[Deviating], expected: &Expected, known: Option<Drift>) -> Drift {
        let benchmarks: Vec<Deviating> = benchmarks
            .iter()
            .map(|benchmark| match expected.is_factor {
                true => benchmark.in_logarithms(),
                false => *benchmark,
            })
            .filter(|benchmark| benchmark.difference.is_finite())
            .collect();
        let size = benchmarks.len();
        if size < expected.least_benchmarks {
            return known.unwrap_or(Drift::NONE);
        }
        let near = near_the_densest(&benchmarks);
        let degrees_of_freedom = EFFICIENCY * (near.len() as f64 - 1.0);
        // What is known needs no caution.
        let unit = match expected.cautious && known.is_none() {
            true => NEAR_VARIANCE * steadiest(degrees_of_freedom),
            false => NEAR_VARIANCE,
        };
        let variance = excess_variance(&near, unit);
        // Noise of the launches is no reason to doubt what is known.
        let of_launches = benchmarks.iter().map(|b| b.standard_error.powi(2));
        let doubt = known.map_or(0.0, |_| {
            median(of_launches.collect()).unwrap_or(0.0) * (2.0 / degrees_of_freedom).sqrt()
        });
        let variance = (variance - doubt).max(0.0);
        let own = Drift {
            deviation: variance.sqrt().min(expected.most_deviation),
            degrees_of_freedom,
            is_factor: expected.is_factor,
            earlier_runs: 0,
        };
        let mut drift = known.map_or(own, |known| own.with(known));
        if expected.centred {
            let variance = drift.deviation.powi(2);
            let whole = |b: &Deviating| b.standard_error.powi(2) + variance;
            let typical = median(benchmarks.iter().map(whole).collect()).unwrap_or(0.0);
            drift.deviation = (variance + MEDIAN_VARIANCE * typical / size as f64).sqrt();
        }
        drift
    }

    /// Returns the drift between consecutive earlier runs, which multiplies; `pairs` has the
    /// benchmarks of each pair of runs.
    ///
    /// Some pairs include changed code, so this is the median of all. The more pairs there are, the
    /// more degrees of freedom it has.
    pub fn between_earlier(pairs: &[Vec<Deviating>]) -> Option<Drift> {
        let all: Vec<Deviating> = pairs
            .iter()
            .flatten()
            .map(Deviating::in_logarithms)
            .collect();
        if pairs.len() < LEAST_PAIRS {
            return None;
        }
        let of_one = |b: &Deviating| {
            let squared = b.difference.powi(2) / CHI_SQUARED_MEDIAN;
            squared - b.standard_error.powi(2)
        };
        let variance = median(all.iter().map(of_one).collect())?.max(0.0);
        Some(Drift {
            deviation: variance.sqrt(),
            degrees_of_freedom: (KNOWLEDGE * all.len() as f64).min(pairs.len() as f64),
            is_factor: true,
            earlier_runs: pairs.len() + 1,
        })
    }

    /// Combines what the suite shows with what is `known`.
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
            degrees_of_freedom: match variance > 0.0 {
                true => degrees_of_freedom,
                false => known.degrees_of_freedom,
            },
            ..known
        }
    }
}

/// The difference of one benchmark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deviating {
    /// Candidate minus baseline, as a fraction of the baseline's total.
    pub difference: f64,
    /// Of that difference, from its launches.
    pub standard_error: f64,
}

impl Deviating {
    fn in_logarithms(&self) -> Deviating {
        Deviating {
            difference: self.difference.ln_1p(),
            standard_error: self.standard_error / (1.0 + self.difference),
        }
    }
}

/// What the benchmarks of a suite have in common.
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
    pub fn of(mut differences: Vec<f64>) -> Option<CommonDifference> {
        const LEAST_BENCHMARKS: usize = 10;
        let size = differences.len();
        if size < LEAST_BENCHMARKS {
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
        let (median, surely, densest) = match difference > 0.0 {
            true => (self.median, self.low, self.densest),
            false => (-self.median, -self.high, -self.densest),
        };
        median >= point && surely > sure && densest > sure
    }
}

fn densest_size(size: usize) -> usize {
    let part = (DENSEST * size as f64).ceil() as usize;
    part.max(LEAST_DENSEST).min(size)
}

/// Returns the densest part and the benchmarks that lie no farther from its centre than drift takes
/// them. In a small suite, the densest part alone has too few benchmarks to show the drift.
fn near_the_densest(benchmarks: &[Deviating]) -> Vec<Deviating> {
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
    let whole = super::variance(&differences) / unit;
    if whole == 0.0 || squares(0.0) <= expected {
        return 0.0;
    }
    // The sum falls as the variance grows, and is at most `expected` where drift is all there is.
    let (mut low, mut high) = (0.0, whole);
    while high - low > PRECISION * high {
        let middle = low + (high - low) / 2.0;
        match squares(middle) > expected {
            true => low = middle,
            false => high = middle,
        }
    }
    high
}

/// Returns the middle of the shortest interval that holds `within` of the differences.
fn densest_centre(mut differences: Vec<f64>, within: usize) -> f64 {
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
    use crate::statistics::student::upper_quantile;
    use fastrand::Rng;

    const BOUNDED: Expected = Expected {
        least_benchmarks: 10,
        most_deviation: 0.03,
        is_factor: false,
        centred: false,
        cautious: false,
    };

    fn drawn(size: usize, standard_error: f64, drift: f64, rng: &mut Rng) -> Vec<Deviating> {
        (0..size)
            .map(|_| Deviating {
                difference: standard_error * EXPECTED_SPREAD * normal(rng) + drift * normal(rng),
                standard_error,
            })
            .collect()
    }

    fn typical(suites: usize, mut of: impl FnMut() -> f64) -> f64 {
        median((0..suites).map(|_| of()).collect()).unwrap()
    }

    #[test]
    fn the_normal_distance_is_what_chance_makes_it() {
        let mut rng = Rng::with_seed(20261122);
        for size in [10, 12, 16, 20, 30, 50, 100, 200, 1000] {
            let within = densest_size(size);
            let drawn = typical(1000, || {
                let values: Vec<f64> = (0..size)
                    .map(|_| EXPECTED_SPREAD * normal(&mut rng))
                    .collect();
                let centre = densest_centre(values.clone(), within);
                let mut distances: Vec<f64> =
                    values.iter().map(|value| (value - centre).abs()).collect();
                distances.sort_by(f64::total_cmp);
                distances[within - 1]
            });
            let ratio = normal_distance(size, within) / drawn;
            assert!((0.94..1.06).contains(&ratio), "{size}: {ratio}");
        }
    }

    #[test]
    fn the_drift_is_found_however_much_the_launches_differ() {
        let mut rng = Rng::with_seed(20261122);
        for size in [12, 30, 200] {
            for standard_error in [0.001, 0.005, 0.01] {
                let found = typical(200, || {
                    let suite = drawn(size, standard_error, 0.01, &mut rng);
                    Drift::of(&suite, &BOUNDED, None).deviation
                });
                assert!(
                    (0.007..0.013).contains(&found),
                    "{size}, {standard_error}: {found}"
                );
            }
        }
    }

    #[test]
    fn a_cautious_suite_takes_one_time_in_ten_its_drift_for_less_than_it_is() {
        let cautious = Expected {
            cautious: true,
            ..BOUNDED
        };
        let mut rng = Rng::with_seed(20261122);
        for size in [10, 12, 20, 30, 200] {
            let less = (0..1000).filter(|_| {
                let suite = drawn(size, 0.001, 0.01, &mut rng);
                Drift::of(&suite, &cautious, None).deviation < 0.01
            });
            let less = less.count();
            assert!((60..160).contains(&less), "{size}: {less} of 1000");
        }
    }

    /// The densest part alone would give 4 degrees of freedom, and a benchmark would have to differ
    /// by 7.3 deviations instead of 6.4.
    #[test]
    fn a_suite_of_twelve_tells_its_drift_by_all_that_is_near() {
        let mut rng = Rng::with_seed(20261122);
        let cautious = Expected {
            cautious: true,
            ..BOUNDED
        };
        let beyond = typical(1000, || {
            let suite = drawn(12, 0.0, 0.01, &mut rng);
            let drift = Drift::of(&suite, &cautious, None);
            let t = upper_quantile(0.05 / 60.0, drift.degrees_of_freedom);
            t * drift.deviation / 0.01
        });
        assert!((6.0..6.8).contains(&beyond), "{beyond}");
    }

    #[test]
    fn what_changed_is_no_drift_and_drift_has_a_limit() {
        let mut rng = Rng::with_seed(20261122);
        for changed in [0.05, -0.05] {
            let mut suite = drawn(12, 0.002, 0.0, &mut rng);
            for (index, benchmark) in suite.iter_mut().take(7).enumerate() {
                benchmark.difference += changed * (1.0 + index as f64);
            }
            let drift = Drift::of(&suite, &BOUNDED, None);
            assert!(drift.deviation < 0.02, "{drift:?}");
        }
        let wild = drawn(30, 0.002, 0.5, &mut rng);
        assert_eq!(
            Drift::of(&wild, &BOUNDED, None).deviation,
            BOUNDED.most_deviation
        );
        assert_eq!(Drift::of(&wild[..9], &BOUNDED, None), Drift::NONE);
    }

    #[test]
    fn a_median_that_was_taken_out_makes_every_benchmark_uncertain() {
        let suite: Vec<Deviating> = [0.0; 4]
            .map(|difference| Deviating {
                difference,
                standard_error: 0.02,
            })
            .to_vec();
        let centred = Expected {
            least_benchmarks: 3,
            most_deviation: f64::INFINITY,
            is_factor: false,
            centred: true,
            cautious: false,
        };
        let drift = Drift::of(&suite, &centred, None);
        assert!((drift.deviation / (0.02 * (MEDIAN_VARIANCE / 4.0).sqrt()) - 1.0).abs() < 1e-9);
        assert_eq!(drift.degrees_of_freedom, EFFICIENCY * 3.0);
    }

    #[test]
    fn earlier_runs_tell_the_drift_of_any_suite_and_a_change_among_them_hides_nothing() {
        let mut rng = Rng::with_seed(20261122);
        for size in [1, 8] {
            let known = typical(200, || {
                let mut pairs: Vec<Vec<Deviating>> =
                    (0..9).map(|_| drawn(size, 0.02, 0.1, &mut rng)).collect();
                for benchmark in &mut pairs[4] {
                    benchmark.difference += 1.0;
                }
                let known = Drift::between_earlier(&pairs).unwrap();
                assert_eq!(known.degrees_of_freedom, [3.0, 9.0][usize::from(size > 1)]);
                assert_eq!(known.earlier_runs, 10);
                assert_eq!(Drift::of(&[], &BOUNDED, Some(known)), known);
                known.deviation
            });
            assert!((known / 0.1 - 1.0).abs() < 0.2, "{size}: {known}");
        }
        let few = vec![drawn(30, 0.02, 0.1, &mut rng); 4];
        assert_eq!(Drift::between_earlier(&few), None);
    }

    #[test]
    fn a_suite_that_drifts_more_than_is_known_is_believed() {
        let drift = |deviation: f64, degrees_of_freedom: f64| Drift {
            deviation,
            degrees_of_freedom,
            is_factor: true,
            earlier_runs: 0,
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
    fn drift_that_multiplies_is_even_on_both_sides() {
        let mut rng = Rng::with_seed(20261122);
        let factors: Vec<f64> = (0..200).map(|_| (0.2 * normal(&mut rng)).exp()).collect();
        let expected = Expected {
            most_deviation: f64::INFINITY,
            is_factor: true,
            ..BOUNDED
        };
        let drift_of = |of: fn(f64) -> f64| {
            let suite: Vec<Deviating> = factors
                .iter()
                .map(|factor| Deviating {
                    difference: of(*factor) - 1.0,
                    standard_error: 0.0,
                })
                .collect();
            Drift::of(&suite, &expected, None)
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

    #[test]
    fn the_common_part_is_a_median_with_an_interval() {
        let slower: Vec<f64> = (0..12).map(|n| 0.02 + 0.01 * f64::from(n)).collect();
        let common = CommonDifference::of(slower).unwrap();
        // P(two or fewer of twelve below the median) = 79/4096 < 2.5 %.
        assert!((common.low - 0.04).abs() < 1e-12, "{common:?}");
        assert!((common.high - 0.11).abs() < 1e-12);
        assert!((common.median - 0.075).abs() < 1e-12);
        assert!(common.moved(0.1, 0.03, 0.01));
        assert!(!common.moved(-0.1, 0.03, 0.01));
        assert_eq!(CommonDifference::of(vec![0.1; 9]), None);
    }

    #[test]
    fn an_unchanged_part_keeps_the_suite_from_having_moved() {
        let mut half: Vec<f64> = vec![0.0; 13];
        half.extend((0..17).map(|n| 0.05 + 0.01 * f64::from(n)));
        let common = CommonDifference::of(half).unwrap();
        assert!(
            common.median > 0.03 && !common.moved(0.1, 0.03, 0.01),
            "{common:?}"
        );
    }
}
