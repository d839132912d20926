//! Countable events besides slots, instructions and cycles: branches, misses, bytes.
//!
//! This module defines the names and what each event means. The sources decide which to count, and
//! the program how to show them.

use std::ops::Deref;

use serde::{Deserialize, Serialize};

macro_rules! events {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// Something counted while code executes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum Event {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)*
        }

        impl Event {
            /// Every event, in display order.
            pub const ALL: [Event; [$($name),*].len()] = [$(Event::$variant),*];

            /// The names allowed in a table of events, which the derived schema of a map omits.
            #[cfg(feature = "schema")]
            pub fn names_schema() -> serde_json::Value {
                serde_json::json!({ "enum": Event::ALL.map(Event::name) })
            }

            /// The name in files and reports.
            pub fn name(self) -> &'static str {
                match self {
                    $(Event::$variant => $name,)*
                }
            }
        }
    };
}

events! {
    /// Branch instructions of all kinds that retired: conditional, direct, indirect, call, return.
    Branches = "branches",
    /// Branches whose direction or target was mispredicted.
    BranchMispredicts = "branch_mispredicts",
    /// Loads that ran before an older store to the same address, and other causes of discarding
    /// correctly predicted work.
    MachineClears = "machine_clears",
    /// Demand fetches of a code line that missed the L1 instruction cache.
    L1iMisses = "l1i_misses",
    /// Demand accesses to a data line that missed the L1 data cache.
    L1dMisses = "l1d_misses",
    /// Demand requests, for data or code, that missed the L2.
    L2Misses = "l2_misses",
    /// Demand requests that missed the last-level cache.
    L3Misses = "l3_misses",
    /// Data accesses whose translation missed all TLBs: page walks.
    DtlbWalks = "dtlb_walks",
    /// Code fetches whose translation missed all TLBs.
    ItlbWalks = "itlb_walks",
    /// Bytes read from memory, by demand or prefetch.
    MemoryReadBytes = "memory_read_bytes",
    /// Bytes written back to memory.
    MemoryWriteBytes = "memory_write_bytes",
    /// Loads that waited until a store of only some of their bytes was written.
    BlockedLoads = "blocked_loads",
    /// Loads that took longer because an earlier store has the low bits of their address.
    AliasedLoads = "aliased_loads",
    /// Loads and stores of bytes in two cache lines.
    SplitAccesses = "split_accesses",
    /// Stores of bytes in two pages.
    PageSplitStores = "page_split_stores",
    /// Atomic operations on bytes in two cache lines.
    SplitLocks = "split_locks",
    /// Switches between legacy SSE and AVX code for which microcode saves or restores the upper
    /// halves of vector registers.
    SseAvxSwitches = "sse_avx_switches",
    /// Executed instructions that are not in the model's table, charged one slot and one cycle
    /// each. Only the model reports them.
    UnknownInstructions = "unknown_instructions",
    /// Allocations of memory, zeroed or not. Only the model reports them, if it knows the
    /// allocator.
    Allocations = "allocations",
    /// Bytes that they asked for.
    AllocatedBytes = "allocated_bytes",
    /// Reallocations: allocations that grew or shrank, in place or not.
    Reallocations = "reallocations",
    /// Bytes that they asked for: the new sizes.
    ReallocatedBytes = "reallocated_bytes",
    /// Allocations that were given back.
    Frees = "frees",
    /// Bytes that were given back. Absent if a call did not say how many, as C's `free`.
    FreedBytes = "freed_bytes",
    /// Waits of threads for others, at futexes. Only the model reports this and the next two, if
    /// several threads execute.
    ThreadWaits = "thread_waits",
    /// Turns that threads passed on by `pause` or `sched_yield`, because they spun.
    ThreadSpins = "thread_spins",
    /// Those of both that were for one lock, the one with the most of them.
    LockWaits = "lock_waits",
}

/// A count per event. Events that are not counted are absent, never 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Events<T>(Option<[Option<T>; Event::ALL.len()]>);

impl<T: Copy> Events<T> {
    /// No event is counted.
    pub const NONE: Events<T> = Events(None);

    /// Returns the count of `event`.
    pub fn get(&self, event: Event) -> Option<T> {
        self.0.as_ref()?[event as usize]
    }

    /// Returns these counts with that of `event` replaced.
    #[must_use]
    pub fn with(mut self, event: Event, count: T) -> Events<T> {
        let counts = self.0.get_or_insert([None; Event::ALL.len()]);
        counts[event as usize] = Some(count);
        self
    }

    /// Returns whether nothing is counted.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the counted events, in the order of [`Event::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (Event, T)> + '_ {
        let counted = |event: Event| Some((event, self.get(event)?));
        Event::ALL.into_iter().filter_map(counted)
    }

    /// Combines event by event. An event that only one of the two counts is absent from the result.
    pub fn combined(&self, other: &Events<T>, combine: impl Fn(T, T) -> T) -> Events<T> {
        let of_both = |(event, a)| Some((event, combine(a, other.get(event)?)));
        self.iter().filter_map(of_both).collect()
    }
}

impl<T: Copy> Default for Events<T> {
    // Not the constant, of which every window would copy the unused bytes too.
    #[inline]
    fn default() -> Events<T> {
        Events(None)
    }
}

impl<T: Copy> FromIterator<(Event, T)> for Events<T> {
    fn from_iter<I: IntoIterator<Item = (Event, T)>>(counts: I) -> Events<T> {
        let none = Events::NONE;
        counts
            .into_iter()
            .fold(none, |events, (event, count)| events.with(event, count))
    }
}

/// What was counted per iteration of a launch. Takes no more than a pointer where nothing was: runs
/// have a hundred thousand launches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LaunchEvents(Option<Box<Events<f64>>>);

impl From<Events<f64>> for LaunchEvents {
    fn from(events: Events<f64>) -> LaunchEvents {
        LaunchEvents((!events.is_empty()).then(|| Box::new(events)))
    }
}

impl Deref for LaunchEvents {
    type Target = Events<f64>;

    fn deref(&self) -> &Events<f64> {
        const NONE: &Events<f64> = &Events::NONE;
        self.0.as_deref().unwrap_or(NONE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_found_by_position() {
        for (place, event) in Event::ALL.into_iter().enumerate() {
            assert_eq!(event as usize, place);
            assert_eq!(
                serde_json::to_value(event).unwrap(),
                serde_json::Value::from(event.name())
            );
        }
    }

    #[test]
    fn event_counted_on_one_side_is_unknown_for_both() {
        let a = Events::NONE
            .with(Event::Branches, 3)
            .with(Event::L2Misses, 1);
        let b = Events::NONE.with(Event::Branches, 4);
        let both: Vec<(Event, u64)> = a.combined(&b, |a, b| a + b).iter().collect();
        assert_eq!(both, [(Event::Branches, 7)]);
        assert!(Events::<u64>::NONE.is_empty());
    }
}
