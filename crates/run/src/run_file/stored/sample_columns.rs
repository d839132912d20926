//! Samples on disk.

use serde::{Deserialize, Serialize};

use super::columns::{
    ActivityColumns, EventColumns, Level1Columns, Level2Columns, Rows, check_splits,
    optional_column,
};
use super::error::RunFileProblem;
use crate::sample::{Flags, GroupCounts, Sample};

/// The columns of a list of samples. A quantity missing in any sample is left out for all of them.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct SampleColumns {
    /// Number of windows (start to end) summed up in each sample.
    windows: Vec<u64>,
    /// Wall-clock nanoseconds inside the windows.
    wall_ns: Vec<u64>,
    /// Issue slots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    slots: Option<Vec<u64>>,
    /// The slots by category, not scaled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    level1: Option<Level1Columns>,
    /// The measured part of each category.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    level2: Option<Level2Columns>,
    /// Retired instructions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instructions: Option<Vec<u64>>,
    /// Unhalted core cycles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cycles: Option<Vec<u64>>,
    /// Counts of other events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    events: Option<EventColumns<u64>>,
    /// One column per event of a metric group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    group_counts: Option<Vec<Vec<u64>>>,
    /// Activity of the process's threads in the watched windows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    activity: Option<ActivityColumns>,
    /// No category is off by more than this many slots.
    resolution_slots: Vec<f64>,
    /// Doubts, as a sum of bits: 1 switched, 2 migrated, 4 went backwards, 8 not counting, 16 bad
    /// ratios, 32 few slots.
    flags: Vec<u32>,
}

impl SampleColumns {
    pub(super) fn from_samples(samples: &[Sample]) -> SampleColumns {
        SampleColumns {
            windows: samples.iter().map(|s| s.windows).collect(),
            wall_ns: samples.iter().map(|s| s.wall_ns).collect(),
            slots: optional_column(samples, |s| s.slots),
            level1: Level1Columns::new(samples, |s| s.level1),
            level2: Level2Columns::new(samples, |s| s.level2),
            instructions: optional_column(samples, |s| s.instructions),
            cycles: optional_column(samples, |s| s.cycles),
            events: EventColumns::new(samples, |s| s.events),
            group_counts: optional_column(samples, |s| s.group_counts)
                .map(|counts| group_columns(&counts)),
            activity: ActivityColumns::new(samples, |s| s.activity),
            resolution_slots: samples.iter().map(|s| s.resolution_slots).collect(),
            flags: samples.iter().map(|s| s.flags.bits()).collect(),
        }
    }

    /// Returns the samples, checking every length and every number.
    pub(super) fn into_samples(self) -> Result<Vec<Sample>, RunFileProblem> {
        let rows = Rows {
            count: self.windows.len(),
            what: "samples",
        };
        rows.counts("windows", &self.windows)?;
        rows.counts("wall_ns", &self.wall_ns)?;
        for (field, column) in [
            ("slots", &self.slots),
            ("instructions", &self.instructions),
            ("cycles", &self.cycles),
        ] {
            if let Some(column) = column {
                rows.counts(field, column)?;
            }
        }
        if let Some(events) = &self.events {
            events.check(|field, column| rows.counts(field, column))?;
        }
        for column in self.group_counts.iter().flatten() {
            rows.counts("group_counts", column)?;
        }
        if let Some(activity) = &self.activity {
            activity.check(rows)?;
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
        rows.unsigned("resolution_slots", &self.resolution_slots)?;
        rows.length("flags", &self.flags)?;
        (0..rows.count).map(|index| self.row(index)).collect()
    }

    fn row(&self, index: usize) -> Result<Sample, RunFileProblem> {
        let count = |column: &Option<Vec<u64>>| column.as_ref().map(|all| all[index]);
        let bits = self.flags[index];
        Ok(Sample {
            windows: self.windows[index],
            wall_ns: self.wall_ns[index],
            slots: count(&self.slots),
            level1: self.level1.as_ref().map(|level1| level1.row(index)),
            level2: self.level2.as_ref().map(|level2| level2.row(index)),
            instructions: count(&self.instructions),
            cycles: count(&self.cycles),
            events: self
                .events
                .as_ref()
                .map(|events| events.row(index))
                .unwrap_or_default(),
            group_counts: self.group_counts(index)?,
            activity: self.activity.as_ref().and_then(|all| all.row(index)),
            resolution_slots: self.resolution_slots[index],
            flags: Flags::from_bits(bits).ok_or_else(|| {
                RunFileProblem::field("flags", format!("holds {bits:#x}, which has unknown bits"))
            })?,
        })
    }

    fn group_counts(&self, index: usize) -> Result<Option<GroupCounts>, RunFileProblem> {
        let Some(columns) = &self.group_counts else {
            return Ok(None);
        };
        let counts: Vec<u64> = columns.iter().map(|column| column[index]).collect();
        match GroupCounts::new(&counts) {
            None => Err(RunFileProblem::field(
                "group_counts",
                format!("has {} events, more than a group can have", counts.len()),
            )),
            group => Ok(group),
        }
    }
}

/// Returns one column per event. The longest group decides, since all samples belong to one group.
fn group_columns(groups: &[GroupCounts]) -> Vec<Vec<u64>> {
    let events = groups.iter().map(|group| group.as_slice().len()).max();
    (0..events.unwrap_or(0))
        .map(|event| {
            let counts = groups.iter().map(|group| group.as_slice().get(event));
            counts.map(|count| count.copied().unwrap_or(0)).collect()
        })
        .collect()
}
