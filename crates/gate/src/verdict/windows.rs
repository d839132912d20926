//! Effect of window edges on slots, beyond the cost of an empty window, which is subtracted.

use topdown_run::provenance::SourceKind;
use topdown_run::run_file::Benchmark;

use super::measured::Measured;
use crate::statistics::margin::{exceeds, reaches};
use crate::statistics::middle_half::MAX_OVERHEAD_FRACTION;

/// Fraction of an empty window's cost that the edges of a window may add to or take from the slots
/// of the code in it. A mispredicted branch is 0.28 of the cost on the modelled Zen 5; what ran
/// before the window decides how its first branches are predicted.
const EDGES_FRACTION: f64 = 1.0 / 3.0;

/// Returns whether windows may be the reason for a `difference` of slots that counts from
/// `point_margin` on. Either they are most of the slots of a side, or the slots are modelled:
/// launches on the model agree on what happens at the edges of windows, so no number of them tells
/// it from a change of the code.
pub fn explain(measured: &Measured<'_>, difference: f64, point_margin: f64) -> bool {
    let sides = [measured.baseline, measured.candidate];
    let of_windows = (sides.into_iter().flat_map(Benchmark::slots_launches))
        .filter_map(|launch| launch.window_fraction)
        .fold(0.0, f64::max);
    if of_windows > MAX_OVERHEAD_FRACTION {
        return true;
    }
    let is_modelled = |side: &Benchmark| side.provenance().source == SourceKind::Model;
    // As a fraction of the slots that remain.
    let edges = EDGES_FRACTION * of_windows / (1.0 - of_windows);
    sides.into_iter().all(is_modelled)
        && reaches(difference.abs(), point_margin)
        && !exceeds(difference.abs(), edges)
}
