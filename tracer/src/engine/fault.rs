//! Faults of the traced code: the program's own handlers see the program's own state.
//!
//! A handler that repairs a fault reads and changes the interrupted instruction pointer and
//! registers. In translated code these belong to the translation. So while any thread is traced, a
//! function of this module intercepts the program's handlers for the signals that an instruction
//! can raise. It substitutes the program's address and registers, calls the program's handler, and
//! checks what the handler has done:
//!
//! * If it left the registers unchanged, the fault was repaired in memory, and the translated code
//!   continues.
//! * Otherwise the trace ends, and the thread continues natively where the handler wants it.
//!
//! Faults of other threads and signals that were sent are passed to the program's handler
//! unchanged.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::Status;
use super::context::Context;
use super::other_threads::OtherThreadsWatch;
use super::translator::Translator;
use super::trust::OthersThatChangeMemory;
use crate::error::TraceError;
use crate::kernel;

/// Signals that an instruction can raise. Traps, and so SIGTRAP, are not translated.
const SIGNALS: [i32; 4] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL];

/// Reserved by the C library, which handles them from the first thread on, to cancel threads and to
/// change their user.
const OF_THE_C_LIBRARY: [i32; 2] = [32, 33];

/// On x86-64 Linux.
const LAST_SIGNAL: i32 = 64;

/// The indices of the general registers in a `ucontext_t`, in encoding order.
const PLACES: [i32; 16] = [
    libc::REG_RAX,
    libc::REG_RCX,
    libc::REG_RDX,
    libc::REG_RBX,
    libc::REG_RSP,
    libc::REG_RBP,
    libc::REG_RSI,
    libc::REG_RDI,
    libc::REG_R8,
    libc::REG_R9,
    libc::REG_R10,
    libc::REG_R11,
    libc::REG_R12,
    libc::REG_R13,
    libc::REG_R14,
    libc::REG_R15,
];

type Handler = unsafe extern "C-unwind" fn(i32, *mut libc::siginfo_t, *mut libc::ucontext_t);

/// The kernel's `struct sigaction` (asm/signal.h). libc's would not return a restorer that the
/// program supplied.
#[derive(Clone, Copy)]
#[repr(C)]
struct Action {
    handler: usize,
    flags: u64,
    restorer: usize,
    mask: u64,
}

impl Action {
    const DEFAULT: Action = Action {
        handler: libc::SIG_DFL,
        flags: 0,
        restorer: 0,
        mask: 0,
    };

    fn current(signal: i32) -> Action {
        let mut now = Action::DEFAULT;
        // SAFETY: the kernel writes one action.
        unsafe { rt_sigaction(signal, ptr::null(), &mut now) };
        now
    }

    /// Installs it as the signal's action, and returns the previous one.
    fn install(self, signal: i32) -> Action {
        let mut before = Action::DEFAULT;
        // SAFETY: the action is one that the program itself has installed, the default, or one of
        // the program's with `on_fault` as the handler, which takes what such a handler takes.
        unsafe { rt_sigaction(signal, &self, &mut before) };
        before
    }

    /// Returns whether a function is called.
    fn calls(self) -> bool {
        ![libc::SIG_DFL, libc::SIG_IGN].contains(&self.handler)
    }

    fn is_ours(self) -> bool {
        self.handler == on_fault as *const () as usize
    }

    /// Returns the action with `on_fault` as the handler, or `None` if no handler of the program is
    /// called.
    fn with_us_in_front(self) -> Option<Action> {
        let calls = self.calls() && !self.is_ours();
        let flags = self.flags & !(libc::SA_RESETHAND as u32 as u64) | libc::SA_SIGINFO as u64;
        calls.then_some(Action {
            handler: on_fault as *const () as usize,
            flags,
            ..self
        })
    }
}

/// Performs the system call directly, which is safe on the engine's stack. It cannot fail for a
/// valid signal.
///
/// # Safety
/// `new` must be null or point to a valid action; `old` must be writable.
unsafe fn rt_sigaction(signal: i32, new: *const Action, old: *mut Action) {
    let mask_bytes = size_of::<u64>() as u64;
    let arguments = [signal as u64, new as u64, old as u64, mask_bytes, 0, 0];
    // SAFETY: the caller's promise.
    unsafe { kernel::call(libc::SYS_rt_sigaction, arguments) };
}

/// The program's handlers, for `on_fault`, in the order of `SIGNALS`. Valid forever once set: a
/// handler may still be running when the last trace ends.
static HANDLERS: [AtomicU64; SIGNALS.len()] = [const { AtomicU64::new(0) }; SIGNALS.len()];
/// The flags of their actions.
static FLAGS: [AtomicU64; SIGNALS.len()] = [const { AtomicU64::new(0) }; SIGNALS.len()];

/// Handlers belong to the process, traces to threads.
struct Front {
    /// Number of traces in progress.
    traces: u32,
    /// The program's actions that this module intercepts.
    program: [Option<Action>; SIGNALS.len()],
}

static FRONT: Mutex<Front> = Mutex::new(Front {
    traces: 0,
    program: [None; SIGNALS.len()],
});

fn with_front<R>(work: impl FnOnce(&mut Front) -> R) -> R {
    // Held for a few system calls by threads that run natively or in the engine. They keep running,
    // so any wait is short. Nothing in between panics.
    work(&mut FRONT.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Front {
    /// Intercepts every handler that this module does not intercept yet.
    fn step_in(&mut self) {
        for (place, signal) in SIGNALS.into_iter().enumerate() {
            let action = Action::current(signal);
            let Some(ours) = action.with_us_in_front() else {
                continue;
            };
            HANDLERS[place].store(action.handler as u64, Ordering::Relaxed);
            // Release: `on_fault` sees the handler if it sees the flags. It cannot run before the
            // system call below anyway.
            FLAGS[place].store(action.flags, Ordering::Release);
            ours.install(signal);
            self.program[place] = Some(action);
        }
    }

    fn step_aside(&mut self) {
        for (place, signal) in SIGNALS.into_iter().enumerate() {
            let Some(action) = self.program[place].take() else {
                continue;
            };
            let before = action.install(signal);
            if !before.is_ours() {
                // Meanwhile, another thread has installed its own.
                before.install(signal);
            }
        }
    }
}

/// What `on_fault` needs to know about the trace on its thread.
#[derive(Clone, Copy)]
pub(super) struct Traced {
    pub status: *mut Status,
    pub translator: *const Translator,
    pub context: *const Context,
    /// The translated code is between these addresses.
    pub code_start: u64,
    pub code_end: u64,
}

thread_local! {
    static TRACED: Cell<Option<Traced>> = const { Cell::new(None) };
}

/// Starts handling faults of translated code on this thread. What `traced` points to must live
/// until [`end`].
pub(super) fn begin(traced: Traced) {
    TRACED.set(Some(traced));
    with_front(|front| {
        front.step_in();
        front.traces += 1;
    });
}

/// Records that the thread has left translated code. Calling it again has no effect.
pub(super) fn end() {
    if TRACED.take().is_none() {
        return;
    }
    with_front(|front| {
        front.traces -= 1;
        if front.traces == 0 {
            front.step_aside();
        }
    });
}

/// Returns whether `rt_sigaction` for this signal would see or replace what this module has
/// installed.
pub(super) fn is_fault(signal: u64) -> bool {
    SIGNALS.iter().any(|&fault| fault as u64 == signal)
}

/// Returns whether the program handles a signal that this module does not intercept.
pub(super) fn other_signals_are_caught() -> bool {
    (1..=LAST_SIGNAL)
        .filter(|signal| !SIGNALS.contains(signal) && !OF_THE_C_LIBRARY.contains(signal))
        .any(|signal| Action::current(signal).calls())
}

/// Restores the program's own handlers until [`resume`].
pub(super) fn suspend() {
    with_front(Front::step_aside);
}

/// See [`suspend`].
pub(super) fn resume() {
    with_front(Front::step_in);
}

/// Intercepts the program's handlers.
unsafe extern "C-unwind" fn on_fault(
    signal: i32,
    info: *mut libc::siginfo_t,
    context: *mut libc::ucontext_t,
) {
    let Some(place) = SIGNALS.iter().position(|&fault| fault == signal) else {
        return;
    };
    let flags = FLAGS[place].load(Ordering::Acquire);
    let handler = HANDLERS[place].load(Ordering::Relaxed);
    // SAFETY: `step_in` stored the address of a handler before it installed this function. A
    // handler without SA_SIGINFO takes only the signal, and the other arguments do no harm.
    let handler = unsafe { std::mem::transmute::<usize, Handler>(handler as usize) };
    // SAFETY: the kernel passes the interrupted state, and only to this function.
    let registers = unsafe { &mut (*context).uc_mcontext.gregs };
    // SAFETY: the kernel passes a description. Positive: raised by the kernel, not sent.
    let raised = unsafe { (*info).si_code } > 0;
    let stopped = raised.then(|| Stopped::at(registers, signal)).flatten();
    if flags & libc::SA_RESETHAND as u32 as u64 != 0 {
        Action::DEFAULT.install(signal);
    }
    // SAFETY: it is called as the kernel would call it: the same arguments, stack and mask.
    unsafe { handler(signal, info, context) };
    if let Some(stopped) = stopped {
        // SAFETY: as above.
        stopped.go_on(unsafe { &mut (*context).uc_mcontext.gregs }, signal);
    }
}

type Registers = [i64; 23];

/// A thread whose fault in translated code is presented to the program's handler.
struct Stopped {
    traced: Traced,
    translated: Registers,
    shown: Registers,
    error: TraceError,
}

impl Stopped {
    /// Puts the program's state into `registers`, if they are those of translated code.
    fn at(registers: &mut Registers, signal: i32) -> Option<Stopped> {
        let traced = TRACED.get()?;
        let rip = registers[libc::REG_RIP as usize] as u64;
        if !(traced.code_start..traced.code_end).contains(&rip) {
            return None;
        }
        // SAFETY: they live until `end`. The thread is in translated code, so the engine does not
        // run, and nothing else refers to them.
        let (translator, context) = unsafe { (&*traced.translator, &*traced.context) };
        let standing = translator.standing_at(rip)?;
        let translated = *registers;
        registers[libc::REG_RIP as usize] = standing.ip as i64;
        for (number, place) in PLACES.into_iter().enumerate() {
            if standing.borrowed >> number & 1 == 1 {
                registers[place as usize] = context.registers[number] as i64;
            }
        }
        let error = TraceError::Fault {
            signal,
            ip: standing.ip,
        };
        // Set now, since the handler may never return.
        // SAFETY: as above.
        unsafe { traced.status.write(Status::Ended(Err(error))) };
        Some(Stopped {
            traced,
            translated,
            shown: *registers,
            error,
        })
    }

    /// Continues after the program's handler.
    fn go_on(self, registers: &mut Registers, signal: i32) {
        // SAFETY: as in `at`.
        let still_ended = unsafe { self.traced.status.read() } == Status::Ended(Err(self.error));
        // A handler that removes itself wants the fault to be fatal, at the program's address.
        let goes_on = still_ended && *registers == self.shown && Action::current(signal).is_ours();
        // SAFETY: as in `at`.
        let translator = unsafe { &*self.traced.translator };
        // The handler may have started or woken a thread.
        let others = || OthersThatChangeMemory::ask(&mut OtherThreadsWatch::default());
        let is_trusted =
            || others() != OthersThatChangeMemory::Somebody && translator.trusted_code_is_intact();
        if goes_on && translator.is_trusting() && !is_trusted() {
            // SAFETY: as in `at`.
            unsafe {
                let ended = Status::Ended(Err(TraceError::CodeChanged));
                self.traced.status.write(ended);
            }
            end();
        } else if goes_on {
            *registers = self.translated;
            // SAFETY: as in `at`.
            unsafe { self.traced.status.write(Status::Running) };
        } else {
            // The thread was in translated code, so it does not hold the lock that this takes.
            end();
        }
    }
}
