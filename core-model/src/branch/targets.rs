//! Targets of branches: the branch target buffer, indirect targets, the return stack.

use crate::memory::Lookup;
use crate::parameters::Prediction as Parameters;

/// Which branches the frontend knows, and what a taken one costs it.
pub(crate) struct TargetBuffers {
    levels: [(Lookup, u64); 2],
    unknown_cycles: u64,
}

impl TargetBuffers {
    pub(crate) fn new(parameters: &Parameters) -> Self {
        TargetBuffers {
            levels: parameters.target_buffers.map(|level| {
                (
                    Lookup::new(level.entries, 8),
                    u64::from(level.bubble_cycles),
                )
            }),
            unknown_cycles: u64::from(parameters.unknown_target_cycles),
        }
    }

    /// A taken branch at `ip`: cycles without fetch, and whether it was known. It is, from now on.
    #[inline]
    pub(crate) fn taken(&mut self, ip: u64) -> (u64, bool) {
        let mut found = None;
        for (table, bubble) in &mut self.levels {
            let there = table.access(ip);
            if there && found.is_none() {
                found = Some(*bubble);
            }
        }
        match found {
            Some(bubble) => (bubble, true),
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

/// Predicts targets of indirect branches by the path that led to them, else by the last target.
pub(crate) struct IndirectPredictor {
    by_path: Box<[Target]>,
    last: Box<[u64]>,
    path: u64,
}

impl IndirectPredictor {
    pub(crate) fn new(parameters: &Parameters) -> Self {
        let entries = parameters.indirect_entries as usize;
        IndirectPredictor {
            by_path: vec![Target::default(); entries].into_boxed_slice(),
            last: vec![0; entries].into_boxed_slice(),
            path: 0,
        }
    }

    /// Predicts the branch at `ip`, learns that it went to `target`, and says whether the
    /// prediction was right.
    #[inline]
    pub(crate) fn predict(&mut self, ip: u64, target: u64) -> bool {
        let mask = self.by_path.len() - 1;
        let hash = (self.path ^ ip).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let tag = hash as u32 | 1;
        let entry = &mut self.by_path[(hash >> 40) as usize & mask];
        let last = &mut self.last[(ip ^ ip >> 13) as usize & mask];
        let predicted = if entry.tag == tag {
            entry.target
        } else {
            *last
        };
        if entry.tag != tag {
            // Kept for the path only where the last target does not do.
            if *last != target {
                *entry = Target {
                    tag,
                    target,
                    confident: false,
                };
            }
        } else if entry.target == target {
            entry.confident = true;
        } else if entry.confident {
            entry.confident = false;
        } else {
            entry.target = target;
        }
        *last = target;
        predicted == target
    }

    /// Makes a taken branch part of the path.
    #[inline]
    pub(crate) fn note(&mut self, target: u64) {
        // Sixteen branches fit; what is shifted out is forgotten.
        self.path = self.path << 4 ^ (target ^ target >> 4 ^ target >> 8) & 0xfff;
    }
}

/// The return stack; it overwrites its oldest entry when it is full.
pub(crate) struct ReturnStack {
    entries: Box<[u64]>,
    top: usize,
}

impl ReturnStack {
    pub(crate) fn new(parameters: &Parameters) -> Self {
        let entries = parameters.return_stack_entries as usize;
        ReturnStack {
            entries: vec![0; entries].into_boxed_slice(),
            top: 0,
        }
    }

    #[inline]
    pub(crate) fn call(&mut self, return_ip: u64) {
        self.top = self.top.wrapping_add(1);
        let place = self.top & (self.entries.len() - 1);
        self.entries[place] = return_ip;
    }

    /// Whether a return to `target` was predicted.
    #[inline]
    pub(crate) fn predict(&mut self, target: u64) -> bool {
        let place = self.top & (self.entries.len() - 1);
        self.top = self.top.wrapping_sub(1);
        self.entries[place] == target
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cores::GOLDEN_COVE;

    #[test]
    fn nested_calls_return_as_predicted_up_to_the_capacity() {
        let mut stack = ReturnStack::new(&GOLDEN_COVE.prediction);
        let depth = u64::from(GOLDEN_COVE.prediction.return_stack_entries) + 1;
        for call in 1..=depth {
            stack.call(call);
        }
        let right = (1..=depth).rev().filter(|&ip| stack.predict(ip)).count();
        assert_eq!(right as u64, depth - 1);
    }

    #[test]
    fn a_cycle_of_targets_is_learnt_by_its_path() {
        let mut predictor = IndirectPredictor::new(&GOLDEN_COVE.prediction);
        let mut wrong_late = 0;
        for step in 0..1000 {
            let target = 0x5000 + (step % 5) * 0x40;
            if !predictor.predict(0x1000, target) && step >= 500 {
                wrong_late += 1;
            }
            predictor.note(target);
        }
        assert_eq!(wrong_late, 0);
    }

    #[test]
    fn a_branch_is_known_after_it_was_taken_once() {
        let mut buffers = TargetBuffers::new(&GOLDEN_COVE.prediction);
        assert_eq!(buffers.taken(0x1000), (6, false));
        assert_eq!(buffers.taken(0x1000), (0, true));
    }
}
