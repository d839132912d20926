//! The seat of a thread: its state while it does not execute translated code, and a stack for the
//! engine. Seats are never freed: their threads may be in the kernel when the tracer is gone.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use super::super::context::{Context, DEFAULT_MXCSR};
use super::super::memory::{Mapping, Protection};
use super::super::{GUARD_BYTES, STACK_BYTES};
use super::wait::Wait;
use crate::error::ThreadsError;
use crate::kernel;

/// What is true of a seat's thread.
pub(super) mod phase {
    /// There is none.
    pub const FREE: u32 = 0;
    /// It was sent the signal that takes it over.
    pub const CALLED: u32 = 1;
    /// It takes turns.
    pub const MEMBER: u32 = 2;
    /// It runs natively.
    pub const NATIVE: u32 = 3;
    /// It has begun to end.
    pub const ENDING: u32 = 4;
    /// It is on its way to its first turn.
    pub const COMING: u32 = 6;
    /// It was told to go on natively.
    pub const LEAVING: u32 = 5;
    /// It was told to stay where it is until the next trace.
    pub const PARKING: u32 = 7;
    /// It does, and may be told to go on natively.
    pub const PARKED: u32 = 8;
}

/// What a waiting thread is told.
pub(super) mod turn {
    pub const WAIT: u32 = 0;
    /// It is the thread's turn.
    pub const RUN: u32 = 1;
    /// It decides whose turn it is.
    pub const CHOOSE: u32 = 2;
    /// The trace has ended: go on natively.
    pub const LEAVE: u32 = 3;
    /// The trace has ended: stay where you are.
    pub const PARK: u32 = 4;
}

/// The state of a stopped thread. Used by the thread itself, and by the one whose turn it is.
#[repr(C)]
pub(in super::super) struct Stopped {
    // ---- for `entry` ----
    /// The upper end of the stack for the engine, aligned to 16.
    pub stack: u64,
    /// Where the vector state is saved, aligned to 64.
    pub vector_state: u64,
    pub vector_mask_low: u32,
    pub vector_mask_high: u32,
    pub default_mxcsr: u32,
    pub process: u32,
    pub thread: u32,
    /// The signal that takes threads over.
    pub signal: u32,
    /// The number of the seat.
    pub index: u32,
    /// The function of the engine that begins or goes on here.
    pub admit: u64,
    // ---- the program's state ----
    pub registers: [u64; 16],
    pub flags: u64,
    /// The program's address.
    pub ip: u64,
    /// The address after the system call at `ip`.
    pub after_call: u64,
    /// Where it continues in the translation, or 0 if it must be looked up.
    pub next: u64,
    pub fs_base: u64,
    /// What it waits for.
    pub wait: Wait,
    /// The order of waits: lower ones are woken first.
    pub ticket: u64,
    /// Whether the futex at which it waits had changed before the last thread ended.
    pub futex_was_changed: bool,
    /// The signals that it blocks, if the engine blocks others for it.
    pub mask: Option<u64>,
    /// Whether it was parked and has not waited since.
    pub never_waits: bool,
    /// Its own system call when it was called, if it was in one: number, first argument, stack
    /// pointer and address after it.
    pub interrupted: Option<[u64; 4]>,
}

/// The seat of one thread.
pub(in super::super) struct Seat {
    /// The kernel's number of the thread.
    pub(super) thread: AtomicU32,
    pub(super) phase: AtomicU32,
    pub(super) turn: AtomicU32,
    /// Whether a handler has run while the thread waited.
    pub(super) is_interrupted: AtomicBool,
    /// The stack and the vector state of its own.
    memory: UnsafeCell<(u64, u64)>,
    stopped: UnsafeCell<Stopped>,
}

// SAFETY: `Stopped` is used by one thread at a time: see there. The memory is set before a thread
// is told of the seat.
unsafe impl Sync for Seat {}

impl Seat {
    pub(super) const fn new() -> Seat {
        Seat {
            thread: AtomicU32::new(0),
            phase: AtomicU32::new(phase::FREE),
            turn: AtomicU32::new(turn::WAIT),
            is_interrupted: AtomicBool::new(false),
            memory: UnsafeCell::new((0, 0)),
            stopped: UnsafeCell::new(Stopped {
                stack: 0,
                vector_state: 0,
                vector_mask_low: 0,
                vector_mask_high: 0,
                default_mxcsr: DEFAULT_MXCSR,
                process: 0,
                thread: 0,
                signal: 0,
                index: 0,
                admit: 0,
                registers: [0; 16],
                flags: 0,
                ip: 0,
                after_call: 0,
                next: 0,
                fs_base: 0,
                wait: Wait::Nothing,
                ticket: 0,
                futex_was_changed: false,
                mask: None,
                never_waits: false,
                interrupted: None,
            }),
        }
    }

    pub(super) fn is(&self, phase: u32) -> bool {
        self.phase.load(Ordering::Acquire) == phase
    }

    /// Changes the phase if it is `from`. Returns whether it was.
    pub(super) fn change(&self, from: u32, to: u32) -> bool {
        self.phase
            .compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    /// Returns the state, for whoever may use it.
    #[allow(clippy::mut_from_ref)]
    pub(in super::super) fn stopped(&self) -> &mut Stopped {
        // SAFETY: the thread itself and the one whose turn it is use it, never at the same time:
        // the thread uses it before it waits, and after it was told to go on. No caller keeps the
        // reference beyond a few statements.
        unsafe { &mut *self.stopped.get() }
    }

    /// Gives the seat a stack and room for the vector state, unless it has them.
    pub(super) fn provide_memory(&self, vector_bytes: usize) -> Result<(), ThreadsError> {
        // SAFETY: the seat has no thread yet.
        let memory = unsafe { &mut *self.memory.get() };
        if memory.0 == 0 {
            let reserve = |bytes| Mapping::new(bytes, Protection::ReadWrite, 0);
            let no_room = |_| ThreadsError::TooMany {
                capacity: super::MAX_THREADS,
            };
            let mut mapping = reserve(STACK_BYTES + vector_bytes).map_err(no_room)?;
            mapping
                .protect(0, GUARD_BYTES, Protection::None)
                .map_err(no_room)?;
            mapping.keep_for_ever();
            let stack = (mapping.address() + STACK_BYTES) as u64;
            *memory = (stack, stack);
        }
        let stopped = self.stopped();
        (stopped.stack, stopped.vector_state) = *memory;
        Ok(())
    }

    /// Keeps the state of the running thread, which will continue at `ip` of the program.
    pub(in super::super) fn keep(&self, context: &Context, ip: u64) {
        let stopped = self.stopped();
        stopped.registers = context.registers;
        stopped.flags = context.flags;
        stopped.stack = context.stack;
        stopped.vector_state = context.vector_state;
        stopped.next = context.next;
        stopped.ip = ip;
    }

    /// Makes the thread the running one.
    pub(in super::super) fn put_into(&self, context: &mut Context) {
        let stopped = self.stopped();
        context.registers = stopped.registers;
        context.flags = stopped.flags;
        context.stack = stopped.stack;
        context.vector_state = stopped.vector_state;
        context.fs_base = stopped.fs_base;
        context.next = stopped.next;
        context.target = stopped.ip;
    }

    /// Ends the thread's system call with this result.
    pub(in super::super) fn complete(&self, result: u64) {
        const RAX: usize = 0;
        const RCX: usize = 1;
        const R11: usize = 11;
        let stopped = self.stopped();
        stopped.registers[RAX] = result;
        stopped.registers[RCX] = stopped.after_call;
        stopped.registers[R11] = stopped.flags;
        stopped.ip = stopped.after_call;
        stopped.wait = Wait::Nothing;
    }

    /// Tells the thread to go on.
    pub(super) fn tell(&self, turn: u32) {
        self.turn.store(turn, Ordering::Release);
        wake(&self.turn);
    }

    /// Returns what the thread was told last, and forgets it.
    pub(super) fn hear(&self) -> u32 {
        self.turn.swap(turn::WAIT, Ordering::AcqRel)
    }

    /// Returns whether the kernel still knows the thread.
    pub(super) fn is_alive(&self) -> bool {
        let thread = u64::from(self.thread.load(Ordering::Relaxed));
        let process = u64::from(std::process::id());
        // SAFETY: the signal 0 only asks.
        let result = unsafe { kernel::call(libc::SYS_tgkill, [process, thread, 0, 0, 0, 0]) };
        result != -i64::from(libc::ESRCH) as u64
    }
}

impl Stopped {
    /// Blocks all signals of the calling thread, whose state this is, but for a set. What they do
    /// to it belongs to the program's own state, and on its own stack.
    pub(super) fn block_all_signals_but(&mut self, set: u64) {
        let before = exchange_blocked(!set);
        self.mask.get_or_insert(before);
    }

    /// Blocks only the signals that the program blocks.
    pub(super) fn restore_signals(&mut self) {
        if let Some(mask) = self.mask.take() {
            exchange_blocked(mask);
        }
    }
}

/// Sets which signals the calling thread blocks, and returns which it has blocked.
fn exchange_blocked(signals: u64) -> u64 {
    let mut before = 0_u64;
    let arguments = [
        libc::SIG_SETMASK as u64,
        &raw const signals as u64,
        &raw mut before as u64,
        size_of::<u64>() as u64,
        0,
        0,
    ];
    // SAFETY: the kernel reads and writes a set of signals each.
    unsafe { kernel::call(libc::SYS_rt_sigprocmask, arguments) };
    before
}

/// Waits until `word` may differ from `value`, for less than a second.
pub(super) fn sleep_while(word: &AtomicU32, value: u32, limit_ns: u64) {
    let limit = [0_u64, limit_ns];
    let operation = (libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG) as u64;
    let address = word.as_ptr() as u64;
    // SAFETY: the word and the limit live as long as the call.
    unsafe {
        kernel::call(
            libc::SYS_futex,
            [
                address,
                operation,
                value.into(),
                limit.as_ptr() as u64,
                0,
                0,
            ],
        )
    };
}

fn wake(word: &AtomicU32) {
    let operation = (libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG) as u64;
    // SAFETY: takes an address and touches no memory.
    unsafe {
        kernel::call(
            libc::SYS_futex,
            [word.as_ptr() as u64, operation, 1, 0, 0, 0],
        )
    };
}
