//! Reasons for refusing to trace code.

use std::error::Error;
use std::fmt;

pub use crate::threads_error::ThreadsError;

/// Why a tracer cannot work on this machine or in this process.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenError {
    /// Only x86-64 Linux has a translator.
    Platform {
        /// The instruction set.
        architecture: &'static str,
        /// The operating system.
        system: &'static str,
    },
    /// The memory for translated code could not be mapped.
    ExecutableMemory {
        /// The requested size.
        bytes: usize,
        /// The system's error.
        os_error: String,
    },
    /// The memory for tables could not be mapped.
    Memory {
        /// The requested size.
        bytes: usize,
        /// The system's error.
        os_error: String,
    },
    /// Without XSAVE, the vector registers cannot be saved.
    Xsave,
    /// The thread has a shadow stack, which translated calls would not maintain.
    ShadowStack,
    /// The configuration is invalid.
    Config {
        /// The field of [`Config`](crate::Config).
        field: &'static str,
        /// Its value.
        value: usize,
        /// The allowed values.
        allowed: &'static str,
    },
}

/// Why tracing could not begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AttachError {
    /// A tracer is already attached to this thread.
    AlreadyAttached,
    /// This process was forked while traced; its copy of the tracer is useless.
    ForkedChild,
    /// An earlier trace ended with [`TraceError::LeftTracedCode`].
    Lost,
    /// The thread uses sequences that the kernel restarts by their address (rseq(2)), as some
    /// allocators do: it would not restart translated ones.
    RestartableSequences,
    /// `attach` was called inside `with_consumer`.
    ConsumerInUse,
    /// Not all threads can be traced.
    Threads(ThreadsError),
}

/// Why a trace is incomplete. The traced program was not disturbed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TraceError {
    /// The trace never began.
    Attach(AttachError),
    /// `detach` was called without `attach`.
    NotAttached,
    /// Traced code did not reach `detach`: it was called in a signal handler, in a forked child, or
    /// after a signal handler had jumped out of the traced code.
    LeftTracedCode,
    /// An instruction cannot be translated exactly.
    Instruction {
        /// Its address.
        ip: u64,
        /// What the instruction is.
        what: &'static str,
    },
    /// Execution reached an address without executable memory.
    NoCode {
        /// The address.
        ip: u64,
    },
    /// The process cannot determine which memory contains code.
    Maps,
    /// The code can be changed without a system call, so it could differ from its translation.
    WritableCode {
        /// Its address.
        ip: u64,
    },
    /// The handler of a fault, or another process, changed code of the program, the C library or
    /// the loader, and the traced thread may have executed the old code.
    CodeChanged,
    /// The traced code faulted, and the program's own handler changed its state before continuing,
    /// or jumped out of it.
    Fault {
        /// The signal.
        signal: i32,
        /// The instruction that raised it.
        ip: u64,
    },
    /// A system call changes what the translation relies on.
    SystemCall {
        /// Its number in rax.
        number: u64,
        /// Its address.
        ip: u64,
    },
    /// More distinct code than there is room for.
    Capacity {
        /// The table that is full.
        table: &'static str,
        /// Its capacity.
        capacity: usize,
    },
    /// Not all threads could be traced to the end.
    Threads(ThreadsError),
}

// Derived implementations would need a procedural macro, which every bench would compile.
impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Platform {
                architecture,
                system,
            } => write!(
                f,
                "tracing needs x86-64 Linux; this is {architecture} {system}"
            ),
            OpenError::ExecutableMemory { bytes, os_error } => write!(
                f,
                "could not map {bytes} bytes of executable memory: {os_error}; a policy may \
                 forbid it (SELinux execmem, systemd MemoryDenyWriteExecute)"
            ),
            OpenError::Memory { bytes, os_error } => {
                write!(f, "could not map {bytes} bytes of memory: {os_error}")
            }
            OpenError::Xsave => f.write_str("this CPU or its hypervisor offers no XSAVE"),
            OpenError::ShadowStack => f.write_str(
                "the process runs with a user shadow stack; start it with \
                 GLIBC_TUNABLES=glibc.cpu.x86_shstk=off",
            ),
            OpenError::Config {
                field,
                value,
                allowed,
            } => write!(f, "{field} is {value}; it must be {allowed}"),
        }
    }
}

impl Error for OpenError {}

impl fmt::Display for AttachError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AttachError::AlreadyAttached => {
                f.write_str("this thread is already being traced; detach first")
            }
            AttachError::ForkedChild => {
                f.write_str("this process was forked from a traced one; open a new tracer")
            }
            AttachError::Lost => f.write_str(
                "an earlier trace of this tracer never ended: control left the traced code; \
                 open a new tracer",
            ),
            AttachError::RestartableSequences => {
                f.write_str("this thread uses restartable sequences (rseq), which cannot be traced")
            }
            AttachError::Threads(error) => write!(f, "{error}"),
            AttachError::ConsumerInUse => f.write_str("the consumer is in use by `with_consumer`"),
        }
    }
}

impl Error for AttachError {}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TraceError::Attach(error) => write!(f, "{error}"),
            TraceError::NotAttached => f.write_str("this tracer is not attached"),
            TraceError::LeftTracedCode => {
                f.write_str("control left the traced code without passing a traced instruction")
            }
            TraceError::Instruction { ip, what } => {
                write!(f, "instruction at {ip:#x} cannot be traced: {what}")
            }
            TraceError::NoCode { ip } => write!(f, "no executable memory at {ip:#x}"),
            TraceError::Maps => f.write_str(
                "/proc/self/maps cannot be read: the program has changed its root or its \
                 user, or no file descriptor is left",
            ),
            TraceError::WritableCode { ip } => write!(
                f,
                "code at {ip:#x} lies in writable or shared memory (generated at run time)"
            ),
            TraceError::CodeChanged => f.write_str(
                "code of the program or its C library was changed from outside while it was \
                 traced",
            ),
            TraceError::Fault { signal, ip } => write!(
                f,
                "the code at {ip:#x} raised signal {signal}, and the program's handler \
                 changed its state"
            ),
            TraceError::SystemCall { number, ip } => {
                write!(f, "system call {number} at {ip:#x} cannot be traced")
            }
            TraceError::Threads(error) => write!(f, "{error}"),
            TraceError::Capacity { table, capacity } => write!(
                f,
                "the traced code exceeds the tracer's {table} of {capacity}; raise it in the \
                 config"
            ),
        }
    }
}

impl Error for TraceError {}

impl From<AttachError> for TraceError {
    fn from(error: AttachError) -> TraceError {
        TraceError::Attach(error)
    }
}
