//! Everything between issue and retirement: the reorder buffer and what is freed in its order.
//!
//! Keeps the last instructions in a ring: when each retires, what it takes until then, and which load
//! its result waited for. From this follow when a full buffer has room again, and whose fault a wait
//! was.

use crate::calendar::boxed;
use crate::instruction::{Needs, Room};
use crate::parameters::CoreParameters;

/// Instructions kept: twice as many as a reorder buffer has entries, because two may share one.
const RING: usize = 2048;
/// Slots of the queue before rename for which times are kept.
const QUEUE: usize = 1024;

/// An instruction between issue and retirement.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct InFlight {
    /// What it takes until it retires.
    pub needs: Needs,
    /// The cycle in which it retired; set by [`Window::push`].
    pub retires: u64,
    /// The last load on the critical path of its result: from execution to data.
    pub load_from: u64,
    /// See `load_from`.
    pub load_until: u64,
    /// The block that it belongs to.
    pub block: u32,
}

/// The reorder buffer and the buffers that are freed with it, and the queue before rename.
pub(crate) struct Window {
    ring: Box<[InFlight; RING]>,
    next: u64,
    /// What is free while instructions from `oldest` on hold their entries.
    room: Room,
    /// The oldest instruction whose entries were not given back, be it that nobody needed them.
    oldest: u64,
    retire_width: u32,
    retire_cycle: u64,
    retired_in_cycle: u32,
    /// The oldest instruction that had not retired at the last wait.
    head: u64,
    queue: Queue,
}

impl Window {
    pub(crate) fn new(parameters: &CoreParameters) -> Self {
        let window = &parameters.window;
        let reorder_entries = window.reorder_entries.min(RING as u32 / 2 - 1);
        Window {
            ring: boxed(InFlight::default()),
            next: 0,
            room: Room::new([
                reorder_entries,
                window.load_entries,
                window.integer_registers,
                window.vector_registers,
            ]),
            oldest: 0,
            retire_width: parameters.retire_width,
            retire_cycle: 0,
            retired_in_cycle: 0,
            head: 0,
            queue: Queue::new(parameters.frontend.queue_entries),
        }
    }

    /// The first cycle at or after `now` in which all buffers have room for `needs`.
    #[inline]
    pub(crate) fn room(&mut self, needs: Needs, now: u64) -> u64 {
        if self.room.fits(needs) {
            now
        } else {
            self.free(needs, now)
        }
    }

    /// Gives back the entries of all that has retired by `now`, and then until there is room.
    fn free(&mut self, needs: Needs, now: u64) -> u64 {
        let mut at = now;
        while self.oldest < self.next {
            let oldest = &self.ring[self.oldest as usize % RING];
            if oldest.retires > at {
                if self.room.fits(needs) {
                    break;
                }
                at = oldest.retires;
            }
            self.room.give_back(oldest.needs);
            self.oldest += 1;
        }
        at
    }

    /// The first cycle in which the queue before rename has room for `slots` more.
    #[inline]
    pub(crate) fn queue_room(&self, slots: u8) -> u64 {
        self.queue.room(slots)
    }

    /// Adds an instruction of so many `slots` that was issued at `issued` and is done at `done`;
    /// returns the cycle in which it retires.
    #[inline]
    pub(crate) fn push(&mut self, slots: u8, issued: u64, done: u64, entry: InFlight) -> u64 {
        self.queue.push(slots, issued);
        if done > self.retire_cycle {
            self.retire_cycle = done;
            self.retired_in_cycle = 0;
        } else if self.retired_in_cycle >= self.retire_width {
            self.retire_cycle += 1;
            self.retired_in_cycle = 0;
        }
        self.retired_in_cycle += u32::from(slots);
        self.room.take(entry.needs);
        let retires = self.retire_cycle;
        self.ring[self.next as usize % RING] = InFlight { retires, ..entry };
        self.next += 1;
        retires
    }

    /// The cycle in which the youngest instruction retires.
    pub(crate) fn last_retirement(&self) -> u64 {
        self.retire_cycle
    }

    /// The block of the youngest instruction.
    pub(crate) fn youngest_block(&self) -> u32 {
        self.ring[self.next.wrapping_sub(1) as usize % RING].block
    }

    /// Splits a wait, given in slots of `width` per cycle, among the instructions that stood at the
    /// head of the reorder buffer meanwhile: `charge(block, slots waiting for memory, other slots)`.
    ///
    /// A slot waits for memory while the last load on the head's critical path executes, and while
    /// any load is `outstanding` beyond the L2, the rule of the TopDown method's counters (stalls
    /// with an outstanding load): where bandwidth is short, arithmetic fills the time between two
    /// arrivals without being the bottleneck.
    #[inline]
    pub(crate) fn blame(
        &mut self,
        from_slot: u64,
        to_slot: u64,
        width: u64,
        outstanding: (u64, u64),
        mut charge: impl FnMut(u32, u64, u64),
    ) {
        self.head = self.head.max(self.next.saturating_sub(RING as u64));
        let mut at = from_slot;
        while at < to_slot {
            if self.head >= self.next {
                // Nothing is in flight: whoever issues next waits for itself.
                charge(self.youngest_block(), 0, to_slot - at);
                return;
            }
            let head = &self.ring[self.head as usize % RING];
            let end = (head.retires * width).min(to_slot);
            if end > at {
                let overlap = |from: u64, until: u64| {
                    (until * width)
                        .min(end)
                        .saturating_sub((from * width).max(at))
                };
                let memory = if head.load_until.max(outstanding.1) * width <= at {
                    0
                } else {
                    overlap(head.load_from, head.load_until) + overlap(outstanding.0, outstanding.1)
                        - overlap(
                            head.load_from.max(outstanding.0),
                            head.load_until.min(outstanding.1),
                        )
                };
                charge(head.block, memory, end - at - memory);
                at = end;
            }
            if head.retires * width <= at {
                self.head += 1;
            }
        }
    }
}

/// The queue before rename, which is freed at issue.
struct Queue {
    capacity: u64,
    /// Slots that went through it.
    slots: u64,
    /// When each of the last of them was issued; 0 for those before the first.
    issued: Box<[u64; QUEUE]>,
}

impl Queue {
    fn new(capacity: u32) -> Self {
        Queue {
            capacity: u64::from(capacity).min(QUEUE as u64 / 2),
            slots: 0,
            issued: boxed(0),
        }
    }

    /// The last of the slots gets the place of the one that came `capacity` before it.
    #[inline]
    fn room(&self, slots: u8) -> u64 {
        let slots = u64::from(slots).min(self.capacity);
        let place = (self.slots + slots).wrapping_sub(self.capacity + 1);
        self.issued[place as usize % QUEUE]
    }

    #[inline]
    fn push(&mut self, slots: u8, issued: u64) {
        // Nearly always one or two; where there are fewer, the next slot overwrites it.
        self.issued[self.slots as usize % QUEUE] = issued;
        self.issued[(self.slots + 1) as usize % QUEUE] = issued;
        for further in 2..u64::from(slots) {
            self.issued[(self.slots + further) as usize % QUEUE] = issued;
        }
        self.slots += u64::from(slots);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cores::GOLDEN_COVE;

    fn push(window: &mut Window, done: u64) -> u64 {
        let entry = InFlight {
            needs: Needs::new([1, 0, 0, 0]),
            ..InFlight::default()
        };
        window.push(1, 0, done, entry)
    }

    #[test]
    fn instructions_retire_in_order_and_at_most_the_width_per_cycle() {
        let mut window = Window::new(&GOLDEN_COVE);
        assert_eq!(push(&mut window, 100), 100);
        let last = (0..8).map(|_| push(&mut window, 5)).last();
        assert_eq!(last, Some(101));
    }

    #[test]
    fn a_full_reorder_buffer_waits_for_its_oldest_instruction() {
        let mut window = Window::new(&GOLDEN_COVE);
        push(&mut window, 1000);
        for _ in 1..512 {
            assert_eq!(window.room(Needs::new([1, 0, 0, 0]), 0), 0);
            push(&mut window, 1);
        }
        assert_eq!(window.room(Needs::new([1, 0, 0, 0]), 0), 1000);
    }

    #[test]
    fn buffers_fill_up_independently() {
        let mut window = Window::new(&GOLDEN_COVE);
        let load = InFlight {
            needs: Needs::new([1, 1, 0, 0]),
            ..InFlight::default()
        };
        window.push(1, 0, 50, load);
        window.push(1, 0, 70, load);
        assert_eq!(window.room(Needs::new([1, 190, 200, 255]), 0), 0);
        assert_eq!(window.room(Needs::new([1, 191, 0, 0]), 0), 50);
        assert_eq!(window.room(Needs::new([1, 192, 0, 0]), 0), 70);
        assert_eq!(window.room(Needs::new([1, 0, 0, 0]), 0), 0);
    }

    #[test]
    fn an_instruction_larger_than_a_buffer_waits_until_it_is_empty() {
        let mut core = GOLDEN_COVE.clone();
        core.window.load_entries = 4;
        let mut window = Window::new(&core);
        let needs = Needs::new([1, 5, 0, 0]);
        let load = InFlight {
            needs,
            ..InFlight::default()
        };
        window.push(1, 0, 50, load);
        assert_eq!(window.room(needs, 0), 50);
        window.push(1, 0, 70, load);
        assert_eq!(window.room(Needs::new([1, 1, 0, 0]), 0), 70);
    }

    #[test]
    fn the_queue_is_free_again_at_issue() {
        let mut window = Window::new(&GOLDEN_COVE);
        window.push(1, 20, 900, InFlight::default());
        assert_eq!(window.queue_room(143), 0);
        assert_eq!(window.queue_room(144), 20);
        assert_eq!(window.queue_room(200), 20, "as much as there is");
    }

    #[test]
    fn a_wait_is_blamed_on_the_load_of_the_head_and_adds_up() {
        let mut window = Window::new(&GOLDEN_COVE);
        let entry = InFlight {
            load_from: 10,
            load_until: 30,
            block: 7,
            ..InFlight::default()
        };
        window.push(1, 0, 40, entry);
        let mut charged = Vec::new();
        window.blame(5 * 6 + 2, 40 * 6, 6, (0, 0), |block, memory, core| {
            charged.push((block, memory, core));
        });
        assert_eq!(charged, [(7, 20 * 6, 15 * 6 - 2)]);
    }

    #[test]
    fn an_outstanding_load_makes_the_wait_of_others_memory_bound_once() {
        let mut window = Window::new(&GOLDEN_COVE);
        let entry = InFlight {
            load_from: 10,
            load_until: 20,
            ..InFlight::default()
        };
        window.push(1, 0, 40, entry);
        let mut charged = Vec::new();
        window.blame(0, 40 * 6, 6, (15, 30), |_, memory, core| {
            charged.push((memory, core));
        });
        assert_eq!(charged, [(20 * 6, 20 * 6)]);
    }
}
