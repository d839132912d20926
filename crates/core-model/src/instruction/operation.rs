//! An instruction as the model executes it.

use topdown_tracer::{AccessKind, Address, Repeat};

use super::needs::Needs;
use super::registers::{CARRY_FLAG, NONE, Register, UNREAD};
use crate::class::Class;
use crate::parameters::CoreParameters;
use crate::pools::{NO_POOL, Pools};
use crate::ports::Ports;

/// Maximum number of registers read, excluding memory addresses.
pub(crate) const SOURCES: usize = 4;
/// Maximum number of registers written.
pub(crate) const DESTINATIONS: usize = 4;
/// Maximum number of port operations, excluding memory accesses.
pub(crate) const OPERATIONS: usize = 8;

/// The number of slots, sources and destinations that nearly all instructions stay within.
pub(crate) const COMMON_SLOTS: u8 = 2;
/// See [`COMMON_SLOTS`].
pub(crate) const COMMON_SOURCES: usize = 2;
/// See [`COMMON_SLOTS`].
pub(crate) const COMMON_DESTINATIONS: usize = 3;

/// How an instruction may change the path of execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// Not at all.
    Next,
    /// A conditional jump.
    Conditional,
    /// A direct jump.
    Jump,
    /// A direct call.
    Call,
    /// A jump through a register or memory.
    IndirectJump,
    /// A call through a register or memory.
    IndirectCall,
    /// A return.
    Return,
}

/// How rename handles an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rename {
    /// Executed on ports.
    Execute,
    /// Its result is its source: a move or an addition of an immediate, without a port.
    Forward,
    /// Its result is a constant known at rename.
    Constant,
}

/// An instruction, its operands and its row of the table.
///
/// Fields needed by every execution come first and fit in one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(128))]
pub(crate) struct Operation {
    /// Address of the instruction.
    pub ip: u64,
    /// The number of the code window in which it begins, see
    /// [`crate::parameters::Frontend::uop_cache_window_bytes`].
    pub window: u64,
    /// What it holds until it retires; set by [`Operation::complete`].
    pub needs: Needs,
    /// Numbers of memory operands that are read, and that are written; set by the same function.
    pub loads: u8,
    /// See `loads`.
    pub stores: u8,
    /// See `first_memory`.
    pub memory_count: u8,
    /// Issue slots; 0 if it shares that of a neighbour.
    pub slots: u8,
    /// Index of the first memory operand in the program's table, and their number.
    pub first_memory: u32,
    /// The members of `pools` for which it has operations; set by the same function.
    pub waits_in: Pools,
    /// The pools in which its operations, loads, addresses and data of stores wait; [`NO_POOL`] if
    /// it has none. Set by [`Operation::complete`].
    pub pools: [u8; 4],
    /// The last slot of a cycle in which it can issue, from 0.
    pub last_slot: u8,
    /// Whether its slots go through the queue of vector operations.
    pub is_queued: bool,
    /// Its length in bytes.
    pub length: u8,
    /// Places it takes in an entry of the cache of decoded operations; 0 if it shares that of the
    /// instruction before it.
    pub entry_slots: u8,
    /// Cycles from the last source to the result; at least 1 if it has operations.
    pub latency: u8,
    /// The same after an instruction of the same class.
    pub chained_latency: u8,
    /// Number of `ports` used.
    pub operations: u8,
    /// How it may change the path.
    pub flow: Flow,
    pub class: Class,
    /// What rename does with it.
    pub rename: Rename,
    /// Whether its result is forwarded, but its flags are computed.
    pub has_late_flags: bool,
    /// Whether it needs more than nearly all instructions: `busy`, `is_x87`, `serializes`,
    /// `is_atomic`, `late_source` or `late_destination`, several operations or memory operands, or
    /// `sources` and `destinations` beyond the first ones. Set by [`Operation::complete`].
    pub is_rare: bool,
    /// Registers read, padded with [`super::NONE`].
    pub sources: [Register; SOURCES],
    /// Registers written, padded with [`super::UNREAD`].
    pub destinations: [Register; DESTINATIONS],
    /// Ports of each operation.
    pub ports: [Ports; OPERATIONS],
    /// One of its sources that is read a cycle later than the others, or [`super::NONE`].
    pub late_source: Register,
    /// One of its destinations that is written a cycle later, or [`super::UNREAD`].
    pub late_destination: Register,
    /// By how many cycles.
    pub late_cycles: u8,
    /// The pools in which its operations, loads, addresses and data of stores wait, if it has any.
    pub schedulers: [u8; 4],
    /// Cycles for which the first port operation blocks its port.
    pub busy: u8,
    /// Change of the top of the x87 stack; if `is_x87`, registers are relative to it.
    pub x87_increment: i8,
    /// Whether x87 registers are among the operands, or their numbers change.
    pub is_x87: bool,
    /// Whether later instructions issue only after it is done.
    pub serializes: bool,
    /// Whether later loads start only after it is done and all earlier stores are written.
    pub is_atomic: bool,
    /// Whether the form is in the table.
    pub is_known: bool,
    /// Whether the next operation does its work.
    pub is_absorbed: bool,
    /// Number of results in the general register file, and in the vector register file.
    pub integer_results: u8,
    /// See `integer_results`.
    pub vector_results: u8,
    /// Repetition count of a string instruction.
    pub repeat: Option<Repeat>,
}

/// One memory operand.
///
/// It fits in one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct MemoryOperand {
    /// Its address.
    pub address: Address,
    /// Width in bytes; at least 1.
    pub bytes: u32,
    /// How it accesses memory.
    pub kind: AccessKind,
    /// The registers from which the address is computed.
    pub registers: [Register; 2],
    /// Whether it is loaded into or stored from a vector register. Set by
    /// [`MemoryOperand::with_ports`].
    pub is_vector: bool,
    /// The registers, scale and displacement of its address. Different addresses may share one.
    pub name: u64,
    /// Added to the latency of its load.
    pub extra_cycles: u8,
    /// Whether it is written around the caches.
    pub non_temporal: bool,
    /// Whether an instruction changes it by an immediate or in a fixed way.
    pub is_changed_by_constant: bool,
    /// Ports of a load. Set by the same function.
    pub load_ports: Ports,
    /// Ports of a store's data. Set by the same function.
    pub data_ports: Ports,
}

impl Operation {
    /// Derives the remaining fields from the others and the memory operands.
    pub(crate) fn complete(mut self, memory: &[MemoryOperand]) -> Operation {
        let count = |counts: fn(&MemoryOperand) -> bool| {
            memory.iter().filter(|operand| counts(operand)).count() as u8
        };
        let [integer, vector] = match self.rename {
            Rename::Execute => [self.integer_results, self.vector_results],
            Rename::Forward | Rename::Constant => [0, 0],
        };
        self.loads = count(MemoryOperand::reads);
        self.stores = count(MemoryOperand::writes);
        self.needs = Needs::new([self.slots, self.loads, integer, vector]);
        let counts = [self.operations, self.loads, self.stores, self.stores];
        for (place, (pool, count)) in self
            .pools
            .iter_mut()
            .zip(self.schedulers.into_iter().zip(counts))
        {
            *place = if count > 0 { pool } else { NO_POOL };
        }
        self.waits_in = Pools::new(self.pools);
        if self.operations > 0 {
            self.latency = self.latency.max(1);
            self.chained_latency = self.chained_latency.max(1);
        }
        let writes_flags = self
            .destinations
            .iter()
            .any(|register| (CARRY_FLAG..UNREAD).contains(register));
        self.has_late_flags = self.rename == Rename::Forward && writes_flags;
        self.is_rare = self.repeat.is_some()
            || self.is_x87
            || self.serializes
            || self.is_atomic
            || self.busy > 1
            || self.operations > 1
            || self.late_source != NONE
            || self.late_destination != UNREAD
            || self.slots > COMMON_SLOTS
            || self.sources[COMMON_SOURCES..] != [NONE; SOURCES - COMMON_SOURCES]
            || self.destinations[COMMON_DESTINATIONS..]
                != [UNREAD; DESTINATIONS - COMMON_DESTINATIONS]
            || memory.len() > 1
            || !memory.iter().all(MemoryOperand::is_common);
        self
    }

    /// Returns its memory operands, from the program's table.
    #[inline]
    pub(crate) fn operands<'a>(&self, program: &'a [MemoryOperand]) -> &'a [MemoryOperand] {
        if self.memory_count == 0 {
            return &[];
        }
        let first = self.first_memory as usize;
        &program[first..first + usize::from(self.memory_count)]
    }

    /// Returns its only memory operand; only valid if it has one and is not rare.
    #[inline(always)]
    pub(crate) fn operand<'a>(&self, program: &'a [MemoryOperand]) -> &'a MemoryOperand {
        &program[self.first_memory as usize]
    }

    /// Returns one step of this repeated string instruction, of so many slots: its memory operands
    /// and what paces it.
    pub(crate) fn string_step(&self, pace: Ports, slots: u8) -> Operation {
        let mut ports = [Ports::NONE; OPERATIONS];
        ports[0] = pace;
        Operation {
            slots,
            operations: 1,
            ports,
            busy: 1,
            latency: 0,
            chained_latency: 0,
            integer_results: 0,
            sources: [NONE; SOURCES],
            destinations: [UNREAD; DESTINATIONS],
            late_source: NONE,
            late_destination: UNREAD,
            repeat: None,
            first_memory: 0,
            ..*self
        }
    }
}

impl MemoryOperand {
    /// An operand that accesses nothing.
    pub(crate) const NONE: MemoryOperand = MemoryOperand {
        kind: AccessKind::Hint,
        bytes: 1,
        address: Address::Fixed(0),
        registers: [NONE, NONE],
        name: 0,
        extra_cycles: 0,
        is_vector: false,
        non_temporal: false,
        is_changed_by_constant: false,
        load_ports: Ports::NONE,
        data_ports: Ports::NONE,
    };

    /// Returns this operand as one of a vector register, or of a general one, on this core.
    pub(crate) fn with_ports(self, is_vector: bool, core: &CoreParameters) -> MemoryOperand {
        let ports = &core.ports;
        let (load_ports, data_ports) = if self.bytes > 32 {
            (ports.load_512, ports.store_data_512)
        } else if is_vector {
            (ports.load_vector, ports.store_data_vector)
        } else {
            (ports.load, ports.store_data)
        };
        MemoryOperand {
            is_vector,
            extra_cycles: if is_vector {
                core.memory.vector_load_extra_cycles as u8
            } else {
                0
            },
            load_ports,
            data_ports,
            ..self
        }
    }

    /// Returns whether its address has two registers.
    pub(crate) fn is_indexed(&self) -> bool {
        self.registers[1] != NONE
    }

    /// Returns whether it is one load, one store, or one of each.
    fn is_common(&self) -> bool {
        (self.reads() || self.writes()) && !matches!(self.address, Address::Elements(_))
    }

    /// Returns whether something waits for the content.
    pub(crate) fn reads(&self) -> bool {
        matches!(self.kind, AccessKind::Read | AccessKind::ReadWrite)
    }

    /// Returns whether the content changes.
    pub(crate) fn writes(&self) -> bool {
        matches!(self.kind, AccessKind::Write | AccessKind::ReadWrite)
    }
}
