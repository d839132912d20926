//! Samples after which caches and predictors have learnt what they can: an iteration of the last
//! one has the slots of one before it.

use crate::category::PerCategory;
use crate::doubling;

/// The categories of two samples in a row differ by at most this part of all slots. Judgement: 31
/// of 61 benchmarks end by it. Their slots differ from those of the longer sample by 0.013 % in the
/// median, and by at most 0.25 %. Predictors that still learn make several percent.
const MAX_DIFFERENCE: f64 = 0.005;

/// Beginning and ending a window has at most this part of the slots of a sample that repeats: as
/// much as in one of a million instructions.
const MAX_OUTSIDE: f64 = 0.001;

/// Slots of an iteration, for each category.
pub(super) type Slots = [f64; 4];

/// Returns whether iterations have equal slots in each category, as far as it matters.
pub(super) fn are_equal(before: Slots, now: Slots) -> bool {
    differ_by(before, now) <= MAX_DIFFERENCE
}

/// What an iteration of the last samples had, and whether it had as much as one before.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settled {
    last: Option<Slots>,
    before_last: Option<Slots>,
    is_settled: bool,
    repeats: bool,
}

impl Settled {
    /// Counts the benchmark's next sample, by its index: the slots of each category, if known.
    pub fn count(&mut self, slots: Option<PerCategory<f64>>, index: usize) {
        let iterations = doubling::iterations(index) as f64;
        let now = slots.map(|slots| slots.into_array().map(|slots| slots / iterations));
        let last = std::mem::replace(&mut self.last, now);
        let before_last = std::mem::replace(&mut self.before_last, last);
        let pair = last.zip(now);
        self.is_settled = pair.is_some_and(|(last, now)| are_equal(last, now));
        self.repeats = before_last
            .zip(pair)
            .is_some_and(|(before_last, (last, now))| {
                // Exact numbers: slots are whole, and iterations powers of two. What is outside of
                // iterations is shared by twice as many of them in each sample.
                let halves = |n: usize| before_last[n] - last[n] == 2.0 * (last[n] - now[n]);
                differ_by(last, now) <= MAX_OUTSIDE && (0..now.len()).all(halves)
            });
    }

    /// Returns whether the last sample had the slots of the one before it.
    pub fn is_settled(&self) -> bool {
        self.is_settled
    }

    /// Returns whether all iterations of the last two samples had exactly the same slots, and
    /// hardly anything else had any.
    pub fn repeats(&self) -> bool {
        self.repeats
    }
}

/// Returns the largest difference of a category, as part of all slots of `now`.
fn differ_by(before: Slots, now: Slots) -> f64 {
    let all: f64 = now.iter().sum();
    let differences = before.iter().zip(now);
    differences.fold(0.0, |largest: f64, (before, now)| {
        largest.max((before - now).abs() / all)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns after each sample whether it is settled, given the slots of each category.
    fn settled(samples: &[[f64; 4]]) -> Vec<bool> {
        let mut settled = Settled::default();
        let of = |(index, slots): (usize, &[f64; 4])| {
            settled.count(Some((*slots).into()), index);
            settled.is_settled()
        };
        samples.iter().enumerate().map(of).collect()
    }

    #[test]
    fn equal_slots_per_iteration_are_settled() {
        let one = [100.0, 20.0, 30.0, 50.0];
        let times = |factor: f64| one.map(|slots| slots * factor);
        assert_eq!(
            settled(&[times(3.0), times(2.0), times(4.0), times(8.03)]),
            [false, false, true, true]
        );
        assert_eq!(settled(&[times(1.0), times(2.05)]), [false, false]);
    }

    /// Returns whether the last sample repeats, given the slots of a category in each sample. The
    /// others have none, but for one that has a hundred in each iteration.
    fn repeats(slots: &[f64]) -> bool {
        let mut settled = Settled::default();
        for (index, &slots) in slots.iter().enumerate() {
            let hundred = 100.0 * doubling::iterations(index) as f64;
            settled.count(Some([hundred, slots, 0.0, 0.0].into()), index);
        }
        settled.repeats()
    }

    #[test]
    fn equal_steps_repeat() {
        // The first sample warms up; windows have one slot outside of their iterations.
        assert!(repeats(&[900.0, 21.0, 41.0, 81.0, 161.0]));
        assert!(!repeats(&[900.0, 21.0, 41.0, 81.0, 162.0]));
        assert!(!repeats(&[900.0, 900.0, 41.0, 81.0]));
        assert!(!repeats(&[20.0, 40.0]), "two samples are too few");
        // With four slots outside, 32 iterations have a thousandth of all slots outside.
        let outside = |count: i32| {
            let samples = (0..count).map(|index| 20.0 * f64::from(1 << index) + 4.0);
            repeats(&samples.collect::<Vec<_>>())
        };
        assert!(!outside(6));
        assert!(outside(7));
    }

    #[test]
    fn slots_that_change_category_are_not_settled() {
        let before = [100.0, 20.0, 30.0, 50.0];
        let after = [200.0, 36.0, 64.0, 100.0];
        assert_eq!(settled(&[before, after]), [false, false]);
    }

    #[test]
    fn sample_without_slots_is_not_settled() {
        let mut settled = Settled::default();
        for index in 0..3 {
            settled.count(None, index);
            assert!(!settled.is_settled());
        }
    }
}
