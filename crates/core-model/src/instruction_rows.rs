//! Counting each instruction by itself: the blocks of the ledger are instructions.

use std::ops::Range;

use topdown_tracer::Block;

use crate::core::{Core, Executed};
use crate::instruction::Operation;
use crate::ledger::FixedCosts;

/// An instruction, and those before it whose work it does.
struct Row {
    ips: Range<u64>,
    costs: FixedCosts,
}

/// The instructions of all translated blocks, in the order of the operations. Never allocates after
/// its creation.
pub(crate) struct InstructionRows {
    rows: Vec<Row>,
}

impl InstructionRows {
    pub(crate) fn new(capacity: usize) -> InstructionRows {
        InstructionRows {
            rows: Vec::with_capacity(capacity),
        }
    }

    pub(crate) fn clear(&mut self) {
        self.rows.clear();
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn costs(&self, row: usize) -> &FixedCosts {
        &self.rows[row].costs
    }

    pub(crate) fn ranges(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.rows.iter().map(|row| row.ips.clone())
    }

    /// Adds the instructions of a block, of which there are these operations.
    pub(crate) fn translated(&mut self, block: &Block<'_>, operations: &[Operation]) {
        let mut start = None;
        let mut costs = FixedCosts::default();
        for (operation, instruction) in operations.iter().zip(block.instructions) {
            let decoded = &instruction.decoded;
            let start_ip = *start.get_or_insert(decoded.ip());
            costs.add(operation);
            if !operation.is_absorbed {
                self.rows.push(Row {
                    ips: start_ip..decoded.next_ip(),
                    costs: std::mem::take(&mut costs),
                });
                start = None;
            }
        }
    }

    /// Executes the operations from the row `executed.block` on, and leaves the last row there.
    /// Returns when the last one is done. All are executed as if they were rare, which is slower,
    /// but records what delays them.
    pub(crate) fn execute(
        &self,
        core: &mut Core,
        operations: &[Operation],
        executed: &mut Executed<'_>,
    ) -> u64 {
        let first = executed.block;
        let mut done = 0;
        for (row, operation) in (first..).zip(operations) {
            executed.block = row;
            core.ledger.execute(row, self.costs(row as usize));
            done = match operation.repeat {
                Some(times) => core.repeat(operation, times, executed),
                None => core.execute_rare(operation, executed),
            };
        }
        done
    }

    /// Counts the instructions of `count` rows, and does nothing else with them.
    pub(crate) fn count(&self, core: &mut Core, first: u32, count: u32) {
        for row in first..first + count {
            core.ledger.execute(row, self.costs(row as usize));
        }
    }
}
