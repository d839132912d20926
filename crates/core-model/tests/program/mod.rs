//! Synthetic programs for the model: assembled code, split into blocks, with scripted addresses.
#![allow(dead_code, reason = "each test target uses its part")]

use std::collections::BTreeSet;

use iced_x86::Decoder;
use iced_x86::code_asm::CodeAssembler;
use topdown_core_model::{Capacity, CoreParameters, Counts, Model};
use topdown_tracer::{AccessKind, Address, Block, BlockId, Consumer, OwnedBlock};

const BASE_IP: u64 = 0x40_0000;

/// Code that is executed block by block.
pub struct Program {
    blocks: Vec<OwnedBlock>,
}

impl Program {
    /// Assembles code and splits it into blocks, at branches and where they go.
    pub fn new(write: impl FnOnce(&mut CodeAssembler)) -> Program {
        Program::at(BASE_IP, write)
    }

    /// The same for code that begins at `base_ip`.
    pub fn at(base_ip: u64, write: impl FnOnce(&mut CodeAssembler)) -> Program {
        let mut assembler = CodeAssembler::new(64).expect("64 is a bitness");
        write(&mut assembler);
        let bytes = assembler.assemble(base_ip).expect("the code assembles");
        let targets: BTreeSet<usize> = Decoder::with_ip(64, &bytes, base_ip, 0)
            .iter()
            .filter(|instruction| instruction.near_branch_target() >= base_ip)
            .map(|instruction| (instruction.near_branch_target() - base_ip) as usize)
            .collect();
        let mut blocks = Vec::new();
        let mut at = 0;
        while at < bytes.len() {
            let ip = base_ip + at as u64;
            let end = targets
                .range(at + 1..)
                .next()
                .copied()
                .unwrap_or(bytes.len());
            let block = OwnedBlock::describe(&bytes[at..end], ip).expect("the code has blocks");
            at = (block.as_block(BlockId(0)).end_ip() - base_ip) as usize;
            blocks.push(block);
        }
        Program { blocks }
    }

    /// A loop of one block, if they fit: this many bodies, and a jump back that is always taken.
    pub fn looped(bodies: usize, body: impl Fn(&mut CodeAssembler)) -> Program {
        Program::new(|a| {
            let mut top = a.create_label();
            a.set_label(&mut top).unwrap();
            for _ in 0..bodies {
                body(a);
            }
            a.jmp(top).unwrap();
        })
    }

    /// A model that knows all blocks and has executed none.
    pub fn model(&self, core: &CoreParameters) -> Model {
        let mut model = self.empty_model(core);
        self.translate(&mut model);
        model
    }

    /// A model that knows no block.
    pub fn empty_model(&self, core: &CoreParameters) -> Model {
        let capacity = Capacity {
            instructions: 1 << 18,
            blocks: 1 << 16,
        };
        Model::new(core, capacity)
    }

    /// Tells the model all blocks.
    pub fn translate(&self, model: &mut Model) {
        for number in 0..self.blocks.len() {
            model.translated(&self.block(number));
        }
    }

    fn block(&self, number: usize) -> Block<'_> {
        self.blocks[number].as_block(BlockId(number as u32))
    }

    /// Executes one block; every memory operand that is not fixed is at `address`.
    pub fn step(&self, model: &mut Model, number: usize, address: u64) {
        let block = self.block(number);
        let mut recorded = [address; 64];
        for access in block.accesses {
            if let Address::Recorded { displacement, .. } = access.address {
                // The displacement is part of the operand: take it off again.
                recorded.fill(address.wrapping_sub(displacement as u64));
            }
        }
        model.block(&block, &recorded[..block.recorded_values]);
    }

    /// Executes block 0, a repeated move of `bytes` bytes.
    pub fn step_copy(&self, model: &mut Model, from: u64, to: u64, bytes: u64) {
        let block = self.block(0);
        // What is recorded beside the two addresses is the count.
        let mut recorded = [bytes; 64];
        for access in block.accesses {
            if let Address::Recorded { entry, .. } = access.address {
                let reads = access.kind == AccessKind::Read;
                recorded[usize::from(entry)] = if reads { from } else { to };
            }
        }
        model.block(&block, &recorded[..block.recorded_values]);
    }

    /// Runs `path`, pairs of block and address, and returns what its second half has cost.
    pub fn run(&self, core: &CoreParameters, path: &[(usize, u64)]) -> Counts {
        let mut model = self.model(core);
        let (warm_up, measured) = path.split_at(path.len() / 2);
        for &(block, address) in warm_up {
            self.step(&mut model, block, address);
        }
        model.drain();
        let before = model.counts();
        for &(block, address) in measured {
            self.step(&mut model, block, address);
        }
        model.drain();
        assert!(!model.is_full());
        let counts = model.counts() - before;
        assert_eq!(counts.slots.total(), counts.cycles * u64::from(core.width));
        assert_eq!(counts.events.coverage_fraction(), 1.0);
        counts
    }

    /// Runs all blocks in order, `times` times.
    pub fn repeat_all(&self, core: &CoreParameters, times: usize) -> Counts {
        let blocks = (0..self.blocks.len()).map(|block| (block, 0x10_0000));
        self.run(core, &blocks.collect::<Vec<_>>().repeat(times))
    }

    /// Runs block 0 `times` times without memory operands.
    pub fn repeat(&self, core: &CoreParameters, times: usize) -> Counts {
        self.run(core, &vec![(0, 0x10_0000); times])
    }
}

/// The cycles of a body in a loop of this many.
pub fn cycles_per_body(
    core: &CoreParameters,
    bodies: usize,
    body: impl Fn(&mut CodeAssembler),
) -> f64 {
    let times = 400;
    let counts = Program::looped(bodies, body).repeat(core, times);
    counts.cycles as f64 / (times as f64 / 2.0 * bodies as f64)
}

/// A fixed sequence of pseudo-random numbers.
pub struct Random(pub u64);

impl Random {
    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}
