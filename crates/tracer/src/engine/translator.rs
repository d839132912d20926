//! Finds or creates the translation for an address in the program.

use std::io;

use super::assembler::Assembler;
use super::block_store::{BlockParts, BlockStore, CodeOrigin};
use super::check::Check;
use super::code_map::{CodeMap, CodeRange, UnreadableCode};
use super::context::Context;
use super::emit::{self, Emitted, MAX_BLOCK_BYTES, Surroundings, emit};
use super::exit::{DirectExit, SystemCallExit};
use super::indirect::IndirectTable;
use super::memory::{Mapping, Protection};
use super::plan::{Ending, MAX_INSTRUCTION_BYTES, Plan};
use super::source;
use super::trampolines::Trampolines;
use crate::block::{BlockId, Instruction, MAX_BLOCK_INSTRUCTIONS};
use crate::describe::{Describer, ThreadFacts};
use crate::error::{OpenError, TraceError};
use crate::fixed_values;

/// The context has its own pages, away from the code, because stores next to executing code are
/// slow.
const CODE_OFFSET: usize = 64 * 1024;

/// Translated code averages 32 bytes per instruction, and twice as many with checks.
const CODE_BYTES_PER_INSTRUCTION: usize = 96;

/// Maximum number of bytes in a block.
const MAX_SOURCE_BYTES: usize = MAX_BLOCK_INSTRUCTIONS * MAX_INSTRUCTION_BYTES;

pub(crate) struct Translator {
    mapping: Mapping,
    code_bytes: usize,
    position: usize,
    /// Where the code of blocks begins, behind the trampolines.
    first_position: usize,
    trampolines: Trampolines,
    blocks: BlockStore,
    indirect: IndirectTable,
    describer: Describer,
    facts: ThreadFacts,
    code_map: CodeMap,
    /// Whether lasting code is trusted: see [`trust`](super::trust).
    trusts: bool,
    /// Whether it may ever be trusted again.
    may_trust: bool,
    /// Whether trusted blocks lead to the engine: see [`Translator::stop_trusting`].
    has_stopped: bool,
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
            first_position: position,
            trampolines,
            blocks,
            indirect,
            describer: Describer::new(),
            facts,
            code_map: CodeMap::new(),
            trusts: true,
            may_trust: true,
            has_stopped: false,
        })
    }

    /// Returns the context, zeroed at first, at the start of the code's mapping.
    pub(crate) fn context(&self) -> *mut Context {
        self.mapping.start().cast()
    }

    /// Returns the base of FS of the thread that made it.
    pub(crate) fn fs_base(&self) -> u64 {
        self.facts.fs_base
    }

    /// Returns the range that translated code can occupy.
    pub(crate) fn code(&self) -> (u64, u64) {
        let start = (self.mapping.address() + CODE_OFFSET) as u64;
        (start, start + self.code_bytes as u64)
    }

    /// Returns what the translated code at `address` corresponds to.
    pub(crate) fn standing_at(&self, address: u64) -> Option<CodeOrigin> {
        self.blocks.standing_at(address)
    }

    /// Returns the address of the code that leaves the engine.
    pub(crate) fn resume(&self) -> u64 {
        self.trampolines.resume
    }

    pub(crate) fn blocks(&self) -> &BlockStore {
        &self.blocks
    }

    /// Returns the block at `ip`, translating it if necessary. `wants_arguments` says whether a
    /// new one shall record its arguments; `translated` is called with it.
    pub(crate) fn block_at(
        &mut self,
        ip: u64,
        wants_arguments: bool,
        translated: impl FnOnce(&BlockStore, BlockId),
    ) -> Result<BlockId, TraceError> {
        if let Some(id) = self.blocks.find(ip) {
            return Ok(id);
        }
        let id = self.translate(ip, wants_arguments)?;
        translated(&self.blocks, id);
        Ok(id)
    }

    /// Returns the block for the current code at `ip`, which differs from what its newest
    /// translation was made from, or is in [doubt](Translator::doubt).
    pub(crate) fn changed_block_at(
        &mut self,
        ip: u64,
        wants_arguments: bool,
        translated: impl FnOnce(&BlockStore, BlockId),
    ) -> Result<BlockId, TraceError> {
        self.code_map.doubt(ip, ip + 1);
        let range = self.range_at(ip)?;
        let mut buffer = [0; MAX_SOURCE_BYTES];
        let code = self.read(ip, range, &mut buffer)?;
        let same = |id: &BlockId| code.starts_with(self.blocks.source(*id));
        let known = self.blocks.translations(ip).find(same);
        if let Some(id) = known {
            self.set_check(id, Assembler::NO_OP);
            return Ok(id);
        }
        let newest = self.blocks.find(ip);
        let id = self.translate(ip, wants_arguments)?;
        // Jumps to the older one now reach this one without the engine.
        if let Some(check) = newest.and_then(|newest| self.blocks.record(newest).check) {
            let entry = self.blocks.record(id).entry;
            self.assembler().set_jump(check.failed, entry);
        }
        translated(&self.blocks, id);
        Ok(id)
    }

    /// Writes the beginning of a block's check, if it has one.
    fn set_check(&mut self, id: BlockId, beginning: [u8; 2]) {
        if let Some(check) = self.blocks.record(id).check {
            self.assembler().set16(check.start as usize, beginning);
        }
    }

    /// Returns an assembler that appends to the code or overwrites it.
    fn assembler(&mut self) -> Assembler<'_> {
        let address = self.mapping.address() as u64 + CODE_OFFSET as u64;
        let code = self.mapping.bytes_mut(CODE_OFFSET, self.code_bytes);
        Assembler::new(code, self.position, address)
    }

    fn translate(&mut self, ip: u64, wants_arguments: bool) -> Result<BlockId, TraceError> {
        let range = self.range_at(ip)?;
        let mut buffer = [0; MAX_SOURCE_BYTES];
        let code = self.read(ip, range, &mut buffer)?;
        let here = self.mapping.address() as u64 + (CODE_OFFSET + self.position) as u64;
        let describer = &mut self.describer;
        let plan = Plan::make(
            code,
            ip,
            wants_arguments,
            describer,
            &self.facts,
            |target| {
                // The position is uncertain by the block's own length.
                Assembler::distance(here, target).is_some()
                    && Assembler::distance(here + MAX_BLOCK_BYTES as u64, target).is_some()
            },
        )
        .map_err(|refusal| TraceError::Instruction {
            ip,
            what: refusal.0,
        })?;
        let accesses = plan
            .instructions()
            .map(|instruction| instruction.description.accesses.len())
            .sum();
        let source = &code[..(plan.next_ip - ip) as usize];
        self.blocks.reserve(plan.len(), accesses, source.len())?;
        if self.code_bytes - self.position < MAX_BLOCK_BYTES {
            return Err(TraceError::Capacity {
                table: "code bytes (static_instructions)",
                capacity: self.code_bytes,
            });
        }
        let is_trusted = self.trusts(range);
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
                linked: &|target| {
                    // Its own address does not lead to this block yet.
                    let known = (target != ip).then(|| blocks.find(target)).flatten()?;
                    Some(blocks.record(known).entry)
                },
                checked: (!is_trusted).then_some(source),
            },
        );
        self.position = assembler.position();
        Ok(self.store(&plan, &emitted, source))
    }

    fn range_at(&mut self, ip: u64) -> Result<CodeRange, TraceError> {
        self.code_map.range_at(ip).map_err(|error| match error {
            UnreadableCode::Absent => TraceError::NoCode { ip },
            UnreadableCode::Writable => TraceError::WritableCode { ip },
            UnreadableCode::Unknown => TraceError::Maps,
        })
    }

    fn trusts(&self, range: CodeRange) -> bool {
        self.trusts && range.lasts
    }

    /// Reads the code after `ip` in its range, up to the maximum length of a block.
    fn read<'b>(
        &self,
        ip: u64,
        range: CodeRange,
        buffer: &'b mut [u8; MAX_SOURCE_BYTES],
    ) -> Result<&'b [u8], TraceError> {
        let readable = (range.end - ip).min(MAX_SOURCE_BYTES as u64) as usize;
        let buffer = &mut buffer[..readable];
        if !self.trusts(range) {
            match source::read(ip, buffer) {
                Some(0) => return Err(TraceError::NoCode { ip }),
                Some(read) => return Ok(&buffer[..read]),
                None => {}
            }
        }
        // SAFETY: the range was found to be readable. System calls of this thread that change it
        // make the engine look it up again. If other threads unmap code, they must not let this one
        // execute it, translated or not.
        unsafe {
            let start = std::ptr::with_exposed_provenance::<u8>(ip as usize);
            std::ptr::copy_nonoverlapping(start, buffer.as_mut_ptr(), readable);
        }
        Ok(buffer)
    }

    fn store(&mut self, plan: &Plan, emitted: &Emitted, source: &[u8]) -> BlockId {
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
                records_arguments: plan.records_arguments,
                ends_with_branch: plan.ending != Ending::Cut,
                borrowed: plan.borrowed(),
                borrowed_by_branch: plan.borrowed_by_branch(),
                entry: emitted.entry,
                indirect_entry: emitted.indirect_entry,
                check: emitted.check,
                source,
            },
        )
    }

    pub(crate) fn direct_exit(&self, record: u32) -> DirectExit {
        DirectExit::read(self.mapping.bytes(CODE_OFFSET, self.code_bytes), record)
    }

    pub(crate) fn system_call_exit(&self, record: u32) -> SystemCallExit {
        SystemCallExit::read(self.mapping.bytes(CODE_OFFSET, self.code_bytes), record)
    }

    /// Makes this exit go to the block without the engine.
    pub(crate) fn link(&mut self, exit: DirectExit, id: BlockId) {
        let entry = self.blocks.record(id).entry;
        self.assembler().set_jump(exit.site, entry);
    }

    /// Makes indirect branches find this block without the engine.
    pub(crate) fn link_indirect(&mut self, id: BlockId) {
        let record = self.blocks.record(id);
        self.indirect.insert(record.start_ip, record.indirect_entry);
    }

    /// Returns whether code at `start..end` may have been translated.
    pub(crate) fn knows_code_in(&self, start: u64, end: u64) -> bool {
        self.code_map.overlaps(start, end)
    }

    /// Records that `start..end` may no longer contain code, or different code. Its translations
    /// are not used again before that was looked up.
    pub(crate) fn doubt(&mut self, start: u64, end: u64) {
        let is_trusted = |id| self.blocks.record(id).check.is_none();
        if self.blocks.remembered_in(start, end).any(is_trusted) {
            self.forget();
            return;
        }
        self.code_map.doubt(start, end);
        for id in self.blocks.remembered() {
            if self.blocks.record(id).overlaps(start, end) {
                self.set_check(id, Check::ALWAYS_FAILS);
            }
        }
    }

    /// Returns whether any code is trusted.
    pub(crate) fn is_trusting(&self) -> bool {
        self.trusts
    }

    /// See [`distrust_for_good`](Translator::distrust_for_good).
    pub(crate) fn may_trust(&self) -> bool {
        self.may_trust
    }

    /// Sets whether lasting code is trusted from now on, or every block checks its code.
    /// Translations of both kinds exist, and neither kind leads to the other.
    pub(crate) fn trust(&mut self, trusts: bool) {
        if self.trusts != trusts {
            self.trusts = trusts;
            self.blocks.select_by_trust(trusts);
            self.indirect.forget();
        }
    }

    /// Makes every block check its code from now on, permanently: once something can change code
    /// unnoticed, there is no way to tell when it is gone.
    pub(crate) fn distrust_for_good(&mut self) {
        self.may_trust = false;
        self.trust(false);
    }

    /// Makes every trusted block lead to the engine when it is entered, whatever leads to it. May
    /// be called between any two instructions of translated code. The block that is being executed
    /// runs to its end.
    pub(crate) fn stop_trusting(&mut self) {
        for id in self.blocks.remembered() {
            let record = self.blocks.record(id);
            if record.check.is_none() {
                let at = record.entry - (self.mapping.address() + CODE_OFFSET) as u64;
                self.assembler().set16(at as usize, emit::NEVER_ENTERED);
            }
        }
        self.has_stopped = true;
    }

    /// Completes [`stop_trusting`](Translator::stop_trusting), in the engine.
    pub(crate) fn discard_untrusted(&mut self) {
        if std::mem::take(&mut self.has_stopped) {
            self.forget();
            self.trust(false);
        }
    }

    /// Returns whether the memory of all trusted code is still mapped. For the beginning of a
    /// trace.
    pub(crate) fn has_trusted_code(&self) -> bool {
        self.code_map.has_lasting_code()
    }

    /// Returns whether all trusted code is unchanged since it was translated.
    pub(crate) fn is_trusted_code_intact(&self) -> bool {
        self.blocks.remembered().all(|id| {
            if self.blocks.record(id).check.is_some() {
                return true;
            }
            let source = self.blocks.source(id);
            let start = self.blocks.record(id).start_ip;
            // SAFETY: trusted code was readable at attach, or when it was translated. The engine
            // sees the system calls that may have changed that, and then forgets it. Nothing else
            // writes there while it is trusted.
            let now = unsafe {
                let start = std::ptr::with_exposed_provenance::<u8>(start as usize);
                std::slice::from_raw_parts(start, source.len())
            };
            now == source
        })
    }

    /// Stops using all translations made so far; the descriptions stay.
    pub(crate) fn forget(&mut self) {
        self.blocks.forget_addresses();
        self.indirect.forget();
        self.code_map.forget();
    }

    /// Returns whether more than half of the room for translations is in use.
    pub(crate) fn is_half_full(&self) -> bool {
        self.position > self.code_bytes / 2 || self.blocks.is_half_full()
    }

    /// Frees the room of all translations. No thread may be in translated code.
    pub(crate) fn start_over(&mut self) {
        self.forget();
        self.blocks.clear();
        self.position = self.first_position;
    }

    /// Keeps the translated code mapped when the translator is dropped.
    pub(crate) fn keep_code_for_ever(&mut self) {
        self.mapping.keep_for_ever();
    }
}

/// Returns an address from which translated code usually reaches the program's data with 32-bit
/// offsets.
fn near_this_program() -> usize {
    const DISTANCE: usize = 512 << 20;
    let here = near_this_program as *const () as usize & !0xffff;
    // Programs linked to a fixed address are too low for memory below them.
    if here > 2 * DISTANCE {
        here - DISTANCE
    } else {
        here + DISTANCE
    }
}
