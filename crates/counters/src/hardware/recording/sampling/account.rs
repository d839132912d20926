//! Counts by address, from the PMU samples of a benchmark.

use std::collections::BTreeMap;

use super::own::OwnCounts;
use super::periods::Periods;
use super::records::{GroupCounts, Record, Records};
use crate::hardware::inherited_group::Shape;
use crate::modules::ModuleMap;
use topdown_run::code_samples::{CodeSamples, Sampled, SampledAddress, SamplingEngine};

#[derive(Debug)]
pub(super) struct Account {
    shape: Shape,
    /// The ids of the group's events in records.
    ids: Vec<u64>,
    /// The counts at the previous PMU sample.
    previous: GroupCounts,
    /// The address of the previous PMU sample; `None` if PMU samples are missing since.
    previous_address: Option<u64>,
    /// PMU samples of the current benchmark sample: address, previous address, and counts in
    /// between.
    pending: Vec<(Pair, GroupCounts)>,
    /// Interrupts of events with a period of their own: address, event, and count.
    pending_own: Vec<(u64, usize, u64)>,
    /// Whether PMU samples of the current sample are missing.
    has_gap: bool,
    /// The PMU samples and their counts, of the samples that are kept.
    kept: BTreeMap<Pair, (u64, GroupCounts)>,
    own: OwnCounts<u64>,
    sampled: Sampled,
    /// Sums of the PMU samples' slots, and of their squares.
    slots: f64,
    squared_slots: f64,
}

/// The address of a PMU sample, and that of the one before, if known.
type Pair = (u64, Option<u64>);

/// Disturbances in a window, from its records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Disturbed {
    pub has_gap: bool,
    /// Whether there are more PMU samples than the kernel can take.
    pub too_many: bool,
}

impl Account {
    /// `counts` are those of the group now.
    pub fn new(shape: Shape, ids: Vec<u64>, counts: GroupCounts) -> Account {
        Account {
            shape,
            ids,
            previous: counts,
            previous_address: None,
            pending: Vec::new(),
            pending_own: Vec::new(),
            has_gap: false,
            kept: BTreeMap::new(),
            own: OwnCounts::default(),
            sampled: Sampled::default(),
            slots: 0.0,
            squared_slots: 0.0,
        }
    }

    /// Adds the records of a window, which ended with `counts`. `has_gap` says whether PMU samples
    /// may be missing already.
    pub fn add_window(
        &mut self,
        periods: &Periods,
        records: &[u8],
        has_gap: bool,
        counts: &GroupCounts,
    ) -> Disturbed {
        let mut disturbed = Disturbed {
            has_gap,
            too_many: false,
        };
        let ids = std::mem::take(&mut self.ids);
        for (index, record) in Records::new(records, &ids, periods.reading()).enumerate() {
            match record {
                Record::Hit { address, counts } => self.hit(address, &counts),
                Record::Own {
                    address,
                    event,
                    count,
                } => self.pending_own.push((address, event, count)),
                Record::Lost(hits) => {
                    self.sampled.lost = self.sampled.lost.saturating_add(hits);
                    // The kernel notes a loss once there is room, in the next window.
                    disturbed.has_gap |= index > 0;
                    disturbed.too_many = true;
                }
                Record::Throttled => {
                    self.sampled.throttled += 1;
                    disturbed = Disturbed {
                        has_gap: true,
                        too_many: true,
                    };
                }
                Record::Unreadable => disturbed.has_gap = true,
                Record::Unthrottled | Record::Other => {}
            }
        }
        self.ids = ids;
        if disturbed.has_gap {
            self.has_gap = true;
            self.previous = *counts;
            self.previous_address = None;
        }
        disturbed
    }

    fn hit(&mut self, address: u64, counts: &GroupCounts) {
        let since: GroupCounts =
            std::array::from_fn(|at| counts[at].saturating_sub(self.previous[at]));
        self.previous = *counts;
        let before = self.previous_address.replace(address);
        self.pending.push(((address, before), since));
    }

    /// Begins a sample, and forgets what belongs to none.
    pub fn begin_sample(&mut self) {
        self.pending.clear();
        self.pending_own.clear();
        self.has_gap = false;
    }

    /// Keeps the sample, unless PMU samples are missing.
    pub fn keep_sample(&mut self, periods: &Periods) {
        if self.has_gap {
            return;
        }
        for (address, event, count) in self.pending_own.drain(..) {
            self.own.add_hit(address, event, count);
        }
        for (pair, since) in self.pending.drain(..) {
            if periods.engine() == SamplingEngine::OwnPeriods {
                self.own.add_counts(periods, pair.0, &since);
            }
            let slots = self.shape.sample(&since, 0).slots.unwrap_or(0) as f64;
            self.slots += slots;
            self.squared_slots += slots * slots;
            self.sampled.hits += 1;
            let (hits, counts) = self.kept.entry(pair).or_default();
            *hits += 1;
            for (count, more) in counts.iter_mut().zip(since) {
                *count = count.saturating_add(more);
            }
        }
    }

    /// Ends the benchmark, and returns what was sampled.
    pub fn take(&mut self, periods: &Periods) -> CodeSamples {
        let mut map = ModuleMap::for_this_process();
        let kept = std::mem::take(&mut self.kept);
        let places = kept
            .into_iter()
            .map(|((address, before), (hits, counts))| SampledAddress {
                after: before.map(|before| map.locate(before)),
                hits,
                ..location(self.shape, map.locate(address), &counts)
            })
            .collect();
        let squared_slots = std::mem::take(&mut self.squared_slots);
        let slots = std::mem::take(&mut self.slots);
        let own = match periods.engine() {
            SamplingEngine::OwnPeriods => {
                let locate = |address| map.locate(address);
                self.own.take(self.shape, periods, locate)
            }
            _ => None,
        };
        let sampled = Sampled {
            engine: engine_of(periods, own.is_some()),
            period_cycles: periods.cycles(),
            // Without any, 0 / 0 becomes 0.
            effective_hits: (slots * slots / squared_slots).round() as u64,
            ..std::mem::take(&mut self.sampled)
        };
        self.begin_sample();
        CodeSamples {
            modules: map.into_names(),
            places,
            own,
            sampled,
        }
    }
}

/// Returns the engine, given whether events with a period of their own interrupted.
pub(super) fn engine_of(periods: &Periods, has_own: bool) -> SamplingEngine {
    match periods.engine() {
        SamplingEngine::OwnPeriods if !has_own => SamplingEngine::Counters,
        engine => engine,
    }
}

/// Returns a place without its PMU samples.
pub(super) fn location(
    shape: Shape,
    (module, offset): (u32, u64),
    counts: &GroupCounts,
) -> SampledAddress {
    let sample = shape.sample(counts, 0);
    let level1 = sample.level1.unwrap_or_default();
    let contention = level1.smt_contention_slots.unwrap_or(0.0).max(0.0);
    SampledAddress {
        module,
        offset,
        after: None,
        hits: 0,
        instructions: sample.instructions.unwrap_or(0),
        slots: (sample.slots.unwrap_or(0) as f64 - contention) as u64,
        level1_slots: level1.slots,
        level2_slots: sample.level2.unwrap_or_default(),
    }
}
