//! Reads of counters that the CPU refuses, which must not end the process.
//!
//! A check of the page does not rule them out. Between the check and the instruction the kernel may
//! move the thread to a core without the counter, and when root forbids RDPMC the pages still allow
//! it. The kernel then sends SIGSEGV, or SIGILL on Arm. A handler takes the signals of the
//! library's own instructions: it skips the instruction and counts the fault, and the window is
//! flagged. All other signals go to the previous handler.
//!
//! Rejected: a restartable sequence. Only glibc since 2.35 registers threads for it, it does not
//! help when RDPMC is forbidden, and its bookkeeping would be measured. The handler costs nothing
//! until it is needed.
//!
//! A handler that the bench installs later comes first and must pass these signals on. On a thread
//! that blocks SIGSEGV, the kernel ends the process. This concerns only moves within the few dozen
//! instructions of a reading: windows that end on another kind of core check the page first.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

use super::page::skip_refused_read;

#[cfg(target_arch = "x86_64")]
const SIGNAL: c_int = libc::SIGSEGV;
#[cfg(target_arch = "aarch64")]
const SIGNAL: c_int = libc::SIGILL;

thread_local! {
    static FAULTS: Cell<u32> = const { Cell::new(0) };
}

/// The previous action of the signal.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// Returns how many reads of this thread were refused so far, modulo 2^32.
#[inline]
pub(super) fn count() -> u32 {
    FAULTS.get()
}

/// Makes refused reads harmless in this process from now on.
pub(super) fn survive() {
    BEFORE.get_or_init(|| {
        // SAFETY: the structures are valid. The handler has the signature that SA_SIGINFO requires,
        // and only does what a handler may do.
        unsafe {
            let mut before: libc::sigaction = std::mem::zeroed();
            libc::sigaction(SIGNAL, std::ptr::null(), &mut before);
            // The mask and the stack of the previous handler, which may run in turn.
            let mut action = before;
            action.sa_sigaction = on_signal as *const () as usize;
            action.sa_flags = before.sa_flags & !libc::SA_RESETHAND | libc::SA_SIGINFO;
            libc::sigaction(SIGNAL, &action, std::ptr::null_mut());
            before
        }
    });
}

extern "C" fn on_signal(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes the interrupted thread's context to a handler with SA_SIGINFO.
    let is_own = unsafe { skip_refused_read(&mut *context.cast()) };
    if is_own {
        FAULTS.set(FAULTS.get().wrapping_add(1));
    } else {
        pass_on(signal, info, context);
    }
}

/// Handles a signal as without this module.
fn pass_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // A thread may get here before the first one has stored the action.
    let (handler, flags) = BEFORE.get().map_or((libc::SIG_DFL, 0), |before| {
        (before.sa_sigaction, before.sa_flags)
    });
    // SAFETY: the kernel passes a valid structure.
    let was_sent = unsafe { (*info).si_code } <= 0;
    if handler == libc::SIG_IGN && was_sent {
        return;
    }
    // SAFETY: these calls are allowed in handlers. A handler has the signature that its flags
    // announce to the kernel.
    unsafe {
        if handler == libc::SIG_DFL || handler == libc::SIG_IGN {
            // The instruction raises the signal again when this returns. The kernel does not let a
            // fault be ignored.
            libc::signal(signal, libc::SIG_DFL);
            if was_sent {
                libc::raise(signal);
            }
            return;
        }
        if flags & libc::SA_RESETHAND != 0 {
            libc::signal(signal, libc::SIG_DFL);
        }
        if flags & libc::SA_SIGINFO != 0 {
            let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                std::mem::transmute(handler);
            handler(signal, info, context);
        } else {
            let handler: extern "C" fn(c_int) = std::mem::transmute(handler);
            handler(signal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs `code` in a child process and returns how it ended: its exit code, or the signal as a
    /// negative number.
    fn ending_of(code: fn()) -> c_int {
        // SAFETY: the child executes `code`, which allocates nothing, and exits.
        unsafe {
            let child = libc::fork();
            if child == 0 {
                code();
                libc::_exit(0);
            }
            let mut status = 0;
            assert_eq!(libc::waitpid(child, &mut status, 0), child);
            match libc::WIFSIGNALED(status) {
                true => -libc::WTERMSIG(status),
                false => libc::WEXITSTATUS(status),
            }
        }
    }

    fn fault() {
        // SAFETY: this is meant to fault. The instruction is the one that SIGNAL is about.
        unsafe {
            #[cfg(target_arch = "x86_64")]
            std::arch::asm!("rdpmc", in("ecx") -1, out("eax") _, out("edx") _);
            #[cfg(target_arch = "aarch64")]
            std::arch::asm!("udf #0");
        }
    }

    fn handle(handler: usize, flags: c_int) {
        // SAFETY: the structure is valid, and both handlers below have the signature of the flags.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler;
            action.sa_flags = flags;
            libc::sigaction(SIGNAL, &action, std::ptr::null_mut());
        }
    }

    extern "C" fn exit_41(_: c_int) {
        // SAFETY: the call is allowed in handlers.
        unsafe { libc::_exit(41) };
    }

    extern "C" fn exit_42(_: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
        let is_complete = !info.is_null() && !context.is_null();
        // SAFETY: the call is allowed in handlers.
        unsafe { libc::_exit(if is_complete { 42 } else { 1 }) };
    }

    /// A benchmark's handler, installed before this module's.
    fn after_handler(handler: usize, flags: c_int) {
        handle(handler, flags);
        survive();
    }

    #[test]
    fn foreign_faults_reach_the_handler_before() {
        let of_one = || {
            after_handler(exit_41 as *const () as usize, 0);
            fault();
        };
        assert_eq!(ending_of(of_one), 41);
        let of_three = || {
            after_handler(exit_42 as *const () as usize, libc::SA_SIGINFO);
            fault();
        };
        assert_eq!(ending_of(of_three), 42);
    }

    #[test]
    fn foreign_faults_without_a_handler_kill() {
        let by_default = || {
            after_handler(libc::SIG_DFL, 0);
            fault();
        };
        assert_eq!(ending_of(by_default), -SIGNAL);
        let though_ignored = || {
            after_handler(libc::SIG_IGN, 0);
            fault();
        };
        assert_eq!(ending_of(though_ignored), -SIGNAL);
    }

    fn send() {
        // SAFETY: the process sends a signal to itself.
        unsafe { libc::raise(SIGNAL) };
    }

    #[test]
    fn sent_signals_act_as_before() {
        let by_default = || {
            after_handler(libc::SIG_DFL, 0);
            send();
        };
        assert_eq!(ending_of(by_default), -SIGNAL);
        let ignored = || {
            after_handler(libc::SIG_IGN, 0);
            send();
        };
        assert_eq!(ending_of(ignored), 0);
    }
}
