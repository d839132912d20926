//! Issue slots by category, and events counted beside them.
//!
//! All values are integers. The categories of a [`Slots`] add up to width × cycles exactly, by
//! construction: each slot is assigned to one category when the model's clock passes it.

use std::ops::{Add, AddAssign, Sub};

macro_rules! counts {
    ($(#[$meta:meta])* $name:ident { $($(#[$field_meta:meta])* $field:ident,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            $($(#[$field_meta])* pub $field: u64,)*
        }

        impl $name {
            /// Returns each count times this fraction, rounded.
            fn times(self, numerator: u64, denominator: u64) -> $name {
                let times = |count| times(count, numerator, denominator);
                $name { $($field: times(self.$field),)* }
            }
        }

        impl AddAssign for $name {
            fn add_assign(&mut self, other: $name) {
                $(self.$field += other.$field;)*
            }
        }

        impl Sub for $name {
            type Output = $name;

            /// Returns what was added since `earlier`.
            fn sub(self, earlier: $name) -> $name {
                $name { $($field: self.$field - earlier.$field,)* }
            }
        }
    };
}

counts! {
    /// Issue slots by category; at level 2 where level 1 is split.
    ///
    /// The definitions follow Yasin, "A Top-Down method for performance analysis and counters
    /// architecture" (ISPASS 2014), section III.
    Slots {
        /// Slots of retired instructions that take one slot each.
        light_operations,
        /// Slots of retired instructions that take two or more slots.
        heavy_operations,
        /// Slots from the issue of a mispredicted branch until the core issues right-path
        /// instructions again, minus the part in which the frontend refills.
        branch_mispredicts,
        /// The same for memory-ordering clears.
        machine_clears,
        /// Slots of cycles in which the frontend delivered nothing and nothing else was the
        /// obstacle.
        fetch_latency,
        /// Slots of cycles in which the frontend delivered less than the core accepts.
        fetch_bandwidth,
        /// Slots that waited for a load at the head of the reorder buffer, or for the store queue.
        memory_bound,
        /// Slots that waited for execution ports, dividers or latency other than memory's.
        core_bound,
    }
}

impl Slots {
    /// Returns the slots of retired instructions.
    pub fn retiring(&self) -> u64 {
        self.light_operations + self.heavy_operations
    }

    /// Returns the slots spent on discarded work.
    pub fn bad_speculation(&self) -> u64 {
        self.branch_mispredicts + self.machine_clears
    }

    /// Returns the slots in which the frontend delivered nothing.
    pub fn frontend_bound(&self) -> u64 {
        self.fetch_latency + self.fetch_bandwidth
    }

    /// Returns the slots in which the backend could accept nothing.
    pub fn backend_bound(&self) -> u64 {
        self.memory_bound + self.core_bound
    }

    /// Returns the sum of all categories.
    pub fn total(&self) -> u64 {
        self.retiring() + self.bad_speculation() + self.frontend_bound() + self.backend_bound()
    }
}

counts! {
    /// Events counted while accounting for slots.
    Events {
        /// Executed instructions; a repeated string instruction counts once.
        instructions,
        /// Executed instructions whose form is not in the instruction table. They are charged one
        /// slot and one cycle; see [`Events::coverage_fraction`].
        unknown_instructions,
        /// Branches of all kinds: conditional, direct, indirect, call, return.
        branches,
        /// Branches whose direction or target was mispredicted.
        mispredicted_branches,
        /// Loads that ran before an older store to the same address and were discarded.
        machine_clears,
        /// Demand fetches of a 64-byte line of code that missed the L1 instruction cache.
        l1i_misses,
        /// Loads and stores of 64-byte lines that missed the L1 data cache.
        l1d_misses,
        /// Demand requests, for data or code, that missed the L2.
        l2_misses,
        /// Demand requests that missed the L3.
        l3_misses,
        /// Loads and stores whose page missed both levels of the data TLB: page walks.
        dtlb_walks,
        /// Code fetches whose page missed both levels of the instruction TLB.
        itlb_walks,
        /// Bytes read from memory: demand and prefetched lines, 64 each.
        memory_read_bytes,
        /// Bytes written back to memory, 64 per dirty line.
        memory_write_bytes,
        /// Loads that waited until a store of only some of their bytes was written.
        blocked_loads,
        /// Loads that took longer because an earlier store has the low bits of their address.
        aliased_loads,
        /// Loads and stores of bytes in two lines.
        split_accesses,
        /// Stores of bytes in two pages. They cost nothing here.
        page_split_stores,
        /// Atomic operations on bytes in two lines. They cost no more than others here.
        split_locks,
        /// Switches between legacy SSE and AVX code while the upper halves of vector registers are
        /// in use, on cores that save these. They cost nothing here.
        sse_avx_switches,
    }
}

impl Events {
    /// Returns the fraction (0 to 1) of executed instructions whose form is in the instruction
    /// table, or 1 if nothing was executed.
    pub fn coverage_fraction(&self) -> f64 {
        if self.instructions == 0 {
            return 1.0;
        }
        1.0 - self.unknown_instructions as f64 / self.instructions as f64
    }
}

/// The result of modelled execution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Core cycles that passed.
    pub cycles: u64,
    /// Where their issue slots went: [`Slots::total`] equals width × `cycles` exactly.
    pub slots: Slots,
    /// What else happened.
    pub events: Events,
}

impl Counts {
    /// Returns the instructions per cycle, or 0 if no cycle passed.
    pub fn instructions_per_cycle(&self) -> f64 {
        if self.cycles == 0 {
            return 0.0;
        }
        self.events.instructions as f64 / self.cycles as f64
    }
}

/// Returns `count` × `numerator` / `denominator`, rounded.
fn times(count: u64, numerator: u64, denominator: u64) -> u64 {
    let denominator = u128::from(denominator.max(1));
    let product = u128::from(count) * u128::from(numerator);
    ((product + denominator / 2) / denominator) as u64
}

impl Counts {
    /// Returns these counts scaled to as many `instructions`.
    pub(crate) fn scaled_to(self, instructions: u64) -> Counts {
        let counted = self.events.instructions;
        Counts {
            cycles: times(self.cycles, instructions, counted),
            slots: self.slots.times(instructions, counted),
            events: self.events.times(instructions, counted),
        }
    }
}

impl Counts {
    /// Returns the counts of this many executions, each of which counts this.
    pub fn repeated(self, executions: u64) -> Counts {
        Counts {
            cycles: times(self.cycles, executions, 1),
            slots: self.slots.times(executions, 1),
            events: self.events.times(executions, 1),
        }
    }

    /// Returns the rounded mean. There must be at least one.
    pub fn mean(all: &[Counts]) -> Counts {
        let mut sum = Counts::default();
        for counts in all {
            sum += *counts;
        }
        let count = all.len() as u64;
        Counts {
            cycles: times(sum.cycles, 1, count),
            slots: sum.slots.times(1, count),
            events: sum.events.times(1, count),
        }
    }
}

impl Add for Counts {
    type Output = Counts;

    fn add(mut self, more: Counts) -> Counts {
        self += more;
        self
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.cycles += other.cycles;
        self.slots += other.slots;
        self.events += other.events;
    }
}

impl Sub for Counts {
    type Output = Counts;

    /// Returns what was added since `earlier`.
    fn sub(self, earlier: Counts) -> Counts {
        Counts {
            cycles: self.cycles - earlier.cycles,
            slots: self.slots - earlier.slots,
            events: self.events - earlier.events,
        }
    }
}
