//! The machine's part in the change of a suite's times between two sessions.
//!
//! Time per slot shows it without the code. But what a busier memory does to a copy of 30 MiB, it
//! does not do to a loop in the first cache, so benchmarks that have only time are compared with
//! each other where there are enough of them. Those with slots then tell the least that single
//! benchmarks drift.

use super::earlier::ASSUMED_WALL_DEVIATION;
use super::measured::Measured;
use super::suite_summary::{MachineShift, ShiftBasis, TimePerSlot};
use crate::metric::Metric;
use crate::statistics::contrast::Contrast;
use crate::statistics::densest::Deviating;
use crate::statistics::drift::{Drift, Expected};
use crate::statistics::median;
use crate::statistics::noise::Noise;

/// A smaller machine shift is within the variation of launches on a quiet machine.
pub const MIN_SHIFT: f64 = 0.01;
/// Time per slot is compared over at least this many benchmarks with slots. With fewer, wall-clock
/// time is shown next to the slots but does not gate.
pub const MIN_BENCHMARKS_WITH_SLOTS: usize = 20;
/// With fewer benchmarks, a median would be that of the benchmark in question.
const MIN_BENCHMARKS_FOR_MEDIAN: usize = 3;

/// Returns the median growth of the time per slot; `None` for fewer than three benchmarks.
pub fn time_per_slot<'a>(suite: impl Iterator<Item = &'a Measured<'a>>) -> Option<TimePerSlot> {
    let logarithms = growth_per_slot(suite);
    let benchmarks = logarithms.len();
    (benchmarks >= MIN_BENCHMARKS_FOR_MEDIAN).then_some(())?;
    Some(TimePerSlot {
        difference: median(logarithms)?.exp_m1(),
        benchmarks,
    })
}

/// Returns the shift of the time per slot, if enough benchmarks have slots.
pub fn shift_per_slot<'a>(suite: impl Iterator<Item = &'a Measured<'a>>) -> Option<MachineShift> {
    let logarithms = growth_per_slot(suite);
    (logarithms.len() >= MIN_BENCHMARKS_WITH_SLOTS).then_some(())?;
    shift(logarithms, ShiftBasis::TimePerSlot)
}

/// Returns the shift of the benchmarks that have only time, if there are at least `least`.
pub fn shift_of_time_alone<'a>(
    suite: impl Iterator<Item = &'a Measured<'a>>,
    least: usize,
) -> Option<MachineShift> {
    let logarithms: Vec<f64> = suite
        .filter(|measured| !measured.has_slots())
        .filter_map(|measured| growth(measured, Metric::Wall))
        .collect();
    (logarithms.len() >= least).then_some(())?;
    shift(logarithms, ShiftBasis::Time)
}

fn shift(logarithms: Vec<f64>, basis: ShiftBasis) -> Option<MachineShift> {
    let benchmarks = logarithms.len();
    let logarithm = median(logarithms)?;
    Some(MachineShift {
        difference: logarithm.exp_m1(),
        basis,
        benchmarks,
        removed: logarithm.abs() >= MIN_SHIFT,
    })
}

/// Returns how far the time per slot of single benchmarks drifts; `None` if `expected` demands more
/// benchmarks with slots.
pub fn drift_per_slot<'a>(
    suite: impl Iterator<Item = &'a Measured<'a>>,
    expected: &Expected,
) -> Option<Drift> {
    let (contrasts, slots): (Vec<Contrast>, Vec<f64>) = suite
        .filter_map(|measured| {
            let slots = growth(measured, Metric::Slots)?;
            Some((measured.raw(Metric::Wall)?, slots.exp()))
        })
        .unzip();
    (contrasts.len() >= expected.min_benchmarks).then_some(())?;
    let of_launches = Noise::new(&contrasts, ASSUMED_WALL_DEVIATION, None, None);
    let deviating: Vec<Deviating> = contrasts
        .iter()
        .zip(slots)
        .map(|(wall, slots)| Deviating {
            difference: (1.0 + wall.difference) / slots - 1.0,
            standard_error: of_launches.estimate(wall).whole.standard_error / slots,
        })
        .collect();
    Some(Drift::new(&deviating, expected, None))
}

/// Returns the logarithm of candidate over baseline.
fn growth(measured: &Measured<'_>, metric: Metric) -> Option<f64> {
    let contrast = measured.raw(metric)?;
    let ratio: f64 = contrast.candidate_mean / contrast.baseline_mean;
    Some(ratio.ln()).filter(|ln| ln.is_finite())
}

/// Returns how the time per slot of each benchmark grew, as a logarithm.
fn growth_per_slot<'a>(suite: impl Iterator<Item = &'a Measured<'a>>) -> Vec<f64> {
    suite
        .filter_map(|m| Some(growth(m, Metric::Wall)? - growth(m, Metric::Slots)?))
        .collect()
}
