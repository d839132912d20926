//! Samples as columns: the wire form of a list of samples, one array per quantity.
//!
//! A row form would repeat every name for every sample and make the files five times as large.

use serde::{Deserialize, Serialize};

use crate::sample::{Flags, Level1, Level2, Sample};

/// A sample and the number of iterations that it stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IterationSample {
    /// Calls of the benchmarked routine; at least 1 in what criterion reports.
    pub iterations: u64,
    /// The sum of the sample's windows.
    pub sample: Sample,
}

/// The columns. A quantity that is missing in any sample is left out for all of them.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SampleColumns {
    windows: Vec<u64>,
    wall_ns: Vec<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    slots: Option<Vec<u64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retiring_slots: Option<Vec<f64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bad_speculation_slots: Option<Vec<f64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    frontend_bound_slots: Option<Vec<f64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    backend_bound_slots: Option<Vec<f64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    smt_contention_slots: Option<Vec<f64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    heavy_operations_slots: Option<Vec<f64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    branch_mispredict_slots: Option<Vec<f64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fetch_latency_slots: Option<Vec<f64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    memory_bound_slots: Option<Vec<f64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instructions: Option<Vec<u64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cycles: Option<Vec<u64>>,
    resolution_slots: Vec<f64>,
    flags: Vec<u32>,
}

impl SampleColumns {
    pub(super) fn from_samples(samples: &[Sample]) -> SampleColumns {
        fn column<T>(
            samples: &[Sample],
            quantity: impl Fn(&Sample) -> Option<T>,
        ) -> Option<Vec<T>> {
            if samples.is_empty() {
                None
            } else {
                samples.iter().map(quantity).collect()
            }
        }
        let level1 = |field: fn(&Level1) -> f64| column(samples, |s| s.level1.as_ref().map(field));
        let level2 = |field: fn(&Level2) -> f64| column(samples, |s| s.level2.as_ref().map(field));
        SampleColumns {
            windows: samples.iter().map(|s| s.windows).collect(),
            wall_ns: samples.iter().map(|s| s.wall_ns).collect(),
            slots: column(samples, |s| s.slots),
            retiring_slots: level1(|l| l.retiring_slots),
            bad_speculation_slots: level1(|l| l.bad_speculation_slots),
            frontend_bound_slots: level1(|l| l.frontend_bound_slots),
            backend_bound_slots: level1(|l| l.backend_bound_slots),
            smt_contention_slots: column(samples, |s| s.level1?.smt_contention_slots),
            heavy_operations_slots: level2(|l| l.heavy_operations_slots),
            branch_mispredict_slots: level2(|l| l.branch_mispredict_slots),
            fetch_latency_slots: level2(|l| l.fetch_latency_slots),
            memory_bound_slots: level2(|l| l.memory_bound_slots),
            instructions: column(samples, |s| s.instructions),
            cycles: column(samples, |s| s.cycles),
            resolution_slots: samples.iter().map(|s| s.resolution_slots).collect(),
            flags: samples.iter().map(|s| s.flags.bits()).collect(),
        }
    }

    /// The samples, or the name of the column that is wrong and why.
    pub(super) fn into_samples(self) -> Result<Vec<Sample>, (&'static str, String)> {
        let count = self.windows.len();
        fn right_length<T>(
            column: &[T],
            count: usize,
            name: &'static str,
        ) -> Result<(), (&'static str, String)> {
            if column.len() == count {
                Ok(())
            } else {
                Err((
                    name,
                    format!("has {} values for {count} samples", column.len()),
                ))
            }
        }
        fn finite(
            column: &Option<Vec<f64>>,
            count: usize,
            name: &'static str,
        ) -> Result<(), (&'static str, String)> {
            let Some(column) = column else { return Ok(()) };
            right_length(column, count, name)?;
            match column.iter().find(|value| !value.is_finite()) {
                None => Ok(()),
                Some(value) => Err((name, format!("holds {value}, which is no number of slots"))),
            }
        }
        right_length(&self.wall_ns, count, "wall_ns")?;
        right_length(&self.flags, count, "flags")?;
        for (column, name) in [
            (&self.slots, "slots"),
            (&self.instructions, "instructions"),
            (&self.cycles, "cycles"),
        ] {
            if let Some(column) = column {
                right_length(column, count, name)?;
            }
        }
        for (column, name) in [
            (&self.retiring_slots, "retiring_slots"),
            (&self.bad_speculation_slots, "bad_speculation_slots"),
            (&self.frontend_bound_slots, "frontend_bound_slots"),
            (&self.backend_bound_slots, "backend_bound_slots"),
            (&self.smt_contention_slots, "smt_contention_slots"),
            (&self.heavy_operations_slots, "heavy_operations_slots"),
            (&self.branch_mispredict_slots, "branch_mispredict_slots"),
            (&self.fetch_latency_slots, "fetch_latency_slots"),
            (&self.memory_bound_slots, "memory_bound_slots"),
        ] {
            finite(column, count, name)?;
        }
        right_length(&self.resolution_slots, count, "resolution_slots")?;
        if let Some(bad) = self
            .resolution_slots
            .iter()
            .find(|r| !r.is_finite() || **r < 0.0)
        {
            return Err(("resolution_slots", format!("holds {bad}")));
        }
        let at = |column: &Option<Vec<f64>>, i: usize| column.as_ref().map(|values| values[i]);
        let count_at = |column: &Option<Vec<u64>>, i: usize| column.as_ref().map(|v| v[i]);
        (0..count)
            .map(|i| {
                let level1 = || {
                    Some(Level1 {
                        retiring_slots: at(&self.retiring_slots, i)?,
                        bad_speculation_slots: at(&self.bad_speculation_slots, i)?,
                        frontend_bound_slots: at(&self.frontend_bound_slots, i)?,
                        backend_bound_slots: at(&self.backend_bound_slots, i)?,
                        smt_contention_slots: at(&self.smt_contention_slots, i),
                    })
                };
                let level2 = || {
                    Some(Level2 {
                        heavy_operations_slots: at(&self.heavy_operations_slots, i)?,
                        branch_mispredict_slots: at(&self.branch_mispredict_slots, i)?,
                        fetch_latency_slots: at(&self.fetch_latency_slots, i)?,
                        memory_bound_slots: at(&self.memory_bound_slots, i)?,
                    })
                };
                Ok(Sample {
                    windows: self.windows[i],
                    wall_ns: self.wall_ns[i],
                    slots: count_at(&self.slots, i),
                    level1: level1(),
                    level2: level2(),
                    instructions: count_at(&self.instructions, i),
                    cycles: count_at(&self.cycles, i),
                    resolution_slots: self.resolution_slots[i],
                    flags: Flags::from_bits(self.flags[i]).ok_or_else(|| {
                        (
                            "flags",
                            format!("holds {:#x}, which has unknown bits", self.flags[i]),
                        )
                    })?,
                })
            })
            .collect()
    }
}
