//! Everything between issue and retirement: the reorder buffer and the buffers freed in its order.
//!
//! Keeps the last instructions in a ring: when each is complete, which means that it and all before
//! it are done, what it holds until it retires some cycles later, and which load its result waited
//! for. This determines when a full buffer has room again, and what caused a wait.

use super::loads::{LoadNumber, Loads};
use super::queue::Queue;
use crate::calendar::boxed;
use crate::instruction::{Needs, Room};
use crate::parameters::CoreParameters;

/// Number of instructions kept: twice the entries of a reorder buffer, because two may share one.
const RING: usize = 1024;
/// Number of instructions that are checked at once for having retired.
const STRIDE: u64 = 6;

/// An issued instruction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Issued {
    /// The slots it took.
    pub slots: u8,
    /// What it holds until it retires.
    pub needs: Needs,
    /// The cycle in which it was issued.
    pub issued: u64,
    /// The cycle in which it is done.
    pub done: u64,
    /// The last load on the critical path of its result.
    pub load: LoadNumber,
    /// The block to which it belongs.
    pub block: u32,
}

/// An instruction between issue and retirement.
#[derive(Clone, Copy, Debug, Default)]
struct InFlight {
    /// What all earlier instructions have taken.
    taken: Needs,
    /// The cycle in which it is complete.
    completes: u64,
    /// The last load on the critical path of its result: the low bits of its number.
    load: u32,
    /// The block to which it belongs.
    block: u32,
}

/// The reorder buffer and the buffers that are freed with it, and the queue before rename.
pub(crate) struct Window {
    ring: Box<[InFlight; RING]>,
    next: u64,
    loads: Loads,
    capacity: Room,
    /// The maximum total that may be taken: the capacity plus what instructions before `oldest`
    /// took and gave back.
    limit: Room,
    /// The total taken.
    taken: Needs,
    /// The oldest instruction whose entries were not given back, perhaps because nobody needed
    /// them.
    oldest: u64,
    retire_width: u32,
    /// Cycles from completion to retirement.
    retire_cycles: u64,
    complete_cycle: u64,
    completed_in_cycle: u32,
    /// The oldest instruction that was not complete at the last wait.
    head: u64,
    queue: Queue,
}

impl Window {
    pub(crate) fn new(parameters: &CoreParameters) -> Self {
        let window = &parameters.window;
        let reorder_entries = window.reorder_entries.min(RING as u32 / 2);
        let capacity = Room::new([
            reorder_entries,
            window.load_entries,
            window.integer_registers,
            window.vector_registers,
        ]);
        Window {
            ring: boxed(InFlight::default()),
            next: 0,
            loads: Loads::new(),
            capacity,
            limit: capacity,
            taken: Needs::default(),
            oldest: 0,
            retire_width: parameters.retire_width,
            retire_cycles: parameters.retire_cycles.into(),
            complete_cycle: 0,
            completed_in_cycle: 0,
            head: 0,
            queue: Queue::new(parameters.frontend.queue_entries),
        }
    }

    /// Returns the first cycle at or after `now` in which all buffers have room for `needs`.
    #[inline]
    pub(crate) fn room(&mut self, needs: Needs, now: u64) -> u64 {
        if self.limit.less(self.taken).fits(needs) {
            now
        } else {
            self.free(needs, now)
        }
    }

    /// Releases the entries of everything that has retired by `now`, then continues until there is
    /// room.
    #[inline]
    fn free(&mut self, needs: Needs, now: u64) -> u64 {
        let mut at = now;
        loop {
            self.oldest = self.first_incomplete(self.oldest, at.saturating_sub(self.retire_cycles));
            if self.oldest == self.next {
                self.limit = self.capacity.plus(self.taken);
                return at;
            }
            let oldest = &self.ring[self.oldest as usize % RING];
            self.limit = self.capacity.plus(oldest.taken);
            if self.limit.less(self.taken).fits(needs) {
                return at;
            }
            at = oldest.completes + self.retire_cycles;
        }
    }

    /// Returns the oldest instruction from `number` on that is complete after `at`, or the next
    /// one.
    #[inline]
    fn first_incomplete(&self, mut number: u64, at: u64) -> u64 {
        // They complete in order, so the last of several stands for all of them.
        while number + STRIDE <= self.next
            && self.ring[(number + STRIDE - 1) as usize % RING].completes <= at
        {
            number += STRIDE;
        }
        while number < self.next && self.ring[number as usize % RING].completes <= at {
            number += 1;
        }
        number
    }

    /// Returns the first cycle in which the queue before rename has room for `slots` more.
    #[inline]
    pub(crate) fn queue_room<const RARE: bool>(&self, slots: u8) -> u64 {
        self.queue.room::<RARE>(slots)
    }

    /// Records a load that executed at `from` and had its data at `until`.
    #[inline]
    pub(crate) fn note_load(&mut self, from: u64, until: u64) -> LoadNumber {
        self.loads.push(from, until)
    }

    /// Returns the start and end of a load's execution.
    pub(crate) fn load_times(&self, load: LoadNumber) -> (u64, u64) {
        self.loads.times(load as u32)
    }

    /// Adds an instruction, and returns the cycle in which it is complete.
    #[inline(always)]
    pub(crate) fn push<const RARE: bool>(&mut self, new: &Issued) -> u64 {
        self.queue.push::<RARE>(new.slots, new.issued);
        let is_full = self.completed_in_cycle >= self.retire_width;
        let completes = new.done.max(self.complete_cycle + u64::from(is_full));
        if completes != self.complete_cycle {
            self.completed_in_cycle = 0;
        }
        self.complete_cycle = completes;
        self.completed_in_cycle += u32::from(new.slots);
        self.ring[self.next as usize % RING] = InFlight {
            taken: self.taken,
            completes,
            load: new.load as u32,
            block: new.block,
        };
        self.taken = self.taken.plus(new.needs);
        self.next += 1;
        completes
    }

    /// Lets a full width of later instructions retire together with the youngest one, which
    /// retires as a whole at its end.
    pub(crate) fn retire_with_last(&mut self) {
        self.completed_in_cycle = 0;
    }

    /// Returns the cycle in which the youngest instruction is complete.
    pub(crate) fn last_completion(&self) -> u64 {
        self.complete_cycle
    }

    /// Returns the block of the youngest instruction.
    pub(crate) fn youngest_block(&self) -> u32 {
        self.ring[self.next.wrapping_sub(1) as usize % RING].block
    }

    /// Splits a wait among the instructions that were at the head of the reorder buffer meanwhile:
    /// `charge(block, slots waiting for memory, other slots)`. The wait begins in the cycle `from`,
    /// in which `passed` of the `width` slots have passed, and lasts until the cycle `until`
    /// begins.
    ///
    /// A slot waits for memory while the last load on the head's critical path executes, and while
    /// any load is `outstanding` beyond the L2. That is the rule of the TopDown method's counters
    /// (stalls with an outstanding load): if bandwidth is short, arithmetic fills the time between
    /// two arrivals without being the bottleneck.
    #[inline]
    pub(crate) fn charge_head(
        &mut self,
        (from, passed): (u64, u64),
        until: u64,
        width: u64,
        outstanding: (u64, u64),
        mut charge: impl FnMut(u32, u64, u64),
    ) {
        let mut head = self.head.max(self.next.saturating_sub(RING as u64));
        let mut at = from;
        // Slots of the cycle `at` that have passed.
        let mut passed = passed;
        // Slots of instructions of the same block are charged together.
        let mut block = self.ring[head as usize % RING].block;
        let (mut memory, mut core) = (0, 0);
        while at < until {
            head = self.first_incomplete(head, at);
            if head == self.next {
                // Nothing is in flight: the next instruction to issue waits for itself.
                charge(self.youngest_block(), 0, (until - at) * width - passed);
                break;
            }
            let blocking = &self.ring[head as usize % RING];
            if blocking.block != block {
                charge(block, memory, core);
                block = blocking.block;
                (memory, core) = (0, 0);
            }
            let end = blocking.completes.min(until);
            let slots = (end - at) * width - passed;
            let load = self.loads.times(blocking.load);
            let mut waiting = 0;
            if load.1.max(outstanding.1) > at {
                let overlap = |(from, until): (u64, u64)| {
                    let first_slot = (from * width).max(at * width + passed);
                    (until.min(end) * width).saturating_sub(first_slot)
                };
                let both = (load.0.max(outstanding.0), load.1.min(outstanding.1));
                waiting = overlap(load) + overlap(outstanding) - overlap(both);
            }
            memory += waiting;
            core += slots - waiting;
            at = end;
            passed = 0;
        }
        charge(block, memory, core);
        self.head = head;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cores::GOLDEN_COVE;

    /// Returns an instruction of one slot that is done at `done`.
    fn instruction(done: u64) -> Issued {
        Issued {
            slots: 1,
            needs: Needs::new([1, 0, 0, 0]),
            done,
            ..Issued::default()
        }
    }

    fn push(window: &mut Window, done: u64) -> u64 {
        window.push::<false>(&instruction(done))
    }

    /// Returns the blocks blamed for a wait, with memory's share and the rest.
    fn blamed(
        window: &mut Window,
        from: (u64, u64),
        until: u64,
        outstanding: (u64, u64),
    ) -> Vec<(u32, u64, u64)> {
        let mut charged = Vec::new();
        window.charge_head(from, until, 6, outstanding, |block, memory, core| {
            charged.push((block, memory, core));
        });
        charged
    }

    #[test]
    fn instructions_complete_in_order_within_width() {
        let mut window = Window::new(&GOLDEN_COVE);
        assert_eq!(push(&mut window, 100), 100);
        let last = (0..8).map(|_| push(&mut window, 5)).last();
        assert_eq!(last, Some(101));
    }

    #[test]
    fn full_reorder_buffer_waits_for_oldest() {
        let mut window = Window::new(&GOLDEN_COVE);
        push(&mut window, 1000);
        for _ in 1..512 {
            assert_eq!(window.room(Needs::new([1, 0, 0, 0]), 0), 0);
            push(&mut window, 1);
        }
        assert_eq!(window.room(Needs::new([1, 0, 0, 0]), 0), 1000);
    }

    #[test]
    fn resources_are_held_until_retirement() {
        let mut core = GOLDEN_COVE.clone();
        core.window.load_entries = 1;
        core.retire_cycles = 12;
        let mut window = Window::new(&core);
        let needs = Needs::new([1, 1, 0, 0]);
        let completes = window.push::<false>(&Issued {
            needs,
            ..instruction(50)
        });
        assert_eq!(completes, 50);
        assert_eq!(window.room(needs, 51), 62);
    }

    #[test]
    fn buffers_fill_up_independently() {
        let mut window = Window::new(&GOLDEN_COVE);
        for done in [50, 70] {
            window.push::<false>(&Issued {
                needs: Needs::new([1, 1, 0, 0]),
                ..instruction(done)
            });
        }
        assert_eq!(window.room(Needs::new([1, 190, 200, 255]), 0), 0);
        assert_eq!(window.room(Needs::new([1, 191, 0, 0]), 0), 50);
        assert_eq!(window.room(Needs::new([1, 192, 0, 0]), 0), 70);
        assert_eq!(window.room(Needs::new([1, 0, 0, 0]), 0), 0);
    }

    #[test]
    fn oversized_instruction_waits_for_empty_buffer() {
        let mut core = GOLDEN_COVE.clone();
        core.window.load_entries = 4;
        let mut window = Window::new(&core);
        let needs = Needs::new([1, 5, 0, 0]);
        let large = |done| Issued {
            needs,
            ..instruction(done)
        };
        window.push::<true>(&large(50));
        assert_eq!(window.room(needs, 0), 50);
        window.push::<true>(&large(70));
        assert_eq!(window.room(Needs::new([1, 1, 0, 0]), 0), 70);
    }

    #[test]
    fn queue_is_free_again_at_issue() {
        let mut window = Window::new(&GOLDEN_COVE);
        window.push::<false>(&Issued {
            issued: 20,
            ..instruction(900)
        });
        assert_eq!(window.queue_room::<true>(143), 0);
        assert_eq!(window.queue_room::<true>(144), 20);
        assert_eq!(window.queue_room::<true>(200), 20, "as much as there is");
    }

    #[test]
    fn waits_of_the_head_load_add_up() {
        let mut window = Window::new(&GOLDEN_COVE);
        let load = window.note_load(10, 30);
        window.push::<false>(&Issued {
            load,
            block: 7,
            ..instruction(40)
        });
        assert_eq!(
            blamed(&mut window, (5, 2), 40, (0, 0)),
            [(7, 20 * 6, 15 * 6 - 2)]
        );
    }

    #[test]
    fn instructions_of_a_block_share_a_charge() {
        let mut window = Window::new(&GOLDEN_COVE);
        for (block, done) in [(7, 40), (7, 50), (8, 60)] {
            window.push::<false>(&Issued {
                block,
                ..instruction(done)
            });
        }
        assert_eq!(
            blamed(&mut window, (35, 0), 60, (0, 0)),
            [(7, 0, 15 * 6), (8, 0, 10 * 6)]
        );
    }

    #[test]
    fn outstanding_load_is_memory_bound_once() {
        let mut window = Window::new(&GOLDEN_COVE);
        let load = window.note_load(10, 20);
        window.push::<false>(&Issued {
            load,
            ..instruction(40)
        });
        assert_eq!(
            blamed(&mut window, (0, 0), 40, (15, 30)),
            [(0, 20 * 6, 20 * 6)]
        );
    }
}
