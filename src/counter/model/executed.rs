//! What a benchmark executed, apart from what it cost: instructions, data addresses, and the way.

use topdown_core_model::AddressSpace;
use topdown_tracer::{Block, Mapping};

use super::content::{content_of, data_of, mix};
use super::trail::TrailKeeper;
use crate::code::Trail;

/// Fed with the same blocks as the model. It reserves all memory when it is made.
pub(super) struct Executed {
    /// By the number of a block: a hash of its instructions.
    contents: Vec<u64>,
    trail: TrailKeeper,
    /// Places of their own: they do not depend on the benchmarks before this one.
    places: AddressSpace,
    data: u64,
    takes_data: bool,
}

impl Executed {
    /// With room for so many blocks; `stretches` as in [`super::trail::STRETCHES_VARIABLE`].
    pub(super) fn new(blocks: usize, stretches: &str) -> Executed {
        Executed {
            contents: Vec::with_capacity(blocks),
            trail: TrailKeeper::new(stretches),
            places: AddressSpace::of_mappings(Mapping::at),
            data: 0,
            takes_data: false,
        }
    }

    pub(super) fn translated(&mut self, block: &Block<'_>) {
        if self.contents.len() < self.contents.capacity() {
            self.contents.push(content_of(block));
        }
    }

    pub(super) fn block(&mut self, block: &Block<'_>, recorded: &[u64]) {
        let content = self.content(block.id.0);
        self.trail.step(block.id.0, content);
        if self.takes_data {
            let places = &mut self.places;
            // How often each block runs does not tell a branch that alternates from one that turns once.
            let hash = mix(self.data, content);
            self.data = data_of(hash, block, recorded, |address| places.place(address));
        }
    }

    /// A hash of the instructions of a block, by its number.
    pub(super) fn content(&self, id: u32) -> u64 {
        self.contents.get(id as usize).copied().unwrap_or_default()
    }

    /// The trail of the benchmark, which ends.
    pub(super) fn take_trail(&mut self) -> Trail {
        self.trail.take()
    }

    /// A benchmark begins.
    pub(super) fn begin_benchmark(&mut self) {
        self.trail.begin();
    }

    /// From now on blocks and data addresses are those of a benchmark's first samples.
    pub(super) fn begin_data(&mut self) {
        self.places.clear();
        self.data = 0;
        self.takes_data = true;
    }

    pub(super) fn end_data(&mut self) {
        self.takes_data = false;
    }

    /// A hash of the blocks and the data addresses between the two, in the order of execution.
    pub(super) fn data(&self) -> u64 {
        self.data
    }
}
