//! From a decoded instruction to its memory accesses and to what must be recorded so that their
//! addresses are known. Nothing here touches memory or allocates.

use iced_x86::{
    Decoder, DecoderOptions, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register,
    UsedMemory,
};

use crate::block::{
    Access, AccessKind, Address, Elements, Instruction, MAX_BLOCK_INSTRUCTIONS, Mask, OwnedBlock,
    Repeat,
};

/// No supported instruction has more accesses than this.
pub(crate) const MAX_ACCESSES: usize = 4;
/// No supported instruction needs more recordings than this.
pub(crate) const MAX_RECORDINGS: usize = 4;

/// What never changes for the traced thread, and the sizes that the decoder does not know.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ThreadFacts {
    /// The base of the FS segment.
    pub fs_base: u64,
    /// The base of the GS segment.
    pub gs_base: u64,
    /// What `xsave` and its kin write, from CPUID leaf 0xD.
    pub xsave_bytes: u32,
}

/// What to put into a recorded value, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recording {
    /// Before: a 64-bit general register.
    General { entry: u16, register: Register },
    /// Before: base + index × scale + displacement. `Register::None` where there is no base.
    Effective {
        entry: u16,
        base: Register,
        index: Register,
        scale: u8,
        displacement: i32,
    },
    /// Before: a whole vector register, from `entry` on.
    Vector { entry: u16, register: Register },
    /// Before: 16 bits of a mask register.
    MaskBits { entry: u16, register: Register },
    /// Before: rcx.
    Count { entry: u16 },
    /// After: rcx.
    CountAfter { entry: u16 },
}

/// A few items without a heap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Few<T, const N: usize> {
    items: [Option<T>; N],
    len: usize,
}

impl<T: Copy, const N: usize> Few<T, N> {
    fn new() -> Self {
        Few {
            items: [None; N],
            len: 0,
        }
    }

    fn push(&mut self, item: T) -> Result<(), Undescribable> {
        *self
            .items
            .get_mut(self.len)
            .ok_or(Undescribable::Accesses)? = Some(item);
        self.len += 1;
        Ok(())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = T> + '_ {
        self.items[..self.len].iter().flatten().copied()
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }
}

/// Why the accesses of an instruction cannot be given exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Undescribable {
    /// More accesses than any supported instruction has (`enter` with nesting).
    Accesses,
    /// An address form that cannot be recorded.
    AddressForm,
}

impl Undescribable {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Undescribable::Accesses => "it has too many memory accesses",
            Undescribable::AddressForm => "its address form is not supported",
        }
    }
}

/// The accesses of one instruction and what they need.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Description {
    pub accesses: Few<Access, MAX_ACCESSES>,
    pub recordings: Few<Recording, MAX_RECORDINGS>,
    pub repeat: Option<Repeat>,
    /// The general registers that it uses in any way, one bit each in the encoding's order.
    pub registers: u16,
}

/// Describes the instructions of a block one after the other.
pub(crate) struct Describer {
    factory: InstructionInfoFactory,
    /// Which recorded value each general register still equals, apart from a constant: addresses
    /// with the same base are recorded once. In the encoding's order.
    held: [Option<Held>; 16],
    next_entry: u16,
}

/// A register's value is that of `entry` plus `offset`.
#[derive(Clone, Copy)]
struct Held {
    entry: u16,
    offset: i64,
}

impl Describer {
    /// Reserves all memory that [`describe`](Describer::describe) will need.
    pub(crate) fn new() -> Describer {
        let mut factory = InstructionInfoFactory::new();
        // The factory keeps two vectors. These instructions use the most registers and the most
        // memory locations, so the vectors never grow again.
        for bytes in [
            &[0xc5, 0xf8, 0x77][..],       // vzeroupper: 32 registers
            &[0xc8, 0x00, 0x00, 0x1f][..], // enter 0, 31
        ] {
            let mut decoder = Decoder::with_ip(64, bytes, 0, DecoderOptions::NONE);
            let _ = factory.info(&decoder.decode());
        }
        Describer {
            factory,
            held: [None; 16],
            next_entry: 0,
        }
    }

    /// Forgets the block before.
    pub(crate) fn begin_block(&mut self) {
        self.held = [None; 16];
        self.next_entry = 0;
    }

    /// How many values the block records so far.
    pub(crate) fn recorded_values(&self) -> u16 {
        self.next_entry
    }

    /// Describes the next instruction of the block. After an error the block must end before it.
    pub(crate) fn describe(
        &mut self,
        instruction: &iced_x86::Instruction,
        facts: &ThreadFacts,
    ) -> Result<Description, Undescribable> {
        let info = self.factory.info(instruction);
        let mut draft = Draft {
            accesses: Few::new(),
            recordings: Few::new(),
            held: self.held,
            next_entry: self.next_entry,
            facts,
        };
        let repeats = instruction.is_string_instruction()
            && (instruction.has_rep_prefix() || instruction.has_repne_prefix());
        if is_in_bit_string(instruction) {
            return Err(Undescribable::AddressForm);
        }
        if is_hint(instruction.mnemonic()) {
            draft.hint(instruction)?;
        } else {
            for used in info.used_memory() {
                draft.access(instruction, used, repeats)?;
            }
        }
        let repeat = if repeats {
            Some(draft.repeat(instruction.mnemonic())?)
        } else {
            None
        };
        let mut registers = 0;
        for used in info.used_registers() {
            let Some(number) = general_number(used.register()) else {
                continue;
            };
            registers |= 1 << number;
            if !matches!(used.access(), OpAccess::Read | OpAccess::CondRead) {
                draft.change(number, instruction);
            }
        }
        for used in info.used_memory() {
            for register in [used.base(), used.index()] {
                registers |= general_number(register).map_or(0, |number| 1 << number);
            }
        }
        self.held = draft.held;
        self.next_entry = draft.next_entry;
        Ok(Description {
            accesses: draft.accesses,
            recordings: draft.recordings,
            repeat,
            registers,
        })
    }
}

/// The number of the general register that `register` is or is part of.
pub(crate) fn general_number(register: Register) -> Option<usize> {
    let full = register.full_register();
    full.is_gpr64().then(|| full.number())
}

/// The description of one instruction while it is made.
struct Draft<'a> {
    accesses: Few<Access, MAX_ACCESSES>,
    recordings: Few<Recording, MAX_RECORDINGS>,
    held: [Option<Held>; 16],
    next_entry: u16,
    facts: &'a ThreadFacts,
}

/// An address as an instruction computes it.
#[derive(Clone, Copy)]
struct Operand {
    segment: Register,
    base: Register,
    index: Register,
    scale: u8,
    displacement: u64,
}

impl Draft<'_> {
    fn entries(&mut self, count: usize) -> u16 {
        let entry = self.next_entry;
        self.next_entry += count as u16;
        entry
    }

    fn hint(&mut self, instruction: &iced_x86::Instruction) -> Result<(), Undescribable> {
        let address = self.address(Operand {
            segment: instruction.memory_segment(),
            base: instruction.memory_base(),
            index: instruction.memory_index(),
            scale: instruction.memory_index_scale() as u8,
            displacement: instruction.memory_displacement64(),
        })?;
        self.accesses.push(Access {
            kind: AccessKind::Hint,
            size_bytes: 0,
            address,
        })
    }

    fn access(
        &mut self,
        instruction: &iced_x86::Instruction,
        used: &UsedMemory,
        repeats: bool,
    ) -> Result<(), Undescribable> {
        let Some(kind) = kind_of(used.access()) else {
            return Ok(());
        };
        let operand = Operand {
            segment: used.segment(),
            base: used.base(),
            index: used.index(),
            scale: used.scale() as u8,
            displacement: used.displacement(),
        };
        let gathers = used.index().is_vector_register();
        let mut size_bytes = if repeats || gathers {
            instruction.memory_size().element_size() as u32
        } else {
            used.memory_size().size() as u32
        };
        if size_bytes == 0 && saves_extended_state(instruction.mnemonic()) {
            size_bytes = self.facts.xsave_bytes;
        }
        let address = if gathers {
            self.elements(instruction, operand, used.vsib_size() as u8)?
        } else {
            self.address(operand)?
        };
        self.accesses.push(Access {
            kind,
            size_bytes,
            address,
        })
    }

    fn repeat(&mut self, mnemonic: Mnemonic) -> Result<Repeat, Undescribable> {
        let count = self.entries(1);
        self.recordings.push(Recording::Count { entry: count })?;
        let compares = matches!(
            mnemonic,
            Mnemonic::Cmpsb
                | Mnemonic::Cmpsw
                | Mnemonic::Cmpsd
                | Mnemonic::Cmpsq
                | Mnemonic::Scasb
                | Mnemonic::Scasw
                | Mnemonic::Scasd
                | Mnemonic::Scasq
        );
        let remaining = if compares {
            let entry = self.entries(1);
            self.recordings.push(Recording::CountAfter { entry })?;
            Some(entry)
        } else {
            None
        };
        Ok(Repeat { count, remaining })
    }

    /// The instruction changes a general register.
    fn change(&mut self, number: usize, instruction: &iced_x86::Instruction) {
        let moves_stack = number == Register::RSP.number()
            && matches!(instruction.mnemonic(), Mnemonic::Push | Mnemonic::Pop)
            && instruction.op0_register().full_register() != Register::RSP;
        match &mut self.held[number] {
            Some(held) if moves_stack => {
                held.offset += i64::from(instruction.stack_pointer_increment());
            }
            held => *held = None,
        }
    }

    fn address(&mut self, operand: Operand) -> Result<Address, Undescribable> {
        let segment_base = match operand.segment {
            Register::FS => self.facts.fs_base,
            Register::GS => self.facts.gs_base,
            _ => 0,
        };
        if matches!(operand.base, Register::None | Register::RIP | Register::EIP)
            && operand.index == Register::None
        {
            // The decoder has already added the instruction pointer.
            return Ok(Address::Fixed(
                operand.displacement.wrapping_add(segment_base),
            ));
        }
        if operand.base.is_gpr64() && operand.index == Register::None {
            let number = operand.base.number();
            let held = match self.held[number] {
                Some(held) => held,
                None => {
                    let entry = self.entries(1);
                    self.recordings.push(Recording::General {
                        entry,
                        register: operand.base,
                    })?;
                    Held { entry, offset: 0 }
                }
            };
            self.held[number] = Some(held);
            return Ok(Address::Recorded {
                entry: held.entry,
                displacement: (operand.displacement as i64)
                    .wrapping_add(held.offset)
                    .wrapping_add_unsigned(segment_base),
            });
        }
        let encodable = |register: Register| {
            register == Register::None || register.is_gpr64() || register.is_gpr32()
        };
        if !encodable(operand.base) || !encodable(operand.index) {
            // `xlatb` adds an 8-bit register.
            return Err(Undescribable::AddressForm);
        }
        let entry = self.entries(1);
        self.recordings.push(Recording::Effective {
            entry,
            base: operand.base,
            index: operand.index,
            scale: operand.scale,
            displacement: i32::try_from(operand.displacement as i64)
                .or_else(|_| {
                    // With 32-bit registers the displacement is kept zero-extended.
                    u32::try_from(operand.displacement).map(|bits| bits as i32)
                })
                .map_err(|_| Undescribable::AddressForm)?,
        })?;
        Ok(Address::Recorded {
            entry,
            displacement: segment_base as i64,
        })
    }

    fn elements(
        &mut self,
        instruction: &iced_x86::Instruction,
        operand: Operand,
        index_bytes: u8,
    ) -> Result<Address, Undescribable> {
        let Address::Recorded {
            entry: base,
            displacement,
        } = self.address(Operand {
            index: Register::None,
            ..operand
        })?
        else {
            // Absolute: no compiler makes such a gather.
            return Err(Undescribable::AddressForm);
        };
        let index_vector_bytes = operand.index.size();
        let indices = self.entries(index_vector_bytes / 8);
        self.recordings.push(Recording::Vector {
            entry: indices,
            register: operand.index,
        })?;
        let data_register = (0..instruction.op_count())
            .map(|operand| instruction.op_register(operand))
            .find(|register| register.is_vector_register())
            .ok_or(Undescribable::AddressForm)?;
        let element_bytes = instruction.memory_size().element_size();
        if element_bytes == 0 || index_bytes == 0 {
            return Err(Undescribable::AddressForm);
        }
        let count = (data_register.size() / element_bytes)
            .min(index_vector_bytes / usize::from(index_bytes));
        let mask = if instruction.op_mask() != Register::None {
            let entry = self.entries(1);
            self.recordings.push(Recording::MaskBits {
                entry,
                register: instruction.op_mask(),
            })?;
            Mask::Bits(entry)
        } else {
            let register = instruction.op_register(2);
            if !register.is_vector_register() {
                return Err(Undescribable::AddressForm);
            }
            let entry = self.entries(register.size() / 8);
            self.recordings
                .push(Recording::Vector { entry, register })?;
            Mask::Signs {
                entry,
                element_bytes: element_bytes as u8,
            }
        };
        Ok(Address::Elements(Elements {
            base,
            displacement,
            indices,
            index_bytes,
            scale: operand.scale,
            count: count as u8,
            mask,
        }))
    }
}

fn kind_of(access: OpAccess) -> Option<AccessKind> {
    match access {
        OpAccess::Read | OpAccess::CondRead => Some(AccessKind::Read),
        OpAccess::Write | OpAccess::CondWrite => Some(AccessKind::Write),
        OpAccess::ReadWrite | OpAccess::ReadCondWrite => Some(AccessKind::ReadWrite),
        _ => None,
    }
}

/// `bt [mem], reg` and its kin access the word that the register's value is away: an address that
/// no `lea` computes. Compilers do not use them.
fn is_in_bit_string(instruction: &iced_x86::Instruction) -> bool {
    matches!(
        instruction.mnemonic(),
        Mnemonic::Bt | Mnemonic::Bts | Mnemonic::Btr | Mnemonic::Btc
    ) && instruction.op0_kind() == OpKind::Memory
        && instruction.op1_kind() == OpKind::Register
}

fn is_hint(mnemonic: Mnemonic) -> bool {
    matches!(
        mnemonic,
        Mnemonic::Prefetch
            | Mnemonic::Prefetchw
            | Mnemonic::Prefetchwt1
            | Mnemonic::Prefetchnta
            | Mnemonic::Prefetcht0
            | Mnemonic::Prefetcht1
            | Mnemonic::Prefetcht2
            | Mnemonic::Cldemote
    )
}

fn saves_extended_state(mnemonic: Mnemonic) -> bool {
    matches!(
        mnemonic,
        Mnemonic::Xsave
            | Mnemonic::Xsave64
            | Mnemonic::Xsavec
            | Mnemonic::Xsavec64
            | Mnemonic::Xsaveopt
            | Mnemonic::Xsaveopt64
            | Mnemonic::Xrstor
            | Mnemonic::Xrstor64
    )
}

impl OwnedBlock {
    /// Describes `bytes` as if they stood at `ip`, up to the first branch, the first undecodable
    /// byte or [`MAX_BLOCK_INSTRUCTIONS`]. The bases of FS and GS are taken as 0. `None` when there
    /// is not one instruction that can be described.
    pub fn describe(bytes: &[u8], ip: u64) -> Option<OwnedBlock> {
        let mut describer = Describer::new();
        let mut decoder = Decoder::with_ip(64, bytes, ip, DecoderOptions::NONE);
        let mut block = OwnedBlock {
            instructions: Vec::new(),
            accesses: Vec::new(),
            recorded_values: 0,
        };
        while decoder.can_decode() && block.instructions.len() < MAX_BLOCK_INSTRUCTIONS {
            let decoded = decoder.decode();
            if decoded.is_invalid() {
                break;
            }
            let Ok(description) = describer.describe(&decoded, &ThreadFacts::default()) else {
                break;
            };
            block.instructions.push(Instruction {
                decoded,
                repeat: description.repeat,
                first_access: block.accesses.len() as u16,
                access_count: description.accesses.len() as u8,
            });
            block.accesses.extend(description.accesses.iter());
            if decoded.flow_control() != iced_x86::FlowControl::Next {
                break;
            }
        }
        block.recorded_values = usize::from(describer.recorded_values());
        (!block.instructions.is_empty()).then_some(block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::BlockId;

    /// Kind, size and address of each access of the one instruction in `bytes`.
    fn accesses(bytes: &[u8]) -> Vec<(AccessKind, u32, Address)> {
        let block = OwnedBlock::describe(bytes, 0x1000).unwrap();
        assert_eq!(block.instructions.len(), 1);
        block
            .accesses
            .iter()
            .map(|access| (access.kind, access.size_bytes, access.address))
            .collect()
    }

    fn recorded(entry: u16, displacement: i64) -> Address {
        Address::Recorded {
            entry,
            displacement,
        }
    }

    fn effective(bytes: &[u8]) -> Recording {
        let mut decoder = Decoder::with_ip(64, bytes, 0, DecoderOptions::NONE);
        Describer::new()
            .describe(&decoder.decode(), &ThreadFacts::default())
            .unwrap()
            .recordings
            .iter()
            .next()
            .unwrap()
    }

    #[test]
    fn a_rip_relative_load_has_a_fixed_address() {
        assert_eq!(
            accesses(&[0x48, 0x8b, 0x05, 0x10, 0, 0, 0]), // mov rax, [rip+0x10]
            [(AccessKind::Read, 8, Address::Fixed(0x1017))]
        );
    }

    #[test]
    fn a_call_through_memory_reads_it_and_writes_the_stack() {
        assert_eq!(
            accesses(&[0xff, 0x50, 0x08]), // call [rax+8]
            [
                (AccessKind::Read, 8, recorded(0, 8)),
                (AccessKind::Write, 8, recorded(1, -8))
            ]
        );
    }

    #[test]
    fn a_push_writes_below_the_stack_pointer() {
        // push rax
        assert_eq!(accesses(&[0x50]), [(AccessKind::Write, 8, recorded(0, -8))]);
    }

    #[test]
    fn the_stack_pointer_is_recorded_once_for_a_run_of_pushes() {
        // push rbx; push rbp; mov rax, [rsp+8]; sub rsp, 16; mov rcx, [rsp]
        let bytes = [
            0x53, 0x55, 0x48, 0x8b, 0x44, 0x24, 0x08, 0x48, 0x83, 0xec, 0x10, 0x48, 0x8b, 0x0c,
            0x24,
        ];
        let block = OwnedBlock::describe(&bytes, 0).unwrap();
        let addresses: Vec<_> = block
            .accesses
            .iter()
            .map(|access| access.address.first(&[0x1000, 0x2000]).unwrap())
            .collect();
        assert_eq!(addresses, [0xff8, 0xff0, 0xff8, 0x2000]);
        assert_eq!(block.recorded_values, 2, "sub makes it another value");
    }

    #[test]
    fn a_base_that_is_loaded_through_itself_is_recorded_again() {
        // mov rax, [rax]; mov rax, [rax]
        let block = OwnedBlock::describe(&[0x48, 0x8b, 0x00, 0x48, 0x8b, 0x00], 0).unwrap();
        assert_eq!(block.recorded_values, 2);
    }

    #[test]
    fn a_scaled_index_is_recorded_as_the_sum() {
        assert_eq!(
            effective(&[0x48, 0x8b, 0x44, 0x91, 0x08]), // mov rax, [rcx+rdx*4+8]
            Recording::Effective {
                entry: 0,
                base: Register::RCX,
                index: Register::RDX,
                scale: 4,
                displacement: 8,
            }
        );
    }

    #[test]
    fn the_base_of_fs_is_part_of_the_address() {
        let mut decoder = Decoder::with_ip(64, &[0x64, 0x48, 0x8b, 0x00], 0, DecoderOptions::NONE);
        let facts = ThreadFacts {
            fs_base: 0x7000_0000_0000,
            ..ThreadFacts::default()
        };
        let description = Describer::new()
            .describe(&decoder.decode(), &facts)
            .unwrap();
        let access = description.accesses.iter().next().unwrap(); // mov rax, fs:[rax]
        assert_eq!(access.address.first(&[0x10]), Some(0x7000_0000_0010));
    }

    #[test]
    fn lea_and_long_nops_access_nothing() {
        assert_eq!(accesses(&[0x48, 0x8d, 0x44, 0x91, 0x08]), []); // lea rax, [rcx+rdx*4+8]
        assert_eq!(accesses(&[0x0f, 0x1f, 0x40, 0x00]), []); // nop [rax]
    }

    #[test]
    fn a_prefetch_is_a_hint() {
        assert_eq!(
            accesses(&[0x0f, 0x18, 0x08]), // prefetcht0 [rax]
            [(AccessKind::Hint, 0, recorded(0, 0))]
        );
    }

    #[test]
    fn a_repeated_move_has_both_sides_and_a_count() {
        let block = OwnedBlock::describe(&[0xf3, 0x48, 0xa5], 0).unwrap(); // rep movsq
        let block = block.as_block(BlockId(0));
        let instruction = &block.instructions[0];
        let mut kinds: Vec<_> = block
            .accesses_of(instruction)
            .iter()
            .map(|access| (access.kind, access.size_bytes))
            .collect();
        kinds.sort_by_key(|(kind, _)| *kind == AccessKind::Write);
        assert_eq!(kinds, [(AccessKind::Read, 8), (AccessKind::Write, 8)]);
        assert_eq!(block.recorded_values, 3);
        let repeat = instruction.repeat.unwrap();
        assert_eq!(repeat.iterations(&[1, 2, 77]), 77);
    }

    #[test]
    fn a_repeated_compare_records_the_count_twice() {
        let block = OwnedBlock::describe(&[0xf2, 0xae], 0).unwrap(); // repne scasb
        assert_eq!(block.recorded_values, 3);
        let repeat = block.instructions[0].repeat.unwrap();
        assert_eq!(repeat.iterations(&[0, 9, 4]), 5);
    }

    #[test]
    fn a_gather_with_a_mask_register_has_its_elements() {
        // vpgatherdd zmm1{k1}, [rax+zmm2*4]
        let block = OwnedBlock::describe(&[0x62, 0xf2, 0x7d, 0x49, 0x90, 0x0c, 0x90], 0).unwrap();
        assert_eq!(block.accesses.len(), 1);
        assert_eq!(block.accesses[0].size_bytes, 4);
        let Address::Elements(elements) = block.accesses[0].address else {
            panic!("{:?}", block.accesses[0]);
        };
        assert_eq!(elements.count, 16);
        // The base, 64 bytes of indices, the mask.
        assert_eq!(block.recorded_values, 1 + 8 + 1);
    }

    #[test]
    fn a_gather_with_a_mask_vector_has_its_elements() {
        // vpgatherdq ymm1, [rax+xmm2*8], ymm3
        let block = OwnedBlock::describe(&[0xc4, 0xe2, 0xe5, 0x90, 0x0c, 0xd0], 0).unwrap();
        let Address::Elements(elements) = block.accesses[0].address else {
            panic!("{:?}", block.accesses[0]);
        };
        assert_eq!(elements.count, 4);
        assert_eq!(block.recorded_values, 1 + 2 + 4);
    }

    #[test]
    fn pop_to_a_stack_slot_reads_and_writes() {
        assert_eq!(accesses(&[0x8f, 0x44, 0x24, 0x10]).len(), 2); // pop [rsp+16]
    }

    #[test]
    fn a_bit_string_in_memory_is_refused() {
        assert!(OwnedBlock::describe(&[0x0f, 0xab, 0x08], 0).is_none()); // bts [rax], ecx
        assert!(OwnedBlock::describe(&[0x0f, 0xba, 0x28, 5], 0).is_some()); // bts [rax], 5
    }

    #[test]
    fn nested_enter_is_refused() {
        assert!(OwnedBlock::describe(&[0xc8, 0, 0, 0x1f], 0).is_none());
    }

    #[test]
    fn a_block_ends_with_the_first_branch() {
        let block = OwnedBlock::describe(&[0x90, 0xeb, 0xfd, 0x90], 0x1000).unwrap();
        let block = block.as_block(BlockId(7));
        assert_eq!((block.start_ip(), block.end_ip()), (0x1000, 0x1003));
    }
}
