//! Which samples of a launch on the model count.
//!
//! A real benchmark has warmed its predictors and caches in thousands of iterations before the first
//! sample is taken; the model sees as many as its budget has room for. So the first ones only warm it
//! up, and the last quarter counts. Nothing of that depends on the clock.

/// What part of a launch's usable samples counts: one of so many.
const PART: usize = 4;

/// With fewer samples a launch on the model says nothing: one that another launch agrees with is enough,
/// since no spike can hit them.
pub const LEAST_SAMPLES: usize = 2;

/// With fewer samples the warm-up was short. After ten, eight of 61 kernels are still 2 to 14 % above
/// what they come to after 40; the others are there.
pub const ENOUGH_SAMPLES: usize = 10;

/// How many samples count of a launch that has `usable` of them; they are the last ones.
pub fn steady_samples(usable: usize) -> usize {
    (usable / PART).max(LEAST_SAMPLES).min(usable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_quarter_counts_and_two_at_least() {
        let cases = [(0, 0), (1, 1), (2, 2), (9, 2), (12, 3), (40, 10), (100, 25)];
        for (usable, steady) in cases {
            assert_eq!(steady_samples(usable), steady, "{usable}");
        }
    }

    /// What was dropped once is never asked for again.
    #[test]
    fn the_first_that_counts_never_moves_back() {
        for usable in 0..1000 {
            let first = |usable: usize| usable - steady_samples(usable);
            assert!(first(usable) <= first(usable + 1));
        }
    }
}
