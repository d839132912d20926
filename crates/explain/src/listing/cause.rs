//! Causes of an instruction's lost slots.

use topdown_run::category::Category;
use topdown_run::instruction::InstructionEvents;

use super::{EventsPerIteration, ListedInstruction};

/// Why an instruction loses slots. The model knows; PMU samples do not say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cause {
    /// Its access to data misses this many times per execution.
    Misses(CacheLevel, f64),
    /// Its data is on a page that the TLBs do not have.
    PageWalks(f64),
    /// The branch is mispredicted so often per execution.
    Mispredicted(f64),
    /// The load ran before an older store to its address.
    Cleared,
    /// The branch before it is mispredicted, and the frontend refills.
    AfterMispredict,
    /// Its code is not in the L1.
    CodeMisses(f64),
    /// The frontend delivers too few instructions here.
    Delivery,
    /// The store queue is full.
    StoreQueue,
    /// It waits for a free port.
    Port,
    /// It waits for its operands.
    Operands,
    /// An instruction before it that takes long, or a full buffer.
    Backend,
    /// It is executed more often.
    MoreExecutions,
}

/// The innermost cache that an access misses mostly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CacheLevel {
    /// The L1.
    L1,
    /// The L2.
    L2,
    /// The L3.
    L3,
}

/// Fewer than this many events per execution explain nothing.
const MIN_RATE: f64 = 0.01;

/// A difference between the slots of two executions is worth a word from this fraction of the
/// instruction's slots on.
const MIN_CHANGE: f64 = 0.05;

impl Cause {
    /// Returns why an instruction loses slots, if it loses more than it uses.
    pub fn of(instruction: &ListedInstruction) -> Option<Cause> {
        let slots = &instruction.slots.level1;
        let lost = slots.bad_speculation + slots.frontend_bound + slots.backend_bound;
        if lost <= slots.retiring {
            return None;
        }
        let (category, _) = lossy(instruction, None);
        cause(category, instruction.events.as_ref()?, None)
    }

    /// Returns why an instruction takes more slots than before.
    pub fn of_change(before: &ListedInstruction, after: &ListedInstruction) -> Option<Cause> {
        let (was, now) = (before.events.as_ref()?, after.events.as_ref()?);
        let change = after.slots.total() - before.slots.total();
        if change <= MIN_CHANGE * before.slots.total() {
            return None;
        }
        let executions = |of: &EventsPerIteration| of.of(|events| events.executions);
        let (category, lost) = lossy(after, Some(before));
        let more = executions(now) / executions(was).max(f64::MIN_POSITIVE);
        // As many slots per execution as before.
        let expected = before.slots.total() * (more - 1.0);
        if expected > change / 2.0 || lost <= 0.0 {
            return (more > 1.0 + MIN_CHANGE).then_some(Cause::MoreExecutions);
        }
        cause(category, now, Some(was))
    }
}

/// Returns the category in which an instruction loses most slots, or most more than before.
fn lossy(after: &ListedInstruction, before: Option<&ListedInstruction>) -> (Category, f64) {
    let earlier = before.map(|before| before.slots.level1).unwrap_or_default();
    let change = after.slots.level1.zip(earlier).map(|(now, was)| now - was);
    let lost = change.iter().skip(1);
    lost.max_by(|(_, a), (_, b)| a.total_cmp(b))
        .map_or((Category::Retiring, 0.0), |(category, slots)| {
            (category, *slots)
        })
}

/// One of the counts of an instruction.
type Count = fn(&InstructionEvents) -> u64;

fn cause(
    category: Category,
    now: &EventsPerIteration,
    was: Option<&EventsPerIteration>,
) -> Option<Cause> {
    // Per execution, and by how much more than before.
    let rate = |of: &EventsPerIteration, count: Count| {
        of.of(count) / of.of(|e| e.executions).max(f64::MIN_POSITIVE)
    };
    let excess = |count| rate(now, count) - was.map_or(0.0, |was| rate(was, count));
    let matters = |count| excess(count) > MIN_RATE;
    match category {
        Category::Retiring => None,
        Category::BadSpeculation if excess(|e| e.clears) > excess(|e| e.mispredictions) => {
            Some(Cause::Cleared)
        }
        Category::BadSpeculation => {
            let mispredicted = rate(now, |e| e.mispredictions);
            (mispredicted > 0.0).then_some(Cause::Mispredicted(mispredicted))
        }
        Category::FrontendBound if matters(|e| e.refill_slots) => Some(Cause::AfterMispredict),
        Category::FrontendBound if matters(|e| e.l1i_misses) => {
            Some(Cause::CodeMisses(rate(now, |e| e.l1i_misses)))
        }
        Category::FrontendBound => Some(Cause::Delivery),
        Category::BackendBound => {
            let levels: [(CacheLevel, Count); 3] = [
                (CacheLevel::L3, |e| e.l3_misses),
                (CacheLevel::L2, |e| e.l2_misses),
                (CacheLevel::L1, |e| e.l1d_misses),
            ];
            let misses = levels.into_iter().find(|(_, count)| matters(*count));
            if let Some((level, count)) = misses {
                return Some(Cause::Misses(level, rate(now, count)));
            }
            if matters(|e| e.page_walks) {
                return Some(Cause::PageWalks(rate(now, |e| e.page_walks)));
            }
            if matters(|e| e.store_queue_slots) {
                return Some(Cause::StoreQueue);
            }
            let (port, operands) = (excess(|e| e.port_cycles), excess(|e| e.operand_cycles));
            Some(if port > operands.max(MIN_RATE) {
                Cause::Port
            } else if operands > MIN_RATE {
                Cause::Operands
            } else {
                Cause::Backend
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listing::ListedSlots;

    /// An instruction that is executed 100 times in an iteration.
    fn instruction(level1: [f64; 4], events: InstructionEvents) -> ListedInstruction {
        let events = InstructionEvents {
            executions: events.executions.max(100),
            ..events
        };
        ListedInstruction {
            slots: ListedSlots {
                level1: level1.into(),
                ..ListedSlots::default()
            },
            events: Some(EventsPerIteration::new(events, 1)),
            ..ListedInstruction::default()
        }
    }

    #[test]
    fn causes_follow_from_category_and_events() {
        let none = InstructionEvents::default();
        let misses = InstructionEvents {
            l1d_misses: 90,
            l2_misses: 50,
            ..none
        };
        let mispredictions = InstructionEvents {
            mispredictions: 20,
            ..none
        };
        let refills = InstructionEvents {
            refill_slots: 300,
            ..none
        };
        let port = InstructionEvents {
            port_cycles: 200,
            operand_cycles: 100,
            ..none
        };
        let operands = InstructionEvents {
            port_cycles: 0,
            ..port
        };
        for (level1, events, expected) in [
            ([100.0, 0.0, 0.0, 50.0], misses, None),
            (
                [100.0, 0.0, 0.0, 900.0],
                misses,
                Some(Cause::Misses(CacheLevel::L2, 0.5)),
            ),
            (
                [100.0, 900.0, 0.0, 0.0],
                mispredictions,
                Some(Cause::Mispredicted(0.2)),
            ),
            (
                [100.0, 0.0, 900.0, 0.0],
                refills,
                Some(Cause::AfterMispredict),
            ),
            ([100.0, 0.0, 900.0, 0.0], none, Some(Cause::Delivery)),
            ([100.0, 0.0, 0.0, 900.0], port, Some(Cause::Port)),
            ([100.0, 0.0, 0.0, 900.0], operands, Some(Cause::Operands)),
            ([100.0, 0.0, 0.0, 900.0], none, Some(Cause::Backend)),
        ] {
            let cause = Cause::of(&instruction(level1, events));
            assert_eq!(cause, expected, "{level1:?} {events:?}");
        }
        let sampled = ListedInstruction {
            events: None,
            ..instruction([1.0, 0.0, 0.0, 9.0], none)
        };
        assert_eq!(Cause::of(&sampled), None);
    }

    #[test]
    fn change_is_explained_by_events_that_are_new() {
        let none = InstructionEvents::default();
        let walks = InstructionEvents {
            page_walks: 50,
            operand_cycles: 900,
            ..none
        };
        let misses = InstructionEvents {
            l1d_misses: 70,
            ..walks
        };
        let before = instruction([100.0, 0.0, 0.0, 300.0], walks);
        let after = instruction([100.0, 0.0, 0.0, 800.0], misses);
        let cause = Cause::of_change(&before, &after);
        assert_eq!(cause, Some(Cause::Misses(CacheLevel::L1, 0.7)));
        assert_eq!(Cause::of_change(&after, &before), None);
        let twice = InstructionEvents {
            executions: 200,
            page_walks: 100,
            operand_cycles: 1800,
            ..none
        };
        let more = instruction([200.0, 0.0, 0.0, 600.0], twice);
        assert_eq!(
            Cause::of_change(&before, &more),
            Some(Cause::MoreExecutions)
        );
    }
}
