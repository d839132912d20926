//! What a core can count, and what it counted.

use std::fmt;
use std::ops::Index;

use super::MAX_EVENTS;

/// Something that a core can count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The name, in its maker's spelling.
    pub name: &'static str,
    /// `config` of `perf_event_attr`, for the raw type of the core's PMU.
    pub config: u64,
    /// Which counters can count it.
    pub counter: Counter,
}

/// Which counters can count an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// A general-purpose counter.
    General,
    /// A counter of its own that nothing else wants.
    Fixed,
    /// The fixed counter of the cycles: the NMI watchdog wants it too.
    FixedCycles,
}

impl Event {
    pub(crate) const fn general(name: &'static str, config: u64) -> Event {
        Event {
            name,
            config,
            counter: Counter::General,
        }
    }

    pub(crate) const fn fixed(name: &'static str, config: u64) -> Event {
        Event {
            name,
            config,
            counter: Counter::Fixed,
        }
    }
}

impl fmt::Display for Event {
    /// `IDQ_UOPS_NOT_DELIVERED.CORE (0x19c)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:#x})", self.name, self.config)
    }
}

/// What a group counted in a window, by event.
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    events: &'static [Event],
    values: [f64; MAX_EVENTS],
    slots_per_cycle: f64,
}

impl Counts {
    /// `deltas` are in the order of `events`; those that are missing are 0.
    ///
    /// A double holds a count exactly below 2^53: half a month of eight slots per cycle at 5 GHz.
    pub fn new(
        events: &'static [Event],
        deltas: impl IntoIterator<Item = u64>,
        slots_per_cycle: u32,
    ) -> Counts {
        let mut values = [0.0; MAX_EVENTS];
        for (value, delta) in values.iter_mut().zip(deltas) {
            *value = delta as f64;
        }
        Counts {
            events,
            values,
            slots_per_cycle: f64::from(slots_per_cycle),
        }
    }

    /// The count of the event at this place of the group.
    pub(super) fn at(&self, place: usize) -> f64 {
        self.values[place]
    }

    /// The width of the pipeline: the kernel's word where it knows better than the table.
    pub fn slots_per_cycle(&self) -> f64 {
        self.slots_per_cycle
    }
}

impl Index<Event> for Counts {
    type Output = f64;

    /// The count of an event of the group.
    ///
    /// # Panics
    /// When a formula asks for an event that its own group lacks, which the worked example of every
    /// formula rules out.
    fn index(&self, event: Event) -> &f64 {
        let position = self
            .events
            .iter()
            // Within a group no two events have the same code.
            .position(|member| member.config == event.config)
            .unwrap_or_else(|| panic!("{event} is not in the group of this formula"));
        &self.values[position]
    }
}
