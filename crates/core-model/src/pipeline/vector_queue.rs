//! The queue before the schedulers of a vector unit.
//!
//! Operations leave it in order, a packet of them in a cycle, and if their scheduler has room.
//! Nothing in it executes, so an operation that waits in a full scheduler holds up all later ones,
//! however early their operands are ready.

use super::packets::Packets;
use super::schedulers::Schedulers;
use crate::parameters::{SCHEDULERS, VectorSchedulers, Window};
use crate::pools::Pools;
use crate::ports::Ports;

/// The pools of operations on the pipes of arithmetic, and on those of stores.
const ARITHMETIC: u8 = 0;
const STORES: u8 = 1;

/// The queue, and the schedulers behind it.
pub(crate) struct VectorQueue {
    /// When the entry of each of the last operations is free, as many as there are entries; a ring.
    free: Box<[u64]>,
    oldest: usize,
    newest: usize,
    packets: Packets,
    /// Cycles for which an operation still takes an entry after its packet was taken.
    transfer_cycles: u64,
    /// When the last operation entered its scheduler, or could have.
    last: u64,
    schedulers: Schedulers,
    store_pipes: Ports,
}

/// An operation that has left the queue.
#[derive(Clone, Copy)]
pub(crate) struct Entered {
    /// When it entered its scheduler.
    pub at: u64,
    pool: u8,
}

impl VectorQueue {
    pub(crate) fn new(window: &Window, store_pipes: Ports) -> Self {
        let (entries, transfer_cycles, schedulers) = match window.vector_schedulers {
            VectorSchedulers::Shared => (1, 0, [0; SCHEDULERS]),
            VectorSchedulers::Queued {
                queue_entries,
                transfer_cycles,
                arithmetic_entries,
                store_entries,
            } => (
                queue_entries.max(1),
                transfer_cycles,
                [arithmetic_entries, store_entries, 0],
            ),
        };
        VectorQueue {
            free: vec![0; entries as usize].into_boxed_slice(),
            oldest: 0,
            newest: 0,
            packets: Packets::new(),
            transfer_cycles: transfer_cycles.into(),
            last: 0,
            schedulers: Schedulers::new(schedulers, window.scheduler_release_cycles),
            store_pipes,
        }
    }

    /// Returns the first cycle in which the queue has room for an operation.
    #[inline]
    pub(crate) fn room(&self) -> u64 {
        self.free[self.oldest]
    }

    /// Adds the slots of an instruction that issues at `issued`, the first of which is the `slot`th
    /// of the program.
    #[inline(never)]
    pub(crate) fn push(&mut self, slot: u64, slots: u8, issued: u64) {
        for slot in slot..slot + u64::from(slots) {
            self.last = self.packets.add(slot, self.last.max(issued));
            self.newest = self.oldest;
            self.free[self.newest] = self.last + self.transfer_cycles;
            self.oldest += 1;
            if self.oldest == self.free.len() {
                self.oldest = 0;
            }
        }
    }

    /// Takes an operation of the instruction added last, which executes on one of `ports`, to its
    /// scheduler.
    #[inline]
    pub(crate) fn pass(&mut self, ports: Ports) -> Entered {
        let pool = if ports.without(self.store_pipes).is_empty() {
            STORES
        } else {
            ARITHMETIC
        };
        let at = self.schedulers.room(Pools::new([pool]), self.last);
        if at > self.last {
            self.last = at;
            self.free[self.newest] = self.free[self.newest].max(at);
        }
        Entered { at, pool }
    }

    /// Notes when an operation executes, and so leaves its scheduler.
    #[inline]
    pub(crate) fn execute(&mut self, entered: Entered, executes: u64) {
        self.schedulers.enter(entered.pool, executes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cores::ZEN_5;

    const ADD: Ports = Ports(1);
    const STORE: Ports = Ports(2);

    fn queue() -> VectorQueue {
        let window = Window {
            vector_schedulers: VectorSchedulers::Queued {
                queue_entries: 3,
                transfer_cycles: 4,
                arithmetic_entries: 2,
                store_entries: 1,
            },
            scheduler_release_cycles: 0,
            ..ZEN_5.window.clone()
        };
        VectorQueue::new(&window, STORE)
    }

    /// Passes the only operation of the instruction in this slot through the queue, and returns
    /// when it enters its scheduler.
    fn enter(queue: &mut VectorQueue, slot: u64, ports: Ports, issued: u64, executes: u64) -> u64 {
        queue.push(slot, 1, issued);
        let entered = queue.pass(ports);
        queue.execute(entered, executes);
        entered.at
    }

    #[test]
    fn operation_enters_scheduler_with_room_at_once() {
        let mut queue = queue();
        assert_eq!(enter(&mut queue, 100, ADD, 10, 100), 10);
        assert_eq!(enter(&mut queue, 101, ADD, 11, 12), 11);
        assert_eq!(enter(&mut queue, 102, STORE, 11, 12), 11);
        assert_eq!(enter(&mut queue, 103, ADD, 14, 15), 14);
    }

    #[test]
    fn waiting_operation_blocks_later_ones() {
        let mut queue = queue();
        enter(&mut queue, 100, STORE, 10, 100);
        assert_eq!(enter(&mut queue, 101, STORE, 11, 102), 101);
        assert_eq!(enter(&mut queue, 102, ADD, 12, 103), 101);
    }

    #[test]
    fn full_queue_has_room_after_oldest_leaves() {
        let mut queue = queue();
        assert_eq!(queue.room(), 0);
        enter(&mut queue, 100, STORE, 10, 100);
        for (slot, executes) in [(101, 200), (102, 300), (103, 400)] {
            assert!(queue.room() <= 14);
            enter(&mut queue, slot, STORE, 10, executes);
        }
        assert_eq!(queue.room(), 101);
    }

    #[test]
    fn empty_instruction_takes_an_entry_until_moved() {
        let mut queue = queue();
        for slot in 100..103 {
            queue.push(slot, 1, 10);
        }
        assert_eq!(queue.room(), 14);
    }
}
