//! Records that the kernel writes into the buffer of a sampling event: perf_event.h,
//! `perf_event_type`.
//!
//! Any bytes can be parsed; unknown records are reported as such.

use perf_event_open_sys::bindings::{
    PERF_RECORD_LOST, PERF_RECORD_SAMPLE, PERF_RECORD_THROTTLE, PERF_RECORD_UNTHROTTLE,
};

use crate::hardware::inherited_group::MAX_EVENTS;

/// Kind and flags, and the size.
const HEADER_BYTES: usize = 8;

/// The counts of a group, its leader's first.
pub(super) type GroupCounts = [u64; MAX_EVENTS];

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Record {
    /// A PMU sample of the event that carries the counts of its group.
    Hit { address: u64, counts: GroupCounts },
    /// A PMU sample of another event of the group, with its count since its previous one.
    Own {
        address: u64,
        event: usize,
        count: u64,
    },
    /// There was no room for this many PMU samples.
    Lost(u64),
    /// The kernel pauses because there are too many.
    Throttled,
    /// The kernel continues.
    Unthrottled,
    /// A record without meaning here.
    Other,
    /// Not a record of the right shape.
    Unreadable,
}

/// The records of a buffer.
pub(super) struct Records<'a> {
    bytes: &'a [u8],
    /// The ids of the group's events in records.
    ids: &'a [u64],
    /// The index of the event that carries the counts of the group.
    reading: usize,
}

/// Returns the size of the largest PMU sample's record.
pub(super) const fn max_record_bytes(events: usize) -> usize {
    // The event's number, the address, then the number of events and the two times before the
    // counts.
    HEADER_BYTES + 8 * (2 + 3 + events)
}

impl<'a> Records<'a> {
    pub fn new(bytes: &'a [u8], ids: &'a [u64], reading: usize) -> Records<'a> {
        Records {
            bytes,
            ids,
            reading,
        }
    }

    fn parse(&self, kind: u32, body: &[u8]) -> Record {
        let word = |at: usize| {
            let bytes = body.get(8 * at..)?.first_chunk()?;
            Some(u64::from_ne_bytes(*bytes))
        };
        let hit = || {
            let (id, address) = (word(0)?, word(1)?);
            let event = self.ids.iter().position(|known| *known == id)?;
            if event != self.reading {
                let count = word(2)?;
                return Some(Record::Own {
                    address,
                    event,
                    count,
                });
            }
            let mut counts = [0; MAX_EVENTS];
            for (index, count) in counts.iter_mut().take(self.ids.len()).enumerate() {
                *count = word(5 + index)?;
            }
            let is_of_the_group = word(2)? == self.ids.len() as u64;
            is_of_the_group.then_some(Record::Hit { address, counts })
        };
        match kind {
            PERF_RECORD_SAMPLE => hit().unwrap_or(Record::Unreadable),
            PERF_RECORD_LOST => word(1).map_or(Record::Unreadable, Record::Lost),
            PERF_RECORD_THROTTLE => Record::Throttled,
            PERF_RECORD_UNTHROTTLE => Record::Unthrottled,
            _ => Record::Other,
        }
    }
}

impl Iterator for Records<'_> {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        if self.bytes.is_empty() {
            return None;
        }
        Some(match next_of(&mut self.bytes) {
            Some((kind, body)) => self.parse(kind, body),
            None => Record::Unreadable,
        })
    }
}

/// Takes the kind and the body of the first record from `bytes`, or everything if its size makes no
/// sense: the start of the next one is then unknown.
pub(in super::super) fn next_of<'a>(bytes: &mut &'a [u8]) -> Option<(u32, &'a [u8])> {
    let all = std::mem::take(bytes);
    let &[a, b, c, d, _, _, size, more] = all.first_chunk::<HEADER_BYTES>()?;
    let size = usize::from(u16::from_ne_bytes([size, more]));
    let (record, rest) = all.split_at_checked(size)?;
    let body = record.get(HEADER_BYTES..)?;
    *bytes = rest;
    Some((u32::from_ne_bytes([a, b, c, d]), body))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u32, body: &[u64]) -> Vec<u8> {
        let size = (HEADER_BYTES + 8 * body.len()) as u16;
        let header = [&kind.to_ne_bytes()[..], &[2, 0], &size.to_ne_bytes()].concat();
        let words = body.iter().flat_map(|word| word.to_ne_bytes());
        header.into_iter().chain(words).collect()
    }

    fn all(bytes: &[u8]) -> Vec<Record> {
        Records::new(bytes, &[71, 72], 1).collect()
    }

    fn hit() -> Vec<u8> {
        record(PERF_RECORD_SAMPLE, &[72, 0xabc, 2, 10, 10, 600, 100])
    }

    #[test]
    fn records_are_read_in_order() {
        const FORK: u32 = 7;
        let bytes = [
            hit(),
            record(PERF_RECORD_SAMPLE, &[71, 0xdef, 120_067]),
            record(PERF_RECORD_LOST, &[77, 5]),
            record(PERF_RECORD_THROTTLE, &[1, 2, 3]),
            record(PERF_RECORD_UNTHROTTLE, &[1, 2, 3]),
            record(FORK, &[1, 2, 3]),
        ]
        .concat();
        assert_eq!(hit().len(), max_record_bytes(2));
        let mut counts = [0; MAX_EVENTS];
        counts[..2].copy_from_slice(&[600, 100]);
        let address = 0xabc;
        assert_eq!(
            all(&bytes),
            [
                Record::Hit { address, counts },
                Record::Own {
                    address: 0xdef,
                    event: 0,
                    count: 120_067
                },
                Record::Lost(5),
                Record::Throttled,
                Record::Unthrottled,
                Record::Other
            ]
        );
    }

    #[test]
    fn unknown_records_are_skipped() {
        let of_another_group = record(PERF_RECORD_SAMPLE, &[72, 0xabc, 3, 10, 10, 1, 2, 3]);
        let of_no_event = record(PERF_RECORD_SAMPLE, &[73, 0xabc, 2, 10, 10, 1, 2]);
        let without_period = record(PERF_RECORD_SAMPLE, &[71, 0xabc]);
        let too_short = record(PERF_RECORD_SAMPLE, &[72, 0xabc, 2, 10, 10, 600]);
        let lost_without_number = record(PERF_RECORD_LOST, &[77]);
        for wrong in [
            of_another_group,
            of_no_event,
            without_period,
            too_short,
            lost_without_number,
        ] {
            let found = all(&[wrong, hit()].concat());
            assert_eq!(found[0], Record::Unreadable);
            assert!(matches!(found[1], Record::Hit { .. }));
        }
    }

    #[test]
    fn impossible_size_ends_reading() {
        for size in [0_u16, 7, 200, u16::MAX] {
            let mut bytes = [hit(), hit()].concat();
            bytes[6..8].copy_from_slice(&size.to_ne_bytes());
            assert_eq!(all(&bytes), [Record::Unreadable], "{size}");
        }
        // The header alone is a record without content, and out of step.
        let mut bytes = [hit(), hit()].concat();
        bytes[6..8].copy_from_slice(&8_u16.to_ne_bytes());
        assert_eq!(all(&bytes)[0], Record::Unreadable);
    }

    #[test]
    fn truncated_record_is_unreadable() {
        let bytes = [hit(), hit()].concat();
        for length in 1..bytes.len() {
            let last = *all(&bytes[..length]).last().unwrap();
            let is_whole = length % hit().len() == 0;
            assert_eq!(last != Record::Unreadable, is_whole, "{length}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_readable(bytes: Vec<u8>, ids: Vec<u64>, reading in 0..9_usize) {
            let ids = &ids[..ids.len().min(MAX_EVENTS)];
            let records = Records::new(&bytes, ids, reading).count();
            assert!(records <= bytes.len());
        }

        #[test]
        fn any_changed_bytes_are_readable(
            changes in proptest::collection::vec((0..168_usize, proptest::num::u8::ANY), 0..9),
        ) {
            let mut bytes = [hit(), hit(), hit()].concat();
            for (at, byte) in changes {
                bytes[at] = byte;
            }
            assert!(all(&bytes).len() <= bytes.len());
        }
    }
}
