//! A metric under test.

use super::effect::Effect;
use crate::metric::Metric;
use crate::statistics::margin::reaches;
use crate::statistics::noise::Estimate;

/// The error probability of a one-sided statement about one benchmark.
pub const ONE_SIDED_ERROR: f64 = 0.05;

/// A metric under test.
pub struct Tested {
    pub metric: Metric,
    pub estimate: Estimate,
    pub effect: Effect,
}

impl Tested {
    /// Returns whether the metric looks worse for this benchmark alone.
    pub fn looks_worse(&self) -> bool {
        reaches(self.estimate.difference, self.effect.point_margin)
            && self.estimate.p_above(self.effect.resolution) < ONE_SIDED_ERROR
    }
}
