//! The core: executes instructions in program order and gives each of them its times.
//!
//! There is no loop over cycles. For each instruction the model asks when the frontend delivers it,
//! when the buffers have room, when its sources are ready and when a port is free; the answers are
//! the times that its successors see.

mod issue;
mod memory_operands;

use crate::address_space::{AddressSpace, MappingAt};
use crate::branch::Predictor;
use crate::calendar::{PortCalendar, Ports};
use crate::instruction::{
    CARRY_FLAG, Class, FIRST_X87, Flow, MemoryOperand, NONE, NOWHERE, Operation, REGISTERS,
    Register, Rename,
};
use crate::ledger::Ledger;
use crate::memory::{Hierarchy, LINE_BYTES};
use crate::parameters::CoreParameters;
use crate::pipeline::{Frontend, InFlight, Schedulers, StoreQueue, Window};

/// Loads that once ran before a store they depended on; they wait from then on.
const CAUTIOUS_LOADS: usize = 1024;

/// A register's content: when it is there and what it waited for. Half a cache line: every
/// instruction reads and writes several.
#[derive(Clone, Copy, Default)]
struct Value {
    ready: u64,
    /// The last load on the critical path: from execution to data.
    load_from: u64,
    load_until: u64,
    class: Option<Class>,
}

impl Value {
    /// The one of two that is there last; `other` if they come together.
    #[inline]
    fn later<'a>(&'a self, other: &'a Value) -> &'a Value {
        if self.ready > other.ready {
            self
        } else {
            other
        }
    }
}

/// A branch whose target is not known yet: the next block tells.
#[derive(Clone, Copy)]
struct PendingBranch {
    flow: Flow,
    ip: u64,
    next_ip: u64,
    resolved: u64,
    block: u32,
}

/// The frontend was sent down the wrong path until `until`.
#[derive(Clone, Copy)]
struct WrongPath {
    until: u64,
    block: u32,
    is_clear: bool,
}

/// All state of a core.
pub(crate) struct Core {
    parameters: CoreParameters,
    frontend: Frontend,
    predictor: Predictor,
    ports: PortCalendar,
    schedulers: Schedulers,
    window: Window,
    stores: StoreQueue,
    memory: Hierarchy,
    pub(crate) addresses: AddressSpace,
    pub(crate) ledger: Ledger,
    registers: [Value; REGISTERS],
    x87_top: u8,
    /// The number of the instruction, wrapping.
    instruction: u32,
    pending: Option<PendingBranch>,
    wrong_path: Option<WrongPath>,
    /// Nothing issues before this cycle: a serialising instruction.
    issue_from: u64,
    /// No load executes before this cycle: an atomic operation.
    load_from: u64,
    /// The latest stretch of cycles in which some load waited for more than the L2.
    outstanding: (u64, u64),
    cautious: Box<[u64; CAUTIOUS_LOADS]>,
}

impl Core {
    pub(crate) fn new(
        parameters: &CoreParameters,
        blocks: usize,
        mapping_at: Option<MappingAt>,
    ) -> Self {
        Core {
            frontend: Frontend::new(&parameters.frontend),
            predictor: Predictor::new(&parameters.prediction),
            ports: PortCalendar::new(),
            schedulers: Schedulers::new(parameters.window.scheduler_entries),
            window: Window::new(parameters),
            stores: StoreQueue::new(&parameters.window),
            memory: Hierarchy::new(&parameters.memory),
            addresses: AddressSpace::new(mapping_at),
            ledger: Ledger::new(parameters.width, blocks),
            registers: [Value::default(); REGISTERS],
            x87_top: 0,
            instruction: 0,
            pending: None,
            wrong_path: None,
            issue_from: 0,
            load_from: 0,
            outstanding: (0, 0),
            cautious: crate::calendar::boxed(0),
            parameters: parameters.clone(),
        }
    }

    /// Bytes of a step of a repeated string move, and the port that paces the steps.
    pub(crate) fn string_step(&self) -> (u64, Ports) {
        let ports = &self.parameters.ports;
        (
            ports.string_step_bytes.clamp(1, LINE_BYTES as u32).into(),
            ports.string_step,
        )
    }

    /// The path goes on at `ip`: settles the branch before it.
    #[inline]
    pub(crate) fn arrive(&mut self, ip: u64) {
        let Some(branch) = self.pending.take() else {
            return;
        };
        self.ledger.count(|events| &mut events.branches, 1);
        let outcome = self
            .predictor
            .branch(branch.flow, branch.ip, branch.next_ip, ip);
        self.frontend.branch(&outcome);
        if outcome.mispredicted {
            self.ledger
                .count(|events| &mut events.mispredicted_branches, 1);
            self.restart(branch.resolved, branch.block, false);
        }
    }

    /// What was fetched behind an instruction is thrown away when that is done, at `at`.
    fn restart(&mut self, at: u64, block: u32, is_clear: bool) {
        let prediction = &self.parameters.prediction;
        self.frontend
            .redirect(at + u64::from(prediction.redirect_cycles));
        self.wrong_path = Some(WrongPath {
            until: at + u64::from(prediction.recovery_cycles),
            block,
            is_clear,
        });
    }

    /// The same as [`Core::execute`], for those who call it rarely.
    #[inline(never)]
    pub(crate) fn execute_step(
        &mut self,
        operation: &Operation,
        memory: &[MemoryOperand],
        recorded: &[u64],
        block: u32,
    ) {
        self.execute(operation, memory, recorded, block);
    }

    /// Executes one instruction; `memory` are its operands and `recorded` the values from which
    /// their addresses come.
    #[inline(always)]
    pub(crate) fn execute(
        &mut self,
        operation: &Operation,
        memory: &[MemoryOperand],
        recorded: &[u64],
        block: u32,
    ) {
        self.instruction = self.instruction.wrapping_add(1);
        let issued = self.issue(operation, block);
        let earliest = issued + u64::from(self.parameters.issue_delay);
        let loaded = if memory.is_empty() {
            Value::default()
        } else {
            self.loads(operation, memory, recorded, earliest, block)
        };
        let result = self.compute(operation, earliest, &loaded);
        let mut done = result.ready.max(issued + 1);
        let mut stored = 0;
        if operation.stores > 0 {
            stored = self.store_operations(operation, memory, earliest, result.ready);
            done = done.max(stored);
        }
        self.write_registers(operation, result);
        let in_flight = InFlight {
            needs: operation.needs,
            load_from: result.load_from,
            load_until: result.load_until,
            block,
            ..InFlight::default()
        };
        let retires = self.window.push(operation.slots, issued, done, in_flight);
        if operation.stores > 0 {
            self.write_stores(operation, memory, recorded, &result, stored, retires);
        }
        if operation.serializes {
            self.issue_from = self.issue_from.max(retires);
        }
        if operation.is_atomic {
            self.load_from = self.load_from.max(done);
        }
        if operation.flow != Flow::Next {
            self.pending = Some(PendingBranch {
                flow: operation.flow,
                ip: operation.ip,
                next_ip: operation.next_ip,
                resolved: done,
                block,
            });
        }
    }

    #[inline]
    fn value(&self, register: Register) -> &Value {
        &self.registers[usize::from(register)]
    }

    /// Executes the instruction's own work; returns its result.
    #[inline(always)]
    fn compute(&mut self, operation: &Operation, earliest: u64, loaded: &Value) -> Value {
        let sources = if operation.is_x87 {
            operation.sources.map(|source| self.physical(source, 0))
        } else {
            operation.sources
        };
        let [first, second, rest @ ..] = sources;
        let mut critical = self.value(first).later(loaded);
        critical = self.value(second).later(critical);
        if rest != [NONE; 2] {
            for source in rest {
                critical = self.value(source).later(critical);
            }
        }
        let mut result = Value {
            class: Some(operation.class),
            ..*critical
        };
        if operation.rename != Rename::Execute {
            result.class = critical.class;
            return result;
        }
        let latency = u64::from(if critical.class == Some(operation.class) {
            operation.chained_latency
        } else {
            operation.latency
        });
        let [ports, further @ ..] = &operation.ports;
        let Some(further_operations) = operation.operations.checked_sub(1) else {
            result.ready += latency;
            return result;
        };
        let from = critical.ready.max(earliest);
        let executed = self.ports.reserve(*ports, from);
        let mut last = executed;
        if operation.busy > 1 {
            for cycle in 1..u64::from(operation.busy) {
                self.ports.block(*ports, executed + cycle);
            }
        }
        self.schedulers.enter(operation.scheduler.into(), executed);
        for &ports in further.iter().take(further_operations.into()) {
            let at = self.ports.reserve(ports, from);
            self.schedulers.enter(operation.scheduler.into(), at);
            last = last.max(at);
        }
        result.ready = (executed + latency).max(last + 1);
        result
    }

    /// The register behind a name: x87 names are relative to the top of the stack.
    fn physical(&self, register: Register, moved: i8) -> Register {
        if !(FIRST_X87..FIRST_X87 + 8).contains(&register) {
            return register;
        }
        let top = self.x87_top.wrapping_add_signed(moved);
        FIRST_X87 + (register - FIRST_X87 + top) % 8
    }

    #[inline(always)]
    fn write_registers(&mut self, operation: &Operation, value: Value) {
        let mut destinations = operation.destinations;
        if operation.is_x87 {
            // A push names its new top, a pop the old one.
            let moved = operation.x87_increment.min(0);
            destinations = destinations.map(|destination| self.physical(destination, moved));
            self.x87_top = self.x87_top.wrapping_add_signed(operation.x87_increment) % 8;
        }
        let [first, second, third, fourth] = destinations.map(usize::from);
        self.registers[first] = value;
        self.registers[second] = value;
        self.registers[third] = value;
        if fourth != usize::from(NOWHERE) {
            self.registers[fourth] = value;
        }
        if operation.rename == Rename::Forward {
            // The flags of an eliminated addition are computed all the same.
            for flag in destinations {
                if (CARRY_FLAG..NOWHERE).contains(&flag) {
                    self.registers[usize::from(flag)].ready += 1;
                }
            }
        }
    }
}
