//! Records the instructions that the calling thread executes between attach and detach, exactly and
//! in the process itself: a small binary translator for x86-64 Linux.
//!
//! [`Tracer::attach`] makes the thread go on in translated copies of its own code. Each copy writes
//! the number of its block and its data addresses to a buffer. Whenever the buffer is full, and at
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
//! A *block* is a straight run of at most [`MAX_BLOCK_INSTRUCTIONS`] instructions. Only its last
//! instruction can branch. A block is executed from its first instruction to its last: the
//! consumer gets it once per execution, in the order of execution, when it is complete.
//!
//! * Whether a branch was taken is seen in the next block: its [`start_ip`](Block::start_ip) is
//!   either [`end_ip`](Block::end_ip) of the block before (not taken) or the branch's target. Also
//!   across calls, returns and system calls no instruction is left out. The first block after an
//!   attach follows nothing.
//! * The same instruction can be part of several blocks: a jump into the middle of a block makes a
//!   new one. [`BlockId`]s are given out from 0 upwards without gaps and never change their meaning
//!   during the life of a tracer.
//! * Data addresses are those that the instruction computes before it executes. Addresses that
//!   never change (absolute and RIP-relative ones) are in the description of the block
//!   ([`Address::Fixed`]); the rest come with each execution ([`Address::Recorded`]).
//! * A `rep` string instruction is one instruction, executed once, with a count
//!   ([`Instruction::repeat`]).
//! * The stream begins with the instruction that [`Tracer::attach`]'s inner call returns to and ends
//!   with the call that begins [`Tracer::detach`]. An empty window therefore holds a few
//!   instructions of the tracer itself, always the same ones in a given place.
//!
//! # What is not in the stream
//!
//! The kernel. Other threads and child processes, including those that the traced code starts.
//! Signal handlers. They all run natively and are not disturbed.
//!
//! # Inside the consumer
//!
//! A consumer is called while the traced thread stands still at an arbitrary place, perhaps inside
//! the allocator. It must not allocate, free, lock, print, panic, or touch thread-local state with a
//! destructor. Its stack has [`CONSUMER_STACK_BYTES`].
//!
//! # Limits
//!
//! * A handler for a fault of the traced code itself (SIGSEGV, SIGFPE and the like) sees the
//!   program's own state. If it changes registers or does not return, the trace ends with
//!   [`TraceError::Fault`]. While one thread is traced, other threads that ask for such a handler
//!   see the tracer's.
//! * Handlers of other signals see an instruction pointer in translated code and, in registers that
//!   were borrowed, values of the tracer.
//! * Profilers that walk the stack from a signal handler see the frame that was interrupted without
//!   a name.
//! * Another process that writes to the program's own code is noticed at the next system call or at
//!   detach, with [`TraceError::CodeChanged`]. Whoever else changes code, in whatever way, is noticed
//!   before it is executed again: the crate's README says how.
//! * Time passes more slowly for the traced thread: what waits for other threads by spinning
//!   executes more instructions than natively.
//! * The direction flag is taken to be clear, as the calling convention has it, in the addresses of
//!   repeated string instructions.
//! * After a trace in which threads were started, the translated code stays mapped for the rest of
//!   the process.
//!
//! # Honesty
//!
//! Code that cannot be translated exactly ends the trace at that point: the thread goes on natively,
//! the program's result is not affected, and [`Tracer::detach`] returns the reason. A trace is
//! complete or it is an error.

#![warn(clippy::incompatible_msrv)]

mod block;
mod consumer;
// Where there is no translator, nobody asks what to record.
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
mod tracer;

pub use block::{
    Access, AccessKind, Address, Block, BlockId, Elements, Instruction, MAX_BLOCK_INSTRUCTIONS,
    Mask, OwnedBlock, Repeat,
};
pub use consumer::{Consumer, End};
pub use error::{AttachError, OpenError, TraceError};
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use fixed_values::{fix_system_values, hide_time, pass_time};
pub use mapping::Mapping;
pub use tracer::{Config, Tracer};

/// The decoder whose types [`Instruction::decoded`] shows.
pub use iced_x86;

/// The stack on which a [`Consumer`] is called.
pub const CONSUMER_STACK_BYTES: usize = 256 * 1024;
