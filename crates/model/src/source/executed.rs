//! Execution of a benchmark, as opposed to its cost: instructions, data addresses, and the path.

use std::ops::Range;

use topdown_core_model::AddressSpace;
use topdown_tracer::{Block, Mapping};

use super::content::{content_of, data_of, mix};
use super::meetings::MAX_TAKING_BLOCKS;
use super::trail::TrailKeeper;
use topdown_run::code::Trail;

/// Receives the same blocks as the model. All memory is reserved on creation.
pub(super) struct Executed {
    /// Each translated block, by its number.
    blocks: Vec<Translated>,
    trail: TrailKeeper,
    /// Of this benchmark alone, so that it does not depend on earlier ones.
    address_space: AddressSpace,
    data: u64,
    takes_data: bool,
    /// See [`note_lock`](Executed::note_lock).
    lock: Vec<u32>,
}

/// A translated block.
struct Translated {
    /// A hash of its instructions.
    content: u64,
    /// From its first address to the one after its last instruction.
    range: Range<u64>,
}

impl Executed {
    /// Reserves room for this many blocks; `stretches` is the value of
    /// [`STRETCHES`](topdown_run::environment::STRETCHES).
    pub(super) fn new(blocks: usize, stretches: &str) -> Executed {
        Executed {
            blocks: Vec::with_capacity(blocks),
            trail: TrailKeeper::new(stretches),
            address_space: AddressSpace::with_mappings(Mapping::at),
            data: 0,
            takes_data: false,
            lock: Vec::with_capacity(MAX_TAKING_BLOCKS),
        }
    }

    pub(super) fn translated(&mut self, block: &Block<'_>) {
        if self.blocks.len() < self.blocks.capacity() {
            self.blocks.push(Translated {
                content: content_of(block),
                range: block.start_ip()..block.end_ip(),
            });
        }
    }

    pub(super) fn block(&mut self, block: &Block<'_>, recorded: &[u64]) {
        let content = self.content(block.id.0);
        self.trail.step(block.id.0, content);
        if self.takes_data {
            let address_space = &mut self.address_space;
            // Counts cannot distinguish a branch that alternates from one that turns once.
            let hash = mix(self.data, content);
            self.data = data_of(hash, block, recorded, |address| {
                address_space.model_address(address)
            });
        }
    }

    /// Returns a hash of a block's instructions, by block number.
    pub(super) fn content(&self, id: u32) -> u64 {
        self.blocks
            .get(id as usize)
            .map_or(0, |block| block.content)
    }

    /// Returns the addresses of each block, by block number.
    pub(super) fn ranges(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.blocks.iter().map(|block| block.range.clone())
    }

    /// Returns the trail of the benchmark.
    pub(super) fn trail(&mut self) -> Trail {
        self.trail.trail()
    }

    /// Notes the numbers of the block in which a thread took a lock, and of those to which it then
    /// returned.
    pub(super) fn note_lock(&mut self, blocks: &[u32]) {
        self.lock.clear();
        self.lock.extend_from_slice(blocks);
    }

    /// Returns the numbers of these blocks.
    pub(super) fn lock(&self) -> &[u32] {
        &self.lock
    }

    /// Forgets all blocks, whose numbers are assigned from 0 again. A benchmark must begin next.
    pub(super) fn forget_blocks(&mut self) {
        self.blocks.clear();
    }

    /// Begins a benchmark.
    pub(super) fn begin_benchmark(&mut self) {
        self.trail.begin();
    }

    /// Starts hashing blocks and data addresses, for a benchmark's first samples.
    pub(super) fn begin_data(&mut self) {
        self.address_space.clear();
        self.data = 0;
        self.takes_data = true;
    }

    pub(super) fn end_data(&mut self) {
        self.takes_data = false;
    }

    /// Returns a hash of the blocks and data addresses in between, in execution order.
    pub(super) fn data(&self) -> u64 {
        self.data
    }
}
