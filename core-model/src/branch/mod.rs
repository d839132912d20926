//! Branch prediction: directions and targets, learnt from the executed path.

mod direction;
mod targets;

use direction::DirectionPredictor;
use targets::{IndirectPredictor, ReturnStack, TargetBuffers};

use crate::instruction::Flow;
use crate::parameters::Prediction as Parameters;

/// What the frontend experiences at a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// The kind of branch.
    pub flow: Flow,
    /// Execution did not go where predicted, which is noticed when the branch executes.
    pub mispredicted: bool,
    /// Fetch continued somewhere other than at the next instruction.
    pub taken: bool,
    /// Cycles without fetch even though the prediction was right.
    pub bubble_cycles: u64,
    /// The bubble is due to a target that only the decoder finds.
    pub found_at_decode: bool,
}

/// All predictors of a core.
pub(crate) struct Predictor {
    direction: DirectionPredictor,
    targets: TargetBuffers,
    indirect: IndirectPredictor,
    returns: ReturnStack,
    return_cycles: u64,
}

impl Predictor {
    pub(crate) fn new(parameters: &Parameters) -> Self {
        Predictor {
            direction: DirectionPredictor::new(parameters),
            targets: TargetBuffers::new(parameters),
            indirect: IndirectPredictor::new(parameters),
            returns: ReturnStack::new(parameters),
            return_cycles: parameters.return_cycles.into(),
        }
    }

    /// Executes a branch at `ip`, followed in memory by `next_ip`, that went to `target`.
    #[inline]
    pub(crate) fn branch(&mut self, flow: Flow, ip: u64, next_ip: u64, target: u64) -> Outcome {
        let taken = flow != Flow::Conditional || target != next_ip;
        let right = match flow {
            Flow::Next | Flow::Jump | Flow::Call => true,
            Flow::Conditional => self.direction.predict(ip, taken),
            Flow::IndirectJump | Flow::IndirectCall => self.indirect.predict(ip, target),
            Flow::Return => self.returns.predict(target),
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
                found_at_decode: false,
            };
        }
        self.direction.note(ip, target);
        self.indirect.note(target);
        let (mut bubble_cycles, known) = self.targets.taken(ip, target);
        if flow == Flow::Return {
            bubble_cycles = bubble_cycles.max(self.return_cycles);
        }
        Outcome {
            flow,
            mispredicted: !right,
            taken,
            bubble_cycles: if right { bubble_cycles } else { 0 },
            found_at_decode: right && !known,
        }
    }
}
