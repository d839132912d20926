//! The arithmetic of the gate.
//!
//! It takes and returns numbers, and knows nothing of files, benchmarks or policies; `verdict`
//! decides what the numbers mean for a benchmark. There are no random numbers, and every sum runs
//! in the order of its arguments, so results repeat bit for bit.
//!
//! The unit is the launch, not the sample: samples of one process share its memory layout, and
//! treating them as independent is the main cause of false alarms (Kalibera & Jones 2013, "Rigorous
//! benchmarking in reasonable time").

pub mod agreement;
pub mod autocorrelation;
pub mod backend_drift;
pub mod change_points;
pub mod common_difference;
pub mod contrast;
pub mod densest;
pub mod drift;
pub mod launch;
pub mod margin;
pub mod middle_half;
pub mod noise;
pub mod outlook;
mod polygamma;
pub mod power;
pub mod prior;
pub mod share;
pub mod slow_launches;
pub mod spread;
pub mod student;
pub mod wild;

/// Returns the median: for an even number of values, the mean of the middle two; `None` without
/// values.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        length if length % 2 == 1 => Some(values[middle]),
        _ => Some((values[middle - 1] + values[middle]) / 2.0),
    }
}

/// Returns the arithmetic mean; NaN without values.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns the sample variance (divisor n − 1); 0 for fewer than two values.
pub fn variance(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    // Two passes: the sum of squares of numbers near 1 would lose half of the digits.
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    squares / (values.len() - 1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_median_is_between_the_middle_two() {
        assert_eq!(median(vec![4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![]), None);
    }

    #[test]
    fn variance_of_large_numbers_is_precise() {
        let values = [1e12 + 1.0, 1e12 + 2.0, 1e12 + 3.0];
        assert_eq!(variance(&values), 1.0);
        assert_eq!(variance(&[5.0]), 0.0);
    }
}
