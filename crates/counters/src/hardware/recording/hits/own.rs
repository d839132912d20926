//! The counts of events that have periods of their own, by place.

use std::collections::BTreeMap;

use super::periods::Periods;
use super::records::GroupCounts;
use crate::hardware::inherited_group::Shape;
use topdown_run::hits::{OwnHits, OwnPlace};

/// An event that should have interrupted this often and did not cannot interrupt.
const MIN_PERIODS: u64 = 20;

/// What each event counted at each place.
#[derive(Debug)]
pub(super) struct OwnCounts<K> {
    /// The hits of events with a period of their own, and what each event counted.
    places: BTreeMap<K, (u64, GroupCounts)>,
    /// What each event counted in all.
    counted: GroupCounts,
    /// What was found of it by its own interrupts.
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
    /// Adds the counts since the hit of cycles before.
    pub fn add_counts(&mut self, periods: &Periods, place: K, since: &GroupCounts) {
        let (_, counts) = self.places.entry(place).or_default();
        for (event, more) in since.iter().enumerate() {
            self.counted[event] = self.counted[event].saturating_add(*more);
            if periods.own_of(event).is_none() {
                counts[event] = counts[event].saturating_add(*more);
            }
        }
    }

    /// Adds what an event has counted since its own hit before.
    pub fn add_hit(&mut self, place: K, event: usize, count: u64) {
        let (hits, counts) = self.places.entry(place).or_default();
        *hits += 1;
        counts[event] = counts[event].saturating_add(count);
        self.found[event] = self.found[event].saturating_add(count);
    }

    /// Returns what was counted, and forgets it. `None` if an event that counts did not interrupt.
    pub fn take(
        &mut self,
        shape: Shape,
        periods: &Periods,
        mut place_of: impl FnMut(K) -> (u32, u64),
    ) -> Option<OwnHits> {
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
        let mut own = OwnHits::default();
        for (at, (name, _)) in events.iter().enumerate() {
            own.events.push((*name).to_owned());
            own.periods.push(periods.own_of(at).unwrap_or(0));
        }
        for (place, (hits, counts)) in taken.places {
            let (module, offset) = place_of(place);
            own.places.push(OwnPlace {
                module,
                offset,
                hits,
                counts: counts[..events.len()].to_vec(),
            });
        }
        Some(own)
    }
}
