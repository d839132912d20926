//! The part of the wrong path after a mispredicted branch that the right path shares.
//!
//! Both paths of a short forward branch soon reconverge: behind an `if`, or behind its `else`. From
//! there on the wrong path executes what the trace shows next. Its loads begin before the branch is
//! resolved, unless their addresses depend on what either path wrote.
//!
//! The trace shows the right path only, so each branch's reconvergence point and what its paths
//! write are learnt from mispredictions. Nothing else on the wrong path has an effect.

use crate::calendar::boxed;
use crate::instruction::{OTHER_FLAGS, Operation, REGISTERS, Register, UNREAD};
use crate::parameters::CoreParameters;

/// Number of tracked branches.
const BRANCHES: usize = 256;
/// Maximum number of instructions of a path.
const MAX_PATH_INSTRUCTIONS: u32 = 64;
/// The time of a value that the wrong path does not have; later than any cycle.
const NEVER: u64 = u64::MAX / 2;

type Set = u128;

/// A branch. Its paths are numbered: 0 is not taken, 1 is taken.
#[derive(Clone, Copy, Default)]
struct KnownBranch {
    ip: u64,
    /// Its target if it is taken; 0 if unknown.
    target: u64,
    /// Its reconvergence point; 0 if none or unknown.
    reconvergence: u64,
    /// Registers that each path wrote last.
    written: [Set; 2],
}

/// The right path of a mispredicted branch, up to the reconvergence point.
#[derive(Clone, Copy)]
struct CorrectPath {
    ip: u64,
    is_taken: bool,
    /// The first address that may be the reconvergence point.
    reconverges_from: u64,
    written: Set,
    instructions: u32,
}

/// A part of the wrong path.
#[derive(Clone, Copy)]
struct WrongPathSpan {
    /// When it begins to issue, and when its branch is resolved.
    cycles: (u64, u64),
    /// The shared slots before it.
    slots: u64,
}

/// A mispredicted branch.
pub(crate) struct Mispredicted {
    pub ip: u64,
    pub is_taken: bool,
    /// The right path.
    pub next: u64,
    pub issued: u64,
    pub resolved: u64,
}

/// The part of the wrong path that the right one repeats.
pub(crate) struct SharedPath {
    skip_bytes: u64,
    width: u64,
    max_slots: u64,
    issue_delay: u64,
    min_cycles: u64,
    branches: Box<[KnownBranch; BRANCHES]>,
    path: Option<CorrectPath>,
    span: Option<WrongPathSpan>,
    /// The span of the last branch, which continues when `span` ends.
    newest: Option<WrongPathSpan>,
    /// The slots that both paths had.
    slots: u64,
    /// When each register is ready on the wrong path.
    ready: Box<[u64; REGISTERS]>,
    /// When the data of the current instruction's loads is ready there.
    loaded: u64,
    /// Whether the wrong path comes to the current instruction.
    covers_current: bool,
}

impl SharedPath {
    pub(crate) fn new(parameters: &CoreParameters) -> Self {
        SharedPath {
            skip_bytes: parameters.prediction.wrong_path_skip_bytes.into(),
            width: parameters.width.into(),
            max_slots: parameters.prediction.wrong_path_slots.into(),
            issue_delay: parameters.issue_delay.into(),
            min_cycles: parameters.memory.l2.cycles.into(),
            branches: boxed(KnownBranch::default()),
            path: None,
            span: None,
            newest: None,
            slots: 0,
            ready: boxed(0),
            loaded: 0,
            covers_current: false,
        }
    }

    /// Returns whether a wrong path may come where the right one is.
    #[inline]
    pub(crate) fn is_followed(&self) -> bool {
        self.span.is_some()
    }

    /// Returns whether it comes to the current instruction.
    #[inline]
    pub(crate) fn covers_current(&self) -> bool {
        self.covers_current
    }

    /// Ends it: the wrong path has nothing in common with the right one.
    pub(crate) fn end(&mut self) {
        self.covers_current = false;
        self.path = None;
        self.span = None;
        self.newest = None;
    }

    /// Begins at a conditional branch; `registers` says when each register is ready.
    pub(crate) fn begin(&mut self, branch: &Mispredicted, registers: impl Fn(Register) -> u64) {
        if self.skip_bytes == 0 {
            return;
        }
        if self.path.is_some() {
            self.end();
        }
        // No load that misses the L1 would gain much.
        if !self.is_followed() && branch.resolved < branch.issued + self.min_cycles {
            return;
        }
        let Some(path) = self.correct_path(branch) else {
            self.end();
            return;
        };
        let span = WrongPathSpan {
            cycles: (branch.issued, branch.resolved),
            slots: self.slots,
        };
        self.path = Some(path);
        if self.is_followed() {
            self.newest = Some(span);
            return;
        }
        self.span = Some(span);
        for register in 0..=OTHER_FLAGS {
            self.ready[usize::from(register)] = registers(register);
        }
    }

    /// Returns the right path of a branch whose paths may reconverge.
    fn correct_path(&mut self, branch: &Mispredicted) -> Option<CorrectPath> {
        let skip_bytes = self.skip_bytes;
        let known = self.known(branch.ip);
        if branch.is_taken {
            known.target = branch.next;
        }
        let reconverges_from = if branch.is_taken {
            known.reconvergence
        } else {
            known.target
        };
        let is_short = known.target > branch.ip && known.target - branch.ip <= skip_bytes;
        (is_short && reconverges_from > 0).then_some(CorrectPath {
            ip: branch.ip,
            is_taken: branch.is_taken,
            reconverges_from,
            written: 0,
            instructions: 0,
        })
    }

    fn known(&mut self, ip: u64) -> &mut KnownBranch {
        let known = &mut self.branches[(ip ^ ip >> 8) as usize % BRANCHES];
        if known.ip != ip {
            *known = KnownBranch {
                ip,
                ..KnownBranch::default()
            };
        }
        known
    }

    /// Advances to an instruction.
    pub(crate) fn arrive(&mut self, operation: &Operation) {
        if let Some(path) = self.path {
            self.follow_correct_path(path, operation);
        }
        self.loaded = 0;
        while let Some(WrongPathSpan { cycles, slots }) = self.span {
            if self.cycle() < cycles.1 && self.slots - slots < self.max_slots {
                break;
            }
            self.span = self.newest.take();
        }
        self.covers_current = self.path.is_none() && self.is_followed();
    }

    /// Follows the right path of a branch: to the reconvergence point, to a further instruction, or
    /// astray.
    fn follow_correct_path(&mut self, mut path: CorrectPath, operation: &Operation) {
        let at = operation.ip;
        let furthest = path.ip + 2 * self.skip_bytes;
        let joins = at >= path.reconverges_from && at <= furthest;
        let known = self.known(path.ip);
        if joins && (!path.is_taken || at == path.reconverges_from) {
            known.reconvergence = at;
            known.written[usize::from(path.is_taken)] = path.written;
            let mut wrong = known.written[usize::from(!path.is_taken)];
            while wrong != 0 {
                self.ready[wrong.trailing_zeros() as usize] = NEVER;
                wrong &= wrong - 1;
            }
            self.path = None;
        } else if joins
            || at <= path.ip
            || at > furthest
            || path.instructions == MAX_PATH_INSTRUCTIONS
        {
            known.reconvergence = 0;
            self.end();
        } else {
            for register in written_by(operation) {
                path.written |= 1 << register;
                self.ready[usize::from(register)] = NEVER;
            }
            path.instructions += 1;
            self.path = Some(path);
        }
    }

    /// Returns the cycle in which the wrong path issues the next instruction.
    fn cycle(&self) -> u64 {
        let begin = self.span.map_or((0, 0), |span| (span.cycles.0, span.slots));
        begin.0 + (self.slots - begin.1) / self.width
    }

    /// Returns when the wrong path executes a load from an address in these registers, if ever.
    pub(crate) fn load_at(&self, address: [Register; 2]) -> Option<u64> {
        let ready = address.map(|register| self.ready[usize::from(register)]);
        let at = ready[0].max(ready[1]).max(self.cycle() + self.issue_delay);
        self.span.filter(|span| at < span.cycles.1).map(|_| at)
    }

    /// Notes when the wrong path has the data of a load, if it ever does.
    pub(crate) fn loaded(&mut self, ready: Option<u64>) {
        self.loaded = self.loaded.max(ready.unwrap_or(NEVER));
    }

    /// Executes the current instruction on the wrong path.
    pub(crate) fn execute(&mut self, operation: &Operation) {
        let mut ready = self.loaded;
        for source in operation.sources {
            ready = ready.max(self.ready[usize::from(source)]);
        }
        if operation.operations > 0 {
            ready = ready.max(self.cycle() + self.issue_delay);
        }
        for register in written_by(operation) {
            self.ready[usize::from(register)] = (ready + u64::from(operation.latency)).min(NEVER);
        }
        self.slots += u64::from(operation.slots);
    }
}

/// Returns the registers that an instruction writes.
fn written_by(operation: &Operation) -> impl Iterator<Item = Register> {
    let written = operation.destinations.into_iter();
    written.filter(|&register| register != UNREAD)
}
