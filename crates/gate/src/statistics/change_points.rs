//! Finds where the level of a series changes.
//!
//! Candidates come from divisive segmentation with the energy statistic (E-divisive; Matteson &
//! James 2014, "A nonparametric approach for multiple change point analysis of multivariate data",
//! JASA 109(505), section 2), which assumes nothing about the distribution. It divides until
//! nothing is left to divide. Then the weakest candidate is removed, repeatedly, until all that
//! remain are significant by Student's t between the segments on their two sides. This is the order
//! of Hunter (Fleming et al. 2023, "Hunter: using change point detection to hunt for performance
//! regressions", ICPE '23), now Apache Otava: testing on the way down would stop before a change
//! that a second one hides, and the permutation test of the original is random.
//!
//! There are two differences from Hunter. The variance is at least that of the whole series about
//! its segments, since the segmentation chose the few values of one segment to be similar. And p is
//! multiplied by the number of places where the series could have been divided (Bonferroni), since
//! the place was searched for; Worsley 1979, "On the likelihood ratio test for a shift in location
//! of normal populations", JASA 74(366), gives this as a bound for one change.

use super::margin::reaches;
use super::student::upper_tail;
use super::{mean, median};

/// A level with fewer values cannot be distinguished from disturbed values.
pub const MIN_SEGMENT: usize = 3;
/// Longer series are searched in blocks of at most this many values, since the search takes time in
/// proportion to the square of a block.
const MAX_BLOCK: usize = 128;
/// A block of a longer series keeps at most this many candidates, its strongest. Removing the
/// others one by one from the whole series would take time in proportion to the square of its
/// length. Judgement: an eighth of a block is five times as long as the shortest level.
const MAX_CANDIDATES: usize = 8;

/// A change must show in further series by this fraction of what it must be, as in the gate.
const SURE_FRACTION: f64 = 1.0 / 3.0;

/// What counts as a change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Criterion<'a> {
    /// The probability of finding any change point in a series without one (0 to 1).
    pub alpha: f64,
    /// The least difference between the levels on both sides, in the unit of the values. A smaller
    /// one is not a change, but adds to its neighbours': the levels are joined.
    pub min_change: f64,
    /// The known minimum variance of a value, in the square of that unit.
    pub min_variance: f64,
    /// Further series, in each of which the level must change in the same direction, by at least a
    /// third of `min_change`.
    pub further: &'a [Vec<f64>],
}

impl Criterion<'_> {
    /// Returns whether a `difference` at the middle one of three borders is large enough, in the
    /// further series too.
    pub fn is_change(&self, difference: f64, borders: &[usize]) -> bool {
        let shows = |values: &Vec<f64>| {
            let level = |side: usize| mean(&values[borders[side]..borders[side + 1]]);
            let change = (level(1) - level(0)) * difference.signum();
            reaches(change, SURE_FRACTION * self.min_change)
        };
        reaches(difference.abs(), self.min_change) && self.further.iter().all(shows)
    }
}

/// A place where the level changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    /// The first value of the new level.
    pub index: usize,
    /// The probability of a change like this anywhere in a series without changes.
    pub p_value: f64,
}

/// Returns the change points of `values` in order; none if there are fewer than twice
/// [`MIN_SEGMENT`] values. Takes time in proportion to the number of values.
pub fn change_points(values: &[f64], criterion: &Criterion<'_>) -> Vec<ChangePoint> {
    let mut borders = candidates(values, criterion);
    remove_insignificant(values, &mut borders, criterion);
    if values.len() > MAX_BLOCK {
        relocate(values, &mut borders);
        remove_insignificant(values, &mut borders, criterion);
    }
    let changes = differences_of_levels(values, &borders, variance_of(values, criterion));
    let division_count = division_count(values);
    let points = changes.iter().zip(&borders[1..]);
    points
        .map(|(change, &index)| ChangePoint {
            index,
            p_value: f64::min(1.0, division_count * change.p_value()),
        })
        .collect()
}

/// Returns 0, the borders that may be changes, and the number of values. A long series is divided
/// in blocks, whose own borders are candidates too.
fn candidates(values: &[f64], criterion: &Criterion<'_>) -> Vec<usize> {
    if values.len() <= MAX_BLOCK {
        return borders_in(values);
    }
    let variance = variance_of(values, criterion);
    let blocks = values.len().div_ceil(MAX_BLOCK);
    let mut borders = vec![0];
    for block in 0..blocks {
        let [start, end] = [block, block + 1].map(|block| block * values.len() / blocks);
        let mut levels = Levels::new(&values[start..end], borders_in(&values[start..end]));
        while levels.borders.len() - 2 > MAX_CANDIDATES
            && let Some((weakest, _)) = levels.weakest(variance, |_, _| true)
        {
            levels.remove(weakest);
        }
        borders.extend(levels.borders[1..].iter().map(|border| start + border));
    }
    borders
}

/// Returns 0, the borders that may be changes, and the number of values.
fn borders_in(values: &[f64]) -> Vec<usize> {
    let mut borders = vec![0, values.len()];
    divide(values, 0, &mut borders);
    borders.sort_unstable();
    borders
}

/// Removes the weakest of `borders` until all are significant and large enough.
fn remove_insignificant(values: &[f64], borders: &mut Vec<usize>, criterion: &Criterion<'_>) {
    let variance = variance_of(values, criterion);
    let division_count = division_count(values);
    let mut levels = Levels::new(values, std::mem::take(borders));
    let is_none = |change: &LevelDifference, borders: &[usize]| {
        !criterion.is_change(change.difference, borders)
    };
    // If the weakest of all is significant, then all are: testing one is enough.
    while let Some((weakest, _)) = levels
        .weakest(variance, |_, _| true)
        .filter(|(_, change)| division_count * change.p_value() > criterion.alpha)
        .or_else(|| levels.weakest(variance, is_none))
    {
        levels.remove(weakest);
    }
    *borders = levels.borders;
}

/// A series divided into segments.
struct Levels {
    /// 0, where the level changes, and the number of values.
    borders: Vec<usize>,
    segments: Vec<Segment>,
}

impl Levels {
    fn new(values: &[f64], borders: Vec<usize>) -> Levels {
        Levels {
            segments: segments_between(values, &borders),
            borders,
        }
    }

    /// Returns the least certain of the changes that are meant, by their borders, and its number.
    fn weakest(
        &self,
        min_variance: f64,
        is_meant: impl Fn(&LevelDifference, &[usize]) -> bool,
    ) -> Option<(usize, LevelDifference)> {
        let changes = differences_between(&self.segments, min_variance);
        (changes.into_iter().enumerate())
            .filter(|(number, change)| is_meant(change, &self.borders[*number..number + 3]))
            .min_by(|(_, a), (_, b)| a.t.total_cmp(&b.t))
    }

    /// Joins the two sides of this change.
    fn remove(&mut self, change: usize) {
        self.borders.remove(change + 1);
        let after = self.segments.remove(change + 1);
        self.segments[change] = self.segments[change].joined(&after);
    }
}

/// Looks for a better place of each border near it: that of a block is only near a change.
fn relocate(values: &[f64], borders: &mut [usize]) {
    for index in 1..borders.len() - 1 {
        let [before, at, after] = [borders[index - 1], borders[index], borders[index + 1]];
        let start = before.max(at.saturating_sub(MAX_BLOCK / 2));
        let end = after.min(at + MAX_BLOCK / 2);
        if let Some(place) = best_division(&values[start..end]) {
            borders[index] = start + place;
        }
    }
}

/// Returns the number of places where the series could be divided.
fn division_count(values: &[f64]) -> f64 {
    (values.len() + 1).saturating_sub(2 * MIN_SEGMENT) as f64
}

/// Returns the least variance of a value.
fn variance_of(values: &[f64], criterion: &Criterion<'_>) -> f64 {
    variance_between_neighbours(values).max(criterion.min_variance)
}

/// Adds the borders inside `values`, which begin at `offset`, in no particular order.
fn divide(values: &[f64], offset: usize, borders: &mut Vec<usize>) {
    let Some(index) = best_division(values) else {
        return;
    };
    borders.push(offset + index);
    divide(&values[..index], offset, borders);
    divide(&values[index..], offset + index, borders);
}

/// Returns the length of the left side where the energy distance between both sides, weighted by
/// their lengths, is greatest. `None` if a side would be too short.
fn best_division(values: &[f64]) -> Option<usize> {
    let length = values.len();
    let distances = |from: f64, to: &[f64]| to.iter().map(|to| (to - from).abs()).sum::<f64>();
    // Sums over pairs within the left side, within the right side, and between both.
    let mut left = 0.0;
    let mut right: f64 = (0..length)
        .map(|i| distances(values[i], &values[i + 1..]))
        .sum();
    let mut between = 0.0;
    let mut best = None;
    for index in 1..length {
        let moved = values[index - 1];
        let to_left = distances(moved, &values[..index - 1]);
        let to_right = distances(moved, &values[index..]);
        left += to_left;
        right -= to_right;
        between += to_right - to_left;
        if index < MIN_SEGMENT || length - index < MIN_SEGMENT {
            continue;
        }
        let (n, m) = (index as f64, (length - index) as f64);
        let pairs = |n: f64| n * (n - 1.0) / 2.0;
        let energy = 2.0 * between / (n * m) - left / pairs(n) - right / pairs(m);
        let weighted = n * m / (n + m) * energy;
        if best.is_none_or(|(_, greatest)| weighted > greatest) {
            best = Some((index, weighted));
        }
    }
    best.map(|(index, _)| index)
}

/// The difference of the levels on the two sides of a border.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelDifference {
    /// The mean after minus the mean before.
    pub difference: f64,
    /// Its absolute value over its standard error.
    t: f64,
    degrees_of_freedom: f64,
}

impl LevelDifference {
    /// Returns the probability of so large a difference, in either direction, between equal levels.
    /// Does not account for the search for the place.
    pub fn p_value(&self) -> f64 {
        2.0 * upper_tail(self.t, self.degrees_of_freedom)
    }
}

/// Returns the differences at the inner `borders` of `values`; the first border is 0 and the last
/// the number of values. A value's variance is that of all values about the level of their segment,
/// and at least `min_variance`; in a segment that varies more, it is the segment's own.
pub fn differences_of_levels(
    values: &[f64],
    borders: &[usize],
    min_variance: f64,
) -> Vec<LevelDifference> {
    differences_between(&segments_between(values, borders), min_variance)
}

fn segments_between(values: &[f64], borders: &[usize]) -> Vec<Segment> {
    let segments = borders.windows(2);
    segments
        .map(|ends| Segment::new(&values[ends[0]..ends[1]]))
        .collect()
}

fn differences_between(segments: &[Segment], min_variance: f64) -> Vec<LevelDifference> {
    let squares: f64 = segments.iter().map(|segment| segment.squares).sum();
    let values: f64 = segments.iter().map(|segment| segment.values).sum();
    let degrees_of_freedom = values - segments.len() as f64;
    let variance = (squares / degrees_of_freedom).max(min_variance);
    segments
        .windows(2)
        .map(|pair| {
            let difference = pair[1].mean - pair[0].mean;
            let [before, after] = [&pair[0], &pair[1]].map(|s| s.variance_of_mean(variance));
            let t = difference.abs() / (before + after).sqrt();
            LevelDifference {
                difference,
                t,
                degrees_of_freedom,
            }
        })
        .collect()
}

struct Segment {
    values: f64,
    mean: f64,
    /// The sum of squared distances from the mean.
    squares: f64,
}

impl Segment {
    fn new(values: &[f64]) -> Segment {
        let mean = mean(values);
        Segment {
            values: values.len() as f64,
            mean,
            squares: values.iter().map(|value| (value - mean).powi(2)).sum(),
        }
    }

    /// Returns the segment of both.
    fn joined(&self, after: &Segment) -> Segment {
        let values = self.values + after.values;
        let distance = after.mean - self.mean;
        Segment {
            values,
            mean: self.mean + distance * after.values / values,
            squares: self.squares
                + after.squares
                + distance.powi(2) * self.values * after.values / values,
        }
    }

    /// `variance` is that of the series. A segment that varies more is not at one level but has
    /// disturbed values, which could otherwise pass for a level of their own.
    fn variance_of_mean(&self, variance: f64) -> f64 {
        let own = self.squares / (self.values - 1.0).max(1.0);
        variance.max(own) / self.values
    }
}

/// Returns the variance shown by the differences of neighbours, to which a few changes of the level
/// contribute nothing (von Neumann 1941, "Distribution of the ratio of the mean square successive
/// difference to the variance"; here by the median, so that they contribute nothing at all).
fn variance_between_neighbours(values: &[f64]) -> f64 {
    /// The median of |x| of a normal x, as a fraction of its standard deviation.
    const NORMAL_MEDIAN: f64 = 0.674_489_750_196_081_7;
    let differences = values.windows(2).map(|pair| (pair[1] - pair[0]).abs());
    let deviation = median(differences.collect()).unwrap_or(0.0) / NORMAL_MEDIAN;
    deviation.powi(2) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const CRITERION: Criterion<'_> = Criterion {
        alpha: 0.05,
        min_change: 0.01,
        min_variance: 1e-6,
        further: &[],
    };

    const NONE: [usize; 0] = [];

    fn found(values: &[f64]) -> Vec<usize> {
        let points = change_points(values, &CRITERION);
        points.iter().map(|point| point.index).collect()
    }

    /// A sawtooth of ±0.1 % about these levels.
    fn series(levels: &[(f64, usize)]) -> Vec<f64> {
        let plain = levels
            .iter()
            .flat_map(|&(level, n)| std::iter::repeat_n(level, n));
        let saw = [0.001, -0.001, 0.0005, -0.0005];
        plain
            .enumerate()
            .map(|(i, level)| level + saw[i % 4])
            .collect()
    }

    #[test]
    fn step_is_located_and_flat_series_has_none() {
        assert_eq!(found(&series(&[(1.0, 30)])), NONE);
        assert_eq!(found(&series(&[(1.0, 11), (1.05, 19)])), [11]);
        assert_eq!(found(&series(&[(1.05, 11), (1.0, 19)])), [11]);
        let up_and_down = series(&[(1.0, 10), (1.05, 5), (1.0, 10)]);
        assert_eq!(found(&up_and_down), [10, 15]);
    }

    #[test]
    fn long_series_has_the_changes_of_a_short_one() {
        for step in [63, 64, 126, 128, 200, 251, 252, 700] {
            let values = series(&[(1.0, step), (1.05, 1000 - step)]);
            assert_eq!(found(&values), [step]);
        }
        assert_eq!(found(&series(&[(1.0, 1000)])), NONE);
        let levels: Vec<(f64, usize)> = (0..10).map(|n| (1.0 + 0.02 * f64::from(n), 100)).collect();
        let steps: Vec<usize> = (1..10).map(|n| 100 * n).collect();
        assert_eq!(found(&series(&levels)), steps);
    }

    #[test]
    fn energy_statistic_matches_definition() {
        assert_eq!(best_division(&[0.0, 0.0, 0.0, 10.0, 10.0, 10.0]), Some(3));
        let values: [f64; 7] = [0.3, 0.1, 0.2, 0.9, 0.8, 0.4, 1.0];
        let pairs = |v: &[f64]| -> f64 {
            let n = v.len() as f64;
            let sum: f64 = v
                .iter()
                .flat_map(|a| v.iter().map(move |b| (a - b).abs()))
                .sum();
            sum / (n * (n - 1.0))
        };
        let by_definition = |index: usize| {
            let (a, b) = values.split_at(index);
            let (n, m) = (a.len() as f64, b.len() as f64);
            let between: f64 = a
                .iter()
                .flat_map(|a| b.iter().map(move |b| (a - b).abs()))
                .sum();
            n * m / (n + m) * (2.0 / (n * m) * between - pairs(a) - pairs(b))
        };
        let expected = (3..=4).max_by(|&a, &b| by_definition(a).total_cmp(&by_definition(b)));
        assert_eq!(best_division(&values), expected);
        assert_eq!(best_division(&values[..5]), None);
    }

    #[test]
    fn ten_steps_of_one_percent_are_found_together() {
        let levels: Vec<(f64, usize)> = (0..=10).map(|n| (1.0 + 0.01 * f64::from(n), 3)).collect();
        let values = series(&levels);
        let points = found(&values);
        assert!(points.len() >= 3, "{points:?}");
        let ends = [0, points[0], points[points.len() - 1], values.len()];
        let risen = mean(&values[ends[2]..]) - mean(&values[..ends[1]]);
        assert!(risen > 0.07, "{risen}");
    }

    #[test]
    fn small_short_and_rare_shifts_are_no_change() {
        assert_eq!(found(&series(&[(1.0, 15), (1.009, 15)])), NONE);
        // Two runs at another level could just as well be disturbed.
        assert_eq!(found(&series(&[(1.0, 28), (1.05, 2)])), NONE);
        assert_eq!(found(&series(&[(1.0, 27), (1.05, 3)])), [27]);
        assert_eq!(found(&series(&[(1.0, 2), (1.05, 3)])), NONE);
        let mut one_disturbed = series(&[(1.0, 30)]);
        one_disturbed[12] += 0.2;
        assert_eq!(found(&one_disturbed), NONE);
        let at_the_end = series(&[(1.0, 29), (1.2, 1)]);
        assert_eq!(found(&at_the_end), NONE);
        assert_eq!(found(&[]), NONE);
    }

    #[test]
    fn change_counts_only_in_all_series() {
        let steps = |levels: [f64; 3]| series(&levels.map(|level| (level, 10)));
        let values = steps([1.0, 1.02, 1.07]);
        let found_with = |further: &[Vec<f64>]| {
            let points = change_points(
                &values,
                &Criterion {
                    further,
                    ..CRITERION
                },
            );
            points.iter().map(|point| point.index).collect::<Vec<_>>()
        };
        assert_eq!(found_with(&[steps([2.0, 2.004, 2.009])]), [10, 20]);
        assert_eq!(found_with(&[steps([2.0, 2.01, 2.0])]), [10]);
        // The levels on both sides of a border that is none are joined.
        assert_eq!(found_with(&[steps([1.0, 1.0, 1.02])]), [20]);
        let faster = steps([1.0, 0.95, 0.9]);
        assert_eq!(found_with(&[values.clone(), faster]), NONE);
    }

    #[test]
    fn noiseless_values_have_minimum_variance() {
        let values: Vec<f64> = (0..12).map(|i| if i < 6 { 1.0 } else { 1.05 }).collect();
        assert_eq!(found(&values), [6]);
        let noisy = Criterion {
            min_variance: 0.01,
            ..CRITERION
        };
        assert!(change_points(&values, &noisy).is_empty());
    }
}
