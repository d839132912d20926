//! The buffer between translated code and the consumer.

use std::io;

use super::memory::{Mapping, Protection};

/// The generated code considers the buffer full when bits 16 to 23 of the address are zero. The
/// buffer ends where they become zero, and has room for 64 KiB more, in which they stay zero.
const ALIGNMENT: usize = 1 << 24;
const SLACK: usize = 1 << 16;

pub(crate) struct TraceBuffer {
    /// Address space around the buffer: the part after the slack stays inaccessible.
    _space: Mapping,
    start: *mut u64,
    bytes: usize,
}

/// What a thread fills in a full turn, if others wait for theirs: some 20 000 instructions. A
/// judgement: short beside what a benchmark does, and long beside the change of threads.
pub(super) const TURN_BYTES: usize = 1 << 16;

impl TraceBuffer {
    /// `bytes` is a power of two from 64 KiB to 8 MiB.
    pub(crate) fn new(bytes: usize) -> io::Result<TraceBuffer> {
        let space = Mapping::new(3 * ALIGNMENT, Protection::None, 0)?;
        // A multiple of the alignment with a whole alignment on both sides.
        let end = (space.address() + ALIGNMENT).next_multiple_of(ALIGNMENT);
        let offset = end - bytes - space.address();
        space.protect(offset, bytes + SLACK, Protection::ReadWrite)?;
        // SAFETY: the offset lies inside the mapping.
        let start = unsafe { space.start().add(offset) }.cast();
        Ok(TraceBuffer {
            _space: space,
            start,
            bytes,
        })
    }

    pub(crate) fn start(&self) -> u64 {
        self.start as u64
    }

    /// Returns where the buffer begins for a turn that fills this much, at most [`TURN_BYTES`].
    pub(crate) fn start_of_turn(&self, turn_bytes: usize) -> u64 {
        self.start() + (self.bytes - turn_bytes) as u64
    }

    /// Returns what was written from `start` up to the address `end`.
    ///
    /// # Safety
    /// Generated code must have written everything in between, and must not write while the slice
    /// is in use.
    pub(crate) unsafe fn written(&self, start: u64, end: u64) -> &[u64] {
        let len = (end - start) as usize / 8;
        // SAFETY: `start` lies in the buffer. The whole is inside the accessible part, since the
        // code after it would have faulted; written, by the caller's promise.
        unsafe {
            std::slice::from_raw_parts(self.start.byte_add((start - self.start()) as usize), len)
        }
    }
}
