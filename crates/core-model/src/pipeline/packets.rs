//! Packets of vector operations that leave their queue in one cycle.
//!
//! A packet has at most six operations, from at most eight slots of the program. If it has six and
//! the next slot holds a vector operation, too, the next packet is a continuation: it takes no
//! operation behind a gap if three of the eight slots before that operation held something else.
//! Measured (M), by loops of vector moves and `nop` in 378 patterns.

/// Operations in a packet.
const OPERATIONS: u32 = 6;
/// Slots of the program from the first of them to the last.
const SLOTS: u64 = 8;
/// Slots of other instructions, among the last eight, that end a continuation.
const OTHERS: u32 = 3;

pub(super) struct Packets {
    /// When the current one is taken, or its first operations are.
    taken: u64,
    operations: u32,
    /// The slot of its first operation.
    first: u64,
    /// The slot of the last operation.
    last: u64,
    /// The slots up to the last operation that held vector operations; the lowest bit is its own.
    recent: u64,
    is_continuation: bool,
}

impl Packets {
    pub(super) fn new() -> Self {
        Packets {
            taken: 0,
            operations: OPERATIONS,
            first: 0,
            last: 0,
            recent: 0,
            is_continuation: false,
        }
    }

    /// Adds the operation in this `slot` of the program, which is in the queue from `from` on, and
    /// returns when its packet is taken.
    #[inline]
    pub(super) fn add(&mut self, slot: u64, from: u64) -> u64 {
        let distance = slot - self.last;
        let moved = self.recent.checked_shl(distance.min(64) as u32);
        self.recent = moved.unwrap_or(0);
        let is_after_gap = distance > 1;
        let is_full = self.operations == OPERATIONS;
        let ends = is_full
            || slot - self.first >= SLOTS
            || self.is_continuation && is_after_gap && self.others() >= OTHERS;
        if ends {
            self.is_continuation = is_full && !is_after_gap;
            self.operations = 0;
            self.first = slot;
            self.taken = from.max(self.taken + 1);
        }
        self.operations += 1;
        self.last = slot;
        self.recent |= 1;
        self.taken.max(from)
    }

    /// Returns how many of the last eight slots held something else.
    #[inline]
    fn others(&self) -> u32 {
        SLOTS as u32 - (self.recent >> 1 & 0xff).count_ones()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the cycles of a pattern of slots that is repeated forever, all of it in the queue;
    /// `v` is a vector operation.
    fn cycles(pattern: &str) -> f64 {
        const TIMES: u64 = 600;
        let mut packets = Packets::new();
        let mut slots = 0..;
        let mut run = || {
            let mut taken = 0;
            for _ in 0..TIMES {
                for (kind, slot) in pattern.chars().zip(slots.by_ref()) {
                    if kind == 'v' {
                        taken = packets.add(slot, 0);
                    }
                }
            }
            taken
        };
        let begin = run();
        (run() - begin) as f64 / TIMES as f64
    }

    fn assert_cycles(measured: &[(&str, f64)]) {
        for &(pattern, native) in measured {
            let modelled = cycles(pattern);
            assert!((modelled - native).abs() < 0.03, "{pattern}: {modelled}");
        }
    }

    #[test]
    fn six_operations_in_a_row_are_a_packet() {
        assert_cycles(&[("v", 1.0 / 6.0), ("vvvvvvn", 1.0), ("vvvvvvnn", 1.0)]);
    }

    #[test]
    fn operations_within_eight_slots_are_a_packet() {
        assert_cycles(&[("vvvn", 0.5), ("vvvvn", 0.67), ("vvvvvn", 0.84)]);
        assert_cycles(&[("vnnnnnn", 0.5), ("vvnnnnn", 0.67), ("vvnnnnnn", 1.0)]);
    }

    #[test]
    fn long_row_continues_across_two_other_slots() {
        assert_cycles(&[("vvvvvvvnn", 1.17), ("vvvvvvvvnn", 1.33)]);
    }

    #[test]
    fn rest_of_row_is_a_packet_after_three_other_slots() {
        assert_cycles(&[("vvvvvvvnnn", 2.0), ("vvvvvvvvvvnnnn", 2.0)]);
    }

    #[test]
    fn other_slots_before_a_continuation_count() {
        assert_cycles(&[("vvvvnn", 1.0), ("vvvvvnn", 1.0), ("vvvvnvn", 1.0)]);
        assert_cycles(&[("vvvnvvn", 1.33)]);
    }

    #[test]
    fn packet_waits_for_its_operations() {
        let mut packets = Packets::new();
        assert_eq!(packets.add(10, 50), 50);
        assert_eq!(packets.add(11, 52), 52);
        assert_eq!(packets.add(30, 52), 52);
    }
}
