//! The system gives each mapping another address in every launch: the counts must not depend on
//! that.

mod program;

use iced_x86::code_asm::*;
use program::{Program, Random};
use topdown_core_model::cores::{ALL, GOLDEN_COVE, ZEN_5};
use topdown_core_model::{Capacity, CoreParameters, Counts, Model};
use topdown_tracer::Mapping;

const PAGE: u64 = 4096;
/// More jumps and lines than the frontend's caches have room for.
const FUNCTIONS: usize = 3000;
const HEAP_BYTES: u64 = 8 << 20;

/// Where the system has put what.
#[derive(Clone, Copy)]
struct Layout {
    code: u64,
    heap: u64,
    stack: u64,
}

impl Layout {
    fn mapping_at(self, address: u64) -> Option<Mapping> {
        [
            (self.code, 256 * PAGE, false),
            (self.heap, HEAP_BYTES, false),
            (self.stack & !(PAGE - 1), 64 * PAGE, true),
        ]
        .into_iter()
        .map(|(start, bytes, is_stack)| Mapping {
            start,
            end: start + bytes,
            is_stack,
        })
        .find(|mapping| (mapping.start..mapping.end).contains(&address))
    }

    /// Jumps through a large body of code, with random loads of the heap and of the stack.
    fn run(self, mut model: Model) -> Counts {
        let program = Program::at(self.code, |a| {
            for _ in 0..FUNCTIONS {
                let mut next = a.create_label();
                a.mov(rax, ptr(rdi)).unwrap();
                a.add(rbx, rax).unwrap();
                a.jmp(next).unwrap();
                a.nops_with_size(96).unwrap();
                a.set_label(&mut next).unwrap();
            }
            a.nop().unwrap();
        });
        program.translate(&mut model);
        let mut random = Random(31);
        for step in 0..40_000 {
            let address = if random.next().is_multiple_of(2) {
                self.heap + random.next() % (HEAP_BYTES - 8)
            } else {
                self.stack + random.next() % (4 * PAGE)
            };
            // Every other block is padding that is jumped over.
            program.step(&mut model, 2 * (step % FUNCTIONS), address);
        }
        model.drain();
        model.counts()
    }

    fn with_mappings(self, core: &CoreParameters) -> Counts {
        let mapping_at = move |address| self.mapping_at(address);
        self.run(Model::with_mappings(core, Capacity::default(), mapping_at))
    }
}

const ONE: Layout = Layout {
    code: 0x5555_5555_4000,
    heap: 0x5555_6000_0000,
    stack: 0x7fff_ffff_a000,
};
const OTHER: Layout = Layout {
    code: 0x5612_3456_7000,
    heap: 0x5612_789a_b000,
    stack: 0x7ffc_1234_5670,
};

#[test]
fn counts_do_not_depend_on_mapping_addresses() {
    for core in ALL {
        let counts = ONE.with_mappings(core);
        assert_eq!(counts, OTHER.with_mappings(core), "{}", core.name);
        assert!(counts.events.l1i_misses > 1000 && counts.events.l1d_misses > 1000);
    }
}

#[test]
fn counts_without_mappings_depend_on_addresses() {
    let plain = |layout: Layout| layout.run(Model::new(ALL[0], Capacity::default()));
    assert_ne!(plain(ONE), plain(OTHER));
}

/// Runs functions of one branch each, which go one way or the other at random, but always the same,
/// with this many lines of unused code behind each function.
fn branches_of_functions(core: &CoreParameters, unused_lines: impl Fn(usize) -> usize) -> Counts {
    const FUNCTIONS: usize = 24;
    const BLOCKS: usize = 4;
    let program = Program::new(|a| {
        for function in 0..FUNCTIONS {
            let mut skip = a.create_label();
            let mut next = a.create_label();
            a.test(rdi, rdi).unwrap();
            a.jne(skip).unwrap();
            a.nop().unwrap();
            a.set_label(&mut skip).unwrap();
            a.inc(rdx).unwrap();
            a.jmp(next).unwrap();
            a.nops_with_size(64 * unused_lines(function)).unwrap();
            a.set_label(&mut next).unwrap();
            // That makes one line, with the jump of five bytes that so much unused code needs.
            a.nops_with_size(50).unwrap();
        }
    });
    let mut random = Random(31);
    let ways: Vec<bool> = (0..3000).map(|_| random.next() & 1 == 1).collect();
    let executions = ways.iter().cycle().take(8 * ways.len()).enumerate();
    let path: Vec<(usize, u64)> = executions
        .flat_map(|(number, &is_taken)| {
            let first = number % FUNCTIONS * BLOCKS;
            let blocks = if is_taken { &[0, 2][..] } else { &[0, 1, 2] };
            blocks.iter().map(move |block| (first + block, 0))
        })
        .collect();
    program.run(core, &path)
}

#[test]
fn distance_between_functions_does_not_matter() {
    let cycles = |core: &CoreParameters| {
        [0, 1, 2, 3].map(|period| {
            let counts = branches_of_functions(core, |function| 2 + function * period % 4);
            (counts.cycles, counts.events.mispredicted_branches)
        })
    };
    for core in [GOLDEN_COVE, ZEN_5] {
        let numbered = cycles(&core);
        assert_eq!(numbered, [numbered[0]; 4], "{}", core.name);
        let mut by_address = core.clone();
        by_address.prediction.numbers_branches = false;
        let by_address = cycles(&by_address);
        assert_ne!(by_address, [by_address[0]; 4], "{}", core.name);
    }
}
