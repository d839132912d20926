//! Functional warming: instructions change the caches, the TLBs and the predictors, and take no
//! time.
//!
//! After Wunderlich et al., "SMARTS: Accelerating Microarchitecture Simulation via Rigorous
//! Statistical Sampling" (ISCA 2003): what lasts longer than a few thousand instructions is kept
//! up to date all the time, and the rest, such as what is in flight, arises from these.

use topdown_tracer::{AccessKind, Address};

use super::Core;
use crate::branch::CodeAddress;
use crate::calendar::boxed;
use crate::instruction::{MemoryOperand, Operation};
use crate::memory::LINE_BYTES;

/// Lines that were accessed recently, direct-mapped.
struct Lines<const PLACES: usize>(Box<[u64; PLACES]>);

impl<const PLACES: usize> Lines<PLACES> {
    const NONE: u64 = u64::MAX;

    /// Returns whether `line` was accessed recently, and written if `is_written`; and adds it.
    #[inline]
    fn has(&mut self, line: u64, is_written: bool) -> bool {
        let place = &mut self.0[line as usize % PLACES];
        let new = line << 1 | u64::from(is_written);
        let difference = *place ^ new;
        if difference <= u64::from(!is_written) {
            return true;
        }
        *place = new;
        false
    }
}

/// What was accessed recently while skimming. Fewer lines than any L1 has.
pub(super) struct Recent {
    code: Lines<128>,
    data: Lines<256>,
}

impl Recent {
    pub(super) fn new() -> Recent {
        Recent {
            code: Lines(boxed(Lines::<128>::NONE)),
            data: Lines(boxed(Lines::<256>::NONE)),
        }
    }

    pub(super) fn forget(&mut self) {
        self.code.0.fill(Lines::<128>::NONE);
        self.data.0.fill(Lines::<256>::NONE);
    }
}

impl Core {
    /// Executes the instructions of a block, the last of which lies at `last_place`.
    #[inline]
    pub(crate) fn warm(
        &mut self,
        operations: &[Operation],
        last_place: CodeAddress,
        operands: &[MemoryOperand],
        recorded: &[u64],
    ) {
        for operation in operations {
            self.frontend.warm(operation, &mut self.memory);
            if operation.memory_count > 0 {
                self.warm_operands(operation, operands, recorded);
            }
        }
        if let Some(last) = operations.last() {
            // Time stands still, and the block costs nothing.
            self.leave(last, last_place, 0, 0);
        }
    }

    /// Returns how many lines were brought from memory into the caches.
    pub(crate) fn filled_lines(&self) -> u64 {
        self.memory.filled_lines()
    }

    /// Forgets the wrong path, which ends only by time, and what the upper halves were.
    pub(crate) fn leave_detail(&mut self) {
        self.shared_path.end();
        self.begin_window();
    }

    /// Prepares for blocks that predictors do not see.
    pub(crate) fn begin_skimming(&mut self) {
        self.pending.forget();
        self.recent.forget();
    }

    /// Shows the caches what a block at `place` accesses, unless it was accessed recently.
    #[inline]
    pub(crate) fn skim(&mut self, place: u64, operands: &[MemoryOperand], recorded: &[u64]) {
        self.skim_code(place);
        for operand in operands {
            let (Address::Fixed(_) | Address::Recorded { .. }) = operand.address else {
                self.skim_elements(operand, recorded);
                continue;
            };
            let address = operand.address.first(recorded).unwrap_or(0);
            if !self.recent.data.has(address / LINE_BYTES, operand.writes()) {
                self.skim_access(operand, address);
            }
        }
    }

    #[inline]
    fn skim_code(&mut self, place: u64) {
        let code_line = place / LINE_BYTES;
        if !self.recent.code.has(code_line, false) {
            self.memory.warm_code(code_line);
        }
    }

    #[inline(never)]
    fn skim_elements(&mut self, operand: &MemoryOperand, recorded: &[u64]) {
        if let Address::Elements(elements) = operand.address {
            for address in elements.addresses(recorded) {
                self.skim_access(operand, address);
            }
        }
    }

    #[inline(never)]
    fn skim_access(&mut self, operand: &MemoryOperand, address: u64) {
        if operand.non_temporal {
            return;
        }
        let address = self.addresses.model_address(address);
        let bytes = operand.bytes.min(LINE_BYTES as u32);
        self.memory.warm_lines(address, bytes, operand.writes());
    }

    /// Shows the caches and prefetchers all that a block at `place` accesses.
    #[inline]
    pub(crate) fn follow(
        &mut self,
        place: u64,
        operations: &[Operation],
        operands: &[MemoryOperand],
        recorded: &[u64],
    ) {
        self.skim_code(place);
        self.warm_accesses(operations, operands, recorded);
    }

    /// Shows the caches and prefetchers the data that a block accesses.
    #[inline(never)]
    pub(crate) fn warm_accesses(
        &mut self,
        operations: &[Operation],
        operands: &[MemoryOperand],
        recorded: &[u64],
    ) {
        for operation in operations {
            if operation.memory_count > 0 {
                self.warm_operands(operation, operands, recorded);
            }
        }
    }

    #[inline]
    fn warm_operands(
        &mut self,
        operation: &Operation,
        operands: &[MemoryOperand],
        recorded: &[u64],
    ) {
        for operand in operation.operands(operands) {
            if let Some(repeat) = operation.repeat {
                let elements = repeat.iterations(recorded);
                let bytes = elements.saturating_mul(u64::from(operand.bytes));
                let start = operand.address.first(recorded).unwrap_or(0);
                self.warm_bytes(operation, operand, start, bytes);
            } else if let Address::Elements(elements) = operand.address {
                for address in elements.addresses(recorded) {
                    self.warm_access(operation, operand, address);
                }
            } else if let Some(address) = operand.address.first(recorded) {
                self.warm_access(operation, operand, address);
            }
        }
    }

    /// Accesses all lines of a repeated string instruction.
    #[inline(never)]
    fn warm_bytes(
        &mut self,
        operation: &Operation,
        operand: &MemoryOperand,
        start: u64,
        bytes: u64,
    ) {
        let mut offset = 0;
        while offset < bytes {
            let address = start.wrapping_add(offset);
            let step_bytes = (LINE_BYTES - address % LINE_BYTES).min(bytes - offset);
            let operand = MemoryOperand {
                bytes: step_bytes as u32,
                ..*operand
            };
            self.warm_access(operation, &operand, address);
            offset += step_bytes;
        }
    }

    #[inline]
    fn warm_access(&mut self, operation: &Operation, operand: &MemoryOperand, address: u64) {
        let address = self.addresses.model_address(address);
        let bytes = operand.bytes.min(LINE_BYTES as u32);
        match operand.kind {
            AccessKind::Read => self.memory.warm_load(operation.ip, address, bytes),
            AccessKind::Hint => self.memory.warm_prefetch(address),
            AccessKind::Write | AccessKind::ReadWrite if operand.non_temporal => {}
            AccessKind::Write => self.memory.warm_store(operation.ip, address, bytes),
            AccessKind::ReadWrite => {
                self.memory.warm_load(operation.ip, address, bytes);
                self.memory.warm_store(operation.ip, address, bytes);
            }
        }
    }
}
