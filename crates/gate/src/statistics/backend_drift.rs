//! Drift of what is backend bound, as a neighbour on the shared cache makes it.
//!
//! Such a neighbour slows each benchmark in proportion to the slots that wait for memory, so the
//! few that wait most drift far more than the densest part of the suite, from which
//! [`Drift`] is learned. Here each difference is divided by the benchmark's backend-bound share.
//! What all have in common then is the neighbour's slope, and their spread about it, beyond what is
//! known already, is how differently it affects them.

use super::densest::{Deviating, densest_centre, densest_size, near_the_densest};
use super::drift::{Drift, Expected};

/// Fewer benchmarks that are backend bound show it too badly: of a suite of 12 in which 7 changed,
/// a slope would hide the changes.
const MIN_BENCHMARKS: usize = 15;
/// Their spread is at most this part of what slots may drift by: a larger one is changes.
const MAX_SPREAD_FRACTION: f64 = 0.5;
/// Benchmarks with a smaller backend-bound share show nothing about it.
const MIN_SHARE: f64 = 0.2;

/// A benchmark whose backend-bound share is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weighted {
    /// The difference of its slots, and the standard error of it, drift of the suite included.
    pub deviating: Deviating,
    /// The backend-bound share of the baseline.
    pub share: f64,
}

/// Drift of a suite's slots for each backend-bound slot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BackendDrift {
    /// What all benchmarks drift by, for each backend-bound slot.
    pub slope: f64,
    /// The standard error of the slope.
    pub slope_error: f64,
    /// Their deviation about it.
    pub drift: Drift,
}

impl BackendDrift {
    /// Learns it from a suite; `None` if too few benchmarks are backend bound.
    pub fn new(benchmarks: &[Weighted], expected: &Expected) -> Option<BackendDrift> {
        let per_slot: Vec<Deviating> = benchmarks
            .iter()
            .filter(|benchmark| benchmark.share >= MIN_SHARE)
            .map(|Weighted { deviating, share }| Deviating {
                difference: deviating.difference / share,
                standard_error: deviating.standard_error / share,
            })
            .collect();
        if per_slot.len() < MIN_BENCHMARKS {
            return None;
        }
        let squares: f64 = benchmarks.iter().map(|b| b.share.powi(2)).sum();
        let typical_share = (squares / benchmarks.len() as f64).sqrt();
        let expected = Expected {
            max_deviation: MAX_SPREAD_FRACTION * expected.max_deviation / typical_share,
            ..*expected
        };
        let drift = Drift::new(&per_slot, &expected, None);
        let near = near_the_densest(&per_slot);
        let weights: f64 = (near.iter())
            .map(|b| 1.0 / (b.standard_error.powi(2) + drift.deviation.powi(2)))
            .sum();
        // A mean would follow the benchmarks that changed.
        let within = densest_size(per_slot.len());
        let slope = densest_centre(per_slot.iter().map(|b| b.difference).collect(), within);
        Some(BackendDrift {
            slope,
            slope_error: (1.0 / weights).sqrt(),
            drift,
        })
    }

    /// Returns how far a benchmark with this backend-bound share drifts beyond the neighbour.
    pub fn drift_at(&self, share: f64) -> Drift {
        Drift {
            deviation: share * self.drift.deviation.hypot(self.slope_error),
            ..self.drift
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::normal;
    use crate::statistics::median;
    use fastrand::Rng;

    const ERROR: f64 = 0.002;
    const EXPECTED: Expected = Expected {
        min_benchmarks: 4,
        max_deviation: 0.0325,
        is_factor: false,
        centred: false,
        cautious: true,
        at_least: None,
    };

    /// Benchmarks with shares from 0.2 to 0.8, each `slope` of its share slower, and apart by
    /// `deviation` of it.
    fn suite(size: usize, slope: f64, deviation: f64, rng: &mut Rng) -> Vec<Weighted> {
        (0..size)
            .map(|index| {
                let share = 0.2 + 0.6 * index as f64 / size as f64;
                let drift = share * (slope + deviation * normal(rng));
                Weighted {
                    deviating: Deviating {
                        difference: drift + ERROR * normal(rng),
                        standard_error: ERROR,
                    },
                    share,
                }
            })
            .collect()
    }

    fn learned(slope: f64, deviation: f64) -> [f64; 2] {
        let mut rng = Rng::with_seed(20261128);
        let all: Vec<BackendDrift> = (0..200)
            .map(|_| BackendDrift::new(&suite(60, slope, deviation, &mut rng), &EXPECTED).unwrap())
            .collect();
        let typical = |quantity: fn(&BackendDrift) -> f64| {
            median(all.iter().map(quantity).collect()).unwrap()
        };
        [typical(|b| b.slope), typical(|b| b.drift.deviation)]
    }

    #[test]
    fn slope_and_spread_are_learned() {
        for slope in [-0.05, 0.0, 0.08] {
            let [found, spread] = learned(slope, 0.0);
            assert!((found - slope).abs() < 0.002, "{slope}: {found}");
            assert!(spread < 0.01, "{slope}: {spread}");
        }
        // A suite may look steadier than it is, so the spread is put higher than it was drawn.
        let [slope, spread] = learned(0.0, 0.02);
        assert!(slope.abs() < 0.005, "{slope}");
        assert!((0.02..0.03).contains(&spread), "{spread}");
    }

    #[test]
    fn changed_benchmarks_do_not_move_the_slope() {
        let mut rng = Rng::with_seed(20261128);
        let mut changed = suite(60, 0.05, 0.0, &mut rng);
        for benchmark in changed.iter_mut().step_by(3) {
            benchmark.deviating.difference += 0.1;
        }
        let found = BackendDrift::new(&changed, &EXPECTED).unwrap();
        assert!((found.slope - 0.05).abs() < 0.01, "{found:?}");
    }

    #[test]
    fn spread_is_limited_and_few_backend_bound_benchmarks_show_none() {
        let mut rng = Rng::with_seed(20261128);
        let wild = suite(60, 0.0, 0.5, &mut rng);
        let squares: f64 = wild.iter().map(|b| b.share.powi(2)).sum();
        let limit = MAX_SPREAD_FRACTION * EXPECTED.max_deviation / (squares / 60.0).sqrt();
        let found = BackendDrift::new(&wild, &EXPECTED).unwrap();
        assert!((found.drift.deviation / limit - 1.0).abs() < 1e-9);
        assert!(BackendDrift::new(&wild[..MIN_BENCHMARKS - 1], &EXPECTED).is_none());
        let light: Vec<Weighted> = wild.iter().map(|b| Weighted { share: 0.1, ..*b }).collect();
        assert!(BackendDrift::new(&light, &EXPECTED).is_none());
    }

    #[test]
    fn drift_is_in_proportion_to_the_share() {
        let backend = BackendDrift {
            slope: 0.1,
            slope_error: 0.03,
            drift: Drift {
                deviation: 0.04,
                degrees_of_freedom: 12.0,
                ..Drift::NONE
            },
        };
        let half = backend.drift_at(0.5);
        assert!((half.deviation - 0.025).abs() < 1e-12);
        assert_eq!(half.degrees_of_freedom, 12.0);
        assert_eq!(backend.drift_at(0.0).deviation, 0.0);
    }
}
