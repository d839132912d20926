//! The translated blocks: their descriptions for the consumer, and where their code is.

use std::io;

use super::check::{self, Check};
use super::memory::Arena;
use crate::block::{Access, Block, BlockId, Instruction};
use crate::error::TraceError;

/// A block in the arenas.
#[derive(Clone, Copy)]
pub(crate) struct BlockRecord {
    pub start_ip: u64,
    first_instruction: u32,
    first_access: u32,
    /// Where the code it was translated from begins in `sources`.
    first_source: u32,
    source_bytes: u16,
    instruction_count: u16,
    access_count: u16,
    recorded_values: u16,
    records_arguments: bool,
    /// Whether the last instruction is replaced by other code instead of being copied.
    pub ends_with_branch: bool,
    /// See [`Plan::borrowed`](super::plan::Plan::borrowed).
    borrowed: u16,
    /// See [`Plan::borrowed_by_branch`](super::plan::Plan::borrowed_by_branch).
    borrowed_by_branch: u16,
    /// The address of its code.
    pub entry: u64,
    /// The address of its code for indirect branches, which have borrowed rcx and rdx. This is the
    /// lowest address of the block.
    pub indirect_entry: u64,
    /// `None` if its code is trusted.
    pub check: Option<Check>,
    /// Whether it leads to trusting blocks: see [`trust`](super::trust).
    trusts: bool,
    /// The translation of the code previously at this address.
    older: Option<BlockId>,
}

impl BlockRecord {
    pub(crate) fn overlaps(&self, start: u64, end: u64) -> bool {
        self.start_ip < end && start < self.start_ip + u64::from(self.source_bytes)
    }
}

/// What an address of translated code corresponds to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CodeOrigin {
    /// The program's instruction.
    pub ip: u64,
    /// Bit mask of the registers whose values are in the context.
    pub borrowed: u16,
}

/// All blocks, found by number and by address. Never grows.
pub(crate) struct BlockStore {
    blocks: Arena<BlockRecord>,
    instructions: Arena<Instruction>,
    accesses: Arena<Access>,
    sources: Arena<u8>,
    /// Parallel to `instructions`: where the code of each begins, in bytes from the block's lowest.
    offsets: Arena<u16>,
    /// Open addressing by start address: a block's number plus one, or 0 if free.
    index: Arena<u32>,
    index_mask: usize,
    /// Whether trusting blocks or checking ones are found by address and created.
    trusts: bool,
    /// The blocks before this one were forgotten.
    first_remembered: usize,
    capacity: usize,
}

impl BlockStore {
    pub(crate) fn new(instructions: usize) -> io::Result<BlockStore> {
        // Rust code averages six instructions per block.
        let blocks = (instructions / 2).max(16);
        let slots = (blocks * 2).next_power_of_two();
        Ok(BlockStore {
            blocks: Arena::new(blocks)?,
            instructions: Arena::new(instructions)?,
            accesses: Arena::new(instructions + instructions / 2)?,
            // Programs average four bytes per instruction.
            sources: Arena::new(instructions * 8)?,
            offsets: Arena::new(instructions)?,
            index: Arena::zeros(slots)?,
            index_mask: slots - 1,
            trusts: true,
            first_remembered: 0,
            capacity: instructions,
        })
    }

    pub(crate) fn record(&self, id: BlockId) -> &BlockRecord {
        &self.blocks.as_slice()[id.index()]
    }

    pub(crate) fn next_id(&self) -> BlockId {
        BlockId(self.blocks.len() as u32)
    }

    #[inline]
    pub(crate) fn block(&self, id: BlockId) -> Block<'_> {
        let record = self.record(id);
        let first = record.first_instruction as usize;
        let first_access = record.first_access as usize;
        Block {
            id,
            instructions: &self.instructions.as_slice()
                [first..first + usize::from(record.instruction_count)],
            accesses: &self.accesses.as_slice()
                [first_access..first_access + usize::from(record.access_count)],
            recorded_values: usize::from(record.recorded_values),
            records_arguments: record.records_arguments,
        }
    }

    pub(crate) fn find(&self, start_ip: u64) -> Option<BlockId> {
        let slot = self.slot_for(start_ip);
        self.index.as_slice()[slot].checked_sub(1).map(BlockId)
    }

    /// Returns what the code at `address`, inside one of the blocks, corresponds to. Correct
    /// wherever the program's own memory is accessed and its own instructions are executed.
    pub(crate) fn standing_at(&self, address: u64) -> Option<CodeOrigin> {
        // Blocks are written one after the other.
        let blocks = self.blocks.as_slice();
        let behind = blocks.partition_point(|block| block.indirect_entry <= address);
        let record = &blocks[behind.checked_sub(1)?];
        let first = record.first_instruction as usize;
        let all = first..first + usize::from(record.instruction_count);
        let offset = address - record.indirect_entry;
        let place = self.offsets.as_slice()[all.clone()]
            .partition_point(|&begin| u64::from(begin) <= offset);
        let Some(place) = place.checked_sub(1) else {
            // It reads the first instruction to check it.
            return record.check.map(|_| CodeOrigin {
                ip: record.start_ip,
                borrowed: check::BORROWED,
            });
        };
        let at_branch = record.ends_with_branch && first + place + 1 == all.end;
        Some(CodeOrigin {
            ip: self.instructions.as_slice()[first + place].decoded.ip(),
            borrowed: if at_branch {
                record.borrowed_by_branch
            } else {
                record.borrowed
            },
        })
    }

    /// Returns the code from which a block was translated.
    pub(crate) fn source(&self, id: BlockId) -> &[u8] {
        let record = self.record(id);
        let first = record.first_source as usize;
        &self.sources.as_slice()[first..first + usize::from(record.source_bytes)]
    }

    /// Returns all translations of code at `start_ip`, the newest first.
    pub(crate) fn translations(&self, start_ip: u64) -> impl Iterator<Item = BlockId> + '_ {
        std::iter::successors(self.find(start_ip), |&id| self.record(id).older)
    }

    /// Returns the blocks that were not forgotten.
    pub(crate) fn remembered(&self) -> impl Iterator<Item = BlockId> + use<> {
        (self.first_remembered..self.blocks.len()).map(|number| BlockId(number as u32))
    }

    /// Returns the remembered blocks with code in `start..end`.
    pub(crate) fn remembered_in(&self, start: u64, end: u64) -> impl Iterator<Item = BlockId> + '_ {
        self.remembered()
            .filter(move |&id| self.record(id).overlaps(start, end))
    }

    /// Checks whether a block of these sizes can be added.
    pub(crate) fn reserve(
        &self,
        instructions: usize,
        accesses: usize,
        source_bytes: usize,
    ) -> Result<(), TraceError> {
        let fits = self.blocks.has_room_for(1)
            && self.instructions.has_room_for(instructions)
            && self.accesses.has_room_for(accesses)
            && self.sources.has_room_for(source_bytes);
        if fits {
            Ok(())
        } else {
            Err(TraceError::Capacity {
                table: "static_instructions",
                capacity: self.capacity,
            })
        }
    }

    /// Adds an instruction to the block being built. The caller must have called `reserve`.
    pub(crate) fn push_instruction(
        &mut self,
        instruction: Instruction,
        accesses: impl Iterator<Item = Access>,
        offset: u16,
    ) {
        self.instructions.push(instruction);
        self.offsets.push(offset);
        for access in accesses {
            self.accesses.push(access);
        }
    }

    /// Returns where the instructions and accesses of the next block begin.
    pub(crate) fn ends(&self) -> (u32, u32) {
        (self.instructions.len() as u32, self.accesses.len() as u32)
    }

    /// Completes the block whose parts were pushed since `ends` was called.
    pub(crate) fn push_block(&mut self, ends: (u32, u32), parts: BlockParts<'_>) -> BlockId {
        let id = self.next_id();
        let slot = self.slot_for(parts.start_ip);
        let older = self.index.as_slice()[slot].checked_sub(1).map(BlockId);
        self.blocks.push(BlockRecord {
            start_ip: parts.start_ip,
            first_instruction: ends.0,
            first_access: ends.1,
            first_source: self.sources.len() as u32,
            source_bytes: parts.source.len() as u16,
            instruction_count: (self.instructions.len() as u32 - ends.0) as u16,
            access_count: (self.accesses.len() as u32 - ends.1) as u16,
            recorded_values: parts.recorded_values,
            records_arguments: parts.records_arguments,
            ends_with_branch: parts.ends_with_branch,
            borrowed: parts.borrowed,
            borrowed_by_branch: parts.borrowed_by_branch,
            entry: parts.entry,
            indirect_entry: parts.indirect_entry,
            check: parts.check,
            trusts: self.trusts,
            older,
        });
        self.sources.extend(parts.source);
        self.index.as_mut_slice()[slot] = id.0 + 1;
        id
    }

    /// See [`Translator::trust`](super::translator::Translator::trust).
    pub(crate) fn select_by_trust(&mut self, trust: bool) {
        self.trusts = trust;
    }

    /// Returns the slot of the block at `start_ip`, or a free one for it.
    fn slot_for(&self, start_ip: u64) -> usize {
        let mut slot = self.slot_of(start_ip);
        // At most half of the slots are ever taken.
        while let Some(number) = self.index.as_slice()[slot].checked_sub(1) {
            let record = self.record(BlockId(number));
            if record.start_ip == start_ip && record.trusts == self.trusts {
                break;
            }
            slot = (slot + 1) & self.index_mask;
        }
        slot
    }

    /// Returns whether more than half of the room for blocks or their parts is in use.
    pub(crate) fn is_half_full(&self) -> bool {
        self.blocks.is_half_full()
            || self.instructions.is_half_full()
            || self.accesses.is_half_full()
            || self.sources.is_half_full()
    }

    /// Forgets all blocks. Their numbers are given out again.
    pub(crate) fn clear(&mut self) {
        self.forget_addresses();
        self.first_remembered = 0;
        self.blocks.clear();
        self.instructions.clear();
        self.accesses.clear();
        self.sources.clear();
        self.offsets.clear();
    }

    /// Makes all blocks unfindable by address. Their numbers stay valid.
    pub(crate) fn forget_addresses(&mut self) {
        self.index.as_mut_slice().fill(0);
        self.first_remembered = self.blocks.len();
    }

    fn slot_of(&self, start_ip: u64) -> usize {
        // Fibonacci hashing: Knuth, The Art of Computer Programming 3, 6.4. The two possible blocks
        // at an address have distant slots.
        let key = start_ip ^ u64::from(self.trusts) << 40;
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & self.index_mask
    }
}

/// What [`BlockStore::push_block`] needs besides instructions and accesses.
pub(crate) struct BlockParts<'a> {
    pub start_ip: u64,
    pub recorded_values: u16,
    pub records_arguments: bool,
    pub ends_with_branch: bool,
    pub borrowed: u16,
    pub borrowed_by_branch: u16,
    pub entry: u64,
    pub indirect_entry: u64,
    pub check: Option<Check>,
    /// The program's code.
    pub source: &'a [u8],
}
