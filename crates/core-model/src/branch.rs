//! Branch prediction: directions and targets, learnt from the executed path.

mod counter;
mod direction;
mod first_level;
mod history;
mod keys;
mod targets;

use direction::DirectionPredictor;
use first_level::FirstLevel;
use history::{Newest, PathHistory};
pub(crate) use keys::CodeAddress;
use keys::Keys;
use targets::{IndirectPredictor, ReturnStack, TargetBuffers};

use crate::instruction::Flow;
use crate::parameters::Prediction as Parameters;

/// What the frontend experiences at a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// The kind of branch.
    pub flow: Flow,
    /// Execution did not go where predicted. The core notices when the branch executes.
    pub mispredicted: bool,
    /// Fetch continued somewhere other than at the next instruction.
    pub taken: bool,
    /// Cycles without fetch even though the prediction was right.
    pub bubble_cycles: u64,
    /// Cycles for which prediction, which may be ahead of fetch, went back.
    pub correction_cycles: u64,
    /// The bubble is due to a target that only the decoder finds.
    pub found_at_decode: bool,
}

/// A branch that was executed.
#[derive(Clone, Copy)]
pub(crate) struct Branch {
    pub flow: Flow,
    pub place: CodeAddress,
    /// Where the next instruction in memory lies.
    pub next_ip: u64,
    pub target: CodeAddress,
}

/// All predictors of a core.
pub(crate) struct Predictor {
    keys: Keys,
    history: PathHistory,
    direction: DirectionPredictor,
    first_level: Option<FirstLevel>,
    targets: TargetBuffers,
    indirect: IndirectPredictor,
    /// The part of the history that distinguishes indirect targets.
    indirect_path: Newest,
    returns: ReturnStack,
    predicts_returns_by_path: bool,
    return_cycles: u64,
}

impl Predictor {
    /// Creates predictors that have seen nothing, for code of this many blocks.
    pub(crate) fn new(parameters: &Parameters, blocks: usize) -> Self {
        // Each block has a beginning and at most one branch.
        let numbered = if parameters.numbers_branches {
            2 * blocks
        } else {
            0
        };
        Predictor {
            keys: Keys::new(numbered),
            history: PathHistory::new(),
            direction: DirectionPredictor::new(parameters),
            first_level: parameters.first_level.as_ref().map(FirstLevel::new),
            targets: TargetBuffers::new(parameters),
            indirect: IndirectPredictor::new(parameters),
            indirect_path: Newest::new(parameters.indirect_history_branches),
            returns: ReturnStack::new(parameters),
            predicts_returns_by_path: parameters.predicts_returns_by_path,
            return_cycles: parameters.return_cycles.into(),
        }
    }

    /// Exchanges the numbers of branches with another core.
    pub(crate) fn swap_keys(&mut self, other: &mut Predictor) {
        std::mem::swap(&mut self.keys, &mut other.keys);
    }

    /// Returns the code address of `ip`: a branch, or its target.
    pub(crate) fn address(&mut self, ip: u64) -> CodeAddress {
        self.keys.address(ip)
    }

    /// Predicts an indirect branch, and returns whether that was right.
    #[inline]
    fn by_path(&mut self, place: CodeAddress, target: CodeAddress) -> bool {
        let path = self.history.of(self.indirect_path);
        self.indirect.predict(path, place.key, target.ip)
    }

    /// Executes a branch.
    #[inline(always)]
    pub(crate) fn branch(&mut self, branch: &Branch) -> Outcome {
        let Branch {
            flow,
            place,
            next_ip,
            target,
        } = *branch;
        let taken = flow != Flow::Conditional || target.ip != next_ip;
        let correction_cycles = match &mut self.first_level {
            Some(first) if flow == Flow::Conditional => first.correct(place.key, taken),
            _ => 0,
        };
        let right = match flow {
            Flow::Next | Flow::Jump | Flow::Call => true,
            Flow::Conditional => self.direction.predict(&self.history, place.key, taken),
            Flow::IndirectJump | Flow::IndirectCall => self.by_path(place, target),
            Flow::Return => match self.returns.predict(target.ip) {
                Some(right) => right,
                None => self.predicts_returns_by_path && self.by_path(place, target),
            },
        };
        if matches!(flow, Flow::Call | Flow::IndirectCall) {
            self.returns.call(next_ip);
        }
        if !taken {
            return Outcome {
                flow,
                mispredicted: !right,
                taken,
                bubble_cycles: 0,
                correction_cycles,
                found_at_decode: false,
            };
        }
        self.history.push(place.key, target.key);
        let (mut bubble_cycles, known) = self.targets.taken(flow, place.key, target.ip);
        if flow == Flow::Return {
            bubble_cycles = bubble_cycles.max(self.return_cycles);
        }
        Outcome {
            flow,
            mispredicted: !right,
            taken,
            bubble_cycles: if right { bubble_cycles } else { 0 },
            correction_cycles,
            found_at_decode: right && !known,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cores::GOLDEN_COVE;

    /// Returns how often the jump of an interpreter whose code begins at `first` is mispredicted in
    /// the second half of 4000 operations. What comes after seven equal ones depends on the one
    /// before them, fourteen taken branches ago.
    fn mispredicted_operations(first: u64) -> usize {
        const DISPATCH: u64 = 0x40;
        // Where each operation begins after the jump, from `bytecode` of `validate`.
        let handlers = [0x3, 0x58, 0x70, 0x8a, 0x92];
        let operations = [0, 1, 1, 1, 1, 1, 1, 1, 2, 3, 1, 1, 1, 1, 1, 1, 1, 4];
        let by_address = Parameters {
            numbers_branches: false,
            ..GOLDEN_COVE.prediction
        };
        let mut predictor = Predictor::new(&by_address, 0);
        let jump = first + DISPATCH + 9;
        let mut goes = |flow, ip, next_ip, target| {
            predictor.branch(&Branch {
                flow,
                place: CodeAddress { ip, key: ip },
                next_ip,
                target: CodeAddress {
                    ip: target,
                    key: target,
                },
            })
        };
        let mut is_wrong = |&operation: &usize| {
            let handler = jump + handlers[operation];
            let outcome = goes(Flow::IndirectJump, jump, jump + 3, handler);
            goes(Flow::Jump, handler + 10, handler + 12, first + DISPATCH);
            outcome.mispredicted
        };
        let executed = operations.iter().cycle().take(4000);
        let wrong: Vec<bool> = executed.map(&mut is_wrong).collect();
        wrong[2000..].iter().filter(|&&wrong| wrong).count()
    }

    #[test]
    fn returns_from_too_deep_are_learnt_by_path() {
        const DEPTH: usize = 30;
        let mispredicted = |parameters: &Parameters| {
            let mut predictor = Predictor::new(parameters, 100);
            let mut wrong = 0;
            for round in 0..50 {
                let mut goes = |flow, ip, target| {
                    let [place, target] = [ip, target].map(|ip| CodeAddress { ip, key: ip });
                    let outcome = predictor.branch(&Branch {
                        flow,
                        place,
                        next_ip: ip + 5,
                        target,
                    });
                    wrong += usize::from(round >= 25 && outcome.mispredicted);
                };
                // A function at 0x100 that calls itself, called from 0x50.
                goes(Flow::Call, 0x50, 0x100);
                (1..DEPTH).for_each(|_| goes(Flow::Call, 0x110, 0x100));
                (1..DEPTH).for_each(|_| goes(Flow::Return, 0x120, 0x115));
                goes(Flow::Return, 0x120, 0x55);
            }
            wrong
        };
        let golden_cove = GOLDEN_COVE.prediction;
        assert_eq!(mispredicted(&golden_cove), 0);
        let too_deep = DEPTH - golden_cove.return_stack_entries as usize;
        let by_stack = Parameters {
            predicts_returns_by_path: false,
            ..golden_cove
        };
        assert_eq!(mispredicted(&by_stack), 25 * too_deep);
    }

    #[test]
    fn jump_prediction_ignores_code_address() {
        for place in 0..256 {
            let first = 0x55_0000 + place * 16;
            assert_eq!(mispredicted_operations(first), 0, "at {first:#x}");
        }
    }
}
