//! The part of the wrong path after a mispredicted branch that the right path shares.
//!
//! Both ways of a short forward branch soon join: behind an `if`, or behind its `else`. From there
//! on the wrong path executes what the trace shows next. Its loads begin before the branch is
//! known, unless their addresses depend on what either way wrote.
//!
//! The trace shows only the way that was right, so each branch's join and what its ways write are
//! learnt from mispredictions. Everything else on the wrong path has no effect.

use crate::calendar::boxed;
use crate::instruction::{NOWHERE, OTHER_FLAGS, Operation, REGISTERS, Register};
use crate::parameters::CoreParameters;

/// Branches of which the ways are known.
const BRANCHES: usize = 256;
/// The most instructions of a way.
const WAY_INSTRUCTIONS: u32 = 64;
/// When a value is ready that the wrong path does not have; later than any cycle.
const NEVER: u64 = u64::MAX / 2;

/// A set of registers.
type Set = u128;

/// What is known of a branch. Its ways are numbered: 0 is not taken, 1 is taken.
#[derive(Clone, Copy, Default)]
struct Known {
    ip: u64,
    /// Where it goes if it is taken; 0 if that is not known.
    target: u64,
    /// Where its ways join; 0 if they do not, or if that is not known.
    join: u64,
    /// What each way wrote last.
    written: [Set; 2],
}

/// The right way of a mispredicted branch, until it joins the other one.
#[derive(Clone, Copy)]
struct Way {
    ip: u64,
    is_taken: bool,
    /// The first address that may be the join.
    join_from: u64,
    written: Set,
    instructions: u32,
}

/// A stretch of the wrong path.
#[derive(Clone, Copy)]
struct Stretch {
    /// When it begins to issue, and when its branch is known.
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
    /// When it was issued.
    pub issued: u64,
    /// When it is known.
    pub resolved: u64,
}

/// The part of the wrong path that the right one repeats.
pub(crate) struct SharedPath {
    skip_bytes: u64,
    width: u64,
    most_slots: u64,
    issue_delay: u64,
    least_cycles: u64,
    branches: Box<[Known; BRANCHES]>,
    way: Option<Way>,
    /// The current stretch.
    stretch: Option<Stretch>,
    /// That of the last branch, which goes on when `stretch` ends.
    newest: Option<Stretch>,
    /// The slots that both paths had.
    slots: u64,
    /// When each register is ready on the wrong path.
    ready: Box<[u64; REGISTERS]>,
    /// When the data of the current instruction's loads is ready there.
    loaded: u64,
    /// Whether the wrong path comes to the current instruction.
    is_here: bool,
}

impl SharedPath {
    pub(crate) fn new(parameters: &CoreParameters) -> Self {
        SharedPath {
            skip_bytes: parameters.prediction.wrong_path_skip_bytes.into(),
            width: parameters.width.into(),
            most_slots: parameters.prediction.wrong_path_slots.into(),
            issue_delay: parameters.issue_delay.into(),
            least_cycles: parameters.memory.l2.cycles.into(),
            branches: boxed(Known::default()),
            way: None,
            stretch: None,
            newest: None,
            slots: 0,
            ready: boxed(0),
            loaded: 0,
            is_here: false,
        }
    }

    /// Returns whether a wrong path may come where the right one is.
    #[inline]
    pub(crate) fn is_followed(&self) -> bool {
        self.stretch.is_some()
    }

    /// Returns whether it comes to the current instruction.
    #[inline]
    pub(crate) fn is_here(&self) -> bool {
        self.is_here
    }

    /// Ends it: the wrong path has nothing in common with the right one.
    pub(crate) fn end(&mut self) {
        self.is_here = false;
        self.way = None;
        self.stretch = None;
        self.newest = None;
    }

    /// Begins at a conditional branch; `registers` says when each register is ready.
    pub(crate) fn begin(&mut self, branch: &Mispredicted, registers: impl Fn(Register) -> u64) {
        if self.skip_bytes == 0 {
            return;
        }
        if self.way.is_some() {
            self.end();
        }
        // No load that misses the L1 would gain much.
        if !self.is_followed() && branch.resolved < branch.issued + self.least_cycles {
            return;
        }
        let Some(way) = self.right_way(branch) else {
            self.end();
            return;
        };
        let stretch = Stretch {
            cycles: (branch.issued, branch.resolved),
            slots: self.slots,
        };
        self.way = Some(way);
        if self.is_followed() {
            self.newest = Some(stretch);
            return;
        }
        self.stretch = Some(stretch);
        for register in 0..=OTHER_FLAGS {
            self.ready[usize::from(register)] = registers(register);
        }
    }

    /// Returns the right way of a branch if its ways may join.
    fn right_way(&mut self, branch: &Mispredicted) -> Option<Way> {
        let skip_bytes = self.skip_bytes;
        let known = self.known(branch.ip);
        if branch.is_taken {
            known.target = branch.next;
        }
        let join_from = if branch.is_taken {
            known.join
        } else {
            known.target
        };
        let is_short = known.target > branch.ip && known.target - branch.ip <= skip_bytes;
        (is_short && join_from > 0).then_some(Way {
            ip: branch.ip,
            is_taken: branch.is_taken,
            join_from,
            written: 0,
            instructions: 0,
        })
    }

    fn known(&mut self, ip: u64) -> &mut Known {
        let known = &mut self.branches[(ip ^ ip >> 8) as usize % BRANCHES];
        if known.ip != ip {
            *known = Known {
                ip,
                ..Known::default()
            };
        }
        known
    }

    /// Comes to an instruction.
    pub(crate) fn arrive(&mut self, operation: &Operation) {
        if let Some(way) = self.way {
            self.go(way, operation);
        }
        self.loaded = 0;
        while let Some(Stretch { cycles, slots }) = self.stretch {
            if self.cycle() < cycles.1 && self.slots - slots < self.most_slots {
                break;
            }
            self.stretch = self.newest.take();
        }
        self.is_here = self.way.is_none() && self.is_followed();
    }

    /// Goes on on the right way of a branch: to its join, to a further instruction, or astray.
    fn go(&mut self, mut way: Way, operation: &Operation) {
        let at = operation.ip;
        let furthest = way.ip + 2 * self.skip_bytes;
        let joins = at >= way.join_from && at <= furthest;
        let known = self.known(way.ip);
        if joins && (!way.is_taken || at == way.join_from) {
            known.join = at;
            known.written[usize::from(way.is_taken)] = way.written;
            let mut wrong = known.written[usize::from(!way.is_taken)];
            while wrong != 0 {
                self.ready[wrong.trailing_zeros() as usize] = NEVER;
                wrong &= wrong - 1;
            }
            self.way = None;
        } else if joins || at <= way.ip || at > furthest || way.instructions == WAY_INSTRUCTIONS {
            known.join = 0;
            self.end();
        } else {
            for register in written_by(operation) {
                way.written |= 1 << register;
                self.ready[usize::from(register)] = NEVER;
            }
            way.instructions += 1;
            self.way = Some(way);
        }
    }

    /// Returns the cycle in which the wrong path issues the next instruction.
    fn cycle(&self) -> u64 {
        let begin = self
            .stretch
            .map_or((0, 0), |stretch| (stretch.cycles.0, stretch.slots));
        begin.0 + (self.slots - begin.1) / self.width
    }

    /// Returns when the wrong path executes a load from an address in these registers, if it does.
    pub(crate) fn load_at(&self, address: [Register; 2]) -> Option<u64> {
        let ready = address.map(|register| self.ready[usize::from(register)]);
        let at = ready[0].max(ready[1]).max(self.cycle() + self.issue_delay);
        self.stretch
            .filter(|stretch| at < stretch.cycles.1)
            .map(|_| at)
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
    written.filter(|&register| register != NOWHERE)
}
