//! Entries of an instruction in the buffers that are freed in program order, at retirement.

/// Bits per lane. Each buffer has one lane of the same word, so that all are compared and added at
/// once.
const LANE_BITS: u32 = 16;
/// Set in each lane that is not negative.
const NOT_NEGATIVE: u64 = 0x4000_4000_4000_4000;
/// The largest capacity that a lane can hold.
const MAX_CAPACITY: u32 = 0x3fff;

/// Entries in the reorder buffer, the load buffer, the general registers and the vector registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs(u64);

impl Needs {
    /// Creates needs with this many entries of each buffer.
    pub(crate) fn new(entries: [u8; 4]) -> Needs {
        Needs(lanes(entries.map(u64::from)))
    }

    /// Returns the sum of both. In a sum over many instructions, lanes overflow into each other,
    /// but the difference of two sums is still right.
    #[inline]
    pub(crate) fn plus(self, other: Needs) -> Needs {
        Needs(self.0.wrapping_add(other.0))
    }
}

/// Free entries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room(u64);

impl Room {
    /// Creates room for all entries of buffers with these capacities.
    pub(crate) fn new(capacities: [u32; 4]) -> Room {
        let entries = capacities.map(|capacity| u64::from(capacity.min(MAX_CAPACITY)));
        Room(lanes(entries) | NOT_NEGATIVE)
    }

    /// Returns whether all buffers have room for `needs`.
    #[inline]
    pub(crate) fn fits(self, needs: Needs) -> bool {
        self.0.wrapping_sub(needs.0) & NOT_NEGATIVE == NOT_NEGATIVE
    }

    /// Returns the room left after taking `needs`. If nothing else is in flight, an instruction may
    /// take more than there is; a lane is then temporarily negative.
    #[inline]
    pub(crate) fn less(self, needs: Needs) -> Room {
        Room(self.0.wrapping_sub(needs.0))
    }

    /// Returns the room after giving back `needs`.
    #[inline]
    pub(crate) fn plus(self, needs: Needs) -> Room {
        Room(self.0.wrapping_add(needs.0))
    }
}

fn lanes(entries: [u64; 4]) -> u64 {
    let [reorder, loads, integers, vectors] = entries;
    reorder | loads << LANE_BITS | integers << (2 * LANE_BITS) | vectors << (3 * LANE_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_buffer_has_its_own_room() {
        let needs = Needs::new([1, 1, 0, 0]);
        let room = Room::new([512, 2, 264, 300]).less(needs).less(needs);
        assert!(!room.fits(needs));
        assert!(room.fits(Needs::new([255, 0, 255, 255])));
        assert!(room.plus(needs).fits(needs));
    }

    #[test]
    fn overdrawn_buffer_keeps_its_neighbours() {
        let needs = Needs::new([255, 255, 255, 255]);
        let room = Room::new([10, 10, 10, 10]).less(needs);
        assert!(!room.fits(Needs::new([0; 4])));
        let room = room.plus(needs);
        assert!(room.fits(Needs::new([10; 4])));
        assert!(!room.fits(Needs::new([0, 0, 0, 11])));
    }
}
