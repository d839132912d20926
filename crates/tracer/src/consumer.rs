//! The receiver of the stream.

use crate::block::Block;

/// Receives the stream of executed blocks.
///
/// Every method except construction and destruction is called while the traced thread is stopped at
/// an arbitrary point: see the crate's documentation for what is forbidden there.
pub trait Consumer {
    /// Called once for each translated block, in the order of their numbers, before it is executed
    /// for the first time. A consumer that needs more than the block's description prepares it
    /// here, in memory reserved beforehand.
    fn translated(&mut self, block: &Block<'_>) {
        let _ = block;
    }

    /// Returns whether each execution of the block at `ip` records the
    /// [arguments](Block::arguments) of the function that begins there. Called before the block is
    /// translated. Everything else about the block is the same either way.
    fn wants_arguments_at(&self, ip: u64) -> bool {
        let _ = ip;
        false
    }

    /// Called for each executed block. `addresses` has [`Block::recorded_values`] values; the
    /// block's accesses say what they mean.
    fn block(&mut self, block: &Block<'_>, addresses: &[u64]);

    /// Called before [`block`](Consumer::block) if the next blocks were executed by another thread
    /// than the last ones: 0 is the thread of the tracer, the others have numbers below
    /// [`MAX_THREADS`](crate::MAX_THREADS). After the end of a thread, its number may be given to
    /// another one.
    fn switch_to(&mut self, thread: usize) {
        let _ = thread;
    }

    /// Called after the blocks that `thread` had executed, while several threads take turns.
    fn met(&mut self, thread: usize, meeting: Meeting) {
        let _ = (thread, meeting);
    }

    /// Called after each hand-over of the buffer, about every 100 000 blocks. Returns whether the
    /// rest is still wanted. After `false` the thread continues natively until `detach`, which
    /// returns [`End::Consumer`].
    fn keep_tracing(&mut self) -> bool {
        true
    }
}

/// What a thread does because of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meeting {
    /// It waits at the futex with this address.
    Waits(u64),
    /// It wakes those that wait at this futex, if there are any.
    Wakes(u64),
    /// It passes its turn by `pause` or `sched_yield`.
    Spins,
}

/// How a trace ended without an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// At `detach`: the stream contains everything from attach to detach.
    Detach,
    /// The consumer stopped it ([`Consumer::keep_tracing`]): the stream contains the beginning.
    Consumer,
}
