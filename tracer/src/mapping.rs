//! The memory of the traced process.

use crate::engine;

/// A stretch of memory that the system has mapped as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Its first address.
    pub start: u64,
    /// The address behind its last byte.
    pub end: u64,
    /// Whether it is the stack of the process's first thread, whose content begins at a random byte.
    pub is_stack: bool,
}

impl Mapping {
    /// The mapping of this process that holds `address`; `None` where there is none, or the system
    /// does not tell. Reads `/proc/self/maps`, which takes some 50 µs; neither allocates nor locks,
    /// so that a [`Consumer`](crate::Consumer) can ask.
    pub fn at(address: u64) -> Option<Mapping> {
        engine::mapping_at(address)
    }
}
