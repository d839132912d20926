//! Values of a benchmark's launches: a series of times and a series of slots.

use std::sync::Arc;

use super::{Benchmark, BenchmarkId};
use crate::category::PerCategory;
use crate::event::LaunchEvents;
use crate::provenance::Provenance;
use crate::sample::{Level1, Sample};

/// A sample and the number of its iterations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IterationSample {
    /// Calls of the benchmarked routine; at least 1 in criterion's reports.
    pub iterations: u64,
    /// The sum of the sample's windows.
    pub sample: Sample,
}

/// Values of some launches, and their provenance.
#[derive(Clone, Debug, PartialEq)]
pub struct Series<V> {
    /// How the values were obtained. Shared, since most benchmarks of a run have the same.
    pub provenance: Arc<Provenance>,
    /// One value per launch, in launch order. Launches without enough usable samples are left out.
    pub launches: Vec<V>,
}

/// The time of one launch of a benchmark, per iteration: a ratio of sums over the middle half of
/// its samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TimeValue {
    /// Which launch of the run, from 0.
    pub launch: u32,
    /// Samples that the value is of.
    pub samples_used: u32,
    /// Samples that were dropped, for their flags or for want of slots or iterations.
    pub samples_dropped: u32,
    /// Wall-clock time. Its middle half is chosen by time.
    pub wall_ns: f64,
}

/// The slots of one launch of a benchmark, and what was counted with them: ratios of sums over the
/// middle half of its samples.
///
/// Everything is per iteration. What the source does not measure is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SlotsValue {
    /// Which launch of the series, from 0. Modelled launches are others than those of the times.
    pub launch: u32,
    /// Samples that the value is of.
    pub samples_used: u32,
    /// Samples that were dropped, for their flags or for want of slots or iterations; on the model,
    /// those that a full warm-up lacks.
    pub samples_dropped: u32,
    /// Issue slots.
    pub slots: f64,
    /// The categories, scaled so that they add up to `slots` exactly.
    pub level1: Option<Level1>,
    /// Their measured parts, scaled as `level1`.
    pub level2: Option<PerCategory<f64>>,
    /// Retired instructions.
    pub instructions: Option<f64>,
    /// Unhalted cycles.
    pub cycles: Option<f64>,
    /// What else was counted.
    pub events: LaunchEvents,
    /// No category is further off than this fraction of the slots (0 for exact counts).
    pub resolution_fraction: f64,
    /// Cost of beginning and ending windows, as a fraction of the slots with it; taken out of
    /// them, but for what is above a half.
    pub window_fraction: Option<f64>,
}

/// Values of one launch that measures time and slots at once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LaunchValue {
    /// Its time.
    pub time: TimeValue,
    /// Its slots, if the source has any.
    pub slots: Option<SlotsValue>,
}

impl Benchmark {
    /// A benchmark of these launches, all measured in one way. It has slots where all of them have.
    pub fn of_launches(
        id: BenchmarkId,
        provenance: Provenance,
        launches: impl IntoIterator<Item = LaunchValue>,
    ) -> Benchmark {
        let (times, slots): (Vec<TimeValue>, Vec<Option<SlotsValue>>) = launches
            .into_iter()
            .map(|launch| (launch.time, launch.slots))
            .unzip();
        let slots: Option<Vec<SlotsValue>> = slots.into_iter().collect();
        let provenance = Arc::new(provenance);
        Benchmark {
            id,
            throughput: None,
            slots: slots
                .filter(|slots| !slots.is_empty())
                .map(|launches| Series {
                    provenance: provenance.clone(),
                    launches,
                }),
            times: Series {
                provenance,
                launches: times,
            },
            schedules: None,
            functions: None,
            call_paths: None,
            fingerprint: None,
            launches_differ: None,
            cold: None,
        }
    }

    /// How what it is judged by was obtained: its slots, or its times where it has none.
    pub fn provenance(&self) -> &Provenance {
        match &self.slots {
            Some(slots) => &slots.provenance,
            None => &self.times.provenance,
        }
    }

    /// As [`provenance`](Benchmark::provenance).
    pub fn provenance_mut(&mut self) -> &mut Provenance {
        Arc::make_mut(match &mut self.slots {
            Some(slots) => &mut slots.provenance,
            None => &mut self.times.provenance,
        })
    }

    /// Adds the launches of `more`, which were measured in the same way. Its units are those that
    /// this benchmark has, if it was sampled.
    pub fn extend(&mut self, more: &Benchmark) {
        self.times.launches.extend(&more.times.launches);
        if self.provenance().sampled_units.is_some() {
            return;
        }
        if let Some(slots) = &mut self.slots {
            slots.launches.extend_from_slice(more.slots_launches());
        }
    }

    /// Number of launches that judge it: those of its slots, or of its times where it has none.
    pub fn launches(&self) -> usize {
        match &self.slots {
            Some(slots) => slots.launches.len(),
            None => self.times.launches.len(),
        }
    }

    /// As [`slots_launches`](Benchmark::slots_launches).
    pub fn slots_launches_mut(&mut self) -> &mut [SlotsValue] {
        self.slots
            .as_mut()
            .map_or(&mut [], |slots| &mut slots.launches)
    }

    /// The slots in each of several schedules; none where it has only one.
    pub fn schedules(&self) -> &[SlotsValue] {
        self.schedules.as_ref().map_or(&[], |slots| &slots.launches)
    }

    /// The launches of its slots; none where it has none.
    pub fn slots_launches(&self) -> &[SlotsValue] {
        self.slots.as_ref().map_or(&[], |slots| &slots.launches)
    }
}
