//! The model as seen by the tracer: a table of translated blocks, and the core that executes them.

use topdown_tracer::{Block, BlockId, Consumer, Mapping};

use crate::address_space::MappingAt;
use crate::branch::CodeAddress;
use crate::core::{Core, Executed};
use crate::instruction::{Lowering, MemoryOperand, Operation};
use crate::instruction_rows::InstructionRows;
use crate::ledger::{BlockCounts, FixedCosts, Waits};
use crate::parameters::CoreParameters;
use crate::paths::{CallPath, Paths, ROOT};
use crate::slots::Counts;
use crate::threads::OtherCores;
use crate::upper_halves::Switches;

/// The size of program that the model has room for. All memory is reserved on creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Translated instructions, counted once per block that contains them.
    pub instructions: usize,
    /// Translated blocks.
    pub blocks: usize,
}

impl Default for Capacity {
    /// 512 Ki instructions, like the tracer, and an eighth as many blocks.
    fn default() -> Self {
        Capacity {
            instructions: 512 * 1024,
            blocks: 64 * 1024,
        }
    }
}

#[derive(Clone, Copy)]
struct LoweredBlock {
    start_ip: u64,
    end_ip: u64,
    /// Where `start_ip` lies in the model.
    place: CodeAddress,
    /// Where the last instruction lies.
    last_place: CodeAddress,
    first: u32,
    count: u32,
    /// The memory operands of all instructions.
    first_memory: u32,
    memory_count: u32,
    /// Whether a string instruction is repeated.
    has_repeat: bool,
    costs: FixedCosts,
    switches: Switches,
}

/// A model of one core, fed with executed blocks.
///
/// It never allocates or panics while it consumes.
pub struct Model {
    core: Core,
    others: OtherCores,
    lowering: Lowering,
    operations: Vec<Operation>,
    memory: Vec<MemoryOperand>,
    blocks: Vec<LoweredBlock>,
    paths: Option<Paths>,
    instructions: Option<InstructionRows>,
    effort: Effort,
    full: bool,
}

/// A block and the call path on which it was executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockOnPath {
    /// Its number.
    pub block: BlockId,
    /// An index into [`Model::paths`]; [`ROOT`] if the model does not follow calls.
    pub path: u32,
}

/// What a model does with the blocks that it receives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effort {
    /// Executes them on the core, and counts.
    #[default]
    Detail,
    /// Shows them to caches, TLBs, prefetchers and branch predictors, and counts nothing. Time
    /// stands still.
    Warming,
    /// Shows caches and TLBs those accesses that are not to recently accessed lines, and counts
    /// nothing. Several times as fast as warming.
    Skimming,
    /// Shows caches, TLBs and prefetchers all accesses to data, branch predictors nothing, and
    /// counts nothing. Half as fast as skimming, whose prefetchers know too much: what was accessed
    /// recently breaks no pattern.
    Following,
    /// Counts their instructions, and does nothing else with them.
    Counting,
    /// Does nothing with them: caches stay as they were.
    Skipping,
}

/// Number of rows for blocks on paths per block.
const ROWS_PER_BLOCK: usize = 2;

impl Model {
    /// Creates a core that has executed nothing: caches and predictors are empty. Memory lies where
    /// the stream says.
    pub fn new(parameters: &CoreParameters, capacity: Capacity) -> Self {
        Model::of(parameters, capacity, None)
    }

    /// Like [`new`](Model::new), but assigns each of the program's mappings its own place in the
    /// model, in the order in which they are first touched. The counts then do not depend on where
    /// the system has put them.
    ///
    /// `mapping_at` is called for the mapping around an address, once for each mapping, while the
    /// program is stopped: it must neither allocate nor lock. [`Mapping::at`] is made for that.
    pub fn with_mappings(
        parameters: &CoreParameters,
        capacity: Capacity,
        mapping_at: impl Fn(u64) -> Option<Mapping> + 'static,
    ) -> Self {
        Model::of(parameters, capacity, Some(Box::new(mapping_at)))
    }

    fn of(parameters: &CoreParameters, capacity: Capacity, mapping_at: Option<MappingAt>) -> Self {
        Model {
            core: Core::new(parameters, capacity.blocks, mapping_at),
            others: OtherCores::default(),
            lowering: Lowering::new(parameters),
            operations: Vec::with_capacity(capacity.instructions),
            memory: Vec::with_capacity(capacity.instructions),
            blocks: Vec::with_capacity(capacity.blocks),
            paths: None,
            instructions: None,
            effort: Effort::Detail,
            full: false,
        }
    }

    /// Adds cores for further threads, which share nothing. The counts are the sums over all cores.
    #[must_use]
    pub fn with_further_cores(mut self, cores: usize) -> Self {
        let parameters = self.core.parameters().clone();
        self.others = OtherCores::new(cores, || Core::new(&parameters, 0, None));
        self
    }

    /// From now on, a line that another core wrote last comes from there, which takes longer.
    pub fn share_lines(&mut self) {
        self.core.share_lines();
    }

    /// Returns whether it does.
    pub fn shares_lines(&self) -> bool {
        self.core.shares_lines()
    }

    /// The next blocks are executed by this thread, of which 0 is the first: on a core of its own,
    /// if there are enough.
    pub fn switch_to(&mut self, thread: usize) {
        let number = self.others.core_of(thread);
        let calls = self.paths.as_mut().map(Paths::calls);
        self.others.switch(number, &mut self.core, calls);
    }

    /// Counts the blocks of each call path separately, which changes no other count.
    #[must_use]
    pub fn following_calls(mut self) -> Self {
        let blocks = self.blocks.capacity();
        let rows = ROWS_PER_BLOCK * blocks;
        self.core.ledger.make_room(rows);
        self.paths = Some(Paths::new(blocks, rows));
        self
    }

    /// Counts each instruction as a block of its own, which changes no other count. An instruction
    /// that does the work of those before it has one block with them. Call paths are not counted.
    #[must_use]
    pub fn by_instruction(mut self) -> Self {
        let rows = self.operations.capacity();
        self.core.ledger.make_room(rows);
        self.core.ledger.keep_waits(rows);
        self.instructions = Some(InstructionRows::new(rows));
        self.paths = None;
        self
    }

    /// Returns the maximum number of rows of [`blocks`](Model::blocks).
    pub fn max_rows(&self) -> usize {
        if self.instructions.is_some() {
            return self.operations.capacity();
        }
        let blocks = self.blocks.capacity();
        self.paths.as_ref().map_or(blocks, Paths::max_rows)
    }

    /// Begins a window, in which no call is open yet.
    pub fn begin_window(&mut self) {
        if let Some(paths) = &mut self.paths {
            paths.begin_window();
            self.others.forget_calls();
        }
        self.core.begin_window();
        self.others.each(&mut self.core, Core::begin_window);
    }

    /// Sets what the model does with the next blocks: at first, all are executed in detail.
    pub fn set_effort(&mut self, effort: Effort) {
        if effort == self.effort {
            return;
        }
        let skims = matches!(effort, Effort::Skimming | Effort::Following);
        let change = |core: &mut Core| {
            core.leave_detail();
            if skims {
                core.begin_skimming();
            }
        };
        change(&mut self.core);
        self.others.each(&mut self.core, change);
        self.effort = effort;
    }

    /// Returns everything counted since the model was created. The counts of a window are the
    /// difference of two, each taken after [`drain`](Model::drain).
    pub fn counts(&self) -> Counts {
        let mut counts = self.core.ledger.counts();
        counts.cycles += self.others.sum(|core| core.ledger.cycle());
        counts
    }

    /// Returns how many lines were brought from memory into the caches since the model was created,
    /// whatever its [`Effort`] was.
    pub fn filled_lines(&self) -> u64 {
        self.core.filled_lines() + self.others.sum(Core::filled_lines)
    }

    /// Lets everything in flight retire. Between two calls, slots add up to width × cycles exactly.
    pub fn drain(&mut self) {
        self.core.drain();
        self.others.each(&mut self.core, Core::drain);
    }

    /// Returns whether more than half of the room for translated blocks is in use.
    pub fn is_half_full(&self) -> bool {
        self.blocks.len() > self.blocks.capacity() / 2
            || self.operations.len() > self.operations.capacity() / 2
            || self.memory.len() > self.memory.capacity() / 2
            || self.paths.as_ref().is_some_and(Paths::is_half_full)
    }

    /// Forgets all translated blocks, whose numbers are assigned from 0 again. Caches, predictors
    /// and total counts stay.
    pub fn forget_blocks(&mut self) {
        self.drain();
        self.blocks.clear();
        self.operations.clear();
        self.memory.clear();
        self.core.ledger.forget_blocks();
        if let Some(paths) = &mut self.paths {
            paths.forget();
        }
        if let Some(instructions) = &mut self.instructions {
            instructions.clear();
        }
        self.full = false;
    }

    /// Returns the cost of each translated block since the model was created, separately for each
    /// call path if the model follows calls. The rows keep their order until
    /// [`forget_blocks`](Model::forget_blocks). Blocks may share instructions.
    pub fn blocks(&self) -> impl Iterator<Item = (BlockOnPath, BlockCounts)> + '_ {
        let rows = match (&self.paths, &self.instructions) {
            (_, Some(instructions)) => instructions.len(),
            (Some(paths), None) => paths.rows(),
            (None, None) => self.blocks.len(),
        };
        (0..rows as u32).map(|row| {
            let (path, block) = match &self.paths {
                Some(paths) => paths.row(row),
                None => (ROOT, row),
            };
            let costs = match &self.instructions {
                Some(instructions) => instructions.costs(row as usize),
                None => &self.blocks[block as usize].costs,
            };
            let block = BlockId(block);
            (
                BlockOnPath { block, path },
                self.core.ledger.block(row, costs),
            )
        })
    }

    /// Returns the first address of each block of [`blocks`](Model::blocks), and the address after
    /// its last instruction.
    pub fn ranges(&self) -> impl Iterator<Item = std::ops::Range<u64>> + '_ {
        let blocks = match self.instructions {
            Some(_) => &[],
            None => &self.blocks[..],
        };
        let instructions = self.instructions.iter().flat_map(InstructionRows::ranges);
        let blocks = blocks.iter().map(|block| block.start_ip..block.end_ip);
        blocks.chain(instructions)
    }

    /// Returns what delayed a block, if each instruction is one.
    pub fn waits(&self, block: BlockId) -> Waits {
        self.core.ledger.waits(block.index())
    }

    /// Returns the last call of each path, [`ROOT`] first; nothing if the model does not follow
    /// calls.
    pub fn paths(&self) -> &[CallPath] {
        self.paths.as_ref().map_or(&[], Paths::paths)
    }

    /// Returns whether the program exceeded the model's [`Capacity`]. The excess was not executed,
    /// and the counts are not those of the program.
    pub fn is_full(&self) -> bool {
        self.full
    }
}

/// Removes the operations from `first` on that the one after them executes, and returns the number
/// of the others.
fn keep_executed(operations: &mut Vec<Operation>, first: usize) -> usize {
    let mut end = first;
    for number in first..operations.len() {
        if !operations[number].is_absorbed {
            operations[end] = operations[number];
            end += 1;
        }
    }
    operations.truncate(end);
    end - first
}

impl Consumer for Model {
    fn translated(&mut self, block: &Block<'_>) {
        let instructions = block.instructions.len();
        let no_room = self.blocks.len() == self.blocks.capacity()
            || self.operations.len() + instructions > self.operations.capacity()
            || self.memory.len() + block.accesses.len() > self.memory.capacity();
        if no_room || block.id.index() != self.blocks.len() {
            self.full = true;
            return;
        }
        let first = self.operations.len();
        let first_of_memory = self.memory.len();
        for (number, instruction) in block.instructions.iter().enumerate() {
            let first_memory = self.memory.len();
            for access in block.accesses_of(instruction) {
                let operand = self.lowering.memory_operand(&instruction.decoded, access);
                self.memory.push(operand);
            }
            let memory = &self.memory[first_memory..];
            let mut operation = self.lowering.lower(&instruction.decoded, memory);
            let before = block.instructions[..number].iter().map(|it| &it.decoded);
            let before = before.zip(&self.operations[first..]).rev();
            self.lowering.delay(before, &mut operation);
            operation.ip = self.core.addresses.model_address(operation.ip);
            operation.window = self.lowering.window(operation.ip);
            operation.first_memory = first_memory as u32;
            operation.memory_count = memory.len() as u8;
            operation.repeat = instruction.repeat;
            self.operations.push(operation);
        }
        for (number, pair) in block.instructions.windows(2).enumerate().rev() {
            let pair = [&pair[0].decoded, &pair[1].decoded];
            self.lowering
                .fuse(pair, &mut self.operations[first + number..]);
        }
        let mut switches = Switches::NONE;
        if self.lowering.saves_upper_halves() {
            for (instruction, operation) in block.instructions.iter().zip(&self.operations[first..])
            {
                switches.add(&instruction.decoded, operation);
            }
        }
        let mut costs = FixedCosts::default();
        for operation in &mut self.operations[first..] {
            // The steps of a repeated instruction access memory; its start does not.
            let memory = if operation.repeat.is_some() {
                &[]
            } else {
                operation.operands(&self.memory)
            };
            *operation = operation.complete(memory);
            costs.add(operation);
        }
        if let Some(instructions) = &mut self.instructions {
            instructions.translated(block, &self.operations[first..]);
        }
        let count = keep_executed(&mut self.operations, first);
        let start = self.core.addresses.model_address(block.start_ip());
        let place = self.core.code_address(start);
        let last = self.operations[first..].last();
        let last_place = last.map_or(place, |last| self.core.code_address(last.ip));
        self.blocks.push(LoweredBlock {
            start_ip: block.start_ip(),
            end_ip: block.end_ip(),
            place,
            last_place,
            first: first as u32,
            count: count as u32,
            first_memory: first_of_memory as u32,
            memory_count: (self.memory.len() - first_of_memory) as u32,
            has_repeat: self.operations[first..].iter().any(|o| o.repeat.is_some()),
            costs,
            switches,
        });
        if let Some(paths) = &mut self.paths {
            self.full |= !paths.translated(block);
        }
    }

    fn block(&mut self, block: &Block<'_>, addresses: &[u64]) {
        let Some(lowered) = self.blocks.get(block.id.index()) else {
            self.full = true;
            return;
        };
        let id = match &mut self.paths {
            Some(paths) => paths.execute(block.id.0, addresses),
            None => block.id.0,
        };
        let first = lowered.first as usize;
        let operations = &self.operations[first..first + lowered.count as usize];
        match (self.effort, &self.instructions) {
            (Effort::Detail, Some(instructions)) => {
                self.core.arrive(lowered.place);
                let mut executed = Executed {
                    block: lowered.first,
                    operands: &self.memory,
                    recorded: addresses,
                };
                let done = instructions.execute(&mut self.core, operations, &mut executed);
                if let Some(last) = operations.last() {
                    let row = executed.block;
                    self.core.leave(last, lowered.last_place, done, row);
                }
                self.core.switch(&lowered.switches);
                return;
            }
            (Effort::Counting, Some(instructions)) => {
                instructions.count(&mut self.core, lowered.first, lowered.count);
                return;
            }
            _ => {}
        }
        match self.effort {
            Effort::Detail => {}
            Effort::Warming => {
                self.core.warm_arrival(lowered.place);
                let last = lowered.last_place;
                self.core.warm(operations, last, &self.memory, addresses);
                return;
            }
            Effort::Skimming if lowered.has_repeat => {
                self.core.warm_accesses(operations, &self.memory, addresses);
                return;
            }
            Effort::Following => {
                let place = lowered.place.ip;
                self.core.follow(place, operations, &self.memory, addresses);
                return;
            }
            Effort::Counting => {
                self.core.ledger.execute(id, &lowered.costs);
                return;
            }
            Effort::Skipping => return,
            Effort::Skimming => {
                let first = lowered.first_memory as usize;
                let operands = &self.memory[first..first + lowered.memory_count as usize];
                self.core.skim(lowered.place.ip, operands, addresses);
                return;
            }
        }
        self.core.ledger.execute(id, &lowered.costs);
        self.core.arrive(lowered.place);
        let executed = Executed {
            block: id,
            operands: &self.memory,
            recorded: addresses,
        };
        let is_plain = !self.core.may_be_on_wrong_path();
        let mut done = 0;
        for operation in operations {
            done = if is_plain && !operation.is_rare {
                self.core.execute(operation, &executed)
            } else if let Some(how_often) = operation.repeat {
                self.core.repeat(operation, how_often, &executed)
            } else {
                self.core.execute_rare(operation, &executed)
            };
        }
        if let Some(last) = operations.last() {
            self.core.leave(last, lowered.last_place, done, id);
        }
        self.core.switch(&lowered.switches);
    }

    fn keep_tracing(&mut self) -> bool {
        !self.full
    }
}
