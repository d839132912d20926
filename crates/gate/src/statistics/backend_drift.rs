//! Drift of what is backend bound, as a neighbour on the shared cache makes it.
//!
//! Such a neighbour slows each benchmark in proportion to the slots that wait for memory, so the
//! few that wait most drift far more than the densest part of the suite, from which
//! [`Drift`] is learned. Here each difference is divided by the benchmark's backend-bound share.
//! What all have in common then is the neighbour's slope, and their spread about it, beyond what is
//! known already, is how differently it affects them.

use super::densest::{Deviating, densest_centre, densest_size, near_the_densest};
use super::drift::{Drift, Expected};

/// Fewer benchmarks that are backend bound show it too badly: of a suite of 12 in which 7 changed, a
/// slope would hide the changes.
const MIN_BENCHMARKS: usize = 15;
/// Their spread is at most this part of what slots may drift by: a larger one is changes.
const CAUTION: f64 = 0.5;
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

/// How far the slots of a suite drift for each backend-bound slot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BackendDrift {
    /// What all benchmarks drift by, for each backend-bound slot.
    pub slope: f64,
    /// The standard error of the slope.
    pub slope_error: f64,
    /// How far they drift about it.
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
            most_deviation: CAUTION * expected.most_deviation / typical_share,
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
