//! The data after an exit of a translated block, for the engine to read.

use super::assembler::{Assembler, Relative32};
use crate::block::BlockId;

/// An unlinked exit: its bytes follow the stub's jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DirectExit {
    /// The field to patch.
    pub site: Relative32,
    /// Where the program is going.
    pub target: u64,
}

impl DirectExit {
    pub(super) const BYTES: usize = 12;

    pub(super) fn write(self, code: &mut Assembler<'_>) {
        code.data32(self.site.0);
        code.data64(self.target);
    }

    /// Reads what `write` has written.
    pub(crate) fn read(code: &[u8], position: u32) -> DirectExit {
        let at = position as usize;
        DirectExit {
            site: Relative32(read32(code, at)),
            target: read64(code, at + 4),
        }
    }
}

/// The instruction `syscall`.
pub(super) const SYSCALL: [u8; 2] = [0x0f, 0x05];

/// The ways to continue with a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SystemCallExit {
    pub block: BlockId,
    /// Perform it and continue.
    pub perform: u64,
    /// Perform it, and leave the translation in the child.
    pub split: u64,
    /// Perform it and ask the engine for the code after it.
    pub unlinked: u64,
}

impl SystemCallExit {
    pub(super) const BYTES: usize = 28;

    /// Returns where to continue as if the call were done. rcx and r11, which the kernel
    /// overwrites, keep their values, or get what the kernel would put there.
    pub(crate) fn performed(self) -> u64 {
        self.perform + SYSCALL.len() as u64
    }

    /// The same, but the engine looks up the code after it.
    pub(crate) fn performed_unlinked(self) -> u64 {
        self.unlinked + SYSCALL.len() as u64
    }

    pub(super) fn write(self, code: &mut Assembler<'_>, position: usize) {
        code.set32(position, self.block.0 as i32);
        for (index, value) in [self.perform, self.split, self.unlinked]
            .into_iter()
            .enumerate()
        {
            code.set32(position + 4 + 8 * index, value as i32);
            code.set32(position + 8 + 8 * index, (value >> 32) as i32);
        }
    }

    /// Reads what `write` has written.
    pub(crate) fn read(code: &[u8], position: u32) -> SystemCallExit {
        let at = position as usize;
        SystemCallExit {
            block: BlockId(read32(code, at)),
            perform: read64(code, at + 4),
            split: read64(code, at + 12),
            unlinked: read64(code, at + 20),
        }
    }
}

fn read32(code: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(code[at..at + 4].try_into().expect("four bytes"))
}

fn read64(code: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(code[at..at + 8].try_into().expect("eight bytes"))
}
