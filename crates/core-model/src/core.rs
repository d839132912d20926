//! The core: executes instructions in program order and computes the times of each.
//!
//! There is no loop over cycles. For each instruction, the model determines when the frontend
//! delivers it, when the buffers have room, when its sources are ready and when a port is free. Its
//! successors see the resulting times.

mod issue;
mod memory_operands;
mod string;
mod warming;

use crate::address_space::{AddressSpace, MappingAt};
use crate::branch::{Branch, CodeAddress, Predictor};
use crate::calendar::PortCalendar;
use crate::class::Class;
use crate::instruction::{
    CARRY_FLAG, COMMON_DESTINATIONS, COMMON_SOURCES, FIRST_X87, Flow, MemoryOperand, Operation,
    REGISTERS, Register, Rename, UNREAD,
};
use crate::ledger::Ledger;
use crate::memory::{Hierarchy, LINE_BYTES};
use crate::parameters::{Atomics, CoreParameters, MemoryRenaming};
use crate::pipeline::{
    BoundPorts, Dependences, Disambiguation, Frontend, Issued, LoadNumber, Mispredicted, NO_LOAD,
    Schedulers, SharedPath, StoreQueue, VectorQueue, Window,
};
use crate::pools::VECTOR_QUEUE;
use crate::ports::Ports;
use crate::upper_halves::{Switches, UpperHalves};

/// A register's content: when it is ready and what it waited for. Small, because every instruction
/// reads and writes several.
#[derive(Clone, Copy)]
struct Value {
    ready: u64,
    origin: Origin,
}

impl Value {
    /// Always ready.
    const READY: Value = Value {
        ready: 0,
        origin: Origin::of_load(NO_LOAD),
    };

    /// Returns the one that is ready last, or `other` if they are ready together.
    #[inline]
    fn later(self, other: Value) -> Value {
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
struct Origin(u64);

impl Origin {
    const CLASS_BITS: u32 = u8::BITS;
    const NO_CLASS: u8 = u8::MAX;
    /// Set if the load took longer than one that hits the L1.
    const LATE: u64 = 1 << 63;

    const fn of_load(load: LoadNumber) -> Self {
        Origin(load << Self::CLASS_BITS | Self::NO_CLASS as u64)
    }

    #[inline]
    fn load(self) -> LoadNumber {
        (self.0 & !Self::LATE) >> Self::CLASS_BITS
    }

    #[inline]
    fn with_late(self, is_late: bool) -> Self {
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

/// The executed block that contains an instruction.
pub(crate) struct Executed<'a> {
    /// Its number.
    pub block: u32,
    /// The table of memory operands.
    pub operands: &'a [MemoryOperand],
    /// The values from which their addresses are computed.
    pub recorded: &'a [u64],
}

/// The predicted order of loads and earlier stores.
enum Order {
    /// Which loads read which stores.
    Learnt(Dependences),
    /// Which loads may not run ahead.
    Counted(Disambiguation),
}

/// A branch whose target is unknown until the next block arrives.
#[derive(Clone, Copy)]
struct PendingBranch {
    /// [`Flow::Next`] if there is none.
    flow: Flow,
    place: CodeAddress,
    length: u8,
    resolved: u64,
    block: u32,
}

impl PendingBranch {
    const NONE: PendingBranch = PendingBranch {
        flow: Flow::Next,
        place: CodeAddress { ip: 0, key: 0 },
        length: 0,
        resolved: 0,
        block: 0,
    };

    /// Returns the branch, which went to `target`.
    #[inline]
    fn to(&self, target: CodeAddress) -> Branch {
        Branch {
            flow: self.flow,
            place: self.place,
            next_ip: self.place.ip + u64::from(self.length),
            target,
        }
    }
}

/// The frontend follows the wrong path until `until`.
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
    bound: BoundPorts,
    schedulers: Schedulers,
    vector_queue: VectorQueue,
    /// Number of slots issued.
    slots: u64,
    window: Window,
    stores: StoreQueue,
    memory: Hierarchy,
    pub(crate) addresses: AddressSpace,
    pub(crate) ledger: Ledger,
    registers: [Value; REGISTERS],
    x87_top: u8,
    pending: PendingBranch,
    wrong_path: Option<WrongPath>,
    shared_path: SharedPath,
    /// The first cycle in which anything may issue, after a serialising instruction.
    issue_from: u64,
    /// The first cycle in which a load may execute, after an atomic operation.
    load_from: u64,
    /// The latest interval in which some load waited for more than the L2.
    outstanding: (u64, u64),
    order: Order,
    upper_halves: UpperHalves,
    recent: warming::Recent,
}

impl Core {
    pub(crate) fn new(
        parameters: &CoreParameters,
        blocks: usize,
        mapping_at: Option<MappingAt>,
    ) -> Self {
        Core {
            frontend: Frontend::new(&parameters.frontend),
            predictor: Predictor::new(&parameters.prediction, blocks),
            ports: PortCalendar::new(parameters.ports.closed_by_busy),
            bound: BoundPorts::new(parameters.ports.binding),
            schedulers: Schedulers::new(
                parameters.window.scheduler_entries,
                parameters.window.scheduler_release_cycles,
            ),
            vector_queue: VectorQueue::new(&parameters.window, parameters.ports.store_data_vector),
            slots: 0,
            window: Window::new(parameters),
            stores: StoreQueue::new(&parameters.window, &parameters.memory),
            memory: Hierarchy::new(&parameters.memory),
            addresses: AddressSpace::new(mapping_at),
            ledger: Ledger::new(parameters.width, blocks),
            registers: [Value::READY; REGISTERS],
            x87_top: 0,
            pending: PendingBranch::NONE,
            wrong_path: None,
            shared_path: SharedPath::new(parameters),
            issue_from: 0,
            load_from: 0,
            outstanding: (0, 0),
            order: match parameters.rename.memory_renaming {
                MemoryRenaming::Learnt(rules) => Order::Learnt(Dependences::new(rules)),
                MemoryRenaming::SimpleAddress(rules) => Order::Counted(Disambiguation::new(rules)),
            },
            upper_halves: UpperHalves::CLEAN,
            recent: warming::Recent::new(),
            parameters: parameters.clone(),
        }
    }

    pub(crate) fn parameters(&self) -> &CoreParameters {
        &self.parameters
    }

    /// Takes over from `other`, the core of another thread, what belongs to the program: where its
    /// memory lies, the numbers of its branches, and the counts.
    pub(crate) fn share_with(&mut self, other: &mut Core) {
        std::mem::swap(&mut self.addresses, &mut other.addresses);
        self.predictor.swap_keys(&mut other.predictor);
        self.ledger.swap_counts(&mut other.ledger);
    }

    /// Returns the bytes per step of a repeated string move, and the port that paces the steps.
    pub(crate) fn string_step(&self) -> (u64, Ports) {
        let ports = &self.parameters.ports;
        (
            ports.string_step_bytes.clamp(1, LINE_BYTES as u32).into(),
            ports.string_step,
        )
    }

    /// Returns the memory operand of a repeated string move.
    pub(crate) fn with_vector_ports(&self, operand: &MemoryOperand) -> MemoryOperand {
        operand.with_ports(true, &self.parameters)
    }

    /// Returns the code address of `ip` in the model: a branch, or its target.
    pub(crate) fn code_address(&mut self, ip: u64) -> CodeAddress {
        self.predictor.address(ip)
    }

    /// Continues the path at `place`, resolving the branch before it.
    #[inline]
    pub(crate) fn arrive(&mut self, place: CodeAddress) {
        // Not copied unless it must be: its parts were stored just before.
        if self.pending.flow == Flow::Next {
            return;
        }
        self.ledger.count(|events| &mut events.branches, 1);
        let outcome = self.predictor.branch(&self.pending.to(place));
        self.frontend.branch(&outcome);
        if outcome.mispredicted {
            let branch = self.pending;
            self.ledger
                .count(|events| &mut events.mispredicted_branches, 1);
            self.take_wrong_path(&branch, outcome.taken, place.ip);
            self.restart(branch.resolved, branch.block, false);
        }
        self.pending.flow = Flow::Next;
    }

    /// Begins the wrong path at a branch; the right one continues at `next`.
    #[inline(never)]
    fn take_wrong_path(&mut self, branch: &PendingBranch, is_taken: bool, next: u64) {
        if branch.flow != Flow::Conditional {
            self.shared_path.end();
            return;
        }
        let mispredicted = Mispredicted {
            ip: branch.place.ip,
            is_taken,
            next,
            issued: self.ledger.cycle(),
            resolved: branch.resolved,
        };
        let registers = &self.registers;
        self.shared_path.begin(&mispredicted, |register| {
            registers[usize::from(register)].ready
        });
    }

    /// Discards everything fetched after an instruction when it is done, at `at`.
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

    /// Returns whether a wrong path may reach the instructions before the next branch. They are
    /// then executed as rare ones.
    #[inline]
    pub(crate) fn may_be_on_wrong_path(&self) -> bool {
        self.shared_path.is_followed()
    }

    /// Begins with clean upper halves of the vector registers.
    pub(crate) fn begin_window(&mut self) {
        self.upper_halves = UpperHalves::CLEAN;
    }

    /// Counts how often a block that was executed switched between legacy SSE and AVX code.
    #[inline]
    pub(crate) fn switch(&mut self, block: &Switches) {
        let switches = self.upper_halves.execute(block);
        if switches > 0 {
            self.ledger
                .count(|events| &mut events.sse_avx_switches, switches);
        }
    }

    /// Executes one instruction that is not rare (see [`Operation::is_rare`]), and returns when it
    /// is done.
    #[inline(always)]
    pub(crate) fn execute(&mut self, operation: &Operation, executed: &Executed<'_>) -> u64 {
        self.execute_as::<false>(operation, executed)
    }

    /// Executes any instruction, and returns when it is done.
    #[inline(never)]
    pub(crate) fn execute_rare(&mut self, operation: &Operation, executed: &Executed<'_>) -> u64 {
        self.execute_as::<true>(operation, executed)
    }

    /// The common implementation, compiled twice: once for all instructions, and once without the
    /// checks that only rare ones need.
    #[inline(always)]
    fn execute_as<const RARE: bool>(
        &mut self,
        operation: &Operation,
        executed: &Executed<'_>,
    ) -> u64 {
        if RARE && self.shared_path.is_followed() {
            self.shared_path.arrive(operation);
        }
        let issued = self.issue::<RARE>(operation, executed.block);
        let mut earliest = issued + u64::from(self.parameters.issue_delay);
        if RARE && operation.is_atomic {
            earliest = self.atomic_start(earliest);
        }
        let loaded = if RARE {
            let mut loaded = self.loads(operation, executed, earliest);
            if operation.is_atomic {
                loaded.ready = loaded.ready.max(earliest);
            }
            loaded
        } else if operation.loads > 0 {
            self.common_load(operation, executed, earliest)
        } else {
            Value::READY
        };
        let result = self.compute::<RARE>(operation, issued, &loaded);
        let mut done = result.ready.max(issued + 1);
        let mut stored = 0;
        if operation.stores > 0 {
            stored = if RARE {
                self.store_operations(operation, executed, earliest, result.ready)
            } else {
                let operand = operation.operand(executed.operands);
                self.store_operation(operation, operand, earliest, result.ready)
            };
            done = done.max(stored);
        }
        self.write_registers::<RARE>(operation, result);
        if RARE && self.shared_path.covers_current() {
            self.shared_path.execute(operation);
        }
        let completes = self.window.push::<RARE>(&Issued {
            slots: operation.slots,
            needs: operation.needs,
            issued,
            done,
            load: result.origin.load(),
            block: executed.block,
        });
        if operation.stores > 0 {
            let retires = completes + u64::from(self.parameters.retire_cycles);
            if RARE {
                self.write_stores(operation, executed, &result, stored, retires);
            } else {
                let operand = operation.operand(executed.operands);
                let address = operand.address.first(executed.recorded).unwrap_or(0);
                self.write_store(operation, operand, address, &result, stored, retires);
            }
        }
        if RARE && operation.serializes {
            self.issue_from = self.issue_from.max(completes);
        }
        if RARE && operation.is_atomic {
            if self.holds_loads() {
                self.load_from = self.load_from.max(done);
            } else {
                self.window.retire_with_last();
            }
        }
        done
    }

    /// Returns when an atomic operation begins, at `earliest` or later.
    #[inline(never)]
    fn atomic_start(&self, earliest: u64) -> u64 {
        let Atomics::BeginLast { retry_cycles } = self.parameters.memory.atomics else {
            return earliest;
        };
        let start = earliest.max(self.window.last_completion());
        match self.stores.written_before_atomic() {
            Some(written) if written >= start => written.max(start + u64::from(retry_cycles)),
            _ => start,
        }
    }

    fn holds_loads(&self) -> bool {
        matches!(self.parameters.memory.atomics, Atomics::HoldLoads)
    }

    /// Continues after the last instruction of a block, which lies at `place` and is done at
    /// `done`.
    #[inline]
    pub(crate) fn leave(&mut self, last: &Operation, place: CodeAddress, done: u64, block: u32) {
        if last.flow != Flow::Next {
            self.pending = PendingBranch {
                flow: last.flow,
                place,
                length: last.length,
                resolved: done,
                block,
            };
        }
    }

    #[inline]
    fn value(&self, register: Register) -> Value {
        self.registers[usize::from(register)]
    }

    /// Executes the instruction's own work, and returns its result.
    #[inline(always)]
    fn compute<const RARE: bool>(
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
    fn execute_one(&mut self, operation: &Operation, ports: Ports, issued: u64, ready: u64) -> u64 {
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
    fn reserve(&mut self, ports: Ports, issued: u64, ready: u64) -> u64 {
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
    fn write_registers<const RARE: bool>(&mut self, operation: &Operation, value: Value) {
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
