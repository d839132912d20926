//! Derives from a decoded instruction its memory accesses, and what must be recorded to know their
//! addresses. This module neither touches memory nor allocates.

use iced_x86::{
    Decoder, DecoderOptions, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register,
};

use crate::block::{Access, Arguments, Instruction, MAX_BLOCK_INSTRUCTIONS, OwnedBlock, Repeat};
use draft::{Draft, KnownValue};

mod draft;
#[cfg(test)]
mod tests;

/// The maximum number of accesses of any supported instruction.
pub(crate) const MAX_ACCESSES: usize = 4;
/// The maximum number of recordings of any supported instruction.
pub(crate) const MAX_RECORDINGS: usize = 4;

/// Constants of the traced thread, and sizes that the decoder does not know.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ThreadFacts {
    /// The base of the FS segment.
    pub fs_base: u64,
    /// Whether threads take turns in the code, so that the base of FS is not a constant.
    pub several_threads: bool,
    /// The base of the GS segment.
    pub gs_base: u64,
    /// The number of bytes that `xsave` and similar write, from CPUID leaf 0xD.
    pub xsave_bytes: u32,
}

/// What to put into a recorded value, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recording {
    /// Before: a 64-bit general register.
    General { entry: u16, register: Register },
    /// Before: base + index × scale + displacement. The base is `Register::None` if absent.
    Effective {
        entry: u16,
        base: Register,
        index: Register,
        scale: u8,
        displacement: i32,
    },
    /// Before: the base of FS + index × scale. The index is `Register::None` if absent.
    ThreadBase {
        entry: u16,
        index: Register,
        scale: u8,
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

/// A few items without a heap allocation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SmallList<T, const N: usize> {
    items: [Option<T>; N],
    len: usize,
}

impl<T: Copy, const N: usize> SmallList<T, N> {
    fn new() -> Self {
        SmallList {
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

/// Why an instruction's accesses cannot be described exactly.
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

/// The accesses of one instruction, and the recordings and repetition they need.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Description {
    pub accesses: SmallList<Access, MAX_ACCESSES>,
    pub recordings: SmallList<Recording, MAX_RECORDINGS>,
    pub repeat: Option<Repeat>,
    /// The general registers that it uses in any way, one bit each in encoding order.
    pub registers: u16,
}

/// Returns a factory that never allocates: a consumer that allocated would move the program's data.
pub fn reserved_factory() -> InstructionInfoFactory {
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
    factory
}

/// Describes the instructions of a block, one after the other.
pub(crate) struct Describer {
    factory: InstructionInfoFactory,
    /// The recorded value that each general register still equals, up to a constant: addresses with
    /// the same base are recorded once. In encoding order.
    held: [Option<KnownValue>; 16],
    /// The recorded value that is the base of FS.
    thread_base: Option<u16>,
    next_entry: u16,
}

impl Describer {
    /// Reserves all memory that [`describe`](Describer::describe) will need.
    pub(crate) fn new() -> Describer {
        Describer {
            factory: reserved_factory(),
            held: [None; 16],
            thread_base: None,
            next_entry: 0,
        }
    }

    /// Forgets the previous block.
    pub(crate) fn begin_block(&mut self) {
        self.held = [None; 16];
        self.thread_base = None;
        self.next_entry = 0;
    }

    /// Like [`begin_block`](Describer::begin_block), for a block that records its arguments first.
    pub(crate) fn begin_block_with_arguments(&mut self) {
        self.begin_block();
        for register in Arguments::REGISTERS {
            self.held[register.number()] = Some(KnownValue::just(self.next_entry));
            self.next_entry += 1;
        }
    }

    /// Returns how many values the block records so far.
    pub(crate) fn recorded_values(&self) -> u16 {
        self.next_entry
    }

    /// Describes the next instruction of the block. After an error, the block must end before it.
    pub(crate) fn describe(
        &mut self,
        instruction: &iced_x86::Instruction,
        facts: &ThreadFacts,
    ) -> Result<Description, Undescribable> {
        let info = self.factory.info(instruction);
        let mut draft = Draft {
            accesses: SmallList::new(),
            recordings: SmallList::new(),
            held: self.held,
            thread_base: self.thread_base,
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
        self.thread_base = draft.thread_base;
        self.next_entry = draft.next_entry;
        Ok(Description {
            accesses: draft.accesses,
            recordings: draft.recordings,
            repeat,
            registers,
        })
    }
}

/// Returns the number of the general register that contains `register`.
pub(crate) fn general_number(register: Register) -> Option<usize> {
    let full = register.full_register();
    full.is_gpr64().then(|| full.number())
}

/// `bt [mem], reg` and similar access the word that the register's value selects: an address that
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

impl OwnedBlock {
    /// Describes `bytes` as if located at `ip`, up to the first branch, the first undecodable byte
    /// or [`MAX_BLOCK_INSTRUCTIONS`]. The bases of FS and GS are taken as 0. Returns `None` if not
    /// even one instruction can be described.
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
