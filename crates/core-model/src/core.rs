//! The core: executes instructions in program order and computes the times of each.
//!
//! There is no loop over cycles. For each instruction, the model determines when the frontend
//! delivers it, when the buffers have room, when its sources are ready and when a port is free. Its
//! successors see the resulting times.

mod execution;
mod issue;
mod memory_operands;
mod path;
mod string;
mod warming;

use crate::address_space::{AddressSpace, MappingAt};
use crate::branch::{CodeAddress, Predictor};
use crate::calendar::PortCalendar;
use crate::instruction::{MemoryOperand, Operation, REGISTERS};
use crate::ledger::Ledger;
use crate::memory::{Hierarchy, LINE_BYTES};
use crate::parameters::{Atomics, CoreParameters, MemoryRenaming};
use crate::pipeline::{
    BoundPorts, Dependences, Disambiguation, Frontend, Issued, LoadBanks, Schedulers, SharedPath,
    StoreQueue, VectorQueue, Window,
};
use crate::ports::Ports;
use crate::upper_halves::{Switches, UpperHalves};
use execution::Value;
use path::{PendingBranch, WrongPath};

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
    load_banks: Option<LoadBanks>,
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
            load_banks: LoadBanks::new(parameters.ports.loads_per_bank),
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

    /// The same when this core, which has this number, begins to execute instead of `other`.
    pub(crate) fn take_over_from(&mut self, other: &mut Core, number: usize) {
        self.share_with(other);
        self.memory.take_shared_lines(&mut other.memory, number);
        if self.memory.shares_lines() {
            // Others may have written what this core accessed.
            self.recent.forget();
        }
    }

    /// From now on, lines that another core wrote last come from there.
    pub(crate) fn share_lines(&mut self) {
        self.memory.share_lines();
    }

    pub(crate) fn shares_lines(&self) -> bool {
        self.memory.shares_lines()
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
        let Atomics::BeginLast { retry_cycles, .. } = self.parameters.memory.atomics else {
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
}
