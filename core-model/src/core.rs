//! The core: executes instructions in program order and gives each of them its times.
//!
//! There is no loop over cycles. For each instruction the model asks when the frontend delivers it,
//! when the buffers have room, when its sources are ready and when a port is free; the answers are
//! the times that its successors see.

use topdown_tracer::{AccessKind, Address};

use crate::branch::Predictor;
use crate::calendar::{PortCalendar, Ports};
use crate::instruction::{
    CARRY_FLAG, Class, FIRST_X87, Flow, MemoryOperand, NONE, Operation, REGISTERS, Register, Rename,
};
use crate::ledger::Ledger;
use crate::memory::{Hierarchy, LINE_BYTES};
use crate::parameters::{CoreParameters, MemoryRenaming};
use crate::pipeline::{Forward, Frontend, InFlight, Needs, Schedulers, Store, StoreQueue, Window};
use crate::slots::Events;

/// Loads that once ran before a store they depended on; they wait from then on.
const CAUTIOUS_LOADS: usize = 1024;

/// A register's content: when it is there and what it waited for.
#[derive(Clone, Copy, Default)]
struct Value {
    ready: u64,
    /// The last load on the critical path: from execution to data.
    load_from: u64,
    load_until: u64,
    /// The instruction that wrote it.
    writer: u64,
    class: Option<Class>,
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
    pub(crate) ledger: Ledger,
    pub(crate) events: Events,
    registers: [Value; REGISTERS],
    x87_top: u8,
    instruction: u64,
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
    pub(crate) fn new(parameters: &CoreParameters, blocks: usize) -> Self {
        Core {
            frontend: Frontend::new(&parameters.frontend),
            predictor: Predictor::new(&parameters.prediction),
            ports: PortCalendar::new(),
            schedulers: Schedulers::new(parameters.window.scheduler_entries),
            window: Window::new(parameters),
            stores: StoreQueue::new(&parameters.window),
            memory: Hierarchy::new(&parameters.memory),
            ledger: Ledger::new(parameters.width, blocks),
            events: Events::default(),
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
        self.events.branches += 1;
        let outcome = self
            .predictor
            .branch(branch.flow, branch.ip, branch.next_ip, ip);
        self.frontend.branch(&outcome);
        if outcome.mispredicted {
            self.events.mispredicted_branches += 1;
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

    /// Executes one instruction; `memory` are its operands and `recorded` the values from which
    /// their addresses come.
    #[inline]
    pub(crate) fn execute(
        &mut self,
        operation: &Operation,
        memory: &[MemoryOperand],
        recorded: &[u64],
        block: u32,
    ) {
        self.instruction += 1;
        let issued = self.issue(operation, memory, block);
        let earliest = issued + u64::from(self.parameters.issue_delay);
        let loaded = self.loads(operation, memory, recorded, earliest, block);
        let result = self.compute(operation, earliest, loaded);
        let mut done = result.ready.max(issued + 1);
        let stored = self.store_operations(operation, memory, earliest, result.ready);
        done = done.max(stored);
        self.write_registers(operation, result);

        let in_flight = InFlight {
            issued,
            load_from: result.load_from,
            load_until: result.load_until,
            block,
            ..InFlight::default()
        };
        let retires = self.window.push(&needs(operation, memory), done, in_flight);
        self.write_stores(operation, memory, recorded, result, stored, retires);

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

    /// Issues an instruction: charges the slots before it and its own. Returns the cycle of its last
    /// slot.
    #[inline]
    fn issue(&mut self, operation: &Operation, memory: &[MemoryOperand], block: u32) -> u64 {
        let slots = u64::from(operation.slots);
        let queue_room = self.window.queue_room(operation.slots.into());
        let delivered =
            self.frontend
                .deliver(operation, queue_room, &mut self.memory, &mut self.events);
        let now = self.ledger.cycle();
        let mut backend = self
            .window
            .room(&needs(operation, memory), now)
            .max(self.issue_from)
            .max(now);
        let window = &self.parameters.window;
        if operation.operations > 0 {
            backend = self.schedulers.room(operation.scheduler.into(), 1, backend);
        }
        let mut stores = 0;
        for operand in memory {
            if operand.writes() {
                stores += 1;
                backend = self.schedulers.room(window.store_scheduler, 1, backend);
            }
            if operand.reads() {
                backend = self.schedulers.room(window.load_scheduler, 1, backend);
            }
        }
        let store_room = if stores > 0 {
            self.stores.room(stores)
        } else {
            0
        };
        let start = delivered.max(backend).max(store_room);
        if start > now {
            self.wait(start, backend, store_room, block);
        }
        self.wrong_path = None;
        if slots > 0 {
            if slots == 1 {
                self.ledger
                    .charge(block, |slots| &mut slots.light_operations, slots);
            } else {
                self.ledger
                    .charge(block, |slots| &mut slots.heavy_operations, slots);
            }
        }
        self.ledger.position().saturating_sub(1) / self.ledger.width()
    }

    /// Charges the slots up to the cycle `start`, given until when each part stood in the way.
    fn wait(&mut self, start: u64, backend: u64, store_room: u64, block: u32) {
        let width = self.ledger.width();
        let end = start * width;
        if let Some(wrong) = self.wrong_path.take() {
            // The wrong path issues until it is found out, or until it has filled the window.
            let until = (wrong.until * width).min(end);
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
        self.blame((backend * width).min(end));
        // The store queue alone stood in the way.
        let until = (store_room * width).min(end);
        let waited = until.saturating_sub(self.ledger.position());
        self.ledger
            .charge(block, |slots| &mut slots.memory_bound, waited);
        self.ledger.charge_frontend(block, end);
    }

    /// Charges the slots up to `until` to the instructions at the head of the reorder buffer.
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
                ledger.charge(block, |slots| &mut slots.memory_bound, memory);
                ledger.charge(block, |slots| &mut slots.core_bound, core);
            },
        );
    }

    /// Executes the loads of an instruction; returns the value that is there last.
    #[inline]
    fn loads(
        &mut self,
        operation: &Operation,
        memory: &[MemoryOperand],
        recorded: &[u64],
        earliest: u64,
        block: u32,
    ) -> Value {
        let mut last = Value::default();
        for operand in memory {
            if operand.kind == AccessKind::Write {
                continue;
            }
            let known = self.load_address_ready(operand).max(earliest);
            if operand.kind == AccessKind::Hint {
                let at = self.ports.reserve(self.parameters.ports.load, known);
                if let Some(address) = operand.address.first(recorded) {
                    self.memory.prefetch(address, at, &mut self.events);
                }
                continue;
            }
            match operand.address {
                Address::Elements(elements) => {
                    for address in elements.addresses(recorded) {
                        let value = self.load(operation, operand, address, known, block);
                        if value.ready >= last.ready {
                            last = value;
                        }
                    }
                }
                Address::Fixed(_) | Address::Recorded { .. } => {
                    let address = operand.address.first(recorded).unwrap_or(0);
                    let value = self.load(operation, operand, address, known, block);
                    if value.ready >= last.ready {
                        last = value;
                    }
                }
            }
        }
        last
    }

    /// Executes one load of at most 64 bytes whose address is known at `known`.
    #[inline]
    fn load(
        &mut self,
        operation: &Operation,
        operand: &MemoryOperand,
        address: u64,
        known: u64,
        block: u32,
    ) -> Value {
        let bytes = operand.bytes.min(LINE_BYTES as u32);
        let ports = &self.parameters.ports;
        let ports = if bytes > 32 {
            ports.load_512
        } else if operation.loads_vector {
            ports.load_vector
        } else {
            ports.load
        };
        let at = self.ports.reserve(ports, known.max(self.load_from));
        self.schedulers
            .enter(self.parameters.window.load_scheduler, at);
        let (from, ready) = match self.stores.find(address, bytes) {
            Forward::Whole(store) if store.written > at => {
                let at = self.order(operation, &store, at, block);
                if self.is_renamed(operation, operand, &store) {
                    (store.data_ready, store.data_ready)
                } else {
                    // Until its data is there, the load waits for what the store waits for.
                    let from = at.max(store.data_ready);
                    let forward = u64::from(self.parameters.memory.forward_cycles);
                    (from, from + forward)
                }
            }
            Forward::Part(store) if store.written > at => {
                let at = self.order(operation, &store, at, block);
                let blocked = u64::from(self.parameters.memory.blocked_forward_cycles);
                (at, at.max(store.written) + blocked)
            }
            _ => {
                let ready = self
                    .memory
                    .load(operation.ip, address, bytes, at, &mut self.events);
                if ready > at + 2 * u64::from(self.parameters.memory.l2.cycles) {
                    self.wait_beyond_l2(at, ready);
                }
                (at, ready)
            }
        };
        let extra = if operation.loads_vector {
            u64::from(self.parameters.memory.vector_load_extra_cycles)
        } else {
            0
        };
        let ready = ready + extra;
        Value {
            ready,
            load_from: from,
            load_until: ready,
            writer: self.instruction,
            class: None,
        }
    }

    /// When a load that overlaps `store` may take its data: at `at`, or when the store's address is
    /// known. A load that runs ahead once takes old data, and all behind it is thrown away; from
    /// then on it waits.
    #[inline]
    fn order(&mut self, operation: &Operation, store: &Store, at: u64, block: u32) -> u64 {
        if store.address_known <= at {
            return at;
        }
        let place = (operation.ip ^ operation.ip >> 10) as usize % CAUTIOUS_LOADS;
        if self.cautious[place] != operation.ip {
            self.cautious[place] = operation.ip;
            self.events.machine_clears += 1;
            self.restart(store.address_known, block, true);
        }
        store.address_known
    }

    /// Notes that a load waits for more than the L2 from `at` until `ready`.
    #[inline]
    fn wait_beyond_l2(&mut self, at: u64, ready: u64) {
        let (from, until) = self.outstanding;
        self.outstanding = if at <= until {
            (from.min(at), until.max(ready))
        } else {
            (at, ready)
        };
    }

    /// Whether rename knows that a load reads what this store wrote.
    #[inline]
    fn is_renamed(&self, operation: &Operation, operand: &MemoryOperand, store: &Store) -> bool {
        if operand.bytes != store.bytes || operation.loads_vector {
            return false;
        }
        let [base, index] = operand.registers;
        match self.parameters.rename.memory_renaming {
            MemoryRenaming::Predicted => true,
            MemoryRenaming::SameRegister => {
                operation.is_plain_load
                    && base != NONE
                    && base == store.base
                    && index == NONE
                    && self.value(base).writer == store.base_writer
            }
        }
    }

    /// When the registers of an address are there.
    #[inline]
    fn address_ready(&self, operand: &MemoryOperand) -> u64 {
        let [base, index] = operand.registers;
        self.value(base).ready.max(self.value(index).ready)
    }

    /// The same for a load, for which an index that comes last costs extra.
    #[inline]
    fn load_address_ready(&self, operand: &MemoryOperand) -> u64 {
        let [base, index] = operand.registers;
        let mut index_ready = self.value(index).ready;
        if operand.is_scaled {
            index_ready += u64::from(self.parameters.memory.index_extra_cycles);
        }
        self.value(base).ready.max(index_ready)
    }

    #[inline]
    fn value(&self, register: Register) -> Value {
        self.registers[register as usize % REGISTERS]
    }

    /// Executes the instruction's own work; returns its result.
    #[inline]
    fn compute(&mut self, operation: &Operation, earliest: u64, loaded: Value) -> Value {
        let mut critical = loaded;
        for &source in &operation.sources {
            let value = self.value(self.physical(operation, source, 0));
            if value.ready > critical.ready {
                critical = value;
            }
        }
        let mut result = Value {
            ready: critical.ready,
            load_from: critical.load_from,
            load_until: critical.load_until,
            writer: self.instruction,
            class: Some(operation.class),
        };
        if operation.rename != Rename::Execute {
            result.class = critical.class;
            return result;
        }
        let latency = if critical.class == Some(operation.class) {
            operation.chained_latency
        } else {
            operation.latency
        };
        if operation.operations == 0 {
            result.ready += u64::from(latency);
            return result;
        }
        let from = critical.ready.max(earliest);
        let used = &operation.ports[..usize::from(operation.operations).min(operation.ports.len())];
        let mut executed = from;
        let mut last = from;
        for (number, &ports) in used.iter().enumerate() {
            let at = self.ports.reserve(ports, from);
            if number == 0 {
                executed = at;
                for cycle in 1..u64::from(operation.busy) {
                    self.ports.block(ports, at + cycle);
                }
            }
            last = last.max(at);
        }
        self.schedulers.enter(operation.scheduler.into(), last);
        result.ready = (executed + u64::from(latency)).max(last + 1);
        result
    }

    /// The register behind a name: x87 names are relative to the top of the stack.
    #[inline]
    fn physical(&self, operation: &Operation, register: Register, moved: i8) -> Register {
        if !operation.is_x87 || !(FIRST_X87..FIRST_X87 + 8).contains(&register) {
            return register;
        }
        let top = self.x87_top.wrapping_add_signed(moved);
        FIRST_X87 + (register - FIRST_X87 + top) % 8
    }

    #[inline]
    fn write_registers(&mut self, operation: &Operation, result: Value) {
        // A push names its new top, a pop the old one.
        let moved = operation.x87_increment.min(0);
        for &destination in &operation.destinations {
            if destination == NONE {
                break;
            }
            let register = self.physical(operation, destination, moved);
            let mut value = result;
            if operation.rename == Rename::Forward && register >= CARRY_FLAG {
                // The flags of an eliminated addition are computed all the same.
                value.ready += 1;
            }
            self.registers[register as usize % REGISTERS] = value;
        }
        if operation.x87_increment != 0 {
            self.x87_top = self.x87_top.wrapping_add_signed(operation.x87_increment) % 8;
        }
    }

    /// Executes the address and data operations of stores; returns when the last is done.
    #[inline]
    fn store_operations(
        &mut self,
        operation: &Operation,
        memory: &[MemoryOperand],
        earliest: u64,
        data_ready: u64,
    ) -> u64 {
        let mut done = 0;
        for operand in memory {
            if !operand.writes() {
                continue;
            }
            let parts = match operand.address {
                Address::Elements(elements) => elements.count,
                _ => 1,
            };
            let ports = &self.parameters.ports;
            let data = if operand.bytes > 32 {
                ports.store_data_512
            } else if operation.loads_vector {
                ports.store_data_vector
            } else {
                ports.store_data
            };
            let address_ports = ports.store_address;
            let known = self.address_ready(operand).max(earliest);
            for _ in 0..parts {
                let address_at = self.ports.reserve(address_ports, known);
                let data_at = self.ports.reserve(data, data_ready.max(earliest));
                let executed = address_at.max(data_at);
                self.schedulers
                    .enter(self.parameters.window.store_scheduler, executed);
                done = done.max(executed + 1);
            }
        }
        done
    }

    /// Puts the stores of a retired instruction into the store queue.
    #[inline]
    fn write_stores(
        &mut self,
        operation: &Operation,
        memory: &[MemoryOperand],
        recorded: &[u64],
        result: Value,
        executed: u64,
        retires: u64,
    ) {
        for operand in memory {
            if !operand.writes() {
                continue;
            }
            match operand.address {
                Address::Elements(elements) => {
                    for address in elements.addresses(recorded) {
                        self.write_store(operation, operand, address, result, executed, retires);
                    }
                }
                Address::Fixed(_) | Address::Recorded { .. } => {
                    let address = operand.address.first(recorded).unwrap_or(0);
                    self.write_store(operation, operand, address, result, executed, retires);
                }
            }
        }
    }

    #[inline]
    fn write_store(
        &mut self,
        operation: &Operation,
        operand: &MemoryOperand,
        address: u64,
        result: Value,
        executed: u64,
        retires: u64,
    ) {
        let bytes = operand.bytes.min(LINE_BYTES as u32);
        let line_ready = if operand.non_temporal {
            self.memory
                .store_around(address, bytes, retires, &mut self.events)
        } else {
            let fetch_from = retires.max(self.stores.fetch_from());
            self.memory
                .store(operation.ip, address, bytes, fetch_from, &mut self.events)
        };
        let [base, index] = operand.registers;
        let base = if index == NONE { base } else { NONE };
        let store = Store {
            address,
            bytes,
            address_known: self.address_ready(operand).min(executed),
            data_ready: result.ready,
            written: 0,
            base,
            base_writer: self.value(base).writer,
        };
        let written = self.stores.write(store, retires, line_ready);
        if operation.is_atomic {
            self.load_from = self.load_from.max(written);
        }
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

/// The entries that an instruction takes until it retires.
#[inline]
fn needs(operation: &Operation, memory: &[MemoryOperand]) -> Needs {
    let loads = memory.iter().filter(|operand| operand.reads()).count();
    let renamed = operation.rename == Rename::Execute;
    [
        operation.slots.into(),
        loads as u32,
        if renamed {
            operation.integer_results.into()
        } else {
            0
        },
        if renamed {
            operation.vector_results.into()
        } else {
            0
        },
    ]
}
