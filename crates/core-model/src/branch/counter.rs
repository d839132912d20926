//! Counters of outcomes, which stop at their limits.

/// Counts one up or down, between the limits.
#[inline]
pub(super) fn step(counter: i8, up: bool, lowest: i8, highest: i8) -> i8 {
    // No branch, because outcomes are hard to predict.
    (counter + 2 * i8::from(up) - 1).clamp(lowest, highest)
}
