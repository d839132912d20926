//! Reasons why not all threads can be traced.

use std::fmt;

/// Why the threads of a process cannot take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ThreadsError {
    /// Another tracer already traces all threads of this process.
    OtherTracer,
    /// The process has more threads than there is room for.
    TooMany {
        /// The number of threads for which there is room.
        capacity: usize,
    },
    /// The kernel does not list the threads.
    NotListed,
    /// The program handles every real-time signal itself.
    NoSignal,
    /// A thread did not stop: it blocks signals, or the kernel does not interrupt it.
    NotStopped {
        /// Its number.
        thread: u32,
    },
    /// A thread stayed in a system call, or in the handler of a fault, while all others waited for
    /// their turn.
    Held {
        /// The number of the system call, or `u64::MAX` in a handler.
        number: u64,
    },
    /// Every thread waits for something that no other thread does.
    AllWait,
    /// Every thread spins, for something that no other thread does.
    AllSpin,
}

impl fmt::Display for ThreadsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ThreadsError::OtherTracer => {
                f.write_str("another tracer already traces all threads of this process")
            }
            ThreadsError::TooMany { capacity } => {
                write!(f, "the process has more than {capacity} threads")
            }
            ThreadsError::NotListed => f.write_str("/proc/self/task cannot be read"),
            ThreadsError::NoSignal => f.write_str(
                "the program handles every real-time signal, so threads cannot be stopped",
            ),
            ThreadsError::NotStopped { thread } => write!(
                f,
                "thread {thread} could not be stopped: it blocks signals or is stuck in the kernel"
            ),
            ThreadsError::Held { number: u64::MAX } => {
                f.write_str("a handler of a fault did not return while other threads waited")
            }
            ThreadsError::Held { number } => write!(
                f,
                "system call {number} did not return while all other threads waited for their turn"
            ),
            ThreadsError::AllWait => f.write_str(
                "all threads wait, and none of them for another: something outside must wake them",
            ),
            ThreadsError::AllSpin => f.write_str("all threads spin, and none of them for another"),
        }
    }
}
