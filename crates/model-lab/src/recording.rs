//! A stretch of execution kept in memory, to be replayed on the model repeatedly.

use std::ops::Range;

use topdown_tracer::{Access, Block, BlockId, Config, Consumer, Instruction, Tracer};

/// Room for 48 MiB of stream; a recording that is cut off there is still usable.
const STREAM_VALUES: usize = 6 << 20;
/// Room for the program, in instructions and accesses.
const PROGRAM: usize = 128 << 10;

/// The parts of a block, as ranges in the recording's tables.
struct Parts {
    instructions: Range<usize>,
    accesses: Range<usize>,
    recorded_values: usize,
}

/// Executed blocks, as received from the tracer.
#[derive(Default)]
pub struct Recording {
    blocks: Vec<Parts>,
    instructions: Vec<Instruction>,
    accesses: Vec<Access>,
    /// For each executed block, its number and then its recorded values.
    stream: Vec<u64>,
    is_full: bool,
}

impl Recording {
    /// Runs `work` twice, natively and traced, and keeps the second.
    pub fn new(work: &mut dyn FnMut()) -> Result<Recording, Box<dyn std::error::Error>> {
        let empty = Recording {
            blocks: Vec::with_capacity(PROGRAM),
            instructions: Vec::with_capacity(PROGRAM),
            accesses: Vec::with_capacity(PROGRAM),
            stream: Vec::with_capacity(STREAM_VALUES),
            is_full: false,
        };
        work();
        let mut tracer = Tracer::new(Config::default(), empty)?;
        let ((), end) = tracer.trace(work);
        end?;
        let mut recording = std::mem::take(tracer.consumer_mut());
        // Hundreds of them may be kept.
        recording.stream.shrink_to_fit();
        Ok(recording)
    }

    /// Returns whether there was no room for the whole stretch.
    pub fn is_cut_off(&self) -> bool {
        self.is_full
    }

    /// Passes all blocks to `consumer` for translation.
    pub fn translate(&self, consumer: &mut impl Consumer) {
        for number in 0..self.blocks.len() {
            consumer.translated(&self.block(number));
        }
    }

    /// Replays the stretch.
    pub fn replay(&self, consumer: &mut impl Consumer) {
        let mut rest = self.stream.as_slice();
        while let [number, values @ ..] = rest {
            let block = self.block(*number as usize);
            let (recorded, next) = values.split_at(block.recorded_values);
            consumer.block(&block, recorded);
            rest = next;
        }
    }

    fn block(&self, number: usize) -> Block<'_> {
        let parts = &self.blocks[number];
        Block {
            id: BlockId(number as u32),
            instructions: &self.instructions[parts.instructions.clone()],
            accesses: &self.accesses[parts.accesses.clone()],
            recorded_values: parts.recorded_values,
            records_arguments: false,
        }
    }
}

/// Counts executed instructions.
#[derive(Default)]
pub struct InstructionCount(pub u64);

impl Consumer for InstructionCount {
    fn block(&mut self, block: &Block<'_>, _addresses: &[u64]) {
        self.0 += block.instructions.len() as u64;
    }
}

/// Appends within the reserved capacity, and returns the range that was filled.
fn append<T: Copy>(table: &mut Vec<T>, values: &[T]) -> Option<Range<usize>> {
    let first = table.len();
    if table.capacity() - first < values.len() {
        return None;
    }
    table.extend_from_slice(values);
    Some(first..table.len())
}

impl Consumer for Recording {
    fn translated(&mut self, block: &Block<'_>) {
        let instructions = append(&mut self.instructions, block.instructions);
        let accesses = append(&mut self.accesses, block.accesses);
        let (Some(instructions), Some(accesses)) = (instructions, accesses) else {
            self.is_full = true;
            return;
        };
        if self.blocks.len() == self.blocks.capacity() {
            self.is_full = true;
            return;
        }
        self.blocks.push(Parts {
            instructions,
            accesses,
            recorded_values: block.recorded_values,
        });
    }

    fn block(&mut self, block: &Block<'_>, addresses: &[u64]) {
        let room = self.stream.capacity() - self.stream.len();
        self.is_full |= block.id.index() >= self.blocks.len() || room < addresses.len() + 1;
        if !self.is_full {
            self.stream.push(block.id.0.into());
            self.stream.extend_from_slice(addresses);
        }
    }

    fn keep_tracing(&mut self) -> bool {
        !self.is_full
    }
}
