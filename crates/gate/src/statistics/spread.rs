//! Spread of the launches of one side.

use super::{mean, variance};

/// The launches of one side, in units of the baseline's total.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The number of launches.
    pub launches: usize,
    /// The sample variance between launches; 0 for a single one.
    pub variance: f64,
    /// The correlation of consecutive launches; `None` if they do not vary.
    pub autocorrelation: Option<f64>,
}

impl Spread {
    /// Describes the values of a side's launches, in their order.
    pub fn new(values: &[f64]) -> Spread {
        Spread {
            launches: values.len(),
            variance: variance(values),
            autocorrelation: autocorrelation(values),
        }
    }

    /// Returns the degrees of freedom of the variance.
    pub fn degrees_of_freedom(&self) -> f64 {
        self.launches as f64 - 1.0
    }
}

/// Returns the correlation of neighbouring values; `None` if they do not vary.
fn autocorrelation(values: &[f64]) -> Option<f64> {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let products: f64 = values
        .windows(2)
        .map(|pair| (pair[0] - mean) * (pair[1] - mean))
        .sum();
    (squares > 0.0).then(|| products / squares)
}
