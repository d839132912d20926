//! Cores for several threads, which execute one at a time.
//!
//! Each thread has a core of its own: its clock, its caches and its predictors. The cores share
//! nothing but what belongs to the program: where its memory lies, the numbers of its branches, and
//! the counts; and, if asked to, which of them wrote a line last.

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
        core.take_over_from(&mut self.parked[from].core, to);
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

    /// Counts of two threads that take turns: one writes some lines, the other loads them one after
    /// the other.
    fn handed_over(core: &CoreParameters, shares: bool, lines: u64, rounds: u64) -> Counts {
        // mov [rdi], rdi; and mov rdi, [rdi].
        let [write, read] = [(0x1000, [0x48, 0x89, 0x3f]), (0x2000, [0x48, 0x8b, 0x3f])]
            .map(|(ip, code)| OwnedBlock::describe(&code, ip).unwrap());
        let capacity = Capacity {
            instructions: 10,
            blocks: 10,
        };
        let mut model = Model::new(core, capacity).with_further_cores(1);
        if shares {
            model.share_lines();
        }
        let [write, read] = [write.as_block(BlockId(0)), read.as_block(BlockId(1))];
        model.translated(&write);
        model.translated(&read);
        for _ in 0..rounds {
            for (thread, block) in [write, read].iter().enumerate() {
                model.switch_to(thread);
                for line in 0..lines {
                    model.block(block, &[0x10_0000 + line * 64]);
                }
            }
        }
        model.drain();
        model.counts()
    }

    #[test]
    fn lines_of_another_thread_are_transferred() {
        const LINES: u64 = 8;
        const ROUNDS: u64 = 200;
        for core in ALL {
            let alone = handed_over(core, false, LINES, ROUNDS);
            let shared = handed_over(core, true, LINES, ROUNDS);
            let cycles = (shared.cycles - alone.cycles) as f64 / (LINES * ROUNDS) as f64;
            let longer = f64::from(core.memory.transfer_cycles - core.memory.l1d.cycles);
            assert!(
                (0.9..1.1).contains(&(cycles / longer)),
                "{}: {cycles} cycles more for each line, {longer} expected",
                core.name
            );
            let misses = shared.events.l2_misses - alone.events.l2_misses;
            assert!(misses.abs_diff(LINES * ROUNDS) <= 2 * LINES, "{misses}");
        }
    }

    #[test]
    fn lines_of_one_thread_stay() {
        for core in ALL {
            let mut models = [false, true].map(|shares| {
                let mut model = model(core, 2);
                if shares {
                    model.share_lines();
                }
                model
            });
            let counts = models.each_mut().map(|model| {
                for begin in (0..3000).step_by(50) {
                    for thread in 0..3 {
                        model.switch_to(thread);
                        run(model, thread, begin..begin + 50);
                    }
                }
                model.drain();
                model.counts()
            });
            assert_eq!(counts[0], counts[1]);
        }
    }
}
