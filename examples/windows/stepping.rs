//! Single-stepped code, and acts that come at a chosen instruction.
//!
//! The trap flag of the processor raises SIGTRAP after each instruction. What the handler does
//! comes between two instructions, like what the kernel does to a thread.

use std::arch::asm;
use std::cell::Cell;
use std::ffi::{c_int, c_void};

const TRAP_FLAG: i64 = 1 << 8;
const RDPMC: [u8; 2] = [0x0f, 0x33];

thread_local! {
    /// Instructions until something is done; `None` if nothing is left to do.
    static LEFT: Cell<Option<u64>> = const { Cell::new(None) };
    static ACT: Cell<fn()> = const { Cell::new(|| ()) };
    static EXECUTED: Cell<u64> = const { Cell::new(0) };
    /// The instructions before each RDPMC.
    static READS_AT: Cell<[u64; MAX_READS]> = const { Cell::new([0; MAX_READS]) };
    static READS: Cell<usize> = const { Cell::new(0) };
}

/// More than any window has.
const MAX_READS: usize = 64;

/// Runs `code`, and `act` after its first `steps` instructions. Returns the result of `code`, and
/// whether it had so many.
pub fn after_steps<T>(steps: u64, act: fn(), code: impl FnOnce() -> T) -> (T, bool) {
    handle_traps();
    ACT.set(act);
    LEFT.set(Some(steps));
    // SAFETY: the handler is installed. It clears the flag once nothing is left to do.
    unsafe { asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq") };
    let result = code();
    (result, LEFT.take().is_none())
}

/// The instructions of an empty window, in user code.
pub struct Instructions {
    /// Between the readings of a plain counter at its two ends.
    pub inside: u64,
    /// Including these, and a few around the window.
    pub all: u64,
}

/// Counts the instructions of `window`.
pub fn instructions_of<T>(window: impl FnOnce() -> T) -> Instructions {
    EXECUTED.set(0);
    READS.set(0);
    after_steps(u64::MAX, || (), window);
    let (counters, at) = (READS.get() / 2, READS_AT.get());
    Instructions {
        // Plain counters are read in the same order at both ends.
        inside: at[counters] - at[0],
        all: EXECUTED.get(),
    }
}

fn handle_traps() {
    // SAFETY: the structure is valid, and the handler has the signature that SA_SIGINFO requires.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_trap as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        libc::sigaction(libc::SIGTRAP, &action, std::ptr::null_mut());
    }
}

extern "C" fn on_trap(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes the interrupted thread's context to a handler with SA_SIGINFO.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    if let Some(left) = LEFT.get().filter(|left| *left > 0) {
        LEFT.set(Some(left - 1));
        note(registers[libc::REG_RIP as usize] as *const [u8; 2]);
        return;
    }
    if LEFT.take().is_some() {
        ACT.get()();
    }
    registers[libc::REG_EFL as usize] &= !TRAP_FLAG;
}

/// Counts the next instruction.
fn note(instruction: *const [u8; 2]) {
    let executed = EXECUTED.get() + 1;
    EXECUTED.set(executed);
    // SAFETY: the instruction is about to be executed, so it can be read; code is longer than one
    // byte.
    if unsafe { instruction.read_unaligned() } == RDPMC && READS.get() < MAX_READS {
        let mut reads_at = READS_AT.get();
        reads_at[READS.get()] = executed;
        READS_AT.set(reads_at);
        READS.set(READS.get() + 1);
    }
}
