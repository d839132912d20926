//! Launches whose samples have 1, 2, 4, 8, … iterations.
//!
//! criterion's `--quick` takes such samples whatever a group sets: its `sample_size`,
//! `warm_up_time` and `sampling_mode` play no part, and the clock decides about no number of
//! iterations. criterion ends once the last two scalars are alike per iteration, and 100 ms have
//! passed. So the scalars that it gets here are not what was measured: they say whether more is
//! wanted.

/// The environment variable with which `cargo topdown` says what decides how many iterations samples
/// have: [`DOUBLING`], [`FIRST_TWO`], [`AUTHOR`], or else its own plan.
pub const SAMPLING_VARIABLE: &str = "CARGO_TOPDOWN_SAMPLING";

/// Samples double.
pub const DOUBLING: &str = "doubling";

/// Samples double, and two are enough: what a [fingerprint](crate::code::CodeSlots::first_samples)
/// takes.
pub const FIRST_TWO: &str = "first-two";

/// What the groups set holds, as in a plain `cargo bench`.
pub const AUTHOR: &str = "author";

/// How many samples `cargo topdown` asks this process for at least, if it asks for samples that
/// double.
#[cfg(feature = "criterion")]
pub(crate) fn least_samples() -> Option<usize> {
    match std::env::var(SAMPLING_VARIABLE).as_deref() {
        Ok(DOUBLING) => Some(LEAST_SAMPLES),
        Ok(FIRST_TWO) => Some(FINGERPRINT_SAMPLES),
        _ => None,
    }
}

/// How many samples a benchmark has at least: as many as a launch on the machine needs.
pub const LEAST_SAMPLES: usize = 4;

/// A fingerprint is of the first iteration, which may prepare something, and of the two after it.
pub const FINGERPRINT_SAMPLES: usize = 2;

/// The iterations of a sample, by its index from 0.
pub fn iterations(sample: usize) -> u64 {
    u32::try_from(sample)
        .ok()
        .and_then(|shift| 1_u64.checked_shl(shift))
        .unwrap_or(u64::MAX)
}

/// What criterion is told of a sample, by its index: as much per iteration as of any other that is
/// enough, and the same for all that are not.
pub fn scalar(sample: usize, is_enough: bool) -> f64 {
    match is_enough {
        true => iterations(sample) as f64,
        false => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What criterion 0.8 decides by, at a significance level of eight times its default.
    fn ends(before: f64, now: f64) -> bool {
        let mean = (before + 2.0 * now) / 5.0;
        let deviation = ((before - mean).powi(2) + (now - 2.0 * mean).powi(2)).sqrt();
        deviation < 0.4 * mean
    }

    #[test]
    fn criterion_goes_on_until_there_were_two_samples_that_are_enough() {
        for first_enough in 1..40 {
            let scalars: Vec<f64> = (0..60).map(|n| scalar(n, n >= first_enough)).collect();
            let mut pairs = scalars.windows(2);
            let last = pairs.position(|pair| ends(pair[0], pair[1])).unwrap() + 1;
            // 1 and 2 are alike per iteration whoever says so.
            let expected = if first_enough == 1 {
                1
            } else {
                first_enough + 1
            };
            assert_eq!(last, expected);
        }
    }
}
