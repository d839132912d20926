//! Cause of a benchmark's change.
//!
//! The differences of the categories add up to that of the slots, so the sorted list is the
//! explanation. A single cause is named only if it is certain and at least half of the whole.

use serde::Serialize;
use topdown_run::run_file::SlotsValue;

use super::measured::Measured;
use super::rules::Verdict;
use super::tested::{ONE_SIDED_ERROR, Tested};
use crate::metric::Metric;
use crate::statistics::mean;

/// A cause explains at least this part of the difference.
const MIN_PART_FRACTION: f64 = 0.5;

/// Why a benchmark changed: the parts of its difference.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cause {
    /// The metric that is explained.
    pub metric: Metric,
    /// Its difference.
    pub difference: f64,
    /// What kind of cause it is.
    pub kind: CauseKind,
    /// The categories, from the largest part of the difference to the smallest; they add up to it.
    pub parts: Vec<CausePart>,
}

impl Cause {
    /// Returns whether the total changed, and slots show where.
    pub fn is_of_slots(&self) -> bool {
        matches!(self.kind, CauseKind::Category { .. } | CauseKind::Spread)
    }
}

/// What the parts of a difference show.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum CauseKind {
    /// One category is at least half of the difference, and surely contributed to it.
    Category {
        /// The category.
        category: Metric,
    },
    /// No single category is.
    Spread,
    /// Slots moved between categories at about the same total.
    Moved,
    /// The slots did not change but each took longer: clock, steal, kernel or blocking, not the
    /// pipeline.
    TimePerSlot {
        /// Candidate over baseline, minus 1.
        difference: f64,
    },
    /// There are no categories to explain it with.
    Unknown,
}

/// A category's part of a difference.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CausePart {
    /// The category.
    pub category: Metric,
    /// Its difference.
    pub difference: f64,
    /// Its own parts, if level 2 was measured; they add up to it.
    pub details: Vec<CauseDetail>,
}

impl CausePart {
    /// Returns its own parts, without those that the counts cannot tell from none.
    pub fn certain_details(&self) -> impl Iterator<Item = &CauseDetail> {
        self.details
            .iter()
            .filter(|detail| detail.difference.abs() > detail.resolution)
    }
}

/// A level-2 category's part of a difference. Coarser than level 1, and never tested.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CauseDetail {
    /// The level-2 category.
    pub name: &'static str,
    /// Its difference.
    pub difference: f64,
    /// Maximum error of the difference, because counts are read as 8-bit ratios; 0 for others.
    pub resolution: f64,
}

/// Returns the cause; `None` if there is no change to explain.
pub fn explain(verdict: Verdict, measured: &Measured<'_>, tested: &[Tested]) -> Option<Cause> {
    let find = |metric| tested.iter().find(|t| t.metric == metric);
    let wall = find(Metric::Wall);
    let Some(slots) = find(Metric::Slots) else {
        let changed = matches!(
            verdict,
            Verdict::Regressed | Verdict::Accepted | Verdict::Improved
        );
        return wall.filter(|_| changed).map(|wall| Cause {
            metric: Metric::Wall,
            difference: wall.estimate.difference,
            kind: CauseKind::Unknown,
            parts: Vec::new(),
        });
    };
    let parts = || parts(measured, tested);
    let only_wall = wall.filter(|wall| {
        verdict == Verdict::TimeDisagrees || only_wall_regressed(slots, wall, tested)
    });
    match (verdict, only_wall) {
        (Verdict::Regressed | Verdict::Accepted | Verdict::TimeDisagrees, Some(wall)) => {
            Some(Cause {
                metric: Metric::Wall,
                difference: wall.estimate.difference,
                kind: CauseKind::TimePerSlot {
                    difference: (1.0 + wall.estimate.difference)
                        / (1.0 + slots.estimate.difference)
                        - 1.0,
                },
                parts: parts(),
            })
        }
        (Verdict::Regressed | Verdict::Accepted | Verdict::Improved | Verdict::Shifted, _) => {
            let kind = match verdict {
                Verdict::Shifted => CauseKind::Moved,
                _ => kind(measured, slots, tested),
            };
            Some(Cause {
                metric: Metric::Slots,
                difference: slots.estimate.difference,
                kind,
                parts: parts(),
            })
        }
        _ => None,
    }
}

/// Returns whether slots cannot explain the time: no metric of slots is hit, and they do not
/// [explain](slots_explain) it.
pub fn only_wall_regressed(slots: &Tested, wall: &Tested, tested: &[Tested]) -> bool {
    let slots_hit = tested
        .iter()
        .any(|t| t.effect.is_worse() && t.metric != Metric::Wall);
    !slots_hit && !slots_explain(slots, wall)
}

/// Returns whether the slots surely grew, by at least half as much as the time.
pub fn slots_explain(slots: &Tested, wall: &Tested) -> bool {
    slots.estimate.p_above(0.0) < ONE_SIDED_ERROR
        && slots.estimate.difference >= MIN_PART_FRACTION * wall.estimate.difference
}

fn kind(measured: &Measured<'_>, slots: &Tested, tested: &[Tested]) -> CauseKind {
    let categories = tested.iter().filter(|t| t.metric.is_category());
    if measured.coarse.is_some() {
        return CauseKind::Unknown;
    }
    // An improvement is a mirrored regression.
    let sign = if slots.estimate.difference < 0.0 {
        -1.0
    } else {
        1.0
    };
    let largest = categories
        .max_by(|a, b| (sign * a.estimate.difference).total_cmp(&(sign * b.estimate.difference)));
    let Some(largest) = largest else {
        return CauseKind::Unknown;
    };
    let certain = if sign > 0.0 {
        largest.estimate.p_above(largest.effect.resolution)
    } else {
        largest.estimate.p_below(-largest.effect.resolution)
    } < ONE_SIDED_ERROR;
    let part = sign * largest.estimate.difference;
    if certain && part >= MIN_PART_FRACTION * slots.estimate.difference.abs() {
        CauseKind::Category {
            category: largest.metric,
        }
    } else {
        CauseKind::Spread
    }
}

/// Returns the categories, sorted by their part in the direction of the whole.
fn parts(measured: &Measured<'_>, tested: &[Tested]) -> Vec<CausePart> {
    if measured.coarse.is_some() {
        return Vec::new();
    }
    let mut parts: Vec<CausePart> = tested
        .iter()
        .filter(|t| t.metric.is_category())
        .map(|t| CausePart {
            category: t.metric,
            difference: t.estimate.difference,
            details: details(measured, t),
        })
        .collect();
    let whole: f64 = parts.iter().map(|part| part.difference).sum();
    parts.sort_by(|a, b| b.difference.total_cmp(&a.difference));
    if whole < 0.0 {
        parts.reverse();
    }
    parts
}

fn details(measured: &Measured<'_>, category: &Tested) -> Vec<CauseDetail> {
    let (Some(whole), Some(slots)) = (category.metric.category(), measured.raw(Metric::Slots))
    else {
        return Vec::new();
    };
    let mean_of = |launches: &[&SlotsValue]| -> Option<f64> {
        let values: Option<Vec<f64>> = launches
            .iter()
            .map(|launch| launch.level2.map(|parts| parts[whole]))
            .collect();
        Some(mean(&values?))
    };
    let [Some(baseline), Some(candidate)] = measured.kept_slots().map(|l| mean_of(&l)) else {
        return Vec::new();
    };
    let difference = (candidate - baseline) / slots.baseline_mean;
    let mut details = vec![
        CauseDetail {
            name: whole.measured_part().name(),
            difference,
            resolution: category.effect.resolution,
        },
        CauseDetail {
            name: whole.rest().name(),
            difference: category.estimate.difference - difference,
            // Both of which may be off.
            resolution: 2.0 * category.effect.resolution,
        },
    ];
    details.sort_by(|a, b| b.difference.abs().total_cmp(&a.difference.abs()));
    details
}
