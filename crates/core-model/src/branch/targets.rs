//! Targets of branches: the branch target buffer, indirect targets, the return stack.

use super::history::SPREAD;
use crate::calendar::boxed;
use crate::instruction::Flow;
use crate::memory::Lookup;
use crate::parameters::Prediction as Parameters;

/// Number of returns and indirect branches whose last targets are kept.
const LAST_TARGETS: usize = 1024;

/// Which branches the frontend knows, and what a taken one costs.
pub(crate) struct TargetBuffers {
    levels: Box<[(Lookup, u64)]>,
    /// The last target of each branch that may have several.
    last: Box<[u64; LAST_TARGETS]>,
    changed_cycles: u64,
    unknown_cycles: u64,
}

impl TargetBuffers {
    pub(crate) fn new(parameters: &Parameters) -> Self {
        TargetBuffers {
            levels: parameters
                .target_buffers
                .iter()
                .map(|level| {
                    (
                        // Code is aligned, so the low address bits would leave most sets unused.
                        Lookup::new(level.entries, 8).hashed(),
                        u64::from(level.bubble_cycles),
                    )
                })
                .collect(),
            last: boxed(0),
            changed_cycles: u64::from(parameters.changed_target_cycles),
            unknown_cycles: u64::from(parameters.unknown_target_cycles),
        }
    }

    /// Records a branch taken from `ip` to `target`. Returns the cycles without fetch, and whether
    /// the branch was known.
    #[inline]
    pub(crate) fn taken(&mut self, flow: Flow, ip: u64, target: u64) -> (u64, bool) {
        let may_change = matches!(flow, Flow::IndirectJump | Flow::IndirectCall | Flow::Return);
        let changed = may_change && {
            let last = &mut self.last[(ip ^ ip >> 10) as usize % LAST_TARGETS];
            std::mem::replace(last, target) != target
        };
        let mut found = None;
        for (number, (table, bubble)) in self.levels.iter_mut().enumerate() {
            let there = table.access(ip);
            if there && found.is_none() {
                found = Some((number, *bubble));
            }
        }
        match found {
            // The first level answers before the return stack and the indirect predictor do.
            Some((0, bubble)) if changed => (bubble.max(self.changed_cycles), true),
            Some((_, bubble)) => (bubble, true),
            None => (self.unknown_cycles, false),
        }
    }
}

#[derive(Clone, Copy, Default)]
struct Target {
    tag: u32,
    target: u64,
    /// A target is replaced when it was wrong twice in a row.
    confident: bool,
}

/// Number of entries that a path can occupy; the least recently used one is replaced.
const WAYS: usize = 4;

/// Predicts targets of indirect branches by the path that led to them, or else by the last target.
pub(crate) struct IndirectPredictor {
    by_path: Box<[Target]>,
    last: Box<[u64]>,
}

impl IndirectPredictor {
    pub(crate) fn new(parameters: &Parameters) -> Self {
        let entries = (parameters.indirect_entries as usize).max(WAYS);
        IndirectPredictor {
            by_path: vec![Target::default(); entries].into_boxed_slice(),
            last: vec![0; entries].into_boxed_slice(),
        }
    }

    /// Predicts the branch at `ip` behind `path`, learns that it went to `target`, and returns
    /// whether the prediction was right.
    #[inline]
    pub(crate) fn predict(&mut self, path: u64, ip: u64, target: u64) -> bool {
        let mask = self.last.len() - 1;
        let hash = (path ^ ip).wrapping_mul(SPREAD);
        let tag = hash as u32 | 1;
        let first = ((hash >> 40) as usize & mask) / WAYS * WAYS;
        let set = &mut self.by_path[first..first + WAYS];
        let last = &mut self.last[(ip ^ ip >> 13) as usize & mask];
        let known = set.iter().position(|entry| entry.tag == tag);
        let predicted = known.map_or(*last, |place| set[place].target);
        match known {
            // The path is stored only if the last target does not suffice.
            None if *last == target => {}
            None => {
                set.rotate_right(1);
                set[0] = Target {
                    tag,
                    target,
                    confident: false,
                };
            }
            Some(place) => {
                if place > 0 {
                    set[..=place].rotate_right(1);
                }
                let entry = &mut set[0];
                if entry.target != target && !entry.confident {
                    entry.target = target;
                } else {
                    entry.confident = entry.target == target;
                }
            }
        }
        *last = target;
        predicted == target
    }
}

/// The return stack. When full, it overwrites its oldest entry; it knows nothing of returns from
/// deeper than it remembers.
pub(crate) struct ReturnStack {
    entries: Box<[u64]>,
    top: usize,
    held: usize,
}

impl ReturnStack {
    pub(crate) fn new(parameters: &Parameters) -> Self {
        let entries = parameters.return_stack_entries as usize;
        ReturnStack {
            entries: vec![0; entries].into_boxed_slice(),
            top: 0,
            held: 0,
        }
    }

    #[inline]
    pub(crate) fn call(&mut self, return_ip: u64) {
        self.top = self.top.wrapping_add(1);
        let place = self.top & (self.entries.len() - 1);
        self.entries[place] = return_ip;
        self.held = (self.held + 1).min(self.entries.len());
    }

    /// Returns whether a return to `target` was predicted, or `None` if the stack was empty.
    #[inline]
    pub(crate) fn predict(&mut self, target: u64) -> Option<bool> {
        self.held = self.held.checked_sub(1)?;
        let place = self.top & (self.entries.len() - 1);
        self.top = self.top.wrapping_sub(1);
        Some(self.entries[place] == target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::branch::history::{Newest, PathHistory};
    use crate::cores::GOLDEN_COVE;

    #[test]
    fn nested_calls_return_as_predicted_to_capacity() {
        let mut stack = ReturnStack::new(&GOLDEN_COVE.prediction);
        let depth = u64::from(GOLDEN_COVE.prediction.return_stack_entries) + 1;
        for call in 1..=depth {
            stack.call(call);
        }
        let right = (1..=depth)
            .rev()
            .filter(|&ip| stack.predict(ip) == Some(true))
            .count();
        assert_eq!(right as u64, depth - 1);
    }

    #[test]
    fn too_deep_return_finds_an_empty_stack() {
        let mut stack = ReturnStack::new(&GOLDEN_COVE.prediction);
        let entries = GOLDEN_COVE.prediction.return_stack_entries;
        for _ in 0..entries + 5 {
            stack.call(7);
        }
        let predicted = (0..entries + 5).filter_map(|_| stack.predict(7)).count();
        assert_eq!(predicted, entries as usize);
    }

    #[test]
    fn cycle_of_targets_is_learnt_by_its_path() {
        let mut predictor = IndirectPredictor::new(&GOLDEN_COVE.prediction);
        let mut history = PathHistory::new();
        let path = Newest::new(16);
        let mut wrong_late = 0;
        for step in 0..1000 {
            let target = 0x5000 + (step % 5) * 0x40;
            if !predictor.predict(history.of(path), 0x1000, target) && step >= 500 {
                wrong_late += 1;
            }
            history.push(0x1000, target);
        }
        assert_eq!(wrong_late, 0);
    }

    #[test]
    fn branch_is_known_once_taken() {
        let mut buffers = TargetBuffers::new(&GOLDEN_COVE.prediction);
        assert_eq!(buffers.taken(Flow::Return, 0x1000, 0x2000), (10, false));
        assert_eq!(buffers.taken(Flow::Return, 0x1000, 0x2000), (0, true));
    }

    #[test]
    fn known_branch_to_new_target_has_a_bubble() {
        let mut buffers = TargetBuffers::new(&GOLDEN_COVE.prediction);
        buffers.taken(Flow::Return, 0x1000, 0x2000);
        assert_eq!(buffers.taken(Flow::Return, 0x1000, 0x3000), (3, true));
        assert_eq!(buffers.taken(Flow::Return, 0x1000, 0x3000), (0, true));
    }
}
