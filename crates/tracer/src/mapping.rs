//! The memory of the traced process.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
use crate::maps;

/// A stretch of memory that the system has mapped as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Its first address.
    pub start: u64,
    /// The address after its last byte.
    pub end: u64,
    /// Whether it is the stack of the process's first thread, whose contents begin at a random
    /// byte.
    pub is_stack: bool,
}

impl Mapping {
    /// Returns the mapping of this process that contains `address`, or `None` if there is none or
    /// the system does not say. Reads `/proc/self/maps`, which takes some 50 µs; neither allocates
    /// nor locks, so a [`Consumer`](crate::Consumer) can call it.
    pub fn at(address: u64) -> Option<Mapping> {
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        {
            let entry = maps::entry_at(address).ok()??;
            Some(Mapping {
                start: entry.start,
                end: entry.end,
                is_stack: entry.owner == maps::Owner::Stack,
            })
        }
        #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
        {
            let _ = address;
            None
        }
    }
}
