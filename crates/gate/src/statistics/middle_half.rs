//! Sums over the middle half of a launch's samples.

use topdown_run::category::PerCategory;
use topdown_run::event::{Event, Events};
use topdown_run::run_file::IterationSample;
use topdown_run::sample::{Level1, Sample};

/// At most this fraction of a launch's slots is subtracted as the cost of its windows.
pub const MAX_OVERHEAD_FRACTION: f64 = 0.5;

/// The samples of the middle half, in the order in which they were taken.
#[derive(Clone)]
pub(super) struct Kept<'a> {
    samples: Vec<&'a Sample>,
    iterations: f64,
}

/// Returns the indices, ascending, that remain after removing ⌊n/4⌋ samples at each end of the
/// order by `quantity` per iteration; among equal ones, earlier samples come first.
pub(super) fn middle_half_of(
    usable: &[&IterationSample],
    quantity: impl Fn(&Sample) -> Option<u64>,
) -> Vec<usize> {
    let mut order: Vec<(f64, usize)> = usable
        .iter()
        .enumerate()
        .map(|(index, s)| {
            let rate = quantity(&s.sample).unwrap_or(0) as f64 / s.iterations as f64;
            (rate, index)
        })
        .collect();
    order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let cut = order.len() / 4;
    let mut kept: Vec<usize> = order[cut..order.len() - cut]
        .iter()
        .map(|(_, index)| *index)
        .collect();
    kept.sort_unstable();
    kept
}

impl<'a> Kept<'a> {
    pub(super) fn middle_half(
        usable: &[&'a IterationSample],
        quantity: impl Fn(&Sample) -> Option<u64>,
    ) -> Kept<'a> {
        let kept = middle_half_of(usable, quantity);
        Kept {
            samples: kept.iter().map(|&index| &usable[index].sample).collect(),
            // u128: sums of u64 must not wrap, whatever a file contains.
            iterations: kept
                .iter()
                .map(|&index| u128::from(usable[index].iterations))
                .sum::<u128>() as f64,
        }
    }

    pub(super) fn per_iteration(&self, quantity: impl Fn(&Sample) -> Option<u64>) -> Option<f64> {
        Some(self.sum(quantity)? / self.iterations)
    }

    pub(super) fn sum(&self, quantity: impl Fn(&Sample) -> Option<u64>) -> Option<f64> {
        let mut sum = 0_u128;
        for sample in &self.samples {
            sum += u128::from(quantity(sample)?);
        }
        Some(sum as f64)
    }

    /// Returns the categories per iteration, scaled to add up to `slots`, and the scale: the four
    /// bytes of a ratio register need not add up to 255.
    pub(super) fn level1(&self, slots: f64) -> Option<(Level1, f64)> {
        let sum = self.level1_sum()?;
        let scale = slots / sum.total_slots();
        (scale.is_finite() && scale > 0.0).then(|| {
            let level1 = Level1 {
                slots: sum.slots.map(|slots| slots * scale),
                smt_contention_slots: sum.smt_contention_slots.map(|slots| slots * scale),
            };
            (level1, scale)
        })
    }

    pub(super) fn level1_sum(&self) -> Option<Level1> {
        self.samples
            .iter()
            .map(|sample| sample.level1)
            .reduce(|a, b| Some(a?.plus(&b?)))?
    }

    pub(super) fn level2(&self, scale: f64) -> Option<PerCategory<f64>> {
        let sum = self
            .samples
            .iter()
            .map(|sample| sample.level2)
            .reduce(|a, b| Some(a? + b?))??;
        Some(sum.map(|slots| slots * scale))
    }

    pub(super) fn events(&self) -> Events<f64> {
        let rate = |event| self.per_iteration(|sample| sample.events.get(event));
        let counted = |event| Some((event, rate(event)?));
        Event::ALL.into_iter().filter_map(counted).collect()
    }

    /// Returns the fraction of a quantity that is the cost of windows, if an empty one costs
    /// `cost`.
    pub(super) fn window_fraction(
        &self,
        quantity: impl Fn(&Sample) -> Option<u64>,
        cost: Option<u64>,
    ) -> f64 {
        let windows: u64 = self.samples.iter().map(|sample| sample.windows).sum();
        match self.sum(quantity) {
            Some(sum) if sum > 0.0 => windows as f64 * cost.unwrap_or(0) as f64 / sum,
            _ => 0.0,
        }
    }

    /// Returns the quantity per iteration, without the cost of its windows.
    pub(super) fn without_windows(
        &self,
        quantity: impl Fn(&Sample) -> Option<u64> + Copy,
        cost: Option<u64>,
    ) -> Option<f64> {
        let fraction = self
            .window_fraction(quantity, cost)
            .min(MAX_OVERHEAD_FRACTION);
        Some(self.per_iteration(quantity)? * (1.0 - fraction))
    }

    pub(super) fn resolution_fraction(&self) -> f64 {
        let resolution: f64 = self.samples.iter().map(|s| s.resolution_slots).sum();
        match self.sum(|sample| sample.slots) {
            Some(slots) if slots > 0.0 => resolution / slots,
            _ => 0.0,
        }
    }
}
