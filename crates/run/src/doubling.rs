//! Launches whose samples have 1, 2, 4, 8, … iterations.
//!
//! criterion's `--quick` takes such samples regardless of a group's settings: it ignores
//! `sample_size`, `warm_up_time` and `sampling_mode`, and the clock does not influence the number
//! of iterations. It stops once the last two scalars agree per iteration and 100 ms have passed.
//! The scalars returned here are therefore not measurements: they say whether more samples are
//! wanted.

use crate::setting::{Sampling, Setting};

/// Returns the minimum number of samples that `cargo topdown` requests, if it requests doubling
/// samples.
#[inline]
pub fn min_samples() -> Option<usize> {
    match Sampling::from_environment() {
        Ok(Sampling::Doubling) => Some(MIN_SAMPLES),
        Ok(Sampling::FirstTwo) => Some(FINGERPRINT_SAMPLES),
        _ => None,
    }
}

/// Minimum number of samples per benchmark, as a launch on hardware needs.
pub const MIN_SAMPLES: usize = 4;

/// A fingerprint covers the first iteration, which may do set-up, and the two after it.
pub const FINGERPRINT_SAMPLES: usize = 2;

/// Returns the number of iterations of a sample, by its index from 0.
pub fn iterations(sample: usize) -> u64 {
    u32::try_from(sample)
        .ok()
        .and_then(|shift| 1_u64.checked_shl(shift))
        .unwrap_or(u64::MAX)
}

/// Returns the scalar reported to criterion for a sample, by its index: equal per iteration for all
/// samples that suffice, and constant for all that do not.
pub fn scalar(sample: usize, is_enough: bool) -> f64 {
    if is_enough {
        iterations(sample) as f64
    } else {
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// criterion 0.8's stopping rule, at a significance level of eight times its default.
    fn ends(before: f64, now: f64) -> bool {
        let mean = (before + 2.0 * now) / 5.0;
        let deviation = ((before - mean).powi(2) + (now - 2.0 * mean).powi(2)).sqrt();
        deviation < 0.4 * mean
    }

    #[test]
    fn criterion_stops_after_two_long_enough_samples() {
        for first_enough in 1..40 {
            let scalars: Vec<f64> = (0..60).map(|n| scalar(n, n >= first_enough)).collect();
            let mut pairs = scalars.windows(2);
            let last = pairs.position(|pair| ends(pair[0], pair[1])).unwrap() + 1;
            // 1 and 2 always agree per iteration.
            let expected = if first_enough == 1 {
                1
            } else {
                first_enough + 1
            };
            assert_eq!(last, expected);
        }
    }
}
