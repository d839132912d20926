//! The queue before the schedulers of a vector unit.
//!
//! Operations leave it in order, as soon as their scheduler has room. Nothing in it executes, so an
//! operation that waits in a full scheduler holds up all later ones, however early their operands
//! are ready.

use super::schedulers::{Pools, Schedulers};
use crate::calendar::Ports;
use crate::parameters::{SCHEDULERS, VectorSchedulers};

/// The pools of operations on the pipes of arithmetic, and on those of stores.
const ARITHMETIC: u8 = 0;
const STORES: u8 = 1;

/// The queue, and the schedulers behind it.
pub(crate) struct VectorQueue {
    /// When each of the last operations left, as many as there are entries; a ring.
    left: Box<[u64]>,
    oldest: usize,
    /// When the last one left.
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
    pub(crate) fn new(parameters: VectorSchedulers, store_pipes: Ports) -> Self {
        let (entries, schedulers) = match parameters {
            VectorSchedulers::Shared => (1, [0; SCHEDULERS]),
            VectorSchedulers::Queued {
                queue_entries,
                arithmetic_entries,
                store_entries,
            } => (queue_entries.max(1), [arithmetic_entries, store_entries, 0]),
        };
        VectorQueue {
            left: vec![0; entries as usize].into_boxed_slice(),
            oldest: 0,
            last: 0,
            schedulers: Schedulers::new(schedulers),
            store_pipes,
        }
    }

    /// Returns the first cycle in which the queue has room for an operation.
    #[inline]
    pub(crate) fn room(&self) -> u64 {
        self.left[self.oldest]
    }

    /// Takes an operation that issues at `issued` and executes on one of `ports` through the queue.
    #[inline]
    pub(crate) fn pass(&mut self, ports: Ports, issued: u64) -> Entered {
        let pool = if ports.without(self.store_pipes).is_empty() {
            STORES
        } else {
            ARITHMETIC
        };
        let at = self
            .schedulers
            .room(Pools::new([pool]), issued.max(self.last));
        self.last = at;
        self.left[self.oldest] = at;
        self.oldest += 1;
        if self.oldest == self.left.len() {
            self.oldest = 0;
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

    const ADD: Ports = Ports(1);
    const STORE: Ports = Ports(2);

    fn queue() -> VectorQueue {
        let parameters = VectorSchedulers::Queued {
            queue_entries: 3,
            arithmetic_entries: 2,
            store_entries: 1,
        };
        VectorQueue::new(parameters, STORE)
    }

    /// Passes an operation through, and returns when it enters its scheduler.
    fn enter(queue: &mut VectorQueue, ports: Ports, issued: u64, executes: u64) -> u64 {
        let entered = queue.pass(ports, issued);
        queue.execute(entered, executes);
        entered.at
    }

    #[test]
    fn an_operation_enters_at_once_where_its_scheduler_has_room() {
        let mut queue = queue();
        assert_eq!(enter(&mut queue, ADD, 10, 100), 10);
        assert_eq!(enter(&mut queue, ADD, 11, 12), 11);
        assert_eq!(enter(&mut queue, STORE, 11, 12), 11);
        assert_eq!(enter(&mut queue, ADD, 14, 15), 14);
    }

    #[test]
    fn one_that_waits_holds_up_those_behind_it() {
        let mut queue = queue();
        enter(&mut queue, STORE, 10, 100);
        assert_eq!(enter(&mut queue, STORE, 11, 102), 101);
        assert_eq!(enter(&mut queue, ADD, 12, 103), 101);
    }

    #[test]
    fn a_full_queue_has_room_when_its_oldest_operation_leaves() {
        let mut queue = queue();
        assert_eq!(queue.room(), 0);
        enter(&mut queue, STORE, 10, 100);
        for executes in [200, 300, 400] {
            assert!(queue.room() <= 10);
            enter(&mut queue, STORE, 10, executes);
        }
        assert_eq!(queue.room(), 101);
    }
}
