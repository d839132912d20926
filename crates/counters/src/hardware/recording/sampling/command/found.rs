//! Counts of a command by module and offset, since each of its processes has a map of its own.

use std::collections::BTreeMap;

use libc::pid_t;

use super::super::account::{engine_of, location};
use super::super::own::OwnCounts;
use super::super::periods::Periods;
use super::super::records::{GroupCounts, Record, Records};
use crate::hardware::inherited_group::Shape;
use crate::modules::ModuleMap;
use topdown_run::code_samples::{CodeSamples, Sampled, SampledAddress, SamplingEngine};

/// A module and an offset in it.
type ModuleOffset = (u32, u64);

/// PMU samples by pairs of consecutive addresses, and the counts in between.
#[derive(Debug, Default)]
pub(super) struct Found {
    modules: Vec<String>,
    counts: BTreeMap<(ModuleOffset, Option<ModuleOffset>), (u64, GroupCounts)>,
    own: OwnCounts<ModuleOffset>,
    sampled: Sampled,
    /// Sums of the PMU samples' slots, and of their squares.
    slots: f64,
    squared_slots: f64,
}

/// Position of a thread at its last PMU sample.
#[derive(Debug)]
pub(super) struct ThreadPosition {
    thread: pid_t,
    /// The counts at the previous PMU sample; `None` if PMU samples are missing since.
    previous: Option<GroupCounts>,
    /// The location of the previous PMU sample, if known.
    after: Option<ModuleOffset>,
    /// The mappings of its process when last read.
    modules: ModuleMap,
}

impl ThreadPosition {
    /// The thread begins.
    pub fn new(thread: pid_t) -> ThreadPosition {
        ThreadPosition {
            thread,
            previous: Some(GroupCounts::default()),
            after: None,
            modules: ModuleMap::for_process(thread),
        }
    }

    /// The thread executes another program, and has this id now.
    pub fn executes(&mut self, thread: pid_t) {
        self.thread = thread;
        self.modules = ModuleMap::for_process(thread);
    }

    /// PMU samples are missing.
    pub fn has_gap(&mut self) {
        self.previous = None;
        self.after = None;
    }

    /// Returns the module at an address and the position in it, reading the mappings again if they
    /// are out of date and `may_read`.
    fn location(&mut self, address: u64, may_read: &mut bool) -> (&str, u64) {
        if *may_read && self.modules.locate_known(address).is_none() {
            // Once is enough: the rest is code without a file.
            *may_read = false;
            let now = ModuleMap::for_process(self.thread);
            // A killed process has none.
            if !now.is_empty() {
                self.modules = now;
            }
        }
        self.modules.locate_known(address).unwrap_or(("", address))
    }
}

impl Found {
    /// Adds the records of a thread. `is_mapped` says whether its process still has the code mapped
    /// that was sampled. Returns whether there are more PMU samples than the kernel can take.
    pub fn add_records(
        &mut self,
        records: Records<'_>,
        position: &mut ThreadPosition,
        (shape, periods): (Shape, &Periods),
        is_mapped: bool,
    ) -> bool {
        let mut may_read = is_mapped;
        let mut too_many = false;
        for record in records {
            match record {
                Record::Hit { address, counts } => {
                    let location = self.named(position.location(address, &mut may_read));
                    let after = position.after.replace(location);
                    let Some(previous) = position.previous.replace(counts) else {
                        continue;
                    };
                    let since: GroupCounts =
                        std::array::from_fn(|at| counts[at].saturating_sub(previous[at]));
                    self.add_hit((location, after), &since, shape);
                    if periods.engine() == SamplingEngine::OwnPeriods {
                        self.own.add_counts(periods, location, &since);
                    }
                }
                Record::Own {
                    address,
                    event,
                    count,
                } => {
                    let location = self.named(position.location(address, &mut may_read));
                    self.own.add_hit(location, event, count);
                }
                Record::Lost(hits) => {
                    self.sampled.lost = self.sampled.lost.saturating_add(hits);
                    position.has_gap();
                    too_many = true;
                }
                Record::Throttled => {
                    self.sampled.throttled += 1;
                    position.has_gap();
                    too_many = true;
                }
                Record::Unthrottled | Record::Unreadable => position.has_gap(),
                Record::Other => {}
            }
        }
        too_many
    }

    /// Returns the location with the number of its module.
    fn named(&mut self, (module, offset): (&str, u64)) -> ModuleOffset {
        let known = self.modules.iter().position(|name| name == module);
        let index = known.unwrap_or_else(|| {
            self.modules.push(module.to_owned());
            self.modules.len() - 1
        });
        (index as u32, offset)
    }

    fn add_hit(
        &mut self,
        pair: (ModuleOffset, Option<ModuleOffset>),
        since: &GroupCounts,
        shape: Shape,
    ) {
        let slots = shape.sample(since, 0).slots.unwrap_or(0) as f64;
        self.slots += slots;
        self.squared_slots += slots * slots;
        self.sampled.hits += 1;
        let (hits, counts) = self.counts.entry(pair).or_default();
        *hits += 1;
        for (count, more) in counts.iter_mut().zip(since) {
            *count = count.saturating_add(*more);
        }
    }

    /// Returns the PMU samples.
    pub fn into_hits(mut self, shape: Shape, periods: &Periods) -> CodeSamples {
        let own = match periods.engine() {
            SamplingEngine::OwnPeriods => self.own.take(shape, periods, |location| location),
            SamplingEngine::Counters | SamplingEngine::Metrics => None,
        };
        let places = self.counts.into_iter();
        CodeSamples {
            modules: self.modules,
            places: places
                .map(|((at, after), (hits, counts))| SampledAddress {
                    after,
                    hits,
                    ..location(shape, at, &counts)
                })
                .collect(),
            sampled: Sampled {
                engine: engine_of(periods, own.is_some()),
                period_cycles: periods.cycles(),
                // Without any, 0 / 0 becomes 0.
                effective_hits: (self.slots * self.slots / self.squared_slots).round() as u64,
                ..self.sampled
            },
            own,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::TABLES;
    use crate::hardware::exact_group::Plan;

    const IDS: [u64; 6] = [70, 71, 72, 73, 74, 75];

    fn skylake() -> Shape {
        let table = TABLES
            .iter()
            .find(|table| table.name.starts_with("Skylake"));
        Shape::Exact {
            plan: Plan::for_form(&table.unwrap().forms()[0]),
            slots_per_cycle: 4,
        }
    }

    fn record(kind: u32, body: &[u64]) -> Vec<u8> {
        let size = (8 + 8 * body.len()) as u16;
        let header = [&kind.to_ne_bytes()[..], &[2, 0], &size.to_ne_bytes()].concat();
        let words = body.iter().flat_map(|word| word.to_ne_bytes());
        header.into_iter().chain(words).collect()
    }

    /// A PMU sample at 0x1000, where nothing is mapped, after this many cycles.
    fn hit(cycles: u64) -> Vec<u8> {
        let counts = [cycles, cycles, 0, 2 * cycles, 2 * cycles, 0];
        record(9, &[&[70, 0x1000, 6, 1, 1], &counts[..]].concat())
    }

    fn lost(hits: u64) -> Vec<u8> {
        record(2, &[77, hits])
    }

    fn throttled() -> Vec<u8> {
        record(5, &[1, 2, 3])
    }

    /// Reads the records, each slice by itself. Returns the PMU samples, and whether any slice had
    /// more than the kernel can take.
    fn found(slices: &[&[Vec<u8>]]) -> (CodeSamples, bool) {
        let shape = skylake();
        let periods = Periods::own(shape, 1000).unwrap();
        let mut found = Found::default();
        // A process that is gone has nothing mapped.
        let mut position = ThreadPosition::new(-1);
        let mut too_many = false;
        for slice in slices {
            let bytes = slice.concat();
            let records = Records::new(&bytes, &IDS, periods.reading());
            too_many |= found.add_records(records, &mut position, (shape, &periods), true);
        }
        (found.into_hits(shape, &periods), too_many)
    }

    #[test]
    fn counts_belong_to_the_pmu_sample_ending_them() {
        let own = record(9, &[73, 0x1000, 4001]);
        let (hits, too_many) = found(&[&[hit(1000), own], &[hit(2500)]]);
        assert!(!too_many);
        assert_eq!((hits.sampled.hits, hits.places[0].slots), (2, 4000));
        assert_eq!(hits.places[1].slots, 6000);
        let own = hits.own.unwrap();
        assert_eq!(own.places[0].hits, 1);
        assert_eq!(own.places[0].counts, [2500, 0, 0, 4001, 0, 0]);
    }

    #[test]
    fn lost_pmu_samples_discard_the_interval() {
        let (hits, too_many) = found(&[&[hit(1000)], &[lost(7), hit(9000), hit(10_000)]]);
        assert!(too_many);
        assert_eq!((hits.sampled.lost, hits.sampled.throttled), (7, 0));
        // The PMU sample after the gap ends nothing that is known.
        let slots: u64 = hits.places.iter().map(|location| location.slots).sum();
        assert_eq!((hits.sampled.hits, slots), (2, 8000));
        // Its predecessor is unknown, too.
        assert_eq!(
            hits.places
                .iter()
                .filter(|place| place.after.is_some())
                .count(),
            1
        );
    }

    #[test]
    fn throttling_discards_the_interval() {
        let (hits, too_many) = found(&[&[hit(1000), throttled(), hit(9000), hit(10_000)]]);
        assert!(too_many);
        assert_eq!((hits.sampled.lost, hits.sampled.throttled), (0, 1));
        let slots: u64 = hits.places.iter().map(|location| location.slots).sum();
        assert_eq!((hits.sampled.hits, slots), (2, 8000));
    }

    #[test]
    fn invalid_records_are_a_gap() {
        let broken = record(9, &[70, 0x1000, 6, 1, 1, 5]);
        let (hits, too_many) = found(&[&[hit(1000), broken, hit(9000), hit(10_000)]]);
        assert!(!too_many);
        assert_eq!((hits.sampled.hits, hits.sampled.lost), (2, 0));
    }
}
