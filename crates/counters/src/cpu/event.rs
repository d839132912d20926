//! Events of a core, and their counts.

use std::fmt;
use std::ops::Index;

use super::MAX_EVENTS;

/// An event that a core can count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The name, in the maker's spelling.
    pub name: &'static str,
    /// `config` of `perf_event_attr`, for the raw type of the core's PMU.
    pub config: u64,
    /// The counters that can count it.
    pub counter: Counter,
    /// A hash of the name.
    key: u64,
}

/// The counters that can count an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// A general-purpose counter.
    General,
    /// A dedicated counter that nothing else needs.
    Fixed,
    /// The fixed cycle counter, which the NMI watchdog also needs.
    FixedCycles,
}

impl Event {
    /// Creates an event with this name and code.
    pub const fn new(name: &'static str, config: u64, counter: Counter) -> Event {
        Event {
            name,
            config,
            counter,
            key: fnv1a(name.as_bytes()),
        }
    }

    #[cfg(test)]
    pub(super) fn key(self) -> u64 {
        self.key
    }

    pub(crate) const fn general(name: &'static str, config: u64) -> Event {
        Event::new(name, config, Counter::General)
    }
}

/// 64-bit FNV-1a: <http://www.isthe.com/chongo/tech/comp/fnv/>.
const fn fnv1a(bytes: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325;
    let mut at = 0;
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u64).wrapping_mul(0x0100_0000_01b3);
        at += 1;
    }
    hash
}

impl fmt::Display for Event {
    /// Writes `IDQ_UOPS_NOT_DELIVERED.CORE (0x19c)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:#x})", self.name, self.config)
    }
}

/// A group's counts in a window, by event.
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    events: &'static [Event],
    values: [f64; MAX_EVENTS],
    slots_per_cycle: f64,
}

impl Counts {
    /// Creates counts from `deltas`, in the order of `events`; missing ones are 0.
    ///
    /// A double holds a count exactly below 2^53: half a month of eight slots per cycle at 5 GHz.
    pub fn new(
        events: &'static [Event],
        deltas: impl IntoIterator<Item = u64>,
        slots_per_cycle: u32,
    ) -> Counts {
        let mut counts = Counts {
            events,
            values: [0.0; MAX_EVENTS],
            slots_per_cycle: f64::from(slots_per_cycle),
        };
        for (value, delta) in counts.values.iter_mut().zip(deltas) {
            *value = delta as f64;
        }
        counts
    }

    /// Returns the count of the event at this position in the group.
    pub(super) fn at(&self, location: usize) -> f64 {
        self.values[location]
    }

    /// Returns the width of the pipeline: the kernel's value if it has one, otherwise the table's.
    pub fn slots_per_cycle(&self) -> f64 {
        self.slots_per_cycle
    }
}

impl Index<Event> for Counts {
    type Output = f64;

    /// Returns the count of an event in the group.
    ///
    /// # Panics
    /// Panics if a formula uses an event that its own group lacks. The worked example of every
    /// formula rules that out.
    // Not inlined, because hundreds of formulas call it.
    #[inline(never)]
    fn index(&self, event: Event) -> &f64 {
        // Found by name, since one formula serves cores that count an event by different codes. In
        // a group names, and in all tables keys of names, are unique.
        let mut members = self.events.iter().zip(&self.values);
        match members.find(|(member, _)| member.key == event.key) {
            Some((_, value)) => value,
            None => panic!("{event} is not in the group of this formula"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_hash_as_published() {
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
