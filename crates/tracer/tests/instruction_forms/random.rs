//! Random instructions, and random states to execute them in.

use topdown_tracer::iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic,
    OpAccess, OpKind, Register,
};

use crate::bench::{
    Bench, FLAGS, GENERAL, INPUT, MIDDLE, SCRATCH, SCRATCH_BYTES, VECTOR_MASK, VECTORS,
};

pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 32) % limit
    }

    pub fn byte(&mut self) -> u8 {
        (self.next() >> 40) as u8
    }

    pub fn one_of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u64) as usize]
    }
}

/// These hold addresses in the scratch memory when an instruction uses memory.
pub const POINTERS: [Register; 9] = [
    Register::RBX,
    Register::RBP,
    Register::RSI,
    Register::RDI,
    Register::R11,
    Register::R12,
    Register::R13,
    Register::R14,
    Register::R15,
];

pub fn fill_input(bench: &Bench, random: &mut Random, uses_memory: bool) {
    let middle = bench.address(MIDDLE);
    for register in 0..16 {
        let is_pointer = POINTERS.iter().any(|pointer| pointer.number() == register);
        let value = if register == Register::RSP.number() {
            middle + 16 * 1024
        } else if !uses_memory {
            random.next()
        } else if is_pointer {
            middle + 64 * random.below(8) + random.one_of(&[0, 0, 0, 16, 32, 3])
        } else {
            random.below(256)
        };
        let place = INPUT + GENERAL + 8 * register;
        bench.part(place, 8).copy_from_slice(&value.to_le_bytes());
    }
    // Carry, parity, adjust, zero, sign and overflow.
    let flags = 2 | random.next() & 0x8d5;
    bench
        .part(INPUT + FLAGS, 8)
        .copy_from_slice(&flags.to_le_bytes());
    let style = random.below(3);
    let vectors = bench.part(INPUT + VECTORS, bench.vector_bytes);
    for chunk in vectors.chunks_mut(8) {
        let value = match style {
            0 => random.next(),
            1 => random.next() & 0xff_0000_00ff,
            _ => random.next() & 0xff,
        };
        chunk.copy_from_slice(&value.to_le_bytes()[..chunk.len()]);
    }
    // The head of the legacy part: control word, status, tags; MXCSR and its mask. The header: all
    // parts are present, in the standard form.
    vectors[..24].fill(0);
    vectors[..2].copy_from_slice(&0x37f_u16.to_le_bytes());
    vectors[4] = random.one_of(&[0, 0xff]);
    vectors[24..28].copy_from_slice(&0x1f80_u32.to_le_bytes());
    vectors[512..576].fill(0);
    vectors[512..520].copy_from_slice(&VECTOR_MASK.to_le_bytes());
}

pub fn fill_scratch(bench: &Bench, seed: u64) {
    let mut random = Random(seed);
    for chunk in bench.part(SCRATCH, SCRATCH_BYTES).chunks_mut(8) {
        chunk.copy_from_slice(&random.next().to_le_bytes());
    }
}

/// Random bytes in the shape of an instruction.
pub fn random_bytes(random: &mut Random) -> Vec<u8> {
    let mut bytes = Vec::new();
    let shape = random.below(12);
    if shape < 7 {
        for prefix in [0x66, 0xf2, 0xf3, 0xf0, 0x64, 0x67] {
            let rare = if prefix == 0x64 || prefix == 0x67 {
                60
            } else {
                6
            };
            if random.below(rare) == 0 {
                bytes.push(prefix);
            }
        }
        if random.below(2) == 0 {
            bytes.push(0x40 | random.byte() & 15);
        }
    }
    match shape {
        0 | 1 => {}
        2..=4 => bytes.push(0x0f),
        5 => bytes.extend([0x0f, 0x38]),
        6 => bytes.extend([0x0f, 0x3a]),
        7 => bytes.extend([0xc5, random.byte()]),
        8 | 9 => bytes.extend([
            0xc4,
            random.byte() & 0xe0 | (1 + random.byte() % 3),
            random.byte(),
        ]),
        _ => bytes.extend([
            0x62,
            random.byte() & 0xf0 | random.one_of(&[1, 2, 3, 5, 6]),
            random.byte() | 4,
            random.byte(),
        ]),
    }
    bytes.extend((0..11).map(|_| random.byte()));
    bytes
}

/// A random instruction that ends by itself and whose memory operand, if any, can be pointed at
/// the scratch memory.
pub fn random_instruction(
    bench: &Bench,
    random: &mut Random,
    at: u64,
) -> Option<(Vec<u8>, Instruction)> {
    let mut bytes = random_bytes(random);
    let mut decoder = Decoder::with_ip(64, &bytes, at, DecoderOptions::NONE);
    let first = decoder.decode();
    if first.is_invalid() || first.flow_control() != FlowControl::Next || is_excluded(&first) {
        return None;
    }
    let offsets = decoder.get_constant_offsets(&first);
    let (from, size) = (offsets.displacement_offset(), offsets.displacement_size());
    bytes.truncate(first.len());
    if has_memory_operand(&first) {
        let small = (random.below(64) as i64 - 32) * random.one_of(&[64, 64, 16, 1]);
        if first.is_ip_rel_memory_operand() {
            let target = bench.address(MIDDLE).wrapping_add_signed(small);
            let distance = target.wrapping_sub(at + first.len() as u64) as u32;
            bytes[from..from + 4].copy_from_slice(&distance.to_le_bytes());
        } else {
            let pointed = POINTERS.contains(&first.memory_base().full_register())
                || first.memory_base() == Register::RSP;
            let absolute = first.memory_base() == Register::None && size == 8;
            if absolute {
                let target = bench.address(MIDDLE).wrapping_add_signed(small);
                bytes[from..from + 8].copy_from_slice(&target.to_le_bytes());
            } else if !pointed || POINTERS.contains(&first.memory_index().full_register()) {
                return None;
            } else if size == 4 {
                bytes[from..from + 4].copy_from_slice(&(small as i32).to_le_bytes());
            }
        }
    }
    let mut decoder = Decoder::with_ip(64, &bytes, at, DecoderOptions::NONE);
    let decoded = decoder.decode();
    assert_eq!(decoded.code(), first.code());
    Some((bytes, decoded))
}

pub fn has_memory_operand(instruction: &Instruction) -> bool {
    (0..instruction.op_count()).any(|operand| instruction.op_kind(operand) == OpKind::Memory)
}

/// Whether what follows could use memory outside the scratch memory.
pub fn moves_a_pointer(factory: &mut InstructionInfoFactory, instruction: &Instruction) -> bool {
    factory
        .info(instruction)
        .used_registers()
        .iter()
        .filter(|used| !matches!(used.access(), OpAccess::Read | OpAccess::CondRead))
        .map(|used| used.register().full_register())
        .any(|register| register == Register::RSP || POINTERS.contains(&register))
}

/// What has another result every time, reaches outside the bench, or changes what is not compared.
pub fn is_excluded(instruction: &Instruction) -> bool {
    use Mnemonic::*;
    let writes_segment = instruction.op_count() > 0
        && instruction.op0_kind() == OpKind::Register
        && instruction.op0_register().is_segment_register();
    let in_segment = matches!(instruction.segment_prefix(), Register::FS | Register::GS)
        && has_memory_operand(instruction);
    // They reach as far as the register says.
    let in_bit_string = matches!(instruction.mnemonic(), Bt | Bts | Btr | Btc)
        && instruction.op0_kind() == OpKind::Memory
        && [&[Register::RSP], &POINTERS[..]]
            .concat()
            .contains(&instruction.op1_register().full_register());
    let is_undefined = matches!(
        instruction.code(),
        Code::Bswap_r16
            | Code::Shld_rm16_r16_imm8
            | Code::Shld_rm16_r16_CL
            | Code::Shrd_rm16_r16_imm8
            | Code::Shrd_rm16_r16_CL
    );
    writes_segment
        || in_segment
        || in_bit_string
        || is_undefined
        || instruction.is_privileged()
        || instruction.is_save_restore_instruction()
        || matches!(
            instruction.mnemonic(),
            Lfs | Lgs
                | Lss
                | Wrfsbase
                | Wrgsbase
                | Rdtsc
                | Rdtscp
                | Rdrand
                | Rdseed
                | Rdpid
                | Rdpru
                | Rdpmc
                | Cpuid
                | Popf
                | Popfd
                | Popfq
                | Fnstenv
                | Fstenv
                | Fldenv
                | Fnsave
                | Frstor
                | Fldcw
                | Ldmxcsr
                | Monitor
                | Monitorx
                | Mwait
                | Mwaitx
                | Umonitor
                | Umwait
                | Tpause
                | Wrpkru
                | Rdpkru
                | Vmcall
                | Vmmcall
                | Vmfunc
                | Enqcmd
                | Ptwrite
                | Clui
                | Stui
                | Senduipi
                | Str
                | Sldt
                | Smsw
                | Sgdt
                | Sidt
                | Lsl
                | Lar
                | Verr
                | Verw
                | Xgetbv
                | Std
                | Ldtilecfg
                | Sttilecfg
                | Tilerelease
                | Tilezero
                | Serialize
                | Pconfig
        )
}
