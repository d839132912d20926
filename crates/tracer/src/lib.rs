//! Records the instructions that the calling thread executes between attach and detach, exactly and
//! in the process itself: a small binary translator for x86-64 Linux.
//!
//! [`Tracer::attach`] makes the thread continue in translated copies of its own code. Each copy
//! writes its block number and data addresses to a buffer. Whenever the buffer is full, and at
//! [`Tracer::detach`], the buffer is handed to a [`Consumer`] block by block.
//!
//! ```
//! use topdown_tracer::{Block, Config, Consumer, Tracer};
//!
//! #[derive(Default)]
//! struct Count {
//!     instructions: u64,
//! }
//!
//! impl Consumer for Count {
//!     fn block(&mut self, block: &Block<'_>, _addresses: &[u64]) {
//!         self.instructions += block.instructions.len() as u64;
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let Ok(mut tracer) = Tracer::new(Config::default(), Count::default()) else {
//!     return Ok(()); // Not on this machine, for the reason in the error.
//! };
//! let (sum, end) = tracer.trace(|| (0..1000_u64).sum::<u64>());
//! end?;
//! assert_eq!(sum, 499_500);
//! assert!(tracer.consumer_mut().instructions > 0);
//! # Ok(())
//! # }
//! ```
//!
//! # The stream
//!
//! A *block* is a straight-line run of at most [`MAX_BLOCK_INSTRUCTIONS`] instructions. Only its
//! last instruction can branch. A block executes from its first instruction to its last: the
//! consumer gets it once per execution, in execution order, when it is complete.
//!
//! * The next block shows whether a branch was taken: its [`start_ip`](Block::start_ip) is either
//!   the previous block's [`end_ip`](Block::end_ip) (not taken) or the branch's target. No
//!   instruction is omitted, even across calls, returns and system calls. The first block after an
//!   attach follows nothing.
//! * The same instruction can be part of several blocks: a jump into the middle of a block creates
//!   a new one. [`BlockId`]s are assigned from 0 upwards without gaps and never change their
//!   meaning until [`Tracer::forget_translations`].
//! * Data addresses are those that the instruction computes before it executes. Constant addresses
//!   (absolute and RIP-relative ones) are in the description of the block ([`Address::Fixed`]); the
//!   others come with each execution ([`Address::Recorded`]).
//! * A `rep` string instruction is one instruction, executed once, with a count
//!   ([`Instruction::repeat`]).
//! * The stream begins with the instruction to which [`Tracer::attach`]'s inner call returns, and
//!   ends with the call that begins [`Tracer::detach`]. An empty window therefore contains a few
//!   instructions of the tracer itself, always the same ones at a given place.
//!
//! # What is not in the stream
//!
//! The kernel. Other threads, unless [all are traced](#all-threads), and child processes, including
//! those that the traced code starts. Signal handlers. They all run natively and undisturbed.
//!
//! # All threads
//!
//! With [`Config::all_threads`], every thread of the process is traced. At `attach`, a signal stops
//! the existing ones wherever they are, and they continue in the translation. New ones begin in it.
//! At `detach`, others go on until they wait, and then wait natively; at [`Tracer::halt`] all stay
//! where they are. [`Consumer::switch_to`] says whose blocks follow.
//!
//! Exactly one thread runs at a time. It passes its turn when it waits, ends, executes `pause` or
//! `sched_yield`, or has filled its part of the buffer, and the next one in the order of creation
//! goes on. So a program that asks neither for the time nor for chance executes the same
//! instructions in every launch, also where its threads compete.
//!
//! That is schedule 0. In each other [`Config::schedule`], a sequence of numbers of its own decides
//! who is next and how long turns are: another order, which repeats as well.
//!
//! * Waits for other threads (futexes) and for descriptors (`read`, `poll`, `epoll_wait` …) end
//!   at a place in that order. Only if all threads wait, what is outside decides.
//! * If [system values are fixed](fix_system_values), the monotonic clock advances only with each
//!   query and turn, and to the next deadline when all threads wait. Otherwise, a deadline that
//!   passes while other threads run counts a second later.
//! * Threads that do not wait at `detach` stay where they are until the next `attach`, as all do
//!   at `halt`, so that traces beside endless loops repeat. They go on natively if the thread that
//!   ended the trace waits for 20 ms meanwhile, computes for some 50 ms, or ends; if a tracer is
//!   dropped; and on [`release_threads`].
//! * What other threads do between traces, the kernel decides; on [one CPU](run_on_one_cpu) it
//!   nearly always decides alike.
//! * What ends in the middle, with [`TraceError::Threads`], lets every thread continue natively
//!   where it is: see [`ThreadsError`]. So does everything else that ends a trace.
//!
//! # Inside the consumer
//!
//! A consumer is called while the traced thread is stopped at an arbitrary point, perhaps inside
//! the allocator. It must not allocate, free, lock, print, panic, or touch thread-local state with
//! a destructor. Its stack has [`CONSUMER_STACK_BYTES`].
//!
//! # Limits
//!
//! * A handler for a fault of the traced code itself (such as SIGSEGV or SIGFPE) sees the program's
//!   own state. If it changes registers or does not return, the trace ends with
//!   [`TraceError::Fault`].
//! * While one thread is traced, other threads and handlers that query a handler see the tracer's.
//! * Handlers of other signals see an instruction pointer in translated code and, in borrowed
//!   registers, values of the tracer.
//! * Profilers that walk the stack from a signal handler see the interrupted frame without a name.
//! * If another process writes to the program's own code, this is noticed at the next system call
//!   or at detach, with [`TraceError::CodeChanged`]. Any other change to code is noticed before the
//!   code is executed again.
//! * Time passes more slowly for the traced thread: code that spins while waiting for other threads
//!   executes more instructions than natively.
//! * The addresses of repeated string instructions assume that the direction flag is clear, as the
//!   calling convention requires.
//! * After a trace in which threads were started, the translated code stays mapped for the rest of
//!   the process.
//! * Not noticed: a handler that sets up io_uring, asynchronous I/O or ptrace, or that unmaps the
//!   program's own code; an io_uring from before the trace; a process that shares the memory
//!   without being a thread, beside other threads or where a policy forbids `unshare`.
//!
//! # Completeness
//!
//! Code that cannot be translated exactly ends the trace at that point: the thread continues
//! natively, the program's result is not affected, and [`Tracer::detach`] returns the reason. A
//! trace is either complete or an error.

#![warn(clippy::incompatible_msrv)]

mod block;
mod config;
mod consumer;
// Without a translator, nothing asks what to record.
#[cfg_attr(
    not(all(target_os = "linux", target_arch = "x86_64")),
    allow(dead_code)
)]
mod describe;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod engine;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
#[path = "engine_elsewhere.rs"]
mod engine;
mod error;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod fixed_values;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod kernel;
mod mapping;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod maps;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod one_cpu;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod replaced_function;
mod threads_error;
mod tracer;

pub use block::{
    Access, AccessKind, Address, Arguments, Block, BlockId, Elements, Instruction,
    MAX_BLOCK_INSTRUCTIONS, Mask, OwnedBlock, Repeat,
};
pub use config::Config;
pub use consumer::{Consumer, End, Meeting};
pub use describe::reserved_factory;
pub use error::{AttachError, OpenError, ThreadsError, TraceError};
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use fixed_values::{
    ClockWatcher, fix_system_values, hidden_ns, hide_time, pass_time, watch_clock,
};
pub use mapping::Mapping;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use maps::may_share_writable_memory;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use one_cpu::run_on_one_cpu;
pub use tracer::{Tracer, has_companions, hold_at_port, idle_ns, release_threads};

/// The decoder whose types appear in [`Instruction::decoded`].
pub use iced_x86;

/// Maximum number of threads that are traced at the same time, plus one.
pub const MAX_THREADS: usize = 65;

/// The size of the stack on which a [`Consumer`] is called.
pub const CONSUMER_STACK_BYTES: usize = 256 * 1024;
