//! Writes the end of a translated block: what happens if the buffer is full, the translated branch,
//! and the stubs of exits that are not linked yet.

use std::mem::offset_of;

use super::super::assembler::{Memory, RAX, RCX, RDX, RSP, Relative8, Relative32};
use super::super::context::{Context, Request};
use super::super::exit::{DirectExit, SYSCALL, SystemCallExit};
use super::super::indirect;
use super::super::plan::{Ending, IndirectTarget};
use super::{Emitter, STUB_BYTES};

impl Emitter<'_, '_> {
    /// Leaves rcx borrowed and jumps to where `bind` is called if the buffer is full.
    pub(super) fn check_buffer(&mut self) -> Full {
        self.borrow(RCX);
        // The buffer ends where bits 16 to 23 of the address become zero.
        self.code.load_near_byte(RCX, self.trace_pointer() + 2);
        let jump = self.code.jump_if_rcx_is_zero();
        let back = self.code.here();
        self.give_back(RCX);
        Full { jump, back }
    }

    /// Writes the code for a full buffer. Must be within reach of the short jump.
    fn full_buffer(&mut self, full: Option<Full>) {
        let Some(full) = full else {
            return;
        };
        self.code.bind(full.jump);
        self.code.lea_near(RCX, full.back);
        self.code
            .store_near(self.field(offset_of!(Context, next)), RCX);
        self.give_back(RCX);
        self.set_exit(self.id.0);
        self.code
            .jump(self.surroundings.trampolines.of(Request::Drain));
    }

    pub(super) fn ending(&mut self, full: Option<Full>) {
        let next_ip = self.plan.next_ip;
        match self.plan.ending {
            Ending::Cut => {
                self.exit(next_ip);
                self.full_buffer(full);
            }
            Ending::Jump { target } => {
                self.exit(target);
                self.full_buffer(full);
            }
            Ending::Branch { condition, target } => {
                // Until linked, the jump goes to the stub, which is written later.
                let here = self.code.here();
                let site = self.code.jump_if(condition, here);
                self.link_or_note(site, target);
                self.exit(next_ip);
                self.full_buffer(full);
            }
            Ending::CountBranch { target } => {
                if let Some(last) = self.plan.instructions().last() {
                    let bytes = last.bytes();
                    // The same instruction, jumping over the five-byte jump after it.
                    self.code.bytes(&bytes[..bytes.len() - 1]);
                    self.code.bytes(&[5]);
                }
                self.exit(next_ip);
                self.exit(target);
                self.full_buffer(full);
            }
            Ending::Call { target } => {
                self.code.push_return_address(next_ip);
                self.exit(target);
                self.full_buffer(full);
            }
            Ending::IndirectJump(target) => {
                self.full_buffer_in_line(full);
                self.borrow(RCX);
                self.load_target(target);
                self.indirect();
            }
            Ending::IndirectCall(target) => {
                self.full_buffer_in_line(full);
                self.borrow(RCX);
                self.load_target(target);
                self.code.push_return_address(next_ip);
                self.indirect();
            }
            Ending::Return { extra_bytes } => {
                self.borrow(RCX);
                self.code.load(RCX, Memory::at(RSP, 0));
                self.code
                    .lea(RSP, Memory::at(RSP, 8 + i32::from(extra_bytes)));
                self.indirect();
                self.full_buffer(full);
            }
            Ending::SystemCall => {
                self.full_buffer_in_line(full);
                self.system_call();
            }
            Ending::Pause => {
                self.full_buffer_in_line(full);
                self.stub(Request::Pause, |site| DirectExit {
                    site,
                    target: next_ip,
                });
            }
        }
    }

    /// For endings whose code is too long for a short jump.
    fn full_buffer_in_line(&mut self, full: Option<Full>) {
        if full.is_some() {
            let over = self.code.jump_short();
            self.full_buffer(full);
            self.code.bind(over);
        }
    }

    fn load_target(&mut self, target: IndirectTarget) {
        match target {
            IndirectTarget::Register(register) => self.code.copy(RCX, register),
            IndirectTarget::Fixed(address) => {
                self.code.load_immediate(RCX, address);
                self.code.load(RCX, Memory::at(RCX, 0));
            }
            IndirectTarget::Memory(memory) => self.code.load(RCX, memory.into()),
        }
    }

    /// Goes to the original address in rcx, which is borrowed: see [`indirect`].
    fn indirect(&mut self) {
        let table = self.surroundings.indirect_table;
        self.borrow(RDX);
        self.code
            .store_near(self.field(offset_of!(Context, target)), RCX);
        self.code.load_immediate(RDX, table / 8);
        self.code.copy_low_word(RDX, RCX);
        self.code.load(RDX, Memory::scaled(RDX));
        self.code.lea(RCX, Memory::sum(RCX, RDX));
        let hit = self.code.jump_if_rcx_is_zero();
        self.code.jump(self.surroundings.trampolines.indirect_miss);
        self.code.bind(hit);
        self.code.load_immediate(RCX, table / 8);
        self.code.copy_low_word(RCX, RDX);
        self.code.jump_through_scaled(RCX, indirect::CODES);
    }

    fn system_call(&mut self) {
        // rcx is free: the kernel puts the address after the instruction into it.
        let next_ip = self.plan.next_ip;
        let record = self.code.position() + 10 + 5;
        self.set_exit(record as u32);
        self.code
            .jump(self.surroundings.trampolines.of(Request::SystemCall));
        debug_assert_eq!(self.code.position(), record);
        self.code.bytes(&[0; SystemCallExit::BYTES]);

        let perform = self.code.here();
        self.code.bytes(&SYSCALL);
        self.code.load_immediate(RCX, next_ip);
        self.exit(next_ip);

        let split = self.code.here();
        self.code.bytes(&SYSCALL);
        self.code.copy(RCX, RAX);
        let child = self.code.jump_if_rcx_is_zero();
        self.code.load_immediate(RCX, next_ip);
        self.exit_unlinked();
        self.code.bind(child);
        self.code.load_immediate(RCX, next_ip);
        // rcx holds the address anyway, so the child can go there without memory of its own.
        self.code.bytes(&[0xff, 0xe1]); // jmp rcx

        let unlinked = self.code.here();
        self.code.bytes(&SYSCALL);
        self.code.load_immediate(RCX, next_ip);
        self.exit_unlinked();

        SystemCallExit {
            block: self.id,
            perform,
            split,
            unlinked,
        }
        .write(self.code, record);
    }

    /// Jumps to the translation of `target`.
    fn exit(&mut self, target: u64) {
        let here = self.code.here();
        let site = self.code.jump(here);
        self.link_or_note(site, target);
    }

    /// Continues after the block, through the engine every time.
    fn exit_unlinked(&mut self) {
        self.code
            .store_near(self.field(offset_of!(Context, target)), RCX);
        self.code
            .jump(self.surroundings.trampolines.of(Request::Indirect));
    }

    fn link_or_note(&mut self, site: Relative32, target: u64) {
        match (self.surroundings.linked)(target) {
            Some(entry) => self.code.set_jump(site, entry),
            None => {
                if let Some(free) = self.unlinked.iter_mut().find(|exit| exit.is_none()) {
                    *free = Some(DirectExit { site, target });
                }
            }
        }
    }

    pub(super) fn stubs(&mut self) {
        let failed = self.check.map(|check| {
            let (site, target) = (check.failed, self.plan.start_ip);
            (Request::Changed, DirectExit { site, target })
        });
        let unlinked = self.unlinked.into_iter().flatten();
        let unlinked = unlinked.map(|exit| (Request::Direct, exit));
        for (request, exit) in unlinked.chain(failed) {
            let stub = self.code.here();
            self.code.set_jump(exit.site, stub);
            self.stub(request, |_| exit);
        }
    }

    /// Asks the engine for where `exit` goes. It gets the place of the stub's own jump, which can
    /// be linked.
    pub(super) fn stub(&mut self, request: Request, exit: impl FnOnce(Relative32) -> DirectExit) {
        let record = self.code.position() + usize::from(STUB_BYTES) - DirectExit::BYTES;
        self.set_exit(record as u32);
        let jump = self.code.jump(self.surroundings.trampolines.of(request));
        debug_assert_eq!(self.code.position(), record);
        exit(jump).write(self.code);
    }
}

/// A jump taken if the buffer is full, and where to return.
pub(super) struct Full {
    jump: Relative8,
    back: u64,
}
