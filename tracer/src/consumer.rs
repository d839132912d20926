//! Who gets the stream.

use crate::block::Block;

/// Gets the stream of executed blocks.
///
/// Every method except construction and destruction is called while the traced thread stands still
/// at an arbitrary place: see the crate's documentation for what is forbidden there.
pub trait Consumer {
    /// A block was translated: called once for each, in the order of their numbers, before it is
    /// executed for the first time. A consumer that needs more about a block than its description
    /// prepares it here, in memory that it has reserved before.
    fn translated(&mut self, block: &Block<'_>) {
        let _ = block;
    }

    /// A block was executed. `addresses` has [`Block::recorded_values`] values; what they mean is
    /// in the block's accesses.
    fn block(&mut self, block: &Block<'_>, addresses: &[u64]);

    /// Asked each time after the buffer was handed over, thus about every 100 000 blocks: whether
    /// the rest is still wanted. After `false` the thread goes on natively until `detach`, which
    /// returns [`End::Consumer`].
    fn keep_tracing(&self) -> bool {
        true
    }
}

/// How a trace without error ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// At `detach`: the stream holds everything from attach to detach.
    Detach,
    /// The consumer wanted no more ([`Consumer::keep_tracing`]): the stream holds the beginning.
    Consumer,
}
