//! An instruction as the model executes it.

use topdown_tracer::{AccessKind, Address, Repeat};

use super::Class;
use super::needs::Needs;
use super::registers::{NONE, NOWHERE, Register};
use crate::calendar::Ports;

/// At most this many registers are read, memory addresses aside.
pub(crate) const SOURCES: usize = 4;
/// At most this many registers are written.
pub(crate) const DESTINATIONS: usize = 4;
/// At most this many port operations, memory accesses aside.
pub(crate) const OPERATIONS: usize = 8;

/// How an instruction may change the path of execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// It does not.
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

/// What rename makes of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rename {
    /// Executed on ports.
    Execute,
    /// Its result is its source: a move or an addition of an immediate without a port.
    Forward,
    /// Its result is a constant known at rename.
    Constant,
}

/// An instruction, its operands and its row of the table.
///
/// What every execution reads comes first and lies in one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(128))]
pub(crate) struct Operation {
    /// Address of the instruction.
    pub ip: u64,
    /// Address of the next one in memory.
    pub next_ip: u64,
    /// What it takes until it retires; set by [`Operation::complete`].
    pub needs: Needs,
    /// How many of its memory operands are read, and how many written; set likewise.
    pub loads: u8,
    /// See `loads`.
    pub stores: u8,
    /// Index of the first memory operand in the program's table, and how many there are.
    pub first_memory: u32,
    /// See `first_memory`.
    pub memory_count: u8,
    /// Issue slots; 0 where it shares the slot of the instruction before it.
    pub slots: u8,
    /// The scheduler in which it waits.
    pub scheduler: u8,
    /// Cycles from the last source to the result.
    pub latency: u8,
    /// The same behind the same class.
    pub chained_latency: u8,
    /// Cycles for which the first port operation blocks its port.
    pub busy: u8,
    /// How it may change the path.
    pub flow: Flow,
    /// Its class.
    pub class: Class,
    /// What rename does with it.
    pub rename: Rename,
    /// Change of the top of the x87 stack; registers are relative to it where `is_x87`.
    pub x87_increment: i8,
    /// Whether x87 registers are among the operands, or their numbers change.
    pub is_x87: bool,
    /// Nothing behind it issues before it is done.
    pub serializes: bool,
    /// No load behind it starts before it is done, and all stores before it are written.
    pub is_atomic: bool,
    /// Registers read, [`super::NONE`] where fewer.
    pub sources: [Register; SOURCES],
    /// Registers written, [`super::NOWHERE`] where fewer.
    pub destinations: [Register; DESTINATIONS],
    /// How many of `ports` are used.
    pub operations: u8,
    /// Ports of each operation.
    pub ports: [Ports; OPERATIONS],
    /// Loads go to a vector register.
    pub loads_vector: bool,
    /// The form is in the table.
    pub is_known: bool,
    /// Results in the general register file, and in the vector register file.
    pub integer_results: u8,
    /// See `integer_results`.
    pub vector_results: u8,
    /// Repetition count of a string instruction.
    pub repeat: Option<Repeat>,
}

/// One memory operand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemoryOperand {
    /// What is done there.
    pub kind: AccessKind,
    /// Width in bytes; at least 1.
    pub bytes: u32,
    /// Where.
    pub address: Address,
    /// The registers that the address is made of.
    pub registers: [Register; 2],
    /// Whether the second of them is multiplied.
    pub is_scaled: bool,
    /// Written around the caches.
    pub non_temporal: bool,
}

impl Operation {
    /// Derives what depends on the rest and on the memory operands.
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
        self
    }

    /// Its memory operands, among those of the program.
    #[inline]
    pub(crate) fn operands<'a>(&self, program: &'a [MemoryOperand]) -> &'a [MemoryOperand] {
        if self.memory_count == 0 {
            return &[];
        }
        let first = self.first_memory as usize;
        &program[first..first + usize::from(self.memory_count)]
    }

    /// One step of this repeated string instruction: its memory operands and what paces it.
    pub(crate) fn string_step(&self, pace: Ports) -> Operation {
        let mut ports = [Ports::NONE; OPERATIONS];
        ports[0] = pace;
        Operation {
            slots: 2,
            operations: 1,
            ports,
            busy: 1,
            latency: 0,
            chained_latency: 0,
            integer_results: 0,
            loads_vector: true,
            sources: [NONE; SOURCES],
            destinations: [NOWHERE; DESTINATIONS],
            repeat: None,
            ..*self
        }
    }
}

impl MemoryOperand {
    /// Touches nothing.
    pub(crate) const NONE: MemoryOperand = MemoryOperand {
        kind: AccessKind::Hint,
        bytes: 1,
        address: Address::Fixed(0),
        registers: [NONE, NONE],
        is_scaled: false,
        non_temporal: false,
    };

    /// Whether its address has two registers.
    pub(crate) fn is_indexed(&self) -> bool {
        self.registers[1] != NONE
    }

    /// Whether something waits for the content.
    pub(crate) fn reads(&self) -> bool {
        matches!(self.kind, AccessKind::Read | AccessKind::ReadWrite)
    }

    /// Whether the content changes.
    pub(crate) fn writes(&self) -> bool {
        matches!(self.kind, AccessKind::Write | AccessKind::ReadWrite)
    }
}
