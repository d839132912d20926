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
        let ports = &self.parameters.ports;
        let is_short = element_bytes == 1 && total_bytes <= ports.short_string_bytes.into();
        if ports.long_string_slots > 0 && !is_short {
            let slots = ports.long_string_slots;
            let more = Operation { slots, ..start };
            done = self.execute_rare(&more, executed);
            self.charge_string(block, slots);
        }
        // Moves and fills process many elements at once, comparisons one.
        let fast = memory.iter().any(MemoryOperand::writes);
        let (step_bytes, pace) = self.string_step();
        let (step_bytes, slots) = if fast {
            (step_bytes, self.parameters.ports.string_step_slots)
        } else {
            (element_bytes, 2)
        };
        let step = operation.string_step(pace, slots).complete(memory);
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
            self.charge_string(block, step.slots);
            offset += step_bytes;
        }
        done
    }

    /// Charges slots that are not among the fixed costs of a block.
    fn charge_string(&mut self, block: u32, slots: u8) {
        self.ledger
            .charge_passed(block, |slots| &mut slots.heavy_operations, slots.into());
    }
}
