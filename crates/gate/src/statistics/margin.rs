//! Comparisons with a margin that are right at the margin.
//!
//! 123456.789 × 1.02 is 2 % more than 123456.789, but as floating-point numbers they differ by
//! 1.9999999999999928 %. So a value reaches a margin if rounding alone can explain what it lacks.

/// More than the rounding of two measured values, their difference, its quotient and the margin
/// itself, relative to the larger of one and the margin. Far below anything that is measured: a
/// slot in 500 million million.
const ROUNDING: f64 = 8.0 * f64::EPSILON;

/// Returns whether `value`, a fraction or a multiple of its unit, is at least `margin`.
pub fn reaches(value: f64, margin: f64) -> bool {
    value >= margin || margin - value <= ROUNDING * margin.abs().max(1.0)
}

/// Returns whether `value` is above `limit`: `limit` itself is not.
pub fn exceeds(value: f64, limit: f64) -> bool {
    !reaches(limit, value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_percentage_of_every_total_reaches_itself() {
        for total in [1.0, 3.0, 123_456.789, 0.1, 1e12 / 7.0] {
            for percent in 1..=300 {
                let percent = f64::from(percent);
                let margin = format!("{percent}").parse::<f64>().unwrap() / 100.0;
                let difference = (total * (1.0 + percent / 100.0) - total) / total;
                assert!(reaches(difference, margin), "{total} {percent}");
                assert!(!exceeds(difference, margin), "{total} {percent}");
                assert!(reaches(-margin, -difference), "{total} {percent}");
                let less = (total * (1.0 + percent / 100.0 - 1e-13) - total) / total;
                assert!(!reaches(less, margin), "{total} {percent}");
                let more = (total * (1.0 + percent / 100.0 + 1e-13) - total) / total;
                assert!(exceeds(more, margin), "{total} {percent}");
            }
        }
    }

    #[test]
    fn nan_reaches_nothing() {
        assert!(!reaches(f64::NAN, 0.02));
        assert!(!reaches(f64::NEG_INFINITY, 0.02));
    }
}
