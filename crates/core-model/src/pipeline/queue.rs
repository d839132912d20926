//! The queue before rename, which is freed at issue.

use crate::calendar::boxed;
use crate::instruction::COMMON_SLOTS;

/// Number of slots for which times are kept.
const QUEUE: usize = 1024;

/// Entries of the queue, and when each becomes free.
pub(super) struct Queue {
    capacity: u64,
    /// Number of slots that have passed through.
    slots: u64,
    /// When each of the last of them was issued; 0 for those before the first.
    issued: Box<[u64; QUEUE]>,
}

impl Queue {
    pub(super) fn new(capacity: u32) -> Self {
        Queue {
            capacity: u64::from(capacity).clamp(COMMON_SLOTS.into(), QUEUE as u64 / 2),
            slots: 0,
            issued: boxed(0),
        }
    }

    /// Returns the first cycle with room for `slots` more (many, if `RARE`): the last of them takes
    /// the entry of the slot `capacity` before it.
    #[inline]
    pub(super) fn room<const RARE: bool>(&self, slots: u8) -> u64 {
        let mut slots = u64::from(slots);
        if RARE {
            slots = slots.min(self.capacity);
        }
        let place = (self.slots + slots).wrapping_sub(self.capacity + 1);
        self.issued[place as usize % QUEUE]
    }

    /// Adds an instruction of this many slots that was issued at `issued`.
    #[inline]
    pub(super) fn push<const RARE: bool>(&mut self, slots: u8, issued: u64) {
        const { assert!(COMMON_SLOTS == 2) };
        // If there are fewer than two, the next slot overwrites it.
        self.issued[self.slots as usize % QUEUE] = issued;
        self.issued[(self.slots + 1) as usize % QUEUE] = issued;
        if RARE {
            for further in 2..u64::from(slots) {
                self.issued[(self.slots + further) as usize % QUEUE] = issued;
            }
        }
        self.slots += u64::from(slots);
    }
}
