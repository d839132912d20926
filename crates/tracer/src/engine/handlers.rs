//! The program's signal handlers, while a thread is traced.
//!
//! Handlers run natively. So while any thread is traced, a function of this module is installed in
//! place of each handler. It calls the program's handler and then deals with what that may have
//! done:
//!
//! * After a [`fault`] of translated code, it lets the thread continue accordingly.
//! * The handler may have changed the program's code, installed handlers or started threads. If
//!   so, the thread no longer executes [trusted](super::trust) blocks, starting with the next one.
//!
//! A handler may interrupt the engine itself. Then the engine deals with it when it is done: see
//! [`engine_begins`] and [`engine_ends`].

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering, compiler_fence};
use std::sync::{Mutex, PoisonError};

use super::fault::{self, Stopped, Traced};
use super::other_threads::OtherThreadsWatch;
use super::status::Status;
use super::team::TEAM;
use super::trust::ConcurrentWriters;
use crate::error::TraceError;
use crate::kernel;

/// On x86-64 Linux.
const LAST_SIGNAL: i32 = 64;

/// Returns whether handlers of this signal are intercepted: of all signals except the two that the
/// C library reserves for canceling threads and for changing their user, and the one that takes
/// threads over.
pub(super) fn is_intercepted(signal: u64) -> bool {
    (1..=LAST_SIGNAL as u64).contains(&signal)
        && ![32, 33].contains(&signal)
        && signal != u64::from(TEAM.signal())
}

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
        // the program's with `on_signal` as the handler, which takes what such a handler takes.
        unsafe { rt_sigaction(signal, &self, &mut before) };
        before
    }

    /// Returns whether a function is called.
    fn calls(self) -> bool {
        ![libc::SIG_DFL, libc::SIG_IGN].contains(&self.handler)
    }

    fn is_ours(self) -> bool {
        self.handler == on_signal as *const () as usize
    }

    /// Returns the action with `on_signal` as the handler, or `None` if it calls no handler of the
    /// program.
    fn with_our_handler(self) -> Option<Action> {
        let calls = self.calls() && !self.is_ours();
        let flags = self.flags & !(libc::SA_RESETHAND as u32 as u64) | libc::SA_SIGINFO as u64;
        calls.then_some(Action {
            handler: on_signal as *const () as usize,
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

/// One for each signal.
type PerSignal<T> = [T; LAST_SIGNAL as usize + 1];

/// The program's handlers, for `on_signal`. Valid forever once set: a handler may still be running
/// when the last trace ends.
static HANDLERS: PerSignal<AtomicU64> = [const { AtomicU64::new(0) }; LAST_SIGNAL as usize + 1];
/// The flags of their actions.
static FLAGS: PerSignal<AtomicU64> = [const { AtomicU64::new(0) }; LAST_SIGNAL as usize + 1];

/// Handlers belong to the process, traces to threads.
struct Front {
    /// Number of traces in progress.
    traces: u32,
    /// The program's actions that this module intercepts.
    program: PerSignal<Option<Action>>,
}

static FRONT: Mutex<Front> = Mutex::new(Front {
    traces: 0,
    program: [None; LAST_SIGNAL as usize + 1],
});

fn with_front<R>(work: impl FnOnce(&mut Front) -> R) -> R {
    // Held for a few system calls by threads that run natively or in the engine. They keep running,
    // so any wait is short. Nothing in between panics. A handler that interrupts its holder does
    // not ask for it: the thread is not traced then, or it is `BUSY`.
    work(&mut FRONT.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Front {
    /// Intercepts every handler that this module does not intercept yet.
    fn step_in(&mut self) {
        for signal in (1..=LAST_SIGNAL).filter(|&signal| is_intercepted(signal as u64)) {
            self.step_in_for(signal);
        }
    }

    fn step_in_for(&mut self, signal: i32) {
        let action = Action::current(signal);
        let Some(ours) = action.with_our_handler() else {
            return;
        };
        let place = signal as usize;
        HANDLERS[place].store(action.handler as u64, Ordering::Relaxed);
        // Release: `on_signal` sees the handler if it sees the flags. It cannot run before the
        // system call below anyway.
        FLAGS[place].store(action.flags, Ordering::Release);
        ours.install(signal);
        self.program[place] = Some(action);
    }

    fn step_aside_for(&mut self, signal: i32) {
        let Some(action) = self.program[signal as usize].take() else {
            return;
        };
        let before = action.install(signal);
        if !before.is_ours() {
            // Meanwhile, another thread has installed its own.
            before.install(signal);
        }
    }
}

thread_local! {
    /// The trace on this thread.
    static TRACED: Cell<Option<Traced>> = const { Cell::new(None) };
    /// Whether this thread is in the engine, or in this module because of a handler. Then nothing
    /// else may use what [`Traced`] points to.
    static BUSY: Cell<bool> = const { Cell::new(true) };
    /// Whether a handler has run since the thread became busy.
    static HANDLER_HAS_RUN: Cell<bool> = const { Cell::new(false) };
}

/// Starts intercepting handlers, on a thread that is about to be traced. What `traced` points to
/// must live until [`end`].
pub(super) fn begin(traced: Traced) {
    engine_begins();
    HANDLER_HAS_RUN.set(false);
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
            (1..=LAST_SIGNAL).for_each(|signal| front.step_aside_for(signal));
        }
    });
}

/// The traced thread is in the engine from now on.
pub(super) fn engine_begins() {
    BUSY.set(true);
    // Here and below: a handler that runs on this thread sees what was written before.
    compiler_fence(Ordering::SeqCst);
}

/// The traced thread is about to leave the engine. Nobody may have a reference to the engine's
/// state.
pub(super) fn engine_ends() {
    if let Some(traced) = TRACED.get() {
        release(traced);
    }
}

/// Deals with the handlers that have run while the thread was busy.
fn release(traced: Traced) {
    loop {
        compiler_fence(Ordering::SeqCst);
        BUSY.set(false);
        compiler_fence(Ordering::SeqCst);
        if !HANDLER_HAS_RUN.take() {
            return;
        }
        engine_begins();
        if traced.is_trusting() && !is_unchanged(traced) {
            traced.stop_trusting();
        }
    }
}

/// Returns whether trusted code can still be trusted after a handler has run.
fn is_unchanged(traced: Traced) -> bool {
    with_front(Front::step_in);
    let mut threads = OtherThreadsWatch::default();
    let others = ConcurrentWriters::ask(&mut threads, catches_other_signals);
    others != ConcurrentWriters::Somebody && traced.is_trusted_code_intact()
}

/// Returns whether the program handles a signal that is not a fault.
pub(super) fn catches_other_signals() -> bool {
    with_front(|front| {
        let mut caught =
            (1..=LAST_SIGNAL).filter(|&signal| front.program[signal as usize].is_some());
        caught.any(|signal| !fault::is_fault(signal))
    })
}

/// Returns whether a handler has run since the thread entered the engine.
pub(super) fn has_handled() -> bool {
    HANDLER_HAS_RUN.get()
}

/// Restores the program's own handler of a signal until [`resume`].
pub(super) fn suspend(signal: i32) {
    with_front(|front| front.step_aside_for(signal));
}

/// See [`suspend`].
pub(super) fn resume(signal: i32) {
    with_front(|front| front.step_in_for(signal));
}

/// Intercepts the program's handlers.
unsafe extern "C-unwind" fn on_signal(
    signal: i32,
    info: *mut libc::siginfo_t,
    context: *mut libc::ucontext_t,
) {
    let place = signal as usize;
    let flags = FLAGS[place].load(Ordering::Acquire);
    let handler = HANDLERS[place].load(Ordering::Relaxed);
    // SAFETY: `step_in_for` stored the address of a handler before it installed this function. A
    // handler without SA_SIGINFO takes only the signal, and the other arguments do no harm.
    let handler = unsafe { std::mem::transmute::<usize, Handler>(handler as usize) };
    // SAFETY: the kernel passes a description. Positive: raised by the kernel, not sent.
    let raised = fault::is_fault(signal) && unsafe { (*info).si_code } > 0;
    let traced = TRACED.get().filter(|_| raised);
    let stopped = traced.and_then(|traced| {
        // SAFETY: the kernel passes the interrupted state, and only to this function.
        let registers = unsafe { &mut (*context).uc_mcontext.gregs };
        Stopped::at(traced, registers, signal)
    });
    if flags & libc::SA_RESETHAND as u32 as u64 != 0 {
        Action::DEFAULT.install(signal);
    }
    if stopped.is_some() {
        TEAM.hold_in_handler();
    }
    // SAFETY: it is called as the kernel would call it: the same arguments, stack and mask.
    unsafe { handler(signal, info, context) };
    match stopped {
        Some(stopped) => {
            // SAFETY: as above.
            let registers = unsafe { &mut (*context).uc_mcontext.gregs };
            // A handler that removes itself wants the fault to be fatal, at the program's address.
            let is_ours = TEAM.release_from_handler() && Action::current(signal).is_ours();
            resume_after_fault(stopped, registers, is_ours);
        }
        None => {
            HANDLER_HAS_RUN.set(true);
            if !BUSY.get() {
                engine_ends();
            }
        }
    }
}

fn resume_after_fault(stopped: Stopped, registers: &mut fault::Registers, is_ours: bool) {
    let traced = stopped.traced;
    // The thread was in translated code: it was not busy, so it does not hold the lock that `end`
    // takes.
    if !(is_ours && stopped.was_repaired(registers)) {
        TEAM.fell_out();
        return end();
    }
    engine_begins();
    traced.set_status(Status::Running);
    if traced.is_trusting() && !is_unchanged(traced) {
        traced.set_status(Status::Ended(Err(TraceError::CodeChanged)));
        TEAM.fell_out();
        return end();
    }
    stopped.retry_translated(registers);
    release(traced);
}
