//! Issue: when an instruction leaves rename, and what the preceding slots are charged to.

use super::Core;
use super::path::WrongPath;
use crate::instruction::Operation;

impl Core {
    /// Issues an instruction and charges the slots before it; its own are among the fixed costs of
    /// its block. Returns the cycle of its last slot.
    #[inline(always)]
    pub(super) fn issue<const RARE: bool>(&mut self, operation: &Operation, block: u32) -> u64 {
        let queue_room = self.window.queue_room::<RARE>(operation.slots);
        let delivered =
            self.frontend
                .deliver(operation, queue_room, &mut self.memory, &mut self.ledger);
        let now = self.ledger.cycle();
        let mut backend = self.window.room(operation.needs, now);
        backend = backend.max(self.issue_from);
        if operation.is_queued {
            backend = backend.max(self.vector_queue.room());
        }
        backend = self.schedulers.room(operation.waits_in, backend);
        let store_room = if RARE {
            self.stores.room(operation.stores.into())
        } else {
            self.stores.room_for_one_if(operation.stores > 0)
        };
        let mut start = delivered.max(backend).max(store_room);
        let ready = self.bound.room(operation.ports[0], start);
        if ready > start {
            (start, backend) = (ready, ready);
        }
        if start > now {
            self.wait(start, backend, store_room, block);
        }
        self.wrong_path = None;
        if self.ledger.is_after(operation.last_slot) {
            self.leave_cycle(block);
        }
        let issued = self.ledger.pass::<RARE>(operation.slots.into());
        if operation.is_queued {
            self.vector_queue.push(self.slots, operation.slots, issued);
        }
        self.slots += u64::from(operation.slots);
        issued
    }

    /// Charges the rest of a cycle, in whose slots an instruction cannot issue.
    #[inline(never)]
    fn leave_cycle(&mut self, block: u32) {
        let rest = self.ledger.slots_of_open_cycle();
        self.ledger.charge_backend(block, 0, rest);
        self.ledger.pass_until(self.ledger.cycle() + 1);
    }

    /// Charges the slots up to the cycle `start`; the others say until when each part was the
    /// obstacle.
    #[inline(never)]
    fn wait(&mut self, start: u64, backend: u64, store_room: u64, block: u32) {
        let restarts = self.wrong_path.take();
        if let Some(wrong) = &restarts {
            self.charge_wrong_path(wrong, start);
        }
        self.charge_head(backend.min(start));
        // Only the store queue was the obstacle.
        let until = store_room.min(start);
        let waited = self.ledger.slots_until(until);
        if waited > 0 {
            self.ledger.charge_backend(block, waited, 0);
            self.ledger.delay(|waits| waits.store_queue_slots += waited);
            self.ledger.pass_until(until);
        }
        if restarts.is_some_and(|wrong| !wrong.is_clear) {
            let refill = self.ledger.slots_until(start);
            self.ledger.delay(|waits| waits.refill_slots += refill);
        }
        self.ledger.charge_frontend(block, start);
    }

    /// The wrong path issues until it is detected, or until it has filled the window.
    fn charge_wrong_path(&mut self, wrong: &WrongPath, start: u64) {
        let until = wrong.until.min(start);
        let wasted = self
            .ledger
            .slots_until(until)
            .min(self.parameters.window.reorder_entries.into());
        if wrong.is_clear {
            self.ledger
                .charge(wrong.block, |slots| &mut slots.machine_clears, wasted);
        } else {
            self.ledger
                .charge(wrong.block, |slots| &mut slots.branch_mispredicts, wasted);
        }
        self.charge_head(until);
    }

    /// Charges the slots up to the cycle `until` to the instructions at the head of the reorder
    /// buffer.
    #[inline]
    fn charge_head(&mut self, until: u64) {
        let ledger = &mut self.ledger;
        if ledger.slots_until(until) == 0 {
            return;
        }
        self.window.charge_head(
            ledger.position(),
            until,
            ledger.width(),
            self.outstanding,
            |block, memory, core| ledger.charge_backend(block, memory, core),
        );
        ledger.pass_until(until);
    }

    /// Lets everything in flight retire and be written: the end of a window.
    pub(crate) fn drain(&mut self) {
        self.pending.forget();
        self.wrong_path = None;
        self.charge_head(self.window.last_completion());
        let block = self.window.youngest_block();
        let rest = self.ledger.slots_of_open_cycle();
        self.ledger
            .charge(block, |slots| &mut slots.core_bound, rest);
        self.frontend.redirect(self.ledger.cycle());
        self.ports.restart();
    }
}
