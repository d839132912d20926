//! Cores for several threads, which execute one at a time.
//!
//! Each thread has a core of its own: its clock, its caches and its predictors. The cores share
//! nothing but what belongs to the program: where its memory lies, the numbers of its branches, and
//! the counts.

use crate::core::Core;
use crate::paths::CallStack;

/// The cores of the threads that do not execute.
#[derive(Default)]
pub(crate) struct OtherCores {
    /// By core; that of the executing thread is elsewhere, and something else is in its place.
    parked: Vec<Parked>,
    current: usize,
}

struct Parked {
    core: Core,
    calls: CallStack,
    /// Whether it has executed anything.
    is_used: bool,
}

impl OtherCores {
    /// Makes room for this many cores besides the one that exists.
    pub(crate) fn new(cores: usize, mut new: impl FnMut() -> Core) -> OtherCores {
        let parked = |_| Parked {
            core: new(),
            calls: CallStack::new(),
            is_used: false,
        };
        OtherCores {
            parked: (0..=cores).map(parked).collect(),
            current: 0,
        }
    }

    /// Returns the number of the core for a thread. If there are more threads than cores, some
    /// share one, but none shares that of the first thread.
    pub(crate) fn core_of(&self, thread: usize) -> usize {
        match (thread, self.parked.len().saturating_sub(1)) {
            (0, _) | (_, 0) => 0,
            (thread, cores) => 1 + (thread - 1) % cores,
        }
    }

    /// Puts the executing core away, and the one with this number in its place.
    pub(crate) fn switch(&mut self, number: usize, core: &mut Core, calls: Option<&mut CallStack>) {
        if number == self.current {
            return;
        }
        // The executing one changes places twice, so that it ends up under its own number.
        let (from, to) = (self.current, number);
        std::mem::swap(core, &mut self.parked[from].core);
        std::mem::swap(core, &mut self.parked[to].core);
        self.parked[from].is_used = true;
        core.share_with(&mut self.parked[from].core);
        if let Some(calls) = calls {
            std::mem::swap(calls, &mut self.parked[from].calls);
            std::mem::swap(calls, &mut self.parked[to].calls);
        }
        self.current = to;
    }

    /// Calls `work` for each other core that has executed something, on behalf of `core`.
    pub(crate) fn each(&mut self, core: &mut Core, mut work: impl FnMut(&mut Core)) {
        for (number, parked) in self.parked.iter_mut().enumerate() {
            if parked.is_used && number != self.current {
                parked.core.share_with(core);
                work(&mut parked.core);
                core.share_with(&mut parked.core);
            }
        }
    }

    /// Returns the sum of a count of the other cores.
    pub(crate) fn sum(&self, count: impl Fn(&Core) -> u64) -> u64 {
        let used = self.parked.iter().enumerate();
        let used = used.filter(|(number, parked)| parked.is_used && *number != self.current);
        used.map(|(_, parked)| count(&parked.core)).sum()
    }

    /// Forgets all open calls.
    pub(crate) fn forget_calls(&mut self) {
        for parked in &mut self.parked {
            parked.calls.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use topdown_tracer::{Block, BlockId, Consumer, OwnedBlock};

    use crate::cores::{ALL, ZEN_5};
    use crate::{Capacity, CoreParameters, Counts, Model};

    /// A program of loads and branches; each thread executes other blocks of it.
    fn blocks() -> Vec<OwnedBlock> {
        let code = |n: u8| {
            // mov rax, [rdi+n]; imul rax, rax; jz; or the same without the product.
            match n % 2 {
                0 => vec![0x48, 0x8b, 0x47, n, 0x48, 0x0f, 0xaf, 0xc0, 0x74, 0x10],
                _ => vec![0x48, 0x8b, 0x47, n, 0x74, 0x10],
            }
        };
        (0..8_u8)
            .map(|n| OwnedBlock::describe(&code(n), 0x1000 + 64 * u64::from(n)).unwrap())
            .collect()
    }

    /// What thread `thread` executes at a step.
    fn executed(thread: usize, step: usize) -> (u32, [u64; 1]) {
        let mixed = (thread * 7919 + step).wrapping_mul(0x9e37_79b9) >> 7;
        let address = 0x10_0000 * (thread as u64 + 1) + (mixed as u64 % 4096) * 64;
        ((mixed % 8) as u32, [address])
    }

    fn model(core: &CoreParameters, cores: usize) -> Model {
        let capacity = Capacity {
            instructions: 100,
            blocks: 10,
        };
        let mut model = Model::new(core, capacity).with_further_cores(cores);
        for (number, block) in blocks().iter().enumerate() {
            model.translated(&block.as_block(BlockId(number as u32)));
        }
        model
    }

    fn run(model: &mut Model, thread: usize, steps: std::ops::Range<usize>) {
        let blocks = blocks();
        for step in steps {
            let (number, addresses) = executed(thread, step);
            let block: Block<'_> = blocks[number as usize].as_block(BlockId(number));
            model.block(&block, &addresses);
        }
    }

    /// Counts of some threads that take turns of this many steps.
    fn in_turns(core: &CoreParameters, threads: usize, turn: usize) -> (Counts, Vec<u64>) {
        let mut model = model(core, threads - 1);
        for begin in (0..3000).step_by(turn) {
            for thread in 0..threads {
                model.switch_to(thread);
                run(&mut model, thread, begin..begin + turn);
            }
        }
        model.drain();
        let rows = model.blocks().map(|(_, counts)| counts.slots.total());
        (model.counts(), rows.collect())
    }

    #[test]
    fn counts_are_the_sum_of_threads_alone() {
        for core in ALL {
            let alone = |thread| {
                let mut model = model(core, 2);
                model.switch_to(thread);
                run(&mut model, thread, 0..3000);
                model.drain();
                model.counts()
            };
            let sum = |count: fn(&Counts) -> u64| (0..3).map(|it| count(&alone(it))).sum::<u64>();
            for turn in [1, 50, 3000] {
                let (counts, rows) = in_turns(core, 3, turn);
                assert_eq!(counts.cycles, sum(|it| it.cycles), "{turn}");
                assert_eq!(counts.slots.total(), sum(|it| it.slots.total()));
                assert_eq!(
                    counts.events.l1d_misses,
                    sum(|it| it.events.l1d_misses),
                    "caches are not shared"
                );
                assert_eq!(counts.slots.total(), rows.iter().sum::<u64>());
                assert_eq!(counts.slots.total(), counts.cycles * u64::from(core.width));
            }
        }
    }

    #[test]
    fn surplus_threads_share_cores() {
        let instructions = |cores| {
            let mut model = model(&ZEN_5, cores);
            for thread in 0..9 {
                model.switch_to(thread);
                run(&mut model, thread, 0..100);
            }
            model.drain();
            model.counts().events.instructions
        };
        assert_eq!(instructions(2), instructions(8));
        // Without further cores, all share the one.
        assert_eq!(instructions(0), instructions(8));
    }
}
