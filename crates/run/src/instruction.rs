//! Events of single instructions on the model, which say why they wait.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// The number of counts in [`InstructionEvents`].
pub const INSTRUCTION_EVENTS: usize = 12;

/// Events of an instruction in all its executions. Cycles of delays overlap with those of other
/// instructions, so they do not add up to slots.
///
/// Files store the counts as an array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(into = "[u64; 12]", from = "[u64; 12]")]
pub struct InstructionEvents {
    /// Number of executions.
    pub executions: u64,
    /// Mispredicted branches.
    pub mispredictions: u64,
    /// Loads that ran before an older store to their address.
    pub clears: u64,
    /// Fetches of its code that missed the L1.
    pub l1i_misses: u64,
    /// Accesses to data that missed the L1.
    pub l1d_misses: u64,
    /// Accesses that missed the L2.
    pub l2_misses: u64,
    /// Accesses that missed the L3.
    pub l3_misses: u64,
    /// Page walks for its data.
    pub page_walks: u64,
    /// Cycles from its issue until its operands were ready.
    pub operand_cycles: u64,
    /// Cycles from then on until a port was free.
    pub port_cycles: u64,
    /// Slots before it in which the frontend refilled after a mispredicted branch.
    pub refill_slots: u64,
    /// Slots before it in which the store queue had no room.
    pub store_queue_slots: u64,
}

impl From<InstructionEvents> for [u64; INSTRUCTION_EVENTS] {
    fn from(of: InstructionEvents) -> [u64; INSTRUCTION_EVENTS] {
        [
            of.executions,
            of.mispredictions,
            of.clears,
            of.l1i_misses,
            of.l1d_misses,
            of.l2_misses,
            of.l3_misses,
            of.page_walks,
            of.operand_cycles,
            of.port_cycles,
            of.refill_slots,
            of.store_queue_slots,
        ]
    }
}

impl From<[u64; INSTRUCTION_EVENTS]> for InstructionEvents {
    fn from(counts: [u64; INSTRUCTION_EVENTS]) -> InstructionEvents {
        let [
            executions,
            mispredictions,
            clears,
            l1i_misses,
            l1d_misses,
            l2_misses,
            l3_misses,
            page_walks,
            operand_cycles,
            port_cycles,
            refill_slots,
            store_queue_slots,
        ] = counts;
        InstructionEvents {
            executions,
            mispredictions,
            clears,
            l1i_misses,
            l1d_misses,
            l2_misses,
            l3_misses,
            page_walks,
            operand_cycles,
            port_cycles,
            refill_slots,
            store_queue_slots,
        }
    }
}

impl InstructionEvents {
    /// Returns each count changed by `change`.
    #[must_use]
    pub fn map(self, change: impl FnMut(u64) -> u64) -> InstructionEvents {
        <[u64; INSTRUCTION_EVENTS]>::from(self).map(change).into()
    }

    /// Returns what was added since `earlier`, of counts that only grow.
    #[must_use]
    pub fn since(self, earlier: InstructionEvents) -> InstructionEvents {
        let mut earlier = <[u64; INSTRUCTION_EVENTS]>::from(earlier).into_iter();
        self.map(|count| count - earlier.next().unwrap_or(0))
    }
}

impl AddAssign for InstructionEvents {
    /// Adds each count, saturating: a bench can write anything.
    fn add_assign(&mut self, other: InstructionEvents) {
        let mut more = <[u64; INSTRUCTION_EVENTS]>::from(other).into_iter();
        *self = self.map(|count| count.saturating_add(more.next().unwrap_or(0)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_equal_their_array_and_add_up() {
        let array = std::array::from_fn(|index| 10 + index as u64);
        let events = InstructionEvents::from(array);
        assert_eq!(<[u64; INSTRUCTION_EVENTS]>::from(events), array);
        let mut twice = events;
        twice += events;
        assert_eq!(twice, events.map(|count| 2 * count));
        assert_eq!(twice.since(events), events);
        twice.executions = u64::MAX;
        twice += events;
        assert_eq!(twice.executions, u64::MAX);
    }
}
