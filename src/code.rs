//! Where in the code slots went: what the bench process says about it, address by address.
//!
//! Knows files and places in them. Which functions these are is the program's business, which can
//! read symbols without being compiled into every bench.

use std::ops::AddAssign;

#[cfg(feature = "run_file")]
use serde::{Deserialize, Serialize};

/// What was counted in a part of the code.
///
/// Retiring and frontend bound slots belong to the code that was issued, bad speculation to the
/// branch or load that was wrong, backend bound slots to the code that stood at the head of the
/// reorder buffer.
///
/// In files the counts are an array in the order of the fields: there are many of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "run_file", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "run_file", serde(into = "[u64; 9]", from = "[u64; 9]"))]
pub struct CodeCounts {
    /// Executed instructions.
    pub instructions: u64,
    /// Slots of instructions that retired.
    pub retiring_slots: u64,
    /// Part of retiring.
    pub heavy_operations_slots: u64,
    /// Slots spent on work that was thrown away.
    pub bad_speculation_slots: u64,
    /// Part of bad speculation.
    pub branch_mispredict_slots: u64,
    /// Slots for which the frontend delivered nothing.
    pub frontend_bound_slots: u64,
    /// Part of frontend bound.
    pub fetch_latency_slots: u64,
    /// Slots for which the backend could accept nothing.
    pub backend_bound_slots: u64,
    /// Part of backend bound.
    pub memory_bound_slots: u64,
}

impl CodeCounts {
    /// The categories: retiring, bad speculation, frontend bound, backend bound.
    pub fn level1_slots(&self) -> [u64; 4] {
        [
            self.retiring_slots,
            self.bad_speculation_slots,
            self.frontend_bound_slots,
            self.backend_bound_slots,
        ]
    }

    /// The measured part of each category, in the order of [`level1_slots`](CodeCounts::level1_slots).
    pub fn level2_slots(&self) -> [u64; 4] {
        [
            self.heavy_operations_slots,
            self.branch_mispredict_slots,
            self.fetch_latency_slots,
            self.memory_bound_slots,
        ]
    }

    /// All slots. Saturates, which counts of a sound file never reach.
    pub fn slots(&self) -> u64 {
        let slots = self.level1_slots().into_iter();
        slots.fold(0, u64::saturating_add)
    }
}

impl From<CodeCounts> for [u64; 9] {
    /// In the order of the fields.
    fn from(counts: CodeCounts) -> [u64; 9] {
        [
            counts.instructions,
            counts.retiring_slots,
            counts.heavy_operations_slots,
            counts.bad_speculation_slots,
            counts.branch_mispredict_slots,
            counts.frontend_bound_slots,
            counts.fetch_latency_slots,
            counts.backend_bound_slots,
            counts.memory_bound_slots,
        ]
    }
}

impl From<[u64; 9]> for CodeCounts {
    /// In the order of the fields.
    fn from(counts: [u64; 9]) -> CodeCounts {
        let [
            instructions,
            retiring_slots,
            heavy_operations_slots,
            bad_speculation_slots,
            branch_mispredict_slots,
            frontend_bound_slots,
            fetch_latency_slots,
            backend_bound_slots,
            memory_bound_slots,
        ] = counts;
        CodeCounts {
            instructions,
            retiring_slots,
            heavy_operations_slots,
            bad_speculation_slots,
            branch_mispredict_slots,
            frontend_bound_slots,
            fetch_latency_slots,
            backend_bound_slots,
            memory_bound_slots,
        }
    }
}

impl AddAssign for CodeCounts {
    /// Count by count. Saturates, which counts of a sound file never reach.
    fn add_assign(&mut self, other: CodeCounts) {
        let mut sum = <[u64; 9]>::from(*self);
        for (count, more) in sum.iter_mut().zip(<[u64; 9]>::from(other)) {
            *count = count.saturating_add(more);
        }
        *self = sum.into();
    }
}

/// Where in the code the slots of a benchmark's samples went, in one launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeSlots {
    /// What the code was loaded from: the path of a file, a name of the kernel's such as `[vdso]`, or
    /// nothing for memory without a name.
    pub modules: Vec<String>,
    /// The blocks of instructions that were executed.
    pub blocks: Vec<CodeBlock>,
    /// For each sample what its blocks cost: the index of the block, and its counts. The slots of a
    /// sample are the sum over its blocks.
    pub samples: Vec<Vec<(u32, CodeCounts)>>,
    /// What the first [samples of a fingerprint](crate::doubling::FINGERPRINT_SAMPLES) executed: the
    /// index of a block, and how many instructions of it. Empty where that is not known, as where other
    /// threads work too.
    pub first_samples: Vec<(u32, u64)>,
    /// A hash of the blocks and the data addresses of these samples in the order of execution, in the
    /// places that the model gives them.
    pub first_samples_data: u64,
    /// The way of the execution.
    pub trail: Trail,
}

/// A straight run of instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeBlock {
    /// Index of the module that it was loaded from.
    pub module: u32,
    /// Where it begins: a position in the module's file in bytes, or an address where the module is
    /// no file.
    pub offset: u64,
    /// How long it is.
    pub bytes: u32,
    /// A hash of its instructions, without the distances to other code and to static data.
    pub content: u64,
}

/// The way that the execution of a benchmark took, from its warm-up on, as hashes: all that was traced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "run_file", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "run_file", serde(deny_unknown_fields))]
pub struct Trail {
    /// Which benchmark of the process, from 0.
    pub number: u32,
    /// How many blocks were executed.
    pub blocks: u64,
    /// The hash of all their contents, in the order of execution.
    pub hash: u64,
    /// How many blocks there are from one hash to the next: a power of two.
    pub every_blocks: u64,
    /// As `hash`, of all blocks so far.
    pub hashes: Vec<u64>,
    /// The number of the first block of `stretch`.
    pub stretch_from: u64,
    /// Blocks in the order of execution, by index, where they were asked for.
    pub stretch: Vec<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_their_array_and_parts_are_no_slots_of_their_own() {
        let array = [1, 20, 3, 40, 5, 60, 7, 80, 9];
        let counts = CodeCounts::from(array);
        assert_eq!(<[u64; 9]>::from(counts), array);
        assert_eq!(counts.memory_bound_slots, 9);
        assert_eq!(counts.slots(), 200);
        assert_eq!(counts.level2_slots(), [3, 5, 7, 9]);
        let mut twice = counts;
        twice += counts;
        assert_eq!(twice, array.map(|count| 2 * count).into());
        twice.retiring_slots = u64::MAX;
        twice += counts;
        assert_eq!(twice.slots(), u64::MAX);
    }
}
