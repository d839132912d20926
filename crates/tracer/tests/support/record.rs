//! Memory in which a forked child writes down what it saw.

use std::sync::atomic::{AtomicU64, Ordering};

/// Maximum number of values in the record of a program.
const CAPACITY: usize = 4 << 20;

/// What a child saw: for each instruction its address, then the addresses of its data accesses.
/// Lies in memory that parent and children share.
#[derive(Clone, Copy)]
pub struct Record {
    start: *mut AtomicU64,
}

/// Places in the record's head.
const LENGTH: usize = 0;
pub const RESULT: usize = 1;
pub const STATUS: usize = 2;
pub const SIGNALS: usize = 3;
const HEAD: usize = 4;

/// Values of the status.
pub const DONE: u64 = 1;
pub const INCOMPLETE: u64 = 2;

impl Record {
    pub fn new() -> Record {
        // SAFETY: a new anonymous mapping.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                CAPACITY * 8,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        assert_ne!(start, libc::MAP_FAILED);
        Record {
            start: start.cast(),
        }
    }

    fn cell(&self, place: usize) -> &AtomicU64 {
        assert!(place < CAPACITY, "the program is too long to be compared");
        // SAFETY: inside the mapping, which is never unmapped; zeroed memory is a valid value.
        unsafe { &*self.start.add(place) }
    }

    pub fn set(&self, place: usize, value: u64) {
        self.cell(place).store(value, Ordering::Relaxed);
    }

    pub fn get(&self, place: usize) -> u64 {
        self.cell(place).load(Ordering::Relaxed)
    }

    pub fn push(&self, value: u64) {
        let length = self.get(LENGTH);
        self.set(HEAD + length as usize, value);
        self.set(LENGTH, length + 1);
    }

    pub fn values(&self) -> Vec<u64> {
        (0..self.get(LENGTH) as usize)
            .map(|place| self.get(HEAD + place))
            .collect()
    }

    pub fn give_back(self) {
        // SAFETY: the mapping made by `new`; this was the last use.
        unsafe { libc::munmap(self.start.cast(), CAPACITY * 8) };
    }
}
