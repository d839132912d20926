//! The path of execution: branches, and the wrong paths after mispredicted ones.

use super::Core;
use crate::branch::{Branch, CodeAddress};
use crate::instruction::{Flow, Operation};
use crate::pipeline::Mispredicted;

/// A branch whose target is unknown until the next block arrives.
#[derive(Clone, Copy)]
pub(super) struct PendingBranch {
    /// [`Flow::Next`] if there is none: an `Option` would be copied.
    flow: Flow,
    place: CodeAddress,
    length: u8,
    resolved: u64,
    block: u32,
}

impl PendingBranch {
    pub(super) const NONE: PendingBranch = PendingBranch {
        flow: Flow::Next,
        place: CodeAddress { ip: 0, key: 0 },
        length: 0,
        resolved: 0,
        block: 0,
    };

    /// Returns whether there is none.
    #[inline]
    fn is_none(&self) -> bool {
        self.flow == Flow::Next
    }

    /// Forgets the branch.
    #[inline]
    pub(super) fn forget(&mut self) {
        self.flow = Flow::Next;
    }

    /// Returns where its last byte lies.
    #[inline]
    fn last_byte(&self) -> u64 {
        self.place.ip + u64::from(self.length) - 1
    }

    /// Returns the branch, which went to `target`.
    #[inline]
    fn to(&self, target: CodeAddress) -> Branch {
        Branch {
            flow: self.flow,
            place: self.place,
            next_ip: self.place.ip + u64::from(self.length),
            target,
        }
    }
}

/// The frontend follows the wrong path until `until`.
#[derive(Clone, Copy)]
pub(super) struct WrongPath {
    pub until: u64,
    pub block: u32,
    pub is_clear: bool,
}

impl Core {
    /// Continues the path at `place`, resolving the branch before it.
    #[inline]
    pub(crate) fn arrive(&mut self, place: CodeAddress) {
        // Not copied unless it must be: its parts were stored just before.
        if self.pending.is_none() {
            return;
        }
        self.ledger.count(|events| &mut events.branches, 1);
        let outcome = self.predictor.branch(&self.pending.to(place));
        self.frontend.branch(self.pending.last_byte(), &outcome);
        if outcome.mispredicted {
            let branch = self.pending;
            self.ledger
                .count(|events| &mut events.mispredicted_branches, 1);
            self.take_wrong_path(&branch, outcome.taken, place.ip);
            self.restart(branch.resolved, branch.block, false);
        }
        self.pending.forget();
    }

    /// Begins the wrong path at a branch; the right one continues at `next`.
    #[inline(never)]
    fn take_wrong_path(&mut self, branch: &PendingBranch, is_taken: bool, next: u64) {
        if branch.flow != Flow::Conditional {
            self.shared_path.end();
            return;
        }
        let mispredicted = Mispredicted {
            ip: branch.place.ip,
            is_taken,
            next,
            issued: self.ledger.cycle(),
            resolved: branch.resolved,
        };
        let registers = &self.registers;
        self.shared_path.begin(&mispredicted, |register| {
            registers[usize::from(register)].ready
        });
    }

    /// Discards everything fetched after an instruction when it is done, at `at`.
    pub(super) fn restart(&mut self, at: u64, block: u32, is_clear: bool) {
        let prediction = &self.parameters.prediction;
        self.frontend
            .redirect(at + u64::from(prediction.redirect_cycles));
        self.wrong_path = Some(WrongPath {
            until: at + u64::from(prediction.recovery_cycles),
            block,
            is_clear,
        });
    }

    /// Returns whether a wrong path may reach the instructions before the next branch. They are
    /// then executed as rare ones.
    #[inline]
    pub(crate) fn may_be_on_wrong_path(&self) -> bool {
        self.shared_path.is_followed()
    }

    /// Continues the path at `place`: the predictors learn where the branch before it went.
    #[inline]
    pub(crate) fn warm_arrival(&mut self, place: CodeAddress) {
        if self.pending.is_none() {
            return;
        }
        let outcome = self.predictor.branch(&self.pending.to(place));
        self.pending.forget();
        if outcome.taken {
            self.frontend.warm_branch();
        }
    }

    /// Continues after the last instruction of a block, which lies at `place` and is done at
    /// `done`.
    #[inline]
    pub(crate) fn leave(&mut self, last: &Operation, place: CodeAddress, done: u64, block: u32) {
        if last.flow != Flow::Next {
            self.pending = PendingBranch {
                flow: last.flow,
                place,
                length: last.length,
                resolved: done,
                block,
            };
        }
    }
}
