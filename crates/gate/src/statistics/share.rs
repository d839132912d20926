//! Error of a function's sampled share.

/// A normal variable is within this many standard deviations in 95 % of cases.
const Z_95: f64 = 1.959_963_984_540_054;

/// Returns half the width of the 95 % interval for a share that `hits` PMU samples of equal weight
/// found.
///
/// E. B. Wilson, "Probable inference, the law of succession, and statistical inference", Journal of
/// the American Statistical Association 22 (1927), 209-212. It covers chance alone: not that code
/// differs between launches, nor that PMU samples keep step with the code.
pub fn share_margin(share: f64, hits: u64) -> f64 {
    if hits == 0 {
        return 1.0;
    }
    let hits = hits as f64;
    let z2 = Z_95 * Z_95;
    let variance = share * (1.0 - share) / hits + z2 / (4.0 * hits * hits);
    Z_95 * variance.max(0.0).sqrt() / (1.0 + z2 / hits)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For 50 of 100: 0.4038 to 0.5962.
    #[test]
    fn margin_matches_wilson() {
        assert!((share_margin(0.5, 100) - 0.0962).abs() < 1e-4);
        assert!((share_margin(0.3636, 20_000) - 0.00667).abs() < 1e-5);
        assert!(share_margin(0.0, 100) > 0.015 && share_margin(1.0, 100) > 0.015);
        assert_eq!(share_margin(0.5, 0), 1.0);
    }

    /// Of intervals for a share of 20 %, 95 % contain it; those of counts are coarse.
    #[test]
    fn intervals_have_stated_coverage() {
        let mut state = 20_011_u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let holds = (0..2000).filter(|_| {
            let found = (0..400).filter(|_| random() < 0.2).count() as f64 / 400.0;
            (found - 0.2).abs() <= share_margin(found, 400)
        });
        let holds = holds.count();
        assert!((1860..=1940).contains(&holds), "{holds} of 2000");
    }
}
