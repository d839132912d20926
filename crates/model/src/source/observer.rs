//! Receiver of the traced instructions: one or two modelled cores, and core-independent counts.

use topdown_core_model::{Capacity, cores};
use topdown_tracer::{Block, Consumer};

use super::allocations::Allocations;
use super::budget::Budget;
use super::core::Core;
use super::executed::Executed;

/// The receiver of a trace.
pub(super) struct Observer {
    /// The modelled cores. Each decides by itself how much of the trace it looks at, so it counts
    /// what it would count alone.
    pub cores: Vec<Core>,
    pub executed: Executed,
    pub allocations: Allocations,
    /// The other cores, which receive nothing. They have their memory all the same, so that the
    /// benchmark's data lies where it would lie if they were modelled.
    _unused: Vec<Core>,
}

impl Observer {
    /// Reserves all memory. `wanted` are the numbers of one or two cores.
    pub(super) fn new(
        wanted: [Option<usize>; 2],
        budget: Budget,
        follows_calls: bool,
        stretches: &str,
    ) -> Observer {
        let capacity = Capacity::default();
        let mut unused = Vec::with_capacity(cores::ALL.len());
        for number in 0..cores::ALL.len() {
            unused.push(Core::new(number, capacity, budget, follows_calls));
        }
        let mut cores = Vec::with_capacity(cores::ALL.len());
        for number in wanted.into_iter().flatten() {
            if let Some(index) = unused.iter().position(|core| core.number == number) {
                cores.push(unused.remove(index));
            }
        }
        Observer {
            cores,
            executed: Executed::new(capacity.blocks, stretches),
            allocations: Allocations::as_the_environment_wants(),
            _unused: unused,
        }
    }

    /// Begins a window. Returns whether any core wants its trace.
    pub(super) fn begin_window(&mut self) -> bool {
        self.allocations.begin_window();
        let mut is_wanted = false;
        for core in &mut self.cores {
            is_wanted |= core.begin_window();
        }
        is_wanted
    }

    /// Forgets all translated blocks, whose numbers are assigned from 0 again.
    pub(super) fn forget_blocks(&mut self) {
        for core in &mut self.cores {
            core.model.forget_blocks();
        }
        self.executed.forget_blocks();
    }

    /// Returns the number of samples kept of the benchmark.
    pub(super) fn kept_samples(&self) -> usize {
        let kept = self.cores.iter().map(|core| core.code.kept_samples());
        kept.max().unwrap_or(0)
    }
}

impl Consumer for Observer {
    fn translated(&mut self, block: &Block<'_>) {
        for core in &mut self.cores {
            core.model.translated(block);
        }
        self.executed.translated(block);
    }

    fn wants_arguments_at(&self, ip: u64) -> bool {
        self.allocations.is_entry(ip)
    }

    fn block(&mut self, block: &Block<'_>, addresses: &[u64]) {
        self.allocations.block(block, addresses);
        let mut is_modelled = false;
        for core in &mut self.cores {
            is_modelled |= core.block(block, addresses);
        }
        if is_modelled {
            self.executed.block(block, addresses);
        }
    }

    fn keep_tracing(&mut self) -> bool {
        let mut is_wanted = false;
        for core in &mut self.cores {
            is_wanted |= core.keeps_looking();
        }
        is_wanted
    }
}
