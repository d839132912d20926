//! Cost of modelling, as a number that does not depend on the clock.

use crate::slots::Counts;

/// Nanoseconds of each, fitted by `cost` of `crates/model-lab`. Slots of heavy operations are
/// mostly steps of repeated string instructions, of which one can copy gigabytes.
const INSTRUCTION_NS: u64 = 25;
const CYCLE_NS: u64 = 1;
const HEAVY_SLOT_NS: u64 = 45;
const L1D_MISS_NS: u64 = 200;
const MEMORY_LINE_NS: u64 = 200;

/// The bytes of a line from memory.
const LINE_BYTES: u64 = 64;

impl Counts {
    /// Returns roughly how many nanoseconds it takes to trace and model what was counted: by the
    /// counts alone, so that it is the same on each machine.
    pub fn modelling_ns(&self) -> u64 {
        let events = &self.events;
        [
            (events.instructions, INSTRUCTION_NS),
            (self.cycles, CYCLE_NS),
            (self.slots.heavy_operations, HEAVY_SLOT_NS),
            (events.l1d_misses, L1D_MISS_NS),
            (events.memory_read_bytes / LINE_BYTES, MEMORY_LINE_NS),
        ]
        .iter()
        .map(|(count, ns)| count.saturating_mul(*ns))
        .fold(0, u64::saturating_add)
    }
}
