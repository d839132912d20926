//! What the hits of a benchmark say: counts by address.

use std::collections::BTreeMap;

use super::super::inherited_group::Shape;
use super::records::{GroupCounts, Record, Records};
use crate::counter::modules::ModuleMap;
use crate::hits::{CodeHits, HitPlace, Sampled};

/// The account of the current benchmark.
#[derive(Debug)]
pub(super) struct Account {
    shape: Shape,
    /// The number of events in the group.
    events: usize,
    /// The counts at the previous hit.
    previous: GroupCounts,
    /// The address of the previous hit; `None` if hits are missing since.
    previous_address: Option<u64>,
    /// Hits of the current sample: the address and the one before, and the counts in between.
    pending: Vec<(Pair, GroupCounts)>,
    /// Whether hits of the current sample are missing.
    has_gap: bool,
    /// The hits and their counts, of the samples that are kept.
    kept: BTreeMap<Pair, (u64, GroupCounts)>,
    sampled: Sampled,
    /// Sums of the hits' slots, and of their squares.
    slots: f64,
    squared_slots: f64,
}

/// An address that was hit, and the one that was hit before, if known.
type Pair = (u64, Option<u64>);

/// What the records of a window say besides hits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Disturbed {
    pub has_gap: bool,
    /// Whether there are more hits than the kernel can take.
    pub too_many: bool,
}

impl Account {
    /// `counts` are those of the group now.
    pub fn new(shape: Shape, counts: GroupCounts) -> Account {
        Account {
            shape,
            events: shape.events().len(),
            previous: counts,
            previous_address: None,
            pending: Vec::new(),
            has_gap: false,
            kept: BTreeMap::new(),
            sampled: Sampled::default(),
            slots: 0.0,
            squared_slots: 0.0,
        }
    }

    /// Adds the records of a window, which ended with `counts`. `has_gap` says whether hits may be
    /// missing already.
    pub fn add_window(&mut self, records: &[u8], has_gap: bool, counts: &GroupCounts) -> Disturbed {
        let mut disturbed = Disturbed {
            has_gap,
            too_many: false,
        };
        for (index, record) in Records::new(records, self.events).enumerate() {
            match record {
                Record::Hit { address, counts } => self.hit(address, &counts),
                Record::Lost(hits) => {
                    self.sampled.lost = self.sampled.lost.saturating_add(hits);
                    // The kernel notes a loss once there is room again, which is in the next
                    // window.
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

    /// Begins a sample: what belongs to none is forgotten.
    pub fn begin_sample(&mut self) {
        self.pending.clear();
        self.has_gap = false;
    }

    /// Keeps the sample, unless hits are missing.
    pub fn keep_sample(&mut self) {
        if self.has_gap {
            return;
        }
        for (pair, since) in self.pending.drain(..) {
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

    /// Ends the benchmark, and returns what was hit.
    pub fn take(&mut self, period_cycles: u64) -> CodeHits {
        let mut map = ModuleMap::of_this_process();
        let kept = std::mem::take(&mut self.kept);
        let places = kept
            .into_iter()
            .map(|((address, before), (hits, counts))| HitPlace {
                after: before.map(|before| map.place_of(before)),
                hits,
                ..place(self.shape, map.place_of(address), &counts)
            })
            .collect();
        let squared_slots = std::mem::take(&mut self.squared_slots);
        let slots = std::mem::take(&mut self.slots);
        let sampled = Sampled {
            period_cycles,
            // Without any, 0 / 0 becomes 0.
            effective_hits: (slots * slots / squared_slots).round() as u64,
            ..std::mem::take(&mut self.sampled)
        };
        self.begin_sample();
        CodeHits {
            modules: map.into_names(),
            places,
            sampled,
        }
    }
}

/// Returns a place without its hits.
pub(super) fn place(shape: Shape, (module, offset): (u32, u64), counts: &GroupCounts) -> HitPlace {
    let sample = shape.sample(counts, 0);
    let level1 = sample.level1.unwrap_or_default();
    let contention = level1.smt_contention_slots.unwrap_or(0.0).max(0.0);
    HitPlace {
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
