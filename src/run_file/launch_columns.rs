//! Launch values on disk.

use serde::{Deserialize, Serialize};

use super::LaunchValue;
use super::columns::{
    EventColumns, Level1Columns, Level2Columns, Rows, check_splits, optional_column,
};
use super::error::RunFileProblem;

/// The columns of a benchmark's launch values; all quantities are per iteration.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct LaunchColumns {
    /// The launch's number in the run, from 0; ascending.
    launch: Vec<u32>,
    /// Usable samples.
    samples_used: Vec<u32>,
    /// Unusable samples.
    samples_dropped: Vec<u32>,
    /// Wall-clock nanoseconds.
    wall_ns: Vec<f64>,
    /// Issue slots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    slots: Option<Vec<f64>>,
    /// The slots by category; they add up to `slots`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    level1: Option<Level1Columns>,
    /// The measured part of each category.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    level2: Option<Level2Columns>,
    /// Retired instructions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instructions: Option<Vec<f64>>,
    /// Unhalted core cycles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cycles: Option<Vec<f64>>,
    /// Counts of other events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    events: Option<EventColumns<f64>>,
    /// No category is off by more than this fraction of `slots`.
    resolution_fraction: Vec<f64>,
    /// The cost of beginning and ending windows, as a fraction of the slots including it. Up to one
    /// half, it is subtracted from `slots` and their categories.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    window_fraction: Option<Vec<f64>>,
}

/// Sums of scaled categories differ from the slots only by rounding.
const ROUNDING: f64 = 1e-6;

/// Rejects values whose categories do not add up: they could be shown, and their parts judged.
fn check_split(value: &LaunchValue) -> Result<(), RunFileProblem> {
    let (Some(slots), Some(level1)) = (value.slots, value.level1) else {
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
            "has a category {:e} below 0 in launch {}, of {slots:e} slots: more than its resolution",
            level1.below_zero_slots(),
            value.launch
        )
    } else {
        return Ok(());
    };
    Err(RunFileProblem::field("level1", what))
}

impl LaunchColumns {
    pub(super) fn from_values(values: &[LaunchValue]) -> LaunchColumns {
        LaunchColumns {
            launch: values.iter().map(|v| v.launch).collect(),
            samples_used: values.iter().map(|v| v.samples_used).collect(),
            samples_dropped: values.iter().map(|v| v.samples_dropped).collect(),
            wall_ns: values.iter().map(|v| v.wall_ns).collect(),
            slots: optional_column(values, |v| v.slots),
            level1: Level1Columns::of(values, |v| v.level1),
            level2: Level2Columns::of(values, |v| v.level2),
            instructions: optional_column(values, |v| v.instructions),
            cycles: optional_column(values, |v| v.cycles),
            events: EventColumns::of(values, |v| v.events),
            resolution_fraction: values.iter().map(|v| v.resolution_fraction).collect(),
            window_fraction: optional_column(values, |v| v.window_fraction),
        }
    }

    /// Returns the values, checking every length, every number, and the order of the launches.
    pub(super) fn into_values(self) -> Result<Vec<LaunchValue>, RunFileProblem> {
        let rows = Rows {
            count: self.launch.len(),
            what: "launches",
        };
        if let Some(pair) = self.launch.windows(2).find(|pair| pair[0] >= pair[1]) {
            let what = format!("has {} after {}: launches must ascend", pair[1], pair[0]);
            return Err(RunFileProblem::field("launch", what));
        }
        rows.length("samples_used", &self.samples_used)?;
        rows.length("samples_dropped", &self.samples_dropped)?;
        rows.unsigned("wall_ns", &self.wall_ns)?;
        for (field, column) in [
            ("slots", &self.slots),
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
        check_splits(
            self.slots.is_some(),
            self.level1.is_some(),
            self.level2.is_some(),
        )?;
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
        let values: Vec<LaunchValue> = (0..rows.count).map(|index| self.row(index)).collect();
        values.iter().try_for_each(check_split)?;
        Ok(values)
    }

    fn row(&self, index: usize) -> LaunchValue {
        let quantity = |column: &Option<Vec<f64>>| column.as_ref().map(|all| all[index]);
        LaunchValue {
            launch: self.launch[index],
            samples_used: self.samples_used[index],
            samples_dropped: self.samples_dropped[index],
            wall_ns: self.wall_ns[index],
            slots: quantity(&self.slots),
            level1: self.level1.as_ref().map(|level1| level1.row(index)),
            level2: self.level2.as_ref().map(|level2| level2.row(index)),
            instructions: quantity(&self.instructions),
            cycles: quantity(&self.cycles),
            events: self
                .events
                .as_ref()
                .map(|events| events.row(index))
                .unwrap_or_default(),
            resolution_fraction: self.resolution_fraction[index],
            window_fraction: quantity(&self.window_fraction),
        }
    }
}
