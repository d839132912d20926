//! Forms of one mnemonic that cores execute differently.

use std::ops::RangeInclusive;

use iced_x86::{Instruction, Mnemonic, OpKind, Register, RflagsBits};
use topdown_tracer::AccessKind;

use super::mnemonics::class_of;
use crate::class::Class;

/// Returns the class of an instruction, by mnemonic, operand kinds, widths and addressing.
pub(super) fn class(instruction: &Instruction) -> Class {
    let locked = instruction.has_lock_prefix()
        || (instruction.mnemonic() == Mnemonic::Xchg && has_memory(instruction));
    if locked {
        return Class::Atomic;
    }
    match class_of(instruction.mnemonic()) {
        Class::IntMove | Class::IntAlu | Class::IntAdd if uses_high_byte(instruction) => {
            Class::HighByte
        }
        Class::IntMove => integer_move(instruction),
        Class::IntAlu => extension(instruction),
        Class::IntAdd if adds_immediate(instruction) => Class::IntAddImmediate,
        Class::IntShift if shifts_by_cl(instruction) => Class::IntShiftByCl,
        Class::CondMove if reads_two_flag_groups(instruction) => Class::CondMoveTwoFlags,
        Class::SetCondition if reads_two_flag_groups(instruction) => Class::SetConditionTwoFlags,
        Class::CondMove if compares_signs(instruction) => Class::CondMoveSigned,
        Class::Lea => address_computation(instruction),
        Class::Multiply if instruction.op_count() == 1 => Class::MultiplyWide,
        Class::Divide64 if !divides_64_bits(instruction) => Class::Divide32,
        Class::ByteSwap if instruction.op0_register().is_gpr64() => Class::ByteSwap64,
        // `movsd` and `cmpsd` each name both a string instruction and a scalar one.
        Class::StringStep if touches_vector(instruction) => match instruction.mnemonic() {
            Mnemonic::Cmpsd => Class::FpCompare,
            _ => vector_move(instruction),
        },
        Class::StringStep if repeats(instruction) => Class::StringRepeat,
        Class::VecMove => vector_move(instruction),
        Class::VecShift if shifts_by_register(instruction) => Class::VecShiftByXmm,
        Class::VecCompare if instruction.op0_register().is_k() => Class::VecMaskCompare,
        Class::FpCompare if instruction.op0_register().is_k() => Class::VecMaskCompare,
        Class::MaskMove => mask_move(instruction),
        // The load port puts the elements where they belong.
        Class::FpConvertWidth | Class::FpFromInt if widens_from_memory(instruction) => {
            Class::FpConvert
        }
        Class::FpDivide32 if vector_bytes(instruction) > 16 => Class::FpDivide32Wide,
        Class::FpDivide64 if vector_bytes(instruction) > 16 => Class::FpDivide64Wide,
        Class::FpSqrt32 if vector_bytes(instruction) > 16 => Class::FpSqrt32Wide,
        Class::FpSqrt64 if vector_bytes(instruction) > 16 => Class::FpSqrt64Wide,
        // Storing the upper half needs fewer pipes than loading it.
        Class::VecShuffleFloats if only_stores(instruction) => Class::VecShuffle,
        Class::VecWiden if only_loads(instruction) && moves_loaded(instruction) => {
            Class::VecWidenLoad
        }
        Class::VecShuffle | Class::VecShuffleFloats | Class::VecWiden
            if only_loads(instruction) =>
        {
            Class::MemoryMove
        }
        Class::VecWiden if stays_in_lane(instruction) && is_broadcast(instruction) => {
            Class::VecShuffleFloats
        }
        Class::VecWiden if stays_in_lane(instruction) => Class::VecWidenLane,
        // Inserting or extracting the half that is element 0 of memory needs no shuffle.
        Class::VecWiden if only_stores(instruction) => Class::MemoryMove,
        class => class,
    }
}

/// Returns the width in bytes of the widest vector register among the operands, or 0 if there is
/// none.
pub(super) fn vector_bytes(instruction: &Instruction) -> usize {
    (0..instruction.op_count())
        .map(|operand| instruction.op_register(operand))
        .filter(|register| register.is_vector_register())
        .map(|register| register.size())
        .max()
        .unwrap_or(0)
}

/// Returns whether the result is independent of the sources: `xor eax, eax` and similar.
pub(super) fn ignores_sources(instruction: &Instruction) -> bool {
    use Mnemonic::*;
    let same = match instruction.op_count() {
        2 => same_registers(instruction, 0, 1),
        3 => same_registers(instruction, 1, 2),
        _ => false,
    };
    same && (is_zeroing(instruction)
        || matches!(
            instruction.mnemonic(),
            Pcmpeqb | Pcmpeqw | Pcmpeqd | Pcmpeqq | Vpcmpeqb | Vpcmpeqw | Vpcmpeqd | Vpcmpeqq
        ))
}

/// Returns whether, with equal sources, the result is zero and rename knows it.
pub(super) fn is_zeroing(instruction: &Instruction) -> bool {
    use Mnemonic::*;
    let gpr = instruction.op0_register().is_gpr32() || instruction.op0_register().is_gpr64();
    match instruction.mnemonic() {
        Xor | Sub => gpr,
        Pxor | Xorps | Xorpd | Vpxor | Vpxord | Vpxorq | Vxorps | Vxorpd => true,
        Psubb | Psubw | Psubd | Psubq | Vpsubb | Vpsubw | Vpsubd | Vpsubq => true,
        Pcmpgtb | Pcmpgtw | Pcmpgtd | Pcmpgtq => true,
        _ => false,
    }
}

/// Returns whether a register is moved to itself, which clears its upper half or does nothing.
pub(super) fn is_own_move(instruction: &Instruction) -> bool {
    let from = instruction.op1_kind() == OpKind::Register;
    from && instruction.op0_register().full_register() == instruction.op1_register().full_register()
}

/// Returns whether it extends the low byte of another general register with zeros.
pub(super) fn is_byte_extension(instruction: &Instruction) -> bool {
    let from = instruction.op1_register();
    instruction.mnemonic() == Mnemonic::Movzx
        && instruction.op0_register().size() >= 4
        && instruction.op1_kind() == OpKind::Register
        && from.is_gpr8()
        && !is_high_byte(from)
        && !is_own_move(instruction)
}

/// Returns whether an instruction without memory operand has a register that is a high byte.
fn uses_high_byte(instruction: &Instruction) -> bool {
    let registers = (0..instruction.op_count()).map(|operand| instruction.op_register(operand));
    !has_memory(instruction) && registers.into_iter().any(is_high_byte)
}

fn is_high_byte(register: Register) -> bool {
    use Register::*;
    matches!(register, AH | BH | CH | DH)
}

/// Returns whether an access changes memory by an immediate, or without any operand.
pub(super) fn is_changed_by_constant(instruction: &Instruction, kind: AccessKind) -> bool {
    let mut kinds = (0..instruction.op_count()).map(|operand| instruction.op_kind(operand));
    kind == AccessKind::ReadWrite
        && !instruction.has_lock_prefix()
        && kinds.all(|kind| kind != OpKind::Register)
}

fn same_registers(instruction: &Instruction, first: u32, second: u32) -> bool {
    instruction.op_kind(first) == OpKind::Register
        && instruction.op_kind(second) == OpKind::Register
        && instruction.op_register(first) == instruction.op_register(second)
}

fn has_memory(instruction: &Instruction) -> bool {
    (0..instruction.op_count()).any(|operand| instruction.op_kind(operand) == OpKind::Memory)
}

fn divides_64_bits(instruction: &Instruction) -> bool {
    instruction.op0_register().is_gpr64()
        || (has_memory(instruction) && instruction.memory_size().size() == 8)
}

fn only_loads(instruction: &Instruction) -> bool {
    instruction.op_count() == 2 && instruction.op1_kind() == OpKind::Memory
}

/// Returns whether it is a broadcast or a widening move between 128-bit registers.
fn stays_in_lane(instruction: &Instruction) -> bool {
    instruction.op_count() == 2
        && instruction.op0_register().is_xmm()
        && instruction.op1_register().is_xmm()
}

/// Returns whether what it loads must be moved inside the register: not by load ports.
fn moves_loaded(instruction: &Instruction) -> bool {
    use Mnemonic::*;
    let is_wide = vector_bytes(instruction) > 16;
    match instruction.mnemonic() {
        Vpbroadcastb | Vpbroadcastw => true,
        Vpmovsxbd | Vpmovsxbq | Vpmovsxbw | Vpmovsxdq | Vpmovsxwd | Vpmovsxwq => is_wide,
        Vpmovzxbd | Vpmovzxbq | Vpmovzxbw | Vpmovzxdq | Vpmovzxwd | Vpmovzxwq => is_wide,
        _ => false,
    }
}

fn is_broadcast(instruction: &Instruction) -> bool {
    use Mnemonic::*;
    matches!(
        instruction.mnemonic(),
        Vbroadcastss | Vpbroadcastb | Vpbroadcastw | Vpbroadcastd | Vpbroadcastq
    )
}

/// Returns whether it converts what it loads, without narrowing it.
fn widens_from_memory(instruction: &Instruction) -> bool {
    use Mnemonic::*;
    let widens = matches!(
        instruction.mnemonic(),
        Cvtdq2pd
            | Cvtps2pd
            | Cvtss2sd
            | Cvtsi2sd
            | Cvtsi2ss
            | Vcvtdq2pd
            | Vcvtps2pd
            | Vcvtss2sd
            | Vcvtsi2sd
            | Vcvtsi2ss
    );
    widens && has_memory(instruction)
}

fn only_stores(instruction: &Instruction) -> bool {
    instruction.op0_kind() == OpKind::Memory
}

fn touches_vector(instruction: &Instruction) -> bool {
    vector_bytes(instruction) > 0
}

fn integer_move(instruction: &Instruction) -> Class {
    let to = instruction.op0_register();
    if has_memory(instruction) || instruction.op1_kind() == OpKind::Memory {
        return match instruction.mnemonic() {
            Mnemonic::Movbe => Class::ByteSwap,
            // It merges with the rest of its register after the load.
            _ if to.is_gpr8() || to.is_gpr16() => Class::IntConstant,
            _ => Class::MemoryMove,
        };
    }
    let from_register = instruction.op1_kind() == OpKind::Register;
    if from_register && (to.is_gpr32() || to.is_gpr64()) {
        Class::IntMove
    } else {
        Class::IntConstant
    }
}

/// Classifies extensions: zero and sign extension from memory is done by the load port.
fn extension(instruction: &Instruction) -> Class {
    use Mnemonic::*;
    let extends = matches!(instruction.mnemonic(), Movzx | Movsx | Movsxd);
    if extends && only_loads(instruction) {
        Class::MemoryMove
    } else {
        Class::IntAlu
    }
}

/// Returns how many slots of an entry of the cache of decoded operations an instruction takes: two
/// with an immediate of eight bytes, or with an immediate and a displacement.
pub(super) fn entry_slots(instruction: &Instruction) -> u8 {
    let kinds = || (0..instruction.op_count()).map(|number| instruction.op_kind(number));
    let is_immediate = |kind| {
        use OpKind::*;
        matches!(
            kind,
            Immediate8
                | Immediate16
                | Immediate32
                | Immediate8to16
                | Immediate8to32
                | Immediate8to64
                | Immediate32to64
        )
    };
    let is_displaced = instruction.memory_displ_size() > 0;
    let is_wide = kinds().any(|kind| kind == OpKind::Immediate64)
        || (is_displaced && kinds().any(is_immediate));
    if is_wide { 2 } else { 1 }
}

/// The immediates that Golden Cove adds at rename: measured, see `cores/golden_cove.rs`.
const SMALL: RangeInclusive<i64> = -1024..=1023;

fn adds_immediate(instruction: &Instruction) -> bool {
    if instruction.op0_kind() != OpKind::Register || !instruction.op0_register().is_gpr64() {
        return false;
    }
    match instruction.op_count() {
        1 => true,
        _ => match instruction.op1_kind() {
            OpKind::Register | OpKind::Memory => false,
            _ => SMALL.contains(&(instruction.immediate(1) as i64)),
        },
    }
}

/// Returns whether it extends the sign of what it loads.
pub(super) fn extends_sign(instruction: &Instruction) -> bool {
    matches!(instruction.mnemonic(), Mnemonic::Movsx | Mnemonic::Movsxd)
}

/// Returns the register that gets the upper half of a product, or the remainder of a division,
/// unless that is part of `ax`.
pub(super) fn high_half(instruction: &Instruction) -> Register {
    let factor = instruction.op0_register();
    let is_of_bytes = factor.is_gpr8() || instruction.memory_size().size() == 1;
    match instruction.op_count() {
        1 if is_of_bytes => Register::None,
        1 => Register::RDX,
        _ => factor,
    }
}

/// Returns the register that selects what is blended.
pub(super) fn selector(instruction: &Instruction) -> Register {
    match instruction.op_count() {
        4 => instruction.op_register(3),
        _ => Register::XMM0,
    }
}

fn shifts_by_cl(instruction: &Instruction) -> bool {
    instruction.op_count() == 2 && instruction.op1_register() == Register::CL
}

fn shifts_by_register(instruction: &Instruction) -> bool {
    let count = instruction.op_count();
    count >= 2 && instruction.op_kind(count - 1) != OpKind::Immediate8
}

fn reads_two_flag_groups(instruction: &Instruction) -> bool {
    let read = instruction.rflags_read();
    read & RflagsBits::CF != 0 && read & RflagsBits::ZF != 0
}

fn compares_signs(instruction: &Instruction) -> bool {
    let read = instruction.rflags_read();
    read & RflagsBits::SF != 0 && read & RflagsBits::OF != 0
}

fn address_computation(instruction: &Instruction) -> Class {
    let base = instruction.memory_base() != Register::None;
    let index = instruction.memory_index() != Register::None;
    let displaced = instruction.memory_displacement64() != 0;
    let displacement = instruction.memory_displacement64() as i64;
    let offset = base && !index && SMALL.contains(&displacement);
    if offset && instruction.op0_register().is_gpr64() {
        Class::LeaOffset
    } else if base && index && displaced {
        match instruction.memory_index_scale() {
            1 => Class::LeaComplex,
            _ => Class::LeaComplexScaled,
        }
    } else if index && instruction.memory_index_scale() > 1 {
        Class::LeaScaled
    } else {
        Class::Lea
    }
}

fn vector_move(instruction: &Instruction) -> Class {
    if has_memory(instruction) {
        return Class::MemoryMove;
    }
    let to = instruction.op0_register();
    let from = instruction.op1_register();
    if to.is_gpr() {
        Class::VecToGpr
    } else if from.is_gpr() {
        Class::VecFromGpr
    } else if instruction.op_count() == 3 || merges_scalar(instruction) {
        // `movss`/`movsd` between registers keeps the upper part: a blend.
        Class::VecBlend
    } else {
        Class::VecMove
    }
}

fn repeats(instruction: &Instruction) -> bool {
    instruction.has_rep_prefix() || instruction.has_repne_prefix()
}

fn merges_scalar(instruction: &Instruction) -> bool {
    matches!(instruction.mnemonic(), Mnemonic::Movss | Mnemonic::Movsd)
}

fn mask_move(instruction: &Instruction) -> Class {
    if has_memory(instruction) {
        Class::MemoryMove
    } else if instruction.op0_register().is_gpr() {
        Class::MaskToGpr
    } else if instruction.op1_register().is_gpr() {
        Class::MaskFromGpr
    } else {
        Class::MaskMove
    }
}
