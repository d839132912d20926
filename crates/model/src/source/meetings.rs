//! Number of times that threads wait for each other in a window, and those for one lock.
//!
//! A lock is a word of memory that a thread, once it has waited or spun for it, changes atomically.
//! A thread that has waited at a lock's futex also wakes others there: so no thread's own futex, at
//! which it sleeps until another one has work, is a lock.

use topdown_run::event::{Event, Events};
use topdown_tracer::iced_x86::{FlowControl, OpKind, Register};
use topdown_tracer::{AccessKind, Block, Instruction, MAX_THREADS, Meeting};

/// Words that are watched at the same time. Judgement: far more than locks at which many wait.
const MAX_WORDS: usize = 32;

/// A thread that has waited looks at the word within this many blocks. Judgement: a system call
/// returns through some functions.
const MAX_BLOCKS: u8 = 16;

/// A thread that has taken a lock is watched for so many blocks, and through so many functions that
/// it returns to. Judgement: a lock's own functions, unoptimised, have returned by then.
const MAX_BLOCKS_AFTER: u8 = 200;
pub(super) const MAX_TAKING_BLOCKS: usize = 8;

/// Receives the same blocks as the model, and allocates nothing.
pub(super) struct Meetings {
    /// Whether several threads have executed since the benchmark began.
    has_several: bool,
    waits: u64,
    spins: u64,
    words: [Word; MAX_WORDS],
    /// What each thread does after it has waited.
    pursuits: [Pursuit; MAX_THREADS],
    /// The lock with the most waits in a window, since the benchmark began.
    lock: Word,
    thread: usize,
    /// Whether the executing thread does anything of that kind.
    is_pursued: bool,
}

/// A word for which threads wait or spin.
#[derive(Clone, Copy, Default)]
struct Word {
    address: u64,
    /// How often.
    waits: u64,
    /// Those that have waited at the futex here: a bit for each.
    sleepers: u128,
    /// Whether one of them has woken others here.
    is_passed_on: bool,
    /// Whether threads spin for it.
    is_spun_for: bool,
    /// The number of the block in which a thread that has waited changed the word atomically, and
    /// of those to which it then returned: of the first one that did.
    taking: [u32; MAX_TAKING_BLOCKS],
    /// Number of these blocks.
    taken: usize,
}

impl Word {
    fn is_lock(&self) -> bool {
        self.taken > 0 && (self.is_passed_on || self.is_spun_for)
    }

    fn is_taken_in(&mut self, block: u32) {
        if let Some(next) = self.taking.get_mut(self.taken) {
            *next = block;
            self.taken += 1;
        }
    }
}

/// What a thread does after it has waited.
#[derive(Clone, Copy, Default)]
struct Pursuit {
    /// For which word it has. The first one that it reads is the one for which it spins.
    address: Option<u64>,
    /// For how many more blocks it is watched.
    blocks: u8,
    /// Whether it has taken the word, and nobody had before.
    has_taken: bool,
    /// Calls since then that have not returned, negative in the callers of the function that took
    /// it.
    depth: i16,
    /// The lowest depth so far.
    lowest: i16,
}

impl Meetings {
    pub(super) fn new() -> Meetings {
        Meetings {
            has_several: false,
            waits: 0,
            spins: 0,
            words: [Word::default(); MAX_WORDS],
            pursuits: [Pursuit::default(); MAX_THREADS],
            lock: Word::default(),
            thread: 0,
            is_pursued: false,
        }
    }

    pub(super) fn begin_benchmark(&mut self) {
        self.has_several = false;
        self.lock = Word::default();
    }

    /// Returns the numbers of the block in which a thread took the lock for which threads waited
    /// most, since the benchmark began, and of those to which it then returned.
    pub(super) fn lock_blocks(&self) -> &[u32] {
        &self.lock.taking[..self.lock.taken]
    }

    /// Forgets what was counted so far.
    pub(super) fn begin_window(&mut self) {
        self.waits = 0;
        self.spins = 0;
        self.words.fill(Word::default());
        self.pursuits.fill(Pursuit::default());
        self.is_pursued = false;
    }

    /// The next blocks are executed by this thread.
    pub(super) fn switch_to(&mut self, thread: usize) {
        self.thread = thread;
        self.is_pursued = self.pursuits[thread].blocks > 0;
    }

    pub(super) fn met(&mut self, thread: usize, meeting: Meeting) {
        match meeting {
            Meeting::Waits(address) => {
                self.waits += 1;
                let word = self.word(address);
                word.waits += 1;
                word.sleepers |= 1 << thread;
                self.pursue(thread, Some(address));
            }
            Meeting::Wakes(address) => {
                if let Some(word) = self.known(address) {
                    word.is_passed_on |= word.sleepers >> thread & 1 == 1;
                }
            }
            Meeting::Spins => {
                self.spins += 1;
                self.pursue(thread, None);
            }
        }
    }

    fn pursue(&mut self, thread: usize, address: Option<u64>) {
        self.pursuits[thread] = Pursuit {
            address,
            blocks: MAX_BLOCKS,
            ..Pursuit::default()
        };
        self.switch_to(self.thread);
    }

    fn known(&mut self, address: u64) -> Option<&mut Word> {
        self.words.iter_mut().find(|word| word.address == address)
    }

    /// Returns the word at `address`, in the place of the one with the fewest waits if it is new.
    fn word(&mut self, address: u64) -> &mut Word {
        let known = self.words.iter().position(|word| word.address == address);
        let index = known.unwrap_or_else(|| {
            let words = self.words.iter().enumerate();
            let fewest = words.min_by_key(|(_, word)| word.waits);
            let index = fewest.map_or(0, |(index, _)| index);
            self.words[index] = Word {
                address,
                ..Word::default()
            };
            index
        });
        &mut self.words[index]
    }

    #[inline]
    pub(super) fn block(&mut self, block: &Block<'_>, recorded: &[u64]) {
        if self.is_pursued {
            self.follow(block, recorded);
        }
    }

    #[inline(never)]
    fn follow(&mut self, block: &Block<'_>, recorded: &[u64]) {
        let mut pursuit = self.pursuits[self.thread];
        pursuit.blocks -= 1;
        if !pursuit.has_taken {
            self.look_for_lock(&mut pursuit, block, recorded);
        } else if pursuit.depth < pursuit.lowest {
            pursuit.lowest = pursuit.depth;
            if let Some(word) = pursuit.address.and_then(|address| self.known(address)) {
                word.is_taken_in(block.id.0);
            }
        }
        if pursuit.has_taken {
            pursuit.depth += match block.last().decoded.flow_control() {
                FlowControl::Call | FlowControl::IndirectCall => 1,
                FlowControl::Return => -1,
                _ => 0,
            };
        }
        self.pursuits[self.thread] = pursuit;
        self.switch_to(self.thread);
    }

    fn look_for_lock(&mut self, pursuit: &mut Pursuit, block: &Block<'_>, recorded: &[u64]) {
        for instruction in block.instructions.iter().filter(|it| names_memory(it)) {
            for access in block.accesses_of(instruction) {
                let is_change = access.kind == AccessKind::ReadWrite;
                let is_read = is_change || access.kind == AccessKind::Read;
                let Some(at) = access.address.first(recorded).filter(|_| is_read) else {
                    continue;
                };
                if pursuit.address.is_none() {
                    let word = self.word(at);
                    word.waits += 1;
                    word.is_spun_for = true;
                    pursuit.address = Some(at);
                }
                if is_change && pursuit.address == Some(at) && !pursuit.has_taken {
                    let word = self.word(at);
                    pursuit.has_taken = word.taken == 0;
                    pursuit.blocks = 0;
                    if pursuit.has_taken {
                        word.is_taken_in(block.id.0);
                        pursuit.blocks = MAX_BLOCKS_AFTER;
                    }
                }
            }
        }
    }

    /// Returns the counts of the window, in which other threads than the measured one executed
    /// anything if `has_others`; empty if there were none since the benchmark began.
    pub(super) fn end_window(&mut self, has_others: bool) -> Events<u64> {
        self.has_several |= has_others;
        if !self.has_several {
            return Events::NONE;
        }
        let locks = self.words.iter().filter(|word| word.is_lock());
        let lock = locks.max_by_key(|word| word.waits).copied();
        let lock = lock.unwrap_or_default();
        if lock.waits > self.lock.waits {
            self.lock = lock;
        }
        Events::NONE
            .with(Event::ThreadWaits, self.waits)
            .with(Event::ThreadSpins, self.spins)
            .with(Event::LockWaits, lock.waits)
    }
}

/// Returns whether an instruction names a place in memory, other than of its own stack frame, of
/// its thread, or where a call or a table of jumps leads.
fn names_memory(instruction: &Instruction) -> bool {
    let decoded = &instruction.decoded;
    let mut operands = decoded.op_kinds();
    operands.any(|kind| kind == OpKind::Memory)
        && decoded.flow_control() == FlowControl::Next
        && decoded.memory_index() == Register::None
        && decoded.memory_base() != Register::RSP
        && decoded.segment_prefix() != Register::FS
}

#[cfg(test)]
mod tests {
    use super::*;
    use topdown_tracer::{BlockId, OwnedBlock};

    const LOCK: u64 = 0x5000;
    /// mov eax, [rdi]
    const LOAD: &[u8] = &[0x8b, 0x07];
    /// lock cmpxchg [rdi], ecx
    const EXCHANGE: &[u8] = &[0xf0, 0x0f, 0xb1, 0x0f];
    /// mov eax, [rsp]; ret
    const RETURN: &[u8] = &[0x8b, 0x04, 0x24, 0xc3];
    /// call [rdi]
    const CALL: &[u8] = &[0xff, 0x17];
    /// movsxd rax, dword ptr [rcx+rax*4]; jmp rax
    const TABLE: &[u8] = &[0x48, 0x63, 0x04, 0x81, 0xff, 0xe0];

    /// What threads do, one after the other.
    enum Step {
        Does(Meeting),
        Executes(&'static [u8], u64),
    }
    use Step::{Does, Executes};

    /// Returns the waits at one lock after these steps, each with its thread.
    fn lock_waits(steps: &[(usize, Step)]) -> u64 {
        met(steps).0
    }

    /// Also returns in which of the steps somebody took the lock, and was watched afterwards.
    fn met(steps: &[(usize, Step)]) -> (u64, Vec<u32>) {
        let mut meetings = Meetings::new();
        meetings.begin_window();
        for ((thread, step), number) in steps.iter().zip(0..) {
            meetings.switch_to(*thread);
            match step {
                Does(meeting) => meetings.met(*thread, *meeting),
                Executes(code, address) => {
                    let owned = OwnedBlock::describe(code, 0x1000).unwrap();
                    let block = owned.as_block(BlockId(number));
                    meetings.block(&block, &vec![*address; block.recorded_values]);
                }
            }
        }
        let waits = meetings.end_window(true).get(Event::LockWaits).unwrap();
        (waits, meetings.lock_blocks().to_vec())
    }

    #[test]
    fn spinning_thread_that_takes_the_word_waits_for_a_lock() {
        let spin = |address| {
            [
                (1, Does(Meeting::Spins)),
                (1, Executes(RETURN, 1)),
                (1, Executes(CALL, 1)),
                (1, Executes(TABLE, 1)),
                (1, Executes(LOAD, address)),
            ]
        };
        let taken = |address| [(1, Executes(EXCHANGE, address))];
        let steps: Vec<_> = spin(LOCK)
            .into_iter()
            .chain(spin(LOCK))
            .chain(taken(LOCK))
            .collect();
        assert_eq!(lock_waits(&steps), 2);
        let steps: Vec<_> = spin(LOCK).into_iter().chain(taken(LOCK + 8)).collect();
        assert_eq!(lock_waits(&steps), 0, "a flag");
    }

    #[test]
    fn futex_of_a_lock_is_passed_on_by_those_that_waited() {
        let steps = |waker| {
            [
                (1, Does(Meeting::Waits(LOCK))),
                (0, Does(Meeting::Wakes(LOCK))),
                (1, Executes(EXCHANGE, LOCK)),
                (waker, Does(Meeting::Wakes(LOCK))),
            ]
        };
        assert_eq!(lock_waits(&steps(1)), 1);
        assert_eq!(
            lock_waits(&steps(0)),
            0,
            "a thread that sleeps until it has work"
        );
    }

    #[test]
    fn lock_is_that_of_the_first_that_took_it_after_waiting() {
        let waits = |thread| {
            [
                (thread, Does(Meeting::Spins)),
                (thread, Executes(LOAD, LOCK)),
            ]
        };
        let takes = |thread| [(thread, Executes(EXCHANGE, LOCK))];
        let returns = |thread| [(thread, Executes(RETURN, 1))];
        let steps: Vec<_> = waits(1)
            .into_iter()
            .chain(waits(2))
            .chain(takes(2))
            .chain(returns(2))
            .chain(takes(1))
            .chain([(2, Executes(CALL, 1)), (2, Executes(LOAD, 2))])
            .chain(returns(2))
            .chain(returns(2))
            .chain([(2, Executes(LOAD, 2))])
            .collect();
        // The function that takes it, its caller in the block with the call, and the next caller.
        assert_eq!(met(&steps), (2, vec![4, 7, 11]));
        assert_eq!(met(&steps[..4]), (0, Vec::new()), "nobody took it");
    }
}
