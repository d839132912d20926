//! Issue: when an instruction leaves rename, and who is charged for the slots before it.

use super::{Core, WrongPath};
use crate::instruction::Operation;

impl Core {
    /// Issues an instruction: charges the slots before it; its own are among the fixed costs of its
    /// block. Returns the cycle of its last slot.
    #[inline(always)]
    pub(super) fn issue(&mut self, operation: &Operation, block: u32) -> u64 {
        let queue_room = self.window.queue_room(operation.slots);
        let delivered =
            self.frontend
                .deliver(operation, queue_room, &mut self.memory, &mut self.ledger);
        let now = self.ledger.cycle();
        let mut backend = self.window.room(operation.needs, now).max(self.issue_from);
        let window = &self.parameters.window;
        if operation.operations > 0 {
            backend = self.schedulers.room(operation.scheduler.into(), backend);
        }
        if operation.loads > 0 {
            backend = self.schedulers.room(window.load_scheduler, backend);
        }
        let mut store_room = 0;
        if operation.stores > 0 {
            backend = self.schedulers.room(window.store_scheduler, backend);
            store_room = self.stores.room(operation.stores.into());
        }
        let start = delivered.max(backend).max(store_room);
        if start > now {
            self.wait(start, backend, store_room, block);
        }
        self.wrong_path = None;
        self.ledger.pass(operation.slots.into());
        self.ledger.last_cycle()
    }

    /// Charges the slots up to the cycle `start`, given until when each part stood in the way.
    #[inline(never)]
    fn wait(&mut self, start: u64, backend: u64, store_room: u64, block: u32) {
        let width = self.ledger.width();
        let end = start * width;
        if let Some(wrong) = self.wrong_path.take() {
            self.charge_wrong_path(&wrong, end);
        }
        self.blame((backend * width).min(end));
        // The store queue alone stood in the way.
        let until = (store_room * width).min(end);
        let waited = until.saturating_sub(self.ledger.position());
        if waited > 0 {
            self.ledger
                .charge(block, |slots| &mut slots.memory_bound, waited);
        }
        self.ledger.charge_frontend(block, end);
    }

    /// The wrong path issues until it is found out, or until it has filled the window.
    fn charge_wrong_path(&mut self, wrong: &WrongPath, end: u64) {
        let until = (wrong.until * self.ledger.width()).min(end);
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

    /// Charges the slots up to `until` to the instructions at the head of the reorder buffer.
    #[inline]
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
                if memory > 0 {
                    ledger.charge(block, |slots| &mut slots.memory_bound, memory);
                }
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
