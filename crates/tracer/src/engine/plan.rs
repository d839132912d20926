//! Reads the program's code and decides where a block ends and which registers can be borrowed.
//! Does not write code.

use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Mnemonic, OpKind, Register};

use super::assembler::{General, Memory, RCX, RSP};
use crate::block::{Arguments, MAX_BLOCK_INSTRUCTIONS};
use crate::describe::{Describer, Description, Recording, ThreadFacts, general_number};

/// The longest instruction of the architecture.
pub(crate) const MAX_INSTRUCTION_BYTES: usize = 15;

/// An instruction with everything its translation needs.
#[derive(Clone, Copy)]
pub(crate) struct PlannedInstruction {
    pub decoded: iced_x86::Instruction,
    pub bytes: [u8; MAX_INSTRUCTION_BYTES],
    /// Offset of the displacement in `bytes`, for RIP-relative operands.
    pub displacement_offset: usize,
    pub description: Description,
}

impl PlannedInstruction {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.decoded.len()]
    }
}

/// How a block ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// In the middle of straight code.
    Cut,
    Jump {
        target: u64,
    },
    /// `jcc`; the low half of its opcode.
    Branch {
        condition: u8,
        target: u64,
    },
    /// `loop`, `loope`, `loopne`, `jrcxz`, `jecxz`, which have only short forms.
    CountBranch {
        target: u64,
    },
    Call {
        target: u64,
    },
    IndirectJump(IndirectTarget),
    IndirectCall(IndirectTarget),
    Return {
        /// Number of bytes it removes from the stack besides the return address.
        extra_bytes: u16,
    },
    SystemCall,
    /// `pause`, at which another thread may get its turn.
    Pause,
}

/// Where an indirect branch finds its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IndirectTarget {
    Register(General),
    /// An absolute address.
    Fixed(u64),
    Memory(IndirectMemory),
}

/// A memory operand with registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IndirectMemory {
    pub base: Option<General>,
    pub index: Option<(General, u8)>,
    pub displacement: i32,
    pub address32: bool,
    pub segment: Option<u8>,
}

impl From<IndirectMemory> for Memory {
    fn from(memory: IndirectMemory) -> Memory {
        Memory {
            base: memory.base,
            index: memory.index,
            displacement: memory.displacement,
            address32: memory.address32,
            segment: memory.segment,
        }
    }
}

/// A block before it is translated.
pub(crate) struct Plan {
    instructions: [Option<PlannedInstruction>; MAX_BLOCK_INSTRUCTIONS],
    len: usize,
    pub ending: Ending,
    pub start_ip: u64,
    pub next_ip: u64,
    pub recorded_values: u16,
    /// Whether the block records its arguments first.
    pub records_arguments: bool,
    /// Holds the trace pointer.
    pub recorder: General,
    /// Holds computed addresses. Below 8 and not rsp, so that it needs no REX bit as a base.
    pub helper: General,
    pub needs_helper: bool,
}

/// Why not even the first instruction at an address can be translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refusal(pub &'static str);

impl Plan {
    /// Plans the block at `ip`, whose code is in `code` and may continue beyond it.
    ///
    /// `near` returns whether an address is within reach of a RIP-relative operand in the
    /// translation.
    pub(crate) fn make(
        code: &[u8],
        ip: u64,
        records_arguments: bool,
        describer: &mut Describer,
        facts: &ThreadFacts,
        near: impl Fn(u64) -> bool,
    ) -> Result<Plan, Refusal> {
        let mut plan = Plan {
            instructions: [None; MAX_BLOCK_INSTRUCTIONS],
            len: 0,
            ending: Ending::Cut,
            start_ip: ip,
            next_ip: ip,
            recorded_values: 0,
            records_arguments,
            recorder: 0,
            helper: 0,
            needs_helper: false,
        };
        let mut decoder = Decoder::with_ip(64, code, ip, DecoderOptions::NONE);
        let mut used = 1 << RSP;
        if records_arguments {
            describer.begin_block_with_arguments();
        } else {
            describer.begin_block();
        }
        while plan.len < MAX_BLOCK_INSTRUCTIONS {
            match plan.next(&mut decoder, code, used, describer, facts, &near) {
                Ok(next) => {
                    used = next.used;
                    plan.instructions[plan.len] = Some(next.instruction);
                    plan.len += 1;
                    plan.next_ip = next.instruction.decoded.next_ip();
                    plan.recorded_values = describer.recorded_values();
                    plan.needs_helper |= next.needs_helper;
                    plan.ending = next.ending;
                    if next.ending != Ending::Cut {
                        break;
                    }
                }
                // The next block will begin with it, and fail if it is still impossible.
                Err(_) if plan.len > 0 => break,
                Err(refusal) => return Err(refusal),
            }
        }
        let arguments = plan
            .arguments()
            .fold(0, |all, register| all | 1 << register);
        // A block must not end earlier for its arguments, so these may be borrowed if all others
        // are in use.
        let (recorder, helper) = borrowed(used | arguments)
            .or_else(|| borrowed(used))
            .ok_or(Refusal("it leaves no register to borrow"))?;
        plan.recorder = recorder;
        plan.helper = helper;
        plan.needs_helper |= arguments >> recorder & 1 == 1;
        Ok(plan)
    }

    pub(crate) fn instructions(&self) -> impl Iterator<Item = &PlannedInstruction> {
        self.instructions[..self.len].iter().flatten()
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns the registers that are recorded before the first instruction, in this order.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = General> + use<> {
        let recorded: &[Register] = if self.records_arguments {
            &Arguments::REGISTERS
        } else {
            &[]
        };
        recorded.iter().map(|register| register.number() as General)
    }

    /// Returns whether to check the trace buffer at the end of this block.
    ///
    /// Between two checks, execution only moves forward within one 2 KiB piece of code. No
    /// instruction records more than two values per byte of its length. So there are less than 4096
    /// values, plus those of the last block, for which the buffer has slack. A block that records
    /// its arguments always checks.
    pub(crate) fn checks_buffer(&self) -> bool {
        const PIECE_BITS: u32 = 11;
        let leaves =
            |exit: u64| exit <= self.start_ip || exit >> PIECE_BITS != self.start_ip >> PIECE_BITS;
        match self.ending {
            _ if self.records_arguments => true,
            Ending::Cut | Ending::Pause => leaves(self.next_ip),
            Ending::Jump { target } | Ending::Call { target } => leaves(target),
            Ending::Branch { target, .. } | Ending::CountBranch { target } => {
                leaves(target) || leaves(self.next_ip)
            }
            Ending::IndirectJump(_)
            | Ending::IndirectCall(_)
            | Ending::Return { .. }
            | Ending::SystemCall => true,
        }
    }

    /// Returns a bit mask of the registers whose values are in the context while the block's
    /// instructions execute.
    pub(crate) fn borrowed(&self) -> u16 {
        let helper = u16::from(self.needs_helper) << self.helper;
        1 << self.recorder | helper
    }

    /// Returns the same while the block's translated branch reads or writes the program's memory.
    pub(crate) fn borrowed_by_branch(&self) -> u16 {
        match self.ending {
            Ending::IndirectJump(_) | Ending::IndirectCall(_) | Ending::Return { .. } => 1 << RCX,
            _ => 0,
        }
    }

    fn next(
        &self,
        decoder: &mut Decoder<'_>,
        code: &[u8],
        used: u16,
        describer: &mut Describer,
        facts: &ThreadFacts,
        near: impl Fn(u64) -> bool,
    ) -> Result<Next, Refusal> {
        if !decoder.can_decode() {
            return Err(Refusal("it reaches beyond executable memory"));
        }
        let position = decoder.position();
        let decoded = decoder.decode();
        if decoded.is_invalid() {
            return Err(Refusal("it cannot be decoded"));
        }
        let encoded = &code[position..position + decoded.len()];
        if decoded.code() == Code::Pause
            && matches!(
                encoded,
                [.., 0x41 | 0x43 | 0x45 | 0x47 | 0x49 | 0x4b | 0x4d | 0x4f, _]
            )
        {
            // The decoder sees `pause`, but the CPU exchanges r8 and rax.
            return Err(Refusal("it is `xchg` with a prefix that means `pause`"));
        }
        let ending = ending_of(&decoded, facts)?;
        if stores_x87_address(&decoded) && !(is_xsave(&decoded) && self.leaves_out_x87()) {
            // It would store an address of the translation.
            return Err(Refusal("it stores the address of the last x87 instruction"));
        }
        let description = describer
            .describe(&decoded, facts)
            .map_err(|error| Refusal(error.as_str()))?;
        let used = used | description.registers;
        if borrowed(used).is_none() {
            return Err(Refusal("it leaves no register to borrow"));
        }
        let relative = decoded.is_ip_rel_memory_operand();
        if relative && decoded.memory_base() == Register::EIP {
            return Err(Refusal("it addresses memory relative to EIP"));
        }
        let needs_helper =
            description.recordings.iter().any(|recording| {
                matches!(
                    recording,
                    Recording::Effective { .. } | Recording::ThreadBase { .. }
                )
            }) || relative && ending == Ending::Cut && !near(decoded.ip_rel_memory_address());
        let mut bytes = [0; MAX_INSTRUCTION_BYTES];
        bytes[..decoded.len()].copy_from_slice(encoded);
        Ok(Next {
            instruction: PlannedInstruction {
                decoded,
                bytes,
                displacement_offset: decoder.get_constant_offsets(&decoded).displacement_offset(),
                description,
            },
            ending,
            used,
            needs_helper,
        })
    }
}

/// Returns whether the instruction stores the address of the last x87 instruction.
fn stores_x87_address(decoded: &iced_x86::Instruction) -> bool {
    let mnemonic = decoded.mnemonic();
    is_xsave(decoded)
        || matches!(mnemonic, Mnemonic::Fxsave | Mnemonic::Fxsave64)
        || matches!(mnemonic, Mnemonic::Fnstenv | Mnemonic::Fstenv)
        || matches!(mnemonic, Mnemonic::Fnsave | Mnemonic::Fsave)
}

/// Returns whether the instruction stores the parts of the state that eax names.
fn is_xsave(decoded: &iced_x86::Instruction) -> bool {
    matches!(
        decoded.mnemonic(),
        Mnemonic::Xsave
            | Mnemonic::Xsave64
            | Mnemonic::Xsavec
            | Mnemonic::Xsavec64
            | Mnemonic::Xsaveopt
            | Mnemonic::Xsaveopt64
    )
}

impl Plan {
    /// Returns whether the block sets eax so that `xsave` leaves out the x87 state, as the dynamic
    /// linker does when it binds a symbol.
    fn leaves_out_x87(&self) -> bool {
        const X87: u32 = 1;
        for instruction in self.instructions[..self.len].iter().rev().flatten() {
            let decoded = &instruction.decoded;
            let is_first_alone = matches!(
                decoded.mnemonic(),
                Mnemonic::Mov | Mnemonic::Xor | Mnemonic::Lea | Mnemonic::Sub | Mnemonic::And
            );
            if decoded.code() == Code::Mov_r32_imm32 && decoded.op0_register() == Register::EAX {
                return decoded.immediate32() & X87 == 0;
            }
            let writes_eax = decoded.op0_kind() == OpKind::Register
                && decoded.op0_register().full_register() == Register::RAX;
            if !is_first_alone || writes_eax {
                return false;
            }
        }
        false
    }
}

struct Next {
    instruction: PlannedInstruction,
    ending: Ending,
    used: u16,
    needs_helper: bool,
}

/// Returns two registers that are not in `used`: any, and one below 8.
fn borrowed(used: u16) -> Option<(General, General)> {
    // Indirect branches borrow rcx and rdx, so use these last.
    let helper = [0, 6, 7, 3, 5, 2, 1]
        .into_iter()
        .find(|&register| used >> register & 1 == 0)?;
    let recorder = [8, 9, 10, 11, 12, 13, 14, 15, 0, 6, 7, 3, 5, 2, 1]
        .into_iter()
        .find(|&register| used >> register & 1 == 0 && register != helper)?;
    Some((recorder, helper))
}

/// Returns the ending of a block whose last instruction is this, or `Cut` if it can continue.
fn ending_of(decoded: &iced_x86::Instruction, facts: &ThreadFacts) -> Result<Ending, Refusal> {
    let to_near = decoded.op_count() > 0 && decoded.op0_kind() == OpKind::NearBranch64;
    let target = decoded.near_branch_target();
    match decoded.flow_control() {
        FlowControl::Next => match decoded.mnemonic() {
            Mnemonic::Wrfsbase | Mnemonic::Wrgsbase => {
                Err(Refusal("it changes the base of a segment"))
            }
            Mnemonic::Pause if facts.several_threads => Ok(Ending::Pause),
            _ => Ok(Ending::Cut),
        },
        FlowControl::UnconditionalBranch if to_near => Ok(Ending::Jump { target }),
        FlowControl::ConditionalBranch if to_near && decoded.is_jcc_short_or_near() => {
            Ok(Ending::Branch {
                // Conditions are numbered as in the opcode, after `None`.
                condition: decoded.condition_code() as u8 - 1,
                target,
            })
        }
        FlowControl::ConditionalBranch
            if to_near && (decoded.is_jcx_short() || decoded.is_loop() || decoded.is_loopcc()) =>
        {
            Ok(Ending::CountBranch { target })
        }
        FlowControl::Call if decoded.code() == Code::Syscall => Ok(Ending::SystemCall),
        FlowControl::Call if to_near => Ok(Ending::Call { target }),
        FlowControl::IndirectBranch if decoded.code() == Code::Jmp_rm64 => {
            Ok(Ending::IndirectJump(indirect_target(decoded, facts)?))
        }
        FlowControl::IndirectCall if decoded.code() == Code::Call_rm64 => {
            Ok(Ending::IndirectCall(indirect_target(decoded, facts)?))
        }
        FlowControl::Return if decoded.code() == Code::Retnq => {
            Ok(Ending::Return { extra_bytes: 0 })
        }
        FlowControl::Return if decoded.code() == Code::Retnq_imm16 => Ok(Ending::Return {
            extra_bytes: decoded.immediate16(),
        }),
        FlowControl::XbeginXabortXend => Err(Refusal("it belongs to transactional memory")),
        FlowControl::Interrupt | FlowControl::Exception => Err(Refusal("it is a trap")),
        _ => Err(Refusal("it is a far or 16-bit branch")),
    }
}

fn indirect_target(
    decoded: &iced_x86::Instruction,
    facts: &ThreadFacts,
) -> Result<IndirectTarget, Refusal> {
    if decoded.op0_kind() == OpKind::Register {
        return general(decoded.op0_register()).map(IndirectTarget::Register);
    }
    let segment = decoded.memory_segment();
    let segment_base = match segment {
        Register::FS => facts.fs_base,
        Register::GS => facts.gs_base,
        _ => 0,
    };
    let base = decoded.memory_base();
    let index = decoded.memory_index();
    let is_absolute = base == Register::None && index == Register::None;
    if segment == Register::FS && facts.several_threads && is_absolute {
        return Err(Refusal("its target lies in memory of the thread"));
    }
    if decoded.is_ip_rel_memory_operand() || is_absolute {
        return Ok(IndirectTarget::Fixed(
            decoded.memory_displacement64().wrapping_add(segment_base),
        ));
    }
    let some = |register: Register| match register {
        Register::None => Ok(None),
        register => general(register).map(Some),
    };
    Ok(IndirectTarget::Memory(IndirectMemory {
        base: some(base)?,
        index: some(index)?.map(|index| (index, decoded.memory_index_scale() as u8)),
        displacement: decoded.memory_displacement64() as i32,
        address32: base.is_gpr32() || index.is_gpr32(),
        segment: match segment {
            Register::FS => Some(0x64),
            Register::GS => Some(0x65),
            _ => None,
        },
    }))
}

fn general(register: Register) -> Result<General, Refusal> {
    general_number(register)
        .map(|number| number as General)
        .ok_or(Refusal("its address form is not supported"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns why the first instruction of `code` cannot be translated.
    fn refusal(code: &[u8]) -> &'static str {
        let mut describer = Describer::new();
        let facts = ThreadFacts::default();
        match Plan::make(code, 0x1000, false, &mut describer, &facts, |_| true) {
            Err(Refusal(reason)) => reason,
            Ok(plan) => panic!("{code:02x?} ends with {:?}", plan.ending),
        }
    }

    /// None is executed, because not every machine has them all. `xabort` and `xend` are not
    /// branches outside a transaction, and a trace cannot begin one.
    #[test]
    fn untranslatable_code_is_refused_with_reason() {
        let refused: [(&[u8], &str); 22] = [
            (&[0xc7, 0xf8, 0, 0, 0, 0], "transactional memory"), // xbegin
            (&[0xcc], "a trap"),                                 // int3
            (&[0xcd, 0x80], "a trap"),                           // int 0x80
            (&[0xf1], "a trap"),                                 // int1
            (&[0x0f, 0x0b], "a trap"),                           // ud2
            (&[0x48, 0xcf], "far or 16-bit branch"),             // iretq
            (&[0xcb], "far or 16-bit branch"),                   // retf
            (&[0xff, 0x28], "far or 16-bit branch"),             // jmp far [rax]
            (&[0x0f, 0x34], "far or 16-bit branch"),             // sysenter
            (&[0xf3, 0x0f, 0xae, 0xd0], "base of a segment"),    // wrfsbase eax
            (&[0x67, 0x8b, 0x05, 0, 0, 0, 0], "relative to EIP"), // mov eax, [eip]
            (&[0xf3, 0x41, 0x90], "means `pause`"),              // xchg r8d, eax
            (&[0xd7], "address form"),                           // xlatb
            (&[0xc8, 0, 0, 31], "too many memory accesses"),     // enter 0, 31
            (&[0x0f, 0xae, 0x00], "last x87 instruction"),       // fxsave [rax]
            (&[0x48, 0x0f, 0xae, 0x00], "last x87 instruction"), // fxsave64 [rax]
            (&[0xd9, 0x30], "last x87 instruction"),             // fnstenv [rax]
            (&[0xdd, 0x30], "last x87 instruction"),             // fnsave [rax]
            (&[0x0f, 0xae, 0x21], "last x87 instruction"),       // xsave [rcx]
            (&[0x0f, 0xc7, 0x21], "last x87 instruction"),       // xsavec [rcx]
            (&[0x06], "cannot be decoded"),                      // push es, of 32-bit code
            (&[], "beyond executable memory"),
        ];
        for (code, reason) in refused {
            assert!(refusal(code).contains(reason), "{code:02x?}");
        }
    }

    #[test]
    fn xsave_without_the_x87_state_is_translated() {
        const XSAVE: [u8; 3] = [0x0f, 0xae, 0x21]; // xsave [rcx]
        let lengths = |before: &[u8]| {
            let mut describer = Describer::new();
            let facts = ThreadFacts::default();
            let code = [before, &XSAVE].concat();
            let plan = Plan::make(&code, 0x1000, false, &mut describer, &facts, |_| true);
            (plan.unwrap().next_ip - 0x1000, code.len() as u64)
        };
        let is_translated = |before: &[u8]| {
            let (planned, whole) = lengths(before);
            planned == whole
        };
        let without = [0xb8, 0xee, 0, 0, 0]; // mov eax, 0xee
        assert!(is_translated(&[&without[..], &[0x31, 0xd2]].concat())); // xor edx, edx
        assert!(!is_translated(&[0xb8, 0xef, 0, 0, 0])); // mov eax, 0xef
        assert!(!is_translated(&[&without[..], &[0xff, 0xc0]].concat())); // inc eax
        assert!(!is_translated(&[&without[..], &[0xb0, 1]].concat())); // mov al, 1
        assert!(!is_translated(&[0x90])); // nop
    }

    #[test]
    fn block_ends_before_refused_instruction() {
        let mut describer = Describer::new();
        let facts = ThreadFacts::default();
        let code = [0x90, 0x90, 0xcc]; // nop; nop; int3
        let plan = Plan::make(&code, 0x1000, false, &mut describer, &facts, |_| true).unwrap();
        assert_eq!((plan.len(), plan.ending), (2, Ending::Cut));
        assert_eq!(plan.next_ip, 0x1002);
    }
}
