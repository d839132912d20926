//! The ledger: a clock that counts issue slots, charges each to a category, and counts events.

use crate::instruction::Operation;
use crate::slots::{Counts, Events, Slots};

/// A kind of slot: the field of [`Slots`] that counts it.
pub(crate) type Category = fn(&mut Slots) -> &mut u64;
/// A kind of event: the field of [`Events`] that counts it.
pub(crate) type Event = fn(&mut Events) -> &mut u64;

/// The slot clock, the slots charged and the events counted so far, in total and per block.
pub(crate) struct Ledger {
    width: u64,
    /// The cycle of the next free slot, and the number of slots passed in it.
    cycle: u64,
    in_cycle: u64,
    slots: Slots,
    events: Events,
    /// Up to the last block that was executed. Never more than there is room for.
    blocks: Vec<BlockCounts>,
    /// The current block.
    block: usize,
    /// By block; nothing unless each instruction is one.
    waits: Box<[Waits]>,
}

/// What delayed an instruction, in all its executions. These overlap with those of others, so they
/// do not add up to slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// Cycles from its issue until its operands were ready.
    pub operand_cycles: u64,
    /// Cycles from then on until a port was free.
    pub port_cycles: u64,
    /// Slots before its issue in which the frontend refilled after a mispredicted branch.
    pub refill_slots: u64,
    /// Slots before its issue in which the store queue had no room.
    pub store_queue_slots: u64,
}

/// The cost of one block of the program, or of its executions on one call path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockCounts {
    /// Number of executions.
    pub executions: u64,
    /// Its slots. Retiring slots and frontend slots belong to the block that was issued, bad
    /// speculation to the block with the mispredicted branch or the load that caused the clear, and
    /// backend slots to the block whose instruction was at the head of the reorder buffer.
    pub slots: Slots,
    /// Its events.
    pub events: Events,
}

/// The fixed cost of each execution of a block. The number of executions gives the sum.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FixedCosts {
    instructions: u32,
    unknown_instructions: u32,
    /// Slots of single-slot instructions.
    light_operations: u32,
    /// Slots of multi-slot instructions.
    heavy_operations: u32,
}

impl FixedCosts {
    /// Adds an instruction.
    pub(crate) fn add(&mut self, operation: &Operation) {
        self.instructions += 1;
        self.unknown_instructions += u32::from(!operation.is_known);
        if operation.slots == 1 {
            self.light_operations += 1;
        } else {
            self.heavy_operations += u32::from(operation.slots);
        }
    }
}

impl Ledger {
    pub(crate) fn new(width: u32, blocks: usize) -> Self {
        let mut ledger = Ledger {
            width: u64::from(width.max(1)),
            cycle: 0,
            in_cycle: 0,
            slots: Slots::default(),
            events: Events::default(),
            blocks: Vec::new(),
            block: 0,
            waits: Box::default(),
        };
        ledger.make_room(blocks);
        ledger
    }

    /// Makes room for this many blocks, before anything is counted. Untouched, it costs nothing:
    /// most programs have few blocks.
    pub(crate) fn make_room(&mut self, blocks: usize) {
        self.blocks = Vec::with_capacity(blocks.max(1));
        self.blocks.push(BlockCounts::default());
    }

    /// Keeps what delayed each of this many blocks, too.
    pub(crate) fn keep_waits(&mut self, blocks: usize) {
        self.waits = vec![Waits::default(); blocks].into_boxed_slice();
    }

    /// Counts what delayed the current block, if that is kept.
    pub(crate) fn delay(&mut self, add: impl FnOnce(&mut Waits)) {
        if let Some(waits) = self.waits.get_mut(self.block) {
            add(waits);
        }
    }

    /// Returns what delayed a block, if that is kept.
    pub(crate) fn waits(&self, block: usize) -> Waits {
        self.waits.get(block).copied().unwrap_or_default()
    }

    /// Forgets what each block cost. Nothing is in flight.
    pub(crate) fn forget_blocks(&mut self) {
        self.blocks.clear();
        self.blocks.push(BlockCounts::default());
        self.waits.fill(Waits::default());
        self.block = 0;
    }

    /// Exchanges what was counted with another core. The clock stays.
    pub(crate) fn swap_counts(&mut self, other: &mut Ledger) {
        std::mem::swap(&mut self.slots, &mut other.slots);
        std::mem::swap(&mut self.events, &mut other.events);
        std::mem::swap(&mut self.blocks, &mut other.blocks);
        std::mem::swap(&mut self.waits, &mut other.waits);
    }

    pub(crate) fn width(&self) -> u64 {
        self.width
    }

    /// Returns the cycle of the next free slot.
    #[inline]
    pub(crate) fn cycle(&self) -> u64 {
        self.cycle
    }

    /// Returns the cycle of the next free slot, and how many slots have passed in it.
    #[inline]
    pub(crate) fn position(&self) -> (u64, u64) {
        (self.cycle, self.in_cycle)
    }

    /// Returns how many slots are left until `cycle` begins.
    #[inline]
    pub(crate) fn slots_until(&self, cycle: u64) -> u64 {
        if cycle <= self.cycle {
            return 0;
        }
        (cycle - self.cycle) * self.width - self.in_cycle
    }

    /// Advances to `cycle`, which has not begun. The caller charges the slots passed.
    #[inline]
    pub(crate) fn pass_until(&mut self, cycle: u64) {
        self.cycle = cycle;
        self.in_cycle = 0;
    }

    /// Returns how many slots are left in a cycle in which some have passed.
    pub(crate) fn slots_of_open_cycle(&self) -> u64 {
        match self.in_cycle {
            0 => 0,
            passed => self.width - passed,
        }
    }

    /// Returns whether the next free slot comes after the slot `last` of its cycle.
    #[inline]
    pub(crate) fn is_after(&self, last: u8) -> bool {
        self.in_cycle > last.into()
    }

    /// Makes `block` the current block and counts its fixed `costs`.
    #[inline]
    pub(crate) fn execute(&mut self, block: u32, costs: &FixedCosts) {
        self.block = block as usize;
        if self.block >= self.blocks.len() {
            self.reach(self.block);
        }
        if let Some(counts) = self.blocks.get_mut(self.block) {
            counts.executions += 1;
        }
        self.events.instructions += u64::from(costs.instructions);
        self.events.unknown_instructions += u64::from(costs.unknown_instructions);
        self.slots.light_operations += u64::from(costs.light_operations);
        self.slots.heavy_operations += u64::from(costs.heavy_operations);
    }

    /// Begins to count for a block, if there is room.
    #[cold]
    fn reach(&mut self, block: usize) {
        if block < self.blocks.capacity() {
            self.blocks.resize(block + 1, BlockCounts::default());
        }
    }

    /// Advances the clock by `slots` (more than the width, if `MANY`), which the caller charges,
    /// and returns the cycle of the last slot passed.
    #[inline]
    pub(crate) fn pass<const MANY: bool>(&mut self, slots: u64) -> u64 {
        let mut passed = self.in_cycle + slots;
        if MANY && slots > self.width {
            self.cycle += passed / self.width;
            passed %= self.width;
        }
        // No branch, because the end of a cycle is hard to predict.
        let is_full = passed >= self.width;
        self.cycle += u64::from(is_full);
        self.in_cycle = passed - if is_full { self.width } else { 0 };
        self.cycle.saturating_sub(u64::from(self.in_cycle == 0))
    }

    /// Charges the next `slots` to `block` and advances the clock by as many.
    #[inline]
    pub(crate) fn charge(&mut self, block: u32, category: Category, slots: u64) {
        self.charge_passed(block, category, slots);
        self.pass::<true>(slots);
    }

    /// Charges `slots` that have passed to `block`.
    #[inline]
    pub(crate) fn charge_passed(&mut self, block: u32, category: Category, slots: u64) {
        *category(&mut self.slots) += slots;
        if let Some(counts) = self.blocks.get_mut(block as usize) {
            *category(&mut counts.slots) += slots;
        }
    }

    /// Charges slots that have passed to `block`, which waited for memory or something else in the
    /// backend.
    #[inline]
    pub(crate) fn charge_backend(&mut self, block: u32, memory: u64, core: u64) {
        self.slots.memory_bound += memory;
        self.slots.core_bound += core;
        if let Some(counts) = self.blocks.get_mut(block as usize) {
            counts.slots.memory_bound += memory;
            counts.slots.core_bound += core;
        }
    }

    /// Counts an event for the current block.
    #[inline]
    pub(crate) fn count(&mut self, event: Event, number: u64) {
        *event(&mut self.events) += number;
        if let Some(counts) = self.blocks.get_mut(self.block) {
            *event(&mut counts.events) += number;
        }
    }

    /// Charges the slots up to the cycle `until` to an empty frontend: to bandwidth in a cycle in
    /// which something was issued, to latency in whole cycles.
    #[inline]
    pub(crate) fn charge_frontend(&mut self, block: u32, until: u64) {
        let slots = self.slots_until(until);
        if slots == 0 {
            return;
        }
        let started = self.slots_of_open_cycle();
        self.charge_passed(block, |slots| &mut slots.fetch_bandwidth, started);
        self.charge_passed(block, |slots| &mut slots.fetch_latency, slots - started);
        self.pass_until(until);
    }

    pub(crate) fn counts(&self) -> Counts {
        Counts {
            cycles: self.cycle,
            slots: self.slots,
            events: self.events,
        }
    }

    /// Returns the cost of `block`, of which each execution has fixed `costs`.
    pub(crate) fn block(&self, block: u32, costs: &FixedCosts) -> BlockCounts {
        let mut counts = self.blocks.get(block as usize).copied().unwrap_or_default();
        let times = |cost: u32| counts.executions * u64::from(cost);
        let (instructions, unknown) =
            (times(costs.instructions), times(costs.unknown_instructions));
        let (light, heavy) = (times(costs.light_operations), times(costs.heavy_operations));
        counts.events.instructions += instructions;
        counts.events.unknown_instructions += unknown;
        counts.slots.light_operations += light;
        counts.slots.heavy_operations += heavy;
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frontend_wait_is_bandwidth_first_then_latency() {
        let mut ledger = Ledger::new(6, 1);
        ledger.charge(0, |slots| &mut slots.light_operations, 2);
        ledger.charge_frontend(0, 3);
        let slots = ledger.counts().slots;
        assert_eq!((slots.fetch_bandwidth, slots.fetch_latency), (4, 12));
        assert_eq!((ledger.cycle(), slots.total()), (3, 18));
    }

    #[test]
    fn cycle_follows_from_position() {
        let mut ledger = Ledger::new(6, 1);
        for slots in [0, 1, 5, 6, 7, 30, 2, 3, 1] {
            ledger.charge_passed(0, |slots| &mut slots.light_operations, slots);
            let last = ledger.pass::<true>(slots);
            let total = ledger.counts().slots.total();
            assert_eq!(ledger.position(), (total / 6, total % 6));
            assert_eq!(last, total.saturating_sub(1) / 6);
        }
    }
}
