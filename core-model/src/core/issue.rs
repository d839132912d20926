//! Issue: when an instruction leaves rename, and who is charged for the slots before it.

use super::Core;
use crate::instruction::{MemoryOperand, Operation, Rename};
use crate::pipeline::Needs;

impl Core {
    /// Issues an instruction: charges the slots before it and its own. Returns the cycle of its last
    /// slot.
    #[inline]
    pub(super) fn issue(
        &mut self,
        operation: &Operation,
        memory: &[MemoryOperand],
        needs: &Needs,
        block: u32,
    ) -> u64 {
        let slots = u64::from(operation.slots);
        let queue_room = self.window.queue_room(operation.slots.into());
        let delivered =
            self.frontend
                .deliver(operation, queue_room, &mut self.memory, &mut self.events);
        let now = self.ledger.cycle();
        let mut backend = self.window.room(needs, now).max(self.issue_from).max(now);
        let window = &self.parameters.window;
        if operation.operations > 0 {
            backend = self.schedulers.room(operation.scheduler.into(), 1, backend);
        }
        let mut stores = 0;
        for operand in memory {
            if operand.writes() {
                stores += 1;
                backend = self.schedulers.room(window.store_scheduler, 1, backend);
            }
            if operand.reads() {
                backend = self.schedulers.room(window.load_scheduler, 1, backend);
            }
        }
        let store_room = if stores > 0 {
            self.stores.room(stores)
        } else {
            0
        };
        let start = delivered.max(backend).max(store_room);
        if start > now {
            self.wait(start, backend, store_room, block);
        }
        self.wrong_path = None;
        if slots > 0 {
            if slots == 1 {
                self.ledger
                    .charge(block, |slots| &mut slots.light_operations, slots);
            } else {
                self.ledger
                    .charge(block, |slots| &mut slots.heavy_operations, slots);
            }
        }
        self.ledger.last_cycle()
    }

    /// Charges the slots up to the cycle `start`, given until when each part stood in the way.
    fn wait(&mut self, start: u64, backend: u64, store_room: u64, block: u32) {
        let width = self.ledger.width();
        let end = start * width;
        if let Some(wrong) = self.wrong_path.take() {
            // The wrong path issues until it is found out, or until it has filled the window.
            let until = (wrong.until * width).min(end);
            let wasted = until
                .saturating_sub(self.ledger.position())
                .min(self.parameters.window.reorder_entries.into());
            if wrong.is_clear {
                self.ledger
                    .charge(wrong.block, |slots| &mut slots.machine_clears, wasted);
            } else {
                self.ledger
                    .charge(wrong.block, |slots| &mut slots.branch_mispredicts, wasted);
            }
            self.blame(until);
        }
        self.blame((backend * width).min(end));
        // The store queue alone stood in the way.
        let until = (store_room * width).min(end);
        let waited = until.saturating_sub(self.ledger.position());
        self.ledger
            .charge(block, |slots| &mut slots.memory_bound, waited);
        self.ledger.charge_frontend(block, end);
    }

    /// Charges the slots up to `until` to the instructions at the head of the reorder buffer.
    fn blame(&mut self, until: u64) {
        let from = self.ledger.position();
        if until <= from {
            return;
        }
        let ledger = &mut self.ledger;
        let width = ledger.width();
        self.window.blame(
            from,
            until,
            width,
            self.outstanding,
            |block, memory, core| {
                ledger.charge(block, |slots| &mut slots.memory_bound, memory);
                ledger.charge(block, |slots| &mut slots.core_bound, core);
            },
        );
    }

    /// Lets everything in flight retire and be written: the end of a window.
    pub(crate) fn drain(&mut self) {
        self.pending = None;
        self.wrong_path = None;
        let retired = self.window.last_retirement();
        let width = self.ledger.width();
        self.blame(retired * width);
        let block = self.window.youngest_block();
        let end = self.ledger.position().next_multiple_of(width);
        let rest = end - self.ledger.position();
        self.ledger
            .charge(block, |slots| &mut slots.core_bound, rest);
        self.frontend.redirect(self.ledger.cycle());
    }
}

/// The entries that an instruction takes until it retires.
#[inline]
pub(super) fn needs(operation: &Operation, memory: &[MemoryOperand]) -> Needs {
    let loads = memory.iter().filter(|operand| operand.reads()).count();
    let renamed = operation.rename == Rename::Execute;
    [
        operation.slots.into(),
        loads as u32,
        if renamed {
            operation.integer_results.into()
        } else {
            0
        },
        if renamed {
            operation.vector_results.into()
        } else {
            0
        },
    ]
}
