//! Code shared by all translated blocks.

use std::mem::offset_of;

use super::assembler::{Assembler, General, Memory, RAX, RCX, RDX};
use super::context::{Context, Request};
use super::indirect;

/// Entries of the shared code, each a jump into [`serve`](super::entry::serve) with a request.
pub(crate) struct Trampolines {
    requests: [u64; Request::ALL.len()],
    /// A miss in the first table of an indirect branch, which has borrowed rcx and rdx.
    pub(super) indirect_miss: u64,
    /// Loads rax and jumps to [`Context::next`].
    pub resume: u64,
}

impl Trampolines {
    /// Writes them.
    pub(crate) fn write(code: &mut Assembler<'_>, context: u64, second_table: u64) -> Trampolines {
        let mut requests = [0; Request::ALL.len()];
        for request in Request::ALL {
            requests[request as usize] = code.here();
            code.store_near(register_slot(context, RAX), RAX);
            code.lea_near(RAX, context);
            code.store_near_immediate32(
                context + offset_of!(Context, request) as u64,
                request as u32,
            );
            code.jump_through_near(context + offset_of!(Context, save) as u64);
        }
        let indirect_miss = code.here();
        let target = context + offset_of!(Context, target) as u64;
        let key = target + indirect::SECOND_KEY_BYTE;
        code.load_near(RCX, target);
        code.load_immediate(RDX, second_table / 8);
        code.load_near_low_word(RDX, key);
        code.load(RDX, Memory::scaled(RDX));
        code.lea(RCX, Memory::sum(RCX, RDX));
        let hit = code.jump_if_rcx_is_zero();
        code.load_near(RCX, register_slot(context, RCX));
        code.load_near(RDX, register_slot(context, RDX));
        code.jump(requests[Request::Indirect as usize]);
        code.bind(hit);
        code.load_immediate(RCX, second_table / 8);
        code.load_near_low_word(RCX, key);
        code.jump_through_scaled(RCX, indirect::CODES);
        let resume = code.here();
        code.load_near(RAX, register_slot(context, RAX));
        code.jump_through_near(context + offset_of!(Context, next) as u64);
        Trampolines {
            requests,
            indirect_miss,
            resume,
        }
    }

    pub(super) fn of(&self, request: Request) -> u64 {
        self.requests[request as usize]
    }
}

/// Returns the address of a general register's slot in the context.
pub(crate) fn register_slot(context: u64, register: General) -> u64 {
    context + offset_of!(Context, registers) as u64 + 8 * u64::from(register)
}
