//! Requirements of an instruction: its class, its operands, and the table row of its class.

mod form;
mod fusion;
mod lowering;
mod mnemonics;
mod needs;
mod neighbours;
mod operation;
mod registers;

pub(crate) use lowering::Lowering;
pub(crate) use needs::{Needs, Room};
pub(crate) use operation::{
    COMMON_DESTINATIONS, COMMON_SLOTS, COMMON_SOURCES, Flow, MemoryOperand, Operation, Rename,
};
pub(crate) use registers::{CARRY_FLAG, FIRST_X87, NONE, OTHER_FLAGS, REGISTERS, Register, UNREAD};
