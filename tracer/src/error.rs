//! Why code cannot be traced.

use thiserror::Error;

/// Why a tracer cannot work on this machine or in this process.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Only x86-64 Linux has a translator.
    #[error("tracing needs x86-64 Linux; this is {architecture} {system}")]
    Platform {
        /// The instruction set.
        architecture: &'static str,
        /// The operating system.
        system: &'static str,
    },
    /// The memory for translated code could not be mapped.
    #[error(
        "could not map {bytes} bytes of executable memory: {os_error}; \
         a policy may forbid it (SELinux execmem, systemd MemoryDenyWriteExecute)"
    )]
    ExecutableMemory {
        /// The requested size.
        bytes: usize,
        /// The system's error.
        os_error: String,
    },
    /// The memory for tables could not be mapped.
    #[error("could not map {bytes} bytes of memory: {os_error}")]
    Memory {
        /// The requested size.
        bytes: usize,
        /// The system's error.
        os_error: String,
    },
    /// Without XSAVE, the vector registers cannot be saved.
    #[error("this CPU or its hypervisor offers no XSAVE")]
    Xsave,
    /// The thread has a shadow stack, which translated calls would not maintain.
    #[error(
        "the process runs with a user shadow stack; \
         start it with GLIBC_TUNABLES=glibc.cpu.x86_shstk=off"
    )]
    ShadowStack,
    /// The configuration is invalid.
    #[error("{field} is {value}; it must be {allowed}")]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AttachError {
    /// A tracer is already attached to this thread.
    #[error("this thread is already being traced; detach first")]
    AlreadyAttached,
    /// This process was forked while traced; its copy of the tracer is useless.
    #[error("this process was forked from a traced one; open a new tracer")]
    ForkedChild,
    /// An earlier trace ended with [`TraceError::LeftTracedCode`].
    #[error(
        "an earlier trace of this tracer never ended: control left the traced code; open a new \
         tracer"
    )]
    Lost,
    /// The thread uses sequences that the kernel restarts by their address (rseq(2)), as some
    /// allocators do: it would not restart translated ones.
    #[error("this thread uses restartable sequences (rseq), which cannot be traced")]
    RestartableSequences,
    /// `attach` was called inside `with_consumer`.
    #[error("the consumer is in use by `with_consumer`")]
    ConsumerInUse,
}

/// Why a trace is incomplete. The traced program was not disturbed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The trace never began.
    #[error(transparent)]
    Attach(#[from] AttachError),
    /// `detach` was called without `attach`.
    #[error("this tracer is not attached")]
    NotAttached,
    /// Traced code did not reach `detach`: it was called in a signal handler, in a forked child, or
    /// after a signal handler had jumped out of the traced code.
    #[error("control left the traced code without passing a traced instruction")]
    LeftTracedCode,
    /// An instruction cannot be translated exactly.
    #[error("instruction at {ip:#x} cannot be traced: {what}")]
    Instruction {
        /// Its address.
        ip: u64,
        /// What the instruction is.
        what: &'static str,
    },
    /// Execution reached an address without executable memory.
    #[error("no executable memory at {ip:#x}")]
    NoCode {
        /// The address.
        ip: u64,
    },
    /// The process cannot determine which memory contains code.
    #[error(
        "/proc/self/maps cannot be read: the program has changed its root or its user, or no file \
         descriptor is left"
    )]
    Maps,
    /// The code can be changed without a system call, so it could differ from its translation.
    #[error("code at {ip:#x} lies in writable or shared memory (generated at run time)")]
    WritableCode {
        /// Its address.
        ip: u64,
    },
    /// The handler of a fault, or another process, changed code of the program, the C library or
    /// the loader, and the traced thread may have executed the old code.
    #[error("code of the program or its C library was changed from outside while it was traced")]
    CodeChanged,
    /// The traced code faulted, and the program's own handler changed its state before continuing,
    /// or jumped out of it.
    #[error(
        "the code at {ip:#x} raised signal {signal}, and the program's handler changed its state"
    )]
    Fault {
        /// The signal.
        signal: i32,
        /// The instruction that raised it.
        ip: u64,
    },
    /// A system call changes what the translation relies on.
    #[error("system call {number} at {ip:#x} cannot be traced")]
    SystemCall {
        /// Its number in rax.
        number: u64,
        /// Its address.
        ip: u64,
    },
    /// More distinct code than there is room for.
    #[error("the traced code exceeds the tracer's {table} of {capacity}; raise it in the config")]
    Capacity {
        /// The table that is full.
        table: &'static str,
        /// Its capacity.
        capacity: usize,
    },
}
