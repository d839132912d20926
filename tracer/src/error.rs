//! Why code cannot be traced.

use thiserror::Error;

/// Why a tracer cannot work on this machine or in this process.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// There is a translator for x86-64 Linux only.
    #[error("tracing needs x86-64 Linux; this is {architecture} {system}")]
    Platform {
        /// The instruction set.
        architecture: &'static str,
        /// The operating system.
        system: &'static str,
    },
    /// There was no memory for translated code.
    #[error(
        "could not map {bytes} bytes of executable memory: {os_error}; \
         a policy may forbid it (SELinux execmem, systemd MemoryDenyWriteExecute)"
    )]
    ExecutableMemory {
        /// How much was asked for.
        bytes: usize,
        /// What the system said.
        os_error: String,
    },
    /// There was no memory for tables.
    #[error("could not map {bytes} bytes of memory: {os_error}")]
    Memory {
        /// How much was asked for.
        bytes: usize,
        /// What the system said.
        os_error: String,
    },
    /// Without XSAVE the vector registers cannot be kept.
    #[error("this CPU or its hypervisor offers no XSAVE")]
    Xsave,
    /// The thread has a shadow stack, which translated calls would not keep.
    #[error(
        "the process runs with a user shadow stack; \
         start it with GLIBC_TUNABLES=glibc.cpu.x86_shstk=off"
    )]
    ShadowStack,
    /// A configuration that makes no sense.
    #[error("{field} is {value}; it must be {allowed}")]
    Config {
        /// The field of [`Config`](crate::Config).
        field: &'static str,
        /// Its value.
        value: usize,
        /// What it may be.
        allowed: &'static str,
    },
}

/// Why tracing could not begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AttachError {
    /// A tracer is attached to this thread.
    #[error("this thread is being traced already; detach first")]
    AlreadyAttached,
    /// This process is a child that was forked while traced; its copy of the tracer is of no use.
    #[error("this process was forked from a traced one; open a new tracer")]
    ForkedChild,
    /// An earlier trace ended with [`TraceError::LeftTracedCode`].
    #[error("an earlier trace of this tracer was left without notice; open a new tracer")]
    Lost,
    /// The thread uses sequences that the kernel restarts by their address (rseq(2)), as some
    /// allocators do: it would not restart translated ones.
    #[error("this thread uses restartable sequences (rseq), which cannot be traced")]
    RestartableSequences,
    /// `attach` inside `with_consumer`.
    #[error("the consumer is in use by `with_consumer`")]
    ConsumerInUse,
}

/// Why a trace is not complete. The traced program was not disturbed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The trace never began.
    #[error(transparent)]
    Attach(#[from] AttachError),
    /// `detach` without `attach`.
    #[error("this tracer is not attached")]
    NotAttached,
    /// `detach` was not reached through traced code: it was called in a signal handler, in a forked
    /// child, or after a signal handler had jumped out of the traced code.
    #[error("control left the traced code without passing a traced instruction")]
    LeftTracedCode,
    /// An instruction that cannot be translated exactly.
    #[error("instruction at {ip:#x} cannot be traced: {what}")]
    Instruction {
        /// Where it is.
        ip: u64,
        /// What it is.
        what: &'static str,
    },
    /// Execution went where no executable memory was mapped.
    #[error("no executable memory at {ip:#x}")]
    NoCode {
        /// Where it went.
        ip: u64,
    },
    /// The process cannot see what memory is code.
    #[error(
        "/proc/self/maps cannot be read: the program has changed its root or its user, or no file \
         descriptor is left"
    )]
    Maps,
    /// Code that can be changed without a system call: it could differ from its translation.
    #[error("code at {ip:#x} lies in writable or shared memory (generated at run time)")]
    WritableCode {
        /// Where it is.
        ip: u64,
    },
    /// The handler of a fault, or another process, has changed code of the program, the C library or
    /// the loader, and the traced thread may have executed what it was before.
    #[error("code of the program or its C library was changed from outside while it was traced")]
    CodeChanged,
    /// The traced code faulted, and the program's own handler has changed its state and lets it go
    /// on, or has jumped out of it.
    #[error(
        "the code at {ip:#x} raised signal {signal}, and the program's handler changed its state"
    )]
    Fault {
        /// The signal.
        signal: i32,
        /// The instruction that raised it.
        ip: u64,
    },
    /// A system call that changes what the translation rests on.
    #[error("system call {number} at {ip:#x} cannot be traced")]
    SystemCall {
        /// Its number in rax.
        number: u64,
        /// Where it is.
        ip: u64,
    },
    /// More different code than there is room for.
    #[error("the traced code exceeds the tracer's {table} of {capacity}; raise it in the config")]
    Capacity {
        /// Which table is full.
        table: &'static str,
        /// How much it holds.
        capacity: usize,
    },
}
