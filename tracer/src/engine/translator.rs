//! From an address in the program to translated code.

use std::io;

use super::assembler::Assembler;
use super::block_store::{BlockParts, BlockStore, Standing};
use super::code_map::{CodeMap, NotCode};
use super::context::Context;
use super::emit::{Emitted, MAX_BLOCK_BYTES, Surroundings, emit};
use super::exit::{DirectExit, SystemCallExit};
use super::indirect::IndirectTable;
use super::memory::{Mapping, Protection};
use super::plan::{Ending, MAX_INSTRUCTION_BYTES, Plan};
use super::trampolines::Trampolines;
use crate::block::{BlockId, Instruction, MAX_BLOCK_INSTRUCTIONS};
use crate::describe::{Describer, ThreadFacts};
use crate::error::{OpenError, TraceError};
use crate::fixed_values;

/// The context has its own pages, away from the code: stores next to code that executes are slow.
const CODE_OFFSET: usize = 64 * 1024;

/// Translated code was seen to need 32 bytes per instruction.
const CODE_BYTES_PER_INSTRUCTION: usize = 64;

pub(crate) struct Translator {
    mapping: Mapping,
    code_bytes: usize,
    position: usize,
    trampolines: Trampolines,
    blocks: BlockStore,
    indirect: IndirectTable,
    describer: Describer,
    facts: ThreadFacts,
    code_map: CodeMap,
    /// Whether code was translated that comes from no file.
    has_generated_code: bool,
}

impl Translator {
    pub(crate) fn new(
        static_instructions: usize,
        facts: ThreadFacts,
    ) -> Result<Translator, OpenError> {
        let code_bytes = static_instructions * CODE_BYTES_PER_INSTRUCTION + 2 * MAX_BLOCK_BYTES;
        let bytes = CODE_OFFSET + code_bytes;
        let mut mapping = Mapping::new(bytes, Protection::ReadWriteExecute, near_this_program())
            .map_err(|error| OpenError::ExecutableMemory {
                bytes,
                os_error: error.to_string(),
            })?;
        let memory = |error: io::Error| OpenError::Memory {
            bytes: static_instructions * 100,
            os_error: error.to_string(),
        };
        let blocks = BlockStore::new(static_instructions).map_err(memory)?;
        let indirect = IndirectTable::new().map_err(memory)?;
        let context = mapping.address() as u64;
        let mut assembler = Assembler::new(
            mapping.bytes_mut(CODE_OFFSET, code_bytes),
            0,
            context + CODE_OFFSET as u64,
        );
        let trampolines = Trampolines::write(&mut assembler, context, indirect.second());
        let position = assembler.position();
        Ok(Translator {
            mapping,
            code_bytes,
            position,
            trampolines,
            blocks,
            indirect,
            describer: Describer::new(),
            facts,
            code_map: CodeMap::new(),
            has_generated_code: false,
        })
    }

    /// The context, zeroed at first, at the start of the code's mapping.
    pub(crate) fn context(&self) -> *mut Context {
        self.mapping.start().cast()
    }

    /// Where translated code starts and ends, now or later.
    pub(crate) fn code(&self) -> (u64, u64) {
        let start = (self.mapping.address() + CODE_OFFSET) as u64;
        (start, start + self.code_bytes as u64)
    }

    /// What the translated code at `address` stands for.
    pub(crate) fn standing_at(&self, address: u64) -> Option<Standing> {
        self.blocks.standing_at(address)
    }

    /// The code that leaves the engine.
    pub(crate) fn resume(&self) -> u64 {
        self.trampolines.resume
    }

    pub(crate) fn blocks(&self) -> &BlockStore {
        &self.blocks
    }

    /// The block at `ip`, translated if it was not yet. `translated` is called with a new one.
    pub(crate) fn block_at(
        &mut self,
        ip: u64,
        translated: impl FnOnce(&BlockStore, BlockId),
    ) -> Result<BlockId, TraceError> {
        if let Some(id) = self.blocks.find(ip) {
            return Ok(id);
        }
        let id = self.translate(ip)?;
        translated(&self.blocks, id);
        Ok(id)
    }

    fn translate(&mut self, ip: u64) -> Result<BlockId, TraceError> {
        let range = self.code_map.range_at(ip).map_err(|error| match error {
            NotCode::Absent => TraceError::NoCode { ip },
            NotCode::Writable => TraceError::WritableCode { ip },
        })?;
        let readable =
            (range.end - ip).min((MAX_BLOCK_INSTRUCTIONS * MAX_INSTRUCTION_BYTES) as u64);
        // SAFETY: the range was seen to be readable and not writable. System calls of this thread
        // that change it make the engine forget it first. What other threads unmap they must not
        // let this one execute, translated or not.
        let code = unsafe {
            std::slice::from_raw_parts(
                std::ptr::with_exposed_provenance::<u8>(ip as usize),
                readable as usize,
            )
        };
        let here = self.mapping.address() as u64 + (CODE_OFFSET + self.position) as u64;
        let plan = Plan::make(code, ip, &mut self.describer, &self.facts, |target| {
            // A block's own length is the uncertainty.
            Assembler::distance(here, target).is_some()
                && Assembler::distance(here + MAX_BLOCK_BYTES as u64, target).is_some()
        })
        .map_err(|refusal| TraceError::Instruction {
            ip,
            what: refusal.0,
        })?;
        let accesses = plan
            .instructions()
            .map(|instruction| instruction.description.accesses.len())
            .sum();
        self.blocks.reserve(plan.len(), accesses)?;
        if self.code_bytes - self.position < MAX_BLOCK_BYTES {
            return Err(TraceError::Capacity {
                table: "code bytes (static_instructions)",
                capacity: self.code_bytes,
            });
        }
        self.has_generated_code |= !range.from_file;

        let id = self.blocks.next_id();
        let context = self.mapping.address() as u64;
        let mut assembler = Assembler::new(
            self.mapping.bytes_mut(CODE_OFFSET, self.code_bytes),
            self.position,
            context + CODE_OFFSET as u64,
        );
        let blocks = &self.blocks;
        let emitted = emit(
            &plan,
            id,
            &mut assembler,
            &Surroundings {
                context,
                trampolines: &self.trampolines,
                indirect_table: self.indirect.first(),
                random_numbers_repeat: fixed_values::are_fixed(),
                linked: &|target| blocks.find(target).map(|id| blocks.record(id).entry),
            },
        );
        self.position = assembler.position();
        Ok(self.store(&plan, &emitted))
    }

    fn store(&mut self, plan: &Plan, emitted: &Emitted) -> BlockId {
        let ends = self.blocks.ends();
        let mut first_access = 0;
        for (instruction, offset) in plan.instructions().zip(emitted.offsets) {
            let count = instruction.description.accesses.len();
            self.blocks.push_instruction(
                Instruction {
                    decoded: instruction.decoded,
                    repeat: instruction.description.repeat,
                    first_access,
                    access_count: count as u8,
                },
                instruction.description.accesses.iter(),
                offset,
            );
            first_access += count as u16;
        }
        self.blocks.push_block(
            ends,
            BlockParts {
                start_ip: plan.start_ip,
                recorded_values: plan.recorded_values,
                ends_with_branch: plan.ending != Ending::Cut,
                borrowed: plan.borrowed(),
                borrowed_by_branch: plan.borrowed_by_branch(),
                entry: emitted.entry,
                indirect_entry: emitted.indirect_entry,
            },
        )
    }

    pub(crate) fn direct_exit(&self, record: u32) -> DirectExit {
        DirectExit::read(self.mapping.bytes(CODE_OFFSET, self.code_bytes), record)
    }

    pub(crate) fn system_call_exit(&self, record: u32) -> SystemCallExit {
        SystemCallExit::read(self.mapping.bytes(CODE_OFFSET, self.code_bytes), record)
    }

    /// From now on this exit goes to the block without the engine.
    pub(crate) fn link(&mut self, exit: DirectExit, id: BlockId) {
        let context = self.mapping.address() as u64;
        Assembler::new(
            self.mapping.bytes_mut(CODE_OFFSET, self.code_bytes),
            self.position,
            context + CODE_OFFSET as u64,
        )
        .set_jump(exit.site, self.blocks.record(id).entry);
    }

    /// From now on indirect branches find this block without the engine.
    pub(crate) fn link_indirect(&mut self, id: BlockId) {
        let record = self.blocks.record(id);
        self.indirect.insert(record.start_ip, record.indirect_entry);
    }

    /// Whether code at `start..end` may have been translated.
    pub(crate) fn knows_code_in(&self, start: u64, end: u64) -> bool {
        self.code_map.overlaps(start, end)
    }

    pub(crate) fn has_generated_code(&self) -> bool {
        self.has_generated_code
    }

    /// No translation made so far is used again; the descriptions stay.
    pub(crate) fn forget(&mut self) {
        self.blocks.forget_addresses();
        self.indirect.forget();
        self.code_map.forget();
        self.has_generated_code = false;
    }

    /// The translated code stays mapped when the translator goes away.
    pub(crate) fn keep_code_for_ever(&mut self) {
        self.mapping.keep_for_ever();
    }
}

/// An address at which translated code reaches the program's data with 32-bit distances, mostly.
fn near_this_program() -> usize {
    const DISTANCE: usize = 512 << 20;
    let here = near_this_program as *const () as usize & !0xffff;
    // Programs linked to a fixed address lie too low for memory below them.
    if here > 2 * DISTANCE {
        here - DISTANCE
    } else {
        here + DISTANCE
    }
}
