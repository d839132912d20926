//! Launches of a benchmark on a slow path that the baseline lacks.

use serde::Serialize;

use super::measured::Measured;
use crate::metric::Metric;
use crate::statistics::slow_launches::{Tail, excess};

/// A slow launch is above the median of its side by this many margins. Modes that differ by less,
/// as of memory layout, come and go without a change.
const MARGINS: f64 = 4.0;

/// The slow launches of a benchmark, on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SlowLaunches {
    /// Slow launches of the baseline.
    pub baseline: u32,
    /// All launches of the baseline.
    pub baseline_launches: u32,
    /// Slow launches of the candidate.
    pub candidate: u32,
    /// All launches of the candidate.
    pub candidate_launches: u32,
    /// Slowdown of those of the candidate relative to its median launch, as a fraction of it: the
    /// median over them.
    pub difference: f64,
    /// The probability of so many, if launches are slow as often as in the rest of the suite.
    pub p: f64,
    /// Whether `p` is below what an unchanged suite may reach.
    pub is_certain: bool,
}

impl SlowLaunches {
    /// Compares the tails of both sides; `None` if the candidate has no more slow launches than it
    /// may. `others` has those of the suite, and `alpha` is what `p` must be below.
    pub fn new(measured: &Measured<'_>, others: Tail, alpha: f64) -> Option<SlowLaunches> {
        let sides = launches(measured)?;
        let distance = min_distance(measured);
        let [baseline, candidate] = [0, 1].map(|side| Tail::of(&sides[side], distance));
        candidate.is_beyond(baseline).then_some(())?;
        let p = candidate.tail_probability(others);
        let count = |launches: usize| u32::try_from(launches).unwrap_or(u32::MAX);
        Some(SlowLaunches {
            baseline: count(baseline.slow),
            baseline_launches: count(baseline.launches),
            candidate: count(candidate.slow),
            candidate_launches: count(candidate.launches),
            difference: excess(&sides[1], distance)?,
            p,
            is_certain: p < alpha,
        })
    }
}

/// Returns the slow launches of a suite, as far as they show how often launches are slow by
/// accident: all of the baseline, and those of the candidate that are alone in their benchmark.
pub fn of_suite<'a>(suite: impl Iterator<Item = &'a Measured<'a>>) -> Tail {
    let of_benchmark = |measured: &Measured<'_>| {
        let sides = launches(measured)?;
        let distance = min_distance(measured);
        let [baseline, candidate] = [0, 1].map(|side| Tail::of(&sides[side], distance));
        Some(match candidate.is_accidental() {
            true => baseline.plus(candidate),
            false => baseline,
        })
    };
    suite
        .filter_map(of_benchmark)
        .fold(Tail::default(), Tail::plus)
}

/// Returns all launches of both sides, also those that are left out of the means; `None` if they
/// have no noise, or if groups of units stand for them.
fn launches(measured: &Measured<'_>) -> Option<[Vec<f64>; 2]> {
    let metric = measured.main_metric();
    if metric == Metric::Slots && (measured.is_exact(metric) || measured.is_sampled()) {
        return None;
    }
    Some([
        metric.values(measured.baseline)?,
        metric.values(measured.candidate)?,
    ])
}

fn min_distance(measured: &Measured<'_>) -> f64 {
    MARGINS * measured.margins(measured.main_metric()).point
}
