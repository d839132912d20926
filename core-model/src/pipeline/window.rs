//! Everything between issue and retirement: the reorder buffer and what is freed in its order.
//!
//! Keeps the last instructions in a ring: when each retires, and which load its result waited for.
//! From this follow when a full buffer has room again, and whose fault a wait was.

use crate::calendar::boxed;
use crate::parameters::CoreParameters;

/// Instructions kept: more than any reorder buffer holds, including those that share a slot.
const RING: usize = 2048;

/// How much of the buffers that free up at retirement an instruction takes: reorder entries, load
/// entries, general registers, vector registers.
pub(crate) type Needs = [u32; 4];

/// An instruction between issue and retirement.
///
/// One cache line: the ring is read in several places for every instruction.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(crate) struct InFlight {
    /// The cycle in which its last slot was issued.
    pub issued: u64,
    /// The cycle in which it retired; set by [`Window::push`].
    pub retires: u64,
    /// The last load on the critical path of its result: from execution to data.
    pub load_from: u64,
    /// See `load_from`.
    pub load_until: u64,
    /// The block that it belongs to.
    pub block: u32,
    /// Totals up to and including this instruction, wrapping; set by [`Window::push`].
    pub totals: Needs,
}

#[derive(Clone, Copy)]
struct Limit {
    capacity: u32,
    /// Total of the entries that are known to be free again.
    freed: u32,
    /// The oldest instruction not among them.
    oldest: u64,
}

/// The reorder buffer and the buffers that are freed with it.
pub(crate) struct Window {
    ring: Box<[InFlight; RING]>,
    next: u64,
    totals: Needs,
    limits: [Limit; 4],
    /// The queue before rename: freed at issue instead of retirement.
    queue: Limit,
    retire_width: u32,
    retire_cycle: u64,
    retired_in_cycle: u32,
    /// The oldest instruction that had not retired at the last wait.
    head: u64,
}

impl Window {
    pub(crate) fn new(parameters: &CoreParameters) -> Self {
        let limit = |capacity: u32| Limit {
            capacity,
            freed: 0,
            oldest: 0,
        };
        let window = &parameters.window;
        Window {
            ring: boxed(InFlight::default()),
            next: 0,
            totals: [0; 4],
            limits: [
                limit(window.reorder_entries),
                limit(window.load_entries),
                limit(window.integer_registers),
                limit(window.vector_registers),
            ],
            queue: limit(parameters.frontend.queue_entries),
            retire_width: parameters.retire_width,
            retire_cycle: 0,
            retired_in_cycle: 0,
            head: 0,
        }
    }

    /// The first cycle at or after `at` in which all buffers have room for `needs`.
    #[inline]
    pub(crate) fn room(&mut self, needs: &Needs, at: u64) -> u64 {
        let mut at = at;
        for (kind, &need) in needs.iter().enumerate() {
            if need > 0 {
                at = at.max(free(
                    &mut self.limits[kind],
                    &self.ring,
                    self.next,
                    self.totals[kind].wrapping_add(need),
                    |entry| (entry.totals[kind], entry.retires),
                ));
            }
        }
        at
    }

    /// The first cycle in which the queue before rename has room for `slots` more.
    #[inline]
    pub(crate) fn queue_room(&mut self, slots: u32) -> u64 {
        free(
            &mut self.queue,
            &self.ring,
            self.next,
            self.totals[0].wrapping_add(slots),
            |entry| (entry.totals[0], entry.issued),
        )
    }

    /// Adds an instruction that is done at `done`; returns the cycle in which it retires.
    #[inline]
    pub(crate) fn push(&mut self, needs: &Needs, done: u64, entry: InFlight) -> u64 {
        if done > self.retire_cycle {
            self.retire_cycle = done;
            self.retired_in_cycle = 0;
        } else if self.retired_in_cycle >= self.retire_width {
            self.retire_cycle += 1;
            self.retired_in_cycle = 0;
        }
        self.retired_in_cycle += needs[0];
        for (total, &need) in self.totals.iter_mut().zip(needs) {
            *total = total.wrapping_add(need);
        }
        self.ring[self.next as usize % RING] = InFlight {
            retires: self.retire_cycle,
            totals: self.totals,
            ..entry
        };
        self.next += 1;
        self.retire_cycle
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
                let memory = overlap(head.load_from, head.load_until)
                    + overlap(outstanding.0, outstanding.1)
                    - overlap(
                        head.load_from.max(outstanding.0),
                        head.load_until.min(outstanding.1),
                    );
                charge(head.block, memory, end - at - memory);
                at = end;
            }
            if head.retires * width <= at {
                self.head += 1;
            }
        }
    }
}

/// When enough older instructions have freed their entries for a total of `wanted`.
#[inline]
fn free(
    limit: &mut Limit,
    ring: &[InFlight; RING],
    next: u64,
    wanted: u32,
    of: impl Fn(&InFlight) -> (u32, u64),
) -> u64 {
    let forgotten = next.saturating_sub(RING as u64);
    if limit.oldest < forgotten {
        // What left the ring was freed long ago. Its last totals are in the place to be reused.
        limit.freed = of(&ring[forgotten as usize % RING]).0;
        limit.oldest = forgotten + 1;
    }
    let mut at = 0;
    while wanted.wrapping_sub(limit.freed) > limit.capacity && limit.oldest < next {
        let (total, freed_at) = of(&ring[limit.oldest as usize % RING]);
        limit.freed = total;
        limit.oldest += 1;
        at = freed_at;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cores::GOLDEN_COVE;

    fn push(window: &mut Window, done: u64) -> u64 {
        window.push(&[1, 0, 0, 0], done, InFlight::default())
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
            assert!(window.room(&[1, 0, 0, 0], 0) == 0);
            push(&mut window, 1);
        }
        assert_eq!(window.room(&[1, 0, 0, 0], 3), 1000);
    }

    #[test]
    fn a_limit_that_was_idle_for_long_is_free() {
        let mut window = Window::new(&GOLDEN_COVE);
        window.push(&[1, 1, 0, 0], 50, InFlight::default());
        for _ in 0..10_000 {
            push(&mut window, 60);
        }
        assert_eq!(window.room(&[1, 192, 0, 0], 100_000), 100_000);
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
        window.push(&[1, 0, 0, 0], 40, entry);
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
        window.push(&[1, 0, 0, 0], 40, entry);
        let mut charged = Vec::new();
        window.blame(0, 40 * 6, 6, (15, 30), |_, memory, core| {
            charged.push((memory, core));
        });
        assert_eq!(charged, [(20 * 6, 20 * 6)]);
    }
}
