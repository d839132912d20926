//! Loops with one known bottleneck each, whose measurement proves a CPU's table.
//!
//! `cargo topdown doctor --report` writes it to a file. This repository's own benches run the same
//! loops. Only programs need this module, so benches do not compile it.

mod kernel;

use std::hint::black_box;

use super::Source;
use super::hardware::Hardware;
use topdown_run::sample::Sample;

/// Cache lines of the cycle that is walked: 64 MiB.
const CHASE_LINES: usize = 1 << 20;
/// Bytes that are filled: more than any second-level cache holds.
const STORE_BYTES: usize = 16 << 20;

/// Maximum number of measurements of a loop until one is undisturbed.
const ATTEMPTS: u32 = 5;

/// A loop and its counts.
#[derive(Clone, Debug)]
pub struct LoopCounts {
    /// The category that should stand out, and the loop, as the benches name them.
    pub name: &'static str,
    /// A window around the loop.
    pub sample: Sample,
    /// The kernel's counts of another pass of the loop; empty if it reports none.
    pub counts: Vec<(&'static str, u64)>,
}

/// The loops, and the data that they work on.
pub struct Loops {
    cycle: kernel::Cycle,
    position: usize,
    buffer: Vec<u64>,
    random: kernel::Random,
    code: kernel::LargeCode,
}

impl Loops {
    /// Makes the data, some 80 MiB.
    pub fn new() -> Loops {
        Loops {
            cycle: kernel::Cycle::random(CHASE_LINES),
            position: 0,
            buffer: vec![0; STORE_BYTES / size_of::<u64>()],
            random: kernel::Random::seeded(),
            code: kernel::LargeCode::in_order_of_addresses(),
        }
    }

    /// The names of the loops.
    pub const NAMES: [&'static str; 7] = [
        "retiring/independent_adds",
        "core_bound/multiply_chain",
        "core_bound/divide_chain",
        "memory_bound/pointer_chase",
        "memory_bound/stores",
        "bad_speculation/random_branches",
        "frontend_bound/large_code",
    ];

    fn run(&mut self, name: &str) {
        match name {
            "retiring/independent_adds" => {
                black_box(kernel::independent_adds(black_box(200_000)));
            }
            "core_bound/multiply_chain" => {
                black_box(kernel::multiply_chain(black_box(3), 400_000));
            }
            "core_bound/divide_chain" => {
                black_box(kernel::divide_chain(black_box(u64::MAX), 100_000));
            }
            "memory_bound/pointer_chase" => {
                self.position = self.cycle.walk(self.position, 20_000);
            }
            "memory_bound/stores" => kernel::fill(black_box(&mut self.buffer), 7),
            "bad_speculation/random_branches" => {
                black_box(kernel::random_branches(&mut self.random, 1 << 18));
            }
            _ => {
                let calls = kernel::LARGE_CODE_FUNCTIONS;
                for _ in 0..(1 << 14) / calls {
                    black_box(self.code.call(black_box(1)));
                }
            }
        }
    }

    /// Measures each loop after a pass without measurement.
    pub fn measure(&mut self, hardware: &Hardware) -> Vec<LoopCounts> {
        let mut all = Vec::new();
        for name in Loops::NAMES {
            self.run(name);
            let mut sample = Sample::EMPTY;
            for _ in 0..ATTEMPTS {
                hardware.sample_boundary();
                let start = hardware.start();
                self.run(name);
                sample = hardware.completed(&hardware.end(&start));
                if sample.flags == Default::default() {
                    break;
                }
            }
            all.push(LoopCounts {
                name,
                sample,
                counts: hardware.counts_of(|| self.run(name)),
            });
        }
        all
    }
}

impl Default for Loops {
    fn default() -> Loops {
        Loops::new()
    }
}

impl std::fmt::Debug for Loops {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loops").finish_non_exhaustive()
    }
}
