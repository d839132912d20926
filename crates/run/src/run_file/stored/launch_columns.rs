//! A benchmark's series on disk: one array per quantity, one number per launch.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::columns::{
    EventColumns, Level1Columns, Level2Columns, Rows, check_splits, column, optional_column,
    some_column,
};
use super::error::RunFileProblem;
use crate::provenance::Provenance;
use crate::run_file::{Series, SlotsValue, TimeValue};

/// A benchmark's times, launch by launch; per iteration.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct TimeColumns {
    /// How they were measured.
    provenance: Provenance,
    /// Which launch of the run, from 0; ascending.
    #[serde(deserialize_with = "column")]
    launch: Vec<u32>,
    /// Samples that were fit for use.
    #[serde(deserialize_with = "column")]
    samples_used: Vec<u32>,
    /// Samples that were not.
    #[serde(deserialize_with = "column")]
    samples_dropped: Vec<u32>,
    /// Wall-clock nanoseconds.
    #[serde(deserialize_with = "column")]
    wall_ns: Vec<f64>,
}

/// A benchmark's slots, launch by launch; all quantities are per iteration. The launches are those
/// of the times where both were measured at once, and others where the slots were modelled.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct SlotsColumns {
    /// How they were measured.
    provenance: Provenance,
    /// Which launch of this series, from 0; ascending.
    #[serde(deserialize_with = "column")]
    launch: Vec<u32>,
    /// Samples that were fit for use.
    #[serde(deserialize_with = "column")]
    samples_used: Vec<u32>,
    /// Samples that were not.
    #[serde(deserialize_with = "column")]
    samples_dropped: Vec<u32>,
    /// Issue slots.
    #[serde(deserialize_with = "column")]
    slots: Vec<f64>,
    /// The slots by category; they add up to `slots`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    level1: Option<Level1Columns>,
    /// The measured part of each category.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    level2: Option<Level2Columns>,
    /// Retired instructions.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "some_column"
    )]
    instructions: Option<Vec<f64>>,
    /// Unhalted core cycles.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "some_column"
    )]
    cycles: Option<Vec<f64>>,
    /// What else was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    events: Option<EventColumns<f64>>,
    /// No category is further from the truth than this fraction of `slots`.
    #[serde(deserialize_with = "column")]
    resolution_fraction: Vec<f64>,
    /// Cost of beginning and ending windows, as a fraction of the slots with it. It is taken out
    /// of `slots` and their categories, but for what is above a half.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "some_column"
    )]
    window_fraction: Option<Vec<f64>>,
}

/// Sums of scaled categories differ from the slots by rounding alone.
const ROUNDING: f64 = 1e-6;

/// A split that is none could be shown, and its parts be judged.
fn check_split(value: &SlotsValue) -> Result<(), RunFileProblem> {
    let (slots, Some(level1)) = (value.slots, value.level1) else {
        return Ok(());
    };
    let total = level1.total_slots();
    let what = if (total - slots).abs() > ROUNDING * slots {
        format!(
            "adds up to {total:e} in launch {}, of {slots:e} slots",
            value.launch
        )
    } else if !level1.is_possible(slots, value.resolution_fraction) {
        format!(
            "has a category {:e} below 0 in launch {}, of {slots:e} slots: more than its \
             resolution",
            level1.below_zero_slots(),
            value.launch
        )
    } else {
        return Ok(());
    };
    Err(RunFileProblem::field("level1", what))
}

/// What both series have: the launches in their order, and the samples of each.
fn check_launches(
    launch: &[u32],
    samples_used: &[u32],
    samples_dropped: &[u32],
) -> Result<Rows, RunFileProblem> {
    let rows = Rows {
        count: launch.len(),
        what: "launches",
    };
    if let Some(pair) = launch.windows(2).find(|pair| pair[0] >= pair[1]) {
        let what = format!("has {} after {}: launches must ascend", pair[1], pair[0]);
        return Err(RunFileProblem::field("launch", what));
    }
    rows.length("samples_used", samples_used)?;
    rows.length("samples_dropped", samples_dropped)?;
    Ok(rows)
}

impl TimeColumns {
    pub(super) fn from_series(series: &Series<TimeValue>) -> TimeColumns {
        let values = &series.launches;
        TimeColumns {
            provenance: Provenance::clone(&series.provenance),
            launch: values.iter().map(|v| v.launch).collect(),
            samples_used: values.iter().map(|v| v.samples_used).collect(),
            samples_dropped: values.iter().map(|v| v.samples_dropped).collect(),
            wall_ns: values.iter().map(|v| v.wall_ns).collect(),
        }
    }

    /// The series, checked: every length, every number, and the order of the launches.
    pub(super) fn into_series(self) -> Result<Series<TimeValue>, RunFileProblem> {
        let rows = check_launches(&self.launch, &self.samples_used, &self.samples_dropped)?;
        rows.unsigned("wall_ns", &self.wall_ns)?;
        let row = |index: usize| TimeValue {
            launch: self.launch[index],
            samples_used: self.samples_used[index],
            samples_dropped: self.samples_dropped[index],
            wall_ns: self.wall_ns[index],
        };
        Ok(Series {
            launches: (0..rows.count).map(row).collect(),
            provenance: Arc::new(self.provenance),
        })
    }
}

impl SlotsColumns {
    pub(super) fn from_series(series: &Series<SlotsValue>) -> SlotsColumns {
        let values = &series.launches;
        SlotsColumns {
            provenance: Provenance::clone(&series.provenance),
            launch: values.iter().map(|v| v.launch).collect(),
            samples_used: values.iter().map(|v| v.samples_used).collect(),
            samples_dropped: values.iter().map(|v| v.samples_dropped).collect(),
            slots: values.iter().map(|v| v.slots).collect(),
            level1: Level1Columns::new(values, |v| v.level1),
            level2: Level2Columns::new(values, |v| v.level2),
            instructions: optional_column(values, |v| v.instructions),
            cycles: optional_column(values, |v| v.cycles),
            events: EventColumns::new(values, |v| *v.events),
            resolution_fraction: values.iter().map(|v| v.resolution_fraction).collect(),
            window_fraction: optional_column(values, |v| v.window_fraction),
        }
    }

    /// The series, checked: every length, every number, and the order of the launches.
    pub(super) fn into_series(self) -> Result<Series<SlotsValue>, RunFileProblem> {
        let rows = check_launches(&self.launch, &self.samples_used, &self.samples_dropped)?;
        rows.unsigned("slots", &self.slots)?;
        for (field, column) in [
            ("instructions", &self.instructions),
            ("cycles", &self.cycles),
        ] {
            if let Some(column) = column {
                rows.unsigned(field, column)?;
            }
        }
        if let Some(events) = &self.events {
            events.check(|field, column| rows.unsigned(field, column))?;
        }
        check_splits(true, self.level1.is_some(), self.level2.is_some())?;
        if let Some(level1) = &self.level1 {
            level1.check(rows)?;
        }
        if let Some(level2) = &self.level2 {
            level2.check(rows)?;
        }
        rows.unsigned("resolution_fraction", &self.resolution_fraction)?;
        if let Some(fractions) = &self.window_fraction {
            rows.unsigned("window_fraction", fractions)?;
        }
        let launches: Vec<SlotsValue> = (0..rows.count).map(|index| self.row(index)).collect();
        launches.iter().try_for_each(check_split)?;
        Ok(Series {
            launches,
            provenance: Arc::new(self.provenance),
        })
    }

    fn row(&self, index: usize) -> SlotsValue {
        let quantity = |column: &Option<Vec<f64>>| column.as_ref().map(|all| all[index]);
        SlotsValue {
            launch: self.launch[index],
            samples_used: self.samples_used[index],
            samples_dropped: self.samples_dropped[index],
            slots: self.slots[index],
            level1: self.level1.as_ref().map(|level1| level1.row(index)),
            level2: self.level2.as_ref().map(|level2| level2.row(index)),
            instructions: quantity(&self.instructions),
            cycles: quantity(&self.cycles),
            events: (self.events.as_ref())
                .map(|events| events.row(index).into())
                .unwrap_or_default(),
            resolution_fraction: self.resolution_fraction[index],
            window_fraction: quantity(&self.window_fraction),
        }
    }
}
