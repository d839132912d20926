//! Slots by code address, as the bench process reports them.
//!
//! This module knows files and offsets. The program resolves them to functions, so that benches
//! need not compile a symbol reader.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::category::PerCategory;
use crate::instruction::InstructionEvents;

/// Counts for a part of the code.
///
/// Retiring and frontend bound slots belong to the code that was issued, bad speculation to the
/// mispredicted branch or the load that caused the clear, and backend bound slots to the code at
/// the head of the reorder buffer.
///
/// Files store the counts as an array, because there are many of them: instructions, then each
/// category and its measured part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(into = "[u64; 9]", from = "[u64; 9]")]
pub struct CodeCounts {
    /// Executed instructions.
    pub instructions: u64,
    /// Slots by category.
    pub level1_slots: PerCategory<u64>,
    /// The slots of each category's [measured part](crate::category::Category::measured_part).
    pub level2_slots: PerCategory<u64>,
}

impl CodeCounts {
    /// Returns the sum of all slots, saturating. Counts in a valid file never saturate.
    #[inline]
    pub fn slots(&self) -> u64 {
        let slots = self.level1_slots.into_array().into_iter();
        slots.fold(0, u64::saturating_add)
    }
}

impl From<CodeCounts> for [u64; 9] {
    /// Lists the instructions, then each category and its measured part.
    #[inline]
    fn from(counts: CodeCounts) -> [u64; 9] {
        let mut array = [counts.instructions; 9];
        let slots = counts.level1_slots.zip(counts.level2_slots).into_array();
        for (place, (category, part)) in array[1..].chunks_mut(2).zip(slots) {
            place.copy_from_slice(&[category, part]);
        }
        array
    }
}

impl From<[u64; 9]> for CodeCounts {
    /// Lists the instructions, then each category and its measured part.
    #[inline]
    fn from(counts: [u64; 9]) -> CodeCounts {
        CodeCounts {
            instructions: counts[0],
            level1_slots: PerCategory::from_fn(|category| counts[1 + 2 * category as usize]),
            level2_slots: PerCategory::from_fn(|category| counts[2 + 2 * category as usize]),
        }
    }
}

impl AddAssign for CodeCounts {
    /// Adds each count, saturating. Counts in a valid file never saturate.
    #[inline]
    fn add_assign(&mut self, other: CodeCounts) {
        let mut sum = <[u64; 9]>::from(*self);
        for (count, more) in sum.iter_mut().zip(<[u64; 9]>::from(other)) {
            *count = count.saturating_add(more);
        }
        *self = sum.into();
    }
}

/// Slots of a benchmark's samples by code address, in one launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeSlots {
    /// The modules the code was loaded from: a file path, a kernel name such as `[vdso]`, or an
    /// empty string for anonymous memory.
    pub modules: Vec<String>,
    /// The calls that led to the blocks, callers first. Empty unless
    /// [requested](crate::environment::PATHS).
    pub calls: Vec<CodeCall>,
    /// The executed blocks of instructions: each once per path that led to it.
    pub blocks: Vec<CodeBlock>,
    /// For each sample, the index and counts of each of its blocks. A sample's slots are the sum
    /// over its blocks.
    pub samples: Vec<Vec<(u32, CodeCounts)>>,
    /// For each sample, the events of its blocks, in their order there. Each block is then one
    /// instruction, or a pair that executes as one. Empty unless
    /// [requested](crate::environment::INSTRUCTIONS).
    pub events: Vec<Vec<InstructionEvents>>,
    /// The instructions executed in the first [samples of a
    /// fingerprint](crate::doubling::FINGERPRINT_SAMPLES): a block's index and its instruction
    /// count. Empty if unknown, for example when other threads work too.
    pub first_samples: Vec<(u32, u64)>,
    /// A hash of these samples' blocks and data addresses in execution order, with addresses as the
    /// model assigns them.
    pub first_samples_data: u64,
    /// The execution path.
    pub trail: Trail,
    /// Indices of the block in which a thread took the lock for which threads waited most, and of
    /// those to which it then returned, callees first. Empty if they waited for none.
    pub lock: Vec<u32>,
}

/// A call, and through it the path of calls that led to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeCall {
    /// The call of the function that contains it, as one more than its index among the calls; 0 if
    /// that is the code of the window itself.
    pub caller: u32,
    /// Index of the module that contains the call.
    pub module: u32,
    /// The offset of the last byte of the calling instruction, as in [`CodeBlock::offset`].
    pub offset: u64,
}

/// A straight-line run of instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeBlock {
    /// Index of the module it was loaded from.
    pub module: u32,
    /// Where it begins: a byte offset in the module's file, or an address if the module is not a
    /// file.
    pub offset: u64,
    /// Its length.
    pub bytes: u32,
    /// A hash of its instructions, excluding relative offsets to other code and to static data.
    pub content: u64,
    /// The call that led to it, as one more than its index among the calls; 0 if that is unknown
    /// or if it is code of the window itself.
    pub call: u32,
}

/// The path that a benchmark's execution took, from warm-up on, as hashes of everything traced.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Trail {
    /// The benchmark's number within the process, from 0.
    pub number: u32,
    /// Number of executed blocks.
    pub blocks: u64,
    /// A hash of all block contents, in execution order.
    pub hash: u64,
    /// Number of blocks from one entry of `hashes` to the next: a power of two.
    pub every_blocks: u64,
    /// Intermediate values of `hash`, each over all blocks so far.
    pub hashes: Vec<u64>,
    /// The number of the first block in `stretch`.
    pub stretch_from: u64,
    /// Block indices in execution order, if requested.
    pub stretch: Vec<u32>,
    /// What the slots of the process depend on, unless some of it was not traced or not modelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
}

/// Hashes of everything that the slots of a process depend on, from its first window on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Digest {
    /// Instructions, where in the model they and their data lie, and where windows and samples end.
    pub executed: u64,
    /// Distances by which the model moved the mappings, if they matter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moves: Option<u64>,
    /// Number of samples of the benchmark that it covers.
    pub samples: u32,
}

impl Digest {
    /// Returns whether a launch with the digest `other` has the slots of the launch that was
    /// modelled with this one.
    pub fn is_repeated_by(&self, other: &Digest) -> bool {
        self.executed == other.executed && (self.moves.is_none() || self.moves == other.moves)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_count_if_slots_depend_on_them() {
        let digest = |executed, moves| Digest {
            executed,
            moves,
            samples: 5,
        };
        for (one, other, is_repeated) in [
            (digest(1, None), digest(1, Some(7)), true),
            (digest(1, Some(7)), digest(1, Some(7)), true),
            (digest(1, Some(7)), digest(1, Some(8)), false),
            (digest(1, Some(7)), digest(1, None), false),
            (digest(1, None), digest(2, Some(7)), false),
        ] {
            assert_eq!(one.is_repeated_by(&other), is_repeated, "{one:?} {other:?}");
        }
    }

    #[test]
    fn counts_match_their_array_and_parts_are_no_slots() {
        let array = [1, 20, 3, 40, 5, 60, 7, 80, 9];
        let counts = CodeCounts::from(array);
        assert_eq!(<[u64; 9]>::from(counts), array);
        assert_eq!(counts.level2_slots.backend_bound, 9);
        assert_eq!(counts.slots(), 200);
        assert_eq!(counts.level2_slots.into_array(), [3, 5, 7, 9]);
        let mut twice = counts;
        twice += counts;
        assert_eq!(twice, array.map(|count| 2 * count).into());
        twice.level1_slots.retiring = u64::MAX;
        twice += counts;
        assert_eq!(twice.slots(), u64::MAX);
    }
}
