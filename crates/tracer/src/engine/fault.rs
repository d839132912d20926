//! Faults of the traced code: the program's own handlers see the program's own state.
//!
//! A handler that repairs a fault reads and changes the interrupted instruction pointer and
//! registers. In translated code these belong to the translation. So before the program's handler
//! is called, the program's address and registers are substituted, and afterwards:
//!
//! * If the handler left the registers unchanged, the fault was repaired in memory, and the
//!   translated code continues.
//! * Otherwise the trace ends, and the thread continues natively where the handler wants it.
//!
//! Faults of other threads and signals that were sent are passed to the program's handler
//! unchanged.

use super::context::Context;
use super::status::Status;
use super::translator::Translator;
use crate::error::TraceError;
use crate::kernel;

/// Returns whether an instruction can raise this signal. Traps, and so SIGTRAP, are not translated.
pub(super) fn is_fault(signal: i32) -> bool {
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL].contains(&signal)
}

/// The indices of the general registers in a `ucontext_t`, in encoding order.
pub(super) const REGISTER_INDICES: [i32; 16] = [
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

pub(super) type Registers = [i64; 23];

/// A trace, for handlers on its thread.
#[derive(Clone, Copy)]
pub(super) struct Traced {
    pub process: i32,
    pub status: *mut Status,
    pub translator: *mut Translator,
    pub context: *const Context,
    /// The translated code is between these addresses.
    pub code_start: u64,
    pub code_end: u64,
}

/// Only for handlers that interrupt translated code and for those who have been told that the
/// thread is busy: then the engine does not run, and nothing else refers to what it points to,
/// which lives until [`handlers::end`](super::handlers::end).
impl Traced {
    fn status(self) -> Status {
        // SAFETY: see above.
        unsafe { self.status.read() }
    }

    pub(super) fn set_status(self, status: Status) {
        // SAFETY: see above.
        unsafe { self.status.write(status) }
    }

    /// Returns whether the thread executes trusted blocks. A child of `vfork` shares this memory
    /// and executes none.
    pub(super) fn is_trusting(self) -> bool {
        // SAFETY: has no arguments.
        let process = unsafe { kernel::call(libc::SYS_getpid, [0; 6]) };
        // SAFETY: see above.
        let trusts = unsafe { (*self.translator).is_trusting() };
        self.status() == Status::Running && process == self.process as u64 && trusts
    }

    pub(super) fn is_trusted_code_intact(self) -> bool {
        // SAFETY: see above.
        unsafe { (*self.translator).is_trusted_code_intact() }
    }

    pub(super) fn stop_trusting(self) {
        // SAFETY: see above.
        unsafe { (*self.translator).stop_trusting() }
    }
}

/// A thread whose fault in translated code is presented to the program's handler.
pub(super) struct Stopped {
    pub traced: Traced,
    translated: Registers,
    shown: Registers,
    error: TraceError,
}

impl Stopped {
    /// Puts the program's state into `registers`, if they are those of translated code.
    pub(super) fn at(traced: Traced, registers: &mut Registers, signal: i32) -> Option<Stopped> {
        let rip = registers[libc::REG_RIP as usize] as u64;
        if !(traced.code_start..traced.code_end).contains(&rip) {
            return None;
        }
        // SAFETY: the handler interrupts translated code.
        let (translator, context) = unsafe { (&*traced.translator, &*traced.context) };
        let standing = translator.standing_at(rip)?;
        let translated = *registers;
        registers[libc::REG_RIP as usize] = standing.ip as i64;
        for (number, place) in REGISTER_INDICES.into_iter().enumerate() {
            if standing.borrowed >> number & 1 == 1 {
                registers[place as usize] = context.registers[number] as i64;
            }
        }
        let error = TraceError::Fault {
            signal,
            ip: standing.ip,
        };
        // Set now, since the handler may never return.
        traced.set_status(Status::Ended(Err(error)));
        Some(Stopped {
            traced,
            translated,
            shown: *registers,
            error,
        })
    }

    /// Returns whether the handler has left the program's state as it was.
    pub(super) fn was_repaired(&self, registers: &Registers) -> bool {
        self.traced.status() == Status::Ended(Err(self.error)) && *registers == self.shown
    }

    /// Lets the thread repeat the instruction in the translation.
    pub(super) fn retry_translated(&self, registers: &mut Registers) {
        *registers = self.translated;
    }
}
