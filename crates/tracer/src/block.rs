//! Blocks: their instructions and where their data addresses come from. This module is independent
//! of how blocks are found or executed.

/// The maximum number of instructions in a block.
pub const MAX_BLOCK_INSTRUCTIONS: usize = 48;

/// The number of a block: an index into a table that the consumer may keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockId(pub u32);

impl BlockId {
    /// Returns the number as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A straight-line run of 1 to [`MAX_BLOCK_INSTRUCTIONS`] instructions, of which only the last can
/// branch.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// The block's number.
    pub id: BlockId,
    /// In execution order, without gaps.
    pub instructions: &'a [Instruction],
    /// The memory accesses of all instructions, in the order of the instructions. See
    /// [`Block::accesses_of`].
    pub accesses: &'a [Access],
    /// Number of values that each execution records: the length of the `addresses` passed to
    /// [`Consumer::block`](crate::Consumer::block).
    pub recorded_values: usize,
    /// Whether each execution records its [`arguments`](Block::arguments) too.
    pub records_arguments: bool,
}

impl<'a> Block<'a> {
    /// Returns the address of the first instruction.
    pub fn start_ip(&self) -> u64 {
        self.instructions[0].decoded.ip()
    }

    /// Returns the address after the last instruction, where execution continues if it does not
    /// branch.
    pub fn end_ip(&self) -> u64 {
        self.last().decoded.next_ip()
    }

    /// Returns the last instruction, the only one that can branch.
    pub fn last(&self) -> &'a Instruction {
        &self.instructions[self.instructions.len() - 1]
    }

    /// Returns the memory accesses of one of this block's instructions.
    pub fn accesses_of(&self, instruction: &Instruction) -> &'a [Access] {
        let first = usize::from(instruction.first_access);
        &self.accesses[first..first + usize::from(instruction.access_count)]
    }

    /// Returns the arguments of an execution, if the consumer
    /// [wants them](crate::Consumer::wants_arguments_at) and this block begins a function.
    pub fn arguments(&self, recorded: &[u64]) -> Option<Arguments> {
        let [a, b, c, d, stack, ..] = *recorded else {
            return None;
        };
        self.records_arguments.then_some(Arguments {
            integers: [a, b, c, d],
            stack,
        })
    }
}

/// What a function was called with, by the calling convention of the system: registers at its
/// entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arguments {
    /// The first four arguments that are integers or pointers: rdi, rsi, rdx, rcx.
    pub integers: [u64; 4],
    /// The stack pointer: where the return address lies.
    pub stack: u64,
}

impl Arguments {
    /// The registers in the order in which they are recorded, before anything else of the block.
    pub(crate) const REGISTERS: [iced_x86::Register; 5] = {
        use iced_x86::Register;
        [
            Register::RDI,
            Register::RSI,
            Register::RDX,
            Register::RCX,
            Register::RSP,
        ]
    };
}

/// An instruction of the program.
#[derive(Clone, Copy, Debug)]
pub struct Instruction {
    /// Address, length, code and operands.
    pub decoded: iced_x86::Instruction,
    /// For string instructions with a `rep` prefix, how often they repeat.
    pub repeat: Option<Repeat>,
    /// Its accesses are `block.accesses[first_access..][..access_count]`.
    pub(crate) first_access: u16,
    pub(crate) access_count: u8,
}

/// The repetitions of a string instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeat {
    /// Index of the recorded value that holds the count before the instruction.
    pub(crate) count: u16,
    /// For `repe`/`repne`, index of the recorded value that holds the count after the instruction.
    pub(crate) remaining: Option<u16>,
}

impl Repeat {
    /// Returns how many elements the instruction processed, possibly 0.
    pub fn iterations(self, addresses: &[u64]) -> u64 {
        let count = addresses[usize::from(self.count)];
        let remaining = self
            .remaining
            .map_or(0, |entry| addresses[usize::from(entry)]);
        count.wrapping_sub(remaining)
    }
}

/// One architectural memory access by one instruction. Implicit stack accesses by `push`, `pop`,
/// `call` and `ret` and both sides of a string move are included; `lea` and multi-byte `nop` access
/// nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// What the access does.
    pub kind: AccessKind,
    /// Size in bytes: of one element for gathers, scatters and repeated string instructions,
    /// otherwise of the whole access. 0 if the size is unknown, as for cache control.
    pub size_bytes: u32,
    /// Its address.
    pub address: Address,
}

/// What an access does. Conditional and masked accesses count as done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessKind {
    /// A load.
    Read,
    /// A store.
    Write,
    /// A load and a store at the same address.
    ReadWrite,
    /// A software prefetch or another hint about a line: nothing waits for it.
    Hint,
}

/// The address of an access. Addresses are linear: the bases of FS and GS are included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    /// A constant address.
    Fixed(u64),
    /// A recorded value plus a constant.
    Recorded {
        /// Index of the recorded value.
        entry: u16,
        /// Constant to add, wrapping. Several accesses can refer to the same recorded value.
        displacement: i64,
    },
    /// Several addresses: a gather or scatter.
    Elements(Elements),
}

impl Address {
    /// Returns the lowest address of the access. For a repeated string instruction, it is the
    /// address of the first element; for a gather or scatter, that of the first element enabled by
    /// its mask, or `None` if none is.
    #[inline]
    pub fn first(self, addresses: &[u64]) -> Option<u64> {
        match self {
            Address::Fixed(address) => Some(address),
            Address::Recorded {
                entry,
                displacement,
            } => Some(addresses[usize::from(entry)].wrapping_add_signed(displacement)),
            Address::Elements(elements) => elements.first(addresses),
        }
    }
}

/// The addresses of a gather or scatter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elements {
    /// Index of the recorded value that holds the base.
    pub(crate) base: u16,
    pub(crate) displacement: i64,
    /// The index vector starts at this recorded value, byte for byte.
    pub(crate) indices: u16,
    /// Size of one index: 4 or 8, signed.
    pub(crate) index_bytes: u8,
    /// 1, 2, 4 or 8.
    pub(crate) scale: u8,
    /// Maximum number of elements.
    pub count: u8,
    /// The elements accessed.
    pub(crate) mask: Mask,
}

/// Which elements of a gather or scatter are accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mask {
    /// All of them.
    All,
    /// Those whose bit is set in this recorded value.
    Bits(u16),
    /// Those whose sign bit is set in the vector that starts at this recorded value, byte for byte.
    Signs {
        /// The first of the recorded values.
        entry: u16,
        /// Size of one element of the mask.
        element_bytes: u8,
    },
}

impl Elements {
    /// Returns the addresses of the elements that the mask enables, in the order of the elements.
    pub fn addresses(self, recorded: &[u64]) -> impl Iterator<Item = u64> + '_ {
        let base = recorded[usize::from(self.base)].wrapping_add_signed(self.displacement);
        (0..usize::from(self.count))
            .filter(move |&element| self.enabled(recorded, element))
            .map(move |element| {
                let bytes = usize::from(self.index_bytes);
                let raw = lane(recorded, self.indices, element, bytes);
                let index = if bytes == 4 {
                    i64::from(raw as i32)
                } else {
                    raw as i64
                };
                base.wrapping_add_signed(index.wrapping_mul(self.scale.into()))
            })
    }

    /// Returns the first of them. Not inlined, because callers rarely have a gather.
    #[inline(never)]
    fn first(self, recorded: &[u64]) -> Option<u64> {
        self.addresses(recorded).next()
    }

    fn enabled(self, recorded: &[u64], element: usize) -> bool {
        match self.mask {
            Mask::All => true,
            Mask::Bits(entry) => recorded[usize::from(entry)] >> element & 1 == 1,
            Mask::Signs {
                entry,
                element_bytes,
            } => {
                let bytes = usize::from(element_bytes);
                lane(recorded, entry, element, bytes) >> (bytes * 8 - 1) & 1 == 1
            }
        }
    }
}

/// Returns a 4- or 8-byte element of a vector recorded from `entry` on, zero-extended.
fn lane(recorded: &[u64], entry: u16, element: usize, bytes: usize) -> u64 {
    if bytes == 8 {
        recorded[usize::from(entry) + element]
    } else {
        let pair = recorded[usize::from(entry) + element / 2];
        pair >> (element % 2 * 32) & 0xffff_ffff
    }
}

/// A block that owns its parts: for tests and tools that have bytes but no execution.
#[derive(Clone, Debug)]
pub struct OwnedBlock {
    pub(crate) instructions: Vec<Instruction>,
    pub(crate) accesses: Vec<Access>,
    pub(crate) recorded_values: usize,
}

impl OwnedBlock {
    /// Returns the block as passed to a consumer.
    pub fn as_block(&self, id: BlockId) -> Block<'_> {
        Block {
            id,
            instructions: &self.instructions,
            accesses: &self.accesses,
            recorded_values: self.recorded_values,
            records_arguments: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gather_has_addresses_of_enabled_elements() {
        let elements = Elements {
            base: 0,
            displacement: 0,
            indices: 1,
            index_bytes: 4,
            scale: 4,
            count: 4,
            mask: Mask::Bits(3),
        };
        let recorded = [0x1000, 0xffff_ffff_0000_0001, 0x0000_0003_0000_0002, 0b1011];
        let addresses: Vec<u64> = elements.addresses(&recorded).collect();
        assert_eq!(addresses, [0x1004, 0xffc, 0x100c]);
    }

    #[test]
    fn sign_bit_mask_selects_elements() {
        let elements = Elements {
            base: 0,
            displacement: 0,
            indices: 1,
            index_bytes: 8,
            scale: 1,
            count: 2,
            mask: Mask::Signs {
                entry: 3,
                element_bytes: 8,
            },
        };
        let recorded = [0x1000, 8, 16, 0, 1 << 63];
        assert_eq!(
            Address::Elements(elements).first(&recorded),
            Some(0x1010),
            "the first element is masked out"
        );
    }

    #[test]
    fn repne_iterations_are_difference_of_counts() {
        let repeat = Repeat {
            count: 0,
            remaining: Some(1),
        };
        assert_eq!(repeat.iterations(&[10, 7]), 3);
    }
}
