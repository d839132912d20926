//! Receiver of the traced instructions: a modelled core, and core-independent counts.

use topdown_core_model::{Capacity, CoreParameters};
use topdown_tracer::{Block, Consumer};

use super::allocations::Allocations;
use super::budget::Budget;
use super::core::Core;
use super::executed::Executed;

/// The receiver of a trace.
pub(super) struct Observer {
    /// The modelled core, which decides how much of the trace it looks at.
    pub core: Core,
    pub executed: Executed,
    pub allocations: Allocations,
}

impl Observer {
    /// Reserves all memory.
    pub(super) fn new(
        core: &'static CoreParameters,
        budget: Budget,
        follows_calls: bool,
        stretches: &str,
    ) -> Observer {
        let capacity = Capacity::default();
        Observer {
            core: Core::new(core, capacity, budget, follows_calls),
            executed: Executed::new(capacity.blocks, stretches),
            allocations: Allocations::as_the_environment_wants(),
        }
    }

    /// Begins a window. Returns whether the core wants its trace.
    pub(super) fn begin_window(&mut self) -> bool {
        self.allocations.begin_window();
        self.core.begin_window()
    }

    /// Forgets all translated blocks, whose numbers are assigned from 0 again.
    pub(super) fn forget_blocks(&mut self) {
        self.core.model.forget_blocks();
        self.executed.forget_blocks();
    }
}

impl Consumer for Observer {
    fn translated(&mut self, block: &Block<'_>) {
        self.core.model.translated(block);
        self.executed.translated(block);
    }

    fn wants_arguments_at(&self, ip: u64) -> bool {
        self.allocations.is_entry(ip)
    }

    fn block(&mut self, block: &Block<'_>, addresses: &[u64]) {
        self.allocations.block(block, addresses);
        if self.core.block(block, addresses) {
            self.executed.block(block, addresses);
        }
    }

    fn keep_tracing(&mut self) -> bool {
        self.core.keeps_looking()
    }
}
