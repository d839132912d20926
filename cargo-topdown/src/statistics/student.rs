//! Tails and quantiles of Student's t.

use std::cell::RefCell;
use std::collections::HashMap;

use statrs::distribution::{ContinuousCDF, StudentsT};

/// P(T > `t`) with `degrees_of_freedom`. Never 1 − cdf, which is 0 long before the tail is.
pub fn upper_tail(t: f64, degrees_of_freedom: f64) -> f64 {
    match StudentsT::new(0.0, 1.0, degrees_of_freedom) {
        Ok(distribution) => distribution.sf(t),
        // No degrees of freedom, no knowledge.
        Err(_) => 1.0,
    }
}

/// The t that is exceeded with probability `tail` (0 < `tail` < 0.5); infinite without degrees of
/// freedom.
pub fn upper_quantile(tail: f64, degrees_of_freedom: f64) -> f64 {
    match StudentsT::new(0.0, 1.0, degrees_of_freedom) {
        Ok(distribution) => -distribution.inverse_cdf(tail),
        Err(_) => f64::INFINITY,
    }
}

/// Quantiles of one tail for intervals that are shown and decide nothing.
///
/// Inverting costs some ten microseconds, which a suite of 10 000 benchmarks would feel. Degrees of
/// freedom are rounded down to tenths, which makes an interval wider by less than 1 %.
pub struct Quantiles {
    tail: f64,
    by_tenths: RefCell<HashMap<u64, f64>>,
}

impl Quantiles {
    /// Quantiles that are exceeded with probability `tail`.
    pub fn of_tail(tail: f64) -> Quantiles {
        Quantiles {
            tail,
            by_tenths: RefCell::default(),
        }
    }

    /// See [`upper_quantile`].
    pub fn at(&self, degrees_of_freedom: f64) -> f64 {
        let tenths = (degrees_of_freedom * 10.0).floor().max(1.0) as u64;
        *self
            .by_tenths
            .borrow_mut()
            .entry(tenths)
            .or_insert_with(|| upper_quantile(self.tail, tenths as f64 / 10.0))
    }
}
