//! The counts of events that have periods of their own, by location.

use std::collections::BTreeMap;

use super::periods::Periods;
use super::records::GroupCounts;
use crate::hardware::inherited_group::Shape;
use topdown_run::code_samples::{EventAddress, EventSamples};

/// An event that never interrupted in this many periods cannot interrupt.
const MIN_PERIODS: u64 = 20;

/// Counts of each event by address.
#[derive(Debug)]
pub(super) struct OwnCounts<K> {
    /// The number of PMU samples of events with a period of their own, and the counts of each.
    places: BTreeMap<K, (u64, GroupCounts)>,
    /// Total counts of each event.
    counted: GroupCounts,
    /// Counts by its own interrupts.
    found: GroupCounts,
}

impl<K> Default for OwnCounts<K> {
    fn default() -> OwnCounts<K> {
        OwnCounts {
            places: BTreeMap::new(),
            counted: GroupCounts::default(),
            found: GroupCounts::default(),
        }
    }
}

impl<K: Ord> OwnCounts<K> {
    /// Adds the counts since the PMU sample of cycles before.
    pub fn add_counts(&mut self, periods: &Periods, location: K, since: &GroupCounts) {
        let (_, counts) = self.places.entry(location).or_default();
        for (event, more) in since.iter().enumerate() {
            self.counted[event] = self.counted[event].saturating_add(*more);
            if periods.own_of(event).is_none() {
                counts[event] = counts[event].saturating_add(*more);
            }
        }
    }

    /// Adds an event's count since its previous PMU sample.
    pub fn add_hit(&mut self, location: K, event: usize, count: u64) {
        let (hits, counts) = self.places.entry(location).or_default();
        *hits += 1;
        counts[event] = counts[event].saturating_add(count);
        self.found[event] = self.found[event].saturating_add(count);
    }

    /// Takes the counts. `None` if an event that counts did not interrupt.
    pub fn take(
        &mut self,
        shape: Shape,
        periods: &Periods,
        mut locate: impl FnMut(K) -> (u32, u64),
    ) -> Option<EventSamples> {
        let taken = std::mem::take(self);
        let events = shape.events();
        for event in 0..events.len() {
            let Some(period) = periods.own_of(event) else {
                continue;
            };
            let (counted, found) = (taken.counted[event], taken.found[event]);
            if counted / MIN_PERIODS > period && found < counted / 2 {
                return None;
            }
        }
        let mut own = EventSamples::default();
        for (at, (name, _)) in events.iter().enumerate() {
            own.events.push((*name).to_owned());
            own.periods.push(periods.own_of(at).unwrap_or(0));
        }
        for (location, (hits, counts)) in taken.places {
            let (module, offset) = locate(location);
            own.places.push(EventAddress {
                module,
                offset,
                hits,
                counts: counts[..events.len()].to_vec(),
            });
        }
        Some(own)
    }
}
