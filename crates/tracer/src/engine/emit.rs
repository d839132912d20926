//! Writes the translation of a planned block.
//!
//! ```text
//!                  a stub                        if trusted: see `NEVER_ENTERED`
//! indirect entry:  load rdx, rcx                 an indirect branch has borrowed them
//! entry:           has the code changed?         unless trusted: see `check`
//!                  save two registers, load the trace pointer, store the block's number
//!                  if wanted: store the arguments
//!                  per instruction: store its addresses, then the instruction itself
//!                  advance the trace pointer, restore the registers
//!                  if the plan requires it: is the buffer full?
//!                  the translated branch
//!                  stubs and records for exits that are not linked yet
//! ```

mod ending;

use std::mem::offset_of;

use iced_x86::{Mnemonic, Register};

use super::assembler::{Assembler, General, Memory, RCX, RDX, RSP};
use super::check::{self, Check};
use super::context::{Context, Request};
use super::exit::DirectExit;
use super::plan::{Ending, Plan, PlannedInstruction};
use super::trampolines::{Trampolines, register_slot};
use crate::block::{BlockId, MAX_BLOCK_INSTRUCTIONS};
use crate::describe::{Recording, general_number};

/// Upper bound for any translation: instructions of 15 bytes with four recordings of up to 20 bytes
/// and a far operand each, the checks of every eight of their bytes, and a few hundred bytes at the
/// end.
pub(crate) const MAX_BLOCK_BYTES: usize = MAX_BLOCK_INSTRUCTIONS * (15 + 4 * 20 + 10)
    + MAX_BLOCK_INSTRUCTIONS * 15 / 8 * check::BYTES_PER_WORD
    + 3 * 1024;

/// The tag in a trace value that starts a block. As a sign-extended immediate, it cannot be an
/// address of user memory.
pub(crate) const BLOCK_TAG: u32 = 1 << 31;

/// Bytes of a stub.
const STUB_BYTES: u8 = 10 + 5 + 12;

/// Bytes between a trusted block's entries: two loads.
const BETWEEN_ENTRIES: u8 = 2 * 7;

/// A short jump from a trusted block's entry to the stub before it, which asks the engine for the
/// block. The instruction that it overwrites is longer, so nothing is in the middle of it.
pub(crate) const NEVER_ENTERED: [u8; 2] = [0xeb, (2 + BETWEEN_ENTRIES + STUB_BYTES).wrapping_neg()];

/// Where a block's code is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Emitted {
    pub entry: u64,
    pub indirect_entry: u64,
    /// Where it checks its code, if it does.
    pub check: Option<Check>,
    /// Where the translation of each instruction begins, in bytes from `indirect_entry`.
    pub offsets: [u16; MAX_BLOCK_INSTRUCTIONS],
}

/// What the translation of a block refers to.
pub(crate) struct Surroundings<'a> {
    pub context: u64,
    pub trampolines: &'a Trampolines,
    pub indirect_table: u64,
    /// Whether `rdrand` and `rdseed` return the same numbers in every process.
    pub random_numbers_repeat: bool,
    /// The code of already translated blocks.
    pub linked: &'a dyn Fn(u64) -> Option<u64>,
    /// The code that was planned, for a block that must check it on every entry.
    pub checked: Option<&'a [u8]>,
}

/// Writes the translation of `plan`, which will be block `id`.
pub(crate) fn emit(
    plan: &Plan,
    id: BlockId,
    code: &mut Assembler<'_>,
    surroundings: &Surroundings<'_>,
) -> Emitted {
    Emitter {
        plan,
        id,
        code,
        surroundings,
        unlinked: [None; 2],
        check: None,
    }
    .block()
}

struct Emitter<'a, 'c> {
    plan: &'a Plan,
    id: BlockId,
    code: &'a mut Assembler<'c>,
    surroundings: &'a Surroundings<'a>,
    unlinked: [Option<DirectExit>; 2],
    check: Option<Check>,
}

impl Emitter<'_, '_> {
    fn block(mut self) -> Emitted {
        if self.surroundings.checked.is_none() {
            let target = self.plan.start_ip;
            self.stub(Request::Direct, |site| DirectExit { site, target });
        }
        let indirect_entry = self.code.here();
        let entry = self.entries();
        self.begin();
        let mut offsets = [0; MAX_BLOCK_INSTRUCTIONS];
        let branches = self.plan.ending != Ending::Cut;
        let last = self.plan.len() - 1;
        let plan = self.plan;
        for (index, instruction) in plan.instructions().enumerate() {
            offsets[index] = (self.code.here() - indirect_entry) as u16;
            self.record(instruction, false);
            if !(branches && index == last) {
                self.instruction(instruction);
                self.record(instruction, true);
            }
        }
        self.finish();
        let full = self.plan.checks_buffer().then(|| self.check_buffer());
        self.ending(full);
        self.stubs();
        Emitted {
            entry,
            indirect_entry,
            check: self.check,
            offsets,
        }
    }

    /// Writes the indirect entry, and returns the other one, at which nothing is borrowed.
    fn entries(&mut self) -> u64 {
        let Some(source) = self.surroundings.checked else {
            let before = self.code.here();
            self.give_back(RDX);
            self.give_back(RCX);
            debug_assert_eq!(self.code.here() - before, u64::from(BETWEEN_ENTRIES));
            return self.code.here();
        };
        let ip = self.plan.start_ip;
        let (entry, check) = Check::write(self.code, self.surroundings.context, ip, source);
        self.check = Some(check);
        entry
    }

    // ---- recording ----

    fn begin(&mut self) {
        let recorder = self.plan.recorder;
        self.borrow(recorder);
        if self.plan.needs_helper {
            self.borrow(self.plan.helper);
        }
        self.code.load_near(recorder, self.trace_pointer());
        self.code
            .store_immediate32(Memory::at(recorder, 0), BLOCK_TAG | self.id.0);
        for (entry, register) in self.plan.arguments().enumerate() {
            if register != recorder {
                self.code.store(value_slot(recorder, entry), register);
            }
        }
        if let Some(entry) = self.plan.arguments().position(|r| r == recorder) {
            let helper = self.plan.helper;
            let slot = register_slot(self.surroundings.context, recorder);
            self.code.load_near(helper, slot);
            self.code.store(value_slot(recorder, entry), helper);
        }
    }

    fn finish(&mut self) {
        let recorder = self.plan.recorder;
        let bytes = 8 * (1 + i32::from(self.plan.recorded_values));
        self.code.lea(recorder, Memory::at(recorder, bytes));
        self.code.store_near(self.trace_pointer(), recorder);
        if self.plan.needs_helper {
            self.give_back(self.plan.helper);
        }
        self.give_back(recorder);
    }

    /// Stores what must be recorded before or after the instruction.
    fn record(&mut self, instruction: &PlannedInstruction, after: bool) {
        for recording in instruction.description.recordings.iter() {
            if matches!(recording, Recording::CountAfter { .. }) == after {
                self.record_one(recording);
            }
        }
    }

    fn record_one(&mut self, recording: Recording) {
        let recorder = self.plan.recorder;
        let value_slot = |entry: u16| value_slot(recorder, usize::from(entry));
        match recording {
            Recording::General { entry, register } => {
                self.code.store(value_slot(entry), encoded(register));
            }
            Recording::Count { entry } | Recording::CountAfter { entry } => {
                self.code.store(value_slot(entry), RCX);
            }
            Recording::Effective {
                entry,
                base,
                index,
                scale,
                displacement,
            } => {
                let some = |register| (register != Register::None).then(|| encoded(register));
                self.code.lea(
                    self.plan.helper,
                    Memory {
                        base: some(base),
                        index: some(index).map(|index| (index, scale)),
                        displacement,
                        address32: base.is_gpr32() || index.is_gpr32(),
                        segment: None,
                    },
                );
                self.code.store(value_slot(entry), self.plan.helper);
            }
            Recording::ThreadBase {
                entry,
                index,
                scale,
            } => {
                let helper = self.plan.helper;
                self.code
                    .load_near(helper, self.field(offset_of!(Context, fs_base)));
                if index != Register::None {
                    let sum = Memory {
                        index: Some((encoded(index), scale)),
                        ..Memory::at(helper, 0)
                    };
                    self.code.lea(helper, sum);
                }
                self.code.store(value_slot(entry), helper);
            }
            Recording::Vector { entry, register } => {
                self.code
                    .store_vector(value_slot(entry), register.number() as u8, register.size());
            }
            Recording::MaskBits { entry, register } => {
                self.code
                    .store_mask(value_slot(entry), register.number() as u8);
            }
        }
    }

    // ---- the instruction itself ----

    fn instruction(&mut self, instruction: &PlannedInstruction) {
        if let (true, Some(destination)) = (
            self.surroundings.random_numbers_repeat,
            random_destination(&instruction.decoded),
        ) {
            self.random_number(instruction, destination);
            return;
        }
        if !instruction.decoded.is_ip_rel_memory_operand() {
            self.code.bytes(instruction.bytes());
            return;
        }
        let target = instruction.decoded.ip_rel_memory_address();
        let mut bytes = instruction.bytes;
        let length = instruction.decoded.len();
        let at = instruction.displacement_offset;
        let near = Assembler::distance(self.code.here() + length as u64, target);
        match near {
            Some(distance) => bytes[at..at + 4].copy_from_slice(&distance.to_le_bytes()),
            None => {
                // The address goes to the helper; ModRM becomes [helper + 0], of the same length.
                self.code.load_immediate(self.plan.helper, target);
                bytes[at - 1] = 0x80 | bytes[at - 1] & 0x38 | self.plan.helper;
                bytes[at..at + 4].fill(0);
                clear_base_extension(&mut bytes[..at - 1]);
            }
        }
        self.code.bytes(&bytes[..length]);
    }

    /// Replaces `rdrand` or `rdseed` with a repeatable number. Computations before the instruction
    /// may change the flags, since the instruction sets all of them.
    fn random_number(&mut self, instruction: &PlannedInstruction, destination: Register) {
        let state = self.field(offset_of!(Context, random_state));
        let register = encoded(destination);
        self.code.load_near(register, state);
        self.code
            .multiply_near(register, self.field(offset_of!(Context, random_multiplier)));
        self.code.lea(register, Memory::at(register, 1));
        self.code.store_near(state, register);
        self.code.bytes(instruction.bytes());
        self.code.load_near(register, state);
        // The upper bits are the random ones.
        self.code.swap_bytes(register);
        if destination.is_gpr32() {
            self.code.zero_upper_half(register);
        }
    }

    fn field(&self, offset: usize) -> u64 {
        self.surroundings.context + offset as u64
    }

    fn trace_pointer(&self) -> u64 {
        self.field(offset_of!(Context, trace_pointer))
    }

    fn set_exit(&mut self, value: u32) {
        self.code
            .store_near_immediate32(self.field(offset_of!(Context, exit)), value);
    }

    fn borrow(&mut self, register: General) {
        self.code
            .store_near(register_slot(self.surroundings.context, register), register);
    }

    fn give_back(&mut self, register: General) {
        self.code
            .load_near(register, register_slot(self.surroundings.context, register));
    }
}

/// Returns where an instruction puts a random number, if it generates one of 32 or 64 bits.
fn random_destination(decoded: &iced_x86::Instruction) -> Option<Register> {
    let is_random = matches!(decoded.mnemonic(), Mnemonic::Rdrand | Mnemonic::Rdseed);
    let destination = decoded.op0_register();
    let is_whole = destination.is_gpr64() || destination.is_gpr32();
    (is_random && is_whole && general_number(destination) != Some(usize::from(RSP)))
        .then_some(destination)
}

/// Returns where a recorded value belongs, behind the block's number.
fn value_slot(recorder: General, entry: usize) -> Memory {
    Memory::at(recorder, 8 * (1 + entry as i32))
}

fn encoded(register: Register) -> General {
    general_number(register).expect("the describer lets general registers through only") as General
}

/// Clears the bit that would extend the base register, in the prefix of an instruction whose
/// operand was RIP-relative and ignored the bit. `head` ends before ModRM.
fn clear_base_extension(head: &mut [u8]) {
    let legacy = [
        0x66, 0x67, 0xf2, 0xf3, 0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65, 0xf0,
    ];
    let mut at = 0;
    while at < head.len() {
        match head[at] {
            byte if legacy.contains(&byte) => {}
            // REX.B. A REX that is not the last prefix has no effect, so changing it is harmless.
            0x40..=0x4f => head[at] &= !1,
            _ => break,
        }
        at += 1;
    }
    // VEX, EVEX and XOP keep the bit inverted in bit 5 of the next byte; the two-byte VEX has none.
    // 8F without a payload is an opcode, `pop`.
    if at + 1 < head.len() && matches!(head[at], 0xc4 | 0x62 | 0x8f) {
        head[at + 1] |= 1 << 5;
    }
}
