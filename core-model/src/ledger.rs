//! The account of issue slots: a clock that counts in slots, and who is charged for each.

use crate::slots::{Counts, Events, Slots};

/// A kind of slot: which field of [`Slots`] it is counted in.
pub(crate) type Category = fn(&mut Slots) -> &mut u64;

/// The slot clock, and the slots charged so far, in total and per block.
pub(crate) struct Ledger {
    width: u64,
    /// Slots that have passed since the start.
    position: u64,
    /// The position's cycle, and the slots that have passed in it: asked for with every
    /// instruction, so they are not divided anew each time.
    cycle: u64,
    in_cycle: u64,
    total: Slots,
    blocks: Box<[BlockCounts]>,
}

/// What one block of the program has cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockCounts {
    /// How often it was executed.
    pub executions: u64,
    /// Its slots. Retiring slots and frontend slots belong to the block that was issued, bad
    /// speculation to the block with the branch or load that was wrong, backend slots to the block
    /// whose instruction stood at the head of the reorder buffer.
    pub slots: Slots,
    /// Its events.
    pub events: Events,
}

impl Ledger {
    pub(crate) fn new(width: u32, blocks: usize) -> Self {
        Ledger {
            width: u64::from(width.max(1)),
            position: 0,
            cycle: 0,
            in_cycle: 0,
            total: Slots::default(),
            blocks: vec![BlockCounts::default(); blocks.max(1)].into_boxed_slice(),
        }
    }

    pub(crate) fn width(&self) -> u64 {
        self.width
    }

    /// The cycle of the next free slot.
    #[inline]
    pub(crate) fn cycle(&self) -> u64 {
        self.cycle
    }

    /// The cycle of the last slot that was charged.
    #[inline]
    pub(crate) fn last_cycle(&self) -> u64 {
        self.cycle
            .saturating_sub(u64::from(self.in_cycle == 0 && self.cycle > 0))
    }

    #[inline]
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Charges the next `slots` to `block`; the clock advances by as many.
    #[inline]
    pub(crate) fn charge(&mut self, block: u32, category: Category, slots: u64) {
        *category(&mut self.total) += slots;
        if let Some(counts) = self.blocks.get_mut(block as usize) {
            *category(&mut counts.slots) += slots;
        }
        self.position += slots;
        self.in_cycle += slots;
        if self.in_cycle >= 2 * self.width {
            self.cycle += self.in_cycle / self.width;
            self.in_cycle %= self.width;
        } else if self.in_cycle >= self.width {
            self.cycle += 1;
            self.in_cycle -= self.width;
        }
    }

    /// The slots up to `to` found the frontend empty: those of a cycle in which something was issued
    /// lack bandwidth, whole cycles are latency.
    #[inline]
    pub(crate) fn charge_frontend(&mut self, block: u32, to: u64) {
        let boundary = self.position.next_multiple_of(self.width).min(to);
        let started = boundary.saturating_sub(self.position);
        self.charge(block, |slots| &mut slots.fetch_bandwidth, started);
        let whole = to.saturating_sub(self.position);
        self.charge(block, |slots| &mut slots.fetch_latency, whole);
    }

    #[inline]
    pub(crate) fn count(&mut self, block: u32, events: Events) {
        if let Some(counts) = self.blocks.get_mut(block as usize) {
            counts.executions += 1;
            counts.events += events;
        }
    }

    pub(crate) fn counts(&self, events: Events) -> Counts {
        Counts {
            cycles: self.cycle(),
            slots: self.total,
            events,
        }
    }

    pub(crate) fn block(&self, block: u32) -> BlockCounts {
        self.blocks.get(block as usize).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frontend_wait_is_bandwidth_first_and_latency_then() {
        let mut ledger = Ledger::new(6, 1);
        ledger.charge(0, |slots| &mut slots.light_operations, 2);
        ledger.charge_frontend(0, 18);
        let slots = ledger.counts(Events::default()).slots;
        assert_eq!((slots.fetch_bandwidth, slots.fetch_latency), (4, 12));
        assert_eq!((ledger.cycle(), slots.total()), (3, 18));
    }

    #[test]
    fn the_cycle_is_that_of_the_position() {
        let mut ledger = Ledger::new(6, 1);
        for slots in [0, 1, 5, 6, 7, 30, 2, 3, 1] {
            ledger.charge(0, |slots| &mut slots.light_operations, slots);
            assert_eq!(ledger.cycle(), ledger.position() / 6);
            let last = ledger.position().saturating_sub(1) / 6;
            assert_eq!(ledger.last_cycle(), last);
        }
    }
}
