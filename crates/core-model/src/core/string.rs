//! Repeated string instructions: `rep movs`, `rep stos`, `repe cmps` and others.

use topdown_tracer::{Address, Repeat};

use super::{Core, Executed};
use crate::instruction::{MemoryOperand, NONE, Operation};

impl Core {
    /// Executes a repeated string instruction: its start, then its steps.
    #[inline(never)]
    pub(crate) fn repeat(
        &mut self,
        operation: &Operation,
        repeat: Repeat,
        executed: &Executed<'_>,
    ) -> u64 {
        let &Executed {
            block, recorded, ..
        } = executed;
        let memory = operation.operands(executed.operands);
        let start = Operation {
            memory_count: 0,
            ..*operation
        };
        let mut done = self.execute_rare(&start, executed);
        let element_bytes = u64::from(memory.first().map_or(1, |operand| operand.bytes));
        let total_bytes = repeat.iterations(recorded).saturating_mul(element_bytes);
        // Moves and fills process many elements at once, comparisons one.
        let fast = memory.iter().any(MemoryOperand::writes);
        let (step_bytes, pace) = self.string_step();
        let step_bytes = if fast { step_bytes } else { element_bytes };
        let step = operation.string_step(pace).complete(memory);
        let written = memory.iter().find(|operand| operand.writes());
        let mut offset = 0;
        while offset < total_bytes {
            // The microcode aligns its steps to the destination.
            let step_bytes = match written.and_then(|operand| operand.address.first(recorded)) {
                Some(start) => step_bytes - start.wrapping_add(offset) % step_bytes,
                None => step_bytes,
            };
            let mut operands = [MemoryOperand::NONE; 2];
            for (place, operand) in operands.iter_mut().zip(memory) {
                let start = operand.address.first(recorded).unwrap_or(0);
                *place = MemoryOperand {
                    bytes: step_bytes.min(total_bytes - offset) as u32,
                    address: Address::Fixed(start.wrapping_add(offset)),
                    registers: [NONE, NONE],
                    ..*operand
                };
                *place = self.with_vector_ports(place);
            }
            let executed = Executed {
                operands: &operands[..memory.len().min(2)],
                ..*executed
            };
            done = self.execute_rare(&step, &executed);
            self.ledger.charge_passed(
                block,
                |slots| &mut slots.heavy_operations,
                step.slots.into(),
            );
            offset += step_bytes;
        }
        done
    }
}
