//! The frontend: when each instruction reaches the queue before rename.

use super::crowded_branches::CrowdedBranches;
use super::entries::Entries;
use crate::branch::Outcome;
use crate::instruction::{Flow, Operation};
use crate::ledger::Ledger;
use crate::memory::{Hierarchy, LINE_BYTES, Lookup};
use crate::parameters::{Frontend as Parameters, UopCacheReads};

/// Number of code lines whose fetch times are kept; at least the longest run-ahead.
const LINES: usize = 64;
const NO_WINDOW: u64 = u64::MAX;

/// Reads of the cache of decoded operations; see [`UopCacheReads`].
enum Reads {
    Operations(u32),
    Entries(Entries),
}

/// Fetch and decode, on the predicted path.
pub(crate) struct Frontend {
    parameters: Parameters,
    uop_cache: Lookup,
    reads: Reads,
    crowded_branches: Option<CrowdedBranches>,
    /// The current delivery cycle.
    cycle: u64,
    delivered: u32,
    decoded_bytes: u32,
    taken_in_cycle: u32,
    /// Progress of prediction along branches, in units of a cycle divided by the number of
    /// branches it follows per cycle.
    followed: u64,
    /// Number of these units for a taken conditional branch.
    parts_of_condition: u64,
    /// The code window being delivered, or [`NO_WINDOW`] after a change of path.
    window: u64,
    line: u64,
    decoding: bool,
    /// The cycle in which branch prediction reached the current line.
    predicted: u64,
    fetched: [u64; LINES],
    lines: u64,
}

impl Frontend {
    pub(crate) fn new(parameters: &Parameters) -> Self {
        Frontend {
            uop_cache: Lookup::new(parameters.uop_cache_lines, parameters.uop_cache_ways),
            parameters: parameters.clone(),
            reads: match &parameters.uop_cache_reads {
                UopCacheReads::Operations(per_cycle) => Reads::Operations(*per_cycle),
                UopCacheReads::Entries(entries) => Reads::Entries(Entries::new(entries)),
            },
            crowded_branches: parameters
                .crowded_branches
                .as_ref()
                .map(CrowdedBranches::new),
            cycle: 0,
            delivered: 0,
            decoded_bytes: 0,
            taken_in_cycle: 0,
            followed: 0,
            parts_of_condition: u64::from(
                parameters.predicted_branches_per_cycle
                    / parameters.predicted_conditions_per_cycle.max(1),
            ),
            window: NO_WINDOW,
            line: NO_WINDOW,
            decoding: false,
            predicted: 0,
            fetched: [0; LINES],
            lines: 0,
        }
    }

    /// Returns the cycle in which all slots of `operation` are in the queue, which has room for
    /// them from `queue_room` on.
    #[inline]
    pub(crate) fn deliver(
        &mut self,
        operation: &Operation,
        queue_room: u64,
        memory: &mut Hierarchy,
        ledger: &mut Ledger,
    ) -> u64 {
        if operation.window != self.window {
            self.window = operation.window;
            self.enter_window(operation.ip, memory, ledger);
        }
        if queue_room > self.cycle {
            self.next_cycle(queue_room);
        }
        let slots = u32::from(operation.slots);
        if slots > self.parameters.microcode_above_slots {
            return self.deliver_microcode(slots);
        }
        if self.decoding {
            let bytes = u32::from(operation.length);
            if self.delivered + slots > self.parameters.decode_width
                || self.decoded_bytes + bytes > self.parameters.decode_bytes
            {
                self.next_cycle(self.cycle + 1);
            }
            self.decoded_bytes += bytes;
        } else {
            match &mut self.reads {
                Reads::Operations(per_cycle) if self.delivered + slots > *per_cycle => {
                    self.next_cycle(self.cycle + 1);
                }
                Reads::Operations(_) => {}
                Reads::Entries(entries) => {
                    let slots = operation.entry_slots.into();
                    let read = entries.read(operation.ip, slots, self.cycle);
                    if read > self.cycle {
                        self.next_cycle(read);
                    }
                }
            }
        }
        self.delivered += slots;
        self.cycle
    }

    /// Delivers an instruction of this many `slots` from the microcode sequencer.
    fn deliver_microcode(&mut self, slots: u32) -> u64 {
        let cycles = slots.div_ceil(self.parameters.microcode_above_slots.max(1));
        self.next_cycle(self.cycle + u64::from(cycles));
        self.cycle
    }

    /// Delivers an instruction in no time: the caches of code see it.
    #[inline]
    pub(crate) fn warm(&mut self, operation: &Operation, memory: &mut Hierarchy) {
        if operation.window == self.window {
            return;
        }
        self.window = operation.window;
        self.line = operation.ip / LINE_BYTES;
        if !self.uop_cache.access(self.window) {
            memory.warm_code(self.line);
        }
    }

    /// Continues after a taken branch, in no time.
    #[inline]
    pub(crate) fn warm_branch(&mut self) {
        self.window = NO_WINDOW;
        if let Reads::Entries(entries) = &mut self.reads {
            entries.restart();
        }
    }

    /// Continues after a branch whose last byte lies at `last`.
    #[inline]
    pub(crate) fn branch(&mut self, last: u64, outcome: &Outcome) {
        if !outcome.taken {
            if outcome.correction_cycles > 0 {
                let followed = self.follow_later(0, outcome.correction_cycles);
                if followed > self.cycle {
                    self.next_cycle(followed);
                }
            }
            return;
        }
        self.window = NO_WINDOW;
        if let Reads::Entries(entries) = &mut self.reads {
            entries.jump();
        }
        let crowded = match &mut self.crowded_branches {
            Some(branches) => branches.take(last),
            None => 0,
        };
        let is_indirect = matches!(outcome.flow, Flow::IndirectJump | Flow::IndirectCall);
        let delays_prediction = is_indirect
            && !outcome.found_at_decode
            && self.parameters.indirect_bubbles_delay_prediction;
        let (late, bubble) = if delays_prediction {
            (outcome.bubble_cycles, 0)
        } else {
            (0, outcome.bubble_cycles)
        };
        let followed = self.follow(outcome.flow, late + outcome.correction_cycles + crowded);
        self.taken_in_cycle += 1;
        if bubble > 0 {
            self.next_cycle(self.cycle + 1 + bubble);
        } else if (self.decoding || matches!(self.reads, Reads::Operations(_)))
            && self.taken_in_cycle >= self.parameters.taken_branches_per_cycle
        {
            self.next_cycle(self.cycle + 1);
        }
        if followed > self.cycle {
            self.next_cycle(followed);
        }
        if outcome.found_at_decode {
            // Meanwhile, prediction ran down the wrong path.
            self.predicted = self.cycle;
        }
    }

    /// Makes prediction follow a taken branch `late` cycles later than usual, and returns the cycle
    /// in which it knows the target.
    #[inline]
    fn follow(&mut self, flow: Flow, late: u64) -> u64 {
        let per_cycle = u64::from(self.parameters.predicted_branches_per_cycle);
        let parts = match flow {
            Flow::Call | Flow::IndirectCall => per_cycle,
            Flow::Return => per_cycle * u64::from(self.parameters.return_prediction_cycles),
            Flow::Conditional => self.parts_of_condition,
            _ => 1,
        };
        self.follow_later(parts, late)
    }

    /// Makes prediction spend this many `parts` of a cycle and `late` cycles more on a branch.
    #[inline]
    fn follow_later(&mut self, parts: u64, late: u64) -> u64 {
        let per_cycle = u64::from(self.parameters.predicted_branches_per_cycle);
        let ahead = u64::from(self.parameters.prediction_ahead_cycles);
        let earliest = self.cycle.saturating_sub(ahead) * per_cycle;
        self.followed = self.followed.max(earliest) + parts + late * per_cycle;
        self.followed / per_cycle
    }

    /// Restarts on the right path, whose first instruction can be issued at `at`.
    pub(crate) fn redirect(&mut self, at: u64) {
        if at > self.cycle {
            self.next_cycle(at);
        }
        self.window = NO_WINDOW;
        if let Reads::Entries(entries) = &mut self.reads {
            entries.restart();
        }
        self.predicted = self.cycle;
        self.followed = self.cycle * u64::from(self.parameters.predicted_branches_per_cycle);
    }

    #[inline]
    fn next_cycle(&mut self, cycle: u64) {
        self.cycle = cycle;
        self.delivered = 0;
        self.decoded_bytes = 0;
        self.taken_in_cycle = 0;
    }

    #[inline]
    fn enter_window(&mut self, ip: u64, memory: &mut Hierarchy, ledger: &mut Ledger) {
        let hit = self.uop_cache.access(self.window);
        let line = ip / LINE_BYTES;
        if line != self.line {
            self.line = line;
            // Prediction passes one line per cycle, at most this many lines ahead of fetch.
            let ahead = u64::from(self.parameters.runahead_lines).clamp(1, LINES as u64);
            let behind = self.fetched[(self.lines.wrapping_sub(ahead)) as usize % LINES];
            self.predicted = (self.predicted + 1).max(behind).min(self.cycle);
            if !hit {
                let arrival = memory.fetch_code(line, self.predicted, ledger);
                if arrival > self.cycle {
                    self.next_cycle(arrival);
                }
            }
            self.fetched[self.lines as usize % LINES] = self.cycle;
            self.lines += 1;
        } else if !hit {
            // The line was fetched for its other windows.
            let arrival = memory.fetch_code(line, self.cycle, ledger);
            if arrival > self.cycle {
                self.next_cycle(arrival);
            }
        }
        self.decoding = !hit;
    }
}
