//! Execution of an instruction: its operands, ports and latency, and the registers that it writes.

use super::Core;
use crate::class::Class;
use crate::instruction::{
    CARRY_FLAG, COMMON_DESTINATIONS, COMMON_SOURCES, FIRST_X87, Operation, Register, Rename, UNREAD,
};
use crate::pipeline::{LoadNumber, NO_LOAD};
use crate::pools::VECTOR_QUEUE;
use crate::ports::Ports;

/// A register's content: when it is ready and what it waited for. Small, because every instruction
/// reads and writes several.
#[derive(Clone, Copy)]
pub(super) struct Value {
    pub ready: u64,
    pub origin: Origin,
}

impl Value {
    /// Always ready.
    pub const READY: Value = Value {
        ready: 0,
        origin: Origin::of_load(NO_LOAD),
    };

    /// Returns the one that is ready last, or `other` if they are ready together.
    #[inline]
    pub fn later(self, other: Value) -> Value {
        if self.ready > other.ready {
            self
        } else {
            other
        }
    }
}

/// The last load on a value's critical path, and the class of the instruction that computed it, in
/// one word. The low byte is the class, or [`Origin::NO_CLASS`].
#[derive(Clone, Copy)]
pub(super) struct Origin(u64);

impl Origin {
    const CLASS_BITS: u32 = u8::BITS;
    const NO_CLASS: u8 = u8::MAX;
    /// Set if the load took longer than one that hits the L1.
    const LATE: u64 = 1 << 63;

    pub const fn of_load(load: LoadNumber) -> Self {
        Origin(load << Self::CLASS_BITS | Self::NO_CLASS as u64)
    }

    #[inline]
    pub fn load(self) -> LoadNumber {
        (self.0 & !Self::LATE) >> Self::CLASS_BITS
    }

    #[inline]
    pub fn with_late(self, is_late: bool) -> Self {
        Origin(self.0 & !Self::LATE | if is_late { Self::LATE } else { 0 })
    }

    #[inline]
    fn is_late(self) -> bool {
        self.0 & Self::LATE != 0
    }

    #[inline]
    fn is_of(self, class: Class) -> bool {
        self.0 as u8 == class as u8
    }

    #[inline]
    fn with_class(self, class: Class) -> Self {
        Origin(self.0 & !u64::from(u8::MAX) | class as u64)
    }
}

impl Core {
    #[inline]
    pub(super) fn value(&self, register: Register) -> Value {
        self.registers[usize::from(register)]
    }

    /// Executes the instruction's own work, and returns its result.
    #[inline(always)]
    pub(super) fn compute<const RARE: bool>(
        &mut self,
        operation: &Operation,
        issued: u64,
        loaded: &Value,
    ) -> Value {
        let sources = if RARE && operation.is_x87 {
            operation.sources.map(|source| self.physical(source, 0))
        } else {
            operation.sources
        };
        let (common, further) = sources.split_at(COMMON_SOURCES);
        let mut critical = *loaded;
        for &source in common {
            critical = self.value(source).later(critical);
        }
        if RARE {
            for &source in further {
                critical = self.value(source).later(critical);
            }
        }
        if RARE {
            let mut late = self.value(operation.late_source);
            late.ready += 1;
            critical = late.later(critical);
        }
        let mut result = critical;
        let is_chained = critical.origin.is_of(operation.class);
        if operation.rename == Rename::Execute {
            result.origin = result.origin.with_class(operation.class);
        }
        let latency = u64::from(if is_chained {
            operation.chained_latency
        } else {
            operation.latency
        });
        if operation.operations == 0 {
            result.ready += latency;
            return result;
        }
        let [ports, further @ ..] = &operation.ports;
        let ready = result.ready;
        if result.origin.is_late() {
            result.origin = self.execute_in_vain(*ports, issued, &result);
        }
        let executed = self.execute_one(operation, *ports, issued, ready);
        if RARE {
            let earliest = issued + u64::from(self.parameters.issue_delay);
            self.ledger.delay(|waits| {
                waits.operand_cycles += ready.saturating_sub(earliest);
                waits.port_cycles += executed.saturating_sub(ready.max(earliest));
            });
            for cycle in 1..u64::from(operation.busy) {
                self.block(*ports, executed + cycle);
            }
        }
        result.ready = executed + latency;
        if RARE {
            let mut last = executed;
            for &ports in further.iter().take(usize::from(operation.operations) - 1) {
                let at = self.execute_one(operation, ports, issued, ready);
                last = last.max(at);
            }
            result.ready = result.ready.max(last + 1);
        }
        result
    }

    /// Executes one operation of an instruction on one of `ports`, and returns when.
    #[inline(always)]
    pub(super) fn execute_one(
        &mut self,
        operation: &Operation,
        ports: Ports,
        issued: u64,
        ready: u64,
    ) -> u64 {
        if operation.pools[0] == VECTOR_QUEUE {
            let entered = self.vector_queue.pass(ports);
            let executed = self.reserve(ports, issued, ready.max(entered.at + 1));
            self.vector_queue.execute(entered, executed);
            return executed;
        }
        let executed = self.reserve(ports, issued, ready);
        self.schedulers.enter(operation.pools[0], executed);
        executed
    }

    /// Returns when an operation that issues at `issued`, and whose operands are ready at `ready`,
    /// executes on one of `ports`.
    #[inline(always)]
    pub(super) fn reserve(&mut self, ports: Ports, issued: u64, ready: u64) -> u64 {
        let earliest = issued + u64::from(self.parameters.issue_delay);
        let from = ready.max(earliest);
        if self.bound.has(ports) {
            self.bound.reserve(ports, issued, from)
        } else {
            self.ports.reserve(ports, from, ready >= earliest)
        }
    }

    /// Takes a port in vain, for an operation that executes before its operand arrives because a
    /// load was expected to hit the L1. Returns the origin of its result.
    #[inline(never)]
    fn execute_in_vain(&mut self, ports: Ports, issued: u64, operand: &Value) -> Origin {
        let memory = &self.parameters.memory;
        let (from, until) = self.window.load_times(operand.origin.load());
        let expected = from + u64::from(memory.l1d.cycles) + operand.ready.saturating_sub(until);
        let is_known = expected >= until.min(from + u64::from(memory.l2.cycles));
        if is_known {
            return operand.origin.with_late(false);
        }
        if expected >= issued + u64::from(self.parameters.issue_delay) {
            self.ports.reserve(ports, expected, false);
        }
        operand.origin
    }

    /// Takes one more cycle of a port, for operations that are not pipelined.
    fn block(&mut self, ports: Ports, cycle: u64) {
        if self.bound.has(ports) {
            self.bound.block(ports, cycle);
        } else {
            self.ports.block(ports, cycle);
        }
    }

    /// Returns the physical register for a name: x87 names are relative to the top of the stack.
    fn physical(&self, register: Register, moved: i8) -> Register {
        if !(FIRST_X87..FIRST_X87 + 8).contains(&register) {
            return register;
        }
        let top = self.x87_top.wrapping_add_signed(moved);
        FIRST_X87 + (register - FIRST_X87 + top) % 8
    }

    #[inline(always)]
    pub(super) fn write_registers<const RARE: bool>(
        &mut self,
        operation: &Operation,
        value: Value,
    ) {
        let mut destinations = operation.destinations;
        if RARE && operation.is_x87 {
            // A push refers to its new top, a pop to the old one.
            let moved = operation.x87_increment.min(0);
            destinations = destinations.map(|destination| self.physical(destination, moved));
            self.x87_top = self.x87_top.wrapping_add_signed(operation.x87_increment) % 8;
        }
        let (common, further) = destinations.split_at(COMMON_DESTINATIONS);
        for &destination in common {
            self.registers[usize::from(destination)] = value;
        }
        if RARE {
            for &destination in further {
                self.registers[usize::from(destination)] = value;
            }
            let late = usize::from(operation.late_destination);
            self.registers[late].ready += u64::from(operation.late_cycles);
        }
        if operation.has_late_flags {
            for flag in destinations {
                if (CARRY_FLAG..UNREAD).contains(&flag) {
                    self.registers[usize::from(flag)].ready += 1;
                }
            }
        }
    }
}
