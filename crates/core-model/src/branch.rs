//! Branch prediction: directions and targets, learnt from the executed path.

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
            return_cycles: parameters.return_cycles.into(),
        }
    }

    /// Returns the code address of `ip`: a branch, or its target.
    pub(crate) fn address(&mut self, ip: u64) -> CodeAddress {
        self.keys.address(ip)
    }

    /// Executes a branch.
    #[inline]
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
            Flow::IndirectJump | Flow::IndirectCall => {
                let path = self.history.of(self.indirect_path);
                self.indirect.predict(path, place.key, target.ip)
            }
            Flow::Return => self.returns.predict(target.ip),
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
    fn jump_prediction_ignores_code_address() {
        for place in 0..256 {
            let first = 0x55_0000 + place * 16;
            assert_eq!(mispredicted_operations(first), 0, "at {first:#x}");
        }
    }
}
