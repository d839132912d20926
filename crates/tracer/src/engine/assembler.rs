//! Writes the few x86-64 encodings that the translator adds around the program's own instructions.
//! They preserve all flags, and only [`Assembler::push_return_address`] touches the stack.
//!
//! Encodings: Intel SDM volume 2, chapter 2 (ModRM, SIB, REX, VEX, EVEX) and the instructions' own
//! pages.

/// The number of a general register in encodings.
pub(crate) type General = u8;

pub(crate) const RAX: General = 0;
pub(crate) const RCX: General = 1;
pub(crate) const RDX: General = 2;
pub(crate) const RSP: General = 4;

/// A memory operand of an encoding.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Memory {
    pub base: Option<General>,
    /// Register and scale (1, 2, 4, 8).
    pub index: Option<(General, u8)>,
    pub displacement: i32,
    /// Whether the registers are 32 bits wide (prefix 67).
    pub address32: bool,
    /// A segment override prefix (64 for FS, 65 for GS).
    pub segment: Option<u8>,
}

impl Memory {
    pub(crate) fn at(base: General, displacement: i32) -> Memory {
        Memory {
            base: Some(base),
            displacement,
            ..Memory::default()
        }
    }

    /// `[register*8]`.
    pub(crate) fn scaled(register: General) -> Memory {
        Memory {
            index: Some((register, 8)),
            ..Memory::default()
        }
    }

    /// `[base + index]`.
    pub(crate) fn sum(base: General, index: General) -> Memory {
        Memory {
            base: Some(base),
            index: Some((index, 1)),
            ..Memory::default()
        }
    }
}

/// A four-byte field with an offset relative to its own end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Relative32(pub u32);

/// A one-byte field with an offset relative to its own end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Relative8(usize);

/// Writes code into a buffer whose first byte will execute at `address`.
pub(crate) struct Assembler<'a> {
    code: &'a mut [u8],
    position: usize,
    address: u64,
}

impl<'a> Assembler<'a> {
    /// Starts writing at `position`. The caller ensures that there is room: writing past the end is
    /// a bug and panics.
    pub(crate) fn new(code: &'a mut [u8], position: usize, address: u64) -> Assembler<'a> {
        Assembler {
            code,
            position,
            address,
        }
    }

    /// Returns where the next byte goes, as an offset in the buffer.
    pub(crate) fn position(&self) -> usize {
        self.position
    }

    /// Returns where the next byte goes, as an address.
    pub(crate) fn here(&self) -> u64 {
        self.address + self.position as u64
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.code[self.position..self.position + bytes.len()].copy_from_slice(bytes);
        self.position += bytes.len();
    }

    fn byte(&mut self, byte: u8) {
        self.bytes(&[byte]);
    }

    pub(crate) fn data32(&mut self, value: u32) {
        self.bytes(&value.to_le_bytes());
    }

    pub(crate) fn data64(&mut self, value: u64) {
        self.bytes(&value.to_le_bytes());
    }

    /// Overwrites two bytes.
    pub(crate) fn set16(&mut self, position: usize, bytes: [u8; 2]) {
        self.code[position..position + 2].copy_from_slice(&bytes);
    }

    /// Overwrites four bytes.
    pub(crate) fn set32(&mut self, position: usize, value: i32) {
        self.code[position..position + 4].copy_from_slice(&value.to_le_bytes());
    }

    /// Sets the target of a jump.
    pub(crate) fn set_jump(&mut self, site: Relative32, target: u64) {
        let position = site.0 as usize;
        let after = self.address + position as u64 + 4;
        let distance = Self::distance(after, target).expect("jumps stay inside one mapping");
        self.code[position..position + 4].copy_from_slice(&distance.to_le_bytes());
    }

    /// Returns the distance from `after` to `target` if it fits in 32 bits.
    pub(crate) fn distance(after: u64, target: u64) -> Option<i32> {
        i32::try_from(target.wrapping_sub(after) as i64).ok()
    }

    // ---- general moves ----

    /// `mov [target], register`, RIP-relative.
    pub(crate) fn store_near(&mut self, target: u64, register: General) {
        self.near(&[rex(true, register, 0, 0), 0x89], register, target, 0);
    }

    /// `mov register, [target]`, RIP-relative.
    pub(crate) fn load_near(&mut self, register: General, target: u64) {
        self.near(&[rex(true, register, 0, 0), 0x8b], register, target, 0);
    }

    /// `imul register, [target]`, RIP-relative.
    pub(crate) fn multiply_near(&mut self, register: General, target: u64) {
        self.near(
            &[rex(true, register, 0, 0), 0x0f, 0xaf],
            register,
            target,
            0,
        );
    }

    /// `bswap register`.
    pub(crate) fn swap_bytes(&mut self, register: General) {
        self.bytes(&[rex(true, 0, 0, register), 0x0f, 0xc8 | register & 7]);
    }

    /// `mov register32, register32`.
    pub(crate) fn zero_upper_half(&mut self, register: General) {
        self.bytes(&[
            rex(false, register, 0, register),
            0x89,
            0xc0 | (register & 7) << 3 | register & 7,
        ]);
    }

    /// `mov dword [target], value`, RIP-relative.
    pub(crate) fn store_near_immediate32(&mut self, target: u64, value: u32) {
        self.near(&[0xc7], 0, target, 4);
        self.data32(value);
    }

    /// `movzx register, byte [target]`, RIP-relative; `register` below 8.
    pub(crate) fn load_near_byte(&mut self, register: General, target: u64) {
        self.near(&[0x0f, 0xb6], register, target, 0);
    }

    /// `lea register, [target]`, RIP-relative.
    pub(crate) fn lea_near(&mut self, register: General, target: u64) {
        self.near(&[rex(true, register, 0, 0), 0x8d], register, target, 0);
    }

    /// `jmp [target]`, RIP-relative.
    pub(crate) fn jump_through_near(&mut self, target: u64) {
        self.near(&[0xff], 4, target, 0);
    }

    /// `mov [memory], register`.
    pub(crate) fn store(&mut self, memory: Memory, register: General) {
        self.with_memory(&[0x89], register, memory);
    }

    /// `mov register, [memory]`.
    pub(crate) fn load(&mut self, register: General, memory: Memory) {
        self.with_memory(&[0x8b], register, memory);
    }

    /// `lea register, [memory]`.
    pub(crate) fn lea(&mut self, register: General, memory: Memory) {
        self.with_memory(&[0x8d], register, memory);
    }

    /// `mov qword [memory], value`, sign-extended.
    pub(crate) fn store_immediate32(&mut self, memory: Memory, value: u32) {
        self.with_memory(&[0xc7], 0, memory);
        self.data32(value);
    }

    /// `mov to, from`.
    pub(crate) fn copy(&mut self, to: General, from: General) {
        self.bytes(&[
            rex(true, from, 0, to),
            0x89,
            0xc0 | (from & 7) << 3 | to & 7,
        ]);
    }

    /// `mov to16, from16`: preserves the upper 48 bits of `to`. Both below 8.
    pub(crate) fn copy_low_word(&mut self, to: General, from: General) {
        self.bytes(&[0x66, 0x89, 0xc0 | from << 3 | to]);
    }

    /// `mov register16, [target]`, RIP-relative: preserves the upper 48 bits. `register` below 8.
    pub(crate) fn load_near_low_word(&mut self, register: General, target: u64) {
        self.near(&[0x66, 0x8b], register, target, 0);
    }

    /// `mov register, value`.
    pub(crate) fn load_immediate(&mut self, register: General, value: u64) {
        self.bytes(&[rex(true, 0, 0, register), 0xb8 | register & 7]);
        self.data64(value);
    }

    /// `mov register, [register]` of 8, 4, 2 or 1 bytes, zero-extended. `register` is below 8, and
    /// not one whose number has a special meaning as a base (rsp, rbp).
    pub(crate) fn load_itself(&mut self, register: General, bytes: usize) {
        match bytes {
            8 => self.bytes(&[rex(true, 0, 0, 0), 0x8b]),
            4 => self.bytes(&[0x8b]),
            2 => self.bytes(&[0x0f, 0xb7]),
            _ => self.bytes(&[0x0f, 0xb6]),
        }
        self.byte(register << 3 | register);
    }

    /// Writes a two-byte no-op.
    pub(crate) fn no_op(&mut self) {
        self.bytes(&Self::NO_OP);
    }

    /// See [`no_op`](Assembler::no_op).
    pub(crate) const NO_OP: [u8; 2] = [0x66, 0x90];

    // ---- vector and mask registers ----

    /// Stores all `bytes` (16, 32, 64) of vector register `number` to `memory`, which has a base
    /// register and no index: `vmovdqu`, in its EVEX form if the register needs it.
    pub(crate) fn store_vector(&mut self, memory: Memory, number: u8, bytes: usize) {
        let base = memory.base.unwrap_or(RAX);
        let b = !(base >> 3) & 1;
        if bytes == 64 || number >= 16 {
            // vmovdqu64: EVEX.F3.0F.W1 7F, without a mask.
            let r = !(number >> 3) & 1;
            let r_high = !(number >> 4) & 1;
            let length = match bytes {
                16 => 0,
                32 => 1,
                _ => 2,
            };
            self.bytes(&[
                0x62,
                r << 7 | 1 << 6 | b << 5 | r_high << 4 | 1,
                0xfe,
                length << 5 | 1 << 3,
                0x7f,
            ]);
        } else {
            // VEX.F3.0F.WIG 7F.
            let r = !(number >> 3) & 1;
            let length = u8::from(bytes == 32);
            self.bytes(&[0xc4, r << 7 | 1 << 6 | b << 5 | 1, 0x7a | length << 2, 0x7f]);
        }
        self.modrm_displaced(number & 7, base, memory.displacement);
    }

    /// `kmovw [memory], k`, VEX.L0.0F.W0 91: 16 bits. `memory` has a base register and no index.
    pub(crate) fn store_mask(&mut self, memory: Memory, number: u8) {
        let base = memory.base.unwrap_or(RAX);
        let b = !(base >> 3) & 1;
        self.bytes(&[0xc4, 1 << 7 | 1 << 6 | b << 5 | 1, 0x78, 0x91]);
        self.modrm_displaced(number, base, memory.displacement);
    }

    // ---- control ----

    /// `jmp` to `target`.
    pub(crate) fn jump(&mut self, target: u64) -> Relative32 {
        self.byte(0xe9);
        self.relative32(target)
    }

    /// `jcc` to `target`; `condition` is the low half of the opcode.
    pub(crate) fn jump_if(&mut self, condition: u8, target: u64) -> Relative32 {
        self.bytes(&[0x0f, 0x80 | condition]);
        self.relative32(target)
    }

    /// `jrcxz` forward, to where [`bind`](Assembler::bind) is called.
    pub(crate) fn jump_if_rcx_is_zero(&mut self) -> Relative8 {
        self.bytes(&[0xe3, 0]);
        Relative8(self.position - 1)
    }

    /// `jmp short` forward, to where [`bind`](Assembler::bind) is called.
    pub(crate) fn jump_short(&mut self) -> Relative8 {
        self.bytes(&[0xeb, 0]);
        Relative8(self.position - 1)
    }

    /// Makes the jump go here. At most 127 bytes, which the translator's layouts guarantee.
    pub(crate) fn bind(&mut self, jump: Relative8) {
        let distance = self.position - jump.0 - 1;
        assert!(distance <= 127, "short jump over {distance} bytes");
        self.code[jump.0] = distance as u8;
    }

    /// `jmp [register*8 + displacement]`; `register` below 8.
    pub(crate) fn jump_through_scaled(&mut self, register: General, displacement: i32) {
        self.bytes(&[0xff, 0x24, 0xc0 | register << 3 | 5]);
        self.bytes(&displacement.to_le_bytes());
    }

    /// Pushes a 64-bit constant: `push imm32`, then writes the upper half.
    pub(crate) fn push_return_address(&mut self, address: u64) {
        self.byte(0x68);
        self.data32(address as u32);
        self.bytes(&[0xc7, 0x44, 0x24, 0x04]);
        self.data32((address >> 32) as u32);
    }

    // ---- parts ----

    fn relative32(&mut self, target: u64) -> Relative32 {
        let site = Relative32(self.position as u32);
        let distance =
            Self::distance(self.here() + 4, target).expect("jumps stay inside one mapping");
        self.bytes(&distance.to_le_bytes());
        site
    }

    /// Writes an opcode with a RIP-relative operand, followed by `immediate_bytes` that the caller
    /// writes.
    fn near(&mut self, opcode: &[u8], register: u8, target: u64, immediate_bytes: u64) {
        self.bytes(opcode);
        self.byte((register & 7) << 3 | 5);
        let distance = Self::distance(self.here() + 4 + immediate_bytes, target)
            .expect("the context lies in the code's own mapping");
        self.bytes(&distance.to_le_bytes());
    }

    /// Writes a 64-bit operation with a memory operand.
    fn with_memory(&mut self, opcode: &[u8], register: u8, memory: Memory) {
        if let Some(segment) = memory.segment {
            self.byte(segment);
        }
        if memory.address32 {
            self.byte(0x67);
        }
        let index = memory.index.map_or(0, |(index, _)| index);
        self.byte(rex(true, register, index, memory.base.unwrap_or(0)));
        self.bytes(opcode);
        let reg = (register & 7) << 3;
        match (memory.base, memory.index) {
            (Some(base), None) => self.modrm_displaced(register & 7, base, memory.displacement),
            (Some(base), Some((index, scale))) => {
                self.bytes(&[0x80 | reg | 4, sib(scale, index, base)]);
                self.bytes(&memory.displacement.to_le_bytes());
            }
            (None, index) => {
                // mod=00 with base 101: no base, 32 bits of displacement. Index 100: none.
                let (index, scale) = index.unwrap_or((4, 1));
                self.bytes(&[reg | 4, sib(scale, index, 5)]);
                self.bytes(&memory.displacement.to_le_bytes());
            }
        }
    }

    /// Writes ModRM with base and displacement. The shorter form is used only without a
    /// displacement, which EVEX would scale.
    fn modrm_displaced(&mut self, reg: u8, base: General, displacement: i32) {
        let none = displacement == 0 && base & 7 != 5;
        let mode = if none { 0x00 } else { 0x80 };
        self.byte(mode | (reg & 7) << 3 | base & 7);
        if base & 7 == 4 {
            self.byte(0x24);
        }
        if !none {
            self.bytes(&displacement.to_le_bytes());
        }
    }
}

fn rex(wide: bool, reg: u8, index: u8, base: u8) -> u8 {
    0x40 | u8::from(wide) << 3 | (reg >> 3) << 2 | (index >> 3) << 1 | base >> 3
}

fn sib(scale: u8, index: General, base: General) -> u8 {
    (scale.trailing_zeros() as u8) << 6 | (index & 7) << 3 | base & 7
}

#[cfg(test)]
mod tests {
    use super::*;
    use iced_x86::{Code, Decoder, DecoderOptions, Instruction, Register};

    /// Decodes what `write` writes at address 0x10000.
    fn decoded(write: impl FnOnce(&mut Assembler<'_>)) -> Instruction {
        let mut code = [0xcc; 64];
        let mut assembler = Assembler::new(&mut code, 0, 0x10000);
        write(&mut assembler);
        let length = assembler.position();
        let mut decoder = Decoder::with_ip(64, &code[..length], 0x10000, DecoderOptions::NONE);
        let instruction = decoder.decode();
        assert_eq!(instruction.len(), length, "one instruction");
        instruction
    }

    const GENERAL: [Register; 16] = [
        Register::RAX,
        Register::RCX,
        Register::RDX,
        Register::RBX,
        Register::RSP,
        Register::RBP,
        Register::RSI,
        Register::RDI,
        Register::R8,
        Register::R9,
        Register::R10,
        Register::R11,
        Register::R12,
        Register::R13,
        Register::R14,
        Register::R15,
    ];

    #[test]
    fn every_pair_of_base_and_register_is_encoded() {
        for register in 0..16 {
            for base in 0..16 {
                for displacement in [0, 8, -4096] {
                    let store =
                        decoded(|code| code.store(Memory::at(base, displacement), register));
                    assert_eq!(store.code(), Code::Mov_rm64_r64);
                    assert_eq!(store.memory_base(), GENERAL[usize::from(base)]);
                    assert_eq!(store.memory_index(), Register::None);
                    assert_eq!(
                        store.memory_displacement64() as i64,
                        i64::from(displacement)
                    );
                    assert_eq!(store.op1_register(), GENERAL[usize::from(register)]);
                }
                let copy = decoded(|code| code.copy(register, base));
                assert_eq!(copy.op0_register(), GENERAL[usize::from(register)]);
                assert_eq!(copy.op1_register(), GENERAL[usize::from(base)]);
            }
        }
    }

    #[test]
    fn every_index_and_scale_is_encoded() {
        for index in (0..16).filter(|&index| index != RSP) {
            for base in (0..16).map(Some).chain([None]) {
                for scale in [1, 2, 4, 8] {
                    let lea = decoded(|code| {
                        code.lea(
                            9,
                            Memory {
                                base,
                                index: Some((index, scale)),
                                displacement: 0x1234,
                                ..Memory::default()
                            },
                        )
                    });
                    let expected = base.map_or(Register::None, |base| GENERAL[usize::from(base)]);
                    assert_eq!(lea.memory_base(), expected);
                    assert_eq!(lea.memory_index(), GENERAL[usize::from(index)]);
                    assert_eq!(lea.memory_index_scale(), u32::from(scale));
                    assert_eq!(lea.memory_displacement64(), 0x1234);
                    assert_eq!(lea.op0_register(), Register::R9);
                }
            }
        }
    }

    #[test]
    fn near_operands_reach_targets_past_an_immediate() {
        let store = decoded(|code| code.store_near_immediate32(0x8000, 77));
        assert_eq!(store.memory_displacement64(), 0x8000);
        assert_eq!(store.immediate32(), 77);
        let load = decoded(|code| code.load_near(12, 0x8000));
        assert_eq!(load.memory_displacement64(), 0x8000);
        assert_eq!(load.op0_register(), Register::R12);
        let byte = decoded(|code| code.load_near_byte(RCX, 0x8002));
        assert_eq!(byte.code(), Code::Movzx_r32_rm8);
    }

    #[test]
    fn vector_stores_have_width_and_register() {
        for base in [0, 4, 5, 12, 13] {
            for (number, bytes, code) in [
                (3, 16, Code::VEX_Vmovdqu_xmmm128_xmm),
                (11, 32, Code::VEX_Vmovdqu_ymmm256_ymm),
                (9, 64, Code::EVEX_Vmovdqu64_zmmm512_k1z_zmm),
                (25, 16, Code::EVEX_Vmovdqu64_xmmm128_k1z_xmm),
                (31, 32, Code::EVEX_Vmovdqu64_ymmm256_k1z_ymm),
            ] {
                let store = decoded(|code| code.store_vector(Memory::at(base, 24), number, bytes));
                assert_eq!(store.code(), code);
                assert_eq!(store.op1_register().number(), usize::from(number));
                assert_eq!(store.memory_base(), GENERAL[usize::from(base)]);
                assert_eq!(store.memory_displacement64(), 24);
                assert_eq!(store.op_mask(), Register::None);
            }
        }
        let mask = decoded(|code| code.store_mask(Memory::at(9, 8), 5));
        assert_eq!(mask.code(), Code::VEX_Kmovw_m16_kr);
        assert_eq!(mask.op1_register(), Register::K5);
    }

    #[test]
    fn word_moves_and_scaled_jumps_are_encoded() {
        let load = decoded(|code| code.load_near_low_word(RDX, 0x8001));
        assert_eq!(load.code(), Code::Mov_r16_rm16);
        assert_eq!(load.memory_displacement64(), 0x8001);
        let copy = decoded(|code| code.copy_low_word(RDX, RCX));
        assert_eq!(copy.code(), Code::Mov_rm16_r16);
        assert_eq!(copy.op0_register(), Register::DX);
        let jump = decoded(|code| code.jump_through_scaled(RCX, 0x100));
        assert_eq!(jump.code(), Code::Jmp_rm64);
        assert_eq!(jump.memory_index(), Register::RCX);
        assert_eq!(jump.memory_index_scale(), 8);
        assert_eq!(jump.memory_displacement64(), 0x100);
    }

    #[test]
    fn jumps_reach_their_target() {
        assert_eq!(
            decoded(|code| _ = code.jump(0x5000)).near_branch64(),
            0x5000
        );
        let jump = decoded(|code| _ = code.jump_if(0xd, 0x20000));
        assert_eq!(jump.near_branch64(), 0x20000);
        assert_eq!(jump.code(), Code::Jge_rel32_64);
    }
}
